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

use model::{ActivityId, Definition, Node, NodeId, NodeKind};

use crate::controllers::controller_name;
use crate::store::Store;

/// Reference seconds of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lengths {
    /// From its beginning to its end, with the bodies that are known, and one where none is.
    pub planned: f64,
    /// The same with those that are expected.
    pub expected: f64,
    /// All of its activities together, with the bodies that are known.
    pub planned_work: f64,
    /// The same with those that are expected.
    pub expected_work: f64,
}

/// The numbers of a controller's bodies. Those of a controller inside of a body are those of the first one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counts {
    /// The bodies that are known, else one.
    pub planned: f64,
    /// The bodies that are expected.
    pub expected: f64,
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
    /// The lengths on so many slots, by the work of each activity in reference seconds, and the numbers of bodies
    /// of each for-each and each loop. O(nodes of the draft).
    pub fn new(
        definition: &Definition,
        slots: f64,
        work: impl Fn(ActivityId) -> f64,
        counts: impl Fn(NodeId) -> Counts,
    ) -> Lengths {
        let nodes = &definition.draft().nodes;
        let mut lengths = vec![[Length::default(); 2]; nodes.len()];
        // The nodes of a body come after its root, so the last ones are those without anything below.
        for (at, node) in nodes.iter().enumerate().rev() {
            let id = NodeId(at as u32);
            let bodies = match node.kind.has_bodies() {
                true => {
                    let counts = counts(id);
                    [counts.planned, counts.expected]
                }
                false => [1.0; 2],
            };
            for (way, n) in bodies.into_iter().enumerate() {
                let below = node.children().iter().filter(|child| child.index() > at);
                let below = below.map(|child| lengths[child.index()][way]);
                lengths[at][way] = match node.activity() {
                    Some(_) => {
                        let work = work(ActivityId(id.0));
                        Length { long: work, work }
                    }
                    None => length(node, below, n, slots),
                };
            }
        }
        let [planned, expected] = lengths.first().copied().unwrap_or_default();
        Lengths {
            planned: planned.long,
            expected: expected.long,
            planned_work: planned.work,
            expected_work: expected.work,
        }
    }

    /// The expected length as a multiple of that in the plan.
    pub fn factor(&self) -> f64 {
        match self.planned > 0.0 {
            true => self.expected / self.planned,
            false => 1.0,
        }
    }
}

impl Counts {
    /// The bodies of a controller that has not ended: those that are known, and as many as in earlier runs of its
    /// owner. The items of a for-each are all known once any is.
    pub fn remembered(
        definition: &Definition,
        owner: &str,
        history: &Store,
        controller: NodeId,
    ) -> Counts {
        let known = definition.n_items(controller).map(f64::from);
        let planned = known.unwrap_or(1.0);
        let node = &definition.draft().nodes[controller.index()];
        if matches!(node.kind, NodeKind::ForEach(_)) && known.is_some() {
            return Counts::known(planned);
        }
        let remembered = bodies(definition, owner, history, controller);
        let expected = remembered.unwrap_or(planned);
        Counts {
            planned,
            expected: known.map_or(expected, |known| known.max(expected)),
        }
    }

    /// Returns true if it is known how many bodies a controller had in earlier runs of its owner.
    pub fn are_remembered(
        definition: &Definition,
        owner: &str,
        history: &Store,
        controller: NodeId,
    ) -> bool {
        bodies(definition, owner, history, controller).is_some()
    }

    /// So many, and no more.
    pub fn known(n: f64) -> Counts {
        Counts {
            planned: n,
            expected: n,
        }
    }
}

fn bodies(
    definition: &Definition,
    owner: &str,
    history: &Store,
    controller: NodeId,
) -> Option<f64> {
    let name = controller_name(definition, controller);
    history.bodies_of((owner, definition.name()), &name)
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
