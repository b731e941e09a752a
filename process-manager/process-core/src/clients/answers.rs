//! Answers to clients: lists and statuses, all read from the state.

use model::{ActivityId, Expansion, ProcessId};
use wire::client::{ActivityStatus, Answer, Machine, Planned, Status, Submit, Summary};

use super::Shown;
use super::forget::kept_for;
use super::left::left;
use crate::dispatch::{Commands, Grid, command_of};
use crate::market::Market;
use crate::process::Process;
use crate::record::Expanded;
use crate::step::Step;
use crate::stream::State;
use crate::submission::Caller;

/// All processes that a caller may see.
pub(super) fn list(step: &Step<'_>, caller: &Caller) -> Answer {
    Answer::Processes(list_of(step, caller))
}

/// The same, the newest first.
pub(super) fn list_of(step: &Step<'_>, caller: &Caller) -> Vec<Summary> {
    let mut all = summaries(step.cx.states().map(|(_, state)| state));
    all.retain(|one| caller.sees(one.owner.as_deref()));
    for one in &mut all {
        one.keep = kept_for(step, one.keep);
    }
    all
}

pub(super) fn answer_status(step: &Step<'_>, shown: Shown<'_>, id: ProcessId) -> Answer {
    match step.cx.process(id) {
        Some(known) => Answer::Status(Box::new(status_of(step, shown, known))),
        None => match step.cx.held(id) {
            Some(held) => Answer::Status(Box::new(held.status())),
            None => Answer::Unknown(id),
        },
    }
}

pub(super) fn answer_submission(step: &Step<'_>, id: ProcessId) -> Answer {
    match step.cx.process(id) {
        Some(known) => Answer::Submission(Box::new(submission(known)), expansions(known)),
        None => match step.cx.held(id) {
            Some(held) => Answer::Submission(Box::new(held.submission()), Vec::new()),
            None => Answer::Unknown(id),
        },
    }
}

/// The machines that were offered last.
pub(super) fn machines_known(market: &Market) -> Answer {
    let offered = market.offers().flat_map(|offer| &offer.resources);
    let machines = offered.map(|one| Machine {
        resource: one.resource,
        name: one.name.clone(),
        slots: one.slots,
        bulk: one.bulk.clone(),
    });
    Answer::Machines(machines.collect())
}

fn status_of(step: &Step<'_>, shown: Shown<'_>, known: &Process) -> Status {
    let Grid {
        machines,
        market,
        files,
    } = shown.grid;
    let mut status = status(known);
    status.copies = files.missing_copies(step, machines, known);
    status.summary.keep = kept_for(step, known.keep);
    status.waiting_for = market.waiting_for(known);
    status.turn = market.turn(step, (shown.grid.machines, shown.attempts), known.id());
    let running = shown.attempts.running(known.id());
    let left = left(known, step.history, running, step.now.wall);
    (status.left, status.left_p90) = (left.median, left.p90);
    for activity in &mut status.activities {
        show_running(activity, known, running);
    }
    status
}

/// Shows an activity as running, if its command is known to run.
pub(super) fn show_running(
    activity: &mut ActivityStatus,
    process: &Process,
    running: Option<&Commands>,
) {
    if command_of(running, process, activity.activity).is_some() {
        activity.phase = wire::client::ActivityPhase::Running;
    }
    let Some(running) = running else { return };
    for one in activity.attempts.iter_mut().filter(|one| one.end.is_none()) {
        if let Some(&(at, pid)) = running.get(&(one.attempt.activity, one.attempt.number)) {
            one.started = Some(at);
            one.pid = pid;
        }
    }
}

/// All processes, the newest first.
pub fn summaries<'a>(states: impl Iterator<Item = &'a State>) -> Vec<Summary> {
    let summaries = states.filter_map(|state| match state {
        State::Process(process) => Some(process.summary()),
        State::Packed(packed) => Some(packed.summary().clone()),
        State::Held(held) => Some(held.summary()),
        State::Empty | State::Manager { .. } => None,
    });
    let mut all: Vec<Summary> = summaries.collect();
    all.sort_by_key(|one| (std::cmp::Reverse(one.submitted), one.process));
    all
}

/// The submission of a process: inputs with their defaults filled in.
pub fn submission(process: &Process) -> Submit {
    let draft = process.definition().draft();
    let names = draft.inputs.iter().map(|input| input.name.clone());
    Submit {
        key: process.key,
        draft: draft.clone(),
        inputs: names.zip(process.inputs.iter().cloned()).collect(),
        files: process.files.clone(),
        origin: process.origin.clone(),
        base: process.base,
        on_fault: Some(process.on_fault),
        keep: process.keep,
        store: process.store,
        environment: process.environment.clone(),
    }
}

/// What the for-each controllers of a process have become.
pub fn expansions(process: &Process) -> Vec<Expansion> {
    let expanded = process.state.expanded.iter();
    expanded.map(Expanded::expansion).collect()
}

/// Everything that is recorded of a process. Its activities are in the order of its tree.
pub fn status(process: &Process) -> Status {
    let draft = process.definition().draft();
    let names = draft.inputs.iter().map(|input| input.name.clone());
    let inputs = names.zip(process.inputs.iter().cloned()).collect();
    let variables = draft.variables.iter().zip(&process.state.variables);
    let variables = variables.filter(|(variable, _)| variable.of.is_none());
    let variables = variables
        .map(|(variable, value)| (variable.name.clone(), value.clone()))
        .collect();
    let activities = process.definition().in_order();
    Status {
        summary: process.summary(),
        inputs,
        outputs: process.state.outputs.clone(),
        variables,
        faults: process.state.faults.clone(),
        activities: activities
            .iter()
            .map(|&activity| activity_status(process, activity))
            .collect(),
        generation: process.state.plan.generation,
        planned: process.state.planned,
        machines: process.state.machines.clone(),
        waiting_for: None,
        on_fault: process.on_fault,
        copies: None,
        planned_from: process.state.planned_from,
        turn: None,
        left: None,
        left_p90: None,
        rescheduled: process.moves().map(Into::into).collect(),
        n_rescheduled: process.n_moves(),
        slots: process.slots_of_machines(),
    }
}

pub(crate) fn activity_status(process: &Process, id: ActivityId) -> ActivityStatus {
    let outputs = match process.definition().activity_as_written(id) {
        Some(activity) => activity
            .outputs
            .iter()
            .enumerate()
            .filter_map(|(output, declared)| {
                let artifact = process.output_of(id, output as u32)?;
                Some((declared.name.clone(), artifact))
            })
            .collect(),
        None => Vec::new(),
    };
    let (holder, kept) = process.kept_by(id);
    ActivityStatus {
        activity: id,
        phase: process.activity(id).phase.into(),
        planned: process.state.plan.entry(id).map(|entry| Planned {
            resource: entry.resource,
            slot: entry.slot,
            start: entry.start,
            finish: entry.finish,
        }),
        attempts: process.attempts(id),
        outputs,
        reused: process.reused(id),
        copy: kept.or(holder),
    }
}
