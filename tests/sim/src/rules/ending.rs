//! Rule 6: every process ends in exactly one of completed, faulted and cancelled, and as the
//! reference says.

use std::collections::{BTreeMap, BTreeSet};

use model::{ProcessId, Value};
use process_core::{Event, Stream};
use simulator::Seen;
use wire::client::{ActivityPhase, Answer, Phase, Status};

use super::Rule;
use crate::known::Known;

/// What was submitted, and how each ended.
#[derive(Debug, Default)]
pub(super) struct Ending {
    submitted: BTreeSet<ProcessId>,
    told: BTreeMap<ProcessId, Phase>,
}

impl Rule for Ending {
    fn see(&mut self, known: &Known, seen: &Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::Submits(submit) => {
                self.submitted.insert(submit.key.process());
                Ok(())
            }
            Seen::ProcessDurable(Stream::Process(id), Event::Closed { phase, outputs, .. }) => {
                closed(known, *id, *phase, outputs)
            }
            Seen::Told(_, Answer::Status(status)) if status.summary.phase.has_ended() => {
                self.told
                    .insert(status.summary.process, status.summary.phase);
                told(known, status)
            }
            Seen::AtRest => {
                for process in &self.submitted {
                    if !self.told.contains_key(process) {
                        return Err(format!("nobody was told how {process} ended"));
                    }
                }
                Ok(())
            }
            Seen::ProcessDurable(..)
            | Seen::Told(..)
            | Seen::Machine { .. }
            | Seen::Cancels(_)
            | Seen::GroupDurable(_)
            | Seen::ToActivity(..)
            | Seen::FromGroup(_)
            | Seen::Answers(_)
            | Seen::Numbered(..)
            | Seen::Started(_)
            | Seen::Ended(_)
            | Seen::Stages(..)
            | Seen::Healed => Ok(()),
        }
    }
}

fn closed(
    known: &Known,
    id: ProcessId,
    phase: Phase,
    outputs: &[(String, Value)],
) -> Result<(), String> {
    let Some(process) = known.processes.get(&id) else {
        return Ok(());
    };
    if let Some(before) = process.closed {
        return Err(format!(
            "{id} has {}, and then {}",
            before.word(),
            phase.word()
        ));
    }
    if let Some(attempt) = process.out.values().next() {
        return Err(format!("{id} has {}, and {attempt} is out", phase.word()));
    }
    let Some(expected) = known.expected.get(&id) else {
        return Ok(());
    };
    if phase == Phase::Cancelled && known.cancels.contains(&id) && process.is_cancelling {
        return Ok(());
    }
    if phase != expected.phase {
        return Err(format!(
            "{id} has {}, not {}",
            phase.word(),
            expected.phase.word()
        ));
    }
    if phase != Phase::Completed {
        return Ok(());
    }
    if outputs != expected.outputs {
        return Err(format!(
            "{id} gives {outputs:?}, not {:?}",
            expected.outputs
        ));
    }
    for activity in expected.needs.keys() {
        if !process.completed.contains(activity) {
            return Err(format!("{id} has completed, and {activity} has not"));
        }
    }
    Ok(())
}

fn told(known: &Known, status: &Status) -> Result<(), String> {
    let id = status.summary.process;
    let Some(expected) = known.expected.get(&id) else {
        return Ok(());
    };
    if status.summary.phase != Phase::Completed {
        return Ok(());
    }
    if status.variables != expected.variables {
        return Err(format!(
            "{id} ends with {:?}, not {:?}",
            status.variables, expected.variables
        ));
    }
    for activity in &status.activities {
        let wanted = if expected.needs.contains_key(&activity.activity) {
            ActivityPhase::Completed
        } else {
            ActivityPhase::Skipped
        };
        if activity.phase != wanted {
            let (is, wanted) = (activity.phase.word(), wanted.word());
            return Err(format!("{id}: {} is {is}, not {wanted}", activity.activity));
        }
        let outputs = expected.produced.get(&activity.activity);
        if outputs.is_some_and(|outputs| *outputs != activity.outputs) {
            return Err(format!(
                "{id}: {} gave {:?}",
                activity.activity, activity.outputs
            ));
        }
    }
    Ok(())
}
