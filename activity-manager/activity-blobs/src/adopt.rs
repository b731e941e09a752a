//! Taking over a file that an ended command has left: it becomes a blob by a second name, so that its
//! bytes are not written again.
//!
//! The command has ended with everything that it has started, so nobody should write to the file any
//! more. Whoever does so all the same damages the blob as anybody would who may write to the store:
//! the next use finds out, as [`verify`](crate::verify) says.

use std::fs::File;
use std::io;

use model::Hash;
use rustix::fs::{Mode, Stat};

use crate::beneath::is_placed_link;
use crate::sparse;
use crate::store::{Inner, present};
use crate::verify::Stamp;

/// The mode of a blob that is not durable.
const DRAFT_MODE: u32 = 0o400;

impl Inner {
    /// Makes a blob of the file itself. Returns none where its content must be copied: the file has
    /// another name that stays, or is not the store's own, or lies on another file system. So must that of
    /// a program: its mode says that it is one, and it may be collected once more, by a link or after a
    /// restart.
    pub(crate) fn adopt(&self, file: &File, stat: &Stat) -> io::Result<Option<(Hash, u64)>> {
        let is_own = stat.st_uid == rustix::process::geteuid().as_raw();
        let is_program = stat.st_mode & 0o111 != 0;
        if !is_own || is_program || stat.st_nlink != 1 {
            return Ok(None);
        }
        let Some(draft) = self.draft_of(file)? else {
            return Ok(None);
        };
        rustix::fs::fchmod(file, Mode::from_raw_mode(DRAFT_MODE))?;
        // The time tells of the last use from here on.
        rustix::fs::futimens(file, &present())?;
        let before = Stamp::of(file)?;
        let (hash, bytes) = sparse::hash(file)?;
        draft.publish(hash, bytes)?;
        let entry = self.index().get(hash);
        if let Some(entry) = entry {
            self.note_sound(hash, entry, before);
        }
        Ok(Some((hash, bytes)))
    }

    /// The blob that a file is by another name: one that was placed as a link, and that a command passes
    /// on. None for any other file.
    pub(crate) fn linked(&self, file: &File, stat: &Stat) -> io::Result<Option<(Hash, u64)>> {
        if !is_placed_link(stat) {
            return Ok(None);
        }
        let (hash, bytes) = sparse::hash(file)?;
        let Some((blob, _)) = self.open_blob(hash)? else {
            return Ok(None);
        };
        let found = rustix::fs::fstat(&blob)?;
        let is_same = (found.st_dev, found.st_ino) == (stat.st_dev, stat.st_ino);
        Ok(is_same.then_some((hash, bytes)))
    }
}

#[cfg(test)]
mod tests;
