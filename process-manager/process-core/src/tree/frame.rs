//! A running instance of a region: the state of each of its nodes and links.
//!
//! The region of the root frame is the whole definition, so an activity of it is named by its node.
//! [`Frame::apply`] is the fold of the recorded [`Flow`]s. It decides nothing: the next moves of a
//! controller are worked out in a [`super::Transition`] before they are recorded, so a replay of an old
//! journal does not depend on the rules of the version that replays it. The counters and the agenda
//! follow from the states, so snapshots and their chapters hold the states alone.

use std::collections::{BTreeMap, BTreeSet};

use minicbor::{Decode, Encode};
use model::{Definition, Join, NodeId, NodeKind};

use super::{choice, for_each, repeat};
use crate::record::{Flow, LinkState, NodeState};

/// Something that an expression must decide. Decisions are made in this order: a link is evaluated
/// when its source ends, so before anything that follows writes a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Decision {
    /// The value of a link.
    Link(u32),
    /// The join of a node: to run or to skip it.
    Join(NodeId),
    /// The branch of an `if` that runs.
    Choose(NodeId),
    /// The writes of an `assign`.
    Assign(NodeId),
    /// The items of a `for-each`.
    Expand(NodeId),
    /// The first items of a `for-each`, which has a body for each, or the next iteration of a loop.
    Spread(NodeId),
    /// Whether a loop has another iteration.
    Repeat(NodeId),
    /// The outputs of the process, since its body has ended.
    Close,
}

/// The kind of a decision, of which a node makes one.
type Decide = fn(NodeId) -> Decision;

/// The control flow of one region.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub(crate) struct Frame {
    #[n(0)]
    nodes: Vec<NodeState>,
    #[n(1)]
    links: Vec<LinkState>,
    /// Links without a value that end at the node.
    #[cbor(skip)]
    n_open_links: Vec<u32>,
    /// Children of the node that have ended.
    #[cbor(skip)]
    n_ended: Vec<u32>,
    /// Bodies that are done, of each for-each that does not wait for all of them.
    #[cbor(skip)]
    n_done: BTreeMap<NodeId, u32>,
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

impl Frame {
    /// All nodes idle, all links without a value.
    pub(crate) fn new(definition: &Definition) -> Frame {
        let mut frame = Frame {
            nodes: vec![NodeState::Idle; definition.n_nodes()],
            links: vec![LinkState::Unknown; definition.links().len()],
            ..Frame::default()
        };
        frame.rebuild(definition);
        frame
    }

    /// Derives counters and agenda from the states, after a snapshot was read.
    pub(crate) fn rebuild(&mut self, definition: &Definition) {
        let n_nodes = self.nodes.len();
        let nodes = || (0..n_nodes as u32).map(NodeId);
        let is_open = |link: &&u32| self.link(**link) == LinkState::Unknown;
        let n_open = |node| definition.incoming(node).iter().filter(is_open).count() as u32;
        self.n_open_links = nodes().map(n_open).collect();
        let mut n_ended = vec![0; n_nodes];
        self.n_done.clear();
        for node in (0..n_nodes as u32).map(NodeId) {
            let state = self.node(node);
            if let Some(parent) = definition.parent(node).filter(|_| state.has_ended()) {
                n_ended[parent.index()] += 1;
                self.count_done(definition, parent, state);
            }
        }
        self.n_ended = n_ended;
        self.agenda.clear();
        nodes().for_each(|node| self.note_decisions(definition, node));
    }

