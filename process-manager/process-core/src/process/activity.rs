//! The durable state of one activity, kept small because there may be a million, and the statuses
//! of its attempts as users see them.

use std::borrow::Cow;

use minicbor::{Decode, Encode};
use model::{ActivityId, AttemptId, Bytes, FaultName, ResourceId, Span, Wall};
use wire::client::AttemptStatus;

use crate::process::Process;
use crate::process::details::{Details, Kept};
use crate::process::race::Rival;
use crate::record::{ActivityPhase, PastAttempt};

/// Attempts of one activity that are remembered beside the last one.
const EARLIER_MAX: usize = 32;

/// The durable state of one activity: its phase and the place of its last attempt. Details follow once
/// there is something to tell.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct ActivityState {
    /// The phase of the activity.
    #[n(0)]
    pub phase: ActivityPhase,
    /// The number of the last attempt; 0 before the first.
    #[n(1)]
    pub number: u32,
    /// The machine of the last attempt.
    #[n(2)]
    pub resource: ResourceId,
    /// Attempts that failed by themselves: `retry: attempts` bounds them.
    #[n(3)]
    pub n_failed: u16,
    /// Attempts that were lost while they ran.
    #[n(4)]
    pub n_lost: u16,
    #[n(5)]
    details: Kept,
}

// A budget for big processes: the state of an activity beside its definition and its plan entry, until
// it is sent.
const _: () = assert!(size_of::<ActivityState>() <= 64);

impl ActivityState {
    /// The rest of an activity of an iteration that ended long ago.
    pub(super) const fn folded(phase: ActivityPhase) -> ActivityState {
        ActivityState {
            phase,
            number: 0,
            resource: ResourceId::local(0),
            n_failed: 0,
            n_lost: 0,
            details: Kept::Folded,
        }
    }

    /// Returns true if nothing is known of it but that it has completed or was skipped.
    pub(crate) fn is_folded(&self) -> bool {
        matches!(self.details, Kept::Folded)
    }

    /// Its details.
    pub(crate) fn details(&self) -> Cow<'_, Details> {
        self.details.read()
    }

    /// The same, to be changed.
    pub(crate) fn details_mut(&mut self) -> &mut Details {
        self.details.get_or_insert()
    }

    /// The details that may still change, where there are any.
    pub(crate) fn open_details(&self) -> Option<&Details> {
        self.details.open()
    }

    /// It has ended: its details take less memory.
    pub(crate) fn pack(&mut self) {
        if self.phase == ActivityPhase::Completed {
            self.details.pack();
        }
    }

    /// Packs its details although it has not ended: it may wait for long.
    pub(crate) fn pack_early(&mut self) {
        self.details.pack();
    }

    /// Another attempt is sent: the figures of the one before are no longer those of the last one.
    pub(crate) fn begin_attempt(&mut self, number: u32, resource: ResourceId) {
        self.number = number;
        self.resource = resource;
        if let Some(details) = self.details.change() {
            details.started = Wall(0);
            details.wall = Span::ZERO;
            details.cpu = Span::ZERO;
            details.peak_memory = Bytes::ZERO;
            details.pid = 0;
            details.exit_code = None;
        }
    }

    /// Returns true if an attempt was sent to a machine and its end is not recorded.
    pub fn is_out(&self) -> bool {
        self.phase == ActivityPhase::Sent
    }
}

impl Process {
    /// The last attempt becomes one of the earlier ones.
    pub(crate) fn keep_earlier(&mut self, activity: ActivityId, end: String) {
        let last = self.last_attempt(activity, end);
        self.activity_mut(activity).details_mut().log = None;
        self.keep_past(activity, last);
    }

    /// Remembers an attempt that has ended.
    pub(super) fn keep_past(&mut self, activity: ActivityId, past: PastAttempt) {
        let earlier = &mut self.activity_mut(activity).details_mut().earlier;
        if earlier.len() == EARLIER_MAX {
            earlier.remove(0);
        }
        earlier.push(past);
    }

    fn last_attempt(&self, activity: ActivityId, end: String) -> PastAttempt {
        let state = self.activity(activity);
        let details = state.details();
        PastAttempt {
            number: state.number,
            resource: state.resource,
            end,
            pid: details.pid,
            started: details.started,
            wall: details.wall,
            cpu: details.cpu,
            peak_memory: details.peak_memory,
            exit_code: details.exit_code,
            log: details.log,
            slots: self
                .definition
                .activity_as_written(activity)
                .map_or(0, |activity| activity.cores),
        }
    }

