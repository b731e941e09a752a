//! A lock by which one program at a time changes an authority's directory.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use model::{Span, Wall};

use super::files::{FileError, SECRET};

/// The file that is locked.
const LOCK: &str = "lock";

/// Number of tries to take the lock, and the pause between them: a change takes some flushes of a
/// disk.
const TRIES: u32 = 500;
const PAUSE: Duration = Duration::from_millis(10);

/// The lock of a directory. It ends when it is dropped and when the program ends.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock, waiting for some seconds while another program holds it.
    pub(super) fn take(directory: &Path) -> Result<Lock, FileError> {
        let path = directory.join(LOCK);
        let failed = |source| FileError::System {
            action: "lock",
            path: path.clone(),
            source,
        };
        let mut open = OpenOptions::new();
        open.write(true).create(true).truncate(false).mode(SECRET);
        let file = open.open(&path).map_err(failed)?;
        for _ in 0..TRIES {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
        Err(failed(std::io::Error::other("another program has it")))
    }
}

/// Identifies the version of a file, to notice that another program has replaced it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of a file. All missing files have the same one.
    pub(super) fn of(path: &Path) -> Stamp {
        let Ok(metadata) = path.metadata() else {
            return Stamp::default();
        };
        Stamp {
            inode: metadata.ino(),
            bytes: metadata.len(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Returns true if the last change was so long ago.
    pub(super) fn is_older(&self, age: Span, now: Wall) -> bool {
        let (seconds, nanoseconds) = self.changed;
        let micros = seconds.saturating_mul(1_000_000) + nanoseconds / 1_000;
        u64::try_from(micros).is_ok_and(|changed| Wall(changed) + age <= now)
    }
}
