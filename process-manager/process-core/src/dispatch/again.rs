//! Activities that run again, for those who watch: because an attempt failed or was lost, or because files are gone.

use std::collections::VecDeque;

use model::{ActivityId, ProcessId, ResourceId, Wall};
use wire::client::{RUN_AGAIN_SHOWN_MAX, RunAgain, RunAgainCause};

use super::Attempts;
use crate::process::Process;
use crate::record::{End, Ended, Verdict};

/// The last activities of a process that run again. It is volatile: after a restart a watcher is told of what
/// happens from then on.
#[derive(Debug, Default)]
pub(super) struct RunAgains {
    n: u64,
    last: VecDeque<RunAgain>,
}

impl RunAgains {
    pub(super) fn note(&mut self, run_again: RunAgain) {
        self.n += 1;
        if self.last.len() == RUN_AGAIN_SHOWN_MAX {
            self.last.pop_front();
        }
        self.last.push_back(run_again);
    }
}

impl Attempts {
    /// The last activities of a process that run again, the oldest first, and the number of all of them since this
    /// manager has started.
    pub(crate) fn run_again(&self, id: ProcessId) -> (Vec<RunAgain>, u64) {
        let Some(open) = self.open.get(&id) else {
            return (Vec::new(), 0);
        };
        let RunAgains { n, last } = &open.run_again;
        (last.iter().cloned().collect(), *n)
    }
}

/// The activity of an attempt that has ended, where it runs again because of its end. A recomputation is told when
/// it is sent.
pub(super) fn after_end(process: &Process, ended: &Ended) -> Option<RunAgain> {
    let outcome = &ended.outcome;
    let activity = outcome.attempt.activity;
    if process.is_recomputation(outcome.attempt) {
        return None;
    }
    let state = process.activity(activity);
    let cause = match &ended.verdict {
        Verdict::Retry { at, fault } => {
            let declared = process.definition().activity_as_written(activity)?;
            RunAgainCause::Failed {
                fault: fault.name.to_string(),
                exit_code: fault.exit_code,
                n_failed: u32::from(state.n_failed) + 1,
                most: declared.retry.attempts,
                next: *at,
            }
        }
        Verdict::Again if outcome.end == End::Lost && outcome.started != Wall(0) => {
            RunAgainCause::Lost {
                machine: machine_name(process, state.resource),
            }
        }
        // They did not run.
        Verdict::Again | Verdict::Moved | Verdict::Lacking(_) => return None,
        Verdict::Completed
        | Verdict::Faulted(_)
        | Verdict::Broke(_)
        | Verdict::Stopped
        | Verdict::Dropped(_) => return None,
    };
    Some(run_again(process, activity, cause))
}

/// An activity that makes files again which are gone.
pub(super) fn recomputed(process: &Process, activity: ActivityId) -> Option<RunAgain> {
    let lacked_on = process.recomputation(activity)?.resource;
    let machine = machine_name(process, lacked_on);
    let cause = RunAgainCause::FilesGone { machine };
    Some(run_again(process, activity, cause))
}

fn run_again(process: &Process, activity: ActivityId, cause: RunAgainCause) -> RunAgain {
    RunAgain {
        activity,
        name: process.grown_name(activity),
        cause,
    }
}

/// The name of a machine that a process has used.
fn machine_name(process: &Process, resource: ResourceId) -> String {
    let mut machines = process.state.machines.iter();
    let known = machines.find(|(known, _)| *known == resource);
    known.map_or_else(|| resource.to_string(), |(_, name)| name.clone())
}
