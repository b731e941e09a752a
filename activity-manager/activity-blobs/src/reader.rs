//! Reading a store that another program may have open.

use std::path::Path;

use model::Artifact;

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

    /// Writes a file or a directory where a user wants it, as [`Store::export`] does.
    pub fn export(&self, artifact: Artifact, dest: &Path) -> Result<(), PlaceError> {
        self.0.export(artifact, dest)
    }
}

#[cfg(test)]
mod tests;
