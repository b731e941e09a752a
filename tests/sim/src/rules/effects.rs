//! Whatever leaves a manager rests on what is durable: dispatches, acknowledgements, answers.

use std::collections::BTreeSet;

use model::AttemptId;
use simulator::Seen;
use wire::attempt::ToActivity;
use wire::client::{ActivityPhase, ActivityStatus, Answer, Phase, Summary};

use super::{Judged, Rule};
use crate::known::Known;

/// Remembers which attempts were acknowledged.
#[derive(Debug, Default)]
pub(super) struct Effects {
    acknowledged: BTreeSet<AttemptId>,
}

impl Rule for Effects {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        match seen {
            Seen::ToActivity(machine, ToActivity::Dispatch { attempts, .. }) => {
                for dispatch in attempts {
                    judged.count();

                    let attempt = dispatch.attempt;
                    let process = known.processes.get(&attempt.process);
                    let resource = process.and_then(|process| process.sent.get(&attempt));
                    let to = resource.and_then(|resource| known.machines.get(resource));
                    if to != Some(machine) {
                        return Err(format!("{attempt} is sent, and that is not durable"));
                    }
                    if self.acknowledged.contains(&attempt) {
                        return Err(format!("{attempt} is sent after its end was acknowledged"));
                    }
                }
                Ok(())
            }
            Seen::ToActivity(_, ToActivity::Acknowledge(attempts)) => {
                for &attempt in attempts {
                    judged.count();

                    let process = known.processes.get(&attempt.process);
                    if process.is_some_and(|process| process.is_out(attempt)) {
                        return Err(format!(
                            "the end of {attempt} is acknowledged and not durable"
                        ));
                    }
                    self.acknowledged.insert(attempt);
                }
                Ok(())
            }
            Seen::Answers(_, answer) => answered(known, answer, judged),
            _ => Ok(()),
        }
    }
}

fn answered(known: &Known, answer: &Answer, judged: &mut Judged) -> Result<(), String> {
    match answer {
        Answer::Cancelling(id) => {
            judged.count();

            let process = known.processes.get(id);
            if !process.is_some_and(|process| process.is_cancelling) {
                return Err(format!(
                    "{id} is said to be cancelled, and that is not durable"
                ));
            }
        }
        Answer::Status(status) => {
            described(known, &status.summary, status.activities.iter(), judged)?;
        }
        Answer::Activities(page) => {
            let activities = page.activities.iter().map(|one| &one.status);
            described(known, &page.summary, activities, judged)?;
        }
        Answer::Progress(progress) => {
            judged.count();

            let id = progress.process;
            let Some(process) = known.processes.get(&id) else {
                return Err(format!(
                    "the progress of {id} is told, and it is not durable"
                ));
            };
            if progress.phase.has_ended() && process.closed != Some(progress.phase) {
                let word = progress.phase.word();
                return Err(format!("{id} is said to have {word}, which is not durable"));
            }
            let n_completed = process.completed.len();
            if progress.totals.completed as usize > n_completed {
                let told = progress.totals.completed;
                return Err(format!(
                    "{told} activities are said to have completed of {n_completed}"
                ));
            }
        }
        Answer::Processes(list) => listed(known, list, judged)?,
        Answer::ProcessesPage(page) => listed(known, &page.processes, judged)?,
        Answer::Submitted(_)
        | Answer::Refused(_)
        | Answer::NoRoom(_)
        | Answer::Unknown(_)
        | Answer::Submission(..)
        | Answer::Forgotten(_)
        | Answer::Why(_)
        | Answer::Tail(_)
        | Answer::LogPart(_)
        | Answer::Machines(_)
        | Answer::Queued(_)
        | Answer::WhyProcess(_)
        | Answer::History(_)
        | Answer::HistoryForgotten(_)
        | Answer::Published(_)
        | Answer::Values(_)
        | Answer::Foreseen(_) => {}
    }
    Ok(())
}

fn described<'a>(
    known: &Known,
    summary: &Summary,
    activities: impl Iterator<Item = &'a ActivityStatus>,
    judged: &mut Judged,
) -> Result<(), String> {
    judged.count();

    let (id, phase) = (summary.process, summary.phase);
    let Some(process) = known.processes.get(&id) else {
        return Err(format!("the status of {id} is told, and it is not durable"));
    };
    if phase.has_ended() && process.closed != Some(phase) {
        return Err(format!(
            "{id} is said to have {}, which is not durable",
            phase.word()
        ));
    }
    for activity in activities {
        let has_completed = activity.phase == ActivityPhase::Completed;
        if has_completed && !process.completed.contains(&activity.activity) {
            return Err(format!("{} is said to have completed", activity.activity));
        }
    }
    Ok(())
}

fn listed(known: &Known, list: &[Summary], judged: &mut Judged) -> Result<(), String> {
    for summary in list {
        judged.count();

        let process = known.processes.get(&summary.process);
        let closed = process.and_then(|process| process.closed);
        let said: Option<Phase> = summary.phase.has_ended().then_some(summary.phase);
        if said.is_some() && said != closed {
            return Err(format!("{} is listed as ended", summary.process));
        }
    }
    Ok(())
}
