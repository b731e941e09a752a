//! Blobs of other stores: those of other state directories of the same user.
//!
//! A durable blob never changes, so a store takes it over by a second name, where the file system can give it
//! one: it takes no space, and stays when the other store removes its own. Nothing of the other store is
//! changed, and whoever has it open need not know.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use model::{Artifact, ArtifactKind, Hash};
use rustix::fs::OFlags;

use crate::store::{SEALED_MODE, Store, blob_name};

/// Bits of a file's mode that are permissions.
const PERMISSIONS: u32 = 0o7777;

impl Store {
    /// Takes a file, or a directory with all its files, from the store in another directory, which another
    /// program may have open. Returns false where that store does not have all of it, or has it not durably.
    /// What was taken is not verified here ([`Store::open_sound`] is), and is durable after the next
    /// [`Store::flush`].
    pub fn take_from(&self, other: &Path, artifact: Artifact) -> io::Result<bool> {
        if !self.take_blob(other, artifact.hash)? {
            return Ok(false);
        }
        if artifact.kind != ArtifactKind::Directory {
            return Ok(true);
        }
        let Ok(listing) = self.listing(artifact.hash) else {
            return Ok(false);
        };
        for (_, file) in listing.files() {
            if !self.take_blob(other, file.hash)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn take_blob(&self, other: &Path, hash: Hash) -> io::Result<bool> {
        if self.inner.is_known(hash) {
            return Ok(true);
        }
        let path = other.join("blobs").join(blob_name(hash));
        let flags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).bits();
        let opened = File::options()
            .read(true)
            .custom_flags(flags as i32)
            .open(&path);
        let file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        let stat = rustix::fs::fstat(&file)?;
        let is_sealed = stat.st_mode & PERMISSIONS == SEALED_MODE;
        let is_own = stat.st_uid == rustix::process::geteuid().as_raw();
        if !is_sealed || !is_own || !file.metadata()?.is_file() {
            return Ok(false);
        }
        if let Some(draft) = self.inner.draft_of(&file)? {
            draft.publish(hash, u64::try_from(stat.st_size).unwrap_or_default())?;
            return Ok(true);
        }
        // Another file system, or one that has given it as many names as it can.
        let copied = self.add_file(&path).map_err(io::Error::other)?;
        Ok(copied.hash == hash)
    }
}

#[cfg(test)]
mod tests;
