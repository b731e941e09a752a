//! Laying results below the directory of a definition.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use activity_blobs::{BeneathError, identify_file, identify_tree, make_beneath, open_beneath};
use model::{Artifact, ArtifactKind, Definition};

use super::paths::Wanted;
use crate::failure::Failure;
use crate::files_beside::opened;
use crate::inputs::reason;
use crate::sources::Sources;

/// Files that are looked at in a directory before another one is published there.
const ENTRIES_MAX: usize = 1_000_000;

/// The directory of a definition, and what in it is never replaced.
pub(super) struct Project {
    directory: PathBuf,
    /// The files and directories that the process was given, by device and number; of a link both itself and
    /// what it leads to.
    given: BTreeSet<(u64, u64)>,
}

/// What lies where a result should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Laid {
    /// It was laid now.
    New,
    /// It was there, with the same content.
    Same,
    /// Something else is there.
    Other,
    /// Nothing is there.
    Missing,
}

impl Laid {
    /// True if the result is there.
    pub(crate) fn is_there(self) -> bool {
        match self {
            Laid::New | Laid::Same => true,
            Laid::Other | Laid::Missing => false,
        }
    }

    /// The word for programs.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Laid::New => "laid",
            Laid::Same => "there",
            Laid::Other => "changed",
            Laid::Missing => "missing",
        }
    }
}

impl Project {
    /// The error says why nothing can be laid there.
    pub(super) fn new(sources: &Sources, definition: &Definition) -> Result<Project, String> {
        let directory = sources.directory.clone();
        let metadata = fs::metadata(&directory);
        metadata.map_err(|error| format!("{}: {}", directory.display(), reason(&error)))?;
        let draft = definition.draft();
        let environment = draft.environment.as_ref();
        let of_variables = environment.and_then(|asked| asked.file.as_ref());
        let beside = draft.files.iter().chain(of_variables);
        let beside = beside.map(|file| directory.join(file));
        let own = sources.definition_file();
        let given = sources.given().chain(own).map(Path::to_owned);
        let given = given.chain(sources.named()).chain(beside);
        let given = given.flat_map(|path| {
            let both = [fs::symlink_metadata(&path), fs::metadata(&path)];
            both.into_iter().flatten().map(|there| number(&there))
        });
        Ok(Project {
            given: given.collect(),
            directory,
        })
    }

    /// What is there of a result. A directory counts as it was published as long as all its files do.
    pub(super) fn look(&self, wanted: &Wanted) -> Laid {
        let path = self.directory.join(&wanted.path);
        match fs::symlink_metadata(&path) {
            Err(_) => Laid::Missing,
            Ok(_) if self.has(wanted) => Laid::Same,
            Ok(_) => Laid::Other,
        }
    }

    /// True if the same content is there.
    fn has(&self, wanted: &Wanted) -> bool {
        let found = match wanted.artifact.kind {
            ArtifactKind::Directory => {
                let path = self.directory.join(&wanted.path);
                let is_directory = fs::symlink_metadata(&path).is_ok_and(|there| there.is_dir());
                is_directory.then(|| identify_tree(&path).ok()).flatten()
            }
            ArtifactKind::File | ArtifactKind::Program => {
                let file = open_beneath(&self.directory, Path::new(&wanted.path)).ok();
                let size = |file: &fs::File| file.metadata().ok().map(|there| there.len());
                let file = file.filter(|file| size(file) == Some(wanted.artifact.bytes.0));
                file.and_then(|file| identify_file(&opened(&file)).ok())
            }
        };
        found.is_some_and(|found| found == wanted.artifact)
    }

