//! How controllers hand on control: what follows in a process when a node ends, faults or has its
//! join evaluated.
//!
//! ```text
//!  idle --enable--> enabled --links known, join true--> running --> done
//!                      \------ join false ------------------------> skipped
//! ```
//! In a process that goes on without what depends on a fault, a node is *broken* by a fault of its
//! own, by a child that is broken (a sequence at once, a parallel when all its children have ended)
//! or by its links: a link from a broken node is broken, `join: all` with a broken link breaks its
//! node, and so does any other join that is not true where a broken link reads false. So a node that
//! is not broken has seen the end of everything that it waits for.
//!
//! A controller and its children tell each other things in signals, one queue a turn. A [`Turn`]
//! reads the recorded states, keeps its own changes above them, and gives a [`Flow`] to record:
//! `apply` then only writes. A signal that needs an expression ends there; [`Control`] puts the
//! decision on its agenda, and the answer begins another turn.

use std::collections::{BTreeMap, VecDeque};

use model::{Definition, Join, NodeId, NodeKind};

use crate::control::Control;
use crate::record::{Flow, LinkState, NodeState};

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

/// One turn of the controllers: from one cause to everything that follows without an expression.
pub(crate) struct Turn<'a> {
    definition: &'a Definition,
    control: &'a Control,
    /// Nodes in another state than recorded.
    nodes: BTreeMap<NodeId, NodeState>,
    /// Links with another value than recorded.
    links: BTreeMap<u32, LinkState>,
    /// How many open links fewer than recorded a node has.
    n_links_known: BTreeMap<NodeId, u32>,
    /// How many ended children more than recorded a node has.
    n_ended: BTreeMap<NodeId, u32>,
    queue: VecDeque<Signal>,
}

/// What happens when a process begins.
pub(crate) fn begin(definition: &Definition) -> Flow {
    let control = Control::new(definition);
    Turn::new(definition, &control).run([Signal::Enable(NodeId(0))])
}

