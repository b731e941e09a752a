//! Files that processes discard: who has each file on a disk, and what is left that nobody needs.

use std::collections::{BTreeMap, BTreeSet};

use activity_core::Input;
use model::{ActivityId, AttemptId, Hash, ProcessId};
use wire::attempt::Discard;

use crate::observe::{Observer, Seen};
use crate::sim::{Happening, Sim};

/// The users of a file on a disk.
#[derive(Debug, Default)]
pub(crate) struct Users {
    /// Attempts of processes that discard files, by which it was made or kept.
    makers: BTreeSet<AttemptId>,
    /// Such processes that were given it.
    given: BTreeSet<ProcessId>,
    /// Such processes that have let go what they made, and got nothing since.
    let_go: BTreeSet<ProcessId>,
    /// True if a process has it that keeps all files.
    is_shared: bool,
}

/// Somebody gets a file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum User {
    Maker(AttemptId),
    Given(ProcessId),
    Anybody,
}

impl Users {
    pub(crate) fn note(&mut self, user: User) {
        match user {
            User::Maker(attempt) => {
                self.let_go.remove(&attempt.process);
                self.makers.insert(attempt);
            }
            User::Given(process) => {
                self.let_go.remove(&process);
                self.given.insert(process);
            }
            User::Anybody => self.is_shared = true,
        }
    }

    /// The attempts up to this one do not need it any more. Returns true if nobody does.
    fn forget(&mut self, made_by: AttemptId) -> bool {
        let is_over = |one: &AttemptId| {
            let is_same = (one.process, one.activity) == (made_by.process, made_by.activity);
            is_same && one.number <= made_by.number
        };
        let n_before = self.makers.len();
        self.makers.retain(|one| !is_over(one));
        let has_had = self.makers.len() < n_before || self.given.contains(&made_by.process);
        if has_had {
            self.given.insert(made_by.process);
            self.let_go.insert(made_by.process);
        }
        let is_needed = !self.makers.is_empty() || !self.given.is_subset(&self.let_go);
        has_had && !self.is_shared && !is_needed
    }

    /// The one process that has it, where no other has.
    fn only(&self) -> Option<ProcessId> {
        let makers = self.makers.iter().map(|one| one.process);
        let all: BTreeSet<ProcessId> = makers.chain(self.given.iter().copied()).collect();
        match (self.is_shared, all.len()) {
            (false, 1) => all.first().copied(),
            _ => None,
        }
    }
}

/// The files of one disk.
pub(crate) type Blobs = BTreeMap<Hash, Users>;

/// Removes what nobody needs but the one who discards it.
pub(crate) fn discard(blobs: &mut Blobs, discard: &Discard) {
    for artifact in &discard.artifacts {
        let users = blobs.get_mut(&artifact.hash);
        if users.is_some_and(|users| users.forget(discard.made_by)) {
            blobs.remove(&artifact.hash);
        }
    }
}

impl Sim {
    /// A process discards files at a machine.
    pub(crate) fn discard(
        &mut self,
        machine: usize,
        to: u32,
        discards: Vec<Discard>,
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        for one in discards {
            observer.see(self.at, &Seen::Discards(one.made_by))?;
            if self.setup.has_stores {
                self.stores.discard(machine, &one);
            }
            let takes = self.random.span(self.setup.works_aside);
            let epoch = self.machines.get(machine).host.epoch;
            let made_by = one.made_by;
            let input = Box::new(Input::Discarded { to, made_by });
            let happening = Happening::Copied {
                machine,
                epoch,
                input,
            };
            self.after(takes, happening);
        }
        Ok(())
    }

    /// At the end, tells what is left of processes that discard files and have completed, and which only
    /// they have.
    pub(crate) fn look_for_left(&mut self, observer: &mut dyn Observer) -> Result<(), String> {
        for (process, activity) in self.stores.left() {
            observer.see(self.at, &Seen::Left(process, activity))?;
        }
        Ok(())
    }
}

/// The activities of these files that only their process has on some disk.
pub(crate) fn left<'a>(
    blobs: impl Iterator<Item = &'a Blobs> + Clone,
    made: &BTreeMap<(ProcessId, ActivityId), BTreeSet<Hash>>,
) -> Vec<(ProcessId, ActivityId)> {
    let is_left = |(process, _): &(ProcessId, ActivityId), hashes: &BTreeSet<Hash>| {
        let mut disks = blobs.clone();
        disks.any(|disk| {
            let users = hashes.iter().filter_map(|hash| disk.get(hash));
            users.map(Users::only).any(|only| only == Some(*process))
        })
    };
    let left = made.iter().filter(|(maker, hashes)| is_left(maker, hashes));
    left.map(|(maker, _)| *maker).collect()
}
