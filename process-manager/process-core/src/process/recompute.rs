//! Recomputation: an activity that has completed runs once more, since files that it made are gone.

use std::collections::BTreeSet;

use minicbor::{Decode, Encode};
use model::{ActivityId, Artifact, AttemptId, ResourceId, Source};

use crate::process::Process;
use crate::process::ready::ReadyQueue;
use crate::record;
use crate::record::{ActivityPhase, Ended, PastAttempt, Phase, Verdict};

/// An activity that has completed and whose files are made again.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(crate) struct Recomputation {
    #[n(0)]
    pub(crate) state: RecomputationState,
    /// The last attempt at it.
    #[n(1)]
    pub(crate) number: u32,
    /// The machine that runs it or ran it; while it is only wanted, the machine that lacks the
    /// files.
    #[n(2)]
    pub(crate) resource: ResourceId,
    /// Number of times that it was wanted.
    #[n(3)]
    pub(crate) n_wanted: u16,
    /// Attempts at it that failed by themselves.
    #[n(4)]
    pub(crate) n_failed: u16,
    /// Activities that were sent with the files as they were before, and have not ended.
    #[n(5)]
    pub(crate) before: BTreeSet<ActivityId>,
    /// The last attempt that has ended, for the status of the activity.
    #[n(6)]
    pub(crate) last: Option<Box<PastAttempt>>,
}

/// The state of a recomputation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub(crate) enum RecomputationState {
    /// It is to be sent.
    #[n(0)]
    Wanted,
    /// It was sent, and its end is not recorded.
    #[n(1)]
    Out,
    /// The files are there again.
    #[n(2)]
    Made,
    /// They will not be.
    #[n(3)]
    Failed,
}

impl RecomputationState {
    pub(crate) fn is_pending(self) -> bool {
        match self {
            RecomputationState::Wanted | RecomputationState::Out => true,
            RecomputationState::Made | RecomputationState::Failed => false,
        }
    }
}

impl Process {
    /// Returns true if this attempt is a recomputation that is out.
    pub(crate) fn is_recomputation(&self, attempt: AttemptId) -> bool {
        self.recomputation(attempt.activity)
            .is_some_and(|recomputation| {
                recomputation.state == RecomputationState::Out
                    && recomputation.number == attempt.number
            })
    }

    /// The recomputation of an activity, where there is one. Messages may name an activity that is not
    /// there.
    pub(crate) fn recomputation(&self, activity: ActivityId) -> Option<&Recomputation> {
        let state = self.state.activities.get(activity.node().index())?;
        state.open_details()?.recomputation.as_deref()
    }

    fn recomputation_mut(&mut self, activity: ActivityId) -> Option<&mut Recomputation> {
        self.activity_mut(activity)
            .details_mut()
            .recomputation
            .as_deref_mut()
    }

    /// Activities that are to make files again and wait for none themselves.
    pub(crate) fn wanted_recomputations(&self) -> impl Iterator<Item = ActivityId> {
        let all = self.index.recomputations.iter().copied();
        let is_for_nobody = !self.index.recomputations.is_empty() && self.is_only_to_close();
        all.filter(move |&activity| {
            !is_for_nobody
                && self.wants_recomputation(activity)
                && !self.awaits_recomputation(activity)
        })
    }

    /// Returns true if an activity is to make files again and was not sent for it.
    pub(crate) fn wants_recomputation(&self, activity: ActivityId) -> bool {
        let recomputation = self.recomputation(activity);
        recomputation.is_some_and(|one| one.state == RecomputationState::Wanted)
    }

    /// Returns true if an activity waits for files that are being recomputed.
    pub(crate) fn awaits_recomputation(&self, activity: ActivityId) -> bool {
        if self.index.recomputations.is_empty() {
            return false;
        }
        let mut makers = self.makers(activity);
        makers.any(|maker| self.is_to_be_recomputed(maker))
    }

