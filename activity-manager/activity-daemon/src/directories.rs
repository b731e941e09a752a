//! The working directories of attempts.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use activity_core::{Trouble, Workplace};
use model::{AttemptId, FaultName, ProcessId};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Timespec, Timestamps, mkdirat, open, statat, utimensat,
};
use rustix::io::Errno;
use thiserror::Error;

use crate::workers::name_of;

/// Directories of processes that are kept open, so that an attempt's is created by one system call.
const OPEN_PROCESSES_MAX: usize = 16;

/// Unused directories of a process that are kept: more than attempts are staged at a time.
const SPARE_MAX: usize = 256;

/// Their mode: only the manager's own user has access.
const MODE: Mode = Mode::from_raw_mode(0o700);

/// The modification time of an unused directory: the beginning of 2000.
const UNTOUCHED: Timespec = Timespec {
    tv_sec: 946_684_800,
    tv_nsec: 0,
};

/// Why the directories of attempts cannot be used.
#[derive(Debug, Error)]
pub enum DirectoriesError {
    /// A directory could not be created or read.
    #[error("could not {action} {}", path.display())]
    Io {
        /// The operation that failed.
        action: &'static str,
        /// Its path.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// A command gets its directory as text.
    #[error("could not use {}: the path is not text", .0.display())]
    NotText(PathBuf),
}

/// The directory for attempts, in an activity manager's state directory.
pub fn work_directory(state: &Path) -> PathBuf {
    state.join("work")
}

/// The directory for environments that are made of files. It lies among those of attempts, to which
/// accounts of commands find their way, and has the name of no process.
pub(crate) fn environments_directory(state: &Path) -> PathBuf {
    work_directory(state).join("environments")
}

/// The fate of an unused directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Untouched {
    /// Another attempt of the process gets it.
    Again,
    /// It is removed: commands run as other accounts, and its user could have changed its
    /// modification time, or could have it open.
    Removed,
}

/// Creates the directories of attempts, `work/<process>/<number>`.
///
/// An unused directory may be given to another attempt of its process, because creating and
/// removing one costs more than a short command. Use shows in the modification time, which is set
/// to [`UNTOUCHED`] when the directory is created: the system changes it with every entry that is
/// added or removed.
pub(crate) struct Directories {
    root: String,
    untouched: Untouched,
    processes: BTreeMap<ProcessId, ProcessDirectories>,
}

/// The directories of one process.
struct ProcessDirectories {
    path: String,
    descriptor: OwnedFd,
    /// Larger than all existing ones.
    number_next: u32,
    /// Unused directories that no attempt has.
    spare: Vec<u32>,
}

impl Directories {
    /// Opens them in the manager's state directory, whose path is absolute. Empty ones of earlier
    /// epochs are removed.
    pub(crate) fn open(
        directory: &Path,
        untouched: Untouched,
    ) -> Result<Directories, DirectoriesError> {
        let root = work_directory(directory);
        let failed = |action| {
            let path = root.clone();
            move |source| DirectoriesError::Io {
                action,
                path,
                source,
            }
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&root)
            .map_err(failed("create"))?;
        for entry in fs::read_dir(&root).map_err(failed("read"))? {
            let entry = entry.map_err(failed("read"))?;
            // Directories with content stay, as intended.
            let _ = fs::remove_dir(entry.path());
        }
        match root.into_os_string().into_string() {
            Ok(root) => Ok(Directories {
                root,
                untouched,
                processes: BTreeMap::new(),
            }),
            Err(root) => Err(DirectoriesError::NotText(root.into())),
        }
    }

    /// Their common parent.
    pub(crate) fn root(&self) -> PathBuf {
        PathBuf::from(&self.root)
    }

    /// Gives an empty directory to an attempt.
    pub(crate) fn give(&mut self, attempt: AttemptId) -> Result<Workplace, Trouble> {
        let process = attempt.process;
        if let Some(place) = self.processes.get_mut(&process)
            && let Some(number) = place.spare.pop()
        {
            let directory = format!("{}/{number}", place.path);
            return Ok(Workplace { directory });
        }
        self.make(process).map_err(|error| {
            let message = format!(
                "could not make a directory in {}/{process}: {error}",
                self.root
            );
            Trouble {
                name: name_of(&error, FaultName::Staging),
                message,
            }
        })
    }

    /// Takes a directory back if it is unused. Returns false if it must be removed.
    pub(crate) fn take_back(&mut self, process: ProcessId, directory: &str) -> bool {
        if self.untouched == Untouched::Removed {
            return false;
        }
        let Some(place) = self.processes.get_mut(&process) else {
            return false;
        };
        if place.spare.len() >= SPARE_MAX {
            return false;
        }
        let number = directory
            .strip_prefix(&place.path)
            .and_then(|rest| rest.strip_prefix('/'));
        let Some(name) = number else { return false };
        let Ok(number) = name.parse() else {
            return false;
        };
        let is_untouched =
            statat(&place.descriptor, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| {
                stat.st_mtime == UNTOUCHED.tv_sec
                    && stat.st_mtime_nsec == 0
                    && Mode::from_raw_mode(stat.st_mode) == MODE
                    && FileType::from_raw_mode(stat.st_mode) == FileType::Directory
            });
        if is_untouched {
            place.spare.push(number);
        }
        is_untouched
    }

    fn make(&mut self, process: ProcessId) -> io::Result<Workplace> {
        let mut is_first_try = true;
        loop {
            let place = self.place(process)?;
            let number = place.number_next;
            let name = number.to_string();
            match mkdirat(&place.descriptor, name.as_str(), MODE) {
                Ok(()) => {
                    place.number_next = number.saturating_add(1);
                    let times = Timestamps {
                        last_access: UNTOUCHED,
                        last_modification: UNTOUCHED,
                    };
                    utimensat(&place.descriptor, name.as_str(), &times, AtFlags::empty())?;
                    return Ok(Workplace {
                        directory: format!("{}/{name}", place.path),
                    });
                }
                // Somebody has removed the process's directory, or created one in it.
                Err(Errno::NOENT | Errno::EXIST) if is_first_try => {
                    is_first_try = false;
                    self.processes.remove(&process);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn place(&mut self, process: ProcessId) -> io::Result<&mut ProcessDirectories> {
        if !self.processes.contains_key(&process) && self.processes.len() >= OPEN_PROCESSES_MAX {
            self.processes.pop_first();
        }
        match self.processes.entry(process) {
            Entry::Occupied(place) => Ok(place.into_mut()),
            Entry::Vacant(entry) => {
                let place = ProcessDirectories::open(format!("{}/{process}", self.root))?;
                Ok(entry.insert(place))
            }
        }
    }
}

impl ProcessDirectories {
    fn open(path: String) -> io::Result<ProcessDirectories> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)?;
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let descriptor = open(&path, flags, Mode::empty())?;
        let mut number_next = 1;
        for entry in fs::read_dir(&path)? {
            let number = entry?
                .file_name()
                .to_str()
                .and_then(|name| name.parse::<u32>().ok());
            number_next = number_next.max(number.unwrap_or(0).saturating_add(1));
        }
        Ok(ProcessDirectories {
            path,
            descriptor,
            number_next,
            spare: Vec::new(),
        })
    }
}

impl Drop for ProcessDirectories {
    fn drop(&mut self) {
        for number in &self.spare {
            let _ = fs::remove_dir(format!("{}/{number}", self.path));
        }
        // Directories with content stay, as intended.
        let _ = fs::remove_dir(&self.path);
    }
}

#[cfg(test)]
mod tests;
