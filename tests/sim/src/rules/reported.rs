//! Rule 7: what was reported to a user is never taken back.

use std::collections::{BTreeMap, BTreeSet};

use model::{ActivityId, Artifact, ProcessId, Value};
use simulator::Seen;
use wire::client::{ActivityPhase, Answer, Phase, Status};

use super::{Judged, Rule};
use crate::known::Known;

/// The most that was said of each process.
#[derive(Debug, Default)]
pub(super) struct Reported {
    said: BTreeMap<ProcessId, Said>,
    cancelling: BTreeSet<ProcessId>,
}

#[derive(Debug, Default)]
struct Said {
    phase: Option<Phase>,
    n_completed: u32,
    outputs: Option<Vec<(String, Value)>>,
    activities: BTreeMap<ActivityId, (ActivityPhase, Vec<(String, Artifact)>)>,
}

impl Rule for Reported {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        match seen {
            Seen::Told(_, Answer::Cancelling(process)) => {
                self.cancelling.insert(*process);
                Ok(())
            }
            // In the order in which answers leave: they may overtake each other on their way.
            Seen::Answers(_, Answer::Status(status)) => self.status(known, status, judged),
            Seen::Answers(_, Answer::Progress(progress)) => {
                self.phase(progress.process, progress.phase, judged)?;
                self.completed(progress.process, progress.totals.completed)
            }
            Seen::Answers(_, Answer::Processes(list)) => {
                for summary in list {
                    self.phase(summary.process, summary.phase, judged)?;
                    self.completed(summary.process, summary.totals.completed)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Reported {
    fn phase(
        &mut self,
        process: ProcessId,
        phase: Phase,
        judged: &mut Judged,
    ) -> Result<(), String> {
        let said = self.said.entry(process).or_default();
        // A first report has nothing before it that it could take back.
        judged.count_if(said.phase.is_some());
        // A user may cancel what still runs after a fault.
        let goes_on = |before: Phase| {
            before == Phase::Running || (before, phase) == (Phase::Faulting, Phase::Cancelling)
        };
        if let Some(before) = said.phase
            && before != phase
            && (before.has_ended() || !phase.has_ended() && !goes_on(before))
        {
            let (before, phase) = (before.word(), phase.word());
            return Err(format!("{process} was {before}, and is {phase}"));
        }
        if self.cancelling.contains(&process) && phase.has_ended() && phase != Phase::Cancelled {
            let phase = phase.word();
            return Err(format!(
                "{process} was to be cancelled in any case, and is {phase}"
            ));
        }
        said.phase = Some(phase);
        Ok(())
    }

    fn completed(&mut self, process: ProcessId, n_completed: u32) -> Result<(), String> {
        let said = self.said.entry(process).or_default();
        if n_completed < said.n_completed {
            let before = said.n_completed;
            return Err(format!(
                "{before} activities had completed, and then {n_completed}"
            ));
        }
        said.n_completed = n_completed;
        Ok(())
    }

    fn status(
        &mut self,
        known: &Known,
        status: &Status,
        judged: &mut Judged,
    ) -> Result<(), String> {
        let process = status.summary.process;
        let phase = status.summary.phase;
        self.phase(process, phase, judged)?;
        self.completed(process, status.summary.totals.completed)?;
        let said = self.said.entry(process).or_default();
        if phase.has_ended() {
            if said
                .outputs
                .as_ref()
                .is_some_and(|outputs| *outputs != status.outputs)
            {
                return Err(format!("the outputs of {process} have changed"));
            }
            said.outputs = Some(status.outputs.clone());
        }
        for activity in &status.activities {
            let told = (activity.phase, activity.outputs.clone());
            let Some(before) = said.activities.insert(activity.activity, told.clone()) else {
                continue;
            };
            // Of iterations that ended long ago only their end is kept.
            let is_folded = activity.is_folded()
                && before.0 == told.0
                && known.is_folded(process, activity.activity);
            if has_ended(before.0) && before != told && !is_folded {
                let id = activity.activity;
                return Err(format!("{process}/{id} was {before:?}, and is {told:?}"));
            }
        }
        Ok(())
    }
}

fn has_ended(phase: ActivityPhase) -> bool {
    match phase {
        ActivityPhase::Completed
        | ActivityPhase::Faulted
        | ActivityPhase::Skipped
        | ActivityPhase::Stopped => true,
        ActivityPhase::Waiting
        | ActivityPhase::Ready
        | ActivityPhase::Sent
        | ActivityPhase::Running
        | ActivityPhase::Backoff => false,
    }
}
