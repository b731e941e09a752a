//! Reading blobs and trees.

use std::fs::File;
use std::io::{self, Read};

use model::{Artifact, ArtifactKind, Bytes, Hash};
use rustix::fs::{Mode, OFlags};

use crate::index::Entry;
use crate::store::{Inner, blob_name};
use crate::{LISTING_BYTES_MAX, Listing, ListingError, Store};

/// Why a blob could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is not here, or was damaged and has been set aside.
    #[error("the blob {hash} is damaged or gone")]
    Missing {
        /// Its hash.
        hash: Hash,
    },
    /// It is larger than the caller's limit.
    #[error("blob {hash} has {bytes} bytes; at most {bytes_max} are read")]
    TooLarge {
        /// Its hash.
        hash: Hash,
        /// Its size.
        bytes: u64,
        /// The limit.
        bytes_max: u64,
    },
    /// The disk failed.
    #[error("could not read blob {hash}")]
    Read {
        /// Its hash.
        hash: Hash,
        /// The system's error.
        source: io::Error,
    },
    /// It is no listing of a directory.
    #[error("blob {hash} is not a directory")]
    Listing {
        /// Its hash.
        hash: Hash,
        /// The error.
        source: ListingError,
    },
}

impl Store {
    /// The content of a blob, checked against its hash.
    pub fn read(&self, hash: Hash, bytes_max: u64) -> Result<Vec<u8>, ReadError> {
        let failed = |source| ReadError::Read { hash, source };
        let missing = ReadError::Missing { hash };
        let (file, entry) = self.inner.open_blob(hash).map_err(failed)?.ok_or(missing)?;
        self.inner.used(&[hash]);
        let bytes = entry.bytes;
        if bytes > bytes_max {
            return Err(ReadError::TooLarge {
                hash,
                bytes,
                bytes_max,
            });
        }
        let mut content = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
        file.take(bytes + 1)
            .read_to_end(&mut content)
            .map_err(failed)?;
        if *blake3::hash(&content).as_bytes() != hash.0 {
            self.inner.set_aside(hash, entry);
            return Err(ReadError::Missing { hash });
        }
        Ok(content)
    }

    /// Opens a blob for reading, and returns its size: large ones are sent from this file. Its
    /// content is not checked; the descriptor stays valid if the blob is evicted meanwhile.
    pub fn open_blob(&self, hash: Hash) -> Result<(File, Bytes), ReadError> {
        match self.inner.open_blob(hash) {
            Ok(Some((file, entry))) => {
                self.inner.used(&[hash]);
                Ok((file, Bytes(entry.bytes)))
            }
            Ok(None) => Err(ReadError::Missing { hash }),
            Err(source) => Err(ReadError::Read { hash, source }),
        }
    }

    /// The files and empty directories of a tree, sorted by path.
    pub fn listing(&self, hash: Hash) -> Result<Listing, ReadError> {
        let text = self.read(hash, LISTING_BYTES_MAX)?;
        Listing::parse(&text).map_err(|source| ReadError::Listing { hash, source })
    }

    /// The blobs without which the artifact cannot be placed and that are not here. If the listing
    /// of a directory is missing, only that is returned.
    pub fn missing(&self, artifact: Artifact) -> Result<Vec<Hash>, ReadError> {
        let mut wanted = vec![artifact.hash];
        if artifact.kind == ArtifactKind::Directory {
            match self.listing(artifact.hash) {
                Ok(listing) => wanted.extend(listing.files().map(|(_, file)| file.hash)),
                Err(ReadError::Missing { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        wanted.retain(|hash| !self.contains(*hash));
        wanted.sort_unstable();
        wanted.dedup();
        Ok(wanted)
    }
}

impl Inner {
    /// The file of a blob and its entry; none if it is not here or has another size than before.
    pub(crate) fn open_blob(&self, hash: Hash) -> io::Result<Option<(File, Entry)>> {
        let Some(entry) = self.index().get(hash) else {
            return Ok(None);
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.blobs, blob_name(hash), flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(rustix::io::Errno::NOENT) => {
                self.set_aside(hash, entry);
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        if file.metadata()?.len() != entry.bytes {
            self.set_aside(hash, entry);
            return Ok(None);
        }
        Ok(Some((file, entry)))
    }
}
