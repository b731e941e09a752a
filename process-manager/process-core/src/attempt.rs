//! What is remembered of one activity: as little as can be, since there may be a million; and what
//! a user sees of its attempts.

use minicbor::{Decode, Encode};
use model::{ActivityId, AttemptId, Bytes, ResourceId, Span, Wall};
use wire::client::AttemptStatus;

use crate::process::Process;
use crate::record::{ActivityPhase, PastAttempt};

/// Attempts of one activity that are remembered beside the last one.
const EARLIER_MAX: usize = 32;

/// The durable state of one activity: its phase and its last attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct ActivityState {
    /// When the last attempt started; zero while unknown.
    #[n(0)]
    pub started: Wall,
    /// How long it ran.
    #[n(1)]
    pub wall: Span,
    /// CPU time that it used.
    #[n(2)]
    pub cpu: Span,
    /// The most memory that it used.
    #[n(3)]
    pub peak_memory: Bytes,
    /// The number of the last attempt; 0 before the first.
    #[n(4)]
    pub number: u32,
    /// The machine of the last attempt.
    #[n(5)]
    pub resource: ResourceId,
    /// The command's process id on its machine.
    #[n(6)]
    pub pid: u32,
    /// Its exit status, where `has_exit_code`.
    #[n(7)]
    pub exit_code: i32,
    /// Attempts that failed by themselves: what `retry: attempts` bounds.
    #[n(8)]
    pub n_failed: u16,
    /// Attempts that were lost while they ran.
    #[n(9)]
    pub n_lost: u16,
    /// Where the activity is in its life.
    #[n(10)]
    pub phase: ActivityPhase,
    /// Whether the last attempt exited by itself.
    #[n(11)]
    pub has_exit_code: bool,
}

// A budget for big processes: what one activity costs beside its definition and its plan entry.
const _: () = assert!(size_of::<ActivityState>() <= 64);

impl ActivityState {
    /// Whether an attempt is out: sent to a machine, and its end not recorded.
    pub fn is_out(&self) -> bool {
        self.phase == ActivityPhase::Sent
    }
}

impl Process {
    /// The last attempt becomes one of the earlier ones.
    pub(crate) fn keep_earlier(&mut self, activity: ActivityId, end: String) {
        let last = self.last_attempt(activity, end);
        self.course.logs.remove(&activity);
        let earlier = self.course.earlier.entry(activity).or_default();
        if earlier.len() == EARLIER_MAX {
            earlier.remove(0);
        }
        earlier.push(last);
    }

    fn last_attempt(&self, activity: ActivityId, end: String) -> PastAttempt {
        let state = self.activity(activity);
        PastAttempt {
            number: state.number,
            resource: state.resource,
            end,
            pid: state.pid,
            started: state.started,
            wall: state.wall,
            cpu: state.cpu,
            peak_memory: state.peak_memory,
            exit_code: state.has_exit_code.then_some(state.exit_code),
            log: self.course.logs.get(&activity).copied(),
            slots: self
                .definition
                .activity(activity)
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

    /// What a user sees of all attempts at an activity, the last one last.
    pub(crate) fn attempts(&self, activity: ActivityId) -> Vec<AttemptStatus> {
        let earlier = self.course.earlier.get(&activity).into_iter().flatten();
        let earlier = earlier.map(|past| self.shown(activity, past.clone()));
        let mut attempts: Vec<AttemptStatus> = earlier.collect();
        let state = self.activity(activity);
        let end = match state.phase {
            ActivityPhase::Completed => Some("completed".to_owned()),
            ActivityPhase::Stopped => Some("stopped".to_owned()),
            ActivityPhase::Faulted => {
                let faults = &self.course.faults;
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
        if state.number > attempts.last().map_or(0, |last| last.attempt.number) {
            let is_out = end.is_none();
            let last = self.last_attempt(activity, end.unwrap_or_default());
            let mut last = self.shown(activity, last);
            last.end.take_if(|_| is_out);
            attempts.push(last);
        }
        let remake = self.last_remake(activity);
        attempts.extend(remake.map(|past| self.shown(activity, past.clone())));
        attempts
    }

    /// The attempt whose recorded outcome stands for an activity.
    pub(crate) fn reused(&self, activity: ActivityId) -> Option<AttemptStatus> {
        let recalled = self.course.reused.get(&activity)?;
        let last = self.last_attempt(activity, "completed".to_owned());
        Some(AttemptStatus {
            attempt: recalled.of,
            slots: recalled.slots,
            ..self.shown(activity, last)
        })
    }
}
