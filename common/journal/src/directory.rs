//! The small files beside a store: `lock`, `version` and `acknowledged`.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::durable::{self, Unflushed};

/// Number of the format that this program writes, and the highest that it reads: of the journal's files
/// and of the managers' records in them.
pub const FORMAT: u32 = 7;

/// The lowest format that this program reads. Formats 1 and 2 were never released.
pub(crate) const FORMAT_OLDEST: u32 = 4;

/// Bytes of the longest `version` file that is read: it has two short lines.
const VERSION_BYTES_MAX: u64 = 4096;

/// Why a directory cannot be used.
#[derive(Debug, Error)]
pub enum DirectoryError {
    /// Another process, or another part of this one, uses it.
    #[error("{} is in use by {}", path.display(), owner(*.pid))]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The process that holds it, if it could be read.
        pid: Option<u32>,
    },
    /// A later version of the program wrote it.
    #[error(
        "{} was written by xavantes {program} (journal format {format}), this program reads up to {supported}",
        path.display()
    )]
    Newer {
        /// The directory.
        path: PathBuf,
        /// Version of the program that wrote it.
        program: String,
        /// The format of the journal.
        format: u32,
        /// Highest format that this program reads.
        supported: u32,
    },
    /// An earlier program wrote it, whose records this one does not read.
    #[error(
        "{} was written by xavantes {program} (journal format {format}), this program reads formats from \
         {supported} on: finish its processes with that version, or use another directory",
        path.display()
    )]
    Older {
        /// The directory.
        path: PathBuf,
        /// Version of the program that wrote it.
        program: String,
        /// Format in which it is written.
        format: u32,
        /// Lowest format that this program reads.
        supported: u32,
    },
    /// The store exists, and the `version` file is missing or unreadable.
    #[error("{} does not tell the journal's format: {reason}; restore the directory from a copy", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The error.
        reason: String,
    },
    /// A file or directory operation failed.
    #[error("could not {action} {}", path.display())]
    Io {
        /// The operation that failed.
        action: &'static str,
        /// Its path.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

fn owner(pid: Option<u32>) -> String {
    pid.map_or_else(
        || "another process".to_owned(),
        |pid| format!("process {pid}"),
    )
}

/// Adds the operation and the path to an I/O error.
pub(crate) fn io_error(
    action: &'static str,
    path: &Path,
) -> impl FnOnce(io::Error) -> DirectoryError {
    move |source| DirectoryError::Io {
        action,
        path: path.to_owned(),
        source,
    }
}

/// The lock of a directory, held until it is dropped.
///
/// The file contains the process id of its holder. [`Lock::release_clean`] empties it, so a number
/// left in it means that its writer was killed.
pub(crate) struct Lock {
    file: File,
    /// True if the previous holder ended without closing.
    pub(crate) left_unclean: bool,
    /// True once the store was opened: a holder that ends without closing leaves its number.
    in_use: bool,
}

impl Lock {
    pub(crate) fn take(dir: &Path) -> Result<Lock, DirectoryError> {
        let path = dir.join("lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(io_error("open", &path))?;
        let locked = file.try_lock();
        let mut text = String::new();
        // The content is only for the message; the lock decides.
        let _ = (&mut file).take(64).read_to_string(&mut text);
        match locked {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let pid = text.trim().parse().ok();
                return Err(DirectoryError::InUse {
                    path: dir.to_owned(),
                    pid,
                });
            }
            Err(TryLockError::Error(source)) => return Err(io_error("lock", &path)(source)),
        }
        file.set_len(0).map_err(io_error("write", &path))?;
        file.write_all_at(format!("{}\n", std::process::id()).as_bytes(), 0)
            .map_err(io_error("write", &path))?;
        Ok(Lock {
            file,
            left_unclean: !text.is_empty(),
            in_use: false,
        })
    }

    /// Keeps writers from a directory for as long as the result lives, and writes nothing; none where the directory
    /// has no lock. Also returns true if the previous holder ended without closing.
    pub(crate) fn take_for_reading(dir: &Path) -> Result<(Option<File>, bool), DirectoryError> {
        let path = dir.join("lock");
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((None, false)),
            Err(error) => return Err(io_error("open", &path)(error)),
        };
        let locked = file.try_lock_shared();
        let mut text = String::new();
        // The content is only for messages; the lock decides.
        let _ = (&mut file).take(64).read_to_string(&mut text);
        match locked {
            Ok(()) => Ok((Some(file), !text.is_empty())),
            Err(TryLockError::WouldBlock) => Err(DirectoryError::InUse {
                path: dir.to_owned(),
                pid: text.trim().parse().ok(),
            }),
            Err(TryLockError::Error(source)) => Err(io_error("lock", &path)(source)),
        }
    }

    /// Records that the store is open.
    pub(crate) fn begin_use(&mut self) {
        self.in_use = true;
    }

    /// Records that everything was closed in order. A failure only costs the next start a log line.
    pub(crate) fn release_clean(&self) {
        let _ = self.file.set_len(0);
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A refused start is no crash, and does not hide one either.
        if !self.in_use && !self.left_unclean {
            self.release_clean();
        }
    }
}

