//! A store that somebody else may have open, read beside them.

use std::path::Path;

use model::Artifact;

use crate::{OpenError, PlaceError, Store};

/// The blobs of one directory as they were when this was opened, without a lock: those that were
/// durable then. It changes nothing; what its owner evicts meanwhile is missing.
#[derive(Debug)]
pub struct Reader(Store);

impl Reader {
    /// Opens the store in a directory, which is there. Costs a `stat` for each blob.
    pub fn open(dir: &Path) -> Result<Reader, OpenError> {
        Store::open_to_read(dir).map(Reader)
    }

    /// Writes a file or a directory where a user wants it, as [`Store::export`] does.
    pub fn export(&self, artifact: Artifact, dest: &Path) -> Result<(), PlaceError> {
        self.0.export(artifact, dest)
    }
}

#[cfg(test)]
mod tests;
