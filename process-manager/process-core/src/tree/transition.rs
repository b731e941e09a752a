//! The way from one cause to everything that follows without an expression.
//!
//! A controller and its children tell each other things in signals, in one queue. A [`Transition`] reads
//! the recorded states, keeps its own changes above them, and gives a [`Flow`] to record: `apply` then
//! only writes. A signal that needs an expression ends there; the [`Frame`] puts the decision on its
//! agenda, and the answer begins another transition.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use model::{Definition, NodeId, NodeKind};

use super::links::{self, Says};
use super::{Answer, Frame, Signal, choice, for_each, parallel, repeat, sequence};
use crate::record::{Flow, LinkState, NodeState};

/// One transition of the controllers of a region.
pub(crate) struct Transition<'a> {
    definition: &'a Definition,
    frame: &'a Frame,
    /// True if the process is ending, so that no signal has a consequence.
    is_ending: bool,
    /// Nodes in another state than recorded.
    nodes: BTreeMap<NodeId, NodeState>,
    /// Links with another value than recorded.
    links: BTreeMap<u32, LinkState>,
    /// Links of a node that have got a value in this transition.
    n_links_known: BTreeMap<NodeId, u32>,
    /// Children of a node that have ended in this transition.
    n_ended: BTreeMap<NodeId, u32>,
    /// Bodies that are done with this transition, of a for-each that does not wait for all of them.
    n_done: BTreeMap<NodeId, u32>,
    /// Controllers whose end follows from that of a child, though other children may tell theirs yet.
    ending: BTreeSet<NodeId>,
    queue: VecDeque<Signal>,
}

/// The first moves of a process.
pub(crate) fn begin(definition: &Definition) -> Flow {
    let frame = Frame::new(definition);
    Transition::new(definition, &frame, true).run([Signal::Enable(NodeId(0))])
}

