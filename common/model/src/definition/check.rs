//! The checks that make a definition of a draft. They trust nothing: a draft may come from a
//! connection.

mod activity;
mod bodies;
mod data;
mod environment;
mod links;
mod named_limits;
mod picks;
mod problems;
mod publish;
mod races;
mod recorded;
mod variables;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use self::activity::check_activity;
use self::bodies::{Bodies, check_for_each, check_names, check_reads, check_repeat};
pub(super) use self::data::order_by_data;
use self::environment::check_environment;
use self::links::{Links, check_links, check_producers, report_cycles};
use self::named_limits::{check_named_limits, check_used};
use self::problems::Problems;
pub use self::races::Race;
pub(super) use self::races::races;
pub(super) use self::recorded::recorded;
pub(super) use self::words::wrong_path;
use self::words::{
    check_expression, check_identifier, check_name, check_path, check_type, shorten,
};
use super::grow::{Copies, Crossings};
use super::limits::{
    COPIES_MAX, DECLARED_MAX, DEPTH_MAX, NAME_BYTES_MAX, NODES_MAX, PRIORITY_MAX, ROUNDS_MAX,
    VALUE_DEPTH_MAX, VALUES_BYTES_MAX,
};
use super::links::LinkNumbers;
use super::order::Order;
use super::{
    Activation, Checked, Draft, Graph, Join, Link, Node, NodeKind, OutputSource, Part, Place,
    Problem, Source,
};
use crate::{ActivityId, NodeId, Type, Value, with_article};

/// Names that an expression already knows, so that no variable may have them.
const RESERVED: [&str; 17] = [
    "inputs", "links", "true", "false", "null", "in", "as", "break", "const", "continue", "else",
    "for", "function", "if", "import", "let", "loop",
];

pub(super) fn check(mut draft: Draft) -> Result<Checked, Vec<Problem>> {
    let mut problems = Problems::default();
    check_head(&draft, &mut problems);
    if draft.nodes.len() > NODES_MAX {
        let n_nodes = draft.nodes.len();
        let message = format!("{n_nodes} nodes; at most {NODES_MAX}");
        problems.add(None, "body", message);
        return Err(problems.list);
    }
    let Some(parents) = check_tree(&draft, DEPTH_MAX, &mut problems) else {
        return Err(problems.list);
    };
    let bodies = Bodies::new(&draft, &parents);
    let Links { links, lost } = check_links(&draft, (&parents, &bodies), &mut problems);
    check_nodes(&draft, &mut problems);
    publish::check(&draft, &mut problems);
    check_names(&draft, &bodies, &mut problems);
    check_reads(&draft, &bodies, &mut problems);
    picks::check(&draft, &bodies, &mut problems);
    variables::check(&draft, &bodies, &mut problems);
    let order = Order::new(&draft.nodes, &links);
    report_cycles(&draft, &links, order.cycles(), &mut problems);
    // A link that was meant otherwise may be the one that puts a producer first.
    if !lost {
        check_producers(&draft, (&parents, &bodies), &links, &order, &mut problems);
    }
    if !problems.list.is_empty() {
        return Err(problems.list);
    }
    draft.ask_for_capabilities();
    Ok(Checked::new(draft, parents, links, &order))
}

impl Checked {
    fn new(
        draft: Draft,
        parents: Vec<Option<NodeId>>,
        links: Vec<(NodeId, Link)>,
        order: &Order,
    ) -> Checked {
        let mut incoming = LinkNumbers::new(draft.nodes.len());
        let mut outgoing = LinkNumbers::new(draft.nodes.len());
        for (number, (_, link)) in links.iter().enumerate() {
            incoming.push(link.to, number as u32);
            outgoing.push(link.from, number as u32);
        }
        let activities = (0..draft.nodes.len() as u32)
            .filter(|&id| matches!(draft.nodes[id as usize].kind, NodeKind::Activity(_)))
            .map(ActivityId)
            .collect();
        let has_bodies = |node: &Node| node.kind.has_bodies();
        Checked {
            graph: Graph(OnceLock::from(order.graph(&draft.nodes))),
            has_bodies: draft.nodes.iter().any(has_bodies),
            crossings: Crossings::new(&draft, &parents),
            picks: Checked::pick_sites_of(&draft, &parents),
            grown: None,
            copies: Copies::default(),
            variables: by_name(draft.variables.iter().map(|variable| &variable.name)),
            owned: variables::by_owner(&draft),
            inputs: by_name(draft.inputs.iter().map(|input| &input.name)),
            draft,
            parents,
            incoming,
            outgoing,
            links,
            activities,
        }
    }
}

