//! Space reserved on a disk for writes when it is full: a file without content that is shortened as
//! far as needed. It grows again when there is enough space.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate, statvfs};

/// The file's name in the journal's directory.
const RESERVE_FILE: &str = "reserve";

/// The reserve of an open journal.
pub(crate) struct Reserve {
    /// None if the file system does not support it.
    file: Option<File>,
    /// Its intended size in bytes.
    bytes: u64,
    /// Its present size in bytes.
    held: u64,
}

impl Reserve {
    /// Opens the reserve in a journal's directory. If the file system does not support one, the
    /// journal is opened nevertheless.
    pub(crate) fn open(dir: &Path, bytes: u64) -> Reserve {
        let mut reserve = Reserve {
            file: None,
            bytes,
            held: 0,
        };
        if bytes > 0 {
            let mut options = OpenOptions::new();
            let options = options.write(true).create(true).truncate(false);
            reserve.file = options.open(dir.join(RESERVE_FILE)).ok();
            reserve.held = length(dir).min(bytes);
        }
        reserve
    }

    /// Releases a quarter of it, so that a program can start on a full disk, which writes some
    /// other files too.
    pub(crate) fn make_room_to_start(&mut self, dir: &Path) {
        self.make_room(dir, self.bytes / 4);
    }

    /// Releases so much that `bytes` can be written, as far as it can.
    pub(crate) fn make_room(&mut self, dir: &Path, bytes: u64) {
        let lacking = free(dir).map_or(0, |free| bytes.saturating_sub(free));
        let Some(file) = self.file.as_ref().filter(|_| lacking > 0 && self.held > 0) else {
            return;
        };
        let left = self.held.saturating_sub(lacking);
        // Space that could not be released is still there; then the write fails.
        if file.set_len(left).and_then(|()| file.sync_all()).is_ok() {
            self.held = left;
        }
    }

    /// Takes released space back, once twice as much is free.
    pub(crate) fn fill_up(&mut self, dir: &Path) {
        let lacking = self.bytes.saturating_sub(self.held);
        let Some(file) = self.file.as_ref().filter(|_| lacking > 0) else {
            return;
        };
        let has_room = free(dir).is_ok_and(|free| free >= lacking.saturating_mul(2));
        if !has_room {
            return;
        }
        match fallocate(file, FallocateFlags::empty(), 0, self.bytes) {
            Ok(()) => self.held = self.bytes,
            // Tried again at the next opening, because it depends on the file system.
            Err(_) => self.file = None,
        }
    }
}

/// Bytes that can be written on the disk of a journal, without the part that its reserve of this
/// size has released.
pub fn room(dir: &Path, reserve_bytes: u64) -> io::Result<u64> {
    let lacking = reserve_bytes.saturating_sub(length(dir));
    Ok(free(dir)?.saturating_sub(lacking))
}

fn length(dir: &Path) -> u64 {
    std::fs::metadata(dir.join(RESERVE_FILE)).map_or(0, |metadata| metadata.len())
}

fn free(dir: &Path) -> io::Result<u64> {
    let found = statvfs(dir)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}
