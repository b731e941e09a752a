//! Where the controllers of a process are: the state of each node and link of its definition.
//!
//! [`Control::apply`] is the fold of the recorded [`Flow`]s. It decides nothing: what a controller
//! does next is worked out by [`crate::flow`] before it is recorded, so a replay of an old journal
//! does not depend on the rules of the version that replays it. The counters and the agenda below
//! follow from the states, so snapshots hold the states alone.

use std::collections::BTreeSet;

use minicbor::{Decode, Encode};
use model::{Definition, Join, NodeId, NodeKind};

use crate::record::{Flow, LinkState, NodeState};

/// Something that an expression must decide. Decisions are made in this order: a link is evaluated
/// when its source ends, so before anything that follows writes a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Decision {
    /// The value of a link.
    Link(u32),
    /// Whether a node runs.
    Join(NodeId),
    /// What an `assign` writes.
    Assign(NodeId),
    /// The body has ended: what the process gives.
    Close,
}

/// The control flow of one process.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub(crate) struct Control {
    #[n(0)]
    nodes: Vec<NodeState>,
    #[n(1)]
    links: Vec<LinkState>,
    /// How many links that end at the node have no value.
    #[cbor(skip)]
    n_open_links: Vec<u32>,
    /// How many children of the node have ended.
    #[cbor(skip)]
    n_ended: Vec<u32>,
    #[cbor(skip)]
    agenda: BTreeSet<Decision>,
}

/// A node that a flow has moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    pub(crate) node: NodeId,
    pub(crate) from: NodeState,
    pub(crate) to: NodeState,
}

impl Control {
    /// All nodes idle, all links without a value.
    pub(crate) fn new(definition: &Definition) -> Control {
        let mut control = Control {
            nodes: vec![NodeState::Idle; definition.nodes().len()],
            links: vec![LinkState::Unknown; definition.links().len()],
            ..Control::default()
        };
        control.rebuild(definition);
        control
    }

    /// Works out what follows from the states: after a snapshot was read.
    pub(crate) fn rebuild(&mut self, definition: &Definition) {
        let n_nodes = self.nodes.len();
        let nodes = || (0..n_nodes as u32).map(NodeId);
        let is_open = |link: &&u32| self.link(**link) == LinkState::Unknown;
        let n_open = |node| definition.incoming(node).iter().filter(is_open).count() as u32;
        self.n_open_links = nodes().map(n_open).collect();
        let mut n_ended = vec![0; n_nodes];
        for node in nodes().filter(|&node| self.node(node).has_ended()) {
            if let Some(parent) = definition.parent(node) {
                n_ended[parent.index()] += 1;
            }
        }
        self.n_ended = n_ended;
        self.agenda.clear();
        nodes().for_each(|node| self.note_decisions(definition, node));
    }

    /// Moves nodes and links as recorded. Each node that has moved is passed to `moved`.
    pub(crate) fn apply(
        &mut self,
        definition: &Definition,
        flow: &Flow,
        mut moved: impl FnMut(Moved),
    ) {
        for (link, value) in flow.links() {
            let Some(state) = self.links.get_mut(link as usize) else {
                continue;
            };
            *state = value;
            self.agenda.remove(&Decision::Link(link));
            let to = definition.links()[link as usize].1.to;
            let n_open = &mut self.n_open_links[to.index()];
            *n_open = n_open.saturating_sub(1);
        }
        for (node, to) in flow.nodes() {
            let Some(state) = self.nodes.get_mut(node.index()) else {
                continue;
            };
            let from = std::mem::replace(state, to);
            if to.has_ended()
                && !from.has_ended()
                && let Some(parent) = definition.parent(node)
            {
                self.n_ended[parent.index()] += 1;
            }
            match from {
                NodeState::Enabled => self.agenda.remove(&Decision::Join(node)),
                NodeState::Running => self.agenda.remove(&Decision::Assign(node)),
                NodeState::Idle | NodeState::Done | NodeState::Skipped | NodeState::Broken => false,
            };
            moved(Moved { node, from, to });
        }
        // A link may have been the last one that a node waited for.
        for (link, _) in flow.links() {
            if let Some((_, link)) = definition.links().get(link as usize) {
                self.note_decisions(definition, link.to);
            }
        }
        for (node, _) in flow.nodes() {
            self.note_decisions(definition, node);
        }
    }

    /// Puts on the agenda what an expression must decide about a node in its state.
    fn note_decisions(&mut self, definition: &Definition, node: NodeId) {
        let Some(&state) = self.nodes.get(node.index()) else {
            return;
        };
        match state {
            NodeState::Idle => {}
            NodeState::Enabled => {
                let has_condition = matches!(definition.node(node).join, Join::When(_));
                if has_condition && self.n_open_links[node.index()] == 0 {
                    self.agenda.insert(Decision::Join(node));
                }
            }
            NodeState::Running => {
                if let NodeKind::Assign(_) = definition.node(node).kind {
                    self.agenda.insert(Decision::Assign(node));
                }
            }
            NodeState::Done => {
                for &link in definition.outgoing(node) {
                    if self.link(link) == LinkState::Unknown {
                        self.agenda.insert(Decision::Link(link));
                    }
                }
            }
            NodeState::Skipped | NodeState::Broken => {}
        }
        if state.has_ended() && definition.parent(node).is_none() {
            self.agenda.insert(Decision::Close);
        }
    }

    /// The first thing that an expression must decide.
    pub(crate) fn next_decision(&self) -> Option<Decision> {
        self.agenda.first().copied()
    }

    /// The value of a link, once it has one; one that is broken reads false.
    pub(crate) fn link_value(&self, link: u32) -> Option<bool> {
        match self.link(link) {
            LinkState::Unknown => None,
            LinkState::True => Some(true),
            LinkState::False | LinkState::Broken => Some(false),
        }
    }

    /// Where a node is in its life.
    pub(crate) fn node(&self, node: NodeId) -> NodeState {
        self.nodes[node.index()]
    }

    /// The value of a link, or why it has none.
    pub(crate) fn link(&self, link: u32) -> LinkState {
        self.links[link as usize]
    }

    /// How many links that end at a node have no value.
    pub(crate) fn n_open_links(&self, node: NodeId) -> u32 {
        self.n_open_links[node.index()]
    }

    /// How many children of a node have ended.
    pub(crate) fn n_ended(&self, node: NodeId) -> u32 {
        self.n_ended[node.index()]
    }

    /// Entries of a snapshot, about: a byte or two for each node, so they count little.
    pub(crate) fn weight(&self) -> usize {
        self.nodes.len() / 8
    }
}