    /// Lays a result, unless the same is there. The error says why it could not be laid.
    pub(super) fn lay(
        &self,
        wanted: &Wanted,
        write: &impl Fn(Artifact, &Path) -> Result<(), Failure>,
    ) -> Result<Laid, String> {
        if self.has(wanted) {
            return Ok(Laid::Same);
        }
        let path = Path::new(&wanted.path);
        let cannot = |failure: Failure| format!("`{}`: {}", wanted.path, failure.message);
        if wanted.artifact.kind == ArtifactKind::Directory {
            self.may_lie_in(path, &wanted.path)?;
            let directory = self.make(path, &wanted.path)?;
            self.may_fill(&place(&directory), &wanted.path)?;
            write(wanted.artifact, &place(&directory)).map_err(cannot)?;
            return Ok(Laid::New);
        }
        let above = path.parent().unwrap_or(Path::new(""));
        self.may_lie_in(above, &wanted.path)?;
        let directory = self.make(above, &wanted.path)?;
        let name = path.file_name().unwrap_or_default();
        let to = place(&directory).join(name);
        self.may_replace(&to, &wanted.path)?;
        write(wanted.artifact, &to).map_err(cannot)?;
        Ok(Laid::New)
    }

    /// The directory for a result, which is made where there is none.
    fn make(&self, relative: &Path, shown: &str) -> Result<OwnedFd, String> {
        make_beneath(&self.directory, relative).map_err(|error| match error {
            BeneathError::Outside { directory } => format!(
                "`{shown}` leads out of {}, by a link: results are laid in the directory of the definition alone",
                directory.display()
            ),
            BeneathError::NotAFile => format!("`{shown}`: there is no directory"),
            BeneathError::Io(error) => format!("`{shown}`: {}", reason(&error)),
        })
    }

    /// Checks that a directory for a result is none that the process was given, and in none: it would change an input.
    fn may_lie_in(&self, relative: &Path, shown: &str) -> Result<(), String> {
        let mut ways = relative.ancestors().map(|way| self.directory.join(way));
        // A directory that does not exist yet was not given.
        let real = ways.find_map(|way| fs::canonicalize(way).ok());
        let real = real.unwrap_or_default();
        let is_given = |place: &Path| {
            let there = fs::metadata(place).ok().filter(fs::Metadata::is_dir);
            there.is_some_and(|there| self.given.contains(&number(&there)))
        };
        match real.ancestors().any(is_given) {
            true => Err(format!(
                "`{shown}` lies in a directory that the process was given: publish under another path"
            )),
            false => Ok(()),
        }
    }

    /// Checks that nothing below a directory is what the process was given: what is published there could replace it.
    fn may_fill(&self, directory: &Path, shown: &str) -> Result<(), String> {
        let mut open = vec![directory.to_owned()];
        let mut n_seen = 0_usize;
        while let Some(directory) = open.pop() {
            let listed = fs::read_dir(&directory);
            let listed = listed.map_err(|error| format!("`{shown}`: {}", reason(&error)))?;
            for entry in listed.flatten() {
                n_seen += 1;
                if n_seen > ENTRIES_MAX {
                    return Err(format!("`{shown}` has more than {ENTRIES_MAX} files in it"));
                }
                let Ok(there) = fs::symlink_metadata(entry.path()) else {
                    continue;
                };
                if self.given.contains(&number(&there)) {
                    let name = entry.file_name();
                    let what = match there.is_dir() {
                        true => "directory",
                        false => "file",
                    };
                    return Err(format!(
                        "`{shown}` has `{}`, a {what} that the process was given, in it: publish under another path",
                        name.display()
                    ));
                }
                if there.is_dir() {
                    open.push(entry.path());
                }
            }
        }
        Ok(())
    }

    /// Checks that nothing is replaced but a file, and none that the process was given.
    fn may_replace(&self, to: &Path, shown: &str) -> Result<(), String> {
        let there = match fs::symlink_metadata(to) {
            Ok(there) => there,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(format!("`{shown}`: {}", reason(&error))),
        };
        if there.is_dir() {
            return Err(format!("`{shown}` is a directory, and a file is published"));
        }
        if self.given.contains(&number(&there)) {
            return Err(format!(
                "`{shown}` is a file that the process was given: publish under another path"
            ));
        }
        Ok(())
    }
}

/// The device and number of a file or directory, which no other one has.
fn number(there: &fs::Metadata) -> (u64, u64) {
    (there.dev(), there.ino())
}

/// The path by which nothing else can be found than this directory, wherever it is moved meanwhile.
fn place(directory: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()))
}

#[cfg(test)]
mod tests;
