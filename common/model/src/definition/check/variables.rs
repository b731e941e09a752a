//! The variables of bodies: each body of a for-each or a loop has its own, and only what lies in it writes
//! them.

use std::collections::BTreeMap;

use super::bodies::Bodies;
use super::problems::Problems;
use crate::NodeId;
use crate::definition::{Draft, NodeKind, Variable};

/// The node and the field that declare a variable.
pub(super) fn place(draft: &Draft, variable: &Variable) -> (Option<NodeId>, String) {
    let of = variable.of.filter(|of| of.index() < draft.nodes.len());
    let kind = of.map(|of| &draft.nodes[of.index()].kind);
    let within = match kind {
        Some(NodeKind::ForEach(_)) => "for-each.",
        Some(
            NodeKind::Sequence(_)
            | NodeKind::Parallel { .. }
            | NodeKind::If { .. }
            | NodeKind::Repeat(_)
            | NodeKind::Activity(_)
            | NodeKind::Assign(_)
            | NodeKind::Empty,
        )
        | None => "",
    };
    (of, format!("{within}variables.{}", variable.name))
}

/// The places of the variables of bodies, by their controllers.
pub(super) fn by_owner(draft: &Draft) -> BTreeMap<NodeId, Vec<u32>> {
    let mut owned: BTreeMap<NodeId, Vec<u32>> = BTreeMap::new();
    for (place, variable) in draft.variables.iter().enumerate() {
        if let Some(of) = variable.of {
            owned.entry(of).or_default().push(place as u32);
        }
    }
    owned
}

/// Variables of bodies belong to controllers that have some, and are written inside.
pub(super) fn check(draft: &Draft, bodies: &Bodies<'_>, problems: &mut Problems) {
    for variable in draft.variables.iter().filter(|one| one.of.is_some()) {
        let (of, field) = place(draft, variable);
        let has_bodies = of.is_some_and(|of| draft.nodes[of.index()].kind.has_bodies());
        if !has_bodies {
            let message = "variables of what is no for-each and no loop";
            problems.add(of, field, message);
        }
    }
    for (index, node) in draft.nodes.iter().enumerate() {
        let id = NodeId(index as u32);
        let mut write = |variable: u32, field: &str| {
            let Some(variable) = draft.variables.get(variable as usize) else {
                return;
            };
            let Some(of) = variable.of else { return };
            if !is_inside(bodies, id, of) {
                let name = &variable.name;
                let message = format!("`{name}` is a variable of a body that this does not lie in");
                let hint = "declare it under `variables:` of the process";
                problems.hint(Some(id), field, message, hint);
            }
        };
        match &node.kind {
            NodeKind::Activity(activity) => {
                let streams = [("stdout", activity.stdout), ("stderr", activity.stderr)];
                for (stream, capture) in streams {
                    if let Some(capture) = capture {
                        write(capture.variable, stream);
                    }
                }
            }
            NodeKind::Assign(writes) => {
                writes.iter().for_each(|one| write(one.variable, "assign"));
            }
            NodeKind::Sequence(_)
            | NodeKind::Parallel { .. }
            | NodeKind::If { .. }
            | NodeKind::ForEach(_)
            | NodeKind::Repeat(_)
            | NodeKind::Empty => {}
        }
    }
}

/// Returns true if a node lies in a body of this controller.
fn is_inside(bodies: &Bodies<'_>, node: NodeId, of: NodeId) -> bool {
    let mut at = bodies.of(node);
    while let Some(owner) = at.and_then(|body| bodies.owner(body)) {
        if owner == of {
            return true;
        }
        at = bodies.of(owner);
    }
    false
}