/// The places of names, in the order of the names.
fn by_name<'a>(names: impl Iterator<Item = &'a String>) -> Vec<u32> {
    let names: Vec<&String> = names.collect();
    let mut places: Vec<u32> = (0..names.len() as u32).collect();
    places.sort_by_key(|&place| names[place as usize]);
    places
}

/// Returns true if a process may be called so: a lower-case letter, then a-z, 0-9 and `-`.
pub fn is_process_name(name: &str) -> bool {
    let lower = |byte: u8| byte.is_ascii_lowercase();
    let bytes = name.as_bytes();
    let is_inside = |&byte: &u8| lower(byte) || byte.is_ascii_digit() || byte == b'-';
    bytes.first().is_some_and(|&byte| lower(byte))
        && bytes.iter().all(is_inside)
        && bytes.len() <= NAME_BYTES_MAX
}

fn check_head(draft: &Draft, problems: &mut Problems) {
    if !is_process_name(&draft.name) {
        let message = format!("`{}` is not a process name", shorten(&draft.name));
        problems.hint(
            None,
            "name",
            message,
            "a lower-case letter, then a-z, 0-9 and -",
        );
    }
    for (field, n_items) in [
        ("inputs", draft.inputs.len()),
        ("variables", draft.variables.len()),
        ("outputs", draft.outputs.len()),
        ("files", draft.files.len()),
    ] {
        if n_items > DECLARED_MAX {
            problems.add(
                None,
                field,
                format!("{n_items} entries; at most {DECLARED_MAX}"),
            );
        }
    }
    let defaults = draft.inputs.iter().flat_map(|input| &input.default);
    let initial = draft.variables.iter().map(|variable| &variable.initial);
    for (field, values) in [
        ("inputs", defaults.collect::<Vec<_>>()),
        ("variables", initial.collect()),
    ] {
        if values
            .iter()
            .any(|value| !value.is_within_depth(VALUE_DEPTH_MAX))
        {
            let message = format!(
                "a value with more than {VALUE_DEPTH_MAX} lists and maps within each other"
            );
            problems.add(None, field, message);
        }
        let n_bytes: usize = values.into_iter().map(Value::size).sum();
        if n_bytes > VALUES_BYTES_MAX {
            let message = format!("values of {n_bytes} bytes; at most {VALUES_BYTES_MAX}");
            problems.hint(None, field, message, "give larger data as files");
        }
    }
    let mut names = BTreeSet::new();
    for input in &draft.inputs {
        let field = format!("inputs.{}", input.name);
        check_identifier(&input.name, None, &field, problems);
        if !names.insert(&input.name) {
            problems.add(
                None,
                &field,
                format!("input `{}` is declared twice", input.name),
            );
        }
        check_type(&input.kind, &field, problems);
        if let Some(paths) = input.paths_beside() {
            let field = format!("{field}.default");
            for path in paths {
                check_path(path, None, &field, problems);
                if path.ends_with('/') {
                    problems.add(None, &field, format!("`{path}` is a directory, not a file"));
                }
            }
        } else if let Some(default) = &input.default {
            if !input.kind.admits(default) {
                let message = format!(
                    "the default is {}, not {}",
                    with_article(&default.type_name()),
                    with_article(&input.kind)
                );
                problems.add(None, format!("{field}.default"), message);
            } else if let Err(message) = input.check(default) {
                problems.add(None, format!("{field}.default"), message);
            }
        }
    }
    let mut names = BTreeSet::new();
    for variable in &draft.variables {
        let (of, field) = variables::place(draft, variable);
        check_identifier(&variable.name, of, &field, problems);
        if RESERVED.contains(&variable.name.as_str()) {
            problems.add(
                of,
                &field,
                format!("`{}` is a word of expressions", variable.name),
            );
        }
        if !names.insert(&variable.name) {
            problems.add(
                of,
                &field,
                format!("variable `{}` is declared twice", variable.name),
            );
        }
        check_type(&variable.kind, &field, problems);
        if !variable.kind.admits(&variable.initial) {
            let message = format!(
                "the value is {}, not {}",
                with_article(&variable.initial.type_name()),
                with_article(&variable.kind)
            );
            problems.add(of, field, message);
        }
    }
    let mut names = BTreeSet::new();
    for output in &draft.outputs {
        let field = format!("outputs.{}", output.name);
        check_identifier(&output.name, None, &field, problems);
        if !names.insert(&output.name) {
            problems.add(
                None,
                &field,
                format!("output `{}` is declared twice", output.name),
            );
        }
        match &output.source {
            OutputSource::Expression(expression) => {
                check_expression(expression, None, &field, problems);
            }
            OutputSource::Produced(source) | OutputSource::Gathered(source) => {
                check_source(draft, *source, None, &field, problems);
            }
        }
    }
    let mut names = BTreeSet::new();
    let common = draft.environment.as_ref();
    let common = common.and_then(|all| all.activation.as_ref());
    let of_environment = common.and_then(Activation::file);
    for (index, path) in draft.common_files().iter().enumerate() {
        if !names.insert(path) {
            problems.add(
                None,
                format!("files.{index}"),
                format!("`{path}` is listed twice"),
            );
        }
        // The environment's own file is checked where the environment names it.
        if of_environment == Some(path) {
            continue;
        }
        let field = format!("files.{index}");
        check_path(path, None, &field, problems);
        if path.ends_with('/') {
            problems.add(None, &field, "a directory; list its files");
        }
    }
    if draft.copies > COPIES_MAX {
        problems.add(None, "copies", format!("{} copies; 0 or 1", draft.copies));
    }
    check_named_limits(draft, problems);
    if let Some(environment) = &draft.environment {
        check_environment(environment, problems);
    }
    check_priority(draft.priority, None, problems);
    if let Some(policy) = draft.policy.filter(|policy| !policy.is_within_bounds()) {
        let says = format!("{policy}; from 1 to {ROUNDS_MAX} rounds");
        problems.add(None, "policy", says);
    }
    let tuning = draft.tuning.unwrap_or_default();
    for (name, _) in tuning.named().filter(|(_, part)| !part.is_within_bounds()) {
        problems.add(None, name, Part::WANTED);
    }
    if let Some(unused) = draft.policy.and_then(|policy| tuning.unused_by(policy)) {
        problems.add(None, unused.name, unused.to_string());
    }
}

