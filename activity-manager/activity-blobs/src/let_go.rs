//! Letting go of copies: a file that its user has all the same need not lie on the disk twice. Whoever wants it
//! later takes it from its user again, by [`Store::take_again`].

use std::collections::BTreeSet;
use std::path::Path;

use model::{Artifact, ArtifactKind, Hash};

use crate::evict::{EvictError, Evicted};
use crate::{AddError, SMALL_BYTES_MAX, Store};

/// Files of more bytes than this are let go. Smaller ones take little, and among them are the scripts that users
/// edit most.
pub const LET_GO_BYTES_MIN: u64 = SMALL_BYTES_MAX as u64;

impl Store {
    /// Returns true if a copy on this file system shares the blocks of its original, and so takes nothing.
    pub fn shares_blocks(&self) -> bool {
        let (Ok(one), Ok(other)) = (self.inner.draft(), self.inner.draft()) else {
            return false;
        };
        self.inner.reflink(&one.file, &other.file)
    }

    /// Deletes the files of these artifacts that have more than [`LET_GO_BYTES_MIN`] and are not `needed`.
    /// Listings of directories stay. Pins and users do not count here: the caller knows everybody who needs a
    /// file. Those that are held or were not flushed stay.
    pub fn let_go(
        &self,
        artifacts: &[Artifact],
        needed: &[Artifact],
    ) -> Result<Evicted, EvictError> {
        let mut kept = self.blobs_of(needed);
        let is_directory = |one: &&Artifact| one.kind == ArtifactKind::Directory;
        kept.extend(artifacts.iter().filter(is_directory).map(|one| one.hash));
        let wanted: BTreeSet<Hash> = self.blobs_of(artifacts);
        let chosen_at = self.moment();
        let mut gone = Evicted::default();
        for hash in wanted.difference(&kept).copied() {
            let entry = self.inner.index().get(hash);
            if entry.is_none_or(|entry| entry.bytes <= LET_GO_BYTES_MIN) {
                continue;
            }
            if let Some(bytes) = self.remove(hash, chosen_at)? {
                gone.count(bytes);
            }
        }
        gone.bytes_left = self.size();
        Ok(gone)
    }

    /// Copies what was let go from where it is said to be. Returns false if something else is there by now.
    /// Durable after the next [`Store::flush`].
    pub fn take_again(&self, path: &Path, artifact: Artifact) -> Result<bool, AddError> {
        let added = match artifact.kind {
            ArtifactKind::Directory => self.add_tree(path),
            ArtifactKind::File | ArtifactKind::Program => self.add_file(path),
        };
        Ok(added?.hash == artifact.hash)
    }
}

#[cfg(test)]
mod tests;
