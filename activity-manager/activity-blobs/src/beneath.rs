//! Paths below a directory that a command has written: they are opened and created without ever
//! leaving it, despite links on the way and concurrent changes.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use model::Bytes;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use thiserror::Error;

use crate::store::{LENT_MODE, SEALED_MODE};
use crate::{AddError, CollectLimits};

/// Why a file was not opened by [`open_beneath`].
#[derive(Debug, Error)]
pub enum BeneathError {
    /// A link on the way leads out of the directory.
    #[error("the path leads out of {}", directory.display())]
    Outside {
        /// The directory that it leaves.
        directory: PathBuf,
    },
    /// There is a directory, a pipe, a socket or a device.
    #[error("there is no regular file")]
    NotAFile,
    /// The system refused.
    #[error("could not open the file")]
    Io(#[source] io::Error),
}

/// Opens a regular file below a directory for reading. Links are followed as long as they stay
/// inside; if one is changed meanwhile, the result is an error and never a file outside.
pub fn open_beneath(directory: &Path, relative: &Path) -> Result<File, BeneathError> {
    let found = Root::open(directory)
        .map_err(Failed::Io)
        .and_then(|root| root.find(relative));
    match found {
        Ok(Opened::File(file, _)) => Ok(file),
        Ok(Opened::Directory(..) | Opened::Special) => Err(BeneathError::NotAFile),
        Err(Failed::Outside | Failed::Link) => Err(BeneathError::Outside {
            directory: directory.to_owned(),
        }),
        Err(Failed::Io(error)) => Err(BeneathError::Io(error)),
    }
}

/// Opens a directory below another one, and makes it with what is missing on the way. Links are followed as
/// long as they stay inside; if one is changed meanwhile, the result is an error and never a directory outside.
/// The opened directory is good for paths below `/proc/self/fd` alone.
pub fn make_beneath(directory: &Path, relative: &Path) -> Result<OwnedFd, BeneathError> {
    let root = Root::open(directory).map_err(BeneathError::Io)?;
    root.make_following(relative).map_err(|error| match error {
        Failed::Outside | Failed::Link => BeneathError::Outside {
            directory: directory.to_owned(),
        },
        Failed::Io(error) => BeneathError::Io(error),
    })
}

/// The unit of a file's size on the disk.
const BLOCK_BYTES: u64 = 512;

/// A directory that no path leaves.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) fd: OwnedFd,
    path: PathBuf,
    /// The users whose files may be taken from it; all users if it is empty.
    owners: BTreeSet<u32>,
    /// Bytes of the disk that may still be taken from it.
    left: Cell<u64>,
    /// The length of one file at most.
    file_bytes_max: u64,
    /// Who keeps its files.
    keeping: Keeping,
}

/// Who keeps a file that becomes a blob.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Keeping {
    /// Its owner, who may write to it later.
    #[default]
    Owner,
    /// The store: the command that has written it has ended.
    Store,
}

/// The entry at a path.
#[derive(Debug)]
pub(crate) enum Opened {
    File(File, Stat),
    /// A directory, and its real path under the root.
    Directory(OwnedFd, PathBuf),
    /// A pipe, a socket, a device.
    Special,
}

/// Why a path was not followed.
#[derive(Debug)]
pub(crate) enum Failed {
    /// It leads out of the root.
    Outside,
    /// There is a link where none is permitted.
    Link,
    /// The system's error.
    Io(io::Error),
}

impl From<Errno> for Failed {
    fn from(error: Errno) -> Failed {
        Failed::Io(error.into())
    }
}

