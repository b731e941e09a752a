//! Collecting the outputs of an activity from its directory.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use model::{Artifact, Bytes, Produced};

use crate::beneath::{Failed, Opened, Root};
use crate::listing::parts;
use crate::walk::Wanted;
use crate::{AddError, DEPTH_MAX, Store};

/// Why outputs could not be collected.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// The activity's directory could not be opened.
    #[error("could not open the directory `{path}`")]
    Open {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Nothing is at the declared path, or nothing matches the glob.
    #[error("output `{name}` is missing: there is no `{path}`")]
    Missing {
        /// The output.
        name: String,
        /// Its declared path.
        path: String,
    },
    /// The output is declared as a directory, and something else is there.
    #[error("output `{name}` is declared as a directory, but `{path}` is a file")]
    NotADirectory {
        /// The output.
        name: String,
        /// Its declared path.
        path: String,
    },
    /// The output is declared as a file, and a directory is there.
    #[error(
        "output `{name}` is declared as a file, but `{path}` is a directory (declare `{path}/`)"
    )]
    NotAFile {
        /// The output.
        name: String,
        /// Its declared path.
        path: String,
    },
    /// The declared path leaves the activity's directory.
    #[error("output `{name}` cannot be collected: `{path}` is not a path in its directory")]
    Path {
        /// The output.
        name: String,
        /// Its declared path.
        path: String,
    },
    /// The glob is invalid.
    #[error("output `{name}` cannot be collected: `{path}` is not a pattern")]
    Pattern {
        /// The output.
        name: String,
        /// Its declared path.
        path: String,
        /// The error.
        source: globset::Error,
    },
    /// The file could not be added.
    #[error("could not collect output `{name}`")]
    Add {
        /// The output.
        name: String,
        /// The cause.
        source: AddError,
    },
}

/// The most that is collected from a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectLimits {
    /// Bytes of the disk that all files take together.
    pub disk: Bytes,
    /// The length of one file.
    pub file: Bytes,
}

impl CollectLimits {
    /// No limits.
    pub const NONE: CollectLimits = CollectLimits {
        disk: Bytes(u64::MAX),
        file: Bytes(u64::MAX),
    };
}

impl Store {
    /// Adds the declared outputs of a directory, one artifact each, in order. Directories and globs
    /// become directories. The paths in a directory are relative to it, those of a glob to its last
    /// directory without a wildcard: `out/` and `out/*.csv` both list `a.csv`. `*`, `?` and `[..]`
    /// match within one name including a leading dot, `**` matches any number of directories,
    /// `{a,b}` one of several. Links are resolved within the activity's directory; globs do not
    /// descend through them. Not durable before [`Store::flush`].
    pub fn collect(
        &self,
        directory: &Path,
        outputs: &[Produced],
    ) -> Result<Vec<Artifact>, CollectError> {
        self.collect_within(&BTreeSet::new(), CollectLimits::NONE, directory, outputs)
    }

    /// The same for commands that ran as these users: files of others are refused, because the
    /// caller could read files that the command could not. Files beyond the limits are refused
    /// before they are read.
    pub fn collect_within(
        &self,
        owners: &BTreeSet<u32>,
        limits: CollectLimits,
        directory: &Path,
        outputs: &[Produced],
    ) -> Result<Vec<Artifact>, CollectError> {
        if outputs.is_empty() {
            return Ok(Vec::new());
        }
        let root = Root::open(directory).map_err(|source| CollectError::Open {
            path: directory.to_path_buf(),
            source,
        })?;
        let root = root.owned_by(owners).within(limits).left_to_the_store();
        outputs
            .iter()
            .map(|output| self.collect_one(&root, output))
            .collect()
    }