    /// The number and the machine of the recomputation of an activity, while it is out.
    pub(super) fn recomputation_out(&self, activity: ActivityId) -> Option<(u32, ResourceId)> {
        let recomputation = self.recomputation(activity)?;
        let is_out = recomputation.state == RecomputationState::Out;
        is_out.then_some((recomputation.number, recomputation.resource))
    }

    /// The machine that has what an activity has produced.
    pub(crate) fn holder_of(&self, activity: ActivityId) -> ResourceId {
        if let Some(holder) = self.details(activity).holder {
            return holder;
        }
        match self.recomputation(activity) {
            Some(recomputation) if recomputation.state == RecomputationState::Made => {
                recomputation.resource
            }
            Some(_) | None => self.activity(activity).resource,
        }
    }

    /// Returns true if the recomputation of a completed activity is pending.
    pub(crate) fn is_to_be_recomputed(&self, activity: ActivityId) -> bool {
        let recomputation = self.recomputation(activity);
        recomputation.is_some_and(|recomputation| recomputation.state.is_pending())
    }

    /// The last recomputation attempt that has ended.
    pub(crate) fn last_recomputation(&self, activity: ActivityId) -> Option<&PastAttempt> {
        let recomputation = self.recomputation(activity)?;
        recomputation.last.as_deref()
    }

    /// Returns true if files are to be made again.
    pub(crate) fn is_recomputing(&self) -> bool {
        let mut all = self.index.recomputations.iter();
        all.any(|&activity| self.is_to_be_recomputed(activity))
    }

    /// The number of the next attempt at an activity: above those of all before.
    pub(crate) fn next_number(&self, activity: ActivityId) -> u32 {
        let recomputation = self.recomputation(activity);
        let before = recomputation.map_or(0, |recomputation| recomputation.number);
        let state = self.activity(activity);
        // A rival that has ended may have a number above that of the attempt that goes on.
        let earlier = state.details().earlier.iter().map(|past| past.number).max();
        let rival = self.rivals(activity).map(|(number, _)| number).last();
        let others = earlier.max(rival).unwrap_or(0);
        state.number.max(before).max(others) + 1
    }

    /// The activities whose outputs an activity is given.
    pub(crate) fn makers(&self, activity: ActivityId) -> impl Iterator<Item = ActivityId> {
        let declared = self.definition().activity(activity);
        let inputs = declared.map_or(&[][..], |declared| &declared.inputs);
        inputs.iter().filter_map(|input| match input.source {
            Source::Output { activity, .. } => Some(ActivityId(activity.0)),
            Source::Input(_) | Source::Item(_) | Source::Pick(_) => None,
        })
    }

    /// These are to be made again for whoever lacks them on a machine.
    pub(crate) fn want_recomputations(&mut self, makers: &[ActivityId], lacked_on: ResourceId) {
        for &maker in makers {
            if self.is_folded(maker) {
                continue;
            }
            let was_left = self.is_left(maker);
            let number = self.activity(maker).number;
            self.index.recomputations.insert(maker);
            let details = self.activity_mut(maker).details_mut();
            let recomputation = details.recomputation.get_or_insert_with(|| {
                Box::new(Recomputation {
                    state: RecomputationState::Made,
                    number,
                    resource: lacked_on,
                    n_wanted: 0,
                    n_failed: 0,
                    before: BTreeSet::new(),
                    last: None,
                })
            });
            if !recomputation.state.is_pending() {
                recomputation.state = RecomputationState::Wanted;
                recomputation.resource = lacked_on;
                recomputation.n_wanted = recomputation.n_wanted.saturating_add(1);
            }
            self.note_left(maker, was_left);
            self.note_reads(maker);
            self.note_unneeded(maker);
        }
    }

    pub(crate) fn send_recomputation(
        &mut self,
        activity: ActivityId,
        number: u32,
        resource: ResourceId,
    ) {
        if let Some(recomputation) = self.recomputation_mut(activity) {
            recomputation.state = RecomputationState::Out;
            recomputation.number = number;
            recomputation.resource = resource;
            self.index.send((activity, number), resource);
        }
    }

