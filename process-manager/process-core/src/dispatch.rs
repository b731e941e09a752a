//! Attempts: sent to the machines that plans name, repeated until these have acknowledged them, lost,
//! ended, stopped.
//!
//! A part of the manager: its state is [`Attempts`]. It records what is sent and how it ends, and reads
//! from other parts only what a [`Grid`] has. It tells its caller which attempts were seen to start, which
//! activities have completed, and which attempts of a machine nobody wants.

mod again;
mod named_limits;
mod out;
mod outcomes;
mod places;
mod race;
mod recompute;
mod send;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use model::{Activity, ActivityId, AttemptId, Mono, ProcessId, ResourceId, Span, Wall};
use wire::attempt::Dispatch;

use crate::enact::busy::Running;
use crate::enact::judge::backoff;
use crate::files::Files;
use crate::machines::Machines;
use crate::market::Market;
use crate::process::Process;
use crate::step::Step;
use crate::timer::Timer;

use self::again::RunAgains;
pub(crate) use self::named_limits::FullLimit;
use self::places::Places;

/// The attempts of all processes, as far as they are not durable.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    /// Processes that have not given back all their slots.
    open: BTreeMap<ProcessId, Open>,
    places: Places,
    /// Processes that wait for a named limit of this manager.
    awaiting_limits: BTreeSet<ProcessId>,
}

/// The attempts of a process that has not given back all its slots.
#[derive(Debug, Default)]
struct Open {
    /// Attempts that were sent and not acknowledged, by machine. Those of a process with variables have their
    /// messages, since a variable may change meanwhile, and the recorded key is that of the first message.
    unacknowledged: BTreeMap<ResourceId, BTreeMap<AttemptId, Option<Box<Dispatch>>>>,
    /// Refusals since a machine was heard of last, because it did not know of its grant yet.
    n_early: u32,
    running: Commands,
    /// The last attempt of each activity that was sent with the addresses of its files: its number,
    /// and the moment of the first such message, as [`Files`] counts. None if no address was known
    /// then.
    announced: BTreeMap<ActivityId, (u32, Option<u64>)>,
    run_again: RunAgains,
    /// The time before which nothing is sent, where many ready activities wait for checks of their outcomes.
    looks_again: Option<Mono>,
}

/// Attempts that are known to run, by activity and number: the start time and the process id of the command.
pub(crate) type Commands = BTreeMap<(ActivityId, u32), (Wall, u32)>;

/// The command of an activity, where it is known to run: the start time and the process id. In a race it is that of
/// the attempt which the state of the activity names.
pub(crate) fn command_of(
    running: Option<&Commands>,
    process: &Process,
    activity: ActivityId,
) -> Option<(Wall, u32)> {
    let number = process.activity(activity).number;
    running?.get(&(activity, number)).copied()
}

/// The machines, their offers and their files, as other parts know them.
#[derive(Clone, Copy)]
pub(crate) struct Grid<'a> {
    pub(crate) machines: &'a Machines,
    pub(crate) market: &'a Market,
    pub(crate) files: &'a Files,
}

impl Grid<'_> {
    /// Adds to a dispatch the sources of the files that its receiver may lack. Returns false if they are
    /// not known yet.
    fn name_sources(
        self,
        step: &Step<'_>,
        known: &Process,
        receiver: ResourceId,
        message: &mut Dispatch,
    ) -> bool {
        let machines = self.machines;
        self.files
            .name_sources(step, machines, known, receiver, message)
    }
}

impl Grid<'_> {
    /// Bounds the memory of an attempt by that of its machine: where it grows, none has to have as much.
    fn bound_memory(
        self,
        declared: Option<&Activity>,
        receiver: ResourceId,
        message: &mut Dispatch,
    ) {
        let has_grown = declared.is_some_and(|declared| declared.memory != message.memory);
        let Some(asked) = message.memory.filter(|_| has_grown) else {
            return;
        };
        if let Some(there) = self.market.memory_of(receiver) {
            let least = declared.and_then(|declared| declared.memory);
            message.memory = Some(asked.min(there).max(least.unwrap_or_default()));
        }
    }
}

impl Running for Attempts {
    fn started(&self, attempt: AttemptId) -> Option<Wall> {
        let running = self.running(attempt.process)?;
        let key = (attempt.activity, attempt.number);
        running.get(&key).map(|&(at, _)| at)
    }

    fn processes_at(&self, resource: ResourceId) -> Vec<ProcessId> {
        self.places.at(resource).collect()
    }
}

impl Attempts {
    /// Takes up a process that was founded in this epoch or an earlier one.
    pub(crate) fn begin(&mut self, step: &mut Step<'_>, id: ProcessId, is_new: bool) {
        self.open.insert(id, Open::default());
        let Some(process) = step.cx.process(id).filter(|_| !is_new) else {
            return;
        };
        self.places.note(process);
        for &(at, activity) in &process.index.backoffs {
            let declared = process.definition.activity_as_written(activity);
            let n_before = process.activity(activity).n_failed.saturating_sub(1);
            let longest = declared.map_or(Span::ZERO, |one| backoff(one.retry.backoff, n_before));
            // The calendar may have been set back meanwhile.
            let wait = at.since(step.now.wall).min(longest);
            step.timers
                .set(Timer::Backoff(id, activity), step.now.mono + wait);
        }
    }

    /// Nothing is held for a process any more.
    pub(crate) fn end(&mut self, id: ProcessId) {
        self.open.remove(&id);
        self.awaiting_limits.remove(&id);
        self.places.end(id);
    }

    /// Further machines may concern a process.
    pub(crate) fn note_places(&mut self, step: &Step<'_>, id: ProcessId) {
        if let Some(process) = step.cx.process(id)
            && self.open.contains_key(&id)
        {
            self.places.note(process);
        }
    }

    /// Processes that have not given back all their slots and that a machine concerns: it has or had a
    /// place in their plans, holds slots for them, or has files of theirs.
    pub(crate) fn processes_at(&self, resource: ResourceId) -> impl Iterator<Item = ProcessId> {
        self.places.at(resource)
    }

    /// Processes that have not given back all their slots.
    pub(crate) fn processes(&self) -> impl Iterator<Item = ProcessId> {
        self.open.keys().copied()
    }

    /// The attempts of a process that are known to run.
    pub(crate) fn running(&self, id: ProcessId) -> Option<&Commands> {
        self.open.get(&id).map(|open| &open.running)
    }
}
