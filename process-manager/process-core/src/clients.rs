//! Clients: their requests, the answers, watchers of processes, readers of the streams of attempts,
//! deletion.
//!
//! A part of the manager: its state is [`Clients`]. It records submissions and cancellations, and shows
//! what other parts know, which it reads as [`Shown`]. It tells its caller which process was founded or
//! forgotten by a request.

pub(crate) mod answers;
mod deeds;
mod forget;
mod history;
mod left;
mod pages;
mod published;
mod quotas;
mod requests;
mod tail;
#[cfg(test)]
mod tests;
mod values;
mod watch;
mod whole;
mod why;

use std::collections::{BTreeMap, VecDeque};

use model::ProcessId;
use wire::client::Answer;

use crate::config::Quota;
use crate::dispatch::{Attempts, Grid};
use crate::io::{Effect, Room};
use crate::process::Process;
use crate::step::Step;
use crate::submission::ClientId;

use self::quotas::Quotas;
use self::tail::Question;
use self::watch::Watchers;

pub(crate) use history::history_forgotten;

pub use answers::{expansions, status, submission, summaries};
pub use pages::{activities, processes};
pub use published::published;
pub use values::values;
pub use whole::why_process;
pub use why::why;

/// Clients that wait, and what the answers to others depend on beside the recorded state.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    /// Counts the changes that a watcher could see, for each process that has not given back all its
    /// slots.
    revisions: BTreeMap<ProcessId, u64>,
    watchers: Watchers,
    tails: BTreeMap<Asking, Question>,
    /// Forgotten processes, the oldest first.
    forgotten: VecDeque<ProcessId>,
    /// The disk space for further processes.
    room: Room,
    /// True if the group has revoked the certificate of this manager.
    is_barred: bool,
    /// What users have here.
    quotas: Quotas,
}

/// A client that asks, and the number of its request.
pub(crate) type Asking = (ClientId, u64);

/// The parts whose state answers show.
#[derive(Clone, Copy)]
pub(crate) struct Shown<'a> {
    pub(crate) grid: Grid<'a>,
    pub(crate) attempts: &'a Attempts,
}

/// The consequence of a request for other parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consequence {
    /// This process was founded.
    Founded(ProcessId),
    /// This process is forgotten.
    Forgotten(ProcessId),
}

impl Clients {
    /// Takes up a process that was founded in this epoch or an earlier one.
    pub(crate) fn begin(&mut self, process: &Process) {
        self.revisions.insert(process.id(), 1);
        self.quotas.begin(process);
    }

    /// Checks that the owner of a process may have so many activities more.
    pub(crate) fn check_growth(
        &self,
        quota: Quota,
        process: &Process,
        n_more: u64,
    ) -> Result<(), String> {
        self.quotas.check_growth(quota, process, n_more)
    }

    /// A process has more activities than before.
    pub(crate) fn grown(&mut self, process: &Process) {
        self.quotas.begin(process);
    }

    /// Nothing is held for a process any more.
    pub(crate) fn end(&mut self, id: ProcessId) {
        self.revisions.remove(&id);
        self.quotas.end(id);
    }

    /// The disk has room for these processes.
    pub(crate) fn set_room(&mut self, room: Room) {
        self.room = room;
    }

    /// The group has revoked the certificate of this manager, or lets it in again.
    pub(crate) fn set_barred(&mut self, is_barred: bool) {
        self.is_barred = is_barred;
    }

    /// The number of clients that watch.
    pub(crate) fn n_watchers(&self) -> usize {
        self.watchers.len()
    }

    /// A client has gone.
    pub(crate) fn gone(&mut self, step: &mut Step<'_>, client: ClientId) {
        self.forget_watches(step, client);
        self.forget_tails(step, client);
    }
}

pub(crate) fn tell(step: &mut Step<'_>, (client, number): Asking, answer: Answer) {
    step.cx.effect(Effect::Answer {
        client,
        number,
        answer,
    });
}
