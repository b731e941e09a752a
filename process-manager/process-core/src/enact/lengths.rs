//! The length of a process with the bodies that are known, and with those that are expected: further iterations
//! of a loop, items of a for-each whose list is made later. A plan has one body of each; there are taken to be as
//! many as in earlier runs.
//!
//! ```text
//!  an activity           its work
//!  a sequence, a loop    its steps, or its iterations, one after another
//!  a parallel            the longest of its steps, or all of them on all slots, whichever is longer
//!  a for-each            the same with a body for each item, as many at a time as it may run
//!  an if                 its longest branch
//! ```

use history::{Store, controller_name};
use model::{ActivityId, Definition, Node, NodeId, NodeKind};

use crate::enact::works::{Works, owner};
use crate::process::Process;
use crate::record::NodeState;

/// Nodes of a draft up to which it is looked through: a fraction of a millisecond.
const NODES_MAX: usize = 4_096;

/// Reference seconds from the beginning of a process to its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lengths {
    /// With the bodies that are known, and one where none is.
    pub(crate) planned: f64,
    /// With those that are expected.
    pub(crate) expected: f64,
}

/// A part of a process.
#[derive(Clone, Copy, Debug, Default)]
struct Length {
    /// From its beginning to its end.
    long: f64,
    /// All of its activities together.
    work: f64,
}

impl Lengths {
    /// The lengths on so many slots. They are equal where nothing is remembered of the process, or it is too large
    /// to be looked through. O(nodes of the draft).
    pub(crate) fn of(process: &Process, history: &Store, works: &Works, slots: f64) -> Lengths {
        let definition = process.definition();
        let nodes = &definition.draft().nodes;
        let is_remembered = history.knows(owner(process), definition.name());
        if !is_remembered || nodes.len() > NODES_MAX || !nodes.iter().any(has_bodies) {
            return Lengths {
                planned: 0.0,
                expected: 0.0,
            };
        }
        let mut lengths = vec![[Length::default(); 2]; nodes.len()];
        // The nodes of a body come after its root, so the last ones are those without anything below.
        for (at, node) in nodes.iter().enumerate().rev() {
            let id = NodeId(at as u32);
            let bodies = bodies(process, history, node, id);
            for (way, n) in bodies.into_iter().enumerate() {
                let below = node.children().iter().filter(|child| child.index() > at);
                let below = below.map(|child| lengths[child.index()][way]);
                lengths[at][way] = match node.activity() {
                    Some(_) => {
                        let work = works.of(process, ActivityId(id.0)).reference_seconds();
                        Length { long: work, work }
                    }
                    None => length(node, below, n, slots),
                };
            }
        }
        let [planned, expected] = lengths[0].map(|length| length.long);
        Lengths { planned, expected }
    }

    /// The expected length as a multiple of that in the plan.
    pub(crate) fn factor(&self) -> f64 {
        match self.planned > 0.0 {
            true => self.expected / self.planned,
            false => 1.0,
        }
    }
}

fn has_bodies(node: &Node) -> bool {
    node.kind.has_bodies()
}

/// The numbers of a controller's bodies, as they are known and as they are expected. Those of a controller inside
/// of a body are those of the first one.
fn bodies(process: &Process, history: &Store, node: &Node, id: NodeId) -> [f64; 2] {
    let definition: &Definition = process.definition();
    if !has_bodies(node) {
        return [1.0; 2];
    }
    let known = definition.n_items(id).map(f64::from);
    let planned = known.unwrap_or(1.0);
    let is_over = match process.state.frame.node(id) {
        NodeState::Idle | NodeState::Enabled | NodeState::Running => false,
        NodeState::Done | NodeState::Skipped | NodeState::Broken => true,
    };
    let is_list = matches!(node.kind, NodeKind::ForEach(_));
    if is_over || is_list && known.is_some() {
        return [planned; 2];
    }
    let names = (owner(process), definition.name());
    let remembered = history.bodies_of(names, &controller_name(definition, id));
    let expected = remembered.unwrap_or(planned);
    [planned, known.map_or(expected, |known| known.max(expected))]
}

/// The length of a controller with so many bodies, or none.
fn length(node: &Node, below: impl Iterator<Item = Length> + Clone, n: f64, slots: f64) -> Length {
    let work: f64 = below.clone().map(|length| length.work).sum();
    let sum: f64 = below.clone().map(|length| length.long).sum();
    let longest = below.clone().map(|length| length.long).fold(0.0, f64::max);
    match &node.kind {
        NodeKind::Sequence(_) => Length { long: sum, work },
        NodeKind::Parallel { .. } => Length {
            long: f64::max(longest, work / slots),
            work,
        },
        NodeKind::If { .. } => Length {
            long: longest,
            work: below.map(|length| length.work).fold(0.0, f64::max),
        },
        NodeKind::ForEach(each) => {
            // Less than one item is the chance of one.
            let once = longest * n.min(1.0);
            let at_most = each.at_most.map_or(f64::INFINITY, f64::from);
            let in_a_row = f64::max(n * work / slots, n * longest / at_most);
            Length {
                long: once.max(in_a_row),
                work: n * work,
            }
        }
        NodeKind::Repeat(_) => Length {
            long: n * sum,
            work: n * work,
        },
        NodeKind::Activity(_) | NodeKind::Assign(_) | NodeKind::Empty => Length::default(),
    }
}
