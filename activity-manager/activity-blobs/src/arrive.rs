//! A blob that arrives in pieces from another machine, with a known hash.

use std::fs::File;
use std::io;

use model::Hash;

use crate::{Store, sparse};

/// A partly received blob, which is not visible. Dropping it discards it.
#[derive(Debug)]
pub struct Arriving {
    store: Store,
    hash: Hash,
    /// Its name in `tmp/`.
    name: String,
    file: File,
    hasher: blake3::Hasher,
    bytes: u64,
}

/// Why a blob could not be received.
#[derive(Debug, thiserror::Error)]
pub enum ArriveError {
    /// The content does not match the hash, and is discarded.
    #[error("{bytes} bytes came that are not blob {hash}")]
    Corrupt {
        /// The hash.
        hash: Hash,
        /// Its length.
        bytes: u64,
    },
    /// It could not be written.
    #[error("could not write blob {hash}")]
    Write {
        /// The hash.
        hash: Hash,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

impl Store {
    /// Begins to receive a blob.
    pub fn receive(&self, hash: Hash) -> Result<Arriving, ArriveError> {
        let draft = self.inner.begin_draft();
        let (name, file) = draft.map_err(|source| ArriveError::Write { hash, source })?;
        Ok(Arriving {
            store: self.clone(),
            hash,
            name,
            file,
            hasher: blake3::Hasher::new(),
            bytes: 0,
        })
    }
}

impl Arriving {
    /// Its name.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// Number of received bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes the next bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), ArriveError> {
        let written = sparse::write_sparse(&self.file, bytes, self.bytes);
        written.map_err(|source| ArriveError::Write {
            hash: self.hash,
            source,
        })?;
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Makes the blob visible, if it matches its hash. Not durable before [`Store::flush`].
    pub fn finish(self) -> Result<(), ArriveError> {
        let (hash, bytes) = (self.hash, self.bytes);
        if *self.hasher.finalize().as_bytes() != hash.0 {
            return Err(ArriveError::Corrupt { hash, bytes });
        }
        // It may end with a hole.
        let inner = &self.store.inner;
        let whole = self.file.set_len(bytes);
        let published = whole.and_then(|()| inner.publish(&self.name, &self.file, hash, bytes));
        published.map_err(|source| ArriveError::Write { hash, source })
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        self.store.inner.remove_draft(&self.name);
    }
}

#[cfg(test)]
mod tests;
