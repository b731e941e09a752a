//! Numbers of peers: managers number their peers, and certificates name them.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::identity::{FileError, read_secret, write_secret};

/// Maximum number of peers with a number, including those that are gone: more names than a group
/// ever gives to its managers.
pub const NUMBERS_MAX: usize = 16_384;

/// The numbers of peers of one kind, from 1 on. A name keeps its number for ever, and numbers are
/// never reused.
#[derive(Debug)]
pub struct Numbers {
    /// The file in which they are stored.
    path: PathBuf,
    /// Names in the order of their numbers.
    names: Vec<String>,
    numbers: BTreeMap<String, u32>,
}

/// Why a peer has no number.
#[derive(Debug, Error)]
pub enum NumbersError {
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file has other content.
    #[error("{} holds no names of peers, each once and on a line", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
    },
    /// All numbers are used.
    #[error("could not number another peer: there are {NUMBERS_MAX}")]
    Full,
}

impl Numbers {
    /// Numbers that are stored in a file, which is created with the first of them.
    pub fn kept_in(path: &Path) -> Result<Numbers, NumbersError> {
        let text = match read_secret(path) {
            Ok(text) => text,
            Err(FileError::System { source, .. }) if source.kind() == ErrorKind::NotFound => {
                String::new()
            }
            Err(error) => return Err(error.into()),
        };
        let mut numbers = Numbers {
            path: path.to_owned(),
            names: Vec::new(),
            numbers: BTreeMap::new(),
        };
        for name in text.lines() {
            if name.is_empty() || numbers.numbers.contains_key(name) {
                let path = path.to_owned();
                return Err(NumbersError::Unreadable { path });
            }
            numbers.add(name)?;
        }
        Ok(numbers)
    }

    /// The number of a peer. A new peer gets the next number, which is durable when this returns.
    pub fn of(&mut self, name: &str) -> Result<u32, NumbersError> {
        if let Some(&number) = self.numbers.get(name) {
            return Ok(number);
        }
        let number = self.add(name)?;
        let mut text = self.names.join("\n");
        text.push('\n');
        if let Err(error) = write_secret(&self.path, &text) {
            // The number was given to nobody, so the next name may get it.
            self.names.pop();
            self.numbers.remove(name);
            return Err(error.into());
        }
        Ok(number)
    }

    /// The number of a peer that has one.
    pub fn known(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// The name of the peer with a number.
    pub fn name(&self, number: u32) -> Option<&str> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.names.get(index).map(String::as_str)
    }

    fn add(&mut self, name: &str) -> Result<u32, NumbersError> {
        if self.names.len() >= NUMBERS_MAX {
            return Err(NumbersError::Full);
        }
        self.names.push(name.to_owned());
        let number = u32::try_from(self.names.len()).map_err(|_| NumbersError::Full)?;
        self.numbers.insert(name.to_owned(), number);
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number_and_shares_it_with_nobody() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("numbers");
        let mut numbers = Numbers::kept_in(&path).unwrap();
        // Common 32-bit hashes collide on these two names.
        assert_eq!(numbers.of("costarring").unwrap(), 1);
        assert_eq!(numbers.of("liquid").unwrap(), 2);
        assert_eq!(numbers.known("pm1"), None);
        assert_eq!(numbers.of("pm1").unwrap(), 3);
        assert_eq!(numbers.known("pm1"), Some(3));
        assert_eq!((numbers.name(3), numbers.name(4)), (Some("pm1"), None));
        assert_eq!(numbers.name(0), None);
        assert_eq!(numbers.of("costarring").unwrap(), 1);
        drop(numbers);
        let mut numbers = Numbers::kept_in(&path).unwrap();
        assert_eq!(numbers.of("pm1").unwrap(), 3);
        assert_eq!(numbers.of("liquid").unwrap(), 2);
    }

    #[test]
    fn a_number_that_cannot_be_kept_is_not_given() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("numbers");
        let mut numbers = Numbers::kept_in(&path).unwrap();
        // A directory is not written over.
        std::fs::create_dir(&path).unwrap();
        assert!(matches!(numbers.of("a"), Err(NumbersError::File(_))));
        std::fs::remove_dir(&path).unwrap();
        assert_eq!(numbers.of("b").unwrap(), 1);
        std::fs::write(&path, "a\na\n").unwrap();
        let error = Numbers::kept_in(&path).unwrap_err().to_string();
        assert!(error.ends_with("each once and on a line"), "{error}");
    }
}