    pub(crate) fn end_recomputation(&mut self, ended: &Ended) {
        let Ended {
            outcome, verdict, ..
        } = ended;
        let activity = outcome.attempt.activity;
        let Some(resource) = self.index.end((activity, outcome.attempt.number)) else {
            return;
        };
        let told = self.past_recomputation(ended, resource);
        let Some(recomputation) = self.recomputation_mut(activity) else {
            return;
        };
        recomputation.last = Some(Box::new(told));
        match verdict {
            Verdict::Completed => {
                recomputation.state = RecomputationState::Made;
                self.set_produced(activity, &outcome.outputs);
                let out = self.out().map(|(_, attempt)| attempt.activity);
                let takes = |other: &ActivityId| self.makers(*other).any(|maker| maker == activity);
                let before: BTreeSet<ActivityId> = out.filter(takes).collect();
                if let Some(recomputation) = self.recomputation_mut(activity) {
                    recomputation.before = before;
                }
                self.note_produced(activity);
            }
            Verdict::Again | Verdict::Moved | Verdict::Retry { .. } => {
                if outcome.end == record::End::Failed {
                    recomputation.n_failed = recomputation.n_failed.saturating_add(1);
                }
                recomputation.state = RecomputationState::Wanted;
            }
            Verdict::Lacking(makers) => {
                recomputation.state = RecomputationState::Wanted;
                self.want_recomputations(makers, resource);
            }
            Verdict::Stopped | Verdict::Dropped(_) => {
                recomputation.state = RecomputationState::Failed;
            }
            Verdict::Faulted(fault) => {
                recomputation.state = RecomputationState::Failed;
                self.stop(Phase::Faulting, Some(fault));
            }
            Verdict::Broke(fault) => {
                recomputation.state = RecomputationState::Failed;
                self.keep_fault(fault);
            }
        }
        self.note_left(activity, true);
        self.forget_before(activity);
        self.note_reads(activity);
        self.note_unneeded(activity);
        self.follow(&ended.flow);
    }

    /// An activity has ended: that it was sent before something was made again does not matter.
    pub(crate) fn forget_before(&mut self, activity: ActivityId) {
        if self.index.recomputations.is_empty() {
            return;
        }
        for other in self.index.recomputations.clone() {
            if let Some(recomputation) = self.recomputation_mut(other) {
                recomputation.before.remove(&activity);
            }
        }
    }

    /// The ready activities that read the outputs of `maker`, which will not be recomputed.
    pub(crate) fn waiting_for(&self, maker: ActivityId) -> Vec<ActivityId> {
        let ready = self.index.ready.values();
        ready
            .flat_map(ReadyQueue::activities)
            .filter(|&activity| self.makers(activity).any(|one| one == maker))
            .filter(|&activity| self.activity(activity).phase == ActivityPhase::Ready)
            .collect()
    }

    pub(crate) fn past_recomputation(&self, ended: &Ended, resource: ResourceId) -> PastAttempt {
        let outcome = &ended.outcome;
        let activity = outcome.attempt.activity;
        let end = match (&ended.verdict, self.is_same(activity, &outcome.outputs)) {
            (Verdict::Completed, true) => "made again",
            (Verdict::Completed, false) => "made again, with other content",
            (Verdict::Lacking(_), _) => "lacking",
            (Verdict::Stopped | Verdict::Dropped(_), _) => "stopped",
            (
                Verdict::Again
                | Verdict::Moved
                | Verdict::Retry { .. }
                | Verdict::Faulted(_)
                | Verdict::Broke(_),
                _,
            ) => "not made again",
        };
        self.past_attempt(outcome, end.to_owned(), resource)
    }

    pub(crate) fn is_same(&self, activity: ActivityId, outputs: &[Artifact]) -> bool {
        (0..)
            .zip(outputs)
            .all(|(output, artifact)| self.output_of(activity, output) == Some(*artifact))
    }
}