fn check_priority(priority: Option<i32>, node: Option<NodeId>, problems: &mut Problems) {
    if let Some(priority) = priority
        && !(-PRIORITY_MAX..=PRIORITY_MAX).contains(&priority)
    {
        let says = format!("{priority}; a whole number from -{PRIORITY_MAX} to {PRIORITY_MAX}");
        problems.add(node, "priority", says);
    }
}

/// The parents, where the nodes are one tree numbered from the root down, in the order in which
/// they are written.
fn check_tree(
    draft: &Draft,
    depth_max: usize,
    problems: &mut Problems,
) -> Option<Vec<Option<NodeId>>> {
    let n_nodes = draft.nodes.len();
    if n_nodes == 0 {
        problems.add(
            None,
            "body",
            "nothing to do: the body has no controller and no activity",
        );
        return None;
    }
    let mut parents = vec![None; n_nodes];
    let mut stack: Vec<(NodeId, usize)> = vec![(NodeId(0), 1)];
    let mut expected = 0u32;
    while let Some((id, depth)) = stack.pop() {
        if id.0 != expected {
            let message = format!("{id} is not where the order of a tree wants it");
            problems.add(Some(NodeId(expected)), "", message);
            return None;
        }
        if depth > depth_max {
            let message = format!("nested deeper than {depth_max} controllers");
            problems.add(Some(id), "", message);
            return None;
        }
        expected += 1;
        for &child in draft.nodes[id.index()].children().iter().rev() {
            if child.index() >= n_nodes || child <= id || parents[child.index()].is_some() {
                problems.add(
                    Some(id),
                    "",
                    format!("its child {child} cannot be a child of it"),
                );
                return None;
            }
            parents[child.index()] = Some(id);
            stack.push((child, depth + 1));
        }
    }
    if (expected as usize) < n_nodes {
        problems.add(Some(NodeId(expected)), "", "not below any controller");
        return None;
    }
    Some(parents)
}

