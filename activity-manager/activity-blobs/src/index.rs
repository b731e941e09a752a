//! What the store knows of its blobs, in memory: sizes, last use, what is not durable yet, and what
//! is being held.

use std::collections::BTreeMap;
use std::ops::Bound;

use model::{Bytes, Hash};

use crate::verify::Stamp;

/// Every blob on the disk, with the order in which they were used.
#[derive(Debug, Default)]
pub(crate) struct Index {
    blobs: BTreeMap<Hash, Entry>,
    /// Bytes that all blobs together take on the disk.
    stored: u64,
    /// How the files of large blobs were when they were found to be sound.
    stamps: BTreeMap<Hash, Stamp>,
    /// Counts uses: larger is later.
    tick: u64,
    /// Blobs that no flush has made durable.
    fresh: Vec<Hash>,
    /// A directory was made under `blobs/` since the last flush.
    made_directory: bool,
    /// By hold: what was used at or after this tick stays.
    holds: BTreeMap<u64, u64>,
    next_hold: u64,
}

/// One blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its length.
    pub(crate) bytes: u64,
    /// What it takes on the disk.
    pub(crate) stored: u64,
    /// Whether it is durable.
    pub(crate) durability: Durability,
    /// The tick at which it came: with the hash it tells one file of that name from the next.
    born: u64,
    /// The tick of its last use.
    last_used: u64,
    /// Whether this life of the store has written its use into the file's times.
    stamped: bool,
}

/// How large a blob is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Its length.
    pub(crate) bytes: u64,
    /// What it takes on the disk.
    pub(crate) stored: u64,
}

/// Whether a blob survives a loss of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Not flushed.
    Fresh,
    /// Flushed.
    Sealed,
}

impl Index {
    /// Enters a blob as the last used one.
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
            // What was written just now has its time already.
            stamped: durability == Durability::Fresh,
        };
        self.stamps.remove(&hash);
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
        if let Some(old) = self.blobs.remove(&hash) {
            self.stored -= old.stored;
        }
    }

    /// Notes a use. Says whether the file's times are to be written, which is so once a life: they
    /// only carry the order over a restart, roughly.
    pub(crate) fn touch(&mut self, hash: Hash) -> bool {
        self.tick += 1;
        let Some(entry) = self.blobs.get_mut(&hash) else {
            return false;
        };
        entry.last_used = self.tick;
        !std::mem::replace(&mut entry.stamped, true)
    }

    /// A directory was made under `blobs/`.
    pub(crate) fn made_directory(&mut self) {
        self.made_directory = true;
    }

    /// What a flush has to make durable: blobs, and whether `blobs/` itself has changed.
    pub(crate) fn take_fresh(&mut self) -> (Vec<Hash>, bool) {
        (
            std::mem::take(&mut self.fresh),
            std::mem::take(&mut self.made_directory),
        )
    }

    /// A flush has made this blob durable.
    pub(crate) fn seal(&mut self, hash: Hash) {
        if let Some(entry) = self.blobs.get_mut(&hash) {
            entry.durability = Durability::Sealed;
        }
    }

    /// Keeps from eviction what is used from this moment on, until [`Index::end_hold`].
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

    /// What is known of a blob.
    pub(crate) fn get(&self, hash: Hash) -> Option<Entry> {
        self.blobs.get(&hash).copied()
    }

    /// Whether the blob is still the one that was seen, not another of its name.
    pub(crate) fn is_same(&self, hash: Hash, seen: Entry) -> bool {
        self.blobs
            .get(&hash)
            .is_some_and(|entry| entry.born == seen.born)
    }

    /// How the file of a blob was when it was found to be sound.
    pub(crate) fn stamp(&self, hash: Hash) -> Option<Stamp> {
        self.stamps.get(&hash).copied()
    }

    /// The blob that was seen is sound.
    pub(crate) fn set_stamp(&mut self, hash: Hash, seen: Entry, stamp: Stamp) {
        if self.is_same(hash, seen) {
            self.stamps.insert(hash, stamp);
        }
    }

    /// The first blob behind `after` that has more bytes than this.
    pub(crate) fn first_larger(&self, after: Option<Hash>, bytes: u64) -> Option<(Hash, Bytes)> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut behind = self.blobs.range((from, Bound::Unbounded));
        let (hash, entry) = behind.find(|(_, entry)| entry.bytes > bytes)?;
        Some((*hash, Bytes(entry.bytes)))
    }

    /// Bytes that all blobs together take on the disk.
    pub(crate) fn stored(&self) -> u64 {
        self.stored
    }

    /// How many blobs there are.
    pub(crate) fn n_blobs(&self) -> usize {
        self.blobs.len()
    }

    /// What may go so that at most `budget` bytes stay: durable, not held and not kept by the
    /// caller; least recently used first; at most `n_max`. Costs n log n in the number of blobs.
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
        candidates
            .into_iter()
            .take(n_max)
            .take_while(|(_, _, bytes)| {
                let is_needed = left > budget;
                left -= if is_needed { *bytes } else { 0 };
                is_needed
            })
            .map(|(_, hash, _)| hash)
            .collect()
    }

    /// Whether a victim has not been used or held since it was chosen by [`Index::victims`].
    pub(crate) fn is_still_idle(&self, hash: Hash, chosen_at: u64) -> bool {
        let held_from = self.holds.values().min().copied().unwrap_or(u64::MAX);
        self.blobs.get(&hash).is_some_and(|entry| {
            entry.last_used <= chosen_at
                && entry.last_used < held_from
                && entry.durability == Durability::Sealed
        })
    }

    /// The present moment in uses.
    pub(crate) fn tick(&self) -> u64 {
        self.tick
    }
}

#[cfg(test)]
mod tests;
