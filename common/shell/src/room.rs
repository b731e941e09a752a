//! Whether a daemon's disk has room for more than what is under way.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::Bytes;

/// Bytes that have to be free on the disk of a daemon that takes work: a long definition, and what
/// a journal needs to bring it into its store.
const FREE_BYTES_MIN: u64 = 16 << 20;

/// Bytes that have to be free until a disk that was full counts as one with room, so that it does
/// not go to and fro.
const FREE_BYTES_AGAIN: u64 = 24 << 20;

/// What is known of the room that a daemon has.
#[derive(Debug)]
pub struct Room {
    journal: PathBuf,
    reserve: Bytes,
    /// Bytes that were free beside that the last time; none where nobody has looked.
    free: Option<u64>,
    lack: Lack,
}

/// Why there is no room, where there is none; whoever has a copy of it knows what the daemon knows.
#[derive(Clone, Debug, Default)]
pub struct Lack(Arc<Mutex<Option<String>>>);

impl Lack {
    /// Why there is no room; none where there is.
    pub fn why(&self) -> Option<String> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        // Nothing panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room {
    /// The room on the disk of a journal that keeps such a reserve.
    pub fn of(journal: &Path, reserve: Bytes) -> Room {
        Room {
            journal: journal.to_owned(),
            reserve,
            free: None,
            lack: Lack::default(),
        }
    }

    /// Why there is none, as it is known after each [`Room::look`].
    pub fn lack(&self) -> &Lack {
        &self.lack
    }

    /// The largest of what may be recorded at once; none where that may be as large as messages are.
    pub fn largest(&self) -> Option<Bytes> {
        let largest = journal::commit_bytes_max(self.free?);
        let is_less = largest < wire::MESSAGE_BYTES_MAX as u64;
        is_less.then_some(Bytes(largest))
    }

    /// Looks. Whether it has changed since the last time, which is logged. What cannot be looked at
    /// is as it was.
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
