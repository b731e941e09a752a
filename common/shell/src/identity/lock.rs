//! One program at a time changes what an authority has in its directory.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use super::files::{FileError, SECRET};

/// The file that is locked.
const LOCK: &str = "lock";

/// How often it is tried, and how long that is waited for: a change takes some flushes of a disk.
const TRIES: u32 = 500;
const PAUSE: Duration = Duration::from_millis(10);

/// The lock of a directory. Dropping it gives it back, as the end of the program does.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes it, and waits for some seconds while another program has it.
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

/// By what it is seen that another program has replaced a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl Stamp {
    /// That of a file; the same for all that are not there.
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
}
