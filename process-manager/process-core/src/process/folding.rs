//! Iterations that ended long ago: a process gives up everything that it knows of them but that they have
//! ended, so that a loop takes little more memory and journal after 100,000 iterations than after 10,000.
//!
//! ```text
//!  relax[0]   relax[1] .. relax[95903]   relax[95904] .. relax[99999]   relax[100000]
//!  kept       folded                     kept                           begins
//! ```
//! Numbers of nodes are never given twice, so whatever names an attempt means the same for ever; it is the
//! states that go. Of an activity stays whether it has completed, was stopped or skipped (two bits, see
//! [`super::activities`]), and the number of those that other outcomes stood for. An iteration is folded when
//! - none of its nodes can change any more: all have completed or were skipped, nothing is out, and no files are
//!   to be made again,
//! - nobody outside of its loop reads files of all iterations, and
//! - the two iterations after it are there: the next one has read what it carried on.
//!
//! The first one stays, since bodies are copied with what that reads. The event of an iteration names those that
//! are folded with it, many at once, so that the plan is gone through once for thousands.
//!
//! Its price: nobody sees how a folded activity ran, a rerun finds no outcome of it, and files that were lost on
//! all machines cannot be made again by way of it.

use std::collections::BTreeMap;

use model::{ActivityId, Draft, NodeId, NodeKind, Value};

use crate::process::Process;
use crate::record::{ActivityPhase, NodeState};

/// Activities of iterations that have ended, of one loop, of which everything is kept: a megabyte or two. When
/// there are twice as many, they are folded down to these. As many as `max-iterations` has when nothing is
/// said, at one activity each, so that a rerun of a usual loop finds all its outcomes.
pub(crate) const KEPT: u32 = model::limits::ITERATIONS;

/// The reason why files of a folded activity cannot be made again.
pub(crate) const NOT_KEPT: &str =
    "no more is kept than that it has ended, as of all but the last iterations: rerun the process";

/// Iterations that are folded at once: what is more goes with the next one.
const FOLDED_AT_ONCE_MAX: usize = 20_000;

/// The indexes of what is folded.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Folds {
    /// Folded activities below each controller that is not folded itself.
    n_below: BTreeMap<NodeId, u32>,
    /// The place after the last folded iteration of each loop that is not folded itself.
    next: BTreeMap<NodeId, usize>,
    /// True if an expression may read the variables of all iterations.
    gathers_values: bool,
}

impl Folds {
    #[cfg(test)]
    pub(super) fn n_known(&self) -> usize {
        self.n_below.len() + self.next.len()
    }
}

impl Process {
    /// Returns true if nothing is known of an activity but that it has completed or was skipped.
    pub(crate) fn is_folded(&self, activity: ActivityId) -> bool {
        let state = self.state.activities.get(activity.node().index());
        state.is_some_and(|state| state.is_folded())
    }

    /// The roots of the iterations to fold with the next iteration of a loop, where more than twice as many
    /// activities are kept as should be. O(nodes that are looked at), once for as many iterations.
    pub(crate) fn foldable(&self, each: NodeId, n_kept_max: u32) -> Vec<NodeId> {
        let folds = &self.index.folds;
        let n_folded = folds.n_below.get(&each).copied().unwrap_or(0);
        let mut n_kept = self.index.n_all[each.index()] - n_folded;
        if n_kept <= n_kept_max.saturating_mul(2)
            || self.is_recomputing()
            || self.definition.is_gathered(each)
        {
            return Vec::new();
        }
        let bodies = self.definition.children(each);
        let from = folds.next.get(&each).copied().unwrap_or(1);
        let to = bodies.len().saturating_sub(2);
        let mut folded = Vec::new();
        for &body in bodies.get(from..to).unwrap_or_default() {
            if n_kept <= n_kept_max || folded.len() == FOLDED_AT_ONCE_MAX {
                break;
            }
            if let Some(n_activities) = self.n_to_fold(body) {
                n_kept = n_kept.saturating_sub(n_activities);
                folded.push(body);
            }
        }
        folded
    }

    /// Activities of an iteration that may be folded; none where a part of it may still change, or has faulted.
    fn n_to_fold(&self, body: NodeId) -> Option<u32> {
        let mut n_activities = 0;
        for node in self.nodes_below(body) {
            match self.state.frame.node(node) {
                NodeState::Done | NodeState::Skipped => {}
                NodeState::Idle | NodeState::Enabled | NodeState::Running | NodeState::Broken => {
                    return None;
                }
            }
            let activity = ActivityId(node.0);
            if self.definition.activity_as_written(activity).is_none() {
                continue;
            }
            match self.activity(activity).phase {
                ActivityPhase::Completed | ActivityPhase::Skipped | ActivityPhase::Stopped => {}
                ActivityPhase::Waiting
                | ActivityPhase::Ready
                | ActivityPhase::Sent
                | ActivityPhase::Backoff
                | ActivityPhase::Faulted => return None,
            }
            if self.rivals(activity).next().is_some() {
                return None;
            }
            n_activities += u32::from(!self.is_folded(activity));
        }
        Some(n_activities)
    }

