//! State directories: where a process keeps its journal, its files and its logs, and who uses it.
//!
//! ```text
//! DIR/version       who wrote it
//! DIR/lock          locked by whoever uses it; its text says who and where it listens
//! DIR/gm pm am      the managers' own
//! DIR/results       outputs that are files
//! DIR/summary       what `xav list` shows of it, while nobody runs processes in it
//! DIR/garbage       there is something that nothing refers to any more
//! ```

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use journal::durable::{self, Unflushed};
use model::Span;
use thiserror::Error;

use self::version::{LAYOUT, Version};
use crate::summary_file;

mod version;

/// Bytes of `version` and `lock` that are looked at: each has two short lines.
const FILE_BYTES_MAX: u64 = 8 << 10;

/// The time limit for a reader to finish; reading the largest journals takes seconds.
const READER_PATIENCE: Span = Span::from_secs(20);

/// The pause between two checks whether the reader has finished.
const LOOK: Duration = Duration::from_millis(5);

/// A state directory that is there.
#[derive(Clone, Debug)]
pub(crate) struct StateDirectory {
    path: PathBuf,
    /// When it was made.
    made: SystemTime,
}

/// The leave to use a state directory, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    file: File,
    /// Where a run in it answers questions; empty for a reader.
    pub(crate) socket: PathBuf,
}

/// The present user of a state directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    /// Its operating-system process.
    pub(crate) pid: u32,
    /// Where it answers questions.
    pub(crate) socket: PathBuf,
}

/// Why a state directory cannot be used.
#[derive(Debug, Error)]
pub(crate) enum StateError {
    /// There is none.
    #[error("there is no state directory {}", path.display())]
    Missing {
        /// Where it should be.
        path: PathBuf,
    },
    /// It is something else.
    #[error("{} is not a state directory of xav", path.display())]
    Other {
        /// Where it should be.
        path: PathBuf,
    },
    /// A later program made it.
    #[error(
        "{} was made by xavantes {program} (layout {layout}), this program reads up to layout {LAYOUT}",
        path.display()
    )]
    Newer {
        /// The directory.
        path: PathBuf,
        /// The version of its program.
        program: String,
        /// Its layout.
        layout: u32,
    },
    /// Another program works in it.
    #[error("{} is in use by process {pid}", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The process.
        pid: u32,
    },
    /// The system refused something.
    #[error("could not {action} {}", path.display())]
    Io {
        /// The attempted action, as a verb.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

impl StateDirectory {
    /// Looks at a directory that should be one.
    pub(crate) fn open(path: &Path) -> Result<StateDirectory, StateError> {
        let path = match fs::canonicalize(path) {
            Ok(path) => path,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StateError::Missing {
                    path: path.to_owned(),
                });
            }
            Err(source) => {
                let path = path.to_owned();
                return Err(StateError::Io {
                    action: "look at",
                    path,
                    source,
                });
            }
        };
        let Version {
            layout,
            program,
            made,
        } = version::read_or_mend(&path)?;
        if layout > LAYOUT {
            return Err(StateError::Newer {
                path,
                program,
                layout,
            });
        }
        Ok(StateDirectory { path, made })
    }

    /// Opens it, or makes it where nothing is there, an empty directory, or one that a run had begun
    /// to make. The second answer is there where it was made: flushed before anybody is told of a
    /// process in it, so that it is found after a power cut.
    pub(crate) fn open_or_make(
        path: &Path,
    ) -> Result<(StateDirectory, Option<Unflushed>), StateError> {
        let failed = |action| {
            move |source| StateError::Io {
                action,
                path: path.to_owned(),
                source,
            }
        };
        let is_to_be_made = match version::is_unfinished(path) {
            Ok(is_unfinished) => is_unfinished,
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(StateError::Other {
                    path: path.to_owned(),
                });
            }
            Err(source) => return Err(failed("look into")(source)),
        };
        if !is_to_be_made {
            return Ok((StateDirectory::open(path)?, None));
        }
        let mut unflushed = Unflushed::default();
        durable::make_directory(path, 0o700, &mut unflushed).map_err(failed("make"))?;
        let path = fs::canonicalize(path).map_err(failed("find"))?;
        version::place(&path, &mut unflushed).map_err(failed("write to"))?;
        Ok((StateDirectory::open(&path)?, Some(unflushed)))
    }

    /// True if processes may have been recorded in a directory that is to be one.
    pub(crate) fn may_have_processes(path: &Path) -> bool {
        journal::may_have_commits(&path.join("pm").join("journal"))
    }

    /// Where it is; absolute.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// When it was made.
    pub(crate) fn made(&self) -> SystemTime {
        self.made
    }

    /// Where outputs that are files are written at the end of a run: below the process's name where
    /// the directory is not that process's alone.
    pub(crate) fn results(&self, process: model::ProcessId) -> PathBuf {
        let (results, name) = (self.path.join("results"), process.to_string());
        if self
            .path
            .file_name()
            .is_some_and(|own| own == name.as_str())
        {
            return results;
        }
        results.join(name)
    }

    /// Takes the directory, for a run or for reading. Whoever only reads is waited for.
    pub(crate) fn hold(&self, for_what: Use) -> Result<Held, StateError> {
        let path = self.path.join("lock");
        let failed = |action| {
            let path = path.clone();
            move |source| StateError::Io {
                action,
                path,
                source,
            }
        };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed("open"))?;
        let give_up = shell::clock::mono() + READER_PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(source)) => return Err(failed("lock")(source)),
                Err(TryLockError::WouldBlock) => {}
            }
            match Record::read(&file).map_err(failed("read"))? {
                Some(Record {
                    is_run: true, pid, ..
                }) => {
                    return Err(StateError::InUse {
                        path: self.path.clone(),
                        pid,
                    });
                }
                // A reader, or somebody between taking the lock and writing who it is.
                other if shell::clock::mono() >= give_up => {
                    let pid = other.map_or(0, |record| record.pid);
                    return Err(StateError::InUse {
                        path: self.path.clone(),
                        pid,
                    });
                }
                Some(_) | None => pause(),
            }
        }
        // Whoever held it may have removed the directory: then this is the lock of nothing.
        if !is_at(&file, &path) {
            let path = self.path.clone();
            return Err(StateError::Missing { path });
        }
        if for_what == Use::Run {
            summary_file::invalidate(&self.path).map_err(failed("change"))?;
        }
        let socket = match for_what {
            Use::Run => shell::socket_path(&self.path, "clients.sock").map_err(|source| {
                let path = self.path.clone();
                StateError::Io {
                    action: "find a place for the socket of",
                    path,
                    source,
                }
            })?,
            Use::Read => PathBuf::new(),
        };
        let is_run = for_what == Use::Run;
        let record = Record {
            is_run,
            pid: std::process::id(),
            socket: socket.clone(),
        };
        file.set_len(0)
            .and_then(|()| file.write_all_at(record.text().as_bytes(), 0))
            .map_err(failed("write"))?;
        Ok(Held { file, socket })
    }

    /// The program that runs processes in it; `None` if nobody does.
    pub(crate) fn user(&self) -> Result<Option<User>, StateError> {
        let path = self.path.join("lock");
        let file = match OpenOptions::new().read(true).write(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                return Err(StateError::Io {
                    action: "open",
                    path,
                    source,
                });
            }
        };
        let failed = |source| StateError::Io {
            action: "read",
            path: path.clone(),
            source,
        };
        let give_up = shell::clock::mono() + Span::from_secs(1);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(None),
                Err(TryLockError::Error(source)) => return Err(failed(source)),
                Err(TryLockError::WouldBlock) => {}
            }
            match Record::read(&file).map_err(failed)? {
                Some(record) if record.is_run => {
                    return Ok(Some(User {
                        pid: record.pid,
                        socket: record.socket,
                    }));
                }
                Some(_) => return Ok(None),
                None if shell::clock::mono() >= give_up => return Ok(None),
                None => pause(),
            }
        }
    }

    /// Removes it with all that is in it. For one that was made for a process that was refused.
    pub(crate) fn remove(self) {
        // If this fails, an empty process is left, which does no harm.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// The purpose for which a state directory is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// To run processes in it.
    Run,
    /// To look what is there, and nothing else.
    Read,
}

