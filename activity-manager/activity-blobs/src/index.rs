//! The store's index in memory: sizes, last use, durability, and holds.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use model::{Bytes, Hash};

use crate::users::{User, Users};
use crate::verify::Stamp;

/// All blobs on the disk, in the order of their use.
#[derive(Debug, Default)]
pub(crate) struct Index {
    blobs: BTreeMap<Hash, Entry>,
    /// Bytes of all blobs together on the disk.
    stored: u64,
    /// The stamps of the files of large blobs when they were found to be sound.
    stamps: BTreeMap<Hash, Stamp>,
    /// The users of blobs that have any and are not shared.
    users: BTreeMap<Hash, Users>,
    /// Counts uses: larger is later.
    tick: u64,
    /// Blobs that no flush has made durable.
    fresh: Vec<Hash>,
    /// A directory was made under `blobs/` since the last flush.
    made_directory: bool,
    /// By hold: blobs that were used at or after this tick stay.
    holds: BTreeMap<u64, u64>,
    next_hold: u64,
}

/// One blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its length.
    pub(crate) bytes: u64,
    /// Its size on the disk.
    pub(crate) stored: u64,
    /// Its durability.
    pub(crate) durability: Durability,
    /// The tick of its insertion, which with the hash distinguishes successive files of that name.
    born: u64,
    /// The tick of its last use.
    last_used: u64,
    /// True if this epoch of the store has written its use into the file's times.
    stamped: bool,
    /// True if anybody may have it.
    is_shared: bool,
}

/// The size of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Its length.
    pub(crate) bytes: u64,
    /// Its size on the disk.
    pub(crate) stored: u64,
}

/// The durability of a blob: its survival of a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Not flushed.
    Fresh,
    /// Flushed.
    Sealed,
}

impl Index {
    /// Inserts a blob as the most recently used one.
    pub(crate) fn insert(&mut self, hash: Hash, size: Size, durability: Durability) {
        let Size { bytes, stored } = size;
        self.tick += 1;
        let (born, last_used) = (self.tick, self.tick);
        let entry = Entry {
            bytes,
            stored,
            durability,
            born,
            last_used,
            // A file that was just written has its time already.
            stamped: durability == Durability::Fresh,
            is_shared: false,
        };
        self.stamps.remove(&hash);
        self.users.remove(&hash);
        if let Some(old) = self.blobs.insert(hash, entry) {
            self.stored -= old.stored;
        }
        self.stored += stored;
        if durability == Durability::Fresh {
            self.fresh.push(hash);
        }
    }

    /// Forgets a blob.
    pub(crate) fn remove(&mut self, hash: Hash) {
        self.stamps.remove(&hash);
        self.users.remove(&hash);
        if let Some(old) = self.blobs.remove(&hash) {
            self.stored -= old.stored;
        }
    }

    /// Records a use. Returns true if the file's times must be written, which is once an epoch:
    /// they only keep the approximate order over a restart.
    pub(crate) fn touch(&mut self, hash: Hash) -> bool {
        self.tick += 1;
        let Some(entry) = self.blobs.get_mut(&hash) else {
            return false;
        };
        entry.last_used = self.tick;
        !std::mem::replace(&mut entry.stamped, true)
    }

    /// Anybody may have a blob.
    pub(crate) fn share(&mut self, hash: Hash) {
        if let Some(entry) = self.blobs.get_mut(&hash) {
            entry.is_shared = true;
            self.users.remove(&hash);
        }
    }

    /// A blob has a further user.
    pub(crate) fn note_user(&mut self, hash: Hash, user: User) {
        let entry = self.blobs.get(&hash);
        if entry.is_some_and(|entry| !entry.is_shared) {
            self.users.entry(hash).or_default().note(user);
        }
    }

    /// The attempts up to this one at an activity need a blob no more. Returns true if nobody does, and it is
    /// not shared.
    pub(crate) fn forget_makers(
        &mut self,
        hash: Hash,
        owner: u64,
        (activity, number): (u32, u32),
    ) -> bool {
        let users = self.users.get_mut(&hash);
        users.is_some_and(|users| users.forget_makers(owner, (activity, number)))
    }

    /// Records that a directory was made under `blobs/`.
    pub(crate) fn made_directory(&mut self) {
        self.made_directory = true;
    }

    /// The blobs that a flush must make durable, and true if `blobs/` itself has changed.
    pub(crate) fn take_fresh(&mut self) -> (Vec<Hash>, bool) {
        (
            std::mem::take(&mut self.fresh),
            std::mem::take(&mut self.made_directory),
        )
    }

    /// Takes back what a flush has not made durable.
    pub(crate) fn give_back_fresh(&mut self, fresh: Vec<Hash>, has_new_directory: bool) {
        self.fresh.extend(fresh);
        self.made_directory |= has_new_directory;
    }

    /// Records that a flush has made this blob durable.
    pub(crate) fn seal(&mut self, hash: Hash) {
        if let Some(entry) = self.blobs.get_mut(&hash) {
            entry.durability = Durability::Sealed;
        }
    }