impl<'a> Transition<'a> {
    /// A transition of the controllers of a definition from the states of a frame. Its flow is
    /// empty if the process does not run any more.
    pub(crate) fn new(
        definition: &'a Definition,
        frame: &'a Frame,
        is_running: bool,
    ) -> Transition<'a> {
        Transition {
            definition,
            frame,
            is_ending: !is_running,
            nodes: BTreeMap::new(),
            links: BTreeMap::new(),
            n_links_known: BTreeMap::new(),
            n_ended: BTreeMap::new(),
            n_done: BTreeMap::new(),
            ending: BTreeSet::new(),
            queue: VecDeque::new(),
        }
    }

    /// A leaf is done.
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

    /// Leaves that run, the join of a node, or a condition of an `if` faulted.
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

    /// The conditions of an `if` were evaluated: the branch of this number runs, or none where it
    /// has no such branch.
    pub(crate) fn choose(mut self, node: NodeId, branch: usize) -> Flow {
        let children = self.definition.children(node);
        let is_open = choice::is_open(children, |child| self.node(child));
        if self.is_ending || self.node(node) != NodeState::Running || !is_open {
            return Flow::default();
        }
        for (number, &child) in children.iter().enumerate() {
            if number != branch {
                self.cut(child, NodeState::Skipped);
            }
        }
        let chosen = children.get(branch);
        self.run([chosen.map_or(Signal::Finished(node), |&child| Signal::Enable(child))])
    }

    /// A for-each has a child for each item: the first ones begin, or none where there are no items. The
    /// last iteration of a loop begins.
    pub(crate) fn spread(mut self, node: NodeId) -> Flow {
        if let NodeKind::Repeat(_) = self.definition.node(node).kind {
            return self.begin_iteration(node);
        }
        let children = self.definition.children(node);
        let is_open = for_each::is_open(children, |child| self.node(child));
        if self.is_ending || self.node(node) != NodeState::Running || !is_open {
            return Flow::default();
        }
        if self.definition.n_items(node) == Some(0) {
            for &child in children {
                self.cut(child, NodeState::Skipped);
            }
            return self.run([Signal::Finished(node)]);
        }
        self.begin_items(node);
        self.run([])
    }

    fn begin_iteration(self, node: NodeId) -> Flow {
        let children = self.definition.children(node);
        let has_begun = self.definition.is_expanded(node);
        match repeat::next(children, has_begun, |child| self.node(child)) {
            repeat::Next::Begin(body) if self.node(node) == NodeState::Running => {
                self.run([Signal::Enable(body)])
            }
            repeat::Next::Begin(_) | repeat::Next::Condition | repeat::Next::Nothing => {
                Flow::default()
            }
        }
    }

    /// A loop has no other iteration.
    pub(crate) fn end_loop(mut self, node: NodeId) -> Flow {
        if self.is_ending || self.node(node) != NodeState::Running {
            return Flow::default();
        }
        // Its body, where it never ran.
        for &child in self.definition.children(node) {
            self.cut(child, NodeState::Skipped);
        }
        self.run([Signal::Finished(node)])
    }

    /// The next items begin, as many as may run at the same time.
    fn begin_items(&mut self, node: NodeId) {
        let NodeKind::ForEach(each) = &self.definition.node(node).kind else {
            return;
        };
        let n_ended = self.n_ended(node) as usize;
        let next = for_each::next(&each.children, each.at_most, n_ended, |child| {
            self.node(child)
        });
        for &child in &each.children[next] {
            self.enable(child);
        }
    }

    fn run(mut self, causes: impl IntoIterator<Item = Signal>) -> Flow {
        if self.is_ending {
            return Flow::default();
        }
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
        let definition = self.definition;
        let incoming = definition.incoming(node).iter();
        let says = |link: u32| match definition.repeats_order(link) {
            true => Says::After,
            false => Says::Whether,
        };
        let states = incoming.map(|&link| (self.link_state(link), says(link)));
        let signal = links::join(&definition.as_written(node).join, node, states);
        self.queue.extend(signal);
    }

    fn start(&mut self, node: NodeId) {
        if self.node(node) != NodeState::Enabled {
            return;
        }
        self.move_to(node, NodeState::Running);
        match &self.definition.as_written(node).kind {
            NodeKind::Sequence(_) => {
                let first = sequence::first(self.definition.children(node));
                self.queue.extend(first.map(Signal::Enable));
            }
            NodeKind::Parallel { .. } => {
                let all = self.definition.children(node).iter();
                self.queue.extend(all.map(|&child| Signal::Enable(child)));
            }
            // An expression decides.
            NodeKind::If { .. }
            | NodeKind::ForEach(_)
            | NodeKind::Repeat(_)
            | NodeKind::Activity(_)
            | NodeKind::Assign(_) => {}
            NodeKind::Empty => self.queue.push_back(Signal::Finished(node)),
        }
    }

    /// Dead-path elimination.
    fn skip(&mut self, node: NodeId) {
        match self.node(node) {
            NodeState::Idle | NodeState::Enabled => {}
            NodeState::Running | NodeState::Done | NodeState::Skipped | NodeState::Broken => return,
        }
        self.cut(node, NodeState::Skipped);
        self.queue.push_back(Signal::ChildEnded(node));
    }

    /// A node faulted, or cannot run for a fault elsewhere.
    fn break_node(&mut self, node: NodeId) {
        match self.node(node) {
            NodeState::Idle | NodeState::Enabled => self.cut(node, NodeState::Broken),
            NodeState::Running => {
                self.move_to(node, NodeState::Broken);
                // The branches of an `if` whose condition faulted; all else below has ended.
                for &child in self.definition.children(node) {
                    self.cut(child, NodeState::Broken);
                }
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
            open.extend_from_slice(self.definition.children(below));
        }
    }

    /// Nothing of these bodies goes on: what runs is skipped too, and its attempts are stopped.
    fn abandon(&mut self, bodies: &[NodeId]) {
        let has_ended = |body: &&NodeId| self.node(**body).has_ended();
        let mut open: Vec<NodeId> = bodies
            .iter()
            .filter(|body| !has_ended(body))
            .copied()
            .collect();
        while let Some(below) = open.pop() {
            if !self.node(below).has_ended() {
                self.move_to(below, NodeState::Skipped);
            }
            // A link of what has ended may still wait for its condition, which nobody asks for any more.
            for &number in self.definition.outgoing(below) {
                if self.link_state(number) == LinkState::Unknown {
                    self.queue.push_back(Signal::Link(number, LinkState::False));
                }
            }
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
        if self.node(parent) != NodeState::Running || self.ending.contains(&parent) {
            return;
        }
        let n_ended = self.n_ended(parent) as usize;
        let controller = self.definition.node(parent);
        let answer = match &controller.kind {
            NodeKind::Sequence(children) => {
                sequence::child_ended(children, n_ended, self.node(node))
            }
            NodeKind::Parallel { children, .. } => {
                let is_broken = |child: &NodeId| self.node(*child) == NodeState::Broken;
                let is_any_broken = || children.iter().any(is_broken);
                parallel::child_ended(children.len(), n_ended, is_any_broken)
            }
            NodeKind::If { .. } => choice::child_ended(self.node(node)),
            NodeKind::ForEach(each) => {
                let is_broken = |child: &NodeId| self.node(*child) == NodeState::Broken;
                let is_any_broken = || each.children.iter().any(is_broken);
                let n_enough = self.definition.n_enough(parent);
                let done = (self.n_done(parent), n_enough);
                let n_children = each.children.len();
                let answer = for_each::child_ended(n_children, n_ended, done, is_any_broken);
                match answer {
                    Answer::Wait => self.begin_items(parent),
                    Answer::Finish | Answer::Break if n_enough.is_some() => {
                        self.abandon(&each.children);
                    }
                    Answer::Enable(_) | Answer::Finish | Answer::Break => {}
                }
                answer
            }
            NodeKind::Repeat(_) => repeat::child_ended(self.node(node)),
            NodeKind::Activity(_) | NodeKind::Assign(_) | NodeKind::Empty => Answer::Wait,
        };
        let signal = match answer {
            Answer::Wait => return,
            Answer::Enable(next) => Signal::Enable(next),
            Answer::Finish => Signal::Finished(parent),
            Answer::Break => Signal::Break(parent),
        };
        if !matches!(signal, Signal::Enable(_)) {
            self.ending.insert(parent);
        }
        self.queue.push_back(signal);
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
            if state == NodeState::Done && self.definition.n_enough(parent).is_some() {
                *self.n_done.entry(parent).or_default() += 1;
            }
        }
    }

    fn node(&self, node: NodeId) -> NodeState {
        let changed = self.nodes.get(&node);
        changed.copied().unwrap_or_else(|| self.frame.node(node))
    }

    fn link_state(&self, link: u32) -> LinkState {
        let changed = self.links.get(&link);
        changed.copied().unwrap_or_else(|| self.frame.link(link))
    }

    fn n_open_links(&self, node: NodeId) -> u32 {
        let n_known = self.n_links_known.get(&node).copied().unwrap_or(0);
        self.frame.n_open_links(node).saturating_sub(n_known)
    }

    fn n_ended(&self, node: NodeId) -> u32 {
        self.frame.n_ended(node) + self.n_ended.get(&node).copied().unwrap_or(0)
    }

    fn n_done(&self, each: NodeId) -> u32 {
        self.frame.n_done(each) + self.n_done.get(&each).copied().unwrap_or(0)
    }

    fn has_link(&self, node: NodeId, state: LinkState) -> bool {
        let mut incoming = self.definition.incoming(node).iter();
        incoming.any(|&link| self.link_state(link) == state)
    }
}
