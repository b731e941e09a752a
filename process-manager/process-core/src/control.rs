//! How controllers hand on control.
//!
//! ```text
//!  idle --enable--> enabled --links known, join true--> running --> done
//!                      \------ join false ------------------------> skipped
//! ```
//! In a process that goes on without what depends on a fault, a node is *broken* by a fault of its
//! own, by a child that is broken (a sequence at once, a parallel when all its children have ended)
//! or by its links: a link from a broken node is broken, `join: all` with a broken link breaks its
//! node, and so does any other join that is not true where a broken link reads false. So what is
//! not broken has seen the end of everything that it waits for.
//!
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
    /// It has faulted, or will not run because something that it depends on has.
    #[n(5)]
    Broken,
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
    /// Nobody will know: its source is broken, or its condition.
    #[n(3)]
    Broken,
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
    Break(NodeId),
    Finished(NodeId),
    ChildEnded(NodeId),
    Link(u32, LinkState),
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
        let value = if value {
            LinkState::True
        } else {
            LinkState::False
        };
        self.run(definition, Signal::Link(link, value))
    }

    /// The condition of a link faulted.
    pub(crate) fn break_link(&mut self, definition: &Definition, link: u32) -> Turned {
        self.agenda.remove(&Decision::Link(link));
        self.run(definition, Signal::Link(link, LinkState::Broken))
    }

    /// A leaf that runs, or the join of a node, faulted.
    pub(crate) fn break_node(&mut self, definition: &Definition, node: NodeId) -> Turned {
        self.agenda.remove(&Decision::Assign(node));
        self.agenda.remove(&Decision::Join(node));
        self.run(definition, Signal::Break(node))
    }

    /// A node's join condition was evaluated.
    pub(crate) fn join(&mut self, definition: &Definition, node: NodeId, runs: bool) -> Turned {
        self.agenda.remove(&Decision::Join(node));
        let signal = if runs {
            Signal::Run(node)
        } else if self.has_link(definition, node, LinkState::Broken) {
            Signal::Break(node)
        } else {
            Signal::Skip(node)
        };
        self.run(definition, signal)
    }

    /// Nothing is to be decided any more: the process ends.
    pub(crate) fn halt(&mut self) {
        self.agenda.clear();
    }

    /// The first thing that an expression must decide.
    pub(crate) fn next_decision(&self) -> Option<Decision> {
        self.agenda.first().copied()
    }

    /// The value of a link, once it has one; one that is broken reads false.
    pub(crate) fn link_value(&self, link: u32) -> Option<bool> {
        match self.links[link as usize] {
            LinkState::Unknown => None,
            LinkState::True => Some(true),
            LinkState::False | LinkState::Broken => Some(false),
        }
    }

    /// Where a node is in its life.
    pub(crate) fn node(&self, node: NodeId) -> NodeState {
        self.nodes[node.index()]
    }

    /// Where a link is.
    pub(crate) fn link_state(&self, link: u32) -> LinkState {
        self.links[link as usize]
    }

    fn has_link(&self, definition: &Definition, node: NodeId, state: LinkState) -> bool {
        let mut incoming = definition.incoming(node).iter();
        incoming.any(|&link| self.links[link as usize] == state)
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
                Signal::Break(node) => self.broken(definition, node, &mut queue, &mut turned),
                Signal::Finished(node) => self.finished(definition, node, &mut queue),
                Signal::ChildEnded(node) => {
                    self.child_ended(definition, node, &mut queue, &mut turned)
                }
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
        let has = |state| self.has_link(definition, node, state);
        let signal = match &definition.node(node).join {
            Join::All if has(LinkState::Broken) => Signal::Break(node),
            Join::All if has(LinkState::False) => Signal::Skip(node),
            Join::All => Signal::Run(node),
            Join::Any if definition.incoming(node).is_empty() || has(LinkState::True) => {
                Signal::Run(node)
            }
            Join::Any if has(LinkState::Broken) => Signal::Break(node),
            Join::Any => Signal::Skip(node),
            Join::When(_) => {
                self.agenda.insert(Decision::Join(node));
                return;
            }
        };
        queue.push_back(signal);
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

    /// Dead-path elimination.
    fn skip(
        &mut self,
        definition: &Definition,
        node: NodeId,
        queue: &mut VecDeque<Signal>,
        turned: &mut Turned,
    ) {
        self.cut(definition, node, NodeState::Skipped, queue, turned);
        queue.push_back(Signal::ChildEnded(node));
    }

    /// A node faulted, or cannot run for a fault elsewhere.
    fn broken(
        &mut self,
        definition: &Definition,
        node: NodeId,
        queue: &mut VecDeque<Signal>,
        turned: &mut Turned,
    ) {
        match self.nodes[node.index()] {
            NodeState::Idle | NodeState::Enabled => {
                self.cut(definition, node, NodeState::Broken, queue, turned);
            }
            NodeState::Running => {
                self.nodes[node.index()] = NodeState::Broken;
                let outgoing = definition.outgoing(node).iter();
                queue.extend(outgoing.map(|&link| Signal::Link(link, LinkState::Broken)));
            }
            NodeState::Done | NodeState::Skipped | NodeState::Broken => return,
        }
        queue.push_back(Signal::ChildEnded(node));
    }

    /// Nothing of what is below a node runs, and no link from there is true.
    fn cut(
        &mut self,
        definition: &Definition,
        node: NodeId,
        state: NodeState,
        queue: &mut VecDeque<Signal>,
        turned: &mut Turned,
    ) {
        let link = if state == NodeState::Broken {
            LinkState::Broken
        } else {
            LinkState::False
        };
        let mut open = vec![node];
        while let Some(below) = open.pop() {
            match self.nodes[below.index()] {
                NodeState::Idle | NodeState::Enabled => {}
                NodeState::Running | NodeState::Done | NodeState::Skipped | NodeState::Broken => {
                    continue;
                }
            }
            self.nodes[below.index()] = state;
            self.agenda.remove(&Decision::Join(below));
            let outgoing = definition.outgoing(below);
            queue.extend(outgoing.iter().map(|&number| Signal::Link(number, link)));
            if let NodeKind::Activity(_) = definition.node(below).kind {
                turned.skipped.push(ActivityId(below.0));
            }
            open.extend_from_slice(definition.node(below).children());
        }
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
                queue.push_back(Signal::Link(link, LinkState::True));
            }
        }
        queue.push_back(Signal::ChildEnded(node));
    }

    fn child_ended(
        &mut self,
        definition: &Definition,
        node: NodeId,
        queue: &mut VecDeque<Signal>,
        turned: &mut Turned,
    ) {
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
                if self.nodes[node.index()] == NodeState::Broken {
                    for &rest in children.iter().skip(*cursor as usize) {
                        self.cut(definition, rest, NodeState::Broken, queue, turned);
                    }
                    queue.push_back(Signal::Break(parent));
                    return;
                }
                match children.get(*cursor as usize) {
                    Some(&next) => queue.push_back(Signal::Enable(next)),
                    None => queue.push_back(Signal::Finished(parent)),
                }
            }
            NodeKind::Parallel { children, .. } => {
                let n_left = &mut self.cursor[parent.index()];
                *n_left = n_left.saturating_sub(1);
                if *n_left == 0 {
                    let is_broken = |child: &NodeId| self.nodes[child.index()] == NodeState::Broken;
                    queue.push_back(if children.iter().any(is_broken) {
                        Signal::Break(parent)
                    } else {
                        Signal::Finished(parent)
                    });
                }
            }
            NodeKind::Activity(_) | NodeKind::Assign(_) | NodeKind::Empty => {}
        }
    }

    fn link_known(
        &mut self,
        definition: &Definition,
        link: u32,
        value: LinkState,
        queue: &mut VecDeque<Signal>,
    ) {
        let state = &mut self.links[link as usize];
        if *state != LinkState::Unknown {
            return;
        }
        *state = value;
        let to = definition.links()[link as usize].1.to;
        let n_open = &mut self.n_open_links[to.index()];
        *n_open = n_open.saturating_sub(1);
        if *n_open == 0 && self.nodes[to.index()] == NodeState::Enabled {
            self.all_links_known(definition, to, queue);
        }
    }
}