impl Root {
    pub(crate) fn open(path: &Path) -> io::Result<Root> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Root {
            fd,
            path: path.to_path_buf(),
            owners: BTreeSet::new(),
            left: Cell::new(u64::MAX),
            file_bytes_max: u64::MAX,
            keeping: Keeping::Owner,
        })
    }

    /// Takes only files of these users, if there are any.
    pub(crate) fn owned_by(self, owners: &BTreeSet<u32>) -> Root {
        let owners = owners.clone();
        Root { owners, ..self }
    }

    /// Leaves its files to the store.
    pub(crate) fn left_to_the_store(self) -> Root {
        let keeping = Keeping::Store;
        Root { keeping, ..self }
    }

    /// Who keeps its files.
    pub(crate) fn keeping(&self) -> Keeping {
        self.keeping
    }

    /// Limits the total size on the disk of taken files, and the length of each.
    pub(crate) fn within(self, limits: CollectLimits) -> Root {
        Root {
            left: Cell::new(limits.disk.0),
            file_bytes_max: limits.file.0,
            ..self
        }
    }

    /// Takes a file, if it is permitted and fits. A user without read permission can still link or
    /// move a file here: it is read for that user only if it is the user's own, or a blob that was
    /// placed here as a link and that everybody may read.
    pub(crate) fn take(&self, path: &Path, stat: &Stat) -> Result<(), AddError> {
        let path = || path.to_path_buf();
        let is_own = self.owners.is_empty() || self.owners.contains(&stat.st_uid);
        if !is_own && !is_placed_link(stat) {
            return Err(AddError::Foreign { path: path() });
        }
        // A hole takes nothing on the disk, and is hashed like any other bytes.
        let length = u64::try_from(stat.st_size).unwrap_or(0);
        if length > self.file_bytes_max {
            return Err(AddError::TooLong {
                path: path(),
                bytes: Bytes(length),
                bytes_max: Bytes(self.file_bytes_max),
            });
        }
        let blocks = u64::try_from(stat.st_blocks).unwrap_or(u64::MAX);
        let bytes = blocks.saturating_mul(BLOCK_BYTES);
        let Some(left) = self.left.get().checked_sub(bytes) else {
            let bytes = Bytes(bytes);
            return Err(AddError::NoRoom {
                path: path(),
                bytes,
            });
        };
        self.left.set(left);
        Ok(())
    }

    /// Opens the entry at a path; links are followed as long as they stay inside.
    pub(crate) fn find(&self, relative: &Path) -> Result<Opened, Failed> {
        match self.find_straight(relative) {
            Err(Failed::Link) => {}
            other => return other,
        }
        // There is a link: its target is resolved by path, and then opened without permitting
        // links, so that a link that changes meanwhile is an error and no way out.
        let root = fs::canonicalize(&self.path).map_err(Failed::Io)?;
        let real = fs::canonicalize(root.join(relative)).map_err(Failed::Io)?;
        let inside = real.strip_prefix(&root).map_err(|_| Failed::Outside)?;
        match self.find_straight(inside) {
            Err(Failed::Link) => Err(Failed::Outside),
            other => other,
        }
    }

    fn find_straight(&self, inside: &Path) -> Result<Opened, Failed> {
        let mut above: Option<OwnedFd> = None;
        let mut parts = inside.components().peekable();
        while let Some(part) = parts.next() {
            let Component::Normal(name) = part else {
                return Err(Failed::Outside);
            };
            let parent = above.as_ref().unwrap_or(&self.fd);
            if parts.peek().is_none() {
                return open_entry(parent, name.as_bytes(), inside);
            }
            above = Some(enter(parent, name.as_bytes())?);
        }
        let whole = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(&self.fd, ".", whole, Mode::empty())?;
        Ok(Opened::Directory(root, PathBuf::new()))
    }

    /// The directory at a path, created with its missing parents. A link on the way is refused.
    pub(crate) fn make_directories(&self, parts: &[&str]) -> Result<OwnedFd, Failed> {
        let mut directory = rustix::fs::openat(
            &self.fd,
            ".",
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        for part in parts {
            match rustix::fs::mkdirat(&directory, *part, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            directory = enter(&directory, part.as_bytes())?;
        }
        Ok(directory)
    }
}

impl Root {
    /// The directory at a path, created with its missing parents. Links are followed as long as they stay
    /// inside. O(parts squared).
    fn make_following(&self, relative: &Path) -> Result<OwnedFd, Failed> {
        let mut inside = PathBuf::new();
        for part in relative.components() {
            let Component::Normal(name) = part else {
                return Err(Failed::Outside);
            };
            let next = inside.join(name);
            inside = match self.make_straight(&next) {
                Ok(_) => next,
                Err(Failed::Link) => {
                    // As in `find`: resolved by path, and then opened without permitting links.
                    let root = fs::canonicalize(&self.path).map_err(Failed::Io)?;
                    let real = fs::canonicalize(root.join(&next)).map_err(Failed::Io)?;
                    let real = real.strip_prefix(&root).map_err(|_| Failed::Outside)?;
                    real.to_path_buf()
                }
                Err(other) => return Err(other),
            };
        }
        self.make_straight(&inside)
    }

    fn make_straight(&self, inside: &Path) -> Result<OwnedFd, Failed> {
        let parts = inside.iter().map(|part| part.to_str());
        let parts: Option<Vec<&str>> = parts.collect();
        let not_text = || Failed::Io(io::Error::from(io::ErrorKind::InvalidFilename));
        self.make_directories(&parts.ok_or_else(not_text)?)
    }
}

/// Returns true if it looks like a blob under another name: the store's own, and for others to read and
/// for nobody to write.
pub(crate) fn is_placed_link(stat: &Stat) -> bool {
    let is_ours = stat.st_uid == rustix::process::geteuid().as_raw();
    let is_mode = [SEALED_MODE, LENT_MODE].contains(&(stat.st_mode & 0o7777));
    is_ours && stat.st_nlink > 1 && is_mode
}

/// Opens an entry of a directory for reading. A link is [`Failed::Link`].
pub(crate) fn open_entry(
    directory: impl AsFd,
    name: &[u8],
    inside: &Path,
) -> Result<Opened, Failed> {
    // Checked before it is opened: opening a device or a pipe may have effects.
    let stat = rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            let file = rustix::fs::openat(directory, name, flags, Mode::empty())?;
            let stat = rustix::fs::fstat(&file)?;
            let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
            Ok(if is_file {
                Opened::File(File::from(file), stat)
            } else {
                Opened::Special
            })
        }
        FileType::Directory => {
            let flags = flags | OFlags::DIRECTORY;
            let directory = rustix::fs::openat(directory, name, flags, Mode::empty())?;
            Ok(Opened::Directory(directory, inside.to_path_buf()))
        }
        FileType::Symlink => Err(Failed::Link),
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Ok(Opened::Special),
    }
}

/// Opens a directory on the way. A link is [`Failed::Link`].
fn enter(directory: &OwnedFd, name: &[u8]) -> Result<OwnedFd, Failed> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(directory, name, flags, Mode::empty()) {
        // The system's error is the same for a link and for a file.
        Err(Errno::NOTDIR) => {
            let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
            let is_link = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
            Err(if is_link {
                Failed::Link
            } else {
                Errno::NOTDIR.into()
            })
        }
        other => Ok(other?),
    }
}
