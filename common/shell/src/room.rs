//! Free space on a daemon's disk.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::Bytes;

/// Bytes that must be free on the disk of a daemon that accepts work: a long definition, and room
/// for the journal to move it into its store.
const FREE_BYTES_MIN: u64 = 16 << 20;

/// Bytes that must be free until a full disk counts as having room again, so that the state does
/// not oscillate.
const FREE_BYTES_AGAIN: u64 = 24 << 20;

/// The free space of a daemon, as last measured.
#[derive(Debug)]
pub struct Room {
    journal: PathBuf,
    reserve: Bytes,
    /// Bytes that were free beside the reserve at the last measurement; none before the first.
    free: Option<u64>,
    lack: Lack,
}

/// The reason why there is no room, shared between copies.
#[derive(Clone, Debug, Default)]
pub struct Lack(Arc<Mutex<Option<String>>>);

impl Lack {
    /// The reason why there is no room; none if there is room.
    pub fn why(&self) -> Option<String> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        // Nothing panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room {
    /// The room on the disk of a journal with such a reserve.
    pub fn of(journal: &Path, reserve: Bytes) -> Room {
        Room {
            journal: journal.to_owned(),
            reserve,
            free: None,
            lack: Lack::default(),
        }
    }

    /// The shared reason, updated by each [`Room::look`].
    pub fn lack(&self) -> &Lack {
        &self.lack
    }

    /// The largest record that fits; none if the longest message does.
    pub fn largest(&self) -> Option<Bytes> {
        let largest = journal::commit_bytes_max(self.free?);
        let is_less = largest < wire::MESSAGE_BYTES_MAX as u64;
        is_less.then_some(Bytes(largest))
    }

    /// Measures. Returns true if the answer has changed, and logs the change. A failed measurement
    /// changes nothing.
    pub fn look(&mut self) -> bool {
        let Ok(free) = journal::room(&self.journal, self.reserve.0) else {
            return false;
        };
        self.free = Some(free);
        let mut lack = self.lack.lock();
        let needed = match *lack {
            Some(_) => FREE_BYTES_AGAIN,
            None => FREE_BYTES_MIN,
        };
        let is_full = free < needed;
        if is_full == lack.is_some() {
            return false;
        }
        *lack = is_full.then(|| {
            let (free, needed) = (Bytes(free), Bytes(FREE_BYTES_AGAIN));
            let disk = self.journal.display();
            format!("its disk is full: {free} are free at {disk}, {needed} are needed")
        });
        match &*lack {
            Some(why) => tracing::warn!(why, "nothing more is taken"),
            None => tracing::info!("there is room on the disk again"),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_full_where_less_is_free_than_is_needed_and_what_the_reserve_lacks() {
        let dir = tempfile::TempDir::new().unwrap();
        let mut room = Room::of(dir.path(), Bytes(0));
        assert!(!room.look());
        assert_eq!(room.lack().why(), None);
        // No disk has that much.
        let mut room = Room::of(dir.path(), Bytes(u64::MAX));
        assert!(room.look());
        let why = room.lack().clone().why().unwrap();
        assert!(
            why.starts_with("its disk is full: 0 B are free at "),
            "{why}"
        );
        assert!(!room.look());
        room.reserve = Bytes(0);
        assert!(room.look());
        assert_eq!(room.lack().why(), None);
    }
}
