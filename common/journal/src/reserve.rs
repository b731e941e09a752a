//! Room that is kept on a disk for what has to be written when there is none left: a file that holds
//! nothing, and gives way as far as is needed. It is filled up again when there is room enough.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate, statvfs};

/// The file's name in the journal's directory.
const RESERVE_FILE: &str = "reserve";

/// The reserve of an open journal.
pub(crate) struct Reserve {
    /// None where there cannot be one.
    file: Option<File>,
    /// Bytes that it should have.
    bytes: u64,
    /// Bytes that it has.
    held: u64,
}

impl Reserve {
    /// Opens the reserve in a journal's directory. Where the file system cannot keep any, the journal
    /// is opened nevertheless.
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

    /// Gives way so far that a program can start on a full disk, which writes a little of other kinds
    /// too: a quarter of all.
    pub(crate) fn make_room_to_start(&mut self, dir: &Path) {
        self.make_room(dir, self.bytes / 4);
    }

    /// Gives way so far that so many bytes can be written, where it has them.
    pub(crate) fn make_room(&mut self, dir: &Path, bytes: u64) {
        let lacking = free(dir).map_or(0, |free| bytes.saturating_sub(free));
        let Some(file) = self.file.as_ref().filter(|_| lacking > 0 && self.held > 0) else {
            return;
        };
        let left = self.held.saturating_sub(lacking);
        // What could not be given up is there still; then it is the write that fails.
        if file.set_len(left).and_then(|()| file.sync_all()).is_ok() {
            self.held = left;
        }
    }

    /// Takes back what it gave up, once there is more room than that: twice as much.
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
            // Tried again at the next opening, since it is a question of the file system.
            Err(_) => self.file = None,
        }
    }
}

/// Bytes that can be written on the disk of a journal beside what its reserve, which should have so
/// many, has given up.
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