/// The content of the `version` file.
pub(crate) struct Version {
    /// At most [`FORMAT`].
    pub(crate) format: u32,
    /// The version of the program that wrote last.
    pub(crate) program: String,
}

/// Returns true if a journal was begun in a directory and its `version` file is sound. The rest is
/// not checked.
pub fn is_begun(dir: &Path) -> bool {
    matches!(check_version(dir), Ok(Some(_)))
}

/// Checks that this program reads the format of a journal, if one was begun in a directory. The rest is
/// not checked, so that nothing is written where one of several journals is of a later version.
pub fn check_format(dir: &Path) -> Result<(), DirectoryError> {
    match check_version(dir) {
        Err(error @ (DirectoryError::Newer { .. } | DirectoryError::Older { .. })) => Err(error),
        // Opening the journal tells of it, or mends it.
        Err(
            DirectoryError::InUse { .. }
            | DirectoryError::Version { .. }
            | DirectoryError::Io { .. },
        )
        | Ok(_) => Ok(()),
    }
}

/// Reads the `version` file; none if there is none, or a power cut has left its name alone, which happens only
/// before the first commit.
pub(crate) fn check_version(dir: &Path) -> Result<Option<Version>, DirectoryError> {
    let path = dir.join("version");
    let mut text = String::new();
    match File::open(&path) {
        Ok(file) => file
            .take(VERSION_BYTES_MAX)
            .read_to_string(&mut text)
            .map_err(io_error("read", &path))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error("open", &path)(error)),
    };
    if text.bytes().all(|byte| byte == 0) {
        return Ok(None);
    }
    let parsed = text.split_once('\n').and_then(|(first, second)| {
        let format: u32 = first.strip_prefix("journal format ")?.parse().ok()?;
        Some((
            format,
            second
                .strip_prefix("written by xavantes ")?
                .trim_end()
                .to_owned(),
        ))
    });
    let Some((format, program)) = parsed else {
        return Err(DirectoryError::Version {
            path,
            reason: "it is damaged".to_owned(),
        });
    };
    if format > FORMAT {
        let (path, supported) = (dir.to_owned(), FORMAT);
        return Err(DirectoryError::Newer {
            path,
            program,
            format,
            supported,
        });
    }
    if format < FORMAT_OLDEST {
        let (path, supported) = (dir.to_owned(), FORMAT_OLDEST);
        return Err(DirectoryError::Older {
            path,
            program,
            format,
            supported,
        });
    }
    Ok(Some(Version { format, program }))
}

/// Writes the `version` file durably.
pub(crate) fn write_version(dir: &Path, program: &str) -> Result<(), DirectoryError> {
    replace_file(&dir.join("version"), version(program).as_bytes())
}

