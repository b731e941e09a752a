//! Placing blobs as files: in an activity's directory, or where a user wants them.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use model::{Artifact, ArtifactKind, Hash};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::beneath::{Failed, Root};
use crate::index::{Durability, Entry};
use crate::listing::parts;
use crate::sparse::{self, CopyFailed};
use crate::store::{Inner, LENT_MODE, blob_name, is_full, read_small};
use crate::verify::{Stamp, is_of_disk};
use crate::{Content, Item, ReadError, SMALL_BYTES_MAX, Store};

/// The way in which a file is placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// A file of its own, by reflink if the file system supports it: its user may write to it.
    #[default]
    Copy,
    /// A hard link to the blob if possible, else a copy (programs, blobs that are smaller than
    /// [`LINKED_BYTES_MIN`], another file system). Only for commands that run as another
    /// account than the store's and not as root: nobody else is kept from writing through it.
    ReadOnlyLink,
}

/// Smaller blobs are copied, which costs little: file systems limit the links to one file, and many
/// activities read the same small files.
pub const LINKED_BYTES_MIN: u64 = 1 << 20;

/// Why something could not be placed or exported.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// A blob is not here, or was damaged and has been set aside.
    #[error("could not place `{path}`: its blob {hash} is damaged or gone")]
    Missing {
        /// The target.
        path: PathBuf,
        /// The blob.
        hash: Hash,
    },
    /// The listing of a directory could not be read.
    #[error("could not place `{path}`")]
    Listing {
        /// The target.
        path: PathBuf,
        /// The cause.
        source: ReadError,
    },
    /// The path is absolute, or could lead out of the directory.
    #[error("could not place `{path}`: it is not a path inside the directory")]
    Path {
        /// The path.
        path: PathBuf,
    },
    /// There is a link on the path.
    #[error("could not place `{path}`: there is a link on the way")]
    Link {
        /// The path.
        path: PathBuf,
    },
    /// Something exists at the path.
    #[error("could not place `{path}`: it is there already")]
    Exists {
        /// The path.
        path: PathBuf,
    },
    /// There is no space for it.
    #[error("could not write `{path}`: the disk is full")]
    DiskFull {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It could not be written.
    #[error("could not write `{path}`")]
    Write {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// The way in which a file gets its name.
#[derive(Clone, Copy)]
enum Manner {
    /// A new name.
    Lay(Placement),
    /// Replaces an existing file atomically.
    Replace,
}

impl Store {
    /// Places a file, or all files of a directory, at a path below `root`, which exists. Missing
    /// directories are created; a directory may be placed into an existing one, and with the empty
    /// path into `root` itself. Nothing is overwritten, and no link is followed below `root`. After
    /// an error a part may remain.
    pub fn place(
        &self,
        artifact: Artifact,
        root: &Path,
        path: &str,
        placement: Placement,
    ) -> Result<(), PlaceError> {
        let opened = open_root(root)?;
        let is_directory = artifact.kind == ArtifactKind::Directory;
        let relative = if is_directory {
            path.strip_suffix('/').unwrap_or(path)
        } else {
            path
        };
        let place = match (relative, is_directory) {
            ("", true) => Vec::new(),
            (relative, _) => {
                parts(relative).ok_or_else(|| PlaceError::Path { path: path.into() })?
            }
        };
        self.lay(artifact, &opened, &place, Manner::Lay(placement))
    }

    /// Writes a file or a directory where a user wants it. A file replaces an existing one
    /// atomically; the files of a directory do so one by one, and others in it stay. It is not
    /// synced: the blobs are the durable copy.
    pub fn export(&self, artifact: Artifact, dest: &Path) -> Result<(), PlaceError> {
        let write = |source| PlaceError::write(dest, source);
        if artifact.kind == ArtifactKind::Directory {
            std::fs::create_dir_all(dest).map_err(write)?;
            return self.lay(artifact, &open_root(dest)?, &[], Manner::Replace);
        }
        let parent = match dest.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let name = dest.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| PlaceError::Path {
            path: dest.to_path_buf(),
        })?;
        std::fs::create_dir_all(parent).map_err(write)?;
        self.lay(artifact, &open_root(parent)?, &[name], Manner::Replace)
    }

    fn lay(
        &self,
        artifact: Artifact,
        root: &Root,
        place: &[&str],
        manner: Manner,
    ) -> Result<(), PlaceError> {
        if artifact.kind != ArtifactKind::Directory {
            let (name, above) = place.split_last().expect("a file's path has a part");
            let directory = make(root, above)?;
            let path = place.iter().collect();
            self.inner.used(&[artifact.hash]);
            return self
                .inner
                .lay_file(artifact, &directory, name, manner, path);
        }
        let path: PathBuf = place.iter().collect();
        let listing = self.listing(artifact.hash).map_err(|source| match source {
            ReadError::Missing { hash } => PlaceError::Missing {
                path: path.clone(),
                hash,
            },
            source @ (ReadError::TooLarge { .. }
            | ReadError::Read { .. }
            | ReadError::Listing { .. }) => PlaceError::Listing {
                path: path.clone(),
                source,
            },
        })?;
        let hashes: Vec<Hash> = listing.files().map(|(_, file)| file.hash).collect();
        self.inner.used(&hashes);
        let mut last: (Vec<&str>, OwnedFd) = (place.to_vec(), make(root, place)?);
        for Item { path, content } in listing.items() {
            let mut whole = place.to_vec();
            whole.extend(path.split('/'));
            match content {
                Content::EmptyDirectory => {
                    make(root, &whole)?;
                }
                Content::File(file) => {
                    let path = whole.iter().collect();
                    let name = whole.pop().expect("a listed path has a part");
                    if last.0 != whole {
                        let directory = make(root, &whole)?;
                        last = (whole, directory);
                    }
                    self.inner.lay_file(*file, &last.1, name, manner, path)?;
                }
            }
        }
        Ok(())
    }
}

impl PlaceError {
    fn write(path: &Path, source: io::Error) -> PlaceError {
        let path = path.to_path_buf();
        if is_full(&source) {
            PlaceError::DiskFull { path, source }
        } else {
            PlaceError::Write { path, source }
        }
    }
}

/// Drafts that were left behind by killed programs of this one's number, which is 1 in each container, and are
/// passed over.
const DRAFTS_MAX: usize = 10_000;

/// A file without a name; none where the file system has no such files. Whoever copies under a name instead is
/// told of other failures.
fn open_unnamed(directory: impl AsFd, mode: Mode) -> Option<File> {
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory, ".", flags, mode).ok()?;
    Some(File::from(file))
}

