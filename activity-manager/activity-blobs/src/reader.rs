//! Reading a store that another program may have open.

use std::path::Path;

use model::{Artifact, Bytes};

use crate::{OpenError, PlaceError, Store};

/// The blobs of one directory that were durable when this was opened, without a lock. It changes
/// nothing; blobs that the owner evicts meanwhile are missing.
#[derive(Debug)]
pub struct Reader(Store);

impl Reader {
    /// Opens the store in an existing directory. Costs a `stat` for each blob.
    pub fn open(dir: &Path) -> Result<Reader, OpenError> {
        Store::open_to_read(dir).map(Reader)
    }

    /// Returns true if all blobs of a file or a directory are here.
    pub fn has(&self, artifact: Artifact) -> bool {
        let missing = self.0.missing(artifact);
        missing.is_ok_and(|missing| missing.is_empty())
    }

    /// The size on the disk of the blobs that these do not need: what an eviction would free that spares
    /// them alone. A directory needs its files.
    pub fn size_without(&self, needed: &[Artifact]) -> Bytes {
        Bytes(self.0.size().0.saturating_sub(self.0.stored_of(needed)))
    }

    /// Writes a file or a directory where a user wants it, as [`Store::export`] does.
    pub fn export(&self, artifact: Artifact, dest: &Path) -> Result<(), PlaceError> {
        self.0.export(artifact, dest)
    }
}

#[cfg(test)]
mod tests;
