//! Retention of blobs: pins, and the eviction of unpinned blobs.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::MutexGuard;

use model::{Artifact, ArtifactKind, Bytes, Hash};

use crate::store::lock_of;
use crate::{Listing, Store};

/// The result of an eviction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evicted {
    /// Number of removed blobs.
    pub n_blobs: usize,
    /// Their bytes.
    pub bytes: Bytes,
    /// The size of the store after it. More than the budget if the remaining blobs are pinned, held
    /// or not flushed, or if there were more to remove than one call does: if `n_blobs` is not 0,
    /// call again.
    pub bytes_left: Bytes,
}

impl Evicted {
    /// Counts a removed blob of so many bytes.
    pub(crate) fn count(&mut self, bytes: Bytes) {
        self.n_blobs += 1;
        self.bytes = self.bytes + bytes;
    }
}

/// Why an eviction stopped.
#[derive(Debug, thiserror::Error)]
pub enum EvictError {
    /// A blob could not be removed.
    #[error("could not remove blob {hash} from `{path}`")]
    Remove {
        /// Its hash.
        hash: Hash,
        /// The store's directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Why a pin was refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PinError {
    /// There are too many pins.
    #[error("could not pin for {owner}: more than {PINS_MAX} pins")]
    TooMany {
        /// The owner.
        owner: u64,
    },
}

/// The pins of all owners.
#[derive(Debug, Default)]
pub(crate) struct Pins {
    by_owner: BTreeMap<u64, BTreeSet<Artifact>>,
    /// The size of the pinned artifacts, by owner.
    bytes: BTreeMap<u64, u64>,
    n_pins: usize,
}

impl Pins {
    /// Removes pins of an owner.
    pub(crate) fn unpin(
        &mut self,
        owner: u64,
        artifacts: &[Artifact],
        taken_by: impl Fn(&Artifact) -> u64,
    ) {
        let Some(pinned) = self.by_owner.get_mut(&owner) else {
            return;
        };
        for artifact in artifacts {
            if pinned.remove(artifact) {
                self.n_pins -= 1;
                let taken = self.bytes.entry(owner).or_default();
                *taken = taken.saturating_sub(taken_by(artifact));
            }
        }
        if pinned.is_empty() {
            self.by_owner.remove(&owner);
        }
    }

    /// Pinned directories whose listings were not read.
    fn unread(&self, listed: &BTreeMap<Hash, Vec<Hash>>) -> BTreeSet<Hash> {
        let pinned = self.by_owner.values().flatten();
        let directories = pinned.filter(|artifact| artifact.kind == ArtifactKind::Directory);
        let hashes = directories.map(|artifact| artifact.hash);
        hashes.filter(|hash| !listed.contains_key(hash)).collect()
    }

    /// Returns true if anybody has pinned a blob by itself.
    pub(crate) fn has(&self, hash: Hash) -> bool {
        let from = Artifact {
            hash,
            bytes: Bytes::ZERO,
            kind: ArtifactKind::File,
        };
        let mut owners = self.by_owner.values();
        owners.any(|pinned| {
            let first = pinned.range(from..).next();
            first.is_some_and(|first| first.hash == hash)
        })
    }
}

impl Store {
    /// Adds pins of an owner. A pinned directory keeps its files. Missing blobs may be pinned too:
    /// pin first, then call [`Store::missing`], and existing blobs stay. Pins are in memory alone:
    /// owners send them again after a restart.
    pub fn pin(&self, owner: u64, artifacts: &[Artifact]) -> Result<(), PinError> {
        let mut pins = lock_of(&self.inner.pins);
        if pins.n_pins + artifacts.len() > PINS_MAX {
            return Err(PinError::TooMany { owner });
        }
        for artifact in artifacts {
            if pins.by_owner.entry(owner).or_default().insert(*artifact) {
                pins.n_pins += 1;
                let taken = pins.bytes.entry(owner).or_default();
                *taken = taken.saturating_add(self.taken_by(artifact));
            }
        }
        Ok(())
    }

    /// The total size of the artifacts that these owners have pinned. An artifact with two owners
    /// counts for both. A file that was here when it was pinned counts by its size on the disk,
    /// others by their length.
    pub fn pinned(&self, owners: impl IntoIterator<Item = u64>) -> Bytes {
        let pins = lock_of(&self.inner.pins);
        let of = |owner| pins.bytes.get(&owner).copied().unwrap_or_default();
        Bytes(owners.into_iter().map(of).fold(0, u64::saturating_add))
    }

    pub(crate) fn taken_by(&self, artifact: &Artifact) -> u64 {
        let stored = match artifact.kind {
            ArtifactKind::Directory => None,
            ArtifactKind::File | ArtifactKind::Program => self.inner.index().get(artifact.hash),
        };
        stored.map_or(artifact.bytes.0, |entry| entry.stored)
    }