/// Gives a name to a file without one. It fails where something has that name.
fn give_name(file: &File, directory: impl AsFd, name: &str) -> Result<(), Errno> {
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    rustix::fs::linkat(CWD, unnamed, directory, name, AtFlags::SYMLINK_FOLLOW)
}

impl Inner {
    fn lay_file(
        &self,
        artifact: Artifact,
        directory: impl AsFd,
        name: &str,
        manner: Manner,
        path: PathBuf,
    ) -> Result<(), PlaceError> {
        let hash = artifact.hash;
        let write = |error: io::Error| {
            if error.kind() == io::ErrorKind::AlreadyExists {
                PlaceError::Exists { path: path.clone() }
            } else {
                PlaceError::write(&path, error)
            }
        };
        let missing = || PlaceError::Missing {
            path: path.clone(),
            hash,
        };
        let opened = self.open_blob(hash).map_err(write)?;
        let (file, entry) = opened.ok_or_else(missing)?;
        let blob = Blob { file, entry, hash };
        let mode = match artifact.kind {
            ArtifactKind::Program => Mode::from_raw_mode(0o755),
            ArtifactKind::File | ArtifactKind::Directory => Mode::from_raw_mode(0o644),
        };
        let laid = match manner {
            Manner::Lay(Placement::ReadOnlyLink)
                if artifact.kind != ArtifactKind::Program && entry.bytes >= LINKED_BYTES_MIN =>
            {
                self.link(&blob, &directory, name, mode)
            }
            Manner::Lay(_) => self.copy(&blob, &directory, name, mode),
            Manner::Replace => self.replace(&blob, &directory, name, mode),
        };
        match laid {
            Ok(Laid::Sound) => Ok(()),
            Ok(Laid::Damaged) => {
                self.set_aside(hash, entry);
                Err(missing())
            }
            Err(error) => Err(write(error)),
        }
    }

