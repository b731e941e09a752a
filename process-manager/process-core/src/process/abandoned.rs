//! Activities that nobody waits for any more: their for-each has completed without them. What is out of
//! them is stopped, and its end changes nothing but their phase. So are files that are made again for them,
//! where the process has nothing else to wait for.

use std::collections::BTreeSet;

use model::{ActivityId, AttemptId};

use crate::process::Process;
use crate::record::{ActivityPhase, NodeState, Phase};
use crate::tree::Decision;

impl Process {
    /// Its for-each has completed without it.
    pub(super) fn abandon(&mut self, activity: ActivityId) {
        match self.activity(activity).phase {
            ActivityPhase::Waiting | ActivityPhase::Ready => {
                self.set_phase(activity, ActivityPhase::Skipped);
            }
            ActivityPhase::Backoff => {
                self.set_backoff(activity, None);
                self.set_phase(activity, ActivityPhase::Stopped);
            }
            ActivityPhase::Sent => self.note_abandoned(activity),
            ActivityPhase::Completed
            | ActivityPhase::Faulted
            | ActivityPhase::Skipped
            | ActivityPhase::Stopped => {}
        }
    }

    /// Notes that an activity is out which nobody waits for.
    pub(super) fn note_abandoned(&mut self, activity: ActivityId) {
        if self.state.frame.node(activity.node()) == NodeState::Skipped {
            self.index.abandoned.insert(activity);
        }
    }

    /// Returns true if nobody waits for this activity, which is still out.
    pub(crate) fn is_abandoned(&self, activity: ActivityId) -> bool {
        self.index.abandoned.contains(&activity)
    }

    /// Returns true if such an activity is out.
    pub(crate) fn has_abandoned(&self) -> bool {
        !self.index.abandoned.is_empty()
    }

    /// Returns true if all that the process is for has ended, and no output is made again: other files that
    /// are made again are for nobody.
    pub(crate) fn is_only_to_close(&self) -> bool {
        let next = self.state.frame.next_decision();
        self.phase() == Phase::Running
            && next == Some(Decision::Close)
            && !self.recomputes_outputs()
    }

    /// Returns true if anything is out that nobody waits for.
    pub(crate) fn has_leftovers(&self) -> bool {
        self.has_abandoned()
            || (self.out().next().is_some() && self.is_only_to_close())
            || self.losers().next().is_some()
            || self.rivals_in_the_way().next().is_some()
    }

    /// The attempts that are to be stopped: all where the process is ending, but for those that may go on
    /// to their end; else those that nobody waits for, or that are in the way of others.
    pub(crate) fn to_be_stopped(&self) -> impl Iterator<Item = (model::ResourceId, AttemptId)> {
        let is_ending = self.phase() != Phase::Running;
        let is_only_to_close = self.is_only_to_close();
        let in_the_way: BTreeSet<AttemptId> = self.rivals_in_the_way().collect();
        let out = self.out();
        out.filter(move |&(_, attempt)| {
            self.is_abandoned(attempt.activity)
                || self.has_lost(attempt)
                || in_the_way.contains(&attempt)
                || is_only_to_close
                || (is_ending && !self.may_finish(attempt))
        })
    }

    /// Returns true if this attempt goes on to its end, where it runs, though its process has faulted. Files
    /// are made again for activities that will not start.
    pub(crate) fn may_finish(&self, attempt: AttemptId) -> bool {
        self.finishes()
            && !self.is_abandoned(attempt.activity)
            && !self.is_recomputation(attempt)
            && !self.has_lost(attempt)
    }
}
