//! What is remembered of one activity: as little as can be, since there may be a million; and what
//! a user sees of its attempts.

use minicbor::{Decode, Encode};
use model::{ActivityId, AttemptId, Bytes, ResourceId, Span, Wall};
use wire::attempt::Log;
use wire::client::{ActivityPhase, AttemptStatus};

use crate::process::Process;

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
        matches!(self.phase, ActivityPhase::Sent | ActivityPhase::Running)
    }
}

impl Process {
    /// The last attempt becomes one of the earlier ones.
    pub(crate) fn keep_earlier(&mut self, activity: ActivityId, end: String) {
        let log = self.course.logs.remove(&activity);
        let status = self.attempt_status(activity, Some(end), log);
        let earlier = self.course.earlier.entry(activity).or_default();
        if earlier.len() == EARLIER_MAX {
            earlier.remove(0);
        }
        earlier.push(status);
    }

    /// What a user sees of an activity's last attempt.
    fn attempt_status(
        &self,
        activity: ActivityId,
        end: Option<String>,
        log: Option<Log>,
    ) -> AttemptStatus {
        let state = self.activity(activity);
        AttemptStatus {
            attempt: AttemptId {
                process: self.id(),
                activity,
                number: state.number,
            },
            resource: state.resource,
            end,
            pid: state.pid,
            started: (state.started != Wall(0)).then_some(state.started),
            wall: state.wall,
            cpu: state.cpu,
            peak_memory: state.peak_memory,
            exit_code: state.has_exit_code.then_some(state.exit_code),
            log,
            slots: self
                .definition
                .activity(activity)
                .map_or(0, |activity| activity.cores),
        }
    }

    /// What a user sees of all attempts at an activity, the last one last.
    pub(crate) fn attempts(&self, activity: ActivityId) -> Vec<AttemptStatus> {
        let mut attempts = self
            .course
            .earlier
            .get(&activity)
            .cloned()
            .unwrap_or_default();
        let state = self.activity(activity);
        let end = match state.phase {
            ActivityPhase::Completed => Some("completed".to_owned()),
            ActivityPhase::Stopped => Some("stopped".to_owned()),
            ActivityPhase::Faulted => {
                let faults = &self.course.faults;
                let fault = faults.iter().find(|fault| fault.activity == Some(activity));
                Some(fault.map_or("faulted".to_owned(), |fault| fault.name.to_string()))
            }
            ActivityPhase::Sent | ActivityPhase::Running => None,
            // The last attempt is among the earlier ones.
            ActivityPhase::Ready
            | ActivityPhase::Backoff
            | ActivityPhase::Waiting
            | ActivityPhase::Skipped => return attempts,
        };
        if state.number > attempts.last().map_or(0, |last| last.attempt.number) {
            let log = self.course.logs.get(&activity).copied();
            attempts.push(self.attempt_status(activity, end, log));
        }
        attempts.extend(self.last_remake(activity));
        attempts
    }

    /// The attempt whose recorded outcome stands for an activity.
    pub(crate) fn reused(&self, activity: ActivityId) -> Option<AttemptStatus> {
        let recalled = self.course.reused.get(&activity)?;
        let log = self.course.logs.get(&activity).copied();
        Some(AttemptStatus {
            attempt: recalled.of,
            slots: recalled.slots,
            ..self.attempt_status(activity, Some("completed".to_owned()), log)
        })
    }
}
