//! Verification that a blob still matches its hash. Disks and file systems change bytes silently,
//! and people delete files; such a blob is never served.
//!
//! Small blobs are hashed at each use: reading them costs about as much. A larger blob is hashed
//! again when its inode has changed since it was hashed last, and otherwise by [`Store::scrub`],
//! slowly.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

use model::{Bytes, Hash};

use crate::index::Entry;
use crate::sparse::{self, CopyFailed};
use crate::store::Inner;
use crate::{ReadError, Store};

/// Blobs up to this many bytes are hashed each time that they are placed or served, which takes
/// some tens of milliseconds at most.
pub const ALWAYS_VERIFIED_BYTES_MAX: u64 = 64 << 20;

/// Shows that nobody has written to a file since it was hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    inode: (u64, u64),
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// The result of [`Store::verify`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verified {
    /// The blob matches its hash.
    Sound,
    /// It did not match, and is not in the store any more.
    Damaged,
    /// It is not in the store.
    Missing,
}

impl Stamp {
    pub(crate) fn of(file: &File) -> io::Result<Stamp> {
        let metadata = file.metadata()?;
        Ok(Stamp {
            inode: (metadata.dev(), metadata.ino()),
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    /// Returns true if nobody has written to the file between this stamp and a later one; its names
    /// and its mode may have changed.
    pub(crate) fn has_content_of(self, later: Stamp) -> bool {
        let Stamp { changed, .. } = later;
        Stamp { changed, ..self } == later
    }
}

impl Store {
    /// Hashes a blob again, whatever its size. A damaged one is moved to `damaged/` and is missing
    /// from there on.
    pub fn verify(&self, hash: Hash) -> Result<Verified, ReadError> {
        let failed = |source| ReadError::Read { hash, source };
        let was_here = self.contains(hash);
        let Some((file, entry)) = self.inner.open_blob(hash).map_err(failed)? else {
            return Ok(if was_here {
                Verified::Damaged
            } else {
                Verified::Missing
            });
        };
        match self.inner.hash_again(hash, &file, entry).map_err(failed)? {
            true => Ok(Verified::Sound),
            false => Ok(Verified::Damaged),
        }
    }

    /// Opens a blob to serve it, and returns its size, if it is sound as far as
    /// [`ALWAYS_VERIFIED_BYTES_MAX`] demands. The descriptor stays valid if the blob is evicted
    /// meanwhile.
    pub fn open_sound(&self, hash: Hash) -> Result<(File, Bytes), ReadError> {
        let failed = |source| ReadError::Read { hash, source };
        let missing = ReadError::Missing { hash };
        let (file, entry) = self.inner.open_blob(hash).map_err(failed)?.ok_or(missing)?;
        self.inner.used(&[hash]);
        let stamp = Stamp::of(&file).map_err(failed)?;
        let is_sound = !self.inner.needs_hash(hash, entry, stamp)
            || self.inner.hash_again(hash, &file, entry).map_err(failed)?;
        if is_sound {
            Ok((file, Bytes(entry.bytes)))
        } else {
            Err(ReadError::Missing { hash })
        }
    }

    /// [`Store::verify`] of a blob that nobody waits for: `goes_on` gets the number of bytes read
    /// since its last call, and may wait. None if it returns false.
    pub fn scrub(
        &self,
        hash: Hash,
        goes_on: &mut dyn FnMut(Bytes) -> bool,
    ) -> Result<Option<Verified>, ReadError> {
        let failed = |source| ReadError::Read { hash, source };
        let Some((file, entry)) = self.inner.open_blob(hash).map_err(failed)? else {
            return Ok(Some(Verified::Missing));
        };
        let stamp = Stamp::of(&file).map_err(failed)?;
        let read = sparse::hash_slowly(&file, &mut |bytes| goes_on(Bytes(bytes)));
        let is_sound = match read {
            Ok(None) => return Ok(None),
            Ok(Some(found)) => found == hash,
            Err(CopyFailed::Read(error) | CopyFailed::Write(error)) if is_of_disk(&error) => false,
            Err(CopyFailed::Read(error) | CopyFailed::Write(error)) => return Err(failed(error)),
        };
        if is_sound {
            self.inner.note_sound(hash, entry, stamp);
            return Ok(Some(Verified::Sound));
        }
        self.inner.set_aside(hash, entry);
        Ok(Some(Verified::Damaged))
    }

    /// The next blob to scrub after `after`, in the order of hashes, and its size: one of those
    /// that are hashed only when their inode has changed. None after the last one.
    pub fn next_to_scrub(&self, after: Option<Hash>) -> Option<(Hash, Bytes)> {
        let index = self.inner.index();
        index.first_larger(after, ALWAYS_VERIFIED_BYTES_MAX)
    }
}

impl Inner {
    /// Returns true if a blob must be hashed before it is used.
    pub(crate) fn needs_hash(&self, hash: Hash, entry: Entry, stamp: Stamp) -> bool {
        entry.bytes <= ALWAYS_VERIFIED_BYTES_MAX || self.index().stamp(hash) != Some(stamp)
    }

    /// Records that a blob matches its hash; `stamp` was taken from its file before it was read.
    pub(crate) fn note_sound(&self, hash: Hash, entry: Entry, stamp: Stamp) {
        if entry.bytes > ALWAYS_VERIFIED_BYTES_MAX {
            self.index().set_stamp(hash, entry, stamp);
        }
    }

    /// Hashes an open blob. A damaged or unreadable one is set aside.
    fn hash_again(&self, hash: Hash, file: &File, entry: Entry) -> io::Result<bool> {
        let stamp = Stamp::of(file)?;
        let is_sound = match sparse::hash(file) {
            Ok((found, _)) => found == hash,
            Err(CopyFailed::Read(error) | CopyFailed::Write(error)) if is_of_disk(&error) => false,
            Err(CopyFailed::Read(error) | CopyFailed::Write(error)) => return Err(error),
        };
        if is_sound {
            self.note_sound(hash, entry, stamp);
        } else {
            self.set_aside(hash, entry);
        }
        Ok(is_sound)
    }
}

/// Returns true if the disk has lost written data.
pub(crate) fn is_of_disk(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let lost = [Errno::IO, Errno::UCLEAN, Errno::BADMSG, Errno::NODATA];
    error
        .raw_os_error()
        .is_some_and(|number| lost.iter().any(|one| one.raw_os_error() == number))
}

#[cfg(test)]
mod tests;
