//! The files of a tree that a command has written, in a defined order, with links resolved inside
//! it.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, Stat};

use crate::add::AddError;
use crate::beneath::{Failed, Opened, Root, open_entry};
use crate::{DEPTH_MAX, PATH_BYTES_MAX};

/// The wanted part of a tree.
pub(crate) enum Wanted<'a> {
    /// All of it, including empty directories. Links to directories are followed.
    All,
    /// The files whose paths are wanted, at most so many directories below the start. Links to
    /// directories are not followed, and unwanted entries may be anything.
    Files {
        is_wanted: &'a dyn Fn(&Path) -> bool,
        depth_max: usize,
    },
}

/// A found entry.
pub(crate) enum Visit {
    File(File, Stat),
    EmptyDirectory,
}

/// Walks a directory from [`Root::find`], and visits each path below it.
pub(crate) fn walk(
    root: &Root,
    start: (OwnedFd, PathBuf),
    wanted: &Wanted<'_>,
    visit: &mut dyn FnMut(String, Visit) -> Result<(), AddError>,
) -> Result<(), AddError> {
    let (directory, inside) = start;
    let mut walk = Walk {
        root,
        wanted,
        visit,
        above: Vec::new(),
    };
    walk.directory(directory, &inside, Path::new(""))
}

struct Walk<'a> {
    root: &'a Root,
    wanted: &'a Wanted<'a>,
    visit: &'a mut dyn FnMut(String, Visit) -> Result<(), AddError>,
    /// Device and number of the directories being walked, to detect links to one of them.
    above: Vec<(u64, u64)>,
}

impl Walk<'_> {
    /// `inside` is its path under the root, `path` its path in the result.
    fn directory(
        &mut self,
        directory: OwnedFd,
        inside: &Path,
        path: &Path,
    ) -> Result<(), AddError> {
        let read = |error: rustix::io::Errno| AddError::Read {
            path: inside.to_path_buf(),
            source: error.into(),
        };
        let stat = rustix::fs::fstat(&directory).map_err(read)?;
        let identity = (stat.st_dev, stat.st_ino);
        if self.above.contains(&identity) {
            return Err(AddError::Loop {
                path: inside.to_path_buf(),
            });
        }
        if self.above.len() > DEPTH_MAX {
            return Err(AddError::TooDeep {
                path: inside.to_path_buf(),
            });
        }
        let mut names: Vec<Vec<u8>> = Vec::new();
        for entry in Dir::read_from(&directory).map_err(read)? {
            let name = entry.map_err(read)?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(name);
            }
        }
        names.sort_unstable();
        if names.is_empty() && matches!(self.wanted, Wanted::All) && !self.above.is_empty() {
            return (self.visit)(text_of(path, inside)?, Visit::EmptyDirectory);
        }
        self.above.push(identity);
        for name in names {
            let name = OsStr::from_bytes(&name);
            self.entry(&directory, name, &inside.join(name), &path.join(name))?;
        }
        self.above.pop();
        Ok(())
    }

    fn entry(
        &mut self,
        directory: &OwnedFd,
        name: &OsStr,
        inside: &Path,
        path: &Path,
    ) -> Result<(), AddError> {
        let is_wanted = match self.wanted {
            Wanted::All => true,
            Wanted::Files { is_wanted, .. } => is_wanted(path),
        };
        let mut is_link = false;
        let found = match open_entry(directory, name.as_bytes(), inside) {
            Err(Failed::Link) => {
                if !is_wanted {
                    return Ok(());
                }
                is_link = true;
                self.root.find(inside)
            }
            // Unwanted entries may appear and disappear, or be inaccessible.
            Err(_) if !is_wanted => return Ok(()),
            other => other,
        };
        match found.map_err(|failed| AddError::find(inside, failed))? {
            Opened::File(file, stat) if is_wanted => {
                (self.visit)(text_of(path, inside)?, Visit::File(file, stat))
            }
            Opened::Directory(below, real) => {
                let is_entered = match self.wanted {
                    Wanted::All => true,
                    Wanted::Files { depth_max, .. } => !is_link && self.above.len() <= *depth_max,
                };
                if is_entered {
                    self.directory(below, &real, path)
                } else {
                    Ok(())
                }
            }
            Opened::Special if is_wanted => Err(AddError::Special {
                path: inside.to_path_buf(),
            }),
            Opened::File(..) | Opened::Special => Ok(()),
        }
    }
}

fn text_of(path: &Path, inside: &Path) -> Result<String, AddError> {
    let text = path.to_str().ok_or_else(|| AddError::Name {
        path: inside.to_path_buf(),
    })?;
    if text.len() > PATH_BYTES_MAX {
        return Err(AddError::TooDeep {
            path: inside.to_path_buf(),
        });
    }
    Ok(text.to_string())
}