    /// Replaces all pins of an owner.
    pub fn replace_pins(&self, owner: u64, artifacts: &[Artifact]) -> Result<(), PinError> {
        let mut pins = lock_of(&self.inner.pins);
        let n_before = pins.by_owner.get(&owner).map_or(0, BTreeSet::len);
        let pinned: BTreeSet<Artifact> = artifacts.iter().copied().collect();
        let n_pins = pins.n_pins - n_before + pinned.len();
        if n_pins > PINS_MAX {
            return Err(PinError::TooMany { owner });
        }
        pins.n_pins = n_pins;
        let bytes = pinned.iter().map(|artifact| self.taken_by(artifact));
        pins.bytes.insert(owner, bytes.fold(0, u64::saturating_add));
        pins.by_owner.insert(owner, pinned);
        Ok(())
    }

    /// Removes all pins of an owner.
    pub fn unpin(&self, owner: u64) {
        let mut pins = lock_of(&self.inner.pins);
        let n_gone = pins
            .by_owner
            .remove(&owner)
            .map_or(0, |pinned| pinned.len());
        pins.n_pins -= n_gone;
        pins.bytes.remove(&owner);
    }

    /// Removes blobs until at most `budget` bytes are left, least recently used first, at most some
    /// thousands in one call. Pinned, held and unflushed blobs stay, and small ones for which there is room once large
    /// ones are gone.
    pub fn evict(&self, budget: Bytes) -> Result<Evicted, EvictError> {
        let mut evicted = Evicted {
            bytes_left: self.size(),
            ..Evicted::default()
        };
        if evicted.bytes_left <= budget {
            return Ok(evicted);
        }
        // The lock is held to the end, so that blobs that are here when `pin` returns stay.
        let (_pins, kept) = self.kept();
        let (victims, chosen_at) = {
            let index = self.inner.index();
            let victims = index.victims(budget.0, EVICTED_AT_ONCE_MAX, |hash| kept.contains(hash));
            (victims, index.tick())
        };
        for hash in victims {
            if let Some(bytes) = self.remove(hash, chosen_at)? {
                evicted.count(bytes);
            }
        }
        evicted.bytes_left = self.size();
        Ok(evicted)
    }

    /// Removes a blob that nobody has used after a moment. Returns false if it stays, because it was used,
    /// is pinned, held or not flushed.
    pub fn discard_unused(&self, hash: Hash, moment: u64) -> Result<bool, EvictError> {
        let (_pins, kept) = self.kept();
        if kept.contains(&hash) {
            return Ok(false);
        }
        Ok(self.remove(hash, moment)?.is_some())
    }

    /// Removes a blob that nobody has used since it was chosen. Returns its bytes on the disk; none if it stays,
    /// because it is held or not flushed.
    pub(crate) fn remove(&self, hash: Hash, chosen_at: u64) -> Result<Option<Bytes>, EvictError> {
        let removed = self.inner.remove_idle(hash, chosen_at);
        let removed = removed.map_err(|source| EvictError::Remove {
            hash,
            path: self.dir().to_path_buf(),
            source,
        })?;
        Ok(removed.map(Bytes))
    }

    /// The size on the disk of the blobs of these, each counted once.
    pub(crate) fn stored_of(&self, artifacts: &[Artifact]) -> u64 {
        let blobs = self.blobs_of(artifacts);
        let index = self.inner.index();
        let stored = blobs.into_iter().filter_map(|hash| index.get(hash));
        stored.map(|entry| entry.stored).sum()
    }

    /// The blobs that pins keep, and the lock under which that holds. Listings are read before it is
    /// taken, since `pin` waits for it.
    fn kept(&self) -> (MutexGuard<'_, Pins>, BTreeSet<Hash>) {
        let mut listed = BTreeMap::new();
        for _ in 0..READS_BEFORE_LOCK {
            let unread = lock_of(&self.inner.pins).unread(&listed);
            if unread.is_empty() {
                break;
            }
            for hash in unread {
                listed.insert(hash, self.files_of(hash));
            }
        }
        let pins = lock_of(&self.inner.pins);
        for hash in pins.unread(&listed) {
            listed.insert(hash, self.files_of(hash));
        }
        let mut kept = BTreeSet::new();
        for artifact in pins.by_owner.values().flatten() {
            kept.insert(artifact.hash);
            if artifact.kind == ArtifactKind::Directory {
                kept.extend(listed.remove(&artifact.hash).into_iter().flatten());
            }
        }
        (pins, kept)
    }

    /// The files of a listing. A missing one pins nothing but itself.
    fn files_of(&self, listing: Hash) -> Vec<Hash> {
        let listing = self.listing(listing);
        let files = listing.iter().flat_map(Listing::files);
        files.map(|(_, file)| file.hash).collect()
    }
}

/// Rounds in which listings are read before the lock of the pins is taken, each those that were pinned in the one
/// before. Few are left then.
const READS_BEFORE_LOCK: u32 = 3;

/// Maximum number of pins of all owners: some 500 MB of memory.
const PINS_MAX: usize = 4_000_000;

/// Maximum number of blobs removed in one call, because `pin` waits for it: less than a second.
const EVICTED_AT_ONCE_MAX: usize = 10_000;

#[cfg(test)]
mod tests;
