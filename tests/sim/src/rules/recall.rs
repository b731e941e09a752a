//! Rule 8: a recorded outcome stands only for what was decided by the same, is what was recorded,
//! and follows what it depends on; and what could stand for an activity of a process that mends
//! another, and stands for no other one of it, is never run again.

use model::{ActivityId, AttemptId, ProcessId, Value};
use process_core::record::End;
use process_core::{Event, Reused, Stream};
use simulator::Seen;
use simulator::command::printed;
use wire::client::{Answer, AttemptStatus};

use super::{Judged, Rule};
use crate::known::Known;

/// Remembers nothing: all it needs is known.
#[derive(Debug)]
pub(super) struct Recall;

impl Rule for Recall {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        match seen {
            Seen::ProcessDurable(Stream::Process(id), Event::Reused(reused)) => {
                judged.count();
                stands(known, *id, reused)
            }
            Seen::Started(command) => runs(known, command.attempt, judged),
            Seen::Told(_, Answer::Status(status)) => {
                let process = known.processes.get(&status.summary.process);
                for activity in &status.activities {
                    let of = process.and_then(|process| process.reused.get(&activity.activity));
                    let told = activity.reused.as_ref();
                    let told = told.map(|attempt| attempt.attempt);
                    judged.count_if(told.is_some());
                    // Only its files are made again, where they were discarded.
                    let again = process.map(|process| &process.again);
                    let is_again = |one: &AttemptStatus| {
                        again.is_some_and(|again| again.contains(&one.attempt))
                    };
                    let has_run = !activity.attempts.iter().all(is_again);
                    if told.is_some() && (told.as_ref() != of || has_run) {
                        let id = activity.activity;
                        return Err(format!("{id} is told to be {told:?}, and is {of:?}"));
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// True if the outcomes of two activities are decided by the same.
fn is_same(known: &Known, one: (ProcessId, ActivityId), other: (ProcessId, ActivityId)) -> bool {
    let (Some(first), Some(second)) = (known.expected.get(&one.0), known.expected.get(&other.0))
    else {
        return false;
    };
    let names = |produced: Option<&Vec<(String, model::Artifact)>>| -> Option<Vec<String>> {
        produced.map(|produced| produced.iter().map(|(name, _)| name.clone()).collect())
    };
    first.programs.contains_key(&one.1)
        && first.programs.get(&one.1) == second.programs.get(&other.1)
        && first.inputs.get(&one.1) == second.inputs.get(&other.1)
        && names(first.produced.get(&one.1)) == names(second.produced.get(&other.1))
}

fn stands(known: &Known, id: ProcessId, reused: &Reused) -> Result<(), String> {
    let (activity, of) = (reused.activity, reused.of);
    let recorded = known.processes.get(&of.process);
    let end = recorded.and_then(|process| process.ended.get(&of));
    if end != Some(&End::Completed) {
        return Err(format!(
            "{of} stands for {id}/{activity}, and is recorded as {end:?}"
        ));
    }
    if !is_same(known, (of.process, of.activity), (id, activity)) {
        return Err(format!(
            "{of} stands for {id}/{activity}, and was decided by something else"
        ));
    }
    let Some(process) = known.processes.get(&id) else {
        return Err(format!(
            "{of} stands for {id}/{activity} before it was founded"
        ));
    };
    if process.completed.contains(&activity) || process.out.contains_key(&activity) {
        return Err(format!("{of} stands for {id}/{activity}, which has run"));
    }
    let Some(expected) = known.expected.get(&id) else {
        return Ok(());
    };
    let needs = expected.needs.get(&activity).into_iter().flatten();
    if let Some(missing) = needs
        .into_iter()
        .find(|needed| !process.completed.contains(needed))
    {
        return Err(format!(
            "{of} stands for {id}/{activity}, and {missing} has not completed"
        ));
    }
    let produced = expected.produced.get(&activity).into_iter().flatten();
    if !produced.map(|(_, artifact)| artifact).eq(&reused.outputs) {
        return Err(format!("{of} stands for {id}/{activity} with other files"));
    }
    let program = expected.programs.get(&activity);
    let printed = program.map(|program| Value::Int(printed(program)));
    if reused
        .writes
        .iter()
        .any(|(_, value)| Some(value) != printed.as_ref())
    {
        return Err(format!("{of} stands for {id}/{activity} with other values"));
    }
    Ok(())
}

fn runs(known: &Known, attempt: AttemptId, judged: &mut Judged) -> Result<(), String> {
    let (id, activity) = (attempt.process, attempt.activity);
    let Some(base) = known.bases.get(&id) else {
        return Ok(());
    };
    let own = known.processes.get(&id);
    if own.is_some_and(|process| process.again.contains(&attempt)) {
        return Ok(());
    }
    let Some(recorded) = known.processes.get(base) else {
        return Ok(());
    };
    // Of files that nobody needed there is no copy: a machine that was lost has taken them with it.
    let made = known.expected.get(base);
    let made = made.and_then(|expected| expected.produced.get(&activity));
    if known.discards(*base) && made.is_some_and(|made| !made.is_empty()) {
        return Ok(());
    }
    judged.count_if(recorded.completed.contains(&activity));
    // Each outcome stands for one activity, so that of several with the same command one may run.
    let stands_already = |one: ActivityId| {
        let mut stand = own.into_iter().flat_map(|process| process.reused.values());
        stand.any(|of| match recorded.reused.get(&one) {
            Some(recalled) => of == recalled,
            None => (of.process, of.activity) == (*base, one),
        })
    };
    // Wherever it was in a list: what decides is what it is given.
    let mut completed = recorded.completed.iter();
    if let Some(other) = completed.find(|&&one| {
        is_same(known, (*base, one), (id, activity))
            && !known.is_folded(*base, one)
            && !stands_already(one)
    }) {
        return Err(format!(
            "{attempt} starts, and {base} has recorded its outcome as that of {other}"
        ));
    }
    Ok(())
}