fn check_nodes(draft: &Draft, problems: &mut Problems) {
    let mut names: BTreeMap<&str, NodeId> = BTreeMap::new();
    let mut linked = BTreeSet::new();
    for node in &draft.nodes {
        if let NodeKind::Parallel { links, .. } = &node.kind {
            linked.extend(links.iter().map(|link| link.to));
        }
    }
    for (index, node) in draft.nodes.iter().enumerate() {
        let id = NodeId(index as u32);
        let here = Some(id);
        if node.name.is_empty() {
            if matches!(node.kind, NodeKind::Activity(_)) {
                problems.add(here, "activity", "an activity needs a name");
            }
        } else {
            let field = match node.kind {
                NodeKind::If { .. } | NodeKind::ForEach(_) | NodeKind::Repeat(_) => "name",
                NodeKind::Sequence(_)
                | NodeKind::Parallel { .. }
                | NodeKind::Activity(_)
                | NodeKind::Assign(_)
                | NodeKind::Empty => node.keyword(),
            };
            check_name(&node.name, here, field, problems);
            if names.insert(&node.name, id).is_some() {
                let message = format!("a second node is called `{}`", node.name);
                problems.hint(here, field, message, "names are unique in a definition");
            }
        }
        if node.join != Join::All && !linked.contains(&id) {
            problems.add(
                here,
                "join",
                "no link ends here, so there is nothing to join",
            );
        }
        if let Join::When(expression) = &node.join {
            check_expression(expression, here, "join", problems);
        }
        match &node.kind {
            NodeKind::Sequence(children) | NodeKind::Parallel { children, .. } => {
                if children.is_empty() {
                    let message = format!("{} without children", with_article(&node.keyword()));
                    problems.hint(
                        here,
                        "",
                        message,
                        "write `empty:` for a step that does nothing",
                    );
                }
            }
            NodeKind::If {
                conditions,
                children,
            } => {
                let n_else = children.len().checked_sub(conditions.len());
                if conditions.is_empty() || !matches!(n_else, Some(0 | 1)) {
                    let message = "an `if` has a branch for each condition, and may have an `else`";
                    problems.add(here, "", message);
                }
                for (number, condition) in conditions.iter().enumerate() {
                    check_expression(condition, here, &Place::condition(number), problems);
                }
            }
            NodeKind::Activity(activity) => check_activity(draft, activity, id, problems),
            NodeKind::Assign(writes) => {
                if writes.is_empty() {
                    problems.add(here, "assign", "nothing is assigned");
                }
                let mut seen = BTreeSet::new();
                for write in writes {
                    check_variable(draft, write.variable, here, "assign", problems);
                    check_expression(&write.value, here, "assign", problems);
                    if !seen.insert(write.variable) {
                        problems.add(here, "assign", "a variable is assigned twice");
                    }
                }
            }
            NodeKind::ForEach(each) => check_for_each(each, id, problems),
            NodeKind::Repeat(repeat) => check_repeat(repeat, id, problems),
            NodeKind::Empty => {}
        }
    }
}

fn check_variable(
    draft: &Draft,
    variable: u32,
    node: Option<NodeId>,
    field: &str,
    problems: &mut Problems,
) {
    if variable as usize >= draft.variables.len() {
        problems.add(node, field, "the process has no such variable");
    }
}

fn has_output(draft: &Draft, activity: NodeId, output: u32) -> bool {
    match draft.nodes.get(activity.index()).map(|node| &node.kind) {
        Some(NodeKind::Activity(activity)) => (output as usize) < activity.outputs.len(),
        Some(
            NodeKind::Sequence(_)
            | NodeKind::Parallel { .. }
            | NodeKind::If { .. }
            | NodeKind::ForEach(_)
            | NodeKind::Repeat(_)
            | NodeKind::Assign(_)
            | NodeKind::Empty,
        )
        | None => false,
    }
}

fn check_source(
    draft: &Draft,
    source: Source,
    node: Option<NodeId>,
    field: &str,
    problems: &mut Problems,
) {
    match source {
        Source::Output { activity, output } => {
            if !has_output(draft, activity, output) {
                problems.add(node, field, "no activity has such an output");
            } else if node == Some(activity) {
                problems.add(node, field, "an activity cannot read its own output");
            }
        }
        Source::Input(index) => match draft.inputs.get(index as usize) {
            None => problems.add(node, field, "the process has no such input"),
            // A list of them is staged in a directory.
            Some(input) if node.is_some() && input.kind.is_list_of_files() => {}
            Some(input) if !matches!(input.kind, Type::File | Type::Directory) => {
                let message = format!("input `{}` is {}", input.name, with_article(&input.kind));
                problems.hint(
                    node,
                    field,
                    message,
                    "only a file or a directory, or a list of these, can be staged",
                );
            }
            Some(_) => {}
        },
        // Whether it is in that body is looked at with all that is read.
        Source::Item(_) if node.is_some() => {}
        Source::Item(_) => problems.add(node, field, "an item is known in its for-each alone"),
        // Its cases are looked at with all that is read.
        Source::Pick(_) => {}
    }
}
