//! How controllers hand on control.
//!
//! ```text
//!  idle --enable--> enabled --links known, join true--> running --> done
//!                      \------ join false ------------------------> skipped
//! ```
//! A controller and its children tell each other things in signals, one queue for a process; the
//! queue is empty again at the end of each event. What needs an expression is put on the agenda:
//! the manager evaluates it outside, and the answer comes back as an event. So a replay evaluates
//! nothing.

use std::collections::{BTreeSet, VecDeque};

use minicbor::{Decode, Encode};
use model::{ActivityId, Definition, Join, NodeId, NodeKind};

/// Where a node is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub(crate) enum NodeState {
    /// Its controller has not come to it.
    #[n(0)]
    #[default]
    Idle,
    /// Its controller has come to it; links may still hold it back.
    #[n(1)]
    Enabled,
    /// It runs.
    #[n(2)]
    Running,
    /// It has ended well.
    #[n(3)]
    Done,
    /// It will not run.
    #[n(4)]
    Skipped,
}

/// The value of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub(crate) enum LinkState {
    /// Its source has not ended.
    #[n(0)]
    #[default]
    Unknown,
    /// Control flows.
    #[n(1)]
    True,
    /// It does not.
    #[n(2)]
    False,
}

/// Something that an expression must decide. They are decided in this order: a link is evaluated
/// when its source ends, so before anything that follows writes a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub(crate) enum Decision {
    /// The value of a link.
    #[n(1)]
    Link(#[n(0)] u32),
    /// Whether a node runs.
    #[n(2)]
    Join(#[n(0)] NodeId),
    /// What an `assign` writes.
    #[n(0)]
    Assign(#[n(0)] NodeId),
    /// The body is done: what the process gives.
    #[n(3)]
    Close,
}

/// What a controller and its children tell each other.
#[derive(Clone, Copy, Debug)]
enum Signal {
    Enable(NodeId),
    Run(NodeId),
    Skip(NodeId),
    Finished(NodeId),
    ChildEnded(NodeId),
    Link(u32, bool),
}

/// The control flow of one process.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub(crate) struct Control {
    #[n(0)]
    nodes: Vec<NodeState>,
    /// Links that end at the node and have no value.
    #[n(1)]
    n_open_links: Vec<u32>,
    /// For a sequence the place of the child that is enabled, for a parallel the children that
    /// have not ended.
    #[n(2)]
    cursor: Vec<u32>,
    #[n(3)]
    links: Vec<LinkState>,
    #[n(4)]
    agenda: BTreeSet<Decision>,
}

/// What became of activities by a signal.
#[derive(Debug, Default)]
pub(crate) struct Turned {
    /// These may run.
    pub(crate) ready: Vec<ActivityId>,
    /// These will not.
    pub(crate) skipped: Vec<ActivityId>,
}

impl Control {
    /// All idle.
    pub(crate) fn new(definition: &Definition) -> Control {
        let n_nodes = definition.nodes().len();
        let n_open = |index| definition.incoming(NodeId(index as u32)).len() as u32;
        Control {
            nodes: vec![NodeState::Idle; n_nodes],
            n_open_links: (0..n_nodes).map(n_open).collect(),
            cursor: vec![0; n_nodes],
            links: vec![LinkState::Unknown; definition.links().len()],
            agenda: BTreeSet::new(),
        }
    }

    /// Begins with the root.
    pub(crate) fn begin(&mut self, definition: &Definition) -> Turned {
        self.run(definition, Signal::Enable(NodeId(0)))
    }

    /// A leaf has done what it should.
    pub(crate) fn finish(&mut self, definition: &Definition, node: NodeId) -> Turned {
        self.agenda.remove(&Decision::Assign(node));
        self.run(definition, Signal::Finished(node))
    }

    /// A link got its value.
    pub(crate) fn link(&mut self, definition: &Definition, link: u32, value: bool) -> Turned {
        self.agenda.remove(&Decision::Link(link));
        self.run(definition, Signal::Link(link, value))
    }

    /// A node's join condition was evaluated.
    pub(crate) fn join(&mut self, definition: &Definition, node: NodeId, runs: bool) -> Turned {
        self.agenda.remove(&Decision::Join(node));
        self.run(
            definition,
            if runs {
                Signal::Run(node)
            } else {
                Signal::Skip(node)
            },
        )
    }

    /// Nothing is to be decided any more: the process ends.
    pub(crate) fn halt(&mut self) {
        self.agenda.clear();
    }

    /// The first thing that an expression must decide.
    pub(crate) fn next_decision(&self) -> Option<Decision> {
        self.agenda.first().copied()
    }

    /// The value of a link, once it has one.
    pub(crate) fn link_value(&self, link: u32) -> Option<bool> {
        match self.links[link as usize] {
            LinkState::Unknown => None,
            LinkState::True => Some(true),
            LinkState::False => Some(false),
        }
    }

    /// Entries of a snapshot, about: a byte or two for each node, so they count little.
    pub(crate) fn weight(&self) -> usize {
        self.nodes.len() / 8
    }

    fn run(&mut self, definition: &Definition, first: Signal) -> Turned {
        let mut turned = Turned::default();
        let mut queue = VecDeque::from([first]);
        while let Some(signal) = queue.pop_front() {
            match signal {
                Signal::Enable(node) => self.enable(definition, node, &mut queue),
                Signal::Run(node) => self.start(definition, node, &mut queue, &mut turned),
                Signal::Skip(node) => self.skip(definition, node, &mut queue, &mut turned),
                Signal::Finished(node) => self.finished(definition, node, &mut queue),
                Signal::ChildEnded(node) => self.child_ended(definition, node, &mut queue),
                Signal::Link(link, value) => self.link_known(definition, link, value, &mut queue),
            }
        }
        turned
    }

    fn enable(&mut self, definition: &Definition, node: NodeId, queue: &mut VecDeque<Signal>) {
        if self.nodes[node.index()] != NodeState::Idle {
            return;
        }
        self.nodes[node.index()] = NodeState::Enabled;
        if self.n_open_links[node.index()] == 0 {
            self.all_links_known(definition, node, queue);
        }
    }

    fn all_links_known(
        &mut self,
        definition: &Definition,
        node: NodeId,
        queue: &mut VecDeque<Signal>,
    ) {
        let incoming = definition.incoming(node);
        let mut values = incoming
            .iter()
            .map(|&link| self.links[link as usize] == LinkState::True);
        let runs = match &definition.node(node).join {
            Join::All => values.all(|value| value),
            Join::Any => incoming.is_empty() || values.any(|value| value),
            Join::When(_) => {
                self.agenda.insert(Decision::Join(node));
                return;
            }
        };
        queue.push_back(if runs {
            Signal::Run(node)
        } else {
            Signal::Skip(node)
        });
    }

    fn start(
        &mut self,
        definition: &Definition,
        node: NodeId,
        queue: &mut VecDeque<Signal>,
        turned: &mut Turned,
    ) {
        if self.nodes[node.index()] != NodeState::Enabled {
            return;
        }
        self.nodes[node.index()] = NodeState::Running;
        match &definition.node(node).kind {
            NodeKind::Sequence(children) => {
                queue.extend(children.first().map(|&c| Signal::Enable(c)))
            }
            NodeKind::Parallel { children, .. } => {
                self.cursor[node.index()] = children.len() as u32;
                queue.extend(children.iter().map(|&child| Signal::Enable(child)));
            }
            NodeKind::Activity(_) => turned.ready.push(ActivityId(node.0)),
            NodeKind::Assign(_) => {
                self.agenda.insert(Decision::Assign(node));
            }
            NodeKind::Empty => queue.push_back(Signal::Finished(node)),
        }
    }

    /// Dead-path elimination: whatever is below does not run either, and no link from there is
    /// true.
    fn skip(
        &mut self,
        definition: &Definition,
        node: NodeId,
        queue: &mut VecDeque<Signal>,
        turned: &mut Turned,
    ) {
        let mut open = vec![node];
        while let Some(below) = open.pop() {
            match self.nodes[below.index()] {
                NodeState::Idle | NodeState::Enabled => {}
                NodeState::Running | NodeState::Done | NodeState::Skipped => continue,
            }
            self.nodes[below.index()] = NodeState::Skipped;
            self.agenda.remove(&Decision::Join(below));
            let outgoing = definition.outgoing(below);
            queue.extend(outgoing.iter().map(|&link| Signal::Link(link, false)));
            if let NodeKind::Activity(_) = definition.node(below).kind {
                turned.skipped.push(ActivityId(below.0));
            }
            open.extend_from_slice(definition.node(below).children());
        }
        queue.push_back(Signal::ChildEnded(node));
    }

    fn finished(&mut self, definition: &Definition, node: NodeId, queue: &mut VecDeque<Signal>) {
        if self.nodes[node.index()] != NodeState::Running {
            return;
        }
        self.nodes[node.index()] = NodeState::Done;
        for &link in definition.outgoing(node) {
            if definition.links()[link as usize].1.when.is_some() {
                self.agenda.insert(Decision::Link(link));
            } else {
                queue.push_back(Signal::Link(link, true));
            }
        }
        queue.push_back(Signal::ChildEnded(node));
    }

    fn child_ended(&mut self, definition: &Definition, node: NodeId, queue: &mut VecDeque<Signal>) {
        let Some(parent) = definition.parent(node) else {
            self.agenda.insert(Decision::Close);
            return;
        };
        if self.nodes[parent.index()] != NodeState::Running {
            return;
        }
        match &definition.node(parent).kind {
            NodeKind::Sequence(children) => {
                let cursor = &mut self.cursor[parent.index()];
                *cursor += 1;
                match children.get(*cursor as usize) {
                    Some(&next) => queue.push_back(Signal::Enable(next)),
                    None => queue.push_back(Signal::Finished(parent)),
                }
            }
            NodeKind::Parallel { .. } => {
                let n_left = &mut self.cursor[parent.index()];
                *n_left = n_left.saturating_sub(1);
                if *n_left == 0 {
                    queue.push_back(Signal::Finished(parent));
                }
            }
            NodeKind::Activity(_) | NodeKind::Assign(_) | NodeKind::Empty => {}
        }
    }

    fn link_known(
        &mut self,
        definition: &Definition,
        link: u32,
        value: bool,
        queue: &mut VecDeque<Signal>,
    ) {
        let state = &mut self.links[link as usize];
        if *state != LinkState::Unknown {
            return;
        }
        *state = if value {
            LinkState::True
        } else {
            LinkState::False
        };
        let to = definition.links()[link as usize].1.to;
        let n_open = &mut self.n_open_links[to.index()];
        *n_open = n_open.saturating_sub(1);
        if *n_open == 0 && self.nodes[to.index()] == NodeState::Enabled {
            self.all_links_known(definition, to, queue);
        }
    }
}
