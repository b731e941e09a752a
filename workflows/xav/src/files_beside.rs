//! The files that `files:` and `uses:` of a definition name, and those that are defaults of its inputs. They lie in
//! the definition's directory: a link out of it would give away a file that the user never named, such as
//! one that only root can read.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use activity_blobs::{BeneathError, open_beneath};
use model::{Artifact, Draft};

use crate::failure::Failure;
use crate::inputs::{Taking, reason};

/// Files beside a definition, in the order of its `files:`.
#[derive(Clone, Debug)]
pub(crate) struct FilesBeside {
    directory: PathBuf,
    names: Vec<String>,
    /// The files of `files`; the others are of `uses`.
    n_common: usize,
}

impl FilesBeside {
    /// Looks at each file of a definition; the error has everything that is wrong.
    pub(crate) fn look(directory: &Path, draft: &Draft) -> Result<FilesBeside, Vec<String>> {
        let files = FilesBeside {
            directory: directory.to_owned(),
            names: draft.files.clone(),
            n_common: draft.common_files().len(),
        };
        let wrong: Vec<String> = draft
            .files
            .iter()
            .filter_map(|name| files.open(name).err())
            .collect();
        if wrong.is_empty() {
            Ok(files)
        } else {
            Err(wrong)
        }
    }

    /// Takes each file by `take`. Each is opened again below the directory, and read through its
    /// descriptor, so that a link which is put there meanwhile leads nowhere.
    pub(crate) fn resolve(
        &self,
        take: &mut impl FnMut(Taking<'_>) -> Result<Artifact, Failure>,
    ) -> Result<Vec<Artifact>, Failure> {
        let mut taken = Vec::with_capacity(self.names.len());
        for name in &self.names {
            let file = self.open(name).map_err(Failure::refused)?;
            taken.push(take(Taking {
                place: &self.directory.join(name),
                opened: &opened(&file),
                is_directory: false,
            })?);
        }
        Ok(taken)
    }

    fn open(&self, name: &str) -> Result<File, String> {
        let is_common = self.names.iter().take(self.n_common).any(|one| one == name);
        let of = if is_common { "`files`" } else { "`uses`" };
        open(&self.directory, name, of)
    }
}

/// The path of an open file, by which nothing else can be found than that file.
pub(crate) fn opened(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Opens a file below the directory of a definition, which names it in `of`.
pub(crate) fn open(directory: &Path, name: &str, of: &str) -> Result<File, String> {
    let path = directory.join(name);
    open_beneath(directory, Path::new(name)).map_err(|error| match error {
        BeneathError::Outside { .. } => {
            let target = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
            format!(
                "`{name}` of {of} leads out of the definition's directory, to {}: copy the file there, \
                 or declare an input of type file and give it with --input",
                target.display()
            )
        }
        BeneathError::NotAFile => {
            format!("`{name}` of {of} is not a file: {}", path.display())
        }
        BeneathError::Io(error) => format!(
            "could not open `{name}` of {of}: {}: {}",
            path.display(),
            reason(&error)
        ),
    })
}
