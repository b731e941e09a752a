//! A definition for people's eyes: as a tree, as a graph for Graphviz, as JSON.

mod json;

use std::fmt::Write;

use model::{Activity, Command, Definition, ForEach, Join, Node, NodeId, NodeKind, Source};

pub(crate) use self::json::{case_source, item_name};
pub use self::json::{json, source};

/// The tree of controllers and activities, a line each.
pub fn tree(definition: &Definition) -> String {
    let mut text = format!("{}\n", definition.name());
    let mut open = vec![(NodeId(0), String::new(), true)];
    while let Some((id, indent, last)) = open.pop() {
        let node = &definition.draft().nodes[id.index()];
        let branch = if last { "└─ " } else { "├─ " };
        let condition = condition(definition, id);
        let line = line(definition, id, node);
        let _ = writeln!(text, "{indent}{branch}{condition}{line}");
        let below = format!("{indent}{}", if last { "   " } else { "│  " });
        let children = node.children();
        for (index, child) in children.iter().enumerate().rev() {
            open.push((*child, below.clone(), index + 1 == children.len()));
        }
    }
    text
}

/// `[condition] ` or `[else] ` where the node is a branch of an `if`.
fn condition(definition: &Definition, id: NodeId) -> String {
    let parent = definition.parent(id).map(|parent| definition.node(parent));
    let Some(NodeKind::If {
        conditions,
        children,
    }) = parent.map(|parent| &parent.kind)
    else {
        return String::new();
    };
    let branch = children.iter().position(|&child| child == id);
    match branch.and_then(|branch| conditions.get(branch)) {
        Some(condition) => format!("[{}] ", short(condition.0.trim())),
        None => "[else] ".to_owned(),
    }
}

fn line(definition: &Definition, id: NodeId, node: &Node) -> String {
    let draft = definition.draft();
    let mut text = match &node.kind {
        NodeKind::Activity(activity) => format!("{}: {}", node.name, command(activity)),
        NodeKind::Assign(writes) => {
            let written: Vec<String> = writes
                .iter()
                .map(|write| {
                    let name = &draft.variables[write.variable as usize].name;
                    format!("{name} = {}", short(write.value.0.trim()))
                })
                .collect();
            format!("{}: {}", title(node), written.join(", "))
        }
        NodeKind::Sequence(_)
        | NodeKind::Parallel { .. }
        | NodeKind::If { .. }
        | NodeKind::ForEach(_)
        | NodeKind::Repeat(_)
        | NodeKind::Empty => heading(node),
    };
    let after: Vec<&str> = definition
        .incoming(id)
        .iter()
        .map(|number| {
            definition
                .node(definition.links()[*number as usize].1.from)
                .label()
        })
        .collect();
    if !after.is_empty() {
        let join = match &node.join {
            Join::All => "",
            Join::Any => "any of ",
            Join::When(_) => "as joined of ",
        };
        let _ = write!(text, "  (after {join}{})", after.join(", "));
    }
    text
}

fn title(node: &Node) -> String {
    match node.name.is_empty() {
        true => node.keyword().to_owned(),
        false => format!("{} ({})", node.name, node.keyword()),
    }
}

/// The title of a controller, with the list of a for-each or the condition of a loop.
fn heading(node: &Node) -> String {
    match &node.kind {
        NodeKind::ForEach(each) => format!("{}: {}", title(node), items(each)),
        NodeKind::Repeat(repeat) => {
            let condition = short(repeat.condition.0.trim());
            let max = repeat.iterations_max();
            format!("{}: {condition}, at most {max} times", title(node))
        }
        NodeKind::Sequence(_)
        | NodeKind::Parallel { .. }
        | NodeKind::If { .. }
        | NodeKind::Activity(_)
        | NodeKind::Assign(_)
        | NodeKind::Empty => title(node),
    }
}

/// The list of a for-each, and how its items are done.
fn items(each: &ForEach) -> String {
    let mut text = format!("{} in {}", each.item, short(each.items.0.trim()));
    match each.at_most {
        None => {}
        Some(1) => text.push_str(", one after another"),
        Some(n_items) => {
            let _ = write!(text, ", at most {n_items} at the same time");
        }
    }
    if let Some(enough) = &each.complete_when {
        let _ = write!(text, ", until {} have completed", short(enough.0.trim()));
    }
    text
}

