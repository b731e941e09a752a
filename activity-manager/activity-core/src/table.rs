//! The known attempts, with the counts over them.

use std::collections::{BTreeMap, BTreeSet};

use model::{AttemptId, Bytes, Mono, ProcessId};
use wire::attempt::Holds;
use wire::resource::ProcessGrant;

use crate::attempt::{Attempt, AttemptState};

/// Maximum number of grants of one machine: no machine has more slots, and few grants are without any.
const GRANTS_MAX: usize = 65_536;

/// Attempts by id. An attempt is changed by removing it and inserting it again, so that every count
/// follows.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    by_id: BTreeMap<AttemptId, Attempt>,
    shares: BTreeMap<ProcessId, Share>,
    /// Attempts that wait for the executor or a worker.
    asked: BTreeSet<AttemptId>,
    /// Ended attempts, in the order of dispatch.
    ended: BTreeMap<u64, AttemptId>,
    n_dispatched: u64,
    n_held_back: usize,
    cores_running: u64,
    /// Memory that attempts at the executor may use together.
    memory_handed: u64,
    bytes: usize,
}

/// The grant of one process, and its use.
#[derive(Debug, Default)]
struct Share {
    granted: u32,
    /// The slots that its process manager says it holds, and the number of the claim or return of
    /// which it knows that: grants that were told before may be more.
    holds: Option<(u32, u32)>,
    /// True if there is a grant, be it one without slots: the files of the process stay here.
    has_grant: bool,
    waiting: BTreeMap<u64, AttemptId>,
    staged: BTreeMap<u64, AttemptId>,
    n_known: usize,
    cores_ahead: u64,
    cores_handed: u64,
}

/// The limits on staged and sent attempts: cores, and the memory of the machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) slots: u32,
    pub(crate) prefetch: u32,
    pub(crate) memory: Bytes,
}

impl Share {
    /// Slots that its attempts may use together.
    fn slots(&self) -> u32 {
        let held = self.holds.map_or(u32::MAX, |(_, slots)| slots);
        self.granted.min(held)
    }
}

impl Attempts {
    /// The next position in the order of dispatch.
    pub(crate) fn next_order(&mut self) -> u64 {
        self.n_dispatched += 1;
        self.n_dispatched
    }

    pub(crate) fn insert(&mut self, attempt: Attempt) {
        let Attempt {
            id,
            order,
            cores,
            memory,
            ..
        } = attempt;
        self.bytes += attempt.state.weight();
        let share = self.shares.entry(id.process).or_default();
        share.n_known += 1;
        if attempt.state.is_ahead() {
            share.cores_ahead += u64::from(cores);
        }
        if attempt.state.is_handed() {
            share.cores_handed += u64::from(cores);
            self.memory_handed = self.memory_handed.saturating_add(memory.0);
        }
        match &attempt.state {
            AttemptState::Waiting(_) => {
                self.n_held_back += 1;
                share.waiting.insert(order, id);
            }
            AttemptState::Staged(_) => {
                self.n_held_back += 1;
                share.staged.insert(order, id);
            }
            AttemptState::Staging(_) | AttemptState::Queued(_) | AttemptState::Collecting(_) => {
                self.asked.insert(id);
            }
            AttemptState::Running { .. } => {
                self.cores_running += u64::from(cores);
                self.asked.insert(id);
            }
            AttemptState::Ended(_) => {
                self.ended.insert(order, id);
            }
        }
        let before = self.by_id.insert(id, attempt);
        assert!(
            before.is_none(),
            "an attempt is put back only where it was taken out"
        );
    }

    pub(crate) fn remove(&mut self, id: AttemptId) -> Option<Attempt> {
        let attempt = self.by_id.remove(&id)?;
        let Attempt {
            order,
            cores,
            memory,
            ..
        } = attempt;
        self.bytes -= attempt.state.weight();
        let share = self
            .shares
            .get_mut(&id.process)
            .expect("insert has made it");
        share.n_known -= 1;
        if attempt.state.is_ahead() {
            share.cores_ahead -= u64::from(cores);
        }
        if attempt.state.is_handed() {
            share.cores_handed -= u64::from(cores);
            self.memory_handed = self.memory_handed.saturating_sub(memory.0);
        }
        match &attempt.state {
            AttemptState::Waiting(_) => {
                self.n_held_back -= 1;
                share.waiting.remove(&order);
            }
            AttemptState::Staged(_) => {
                self.n_held_back -= 1;
                share.staged.remove(&order);
            }
            AttemptState::Staging(_) | AttemptState::Queued(_) | AttemptState::Collecting(_) => {
                self.asked.remove(&id);
            }
            AttemptState::Running { .. } => {
                self.cores_running -= u64::from(cores);
                self.asked.remove(&id);
            }
            AttemptState::Ended(_) => {
                self.ended.remove(&order);
            }
        }
        if share.n_known == 0 && !share.has_grant {
            self.shares.remove(&id.process);
        }
        Some(attempt)
    }

    /// Replaces all grants. Returns the processes that have lost theirs.
    pub(crate) fn set_grants(&mut self, grants: &[ProcessGrant]) -> Vec<ProcessId> {
        let mut before = Vec::new();
        for (&process, share) in &mut self.shares {
            share.granted = 0;
            if std::mem::take(&mut share.has_grant) {
                before.push(process);
            }
        }
        for grant in grants.iter().take(GRANTS_MAX) {
            let share = self.shares.entry(grant.process).or_default();
            share.granted = share.granted.saturating_add(grant.slots);
            share.has_grant = true;
        }
        before.retain(|process| {
            let share = self.shares.get(process);
            share.is_none_or(|share| !share.has_grant)
        });
        self.shares
            .retain(|_, share| share.has_grant || share.n_known > 0);
        before
    }

