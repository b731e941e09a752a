//! The chapters of a process: what a snapshot says of its nodes, links, plan and items.
//!
//! ```text
//!  nodes and links   | 0 .. 63 | 64 .. 127 | 128 .. 191 |     chapters 0, 2, 4
//!  expansions        | 0 .. 15 | 16 ..  31 |                  chapters 1, 3
//! ```
//! The store keeps the last one of each number, and a snapshot brings only those that have changed since the
//! snapshot before. So it costs as much as what is open and what has ended meanwhile, however long the
//! process has run. Nothing is ever final: a chapter whose files are copied or made again a day later is
//! written once more.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use minicbor::{Decode, Encode};
use model::{ActivityId, Entry, NodeId, Plan, Value};

use crate::process::activities::{Activities, Masks, NODES};
use crate::process::activity::ActivityState;
use crate::process::{Process, ProcessState};
use crate::record::{Expanded, Flow, LinkState, NodeState};
use crate::tree::Frame;

/// Expansions of a chapter: each may have thousands of items.
const EXPANSIONS: usize = if cfg!(test) { 2 } else { 16 };

/// The weight of a chapter that has changed, in entries. A process whose activities end in their order makes
/// at least one event for eight nodes, so that its snapshots never stay behind its events; one in which any
/// node may change at any time writes some KiB for each event at most.
const WEIGHT: usize = 16;

/// A part of the state of a process.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Chapter {
    /// Consecutive nodes...
    #[n(0)]
    nodes: Vec<NodeState>,
    #[n(1)]
    activities: Vec<ActivityState>,
    /// ...with their places in the plan...
    #[n(2)]
    entries: Vec<Entry>,
    /// ...and the variables of bodies that begin with one of them.
    #[n(3)]
    of_bodies: BTreeMap<(NodeId, u32), Value>,
    /// Consecutive links.
    #[n(4)]
    links: Vec<LinkState>,
    /// Consecutive expansions.
    #[n(5)]
    expanded: Vec<Expanded>,
    /// The phases of the nodes, where all of them were folded: there are no states then.
    #[n(6)]
    folded: Option<Masks>,
}

/// The numbers of the chapters that the last snapshot does not have as they are.
#[derive(Clone, Default)]
pub(crate) struct Changed(BTreeSet<u32>);

impl fmt::Debug for Changed {
    /// Prints no content: a restart begins another set, and the state still counts as the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Changed")
    }
}

impl Changed {
    /// All chapters of a state but these, which were read.
    pub(super) fn all_but(state: &ProcessState, read: &BTreeSet<u32>) -> Changed {
        let mut all = Changed::default();
        all.add_nodes(0, state.activities.len());
        all.add_nodes(0, state.frame.n_links());
        (0..n_sealed(&state.expanded)).for_each(|at| all.add_expansion(at));
        all.0.retain(|number| !read.contains(number));
        all
    }

    /// A node, its activity, its entry or its variables have changed, or a link with this number.
    pub(super) fn add_node(&mut self, index: usize) {
        self.0.insert(2 * (index / NODES) as u32);
    }

    /// The same for those from one number up to another.
    pub(super) fn add_nodes(&mut self, from: usize, to: usize) {
        let mut at = from;
        while at < to {
            self.add_node(at);
            at = (at / NODES + 1) * NODES;
        }
    }

    /// Nodes and links have moved.
    pub(super) fn add_flow(&mut self, flow: &Flow) {
        flow.links()
            .for_each(|(link, _)| self.add_node(link as usize));
        flow.nodes()
            .for_each(|(node, _)| self.add_node(node.index()));
    }

    /// Another plan is in force.
    pub(super) fn add_entries(&mut self, before: &[Entry], after: &[Entry]) {
        let (mut before, mut after) = (before.iter().peekable(), after.iter().peekable());
        loop {
            let next = |entry: Option<&&Entry>| entry.map(|entry| entry.activity);
            let (old, new) = (next(before.peek()), next(after.peek()));
            let Some(activity) = old.into_iter().chain(new).min() else {
                return;
            };
            let old = before.next_if(|entry| entry.activity == activity);
            let new = after.next_if(|entry| entry.activity == activity);
            if old != new {
                self.add_node(activity.node().index());
            }
        }
    }

    /// An expansion has come.
    pub(super) fn add_expansion(&mut self, at: usize) {
        self.0.insert(2 * (at / EXPANSIONS) as u32 + 1);
    }

    /// The weight of these chapters, about.
    pub(crate) fn weight(&self) -> usize {
        WEIGHT * self.0.len()
    }