    /// Keeps blobs from eviction that are used from this moment on, until [`Index::end_hold`].
    pub(crate) fn begin_hold(&mut self) -> u64 {
        let id = self.next_hold;
        self.next_hold += 1;
        self.holds.insert(id, self.tick + 1);
        id
    }

    /// Ends a hold.
    pub(crate) fn end_hold(&mut self, id: u64) {
        self.holds.remove(&id);
    }

    /// The entry of a blob.
    pub(crate) fn get(&self, hash: Hash) -> Option<Entry> {
        self.blobs.get(&hash).copied()
    }

    /// Returns true if the blob is still the same one, and not another with its hash.
    pub(crate) fn is_same(&self, hash: Hash, seen: Entry) -> bool {
        self.blobs
            .get(&hash)
            .is_some_and(|entry| entry.born == seen.born)
    }

    /// The stamp of a blob's file when it was found to be sound.
    pub(crate) fn stamp(&self, hash: Hash) -> Option<Stamp> {
        self.stamps.get(&hash).copied()
    }

    /// Records that this blob is sound.
    pub(crate) fn set_stamp(&mut self, hash: Hash, seen: Entry, stamp: Stamp) {
        if self.is_same(hash, seen) {
            self.stamps.insert(hash, stamp);
        }
    }

    /// The first blob after `after` that has more bytes than this.
    pub(crate) fn first_larger(&self, after: Option<Hash>, bytes: u64) -> Option<(Hash, Bytes)> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut behind = self.blobs.range((from, Bound::Unbounded));
        let (hash, entry) = behind.find(|(_, entry)| entry.bytes > bytes)?;
        Some((*hash, Bytes(entry.bytes)))
    }

    /// Bytes of all blobs together on the disk.
    pub(crate) fn stored(&self) -> u64 {
        self.stored
    }

    /// Number of blobs.
    pub(crate) fn n_blobs(&self) -> usize {
        self.blobs.len()
    }

    /// The blobs to evict so that at most `budget` bytes stay: durable, not held and not kept by
    /// the caller; least recently used first; at most `n_max`. Of these the small ones stay for which there is room
    /// after all, since large ones went too: a process leaves small results beside large intermediate files. Costs
    /// n log n in the number of blobs.
    pub(crate) fn victims(
        &self,
        budget: u64,
        n_max: usize,
        is_kept: impl Fn(&Hash) -> bool,
    ) -> Vec<Hash> {
        if self.stored <= budget {
            return Vec::new();
        }
        let held_from = self.holds.values().min().copied().unwrap_or(u64::MAX);
        let mut candidates: Vec<(u64, Hash, u64)> = self
            .blobs
            .iter()
            .filter(|(hash, entry)| {
                entry.durability == Durability::Sealed
                    && entry.last_used < held_from
                    && !is_kept(hash)
            })
            .map(|(hash, entry)| (entry.last_used, *hash, entry.stored))
            .collect();
        candidates.sort_unstable();
        let mut left = self.stored;
        let oldest = candidates
            .into_iter()
            .take(n_max)
            .take_while(|(_, _, bytes)| {
                let is_needed = left > budget;
                left -= if is_needed { *bytes } else { 0 };
                is_needed
            })
            .map(|(_, hash, bytes)| (hash, bytes));
        let mut victims: Vec<(Hash, u64)> = oldest.collect();
        // Where not even all of these suffice, none stays: else it might be these that are chosen each time.
        let Some(mut room) = budget.checked_sub(left) else {
            return victims.into_iter().map(|(hash, _)| hash).collect();
        };
        let mut smallest_first = victims.clone();
        smallest_first.sort_by_key(|&(_, bytes)| bytes);
        let spared = smallest_first.into_iter().take_while(|(_, bytes)| {
            let fits = *bytes <= room;
            room -= if fits { *bytes } else { 0 };
            fits
        });
        let spared: BTreeSet<Hash> = spared.map(|(hash, _)| hash).collect();
        victims.retain(|(hash, _)| !spared.contains(hash));
        victims.into_iter().map(|(hash, _)| hash).collect()
    }

    /// Returns true if a victim was not used or held since [`Index::victims`] chose it.
    pub(crate) fn is_still_idle(&self, hash: Hash, chosen_at: u64) -> bool {
        let held_from = self.holds.values().min().copied().unwrap_or(u64::MAX);
        self.blobs.get(&hash).is_some_and(|entry| {
            entry.last_used <= chosen_at
                && entry.last_used < held_from
                && entry.durability == Durability::Sealed
        })
    }

    /// Returns true if a blob was not used after this moment.
    pub(crate) fn is_unused_since(&self, hash: Hash, moment: u64) -> bool {
        let entry = self.blobs.get(&hash);
        entry.is_some_and(|entry| entry.last_used <= moment)
    }

    /// The present tick.
    pub(crate) fn tick(&self) -> u64 {
        self.tick
    }
}

#[cfg(test)]
mod tests;
