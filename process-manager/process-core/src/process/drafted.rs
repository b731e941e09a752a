//! Numbers of a process's activities by the activities of its draft, of which they are copies: what is left of a
//! for-each of 100,000 items is known by the few names in its body.

use model::NodeId;

/// Numbers of activities by node of the draft.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drafted {
    by_node: Vec<Counts>,
}

/// Activities that are copies of one of the draft, or that one itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) n_all: u32,
    pub(crate) n_ended: u32,
}

impl Drafted {
    /// No activities yet, of a draft of so many nodes.
    pub(super) fn with_nodes(n_nodes: usize) -> Drafted {
        Drafted {
            by_node: vec![Counts::default(); n_nodes],
        }
    }

    /// There is one more.
    pub(super) fn add(&mut self, origin: NodeId) {
        self.by_node[origin.index()].n_all += 1;
    }

    /// One has ended.
    pub(super) fn end(&mut self, origin: NodeId) {
        self.by_node[origin.index()].n_ended += 1;
    }

    /// The number of nodes of the draft.
    pub(crate) fn n_nodes(&self) -> usize {
        self.by_node.len()
    }

    /// Every `stride`th node of the draft that has activities.
    pub(crate) fn every(&self, stride: usize) -> impl Iterator<Item = (NodeId, Counts)> {
        let all = (0..).map(NodeId).zip(self.by_node.iter().copied());
        let used = all.filter(|(_, counts)| counts.n_all > 0);
        used.step_by(stride.max(1))
    }
}