    /// An attempt as users see it.
    fn shown(&self, activity: ActivityId, past: PastAttempt) -> AttemptStatus {
        AttemptStatus {
            attempt: AttemptId {
                process: self.id(),
                activity,
                number: past.number,
            },
            resource: past.resource,
            end: Some(past.end),
            pid: past.pid,
            started: (past.started != Wall(0)).then_some(past.started),
            wall: past.wall,
            cpu: past.cpu,
            peak_memory: past.peak_memory,
            exit_code: past.exit_code,
            log: past.log.map(Into::into),
            slots: past.slots,
        }
    }

    /// An attempt that is out beside another one, as users see it.
    fn shown_rival(&self, activity: ActivityId, number: u32, rival: &Rival) -> AttemptStatus {
        let declared = self.definition.activity_as_written(activity);
        AttemptStatus {
            attempt: self.attempt((activity, number)),
            resource: rival.resource,
            end: None,
            pid: 0,
            started: None,
            wall: Span::ZERO,
            cpu: Span::ZERO,
            peak_memory: Bytes::ZERO,
            exit_code: None,
            log: None,
            slots: declared.map_or(0, |activity| activity.cores),
        }
    }

    /// The memory of the next attempt at an activity, or of the one that is out: more after each one that
    /// exceeded it, where its retry says so.
    pub(crate) fn memory_asked(&self, activity: ActivityId) -> Option<Bytes> {
        let declared = self.definition.activity_as_written(activity)?;
        let (memory, Some(percent)) = (declared.memory?, declared.retry.memory_percent) else {
            return declared.memory;
        };
        let exceeded = FaultName::OutOfMemory.to_string();
        let details = self.details(activity);
        // Growth ends with the attempts that are remembered.
        let n_exceeded = details.earlier.iter().filter(|past| past.end == exceeded);
        let grown = n_exceeded.fold(u128::from(memory.0), |bytes, _| {
            (bytes * u128::from(percent) / 100).min(u128::from(u64::MAX))
        });
        Some(Bytes(u64::try_from(grown).unwrap_or(u64::MAX)))
    }

    /// The statuses of all attempts of an activity, that which counts last: others that have lost a race, or are
    /// still in one, come before it.
    pub(crate) fn attempts(&self, activity: ActivityId) -> Vec<AttemptStatus> {
        let details = self.details(activity);
        let earlier = &details.earlier;
        // With no room for more than the last one and a recomputation: a status has all activities.
        let recomputation = self.last_recomputation(activity);
        let n_more = 1 + usize::from(recomputation.is_some()) + self.rivals(activity).count();
        let mut attempts: Vec<AttemptStatus> = Vec::with_capacity(earlier.len() + n_more);
        attempts.extend(
            earlier
                .iter()
                .map(|past| self.shown(activity, past.clone())),
        );
        let rivals = self.rivals(activity);
        attempts.extend(rivals.map(|(number, rival)| self.shown_rival(activity, number, rival)));
        let state = self.activity(activity);
        let end = match state.phase {
            ActivityPhase::Completed => Some("completed".to_owned()),
            ActivityPhase::Stopped => Some("stopped".to_owned()),
            ActivityPhase::Faulted => {
                let faults = &self.state.faults;
                let fault = faults.iter().find(|fault| fault.activity == Some(activity));
                Some(fault.map_or("faulted".to_owned(), |fault| fault.name.to_string()))
            }
            ActivityPhase::Sent => None,
            // The last attempt is among the earlier ones.
            ActivityPhase::Ready
            | ActivityPhase::Backoff
            | ActivityPhase::Waiting
            | ActivityPhase::Skipped => return attempts,
        };
        let mut known = attempts.iter().map(|one| one.attempt.number);
        if state.number > 0 && known.all(|number| number != state.number) {
            let is_out = end.is_none();
            let last = self.last_attempt(activity, end.unwrap_or_default());
            let mut last = self.shown(activity, last);
            last.end.take_if(|_| is_out);
            attempts.push(last);
        }
        attempts.extend(recomputation.map(|past| self.shown(activity, past.clone())));
        attempts
    }

    /// The attempt whose recorded outcome stands for an activity.
    pub(crate) fn reused(&self, activity: ActivityId) -> Option<AttemptStatus> {
        let recalled = self.details(activity).reused?;
        let last = self.last_attempt(activity, "completed".to_owned());
        Some(AttemptStatus {
            attempt: recalled.of,
            slots: recalled.slots,
            ..self.shown(activity, last)
        })
    }
}