    /// Takes in the nodes and links that a for-each or a loop has got.
    pub(crate) fn grow(&mut self, definition: &Definition, each: NodeId) {
        let n_before = self.nodes.len() as u32;
        self.nodes.resize(definition.n_nodes(), NodeState::Idle);
        self.links
            .resize(definition.links().len(), LinkState::Unknown);
        let added = (n_before..self.nodes.len() as u32).map(NodeId);
        let n_incoming = added.map(|node| definition.incoming(node).len() as u32);
        self.n_open_links.extend(n_incoming);
        self.n_ended.resize(self.nodes.len(), 0);
        self.agenda.remove(&Decision::Expand(each));
        self.agenda.remove(&Decision::Repeat(each));
        self.note_decisions(definition, each);
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
                self.count_done(definition, parent, to);
            }
            self.forget_decisions(definition, node, from);
            moved(Moved { node, from, to });
        }
        // A link may have been the last one that a node waited for.
        for (link, _) in flow.links() {
            if let Some((_, link)) = definition.links().get(link as usize) {
                self.note_decisions(definition, link.to);
            }
        }
        for (node, state) in flow.nodes() {
            self.note_decisions(definition, node);
            if state.has_ended()
                && let Some(parent) = definition.parent(node)
                && let NodeKind::Repeat(_) = definition.as_written(parent).kind
            {
                // After an iteration there may be another one.
                self.note_decisions(definition, parent);
            }
        }
    }

    /// A child has ended in this state.
    fn count_done(&mut self, definition: &Definition, parent: NodeId, state: NodeState) {
        if state == NodeState::Done && definition.n_enough(parent).is_some() {
            *self.n_done.entry(parent).or_default() += 1;
        }
    }

    /// Takes the decisions off the agenda that a move of a node from this state has answered.
    fn forget_decisions(&mut self, definition: &Definition, node: NodeId, from: NodeState) {
        let (of, answered): (Option<NodeId>, &[Decide]) = match from {
            // If its parent is an `if`, a `for-each` or a loop, that has been decided now.
            NodeState::Idle => (
                definition.parent(node),
                &[Decision::Choose, Decision::Spread],
            ),
            NodeState::Enabled => (Some(node), &[Decision::Join]),
            NodeState::Running => (
                Some(node),
                &[
                    Decision::Choose,
                    Decision::Assign,
                    Decision::Expand,
                    Decision::Spread,
                    Decision::Repeat,
                ],
            ),
            NodeState::Done | NodeState::Skipped | NodeState::Broken => return,
        };
        if let Some(of) = of.filter(|_| !self.agenda.is_empty()) {
            for decide in answered {
                self.agenda.remove(&decide(of));
            }
        }
    }

    /// Puts the decisions on the agenda that a node in its state needs.
    fn note_decisions(&mut self, definition: &Definition, node: NodeId) {
        let Some(&state) = self.nodes.get(node.index()) else {
            return;
        };
        match state {
            NodeState::Idle => {}
            NodeState::Enabled => {
                let has_condition = matches!(definition.as_written(node).join, Join::When(_));
                if has_condition && self.n_open_links[node.index()] == 0 {
                    self.agenda.insert(Decision::Join(node));
                }
            }
            NodeState::Running => {
                let written = definition.as_written(node);
                let kind = match written.children() {
                    // Whatever a leaf is, its copies are too.
                    [] => &written.kind,
                    [..] => &definition.node(node).kind,
                };
                let decision = match kind {
                    NodeKind::Assign(_) => Some(Decision::Assign(node)),
                    NodeKind::If { children, .. } => {
                        let is_open = choice::is_open(children, |child| self.node(child));
                        is_open.then_some(Decision::Choose(node))
                    }
                    NodeKind::ForEach(_) if !definition.is_expanded(node) => {
                        Some(Decision::Expand(node))
                    }
                    NodeKind::ForEach(each) => {
                        let is_open = for_each::is_open(&each.children, |child| self.node(child));
                        is_open.then_some(Decision::Spread(node))
                    }
                    NodeKind::Repeat(repeat) => {
                        let has_begun = definition.is_expanded(node);
                        match repeat::next(&repeat.children, has_begun, |child| self.node(child)) {
                            repeat::Next::Condition => Some(Decision::Repeat(node)),
                            repeat::Next::Begin(_) => Some(Decision::Spread(node)),
                            repeat::Next::Nothing => None,
                        }
                    }
                    NodeKind::Sequence(_)
                    | NodeKind::Parallel { .. }
                    | NodeKind::Activity(_)
                    | NodeKind::Empty => None,
                };
                self.agenda.extend(decision);
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

    /// The first decision on the agenda.
    pub(crate) fn next_decision(&self) -> Option<Decision> {
        self.agenda.first().copied()
    }

    /// All decisions on the agenda, the first one first.
    pub(crate) fn decisions(&self) -> impl Iterator<Item = Decision> + '_ {
        self.agenda.iter().copied()
    }

    /// The value of a link, once it has one; one that is broken reads false.
    pub(crate) fn link_value(&self, link: u32) -> Option<bool> {
        match self.link(link) {
            LinkState::Unknown => None,
            LinkState::True => Some(true),
            LinkState::False | LinkState::Broken => Some(false),
        }
    }

    /// The state of a node.
    pub(crate) fn node(&self, node: NodeId) -> NodeState {
        self.nodes[node.index()]
    }

    /// The state of a link.
    pub(crate) fn link(&self, link: u32) -> LinkState {
        self.links[link as usize]
    }

    /// Links without a value that end at a node.
    pub(crate) fn n_open_links(&self, node: NodeId) -> u32 {
        self.n_open_links[node.index()]
    }

    /// Children of a node that have ended.
    pub(crate) fn n_ended(&self, node: NodeId) -> u32 {
        self.n_ended[node.index()]
    }

    /// Bodies of a for-each that are done, where it does not wait for all of them.
    pub(crate) fn n_done(&self, each: NodeId) -> u32 {
        self.n_done.get(&each).copied().unwrap_or(0)
    }

    /// The states of all nodes.
    pub(crate) fn nodes(&self) -> &[NodeState] {
        &self.nodes
    }

    /// The states of all links.
    pub(crate) fn links(&self) -> &[LinkState] {
        &self.links
    }

    /// The number of all links.
    pub(crate) fn n_links(&self) -> usize {
        self.links.len()
    }

    /// Adds the states of further nodes and links, which were read.
    pub(crate) fn extend(&mut self, nodes: Vec<NodeState>, links: Vec<LinkState>) {
        self.nodes.extend(nodes);
        self.links.extend(links);
    }
}