/// The command on one line, cut where it is long.
fn command(activity: &Activity) -> String {
    match &activity.command {
        Command::Shell(line) => format!("$ {}", short(&line.0)),
        Command::List(parts) => {
            let parts: Vec<&str> = parts.iter().map(|part| part.0.as_str()).collect();
            short(&parts.join(" "))
        }
    }
}

fn short(text: &str) -> String {
    const SHOWN: usize = 72;
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// The activities and what waits for what, for Graphviz: controllers are boxes around what is in
/// them, files are labels of arrows.
pub fn dot(definition: &Definition) -> String {
    let mut text = format!("digraph {} {{\n", quoted(definition.name()));
    text.push_str("  rankdir=LR;\n  node [shape=box, style=rounded];\n");
    clusters(definition, &mut text);
    let graph = definition.graph();
    let names: Vec<String> = graph
        .nodes()
        .enumerate()
        .map(|(place, node)| match node.activity {
            Some(activity) => activity.node().to_string(),
            None => format!("gate{place}"),
        })
        .collect();
    for (node, name) in graph.nodes().zip(&names) {
        if node.activity.is_none() {
            let _ = writeln!(text, "  {name} [shape=point];");
        }
    }
    let files = files(definition);
    let nodes: Vec<Option<NodeId>> = graph
        .nodes()
        .map(|node| node.activity.map(model::ActivityId::node))
        .collect();
    for (from, to, _) in graph.edges() {
        let label = match (nodes[from], nodes[to]) {
            (Some(from), Some(to)) => files.get(&(from, to)),
            _ => None,
        };
        let label = label.map(|paths| format!(" [label={}]", quoted(&paths.join("\n"))));
        let _ = writeln!(
            text,
            "  {} -> {}{};",
            names[from],
            names[to],
            label.unwrap_or_default()
        );
    }
    text.push_str("}\n");
    text
}

fn files(definition: &Definition) -> std::collections::BTreeMap<(NodeId, NodeId), Vec<&str>> {
    let mut files = std::collections::BTreeMap::<_, Vec<&str>>::new();
    for &id in definition.activities() {
        let Some(activity) = definition.activity(id) else {
            continue;
        };
        for staged in &activity.inputs {
            if let Source::Output {
                activity: producer, ..
            } = staged.source
            {
                files
                    .entry((producer, id.node()))
                    .or_default()
                    .push(&staged.path);
            }
        }
    }
    files
}

fn clusters(definition: &Definition, text: &mut String) {
    enum Visit {
        Enter(NodeId, usize),
        Leave(usize),
    }
    let mut open = vec![Visit::Enter(NodeId(0), 1)];
    while let Some(visit) = open.pop() {
        match visit {
            Visit::Leave(depth) => {
                let _ = writeln!(text, "{}}}", "  ".repeat(depth));
            }
            Visit::Enter(id, depth) => {
                let node = definition.node(id);
                let indent = "  ".repeat(depth);
                match &node.kind {
                    NodeKind::Activity(_) => {
                        let _ = writeln!(text, "{indent}{id} [label={}];", quoted(&node.name));
                    }
                    NodeKind::Sequence(_)
                    | NodeKind::Parallel { .. }
                    | NodeKind::If { .. }
                    | NodeKind::ForEach(_)
                    | NodeKind::Repeat(_) => {
                        let _ = writeln!(text, "{indent}subgraph cluster_{id} {{");
                        let label = quoted(&heading(node));
                        let _ = writeln!(text, "{indent}  label={label}; style=dotted;");
                        open.push(Visit::Leave(depth));
                        open.extend(
                            node.children()
                                .iter()
                                .rev()
                                .map(|child| Visit::Enter(*child, depth + 1)),
                        );
                    }
                    NodeKind::Assign(_) | NodeKind::Empty => {}
                }
            }
        }
    }
}

fn quoted(text: &str) -> String {
    format!(
        "\"{}\"",
        text.replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
    )
}