    /// A node and all below it.
    fn nodes_below(&self, root: NodeId) -> impl Iterator<Item = NodeId> {
        let mut open = vec![root];
        std::iter::from_fn(move || {
            let node = open.pop()?;
            open.extend(self.definition.children(node));
            Some(node)
        })
    }

    /// Gives up what is known of iterations.
    pub(super) fn fold(&mut self, bodies: &[NodeId]) {
        for &body in bodies {
            let nodes: Vec<NodeId> = self.nodes_below(body).collect();
            nodes.iter().for_each(|&node| self.fold_node(node));
            self.note_folded(body);
        }
        if bodies.is_empty() {
            return;
        }
        let states = &self.state.activities;
        let is_left = |node: NodeId| !states.at(node.index()).is_folded();
        let entries = &mut self.state.plan.entries;
        entries.retain(|entry| is_left(entry.activity.node()));
        let folds = &mut self.index.folds;
        folds.n_below.retain(|&node, _| is_left(node));
        folds.next.retain(|&node, _| is_left(node));
    }

    fn fold_node(&mut self, node: NodeId) {
        let activity = ActivityId(node.0);
        // An inner loop may have folded it before.
        if self.is_folded(activity) {
            return;
        }
        self.forget_reader(activity);
        let state = self.activity(activity);
        let phase = match state.phase {
            ActivityPhase::Completed => ActivityPhase::Completed,
            ActivityPhase::Stopped => ActivityPhase::Stopped,
            ActivityPhase::Waiting
            | ActivityPhase::Ready
            | ActivityPhase::Sent
            | ActivityPhase::Backoff
            | ActivityPhase::Faulted
            | ActivityPhase::Skipped => ActivityPhase::Skipped,
        };
        let details = state.details();
        let n_produced = details.produced.len();
        let captured = details.captured.iter().flatten().map(Value::size);
        let n_captured = captured.sum::<usize>() as u64;
        let is_reused = details.reused.is_some();
        self.index.n_produced -= n_produced;
        self.index.copied.remove(&activity);
        self.index.uncopied.remove(&activity);
        self.state.captured_bytes = self.state.captured_bytes.saturating_sub(n_captured);
        if is_reused {
            *self.state.n_reused_folded.get_or_insert_default() += 1;
        }
        if !self.index.folds.gathers_values {
            self.forget_variables(node);
        }
        self.changed.add_node(node.index());
        self.state.activities.fold(node.index(), phase);
        if self.definition.activity_as_written(activity).is_some() {
            self.definition.let_go(activity);
            self.count_folded(activity);
        }
    }

    /// The variables of a body are read by nobody any more.
    fn forget_variables(&mut self, body: NodeId) {
        let of_body = (body, 0)..=(body, u32::MAX);
        let own = self.state.of_bodies.range(of_body);
        let own: Vec<(NodeId, u32)> = own.map(|(&key, _)| key).collect();
        for key in own {
            let value = self.state.of_bodies.remove(&key);
            let bytes = &mut self.index.variables_bytes;
            *bytes = bytes.saturating_sub(value.map_or(0, |value| value.size()));
        }
    }

    /// Counts a folded activity for the controllers above it.
    fn count_folded(&mut self, activity: ActivityId) {
        let mut at = self.definition.parent(activity.node());
        while let Some(controller) = at {
            if !self.is_folded(ActivityId(controller.0)) {
                *self.index.folds.n_below.entry(controller).or_default() += 1;
            }
            at = self.definition.parent(controller);
        }
    }

    /// Notes how far a loop has folded its iterations.
    fn note_folded(&mut self, body: NodeId) {
        let Some(around) = self.definition.enclosing(body).next() else {
            return;
        };
        if !self.is_folded(ActivityId(around.each.0)) {
            let next = self.index.folds.next.entry(around.each).or_default();
            *next = (*next).max(around.place as usize + 1);
        }
    }

    /// Takes in what is folded, after a snapshot was read.
    pub(super) fn rebuild_folds(&mut self) {
        let draft = self.definition.draft();
        let has_own = draft.variables.iter().any(|one| one.of.is_some());
        self.index.folds.gathers_values = has_own && may_gather_values(draft);
        self.index.totals.reused += self.state.n_reused_folded.unwrap_or(0);
        let all = (0..self.definition.n_nodes() as u32).map(NodeId);
        let folded = all.filter(|node| self.is_folded(ActivityId(node.0)));
        for node in folded.collect::<Vec<NodeId>>() {
            let activity = ActivityId(node.0);
            if self.definition.activity_as_written(activity).is_some() {
                self.count_folded(activity);
            }
            let parent = self.definition.parent(node);
            let is_body =
                |each: NodeId| matches!(self.definition.as_written(each).kind, NodeKind::Repeat(_));
            if parent.is_some_and(is_body) {
                self.note_folded(node);
            }
        }
    }
}

/// Returns true if an expression of a draft may read the values of all bodies: `relax[*].score`. It is looked for
/// in all texts at once.
fn may_gather_values(draft: &Draft) -> bool {
    let bytes = minicbor::to_vec(draft).expect("a Vec takes every byte");
    bytes.windows(3).any(|three| three == b"[*]")
}