/// Writes the `version` file of a new journal, durable once `unflushed` is flushed.
pub(crate) fn place_version(
    dir: &Path,
    program: &str,
    unflushed: &mut Unflushed,
) -> Result<(), DirectoryError> {
    let path = dir.join("version");
    durable::place_unflushed(&path, version(program).as_bytes(), FILE_MODE, unflushed)
        .map_err(io_error("write", &path))
}

fn version(program: &str) -> String {
    format!("journal format {FORMAT}\nwritten by xavantes {program}\n")
}

/// Mode of the small files; the directory's mode decides who can read them.
const FILE_MODE: u32 = 0o666;
/// Mode of a journal's directory, if it does not exist yet.
const DIRECTORY_MODE: u32 = 0o777;

/// Replaces a file atomically and durably: after a crash it has its old or its new content.
pub(crate) fn replace_file(path: &Path, content: &[u8]) -> Result<(), DirectoryError> {
    durable::write(path, content, FILE_MODE).map_err(io_error("write", path))
}

/// Renames within one directory and flushes the directory.
pub(crate) fn rename_durably(from: &Path, to: &Path) -> Result<(), DirectoryError> {
    fs::rename(from, to).map_err(io_error("rename", from))?;
    durable::flush_name(to).map_err(io_error("flush", to))
}

/// Makes the names in a directory durable.
pub(crate) fn sync_directory(dir: &Path) -> Result<(), DirectoryError> {
    durable::flush_directory(dir).map_err(io_error("flush", dir))
}

/// Creates a directory and its missing parents, durably.
pub(crate) fn create_directory(dir: &Path) -> Result<(), DirectoryError> {
    durable::create_directory(dir, DIRECTORY_MODE).map_err(io_error("create", dir))
}

/// The same, durable once `unflushed` is flushed.
pub(crate) fn make_directory(dir: &Path, unflushed: &mut Unflushed) -> Result<(), DirectoryError> {
    durable::make_directory(dir, DIRECTORY_MODE, unflushed).map_err(io_error("create", dir))
}

/// The file `acknowledged`: the number of the last commit that was reported as durable.
///
/// It is written after each commit and not flushed, which costs a microsecond. After a power cut it
/// may be behind the journal, which means nothing; a journal behind *it* has lost acknowledged
/// commits. The journal alone could not tell, because an unfinished last commit looks the same.
pub(crate) struct Acknowledged {
    file: File,
    path: PathBuf,
}

impl Acknowledged {
    /// Opens or creates the file. Also returns its number; none if there is no trustworthy one.
    pub(crate) fn open(dir: &Path) -> Result<(Acknowledged, Option<u64>), DirectoryError> {
        let path = dir.join("acknowledged");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(io_error("open", &path))?;
        let number = Acknowledged::number(&mut file, &path)?;
        Ok((Acknowledged { file, path }, number))
    }

    /// The number in the file, which stays as it is; none if there is no trustworthy one.
    pub(crate) fn read(dir: &Path) -> Result<Option<u64>, DirectoryError> {
        let path = dir.join("acknowledged");
        match File::open(&path) {
            Ok(mut file) => Acknowledged::number(&mut file, &path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("open", &path)(error)),
        }
    }

    fn number(file: &mut File, path: &Path) -> Result<Option<u64>, DirectoryError> {
        let mut content = Vec::new();
        file.take(64)
            .read_to_end(&mut content)
            .map_err(io_error("read", path))?;
        Ok(content.get(..8).and_then(|bytes| {
            let number = u64::from_be_bytes(bytes.try_into().ok()?);
            (content[8..] == crc32fast::hash(bytes).to_be_bytes()).then_some(number)
        }))
    }

    pub(crate) fn write(&self, number: u64) -> Result<(), DirectoryError> {
        let mut content = [0; 12];
        content[..8].copy_from_slice(&number.to_be_bytes());
        let crc = crc32fast::hash(&content[..8]);
        content[8..].copy_from_slice(&crc.to_be_bytes());
        self.file
            .write_all_at(&content, 0)
            .map_err(io_error("write", &self.path))
    }
}
