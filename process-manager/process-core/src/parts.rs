//! The volatile state of a process manager.

pub(crate) mod clients;
pub(crate) mod recorded;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use expression::Programs;
use model::{ActivityId, AttemptId, ProcessId, ResourceId, Wall};

use crate::budget::Turns;
use crate::files::Files;
use crate::io::Room;
use crate::machines::Machines;
use crate::market::Market;
use crate::parts::clients::{Question, Watcher};
use crate::parts::recorded::{BaseIndex, Recorded};
use crate::submission::ClientId;

/// The volatile state of a process manager. A restart rebuilds all of it.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) market: Market,
    pub(crate) machines: Machines,
    pub(crate) files: Files,
    pub(crate) live: BTreeMap<ProcessId, Live>,
    pub(crate) watchers: BTreeMap<(ClientId, u64), Watcher>,
    pub(crate) tails: BTreeMap<(ClientId, u64), Question>,
    pub(crate) recorded: Recorded,
    /// Forgotten processes, the oldest first.
    pub(crate) forgotten: VecDeque<ProcessId>,
    /// The disk space for further processes.
    pub(crate) room: Room,
    /// Compiled expressions of processes.
    pub(crate) programs: Programs,
    /// Processes with more work than fits into one step.
    pub(crate) turns: Turns,
}

/// The volatile state of a process that has not been released.
#[derive(Debug, Default)]
pub(crate) struct Live {
    /// Index of the recorded outcomes of the base: the process that this one resumes.
    pub(crate) base: BaseIndex,
    /// Number of entries of `Index::fresh` for which a cache lookup was made.
    pub(crate) n_looked: usize,
    /// Attempts that were sent and not acknowledged, by machine.
    pub(crate) unacknowledged: BTreeMap<ResourceId, BTreeSet<AttemptId>>,
    /// Activities that are known to run: the start time and the process id of the command.
    pub(crate) running: BTreeMap<ActivityId, (Wall, u32)>,
    /// The last attempt of each activity that was sent with the addresses of its files: its number,
    /// and the moment of the first such message, as [`Files`] counts. None if no address was known
    /// then.
    pub(crate) announced: BTreeMap<ActivityId, (u32, Option<u64>)>,
    /// Counts changes that a watcher could see.
    pub(crate) revision: u64,
}

impl Parts {
    /// Notes a change of a process that a watcher could see.
    pub(crate) fn touch(&mut self, id: ProcessId) {
        if let Some(live) = self.live.get_mut(&id) {
            live.revision += 1;
        }
    }
}
