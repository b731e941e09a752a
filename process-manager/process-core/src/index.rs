//! What follows from the course of a process and is kept only to be found quickly: queues, counts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use model::{ActivityId, NodeId, ResourceId, Span, Value};
use wire::client::Totals;

use crate::attempt::ActivityState;
use crate::process::Process;
use crate::record::ActivityPhase;

/// What follows from the course and is kept only to be found quickly.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Index {
    /// What may run, by the machine that the plan names, in the order of the plan; without a plan
    /// under `None`.
    pub(crate) ready: BTreeMap<Option<ResourceId>, BTreeSet<(Span, ActivityId)>>,
    /// What is out, by machine.
    pub(crate) out: BTreeMap<ResourceId, BTreeSet<ActivityId>>,
    pub(crate) totals: Totals,
    /// Bytes of the values of all variables.
    pub(crate) variables_bytes: usize,
    /// Activities below each controller that have ended.
    pub(crate) n_ended: Vec<u32>,
    /// Activities below each controller.
    pub(crate) n_all: Vec<u32>,
    pub(crate) fresh: Fresh,
    /// Activities that have produced what a copy is wanted of and not recorded.
    pub(crate) uncopied: BTreeSet<ActivityId>,
}

/// Activities for which a recorded outcome may stand, in the order in which they became ready. It
/// only grows, each is in it once, and whoever has looked at the first so many looks at the rest:
/// so that looking costs nothing for what waits long.
#[derive(Default, PartialEq)]
pub(crate) struct Fresh(pub(crate) Vec<ActivityId>);

impl fmt::Debug for Fresh {
    /// Nothing of it: a restart begins it anew, and it is the same state all the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fresh")
    }
}

impl Process {
    pub(crate) fn turn_to(&mut self, activity: ActivityId, phase: ActivityPhase) {
        let state = &mut self.course.activities[activity.node().index()];
        let before = state.phase;
        state.phase = phase;
        let resource = state.resource;
        if before == ActivityPhase::Ready {
            self.unqueue(activity);
        }
        if before == ActivityPhase::Sent {
            self.leave(resource, activity);
        }
        *count(&mut self.index.totals, before) -= 1;
        *count(&mut self.index.totals, phase) += 1;
        if phase == ActivityPhase::Ready {
            self.queue(activity);
            self.note_fresh(activity);
        }
        if has_ended(phase) && !has_ended(before) {
            self.count_ended(activity.node());
        }
    }

    /// An attempt is not out on a machine any more.
    pub(crate) fn leave(&mut self, resource: ResourceId, activity: ActivityId) {
        if let Some(out) = self.index.out.get_mut(&resource) {
            out.remove(&activity);
            if out.is_empty() {
                self.index.out.remove(&resource);
            }
        }
    }

    fn note_fresh(&mut self, activity: ActivityId) {
        let may_be_recalled = self.base.is_some()
            || self
                .definition
                .activity(activity)
                .is_some_and(|activity| activity.cache);
        if may_be_recalled && self.activity(activity).number == 0 {
            self.index.fresh.0.push(activity);
        }
    }

    fn count_ended(&mut self, node: NodeId) {
        let mut at = self.definition.parent(node);
        while let Some(controller) = at {
            self.index.n_ended[controller.index()] += 1;
            at = self.definition.parent(controller);
        }
    }

    fn place(&self, activity: ActivityId) -> (Option<ResourceId>, Span) {
        match self.course.plan.entry(activity) {
            Some(entry) => (Some(entry.resource), entry.start),
            None => (None, Span::ZERO),
        }
    }

    pub(crate) fn queue(&mut self, activity: ActivityId) {
        let (resource, start) = self.place(activity);
        self.index
            .ready
            .entry(resource)
            .or_default()
            .insert((start, activity));
    }

    fn unqueue(&mut self, activity: ActivityId) {
        let (resource, start) = self.place(activity);
        if let Some(queue) = self.index.ready.get_mut(&resource) {
            queue.remove(&(start, activity));
            if queue.is_empty() {
                self.index.ready.remove(&resource);
            }
        }
    }

    pub(crate) fn rebuild_index(&mut self) {
        let n_nodes = self.definition.nodes().len();
        let n_zero = vec![0; n_nodes];
        self.index = Index {
            n_ended: n_zero.clone(),
            n_all: n_zero,
            ..Index::default()
        };
        let variables = self.course.variables.iter();
        self.index.variables_bytes = variables.map(Value::size).sum();
        self.index.totals.reused = self.course.reused.len() as u32;
        for &activity in self.definition.clone().activities() {
            let ActivityState {
                phase, resource, ..
            } = *self.activity(activity);
            *count(&mut self.index.totals, phase) += 1;
            match phase {
                ActivityPhase::Ready => {
                    self.queue(activity);
                    self.note_fresh(activity);
                }
                ActivityPhase::Sent => {
                    self.index.out.entry(resource).or_default().insert(activity);
                }
                ActivityPhase::Waiting
                | ActivityPhase::Backoff
                | ActivityPhase::Completed
                | ActivityPhase::Faulted
                | ActivityPhase::Skipped
                | ActivityPhase::Stopped => {}
            }
            let (at_work, attempt) = self.out_of(activity);
            if self.is_remake(attempt) {
                self.index.out.entry(at_work).or_default().insert(activity);
            }
            if has_ended(phase) {
                self.count_ended(activity.node());
            }
            self.note_uncopied(activity);
            let mut at = self.definition.parent(activity.node());
            while let Some(controller) = at {
                self.index.n_all[controller.index()] += 1;
                at = self.definition.parent(controller);
            }
        }
    }
}

pub(crate) fn has_ended(phase: ActivityPhase) -> bool {
    match phase {
        ActivityPhase::Completed
        | ActivityPhase::Faulted
        | ActivityPhase::Skipped
        | ActivityPhase::Stopped => true,
        ActivityPhase::Waiting
        | ActivityPhase::Ready
        | ActivityPhase::Sent
        | ActivityPhase::Backoff => false,
    }
}

fn count(totals: &mut Totals, phase: ActivityPhase) -> &mut u32 {
    match phase {
        ActivityPhase::Waiting => &mut totals.waiting,
        ActivityPhase::Ready | ActivityPhase::Backoff => &mut totals.ready,
        ActivityPhase::Sent => &mut totals.running,
        ActivityPhase::Completed => &mut totals.completed,
        ActivityPhase::Faulted => &mut totals.faulted,
        ActivityPhase::Skipped | ActivityPhase::Stopped => &mut totals.skipped,
    }
}
