//! Making blobs durable, many at once.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::TryLockError;

use model::Hash;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::index::Entry;
use crate::store::{Inner, SEALED_MODE, blob_name, is_full, lock_of};
use crate::verify::{Stamp, is_of_disk};
use crate::{ALWAYS_VERIFIED_BYTES_MAX, Store};

/// Why blobs could not be made durable. After any of these errors but the first the store flushes no
/// more until it is opened again, because the system reports a lost write only once.
#[derive(Debug, thiserror::Error)]
pub enum FlushError {
    /// A blob could not be opened or sealed. The next flush tries again.
    #[error("could not open the blobs of `{path}` to make them durable")]
    Open {
        /// The store's directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The disk refused or lost a write.
    #[error("could not make the blobs of `{path}` durable")]
    Sync {
        /// The store's directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The disk had no space for written data.
    #[error("could not make the blobs of `{path}` durable: the disk is full")]
    DiskFull {
        /// The store's directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// An earlier flush failed.
    #[error("the blob store `{path}` has failed to flush before and has to be opened again")]
    Broken {
        /// The store's directory.
        path: PathBuf,
    },
}

/// The state of a running flush.
#[derive(Debug, Default)]
pub(crate) struct Flushing {
    is_broken: bool,
}

impl Store {
    /// Makes durable every blob that was added before the call, by any thread. A hash may be told
    /// to others only after this. Concurrent calls share one flush; without new blobs it costs
    /// nothing.
    pub fn flush(&self) -> Result<(), FlushError> {
        let path = || self.dir().to_path_buf();
        let mut flushing = lock_of(&self.inner.flushing);
        if flushing.is_broken {
            return Err(FlushError::Broken { path: path() });
        }
        let (fresh, has_new_directory) = self.inner.index().take_fresh();
        if fresh.is_empty() {
            if has_new_directory {
                self.inner.index().made_directory();
            }
            return Ok(());
        }
        let flushed = self.inner.make_durable(&fresh, has_new_directory);
        flushed.map_err(|failed| match failed {
            NotDurable::Unsynced(source) => {
                self.inner.index().give_back_fresh(fresh, has_new_directory);
                FlushError::Open {
                    path: path(),
                    source,
                }
            }
            NotDurable::Sync(source) => {
                flushing.is_broken = true;
                match is_full(&source) {
                    true => FlushError::DiskFull {
                        path: path(),
                        source,
                    },
                    false => FlushError::Sync {
                        path: path(),
                        source,
                    },
                }
            }
        })
    }

    /// Returns true if a flush has failed, so that the store must be opened again. It does not wait for
    /// a flush that runs.
    pub fn is_broken(&self) -> bool {
        match self.inner.flushing.try_lock() {
            Ok(flushing) => flushing.is_broken,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().is_broken,
            Err(TryLockError::WouldBlock) => false,
        }
    }
}

/// Why a flush stopped.
enum NotDurable {
    /// Something could not be opened or sealed, for another reason than the disk: no write is lost.
    Unsynced(io::Error),
    /// The disk refused or lost a write.
    Sync(io::Error),
}

impl NotDurable {
    fn unsynced(error: Errno) -> NotDurable {
        let error = error.into();
        match is_of_disk(&error) {
            true => NotDurable::Sync(error),
            false => NotDurable::Unsynced(error),
        }
    }

    fn sync(error: Errno) -> NotDurable {
        NotDurable::Sync(error.into())
    }
}

impl Inner {
    fn make_durable(&self, fresh: &[Hash], has_new_directory: bool) -> Result<(), NotDurable> {
        if fresh.len() <= ONE_BY_ONE_MAX {
            for hash in fresh {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                match rustix::fs::openat(&self.blobs, blob_name(*hash), flags, Mode::empty()) {
                    Ok(file) => rustix::fs::fdatasync(file).map_err(NotDurable::sync)?,
                    Err(Errno::NOENT) => {}
                    Err(error) => return Err(NotDurable::unsynced(error)),
                }
            }
            let shards: BTreeSet<u8> = fresh.iter().map(|hash| hash.0[0]).collect();
            for shard in shards {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let name = format!("{shard:02x}");
                match rustix::fs::openat(&self.blobs, name, flags, Mode::empty()) {
                    Ok(directory) => rustix::fs::fsync(directory).map_err(NotDurable::sync)?,
                    Err(Errno::NOENT) => {}
                    Err(error) => return Err(NotDurable::unsynced(error)),
                }
            }
            if has_new_directory {
                rustix::fs::fsync(&self.blobs).map_err(NotDurable::sync)?;
            }
        } else {
            rustix::fs::syncfs(&self.root).map_err(NotDurable::sync)?;
        }
        let sealed = Mode::from_raw_mode(SEALED_MODE);
        for hash in fresh {
            let name = blob_name(*hash);
            match rustix::fs::chmodat(&self.blobs, name, sealed, AtFlags::empty()) {
                // It is gone, because it was found to be damaged.
                Ok(()) | Err(Errno::NOENT) => self.index().seal(*hash),
                Err(error) => return Err(NotDurable::unsynced(error)),
            }
            self.stamp_written(*hash);
        }
        Ok(())
    }

    /// A blob that was hashed while it was written need not be hashed again at its first use.
    fn stamp_written(&self, hash: Hash) {
        let is_large = |entry: &Entry| entry.bytes > ALWAYS_VERIFIED_BYTES_MAX;
        let Some(entry) = self.index().get(hash).filter(is_large) else {
            return;
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.blobs, blob_name(hash), flags, Mode::empty());
        let stamp = opened
            .map_err(io::Error::from)
            .and_then(|file| Stamp::of(&file.into()));
        let hashed = self.index().stamp(hash);
        if let Ok(stamp) = stamp
            && hashed.is_none_or(|hashed| hashed.has_content_of(stamp))
        {
            self.note_sound(hash, entry, stamp);
        }
    }
}

/// Maximum number of blobs that are synced one by one, with two waits for the disk each (the file
/// and its directory) and no other writes. For more, one `syncfs` has one wait for all, although it
/// also writes others' data on the file system.
const ONE_BY_ONE_MAX: usize = 1;

#[cfg(test)]
mod tests;
