//! Adding files and trees as blobs.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use model::{Artifact, ArtifactKind, Bytes, Hash};
use rustix::fs::Stat;

use crate::beneath::{Failed, Keeping, Opened, Root};
use crate::sparse;
use crate::store::{Inner, is_full, read_small};
use crate::walk::{Visit, Wanted, walk};
use crate::{
    Content, DEPTH_MAX, ITEMS_MAX, Item, Listing, ListingError, PATH_BYTES_MAX, SMALL_BYTES_MAX,
    Store,
};

/// Why a file or a tree could not be added. Paths inside a tree are relative to its root.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// It could not be opened.
    #[error("could not open `{path}`")]
    Open {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It could not be read.
    #[error("could not read `{path}`")]
    Read {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It could not be read, or its copy could not be written.
    #[error("could not copy `{path}` into the blob store")]
    Copy {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// There is no space for it.
    #[error("could not copy `{path}` into the blob store: the disk is full")]
    DiskFull {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A link that leaves the directory.
    #[error("could not add `{path}`: it leads out of its directory")]
    Outside {
        /// The link, or a path through one.
        path: PathBuf,
    },
    /// A link to a directory that contains it.
    #[error("could not add `{path}`: a link leads back to it")]
    Loop {
        /// The directory.
        path: PathBuf,
    },
    /// A pipe, a socket or a device.
    #[error("could not add `{path}`: it is neither a file nor a directory")]
    Special {
        /// The path.
        path: PathBuf,
    },
    /// It belongs to a user whose files may not be taken.
    #[error("could not add `{path}`: it does not belong to the account that the command ran as")]
    Foreign {
        /// The path.
        path: PathBuf,
    },
    /// It is larger than the remaining quota.
    #[error("could not add `{path}`: it takes {bytes}, and there is not so much room for it")]
    NoRoom {
        /// The path.
        path: PathBuf,
        /// Its size on the disk.
        bytes: Bytes,
    },
    /// It is longer than a file may be, holes included.
    #[error("could not add `{path}`: its length is {bytes}, and a file may have {bytes_max}")]
    TooLong {
        /// The path.
        path: PathBuf,
        /// Its length.
        bytes: Bytes,
        /// The length that is permitted.
        bytes_max: Bytes,
    },
    /// A directory where a file is expected.
    #[error("could not add `{path}`: it is a directory, not a file")]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// A file where a directory is expected.
    #[error("could not add `{path}`: it is not a directory")]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// A name that is not UTF-8.
    #[error("could not add `{}`: its name is not UTF-8", .path.display())]
    Name {
        /// The path.
        path: PathBuf,
    },
    /// The directories are too deep.
    #[error(
        "could not add `{path}`: more than {DEPTH_MAX} directories deep, or a path of more than \
         {PATH_BYTES_MAX} bytes"
    )]
    TooDeep {
        /// The path.
        path: PathBuf,
    },
    /// Too many files.
    #[error("could not add `{path}`: more than {ITEMS_MAX} files")]
    TooMany {
        /// The tree.
        path: PathBuf,
    },
    /// The files cannot be listed.
    #[error("could not list `{path}`")]
    Listing {
        /// The tree.
        path: PathBuf,
        /// The cause.
        source: ListingError,
    },
}

impl Store {
    /// Copies a file into the store, by reflink if the file system supports it. Links are followed.
    /// The file may change later: the blob has the hashed content. Not durable before
    /// [`Store::flush`].
    pub fn add_file(&self, path: &Path) -> Result<Artifact, AddError> {
        let open = |source| AddError::Open {
            path: path.to_path_buf(),
            source,
        };
        // Checked before it is opened, because opening a pipe would wait for its other end.
        let metadata = std::fs::metadata(path).map_err(open)?;
        if metadata.is_dir() {
            return Err(AddError::NotAFile {
                path: path.to_path_buf(),
            });
        }
        if !metadata.is_file() {
            return Err(AddError::Special {
                path: path.to_path_buf(),
            });
        }
        let file = File::open(path).map_err(open)?;
        let stat = rustix::fs::fstat(&file).map_err(|error| open(error.into()))?;
        self.shared(|| self.add_open(file, &stat, path, Keeping::Owner))
    }

    /// Copies a directory into the store. Empty directories are kept. Links are resolved if they
    /// stay inside and refused otherwise, as are pipes, sockets and devices. Not durable before
    /// [`Store::flush`].
    pub fn add_tree(&self, root: &Path) -> Result<Artifact, AddError> {
        let open = |source| AddError::Open {
            path: root.to_path_buf(),
            source,
        };
        let opened = Root::open(root).map_err(|source| {
            if source.kind() == io::ErrorKind::NotADirectory {
                AddError::NotADirectory {
                    path: root.to_path_buf(),
                }
            } else {
                open(source)
            }
        })?;
        match opened.find(Path::new("")) {
            Ok(Opened::Directory(directory, inside)) => {
                let start = (directory, inside);
                self.shared(|| {
                    let listing = self.add_walked(&opened, start, &Wanted::All, root)?;
                    self.add_named_listing(&listing, root)
                })
            }
            Ok(Opened::File(..) | Opened::Special) => Err(AddError::NotADirectory {
                path: root.to_path_buf(),
            }),
            Err(failed) => Err(AddError::find(root, failed)),
        }
    }

    /// Makes a blob of bytes. Not durable before [`Store::flush`].
    pub fn add_bytes(&self, bytes: &[u8]) -> Result<Artifact, AddError> {
        let name = format!("{} bytes", bytes.len());
        self.shared(|| {
            let kept = self.inner.keep(bytes);
            kept.map_err(|source| AddError::copy(Path::new(&name), source))
        })
    }

    /// Makes a directory of blobs that are here already, or will be. Not durable before
    /// [`Store::flush`].
    pub fn add_listing(&self, listing: &Listing) -> Result<Artifact, AddError> {
        self.shared(|| self.add_named_listing(listing, Path::new("a listing")))
    }

    /// Adds an artifact for anybody: nobody else deletes it in between.
    fn shared(
        &self,
        add: impl FnOnce() -> Result<Artifact, AddError>,
    ) -> Result<Artifact, AddError> {
        let _hold = self.hold();
        let added = add()?;
        self.share(&[added]);
        Ok(added)
    }

    /// [`Store::add_listing`] of the tree with this name in errors.
    pub(crate) fn add_named_listing(
        &self,
        listing: &Listing,
        name: &Path,
    ) -> Result<Artifact, AddError> {
        let listed = |source| AddError::Listing {
            path: name.to_path_buf(),
            source,
        };
        let text = listing.to_text().map_err(listed)?;
        let kept = self.inner.keep(text.as_bytes());
        let blob = kept.map_err(|source| AddError::copy(name, source))?;
        Ok(Artifact {
            hash: blob.hash,
            bytes: listing.bytes(),
            kind: ArtifactKind::Directory,
        })
    }

    /// Adds the files that a walk finds. Errors name the tree `name`.
    pub(crate) fn add_walked(
        &self,
        root: &Root,
        start: (OwnedFd, PathBuf),
        wanted: &Wanted<'_>,
        name: &Path,
    ) -> Result<Listing, AddError> {
        let mut items = Vec::new();
        walk(root, start, wanted, &mut |path, visit| {
            if items.len() == ITEMS_MAX {
                return Err(AddError::TooMany {
                    path: name.to_path_buf(),
                });
            }
            let content = match visit {
                Visit::EmptyDirectory => Content::EmptyDirectory,
                Visit::File(file, stat) => {
                    root.take(Path::new(&path), &stat)?;
                    let path = Path::new(&path);
                    Content::File(self.add_open(file, &stat, path, root.keeping())?)
                }
            };
            items.push(Item { path, content });
            Ok(())
        })?;
        Listing::new(items).map_err(|source| AddError::Listing {
            path: name.to_path_buf(),
            source,
        })
    }

    pub(crate) fn add_open(
        &self,
        file: File,
        stat: &Stat,
        path: &Path,
        keeping: Keeping,
    ) -> Result<Artifact, AddError> {
        let kept = self.inner.keep_file(&file, stat, keeping);
        let blob = kept.map_err(|source| AddError::copy(path, source))?;
        let is_program = stat.st_mode & 0o111 != 0;
        let kind = if is_program {
            ArtifactKind::Program
        } else {
            ArtifactKind::File
        };
        Ok(Artifact { kind, ..blob })
    }
}

impl AddError {
    pub(crate) fn find(path: &Path, failed: Failed) -> AddError {
        let path = path.to_path_buf();
        match failed {
            Failed::Outside | Failed::Link => AddError::Outside { path },
            Failed::Io(source) => AddError::Open { path, source },
        }
    }

    fn copy(path: &Path, source: io::Error) -> AddError {
        let path = path.to_path_buf();
        if is_full(&source) {
            AddError::DiskFull { path, source }
        } else {
            AddError::Copy { path, source }
        }
    }
}

impl Inner {
    pub(crate) fn keep(&self, content: &[u8]) -> io::Result<Artifact> {
        let hash = Hash(*blake3::hash(content).as_bytes());
        let bytes = content.len() as u64;
        if !self.is_known(hash) {
            let mut draft = self.draft()?;
            draft.file.write_all(content)?;
            draft.publish(hash, bytes)?;
        }
        Ok(Artifact {
            hash,
            bytes: Bytes(bytes),
            kind: ArtifactKind::File,
        })
    }

    fn keep_file(&self, file: &File, stat: &Stat, keeping: Keeping) -> io::Result<Artifact> {
        let start = read_small(file, u64::try_from(stat.st_size).unwrap_or(0))?;
        if start.len() <= SMALL_BYTES_MAX {
            return self.keep(&start);
        }
        let (hash, bytes) = self.keep_large(file, stat, keeping)?;
        Ok(Artifact {
            hash,
            bytes: Bytes(bytes),
            kind: ArtifactKind::File,
        })
    }

    fn keep_large(&self, file: &File, stat: &Stat, keeping: Keeping) -> io::Result<(Hash, u64)> {
        if let Some(linked) = self.linked(file, stat)? {
            return Ok(linked);
        }
        let draft = self.draft()?;
        let (hash, bytes) = if self.reflink(file, &draft.file) {
            // The clone is hashed and not the file, which its writer may still have open.
            sparse::hash(&draft.file)?
        } else if keeping == Keeping::Store
            && let Some(adopted) = self.adopt(file, stat)?
        {
            return Ok(adopted);
        } else {
            sparse::copy_hashed(file, &draft.file)?
        };
        draft.publish(hash, bytes)?;
        Ok((hash, bytes))
    }
}
