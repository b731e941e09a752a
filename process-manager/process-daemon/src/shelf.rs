//! Large processes that have ended, in files: they are seldom read, and would take memory for as long as
//! they are kept.
//!
//! A file is gone with the process or the manager. Nothing rests on it after a restart, since the journal
//! has the process, so nothing is flushed, and what a killed manager has left is removed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use process_core::{Shelf, Shelved};

/// The name of the directory beside the journal.
const DIRECTORY: &str = "ended";

/// Fewer bytes stay in memory: the process of some hundred activities.
const BYTES_MIN: usize = 64 << 10;

/// Files of a manager that has its directory for itself.
#[derive(Debug)]
pub(crate) struct FileShelf {
    directory: PathBuf,
    next: AtomicU64,
}

/// One file.
struct FileOnShelf {
    path: PathBuf,
    hash: blake3::Hash,
}

impl FileShelf {
    /// The shelf of a manager with this directory, whose journal is locked. It is empty.
    pub(crate) fn in_directory(directory: &Path) -> FileShelf {
        let directory = directory.join(DIRECTORY);
        // A file that stays is overwritten.
        let _ = fs::remove_dir_all(&directory);
        FileShelf {
            directory,
            next: AtomicU64::new(0),
        }
    }

    fn write(&self, bytes: &[u8]) -> io::Result<FileOnShelf> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if number == 0 {
            fs::create_dir_all(&self.directory)?;
        }
        // The file is removed by this also where writing fails.
        let on_shelf = FileOnShelf {
            path: self.directory.join(number.to_string()),
            hash: blake3::hash(bytes),
        };
        let mut options = File::options();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        options.open(&on_shelf.path)?.write_all(bytes)?;
        Ok(on_shelf)
    }
}

impl Shelf for FileShelf {
    fn put(&self, bytes: &[u8]) -> Option<Box<dyn Shelved>> {
        if bytes.len() < BYTES_MIN {
            return None;
        }
        match self.write(bytes) {
            Ok(on_shelf) => Some(Box::new(on_shelf)),
            Err(error) => {
                let directory = self.directory.display();
                tracing::warn!(%directory, %error, "a process that has ended stays in memory");
                None
            }
        }
    }
}

impl Shelved for FileOnShelf {
    fn read(&self) -> Vec<u8> {
        let path = self.path.display();
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) => panic!("could not read {path}, start the manager again: {error}"),
        };
        assert!(
            blake3::hash(&bytes) == self.hash,
            "{path} has changed, start the manager again"
        );
        bytes
    }
}

impl Drop for FileOnShelf {
    fn drop(&mut self) {
        // The next start removes a file that stays.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let Ok(entries) = fs::read_dir(directory.join(DIRECTORY)) else {
            return Vec::new();
        };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    #[test]
    fn bytes_are_on_the_shelf_until_they_are_dropped() {
        let directory = tempfile::TempDir::new().unwrap();
        let shelf = FileShelf::in_directory(directory.path());
        assert!(shelf.put(&vec![1; BYTES_MIN - 1]).is_none());
        assert!(names(directory.path()).is_empty());
        let (one, other) = (vec![1; BYTES_MIN], vec![2; 2 * BYTES_MIN]);
        let shelved = [&one, &other].map(|bytes| shelf.put(bytes).unwrap());
        assert_eq!(names(directory.path()).len(), 2);
        assert_eq!(shelved[0].read(), one);
        assert_eq!(shelved[1].read(), other);
        drop(shelved);
        assert!(names(directory.path()).is_empty());
    }

    #[test]
    fn a_manager_that_was_killed_leaves_nothing_behind_its_next_start() {
        let directory = tempfile::TempDir::new().unwrap();
        let killed = FileShelf::in_directory(directory.path());
        std::mem::forget(killed.put(&vec![1; BYTES_MIN]).unwrap());
        assert_eq!(names(directory.path()), ["0"]);
        let shelf = FileShelf::in_directory(directory.path());
        assert!(names(directory.path()).is_empty());
        let bytes = vec![2; BYTES_MIN];
        assert_eq!(shelf.put(&bytes).unwrap().read(), bytes);
    }

    #[test]
    fn without_a_place_bytes_stay_in_memory() {
        let directory = tempfile::TempDir::new().unwrap();
        fs::write(directory.path().join(DIRECTORY), "in the way").unwrap();
        let shelf = FileShelf::in_directory(directory.path());
        assert!(shelf.put(&vec![1; BYTES_MIN]).is_none());
    }

    #[test]
    #[should_panic = "has changed, start the manager again"]
    fn a_file_that_has_changed_is_not_believed() {
        let directory = tempfile::TempDir::new().unwrap();
        let shelf = FileShelf::in_directory(directory.path());
        let shelved = shelf.put(&vec![1; BYTES_MIN]).unwrap();
        fs::write(directory.path().join(DIRECTORY).join("0"), "else").unwrap();
        shelved.read();
    }
}
