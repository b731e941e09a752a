//! Activities that can be made again at any time: their commands are then the same as before.

use std::collections::BTreeSet;

use model::{Activity, Command, Draft, Node, NodeId, NodeKind, Stdin, Template, Value};

/// The activities that cannot: those that run at most once, and those that read a variable whose value may
/// have changed since.
pub(super) fn once(draft: &Draft) -> BTreeSet<NodeId> {
    let changing = changing(draft);
    // The environment of all commands.
    let all_read_changing = changing
        .iter()
        .any(|name| has_name(draft.common_env(), name));
    let nodes = (0..).map(NodeId).zip(&draft.nodes);
    let once = nodes.filter(|(_, node)| match &node.kind {
        NodeKind::Activity(activity) => {
            activity.at_most_once
                || changing.iter().any(|name| reads(activity, name))
                || all_read_changing
        }
        NodeKind::Sequence(_)
        | NodeKind::Parallel { .. }
        | NodeKind::If { .. }
        | NodeKind::ForEach(_)
        | NodeKind::Repeat(_)
        | NodeKind::Assign(_)
        | NodeKind::Empty => false,
    });
    once.map(|(id, _)| id).collect()
}

/// Variables with more than one value that can be read. One that is empty until its only writer has written
/// it, once, has one.
fn changing(draft: &Draft) -> BTreeSet<&str> {
    let mut n_writes = vec![0_usize; draft.variables.len()];
    let mut add = |variable: u32, n: usize| {
        if let Some(counted) = n_writes.get_mut(variable as usize) {
            *counted += n;
        }
    };
    let in_bodies = in_bodies(draft);
    for (id, node) in (0..).map(NodeId).zip(&draft.nodes) {
        // Whoever writes in a body may do so again.
        let each = if in_bodies.contains(&id) { 2 } else { 1 };
        match &node.kind {
            NodeKind::Activity(activity) => {
                let captures = [activity.stdout, activity.stderr].into_iter().flatten();
                captures.for_each(|capture| add(capture.variable, each));
            }
            NodeKind::Assign(writes) => writes.iter().for_each(|one| add(one.variable, each)),
            NodeKind::Sequence(_)
            | NodeKind::Parallel { .. }
            | NodeKind::If { .. }
            | NodeKind::ForEach(_)
            | NodeKind::Repeat(_)
            | NodeKind::Empty => {}
        }
    }
    let variables = draft.variables.iter().zip(n_writes);
    let changing = variables.filter(|(variable, n_writes)| {
        let is_empty = variable.initial == Value::Null;
        n_writes + usize::from(!is_empty) > 1
    });
    changing
        .map(|(variable, _)| variable.name.as_str())
        .collect()
}

/// The nodes of the bodies of all controllers that may run theirs more than once.
fn in_bodies(draft: &Draft) -> BTreeSet<NodeId> {
    let controllers = draft.nodes.iter().filter(|node| node.kind.has_bodies());
    let mut open: Vec<NodeId> = controllers.flat_map(Node::children).copied().collect();
    let mut found = BTreeSet::new();
    while let Some(id) = open.pop() {
        if found.insert(id)
            && let Some(node) = draft.nodes.get(id.index())
        {
            open.extend(node.children());
        }
    }
    found
}

/// Returns true if an expression of a command has a variable's name in it; it may also be the name of
/// something else.
fn reads(activity: &Activity, name: &str) -> bool {
    let has = |text: &str| may_read(text, name);
    let in_command = match &activity.command {
        Command::List(parts) => parts.iter().any(|part| has(&part.0)),
        Command::Shell(line) => has(&line.0),
    };
    let in_stdin = match &activity.stdin {
        Some(Stdin::Text(text)) => has(&text.0),
        Some(Stdin::File(_)) | None => false,
    };
    in_command || in_stdin || has_name(&activity.env, name)
}

fn has_name(env: &[(String, Template)], name: &str) -> bool {
    env.iter().any(|(_, value)| may_read(&value.0, name))
}

fn may_read(text: &str, name: &str) -> bool {
    text.contains("${") && text.contains(name)
}
