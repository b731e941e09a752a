//! The containers of podman that may be there: each is kept in a file of the state directory from before its start until
//! it is known to be gone, so that none is left over, whoever is killed.
//!
//! podman removes the container of a command that ends by itself. After a kill, this program removes it, started once
//! more as the account of the command. While the executor runs, it does that beside its commands, also for what an
//! earlier one has left. When it has ended, the guardian does.

use std::collections::VecDeque;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use model::{Mono, Span};
use rustix::event::poll;
use rustix::time::Timespec;

use crate::clock;
use crate::container::{REMOVAL_ARGUMENT, Removal};
use crate::containment::warn;
use crate::program::ARGUMENT;

/// The directory of the files, in the state directory.
const DIRECTORY: &str = "containers";

/// Containers that are removed at once: podman takes a tenth of a second of a core for each.
const REMOVALS_MAX: usize = 4;

/// Interval of looking for the end of a removal.
const LOOK: Span = Span::from_millis(20);

/// Time until a removal that failed is tried again, and the number of tries of one executor.
const AGAIN: Span = Span::from_secs(5);
const TRIES_MAX: usize = 5;

/// Time for which the guardian removes containers. Another executor of the same state directory removes the rest.
const GUARDIAN_MAX: Span = Span::from_secs(30);

/// The containers; see the module.
pub(crate) struct Kept {
    records: Records,
    due: VecDeque<Due>,
    removing: Vec<(Child, Due)>,
}

/// A container to remove.
struct Due {
    name: String,
    at: Mono,
    n_tries: usize,
}

impl Kept {
    /// The containers of a state directory. Those of an earlier executor are removed first.
    pub(crate) fn open(records: Records) -> Kept {
        let due = records.names().into_iter().map(|name| Due {
            name,
            at: Mono(0),
            n_tries: 0,
        });
        Kept {
            due: due.collect(),
            removing: Vec::new(),
            records,
        }
    }

    /// Keeps a container that is about to be made.
    pub(crate) fn keep(&self, removal: &Removal) -> io::Result<()> {
        self.records.write(removal)
    }

    /// Forgets a container that is gone.
    pub(crate) fn forget(&self, name: &str) {
        self.records.remove(name);
    }

    /// Has a container removed that may be there though nothing of it runs.
    pub(crate) fn remove(&mut self, name: String) {
        self.due.push_back(Due {
            name,
            at: Mono(0),
            n_tries: 0,
        });
    }

    /// Collects removals that have ended, and starts others.
    pub(crate) fn tick(&mut self, now: Mono) {
        for (mut child, mut due) in std::mem::take(&mut self.removing) {
            match child.try_wait() {
                Ok(None) => self.removing.push((child, due)),
                Ok(Some(status)) if status.success() => self.records.remove(&due.name),
                Ok(Some(_)) | Err(_) => {
                    due.n_tries += 1;
                    if due.n_tries < TRIES_MAX {
                        due.at = now + AGAIN;
                        self.due.push_back(due);
                    } else {
                        let name = due.name;
                        warn(&format!(
                            "could not remove the container {name}: `podman rm --force {name}` does"
                        ));
                    }
                }
            }
        }
        let n_free = REMOVALS_MAX - self.removing.len();
        for _ in 0..n_free {
            let Some(at) = self.due.iter().position(|due| due.at <= now) else {
                break;
            };
            let Some(due) = self.due.remove(at) else {
                break;
            };
            if let Some(child) = self.records.start_removal(&due.name) {
                self.removing.push((child, due));
            }
        }
    }

    /// When [`Kept::tick`] is due; none while there is nothing to remove.
    pub(crate) fn due(&self, now: Mono) -> Option<Mono> {
        let look = (!self.removing.is_empty()).then_some(now + LOOK);
        let next = self.due.iter().map(|due| due.at).min();
        let next = next.filter(|_| self.removing.len() < REMOVALS_MAX);
        look.into_iter().chain(next).min()
    }

    /// The processes that remove containers, which are children of this one and no commands.
    pub(crate) fn processes(&self) -> impl Iterator<Item = i32> {
        self.removing
            .iter()
            .map(|(child, _)| child.id().cast_signed())
    }
}

/// The files of the containers.
#[derive(Clone, Debug)]
pub(crate) struct Records {
    directory: PathBuf,
    /// The path of this program; none where it is not text, and no command is in a container.
    program: Option<String>,
}

impl Records {
    pub(crate) fn of(state: &Path, program: Option<String>) -> Records {
        let directory = state.join(DIRECTORY);
        Records { directory, program }
    }

    /// Removes the containers that an executor which has ended has left, for some time.
    pub(crate) fn remove_all(self) {
        let give_up: Mono = clock::mono() + GUARDIAN_MAX;
        let mut kept = Kept::open(self);
        loop {
            let now = clock::mono();
            kept.tick(now);
            if kept.due.is_empty() && kept.removing.is_empty() || now >= give_up {
                return;
            }
            let pause = Timespec {
                tv_sec: 0,
                tv_nsec: LOOK.0 as i64 * 1_000,
            };
            // A poll of nothing is a pause.
            let _ = poll(&mut [], Some(&pause));
        }
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        names
    }

    /// Without a flush: what a power cut takes with it, podman knows to have ended.
    fn write(&self, removal: &Removal) -> io::Result<()> {
        let made = DirBuilder::new().mode(0o700).create(&self.directory);
        match made {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
        fs::write(
            self.directory.join(&removal.name),
            removal.arguments().join("\0"),
        )
    }

    fn remove(&self, name: &str) {
        // One that stays is removed once more, by the next executor.
        let _ = fs::remove_file(self.directory.join(name));
    }

    /// How to remove a container; none where that cannot be read.
    fn read(&self, name: &str) -> Option<Removal> {
        let text = fs::read_to_string(self.directory.join(name)).ok()?;
        let removal = Removal::parse(text.split('\0').map(str::to_owned));
        removal.filter(|removal| removal.name == name)
    }

    /// Starts this program to remove a container. None where it cannot be started, or no record says how.
    fn start_removal(&self, name: &str) -> Option<Child> {
        let Some(removal) = self.read(name) else {
            self.remove(name);
            return None;
        };
        let started = Command::new(self.program.as_ref()?)
            .args([ARGUMENT, REMOVAL_ARGUMENT])
            .args(removal.arguments())
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        let started = started.inspect_err(|error| {
            warn(&format!("could not remove the container {name}: {error}"));
        });
        started.ok()
    }
}

#[cfg(test)]
mod tests;