    fn link(&self, blob: &Blob, directory: impl AsFd, name: &str, mode: Mode) -> io::Result<Laid> {
        let stamp = Stamp::of(&blob.file)?;
        if self.needs_hash(blob.hash, blob.entry, stamp) {
            match sparse::hash(&blob.file) {
                Ok((found, _)) if found == blob.hash => {}
                other => return damaged(other),
            }
        }
        if blob.entry.durability == Durability::Fresh {
            // Should it be flushed at this moment, it counts as not flushed at the next start, and is
            // hashed again then.
            rustix::fs::fchmod(&blob.file, Mode::from_raw_mode(LENT_MODE))?;
        }
        let from = blob_name(blob.hash);
        match rustix::fs::linkat(&self.blobs, from, &directory, name, AtFlags::empty()) {
            Ok(()) => {
                // Another link has changed the inode.
                self.note_sound(blob.hash, blob.entry, Stamp::of(&blob.file)?);
                Ok(Laid::Sound)
            }
            Err(Errno::XDEV | Errno::MLINK | Errno::PERM | Errno::NOENT) => {
                self.copy(blob, directory, name, mode)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Copies a blob to a name, at once in place of what has it. Where the file system can do that, the copy has no
    /// name until it is whole: whoever is killed meanwhile leaves nothing.
    fn replace(
        &self,
        blob: &Blob,
        directory: impl AsFd,
        name: &str,
        mode: Mode,
    ) -> io::Result<Laid> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let unnamed = open_unnamed(&directory, mode);
        if let Some(file) = &unnamed {
            if let Laid::Damaged = self.copy_into(blob, file)? {
                return Ok(Laid::Damaged);
            }
            if give_name(file, &directory, name).is_ok() {
                return Ok(Laid::Sound);
            }
        }
        for _ in 0..DRAFTS_MAX {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let draft = format!(".xavantes-{}-{number}", std::process::id());
            let named = unnamed.as_ref();
            let laid = match named.map(|file| give_name(file, &directory, &draft)) {
                Some(Ok(())) => Ok(Laid::Sound),
                Some(Err(Errno::EXIST)) => continue,
                // Without /proc, or where a file without a name may not get one.
                Some(Err(_)) | None => self.copy(blob, &directory, &draft, mode),
            };
            match laid {
                Ok(Laid::Sound) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Ok(Laid::Damaged) | Err(_) => return laid,
            }
            rustix::fs::renameat(&directory, &draft, &directory, name).inspect_err(|_| {
                let _ = rustix::fs::unlinkat(&directory, &draft, AtFlags::empty());
            })?;
            return Ok(Laid::Sound);
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn copy(&self, blob: &Blob, directory: impl AsFd, name: &str, mode: Mode) -> io::Result<Laid> {
        // The clone is read again.
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&directory, name, flags, mode)?);
        let copied = self.copy_into(blob, &file);
        match copied {
            Ok(Laid::Sound) => {}
            Ok(Laid::Damaged) | Err(_) => {
                let _ = rustix::fs::unlinkat(&directory, name, AtFlags::empty());
            }
        }
        copied
    }

    /// Copies a blob into an empty file. The file has the hashed content in the end, even if
    /// somebody writes to the blob meanwhile.
    fn copy_into(&self, blob: &Blob, mut file: &File) -> io::Result<Laid> {
        let Blob {
            file: from,
            entry,
            hash,
        } = blob;
        if entry.bytes <= SMALL_BYTES_MAX as u64 {
            let content = match read_small(from, entry.bytes) {
                Ok(content) => content,
                Err(error) => return damaged(Err(CopyFailed::Read(error))),
            };
            if *blake3::hash(&content).as_bytes() != hash.0 {
                return Ok(Laid::Damaged);
            }
            file.write_all(&content)?;
            return Ok(Laid::Sound);
        }
        let stamp = Stamp::of(from)?;
        let needs_hash = self.needs_hash(*hash, *entry, stamp);
        let copied = match (self.reflink(from, file), needs_hash) {
            (true, false) => return Ok(Laid::Sound),
            (true, true) => sparse::hash(file),
            (false, true) => sparse::copy_hashed(from, file),
            (false, false) => sparse::copy(from, file, entry.bytes).map(|()| (*hash, entry.bytes)),
        };
        match copied {
            Ok((found, _)) if found == *hash => {
                if needs_hash {
                    self.note_sound(*hash, *entry, stamp);
                }
                Ok(Laid::Sound)
            }
            other => damaged(other),
        }
    }
}

/// An open blob.
struct Blob {
    file: File,
    entry: Entry,
    hash: Hash,
}

/// The result of placing a blob.
enum Laid {
    /// It is placed.
    Sound,
    /// It does not match its hash, and nothing was placed.
    Damaged,
}

/// A blob that does not match its hash, or that the disk cannot read, is damaged. Other errors are
/// returned.
fn damaged(read: Result<(Hash, u64), CopyFailed>) -> io::Result<Laid> {
    match read {
        Ok(_) => Ok(Laid::Damaged),
        Err(CopyFailed::Read(error)) if is_of_disk(&error) => Ok(Laid::Damaged),
        Err(CopyFailed::Read(error) | CopyFailed::Write(error)) => Err(error),
    }
}

fn open_root(path: &Path) -> Result<Root, PlaceError> {
    Root::open(path).map_err(|source| PlaceError::write(path, source))
}

fn make(root: &Root, parts: &[&str]) -> Result<OwnedFd, PlaceError> {
    root.make_directories(parts).map_err(|failed| {
        let path: PathBuf = parts.iter().collect();
        match failed {
            Failed::Outside | Failed::Link => PlaceError::Link { path },
            Failed::Io(source) => PlaceError::write(&path, source),
        }
    })
}

#[cfg(test)]
mod tests;
