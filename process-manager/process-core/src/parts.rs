//! The volatile state of a process manager.

pub(crate) mod clients;

use std::collections::{BTreeMap, VecDeque};

use model::ProcessId;

use crate::budget::Turns;
use crate::dispatch::{Attempts, Grid};
use crate::files::Files;
use crate::io::Room;
use crate::lookup::Cache;
use crate::machines::Machines;
use crate::market::Market;
use crate::parts::clients::{Question, Watcher};
use crate::submission::ClientId;

/// The volatile state of a process manager. A restart rebuilds all of it.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) market: Market,
    pub(crate) machines: Machines,
    pub(crate) files: Files,
    pub(crate) attempts: Attempts,
    pub(crate) cache: Cache,
    /// Counts changes of each open process that a watcher could see.
    pub(crate) revisions: BTreeMap<ProcessId, u64>,
    pub(crate) watchers: BTreeMap<(ClientId, u64), Watcher>,
    pub(crate) tails: BTreeMap<(ClientId, u64), Question>,
    /// Forgotten processes, the oldest first.
    pub(crate) forgotten: VecDeque<ProcessId>,
    /// The disk space for further processes.
    pub(crate) room: Room,
    /// Processes with more work than fits into one step.
    pub(crate) turns: Turns,
}

impl Parts {
    /// Notes a change of a process that a watcher could see.
    pub(crate) fn touch(&mut self, id: ProcessId) {
        if let Some(revision) = self.revisions.get_mut(&id) {
            *revision += 1;
        }
    }

    /// The attempts, beside the parts that sending them reads.
    pub(crate) fn attempts_and_grid(&mut self) -> (&mut Attempts, Grid<'_>) {
        let grid = Grid {
            machines: &self.machines,
            market: &self.market,
            files: &self.files,
        };
        (&mut self.attempts, grid)
    }
}