impl<'a> Turn<'a> {
    /// A turn of the controllers of a definition that are where `control` says.
    pub(crate) fn new(definition: &'a Definition, control: &'a Control) -> Turn<'a> {
        Turn {
            definition,
            control,
            nodes: BTreeMap::new(),
            links: BTreeMap::new(),
            n_links_known: BTreeMap::new(),
            n_ended: BTreeMap::new(),
            queue: VecDeque::new(),
        }
    }

    /// A leaf has done what it should.
    pub(crate) fn finish(self, node: NodeId) -> Flow {
        self.run([Signal::Finished(node)])
    }

    /// The condition of a link was evaluated.
    pub(crate) fn link(self, link: u32, value: bool) -> Flow {
        let value = if value {
            LinkState::True
        } else {
            LinkState::False
        };
        self.run([Signal::Link(link, value)])
    }

    /// The condition of a link faulted.
    pub(crate) fn break_link(self, link: u32) -> Flow {
        self.run([Signal::Link(link, LinkState::Broken)])
    }

    /// Leaves that run, or the join of a node, faulted.
    pub(crate) fn break_nodes(self, nodes: impl IntoIterator<Item = NodeId>) -> Flow {
        self.run(nodes.into_iter().map(Signal::Break))
    }

    /// A node's join condition was evaluated.
    pub(crate) fn join(self, node: NodeId, runs: bool) -> Flow {
        let signal = if runs {
            Signal::Run(node)
        } else if self.has_link(node, LinkState::Broken) {
            Signal::Break(node)
        } else {
            Signal::Skip(node)
        };
        self.run([signal])
    }

    fn run(mut self, causes: impl IntoIterator<Item = Signal>) -> Flow {
        self.queue.extend(causes);
        while let Some(signal) = self.queue.pop_front() {
            match signal {
                Signal::Enable(node) => self.enable(node),
                Signal::Run(node) => self.start(node),
                Signal::Skip(node) => self.skip(node),
                Signal::Break(node) => self.break_node(node),
                Signal::Finished(node) => self.finished(node),
                Signal::ChildEnded(node) => self.child_ended(node),
                Signal::Link(link, value) => self.link_known(link, value),
            }
        }
        Flow::new(&self.nodes, &self.links)
    }

    fn enable(&mut self, node: NodeId) {
        if self.node(node) != NodeState::Idle {
            return;
        }
        self.move_to(node, NodeState::Enabled);
        if self.n_open_links(node) == 0 {
            self.all_links_known(node);
        }
    }

    fn all_links_known(&mut self, node: NodeId) {
        let has = |state| self.has_link(node, state);
        let signal = match &self.definition.node(node).join {
            Join::All if has(LinkState::Broken) => Signal::Break(node),
            Join::All if has(LinkState::False) => Signal::Skip(node),
            Join::All => Signal::Run(node),
            Join::Any if self.definition.incoming(node).is_empty() || has(LinkState::True) => {
                Signal::Run(node)
            }
            Join::Any if has(LinkState::Broken) => Signal::Break(node),
            Join::Any => Signal::Skip(node),
            // An expression decides.
            Join::When(_) => return,
        };
        self.queue.push_back(signal);
    }

    fn start(&mut self, node: NodeId) {
        if self.node(node) != NodeState::Enabled {
            return;
        }
        self.move_to(node, NodeState::Running);
        match &self.definition.node(node).kind {
            NodeKind::Sequence(children) => {
                let first = children.first();
                self.queue.extend(first.map(|&child| Signal::Enable(child)));
            }
            NodeKind::Parallel { children, .. } => {
                let all = children.iter();
                self.queue.extend(all.map(|&child| Signal::Enable(child)));
            }
            NodeKind::Activity(_) | NodeKind::Assign(_) => {}
            NodeKind::Empty => self.queue.push_back(Signal::Finished(node)),
        }
    }

    /// Dead-path elimination.
    fn skip(&mut self, node: NodeId) {
        self.cut(node, NodeState::Skipped);
        self.queue.push_back(Signal::ChildEnded(node));
    }

    /// A node faulted, or cannot run for a fault elsewhere.
    fn break_node(&mut self, node: NodeId) {
        match self.node(node) {
            NodeState::Idle | NodeState::Enabled => self.cut(node, NodeState::Broken),
            NodeState::Running => {
                self.move_to(node, NodeState::Broken);
                let outgoing = self.definition.outgoing(node).iter();
                self.queue
                    .extend(outgoing.map(|&link| Signal::Link(link, LinkState::Broken)));
            }
            NodeState::Done | NodeState::Skipped | NodeState::Broken => return,
        }
        self.queue.push_back(Signal::ChildEnded(node));
    }

    /// Nothing below a node runs, and no link from there is true.
    fn cut(&mut self, node: NodeId, state: NodeState) {
        let link = if state == NodeState::Broken {
            LinkState::Broken
        } else {
            LinkState::False
        };
        let mut open = vec![node];
        while let Some(below) = open.pop() {
            match self.node(below) {
                NodeState::Idle | NodeState::Enabled => {}
                NodeState::Running | NodeState::Done | NodeState::Skipped | NodeState::Broken => {
                    continue;
                }
            }
            self.move_to(below, state);
            let outgoing = self.definition.outgoing(below).iter();
            self.queue
                .extend(outgoing.map(|&number| Signal::Link(number, link)));
            open.extend_from_slice(self.definition.node(below).children());
        }
    }

    fn finished(&mut self, node: NodeId) {
        if self.node(node) != NodeState::Running {
            return;
        }
        self.move_to(node, NodeState::Done);
        for &link in self.definition.outgoing(node) {
            // An expression decides where there is a condition.
            if self.definition.links()[link as usize].1.when.is_none() {
                self.queue.push_back(Signal::Link(link, LinkState::True));
            }
        }
        self.queue.push_back(Signal::ChildEnded(node));
    }

    fn child_ended(&mut self, node: NodeId) {
        let Some(parent) = self.definition.parent(node) else {
            return;
        };
        if self.node(parent) != NodeState::Running {
            return;
        }
        let n_ended = self.n_ended(parent) as usize;
        match &self.definition.node(parent).kind {
            NodeKind::Sequence(children) => {
                if self.node(node) == NodeState::Broken {
                    for &rest in children {
                        self.cut(rest, NodeState::Broken);
                    }
                    self.queue.push_back(Signal::Break(parent));
                    return;
                }
                self.queue.push_back(match children.get(n_ended) {
                    Some(&next) => Signal::Enable(next),
                    None => Signal::Finished(parent),
                });
            }
            NodeKind::Parallel { children, .. } => {
                if n_ended < children.len() {
                    return;
                }
                let is_broken = |child: &NodeId| self.node(*child) == NodeState::Broken;
                self.queue.push_back(if children.iter().any(is_broken) {
                    Signal::Break(parent)
                } else {
                    Signal::Finished(parent)
                });
            }
            NodeKind::Activity(_) | NodeKind::Assign(_) | NodeKind::Empty => {}
        }
    }

    fn link_known(&mut self, link: u32, value: LinkState) {
        if self.link_state(link) != LinkState::Unknown {
            return;
        }
        self.links.insert(link, value);
        let to = self.definition.links()[link as usize].1.to;
        *self.n_links_known.entry(to).or_default() += 1;
        if self.n_open_links(to) == 0 && self.node(to) == NodeState::Enabled {
            self.all_links_known(to);
        }
    }

    fn move_to(&mut self, node: NodeId, state: NodeState) {
        let had_ended = self.node(node).has_ended();
        self.nodes.insert(node, state);
        if state.has_ended()
            && !had_ended
            && let Some(parent) = self.definition.parent(node)
        {
            *self.n_ended.entry(parent).or_default() += 1;
        }
    }

    fn node(&self, node: NodeId) -> NodeState {
        let changed = self.nodes.get(&node);
        changed.copied().unwrap_or_else(|| self.control.node(node))
    }

    fn link_state(&self, link: u32) -> LinkState {
        let changed = self.links.get(&link);
        changed.copied().unwrap_or_else(|| self.control.link(link))
    }

    fn n_open_links(&self, node: NodeId) -> u32 {
        let n_known = self.n_links_known.get(&node).copied().unwrap_or(0);
        self.control.n_open_links(node).saturating_sub(n_known)
    }

    fn n_ended(&self, node: NodeId) -> u32 {
        self.control.n_ended(node) + self.n_ended.get(&node).copied().unwrap_or(0)
    }

    fn has_link(&self, node: NodeId, state: LinkState) -> bool {
        let mut incoming = self.definition.incoming(node).iter();
        incoming.any(|&link| self.link_state(link) == state)
    }
}