    /// The chapters, which count as written from here on.
    pub(crate) fn take(&mut self, state: &ProcessState) -> Vec<(u32, Chapter)> {
        let numbers = std::mem::take(&mut self.0).into_iter();
        numbers
            .map(|number| (number, state.chapter(number)))
            .collect()
    }
}

/// Expansions that are in chapters. Where the last one is that of a loop, which grows with each iteration, it
/// is in the snapshot itself.
fn n_sealed(expanded: &[Expanded]) -> usize {
    let is_open = expanded
        .last()
        .is_some_and(|last| last.iterations.is_some());
    expanded.len() - usize::from(is_open)
}

/// The values that belong to a chapter.
fn cut<T>(all: &[T], chapter: usize, len: usize) -> &[T] {
    let from = (chapter * len).min(all.len());
    &all[from..(from + len).min(all.len())]
}

impl ProcessState {
    /// The state without what is in chapters.
    pub(crate) fn head(&self) -> ProcessState {
        let sealed = n_sealed(&self.expanded);
        ProcessState {
            phase: self.phase,
            closed: self.closed,
            frame: Frame::default(),
            activities: Activities::default(),
            variables: self.variables.clone(),
            outputs: self.outputs.clone(),
            faults: self.faults.clone(),
            plan: Plan {
                generation: self.plan.generation,
                entries: Vec::new(),
                bound: self.plan.bound,
            },
            planned: self.planned,
            machines: self.machines.clone(),
            holdings: self.holdings.clone(),
            is_released: self.is_released,
            seen_wall: self.seen_wall,
            n_seen: self.n_seen,
            captured_bytes: self.captured_bytes,
            planned_from: self.planned_from,
            expanded: self.expanded[sealed..].to_vec(),
            of_bodies: BTreeMap::new(),
            moves: self.moves.clone(),
            n_reused_folded: self.n_reused_folded,
            machine_slots: self.machine_slots.clone(),
            rivals: self.rivals.clone(),
        }
    }

    fn chapter(&self, number: u32) -> Chapter {
        let place = (number / 2) as usize;
        if number % 2 == 1 {
            let sealed = &self.expanded[..n_sealed(&self.expanded)];
            return Chapter {
                expanded: cut(sealed, place, EXPANSIONS).to_vec(),
                ..Chapter::default()
            };
        }
        let node = |at: usize| NodeId(u32::try_from(at * NODES).unwrap_or(u32::MAX));
        let (from, to) = (node(place), node(place + 1));
        let entries = &self.plan.entries;
        let entry = |node| entries.partition_point(|entry| entry.activity < ActivityId(node));
        let of_bodies = self.of_bodies.range((from, 0)..(to, 0));
        let (activities, folded) = self.activities.part(place);
        Chapter {
            nodes: cut(self.frame.nodes(), place, NODES).to_vec(),
            activities,
            entries: entries[entry(from.0)..entry(to.0)].to_vec(),
            of_bodies: of_bodies
                .map(|(&key, value)| (key, value.clone()))
                .collect(),
            links: cut(self.frame.links(), place, NODES).to_vec(),
            expanded: Vec::new(),
            folded,
        }
    }

    /// The whole state, from its head and its chapters in the order of their numbers. A head of the first
    /// snapshots has everything, and no chapters.
    fn with(mut self, chapters: Vec<(u32, Chapter)>) -> ProcessState {
        let last = std::mem::take(&mut self.expanded);
        for (_, chapter) in chapters {
            self.frame.extend(chapter.nodes, chapter.links);
            self.activities.extend(chapter.activities, chapter.folded);
            self.plan.entries.extend(chapter.entries);
            self.of_bodies.extend(chapter.of_bodies);
            self.expanded.extend(chapter.expanded);
        }
        self.expanded.extend(last);
        self
    }
}

impl Process {
    /// The state that a snapshot of it gives back.
    pub(crate) fn restore(mut self, head: ProcessState, chapters: Vec<(u32, Chapter)>) -> Process {
        let read = chapters.iter().map(|&(number, _)| number).collect();
        self.state = head.with(chapters);
        self.expand_again();
        self.state.frame.rebuild(&self.definition);
        self.rebuild_index();
        self.changed = Changed::all_but(&self.state, &read);
        self
    }

    /// The definition has become what the expansions say.
    fn expand_again(&mut self) {
        for expanded in &self.state.expanded {
            for expansion in expanded.expansions() {
                let n_before = self.definition.n_nodes();
                self.definition.expand(&expansion);
                // Copies of what was folded need no room at any time.
                for node in n_before..self.definition.n_nodes() {
                    if self
                        .state
                        .activities
                        .get(node)
                        .is_some_and(ActivityState::is_folded)
                    {
                        self.definition.let_go(ActivityId(node as u32));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