    fn collect_one(&self, root: &Root, output: &Produced) -> Result<Artifact, CollectError> {
        if output.is_glob() {
            return self.collect_glob(root, output);
        }
        let is_directory = output.is_directory();
        let path = output.path.strip_suffix('/').unwrap_or(&output.path);
        if parts(path).is_none() {
            return Err(wrong_path(output));
        }
        let added = match find(root, path, output)? {
            Opened::Directory(fd, inside) if is_directory => self
                .add_walked(root, (fd, inside), &Wanted::All, Path::new(path))
                .and_then(|listing| self.add_named_listing(&listing, Path::new(path))),
            Opened::File(file, stat) if !is_directory => root
                .take(Path::new(path), &stat)
                .and_then(|()| self.add_open(file, &stat, Path::new(path), root.keeping())),
            Opened::Directory(..) => {
                let (name, path) = (output.name.clone(), path.to_string());
                return Err(CollectError::NotAFile { name, path });
            }
            Opened::File(..) => {
                let (name, path) = (output.name.clone(), path.to_string());
                return Err(CollectError::NotADirectory { name, path });
            }
            Opened::Special => Err(AddError::Special { path: path.into() }),
        };
        added.map_err(|source| CollectError::Add {
            name: output.name.clone(),
            source,
        })
    }

    fn collect_glob(&self, root: &Root, output: &Produced) -> Result<Artifact, CollectError> {
        let pattern = Pattern::new(output)?;
        let start = match find(root, pattern.start, output)? {
            Opened::Directory(fd, inside) => (fd, inside),
            Opened::File(..) | Opened::Special => return Err(missing(output)),
        };
        let wanted = Wanted::Files {
            is_wanted: &|path| pattern.matcher.is_match(path),
            depth_max: pattern.depth_max,
        };
        let failed = |source| CollectError::Add {
            name: output.name.clone(),
            source,
        };
        let name = Path::new(&output.path);
        let listing = self
            .add_walked(root, start, &wanted, name)
            .map_err(failed)?;
        if listing.items().is_empty() {
            return Err(missing(output));
        }
        self.add_named_listing(&listing, name).map_err(failed)
    }
}

struct Pattern<'a> {
    /// The directories before the first wildcard.
    start: &'a str,
    matcher: GlobMatcher,
    /// Maximum depth of matches below the start.
    depth_max: usize,
}

impl Pattern<'_> {
    fn new(output: &Produced) -> Result<Pattern<'_>, CollectError> {
        let path = output.path.as_str();
        // The last part is the target and never a start directory.
        let wild = path.find(['*', '?', '[', '{', '\\']).unwrap_or(path.len());
        let split = path[..wild].rfind('/');
        let (start, rest) = split.map_or(("", path), |at| (&path[..at], &path[at + 1..]));
        let is_inside = !path.starts_with('/')
            && path.split('/').all(|part| part != "..")
            && (start.is_empty() || parts(start).is_some());
        if !is_inside {
            return Err(wrong_path(output));
        }
        let rest = if rest.ends_with('/') {
            format!("{rest}**")
        } else {
            rest.to_string()
        };
        let glob = GlobBuilder::new(&rest)
            .literal_separator(true)
            .backslash_escape(true)
            .build();
        let glob = glob.map_err(|source| {
            let (name, path) = (output.name.clone(), output.path.clone());
            CollectError::Pattern { name, path, source }
        })?;
        let is_deep = rest.contains("**") || rest.contains('{');
        let depth_max = if is_deep {
            DEPTH_MAX
        } else {
            rest.matches('/').count()
        };
        Ok(Pattern {
            start,
            matcher: glob.compile_matcher(),
            depth_max,
        })
    }
}

fn find(root: &Root, path: &str, output: &Produced) -> Result<Opened, CollectError> {
    root.find(Path::new(path)).map_err(|failed| match failed {
        Failed::Io(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            missing(output)
        }
        failed @ (Failed::Outside | Failed::Link | Failed::Io(_)) => {
            let source = AddError::find(Path::new(path), failed);
            CollectError::Add {
                name: output.name.clone(),
                source,
            }
        }
    })
}

fn missing(output: &Produced) -> CollectError {
    CollectError::Missing {
        name: output.name.clone(),
        path: output.path.clone(),
    }
}

fn wrong_path(output: &Produced) -> CollectError {
    CollectError::Path {
        name: output.name.clone(),
        path: output.path.clone(),
    }
}

#[cfg(test)]
mod tests;
