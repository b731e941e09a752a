//! The length of a process with the bodies that are expected beside those that are known ([`history::Lengths`]).

use history::{Counts, Lengths, Store};
use model::{Node, NodeId, NodeKind};

use crate::enact::works::{Works, owner};
use crate::process::Process;
use crate::record::NodeState;

/// Nodes of a draft up to which it is looked through: a fraction of a millisecond.
const NODES_MAX: usize = 4_096;

/// The lengths on so many slots. They are equal where nothing is remembered of the process, or it is too large
/// to be looked through. O(nodes of the draft).
pub(crate) fn lengths(process: &Process, history: &Store, works: &Works, slots: f64) -> Lengths {
    if !may_have_more(process, history, NODES_MAX) {
        return Lengths::default();
    }
    Lengths::new(
        process.definition(),
        slots,
        |activity| works.of(process, activity).reference_seconds(),
        |controller| counts(process, history, controller),
    )
}

/// The number of activities with the bodies that are expected, beyond that with those that are known. 0 where the
/// draft has more nodes than that. O(nodes of the draft).
pub(crate) fn more_activities(process: &Process, history: &Store, nodes_max: usize) -> f64 {
    if !may_have_more(process, history, nodes_max) {
        return 0.0;
    }
    let of = |controller| counts(process, history, controller);
    let lengths = Lengths::new(process.definition(), 1.0, |_| 1.0, of);
    (lengths.expected_work - lengths.planned_work).max(0.0)
}

/// Returns true if a loop runs of which no earlier run says how many iterations it has, so that nobody knows how long
/// it goes on. O(nodes of the draft); false where these are too many.
pub(crate) fn is_open_ended(process: &Process, history: &Store) -> bool {
    let definition = process.definition();
    let nodes = &definition.draft().nodes;
    let is_open = |(id, node): (NodeId, &Node)| {
        matches!(node.kind, NodeKind::Repeat(_))
            && process.state.frame.node(id) == NodeState::Running
            && !Counts::are_remembered(definition, owner(process), history, id)
    };
    nodes.len() <= NODES_MAX && (0..).map(NodeId).zip(nodes).any(is_open)
}

fn may_have_more(process: &Process, history: &Store, nodes_max: usize) -> bool {
    let definition = process.definition();
    let nodes = &definition.draft().nodes;
    let has_bodies = |node: &Node| node.kind.has_bodies();
    history.knows(owner(process), definition.name())
        && nodes.len() <= nodes_max
        && nodes.iter().any(has_bodies)
}

/// The bodies of a controller: those of one that has ended are known.
fn counts(process: &Process, history: &Store, controller: NodeId) -> Counts {
    let definition = process.definition();
    match process.state.frame.node(controller) {
        NodeState::Idle | NodeState::Enabled | NodeState::Running => {
            Counts::remembered(definition, owner(process), history, controller)
        }
        NodeState::Done | NodeState::Skipped | NodeState::Broken => {
            Counts::known(definition.n_items(controller).map_or(1.0, f64::from))
        }
    }
}