impl Drop for Held {
    fn drop(&mut self) {
        // A text that stays tells of a life that was killed; only the lock itself decides.
        let _ = self.file.set_len(0);
    }
}

/// The text of `lock`.
struct Record {
    is_run: bool,
    pid: u32,
    /// Where it answers; empty for a reader.
    socket: PathBuf,
}

impl Record {
    fn read(file: &File) -> io::Result<Option<Record>> {
        let mut bytes = [0; FILE_BYTES_MAX as usize];
        let n_bytes = file.read_at(&mut bytes, 0)?;
        let text = String::from_utf8_lossy(&bytes[..n_bytes]);
        Ok(Record::parse(&text))
    }

    fn parse(text: &str) -> Option<Record> {
        // Without its last line end it is still being written.
        let (first, second) = text.strip_suffix('\n')?.split_once('\n')?;
        let (word, pid) = first.split_once(' ')?;
        let socket = PathBuf::from(second.strip_prefix("socket ")?);
        Some(Record {
            is_run: word == "run",
            pid: pid.parse().ok()?,
            socket,
        })
    }

    fn text(&self) -> String {
        let word = if self.is_run { "run" } else { "read" };
        format!("{word} {}\nsocket {}\n", self.pid, self.socket.display())
    }
}

fn read_text(file: &File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// True if an open file is the one of that path.
fn is_at(file: &File, path: &Path) -> bool {
    let own = file.metadata();
    let there = fs::metadata(path);
    own.is_ok_and(|own| {
        there.is_ok_and(|there| (own.dev(), own.ino()) == (there.dev(), there.ino()))
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "a file lock of another program gives no event; every loop around this has a deadline"
)]
pub(crate) fn pause() {
    std::thread::sleep(LOOK);
}

#[cfg(test)]
mod tests;
