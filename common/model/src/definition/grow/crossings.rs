//! Activities that read across the edge of a body, so that their inputs change as it gets copies.

use std::collections::BTreeSet;

use super::{Shift, body_len};
use crate::NodeId;
use crate::definition::{Draft, Node, NodeKind, Source};

/// Activities of a draft that read an output of a body from outside of it, each with the producer.
#[derive(Clone, Debug, Default)]
pub(in crate::definition) struct Crossings {
    /// They read the outputs of all items.
    gathers: Vec<(NodeId, NodeId)>,
    /// They read the output of the last iteration.
    last: Vec<(NodeId, NodeId)>,
    /// Producers of what an activity reads from the iteration before.
    carried: BTreeSet<NodeId>,
}

impl Crossings {
    pub(in crate::definition) fn new(draft: &Draft, parents: &[Option<NodeId>]) -> Crossings {
        let mut found = Crossings::default();
        for (index, node) in draft.nodes.iter().enumerate() {
            let NodeKind::Activity(activity) = &node.kind else {
                continue;
            };
            let reader = NodeId(index as u32);
            for staged in &activity.inputs {
                if let Some(Source::Output { activity, .. }) = staged.carried {
                    found.carried.insert(activity);
                }
                let Source::Output {
                    activity: producer, ..
                } = staged.source
                else {
                    continue;
                };
                if staged.gathers {
                    found.gathers.push((reader, producer));
                } else if leaves_body(&draft.nodes, producer, reader, parents) {
                    found.last.push((reader, producer));
                }
            }
        }
        for pairs in [&mut found.gathers, &mut found.last] {
            pairs.sort_unstable();
            pairs.dedup();
        }
        found
    }

    /// Returns true if copies of a body may read something else than the same nodes of the draft, with
    /// other numbers.
    pub(super) fn is_any(&self) -> bool {
        !self.carried.is_empty() || !self.gathers.is_empty() || !self.last.is_empty()
    }

    /// Returns true if the next iteration reads what this activity of the draft produces.
    pub(super) fn is_carried(&self, producer: NodeId) -> bool {
        self.carried.contains(&producer)
    }

    /// Returns true if somebody outside of a body reads the files of all its copies.
    pub(super) fn is_gathered(&self, body: Shift) -> bool {
        let mut pairs = self.gathers.iter();
        pairs.any(|&(reader, producer)| body.of(producer).is_some() && body.of(reader).is_none())
    }

    /// The activities that read from a body, and do not lie in it.
    pub(super) fn readers_of(&self, body: Shift) -> BTreeSet<NodeId> {
        let pairs = self.gathers.iter().chain(&self.last);
        let crossing = pairs.filter(|&&(reader, producer)| {
            body.of(producer).is_some() && body.of(reader).is_none()
        });
        crossing.map(|&(reader, _)| reader).collect()
    }
}

/// Returns true if the producer lies in a body that the reader does not lie in.
fn leaves_body(
    nodes: &[Node],
    producer: NodeId,
    reader: NodeId,
    parents: &[Option<NodeId>],
) -> bool {
    let mut at = producer;
    while let Some(parent) = parents[at.index()] {
        if nodes[parent.index()].kind.has_bodies() {
            // Nodes below another one have the numbers after it.
            let end = at.0 + body_len(nodes, parent);
            return !(at.0..end).contains(&reader.0);
        }
        at = parent;
    }
    false
}
