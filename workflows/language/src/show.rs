//! A definition for people's eyes: as a tree, as a graph for Graphviz, as JSON.

use std::fmt::Write;

use model::{
    Activity, Command, Definition, Join, Node, NodeId, NodeKind, OutputSource, Parse, RetryOn,
    Source, Stdin,
};
use serde_json::{Map, Value, json};

/// The tree of controllers and activities, a line each.
pub fn tree(definition: &Definition) -> String {
    let mut text = format!("{}\n", definition.name());
    let mut open = vec![(NodeId(0), String::new(), true)];
    while let Some((id, indent, last)) = open.pop() {
        let node = definition.node(id);
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
        | NodeKind::Empty => title(node),
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
                    NodeKind::Sequence(children)
                    | NodeKind::Parallel { children, .. }
                    | NodeKind::If { children, .. } => {
                        let _ = writeln!(text, "{indent}subgraph cluster_{id} {{");
                        let label = quoted(&title(node));
                        let _ = writeln!(text, "{indent}  label={label}; style=dotted;");
                        open.push(Visit::Leave(depth));
                        open.extend(
                            children
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

/// The definition as JSON: all that was read, references by name.
pub fn json(definition: &Definition) -> Value {
    let draft = definition.draft();
    let inputs: Map<String, Value> = draft
        .inputs
        .iter()
        .map(|input| {
            let mut entry = Map::from_iter([("type".to_owned(), input.kind.to_string().into())]);
            if let Some(default) = &input.default {
                entry.insert("default".to_owned(), value(default));
            }
            for (name, bound) in [("minimum", input.minimum), ("maximum", input.maximum)] {
                if let Some(bound) = bound {
                    entry.insert(name.to_owned(), bound.into());
                }
            }
            (input.name.clone(), Value::Object(entry))
        })
        .collect();
    let variables: Map<String, Value> = draft
        .variables
        .iter()
        .map(|variable| {
            let entry =
                json!({ "type": variable.kind.to_string(), "value": value(&variable.initial) });
            (variable.name.clone(), entry)
        })
        .collect();
    let outputs: Map<String, Value> = draft
        .outputs
        .iter()
        .map(|output| {
            let from = match &output.source {
                OutputSource::Expression(expression) => format!("${{{}}}", expression.0),
                OutputSource::Produced(from) => source(definition, *from),
            };
            (output.name.clone(), from.into())
        })
        .collect();
    // Children have larger ids, so each is done before it is wanted.
    let mut done: Vec<Option<Value>> = vec![None; draft.nodes.len()];
    for (index, node) in draft.nodes.iter().enumerate().rev() {
        let children: Vec<Value> = node
            .children()
            .iter()
            .filter_map(|child| done[child.index()].take())
            .collect();
        done[index] = Some(step(definition, NodeId(index as u32), node, children));
    }
    json!({
        "name": draft.name,
        "inputs": inputs,
        "variables": variables,
        "outputs": outputs,
        "files": draft.files,
        "body": done.first_mut().and_then(Option::take),
    })
}

fn value(value: &model::Value) -> Value {
    expression::to_json(value).unwrap_or(Value::Null)
}

fn source(definition: &Definition, source: Source) -> String {
    match source {
        Source::Input(place) => {
            format!("inputs.{}", definition.draft().inputs[place as usize].name)
        }
        Source::Output { activity, output } => {
            let node = definition.node(activity);
            let NodeKind::Activity(producer) = &node.kind else {
                return node.name.clone();
            };
            format!("{}.{}", node.name, producer.outputs[output as usize].name)
        }
    }
}

fn step(definition: &Definition, id: NodeId, node: &Node, children: Vec<Value>) -> Value {
    let mut entry = Map::from_iter([
        ("id".to_owned(), id.to_string().into()),
        ("kind".to_owned(), node.keyword().into()),
    ]);
    let mut put = |name: &str, value: Value| {
        entry.insert(name.to_owned(), value);
    };
    if !node.name.is_empty() {
        put("name", node.name.as_str().into());
    }
    match &node.join {
        Join::All => {}
        Join::Any => put("join", "any".into()),
        Join::When(condition) => put("join", format!("${{{}}}", condition.0).into()),
    }
    match &node.kind {
        NodeKind::Sequence(_) => put("children", children.into()),
        NodeKind::If { conditions, .. } => {
            let conditions = conditions.iter().map(|one| format!("${{{}}}", one.0));
            put("conditions", conditions.collect::<Vec<String>>().into());
            put("children", children.into());
        }
        NodeKind::Parallel { links, .. } => {
            put("children", children.into());
            let label = |id: NodeId| definition.node(id).label();
            let links: Vec<Value> = links
                .iter()
                .map(|link| {
                    let when = link.when.as_ref().map(|when| format!("${{{}}}", when.0));
                    json!({ "from": label(link.from), "to": label(link.to), "when": when })
                })
                .collect();
            put("links", links.into());
        }
        NodeKind::Assign(writes) => {
            let writes: Map<String, Value> = writes
                .iter()
                .map(|write| {
                    let name = definition.draft().variables[write.variable as usize]
                        .name
                        .clone();
                    (name, format!("${{{}}}", write.value.0).into())
                })
                .collect();
            put("assign", writes.into());
        }
        NodeKind::Empty => {}
        NodeKind::Activity(activity) => run(definition, activity, put),
    }
    Value::Object(entry)
}

fn run(definition: &Definition, activity: &Activity, mut put: impl FnMut(&str, Value)) {
    put(
        "run",
        match &activity.command {
            Command::Shell(line) => json!({ "shell": line.0 }),
            Command::List(parts) => parts.iter().map(|part| part.0.as_str()).collect(),
        },
    );
    let pairs = |pairs: Vec<(&str, String)>| -> Value {
        let pairs = pairs
            .into_iter()
            .map(|(name, text)| (name.to_owned(), Value::from(text)));
        Value::Object(pairs.collect())
    };
    let env: Vec<_> = activity
        .env
        .iter()
        .map(|(name, text)| (name.as_str(), text.0.clone()))
        .collect();
    let inputs: Vec<_> = activity
        .inputs
        .iter()
        .map(|staged| (staged.path.as_str(), source(definition, staged.source)))
        .collect();
    let outputs: Vec<_> = activity
        .outputs
        .iter()
        .map(|output| (output.name.as_str(), output.path.clone()))
        .collect();
    let labels: Vec<_> = activity
        .labels
        .iter()
        .map(|(name, text)| (name.as_str(), text.clone()))
        .collect();
    for (name, list) in [
        ("env", env),
        ("inputs", inputs),
        ("outputs", outputs),
        ("labels", labels),
    ] {
        if !list.is_empty() {
            put(name, pairs(list));
        }
    }
    match &activity.stdin {
        Some(Stdin::Text(text)) => put("stdin", text.0.as_str().into()),
        Some(Stdin::File(path)) => put("stdin", json!({ "file": path })),
        None => {}
    }
    for (name, capture) in [("stdout", activity.stdout), ("stderr", activity.stderr)] {
        if let Some(capture) = capture {
            let variable = &definition.draft().variables[capture.variable as usize].name;
            let parse = match capture.parse {
                Parse::Text => "text",
                Parse::Int => "int",
                Parse::Float => "float",
                Parse::Json => "json",
                Parse::Lines => "lines",
            };
            put(name, json!({ "into": variable, "as": parse }));
        }
    }
    put("cores", activity.cores.into());
    if let Some(work) = activity.work {
        put("work_seconds", work.reference_seconds().into());
    }
    if let Some(memory) = activity.memory {
        put("memory_bytes", memory.0.into());
    }
    if let Some(timeout) = activity.timeout {
        put("timeout_seconds", timeout.seconds().into());
    }
    if activity.cache {
        put("cache", true.into());
    }
    if activity.repeatable {
        put("repeatable", true.into());
    }
    if activity.at_most_once {
        put("at_most_once", true.into());
    }
    if let Some(priority) = activity.priority {
        put("priority", priority.into());
    }
    let retry = &activity.retry;
    if retry.attempts > 1 {
        let on: Vec<Value> = retry
            .on
            .iter()
            .map(|on| match on {
                RetryOn::Exit(status) => (*status).into(),
                RetryOn::Lost => "lost".into(),
                RetryOn::Timeout => "timeout".into(),
            })
            .collect();
        let backoff = retry.backoff.seconds();
        put(
            "retry",
            json!({ "attempts": retry.attempts, "backoff_seconds": backoff, "on": on }),
        );
    }
}