    /// A process manager says which slots its process holds.
    pub(crate) fn set_held(&mut self, holds: Holds) {
        let Holds {
            process,
            number,
            slots,
        } = holds;
        let share = self.shares.get_mut(&process);
        if let Some(share) = share
            && share.holds.is_none_or(|(before, _)| before <= number)
        {
            share.holds = Some((number, slots));
        }
    }

    /// A process has no grant until the next ones come.
    pub(crate) fn withdraw(&mut self, process: ProcessId) {
        if let Some(share) = self.shares.get_mut(&process) {
            share.granted = 0;
            share.has_grant = false;
            if share.n_known == 0 {
                self.shares.remove(&process);
            }
        }
    }

    /// Sets the process manager that gets the attempt's reports from here on.
    pub(crate) fn set_owner(&mut self, id: AttemptId, owner: u32) {
        if let Some(attempt) = self.by_id.get_mut(&id) {
            attempt.owner = owner;
        }
    }

    pub(crate) fn set_stopping(&mut self, id: AttemptId) {
        if let Some(attempt) = self.by_id.get_mut(&id) {
            attempt.stopping = true;
        }
    }

    pub(crate) fn set_asked(&mut self, id: AttemptId, at: Mono) {
        if let Some(attempt) = self.by_id.get_mut(&id) {
            attempt.asked = at;
        }
    }

    pub(crate) fn get(&self, id: AttemptId) -> Option<&Attempt> {
        self.by_id.get(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Attempt> {
        self.by_id.values()
    }

    /// The attempts that wait for the executor or a worker.
    pub(crate) fn asked(&self) -> impl Iterator<Item = &Attempt> {
        self.asked.iter().filter_map(|id| self.by_id.get(id))
    }

    /// The ended and not acknowledged attempts, in the order of dispatch.
    pub(crate) fn ended(&self) -> impl Iterator<Item = &Attempt> {
        self.ended.values().filter_map(|id| self.by_id.get(id))
    }

    pub(crate) fn granted(&self, process: ProcessId) -> u32 {
        self.shares.get(&process).map_or(0, |share| share.granted)
    }

    /// Returns true if a process has a grant here, be it one without slots.
    pub(crate) fn has_grant(&self, process: ProcessId) -> bool {
        let share = self.shares.get(&process);
        share.is_some_and(|share| share.has_grant)
    }

    /// Processes with waiting or staged attempts, in order.
    pub(crate) fn pending(&self) -> Vec<ProcessId> {
        let is_pending = |share: &Share| !(share.waiting.is_empty() && share.staged.is_empty());
        let pending = self.shares.iter().filter(|(_, share)| is_pending(share));
        pending.map(|(&process, _)| process).collect()
    }

    /// The next attempt of a process to stage. A process gets its part of the prefetch, so that
    /// none keeps another from its slots.
    pub(crate) fn next_to_stage(&self, process: ProcessId, room: Room) -> Option<AttemptId> {
        let share = self.shares.get(&process)?;
        let (_, &id) = share.waiting.first_key_value()?;
        let cores = self.by_id.get(&id)?.cores;
        let granted = u64::from(share.slots().min(room.slots));
        let part = (granted * u64::from(room.prefetch)).div_ceil(u64::from(room.slots.max(1)));
        let fits = cores <= share.slots() && share.cores_ahead + u64::from(cores) <= granted + part;
        fits.then_some(id)
    }

    /// The next attempt of a process to send to the executor, where it says nothing of memory. If the
    /// process has the whole machine, the executor's own count of cores is enough, and it may get more
    /// than can run, so that no core waits for this daemon. Otherwise the grant is enforced here.
    pub(crate) fn next_to_hand(&self, process: ProcessId, room: Room) -> Option<&Attempt> {
        let attempt = self.next_within_grant(process, room)?;
        (attempt.memory == Bytes::ZERO).then_some(attempt)
    }

    /// Of the attempts of these processes that would be next, and `may_go`, the first one that demands
    /// memory, where the machine has as much left. It is the first by its dispatch, so that many small
    /// demands do not keep a large one waiting for ever.
    pub(crate) fn next_with_memory(
        &self,
        processes: &[ProcessId],
        room: Room,
        may_go: impl Fn(&Attempt) -> bool,
    ) -> Option<AttemptId> {
        let processes = processes.iter();
        let next = processes.filter_map(|&process| self.next_within_grant(process, room));
        let asking = next.filter(|attempt| attempt.memory > Bytes::ZERO && may_go(attempt));
        let first = asking.min_by_key(|attempt| attempt.order)?;
        self.has_memory_for(first, room).then_some(first.id)
    }

    fn next_within_grant(&self, process: ProcessId, room: Room) -> Option<&Attempt> {
        let share = self.shares.get(&process)?;
        let (_, &id) = share.staged.first_key_value()?;
        let attempt = self.by_id.get(&id)?;
        let is_whole = share.slots() >= room.slots;
        let cores = share.cores_handed + u64::from(attempt.cores);
        (is_whole || cores <= u64::from(share.slots())).then_some(attempt)
    }

    /// Returns true if an attempt and those at the executor have enough memory together. One alone may
    /// want more than there is: whoever planned it knew a larger machine.
    fn has_memory_for(&self, attempt: &Attempt, room: Room) -> bool {
        let together = self.memory_handed.saturating_add(attempt.memory.0);
        self.memory_handed == 0 || together <= room.memory.0
    }

    pub(crate) fn cores_running(&self) -> u64 {
        self.cores_running
    }

    /// See [`crate::KNOWN_BYTES_MAX`].
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of attempts that are not sent to the executor yet, for lack of room or of a grant.
    pub(crate) fn n_held_back(&self) -> usize {
        self.n_held_back
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }
}
