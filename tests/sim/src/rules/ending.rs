//! Rule 6: every process ends in exactly one of completed, faulted and cancelled, and as the
//! reference says.

use std::collections::{BTreeMap, BTreeSet};

use model::{FaultName, Mono, ProcessId, Span, Value};
use process_core::{Event, Stream};
use simulator::{PATIENCE, Seen};
use wire::client::{ActivityPhase, Answer, Phase, Status};

use super::{Judged, Rule};
use crate::known::{Durable, Known};

/// The submissions, and the end of each.
#[derive(Debug, Default)]
pub(super) struct Ending {
    submitted: BTreeSet<ProcessId>,
    told: BTreeMap<ProcessId, Phase>,
}

impl Rule for Ending {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        match seen {
            Seen::Submits(submit) => {
                self.submitted.insert(submit.key.process());
                Ok(())
            }
            Seen::ProcessDurable(Stream::Process(id), Event::Faulted(fault))
                if fault.name == FaultName::NoResource =>
            {
                judged.count();
                wants_resource(known, *id)
            }
            Seen::ProcessDurable(Stream::Process(id), Event::Closed { phase, outputs, .. }) => {
                judged.count();
                closed(known, *id, (*phase).into(), outputs)
            }
            Seen::Told(_, Answer::Status(status)) if status.summary.phase.has_ended() => {
                self.told
                    .insert(status.summary.process, status.summary.phase);
                judged.count();
                told(known, status)
            }
            Seen::AtRest => {
                let submitted = self.submitted.iter();
                for process in submitted.filter(|&&process| !known.is_lost(process)) {
                    judged.count();

                    if !self.told.contains_key(process) {
                        return Err(format!("nobody was told how {process} ended"));
                    }
                }
                Ok(())
            }
            _ => Ok(()),
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
    let mut again = process.again.iter();
    let again = again.find(|attempt| !process.ended.contains_key(attempt));
    let out = process.out.values().chain(&process.beside).next();
    if let Some(attempt) = out.or(again) {
        return Err(format!("{id} has {}, and {attempt} is out", phase.word()));
    }
    let Some(expected) = known.expected.get(&id) else {
        return Ok(());
    };
    if phase == Phase::Cancelled && known.cancels.contains(&id) && process.is_cancelling {
        return Ok(());
    }
    // A process of which nothing runs needs no machine, and may be over before any is there.
    let fits = |cores: u32| cores == 0 || known.slots.values().any(|slots| *slots >= cores);
    let wanted = match fits(expected.cores_run) {
        true => expected.phase,
        false => Phase::Faulted,
    };
    let may_fault = process.has_excuse() || !fits(expected.cores_max);
    if phase != wanted && !(phase == Phase::Faulted && may_fault) {
        return Err(format!("{id} has {}, not {}", phase.word(), wanted.word()));
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
    let needs = expected.needs.keys();
    for activity in needs.filter(|&&activity| !expected.may_be_missed(activity)) {
        if !process.completed.contains(activity) {
            return Err(format!("{id} has completed, and {activity} has not"));
        }
    }
    Ok(())
}

/// Time for which a machine is reached before everybody concerned knows it, though its registration is lost, which is
/// repeated after three seconds, and the offer that follows it, which is repeated after five.
const KNOWN_AFTER: Span = Span::from_secs(9);

/// A process may fault for want of a machine only where none that fits was there.
fn wants_resource(known: &Known, id: ProcessId) -> Result<(), String> {
    let Some(expected) = known.expected.get(&id) else {
        return Ok(());
    };
    // By its own clock, which may go a little faster.
    let waited = Span(PATIENCE.0 - PATIENCE.0 / 100);
    let since = Mono(known.at.0.saturating_sub(waited.0));
    let process = known.processes.get(&id);
    if process
        .and_then(|process| process.since)
        .is_none_or(|at| at > since)
    {
        return Err(format!(
            "{id} faults for want of a machine and has not waited"
        ));
    }
    for (machine, slots) in &known.slots {
        let reached = known.reached_for(known.manager_of(id), *machine, since);
        if *slots >= expected.cores_max && reached > KNOWN_AFTER {
            return Err(format!(
                "{id} faults for want of a machine, and machine {machine} was there for {reached}"
            ));
        }
    }
    Ok(())
}

fn told(known: &Known, status: &Status) -> Result<(), String> {
    let id = status.summary.process;
    let Some(expected) = known.expected.get(&id) else {
        return Ok(());
    };
    let goes_on = expected.goes_on && status.summary.phase == Phase::Faulted;
    if status.summary.phase != Phase::Completed && !goes_on {
        return Ok(());
    }
    let process = known.processes.get(&id);
    if goes_on && process.is_some_and(Durable::has_excuse) {
        return Ok(());
    }
    if !goes_on && status.variables != expected.variables {
        return Err(format!(
            "{id} ends with {:?}, not {:?}",
            status.variables, expected.variables
        ));
    }
    for activity in &status.activities {
        let wanted = if expected.faulted.contains(&activity.activity) {
            ActivityPhase::Faulted
        } else if expected.needs.contains_key(&activity.activity) {
            ActivityPhase::Completed
        } else {
            ActivityPhase::Skipped
        };
        let is_missed = expected.may_be_missed(activity.activity)
            && matches!(
                activity.phase,
                ActivityPhase::Skipped | ActivityPhase::Stopped
            );
        if is_missed {
            continue;
        }
        if activity.phase != wanted {
            let (is, wanted) = (activity.phase.word(), wanted.word());
            return Err(format!("{id}: {} is {is}, not {wanted}", activity.activity));
        }
        let outputs = expected.produced.get(&activity.activity);
        let outputs = outputs.filter(|_| wanted == ActivityPhase::Completed);
        // Of iterations that ended long ago only their end is kept.
        let is_kept = !activity.is_folded() || !known.is_folded(id, activity.activity);
        let outputs = outputs.filter(|_| is_kept);
        if outputs.is_some_and(|outputs| *outputs != activity.outputs) {
            return Err(format!(
                "{id}: {} gave {:?}",
                activity.activity, activity.outputs
            ));
        }
    }
    Ok(())
}
