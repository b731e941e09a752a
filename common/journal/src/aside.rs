//! Setting a damaged journal aside, for managers whose state others report again.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::journal::OpenError;
use crate::directory::{DirectoryError, io_error, rename_durably};

/// Number of journals kept that were set aside; the oldest is removed beyond it, so that a bad disk
/// is not filled with them.
const ASIDE_MAX: usize = 4;

/// Renames a journal's directory, so that an empty one can begin. Returns the new path.
pub fn set_aside(dir: &Path) -> Result<PathBuf, DirectoryError> {
    let mut numbers = numbers_aside(dir);
    let next = numbers.last().copied().unwrap_or(0) + 1;
    while numbers.len() >= ASIDE_MAX {
        let oldest = aside(dir, numbers.remove(0));
        fs::remove_dir_all(&oldest).map_err(io_error("remove", &oldest))?;
    }
    let path = aside(dir, next);
    rename_durably(dir, &path)?;
    Ok(path)
}

impl OpenError {
    /// Returns true if the stored data is damaged, so that another try would find the same. False
    /// if the journal is in use, of a later version, or the system refuses something.
    pub fn is_damage(&self) -> bool {
        match self {
            OpenError::Panicked { .. }
            | OpenError::Damaged(_)
            | OpenError::TailDamaged { .. }
            | OpenError::Lost { .. }
            | OpenError::Directory(DirectoryError::Version { .. }) => true,
            OpenError::Store { source, .. } => source.io().is_none_or(|error| {
                matches!(
                    error.kind(),
                    ErrorKind::UnexpectedEof | ErrorKind::InvalidData | ErrorKind::InvalidInput
                )
            }),
            OpenError::Directory(
                DirectoryError::InUse { .. }
                | DirectoryError::Newer { .. }
                | DirectoryError::Older { .. }
                | DirectoryError::Io { .. },
            )
            | OpenError::Missing { .. }
            | OpenError::Settle { .. } => false,
        }
    }
}

fn aside(dir: &Path, number: u64) -> PathBuf {
    dir.with_added_extension(format!("aside.{number}"))
}

/// Numbers of the journals that were set aside, ascending.
fn numbers_aside(dir: &Path) -> Vec<u64> {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let begin = format!("{name}.aside.");
    let number = |entry: fs::DirEntry| {
        let name = entry.file_name();
        name.to_str()?.strip_prefix(&begin)?.parse().ok()
    };
    let entries = dir.parent().map(fs::read_dir).into_iter().flatten();
    let entries = entries.flatten().filter_map(Result::ok);
    let mut numbers: Vec<u64> = entries.filter_map(number).collect();
    numbers.sort_unstable();
    numbers
}
