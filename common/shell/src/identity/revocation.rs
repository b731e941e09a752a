//! The list of revoked certificates.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write;
use std::io::ErrorKind;
use std::path::Path;

use model::{Identity, Wall};
use thiserror::Error;

use super::certificate::{Fingerprint, Serial};
use super::files::{self, FileError, PUBLIC};

/// Maximum number of revoked certificates: far more than a group has members.
const REVOCATIONS_MAX: usize = 100_000;

/// Bytes of the longest file of them.
const FILE_BYTES_MAX: u64 = 32 << 20;

/// The word in the place of an unknown holder.
const UNKNOWN: &str = "-";

/// The first line of a file.
const HEAD: &str = "# Revoked certificates: serial number, seconds since 1970, whose it was.\n";

/// The revoked certificates of a group's authority. The file has one line for each: serial number,
/// time of the revocation, and holder or `-`; lines that begin with `#` are comments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revocations {
    by_serial: BTreeMap<Serial, Revoked>,
    revision: u64,
}

/// A certificate that was revoked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revoked {
    /// Time of the revocation.
    pub at: Wall,
    /// The holder; none if the authority has no list that names it.
    pub identity: Option<Identity>,
}

/// Why the list cannot be used.
#[derive(Debug, Error)]
pub enum RevocationsError {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A line has another form. Nothing is taken from a damaged file.
    #[error("line {line} of the revoked certificates is not of the form SERIAL SECONDS IDENTITY")]
    Line {
        /// The number of the line, from 1.
        line: usize,
    },
    /// The list is full.
    #[error("more than {REVOCATIONS_MAX} certificates are revoked")]
    Many,
}

impl Revocations {
    /// Reads a file's text.
    pub fn parse(text: &str) -> Result<Revocations, RevocationsError> {
        let mut revocations = Revocations::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = || RevocationsError::Line { line: index + 1 };
            let mut words = line.split_whitespace();
            let (Some(serial), Some(seconds), Some(identity), None) =
                (words.next(), words.next(), words.next(), words.next())
            else {
                return Err(wrong());
            };
            let seconds: u64 = seconds.parse().map_err(|_| wrong())?;
            let at = Wall(seconds.checked_mul(1_000_000).ok_or_else(wrong)?);
            let identity = match identity {
                UNKNOWN => None,
                identity => Some(identity.parse().map_err(|_| wrong())?),
            };
            let serial = serial.parse().map_err(|_| wrong())?;
            revocations.add(serial, Revoked { at, identity })?;
        }
        Ok(revocations)
    }

    /// A file's text.
    pub fn render(&self) -> String {
        let mut text = HEAD.to_owned();
        for (serial, Revoked { at, identity }) in &self.by_serial {
            let seconds = at.0 / 1_000_000;
            let identity = identity.as_ref().map(Identity::to_string);
            let identity = identity.as_deref().unwrap_or(UNKNOWN);
            writeln!(text, "{serial} {seconds} {identity}").expect("a String takes every text");
        }
        text
    }

    /// Reads a file. A missing file revokes nothing.
    pub fn load(path: &Path) -> Result<Revocations, RevocationsError> {
        match files::read_up_to(path, FILE_BYTES_MAX) {
            Ok(text) => Revocations::parse(&text),
            Err(FileError::System { source, .. }) if source.kind() == ErrorKind::NotFound => {
                Ok(Revocations::default())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Writes a file.
    pub fn save(&self, path: &Path) -> Result<(), RevocationsError> {
        files::write(path, self.render().as_bytes(), PUBLIC)?;
        Ok(())
    }

    /// Revokes a certificate. A second revocation changes nothing.
    pub fn add(&mut self, serial: Serial, revoked: Revoked) -> Result<(), RevocationsError> {
        if self.by_serial.len() >= REVOCATIONS_MAX {
            return Err(RevocationsError::Many);
        }
        if let Entry::Vacant(entry) = self.by_serial.entry(serial) {
            self.revision = self.revision.wrapping_add(mark(entry.key()));
            entry.insert(revoked);
        }
        Ok(())
    }

    /// A number by which lists of different certificates differ: the sum of a hash of each serial number, so that it
    /// takes no time to ask; 0 where none is revoked.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The number of revoked certificates.
    pub fn len(&self) -> usize {
        self.by_serial.len()
    }

    /// Returns true if no certificate is revoked.
    pub fn is_empty(&self) -> bool {
        self.by_serial.is_empty()
    }

    /// Returns true if a certificate is revoked.
    pub fn contains(&self, serial: &Serial) -> bool {
        self.by_serial.contains_key(serial)
    }

    /// The revocation of a certificate, if it is revoked.
    pub fn get(&self, serial: &Serial) -> Option<&Revoked> {
        self.by_serial.get(serial)
    }

    /// All of them, by their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (&Serial, &Revoked)> {
        self.by_serial.iter()
    }
}

/// The first bytes of the SHA-256 of a serial number.
fn mark(serial: &Serial) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = Fingerprint::of(serial.bytes()).0;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(serials: &[&str]) -> Revocations {
        let lines = serials.iter().map(|serial| format!("{serial} 7 -\n"));
        Revocations::parse(&lines.collect::<String>()).unwrap()
    }

    #[test]
    fn lists_of_other_certificates_have_other_revisions() {
        let [none, one, other] = [list(&[]), list(&["41"]), list(&["42"])];
        assert_eq!(none.revision(), 0);
        assert_ne!(one.revision(), other.revision());
        let both = list(&["41", "42", "41"]);
        assert_eq!(both.revision(), list(&["42", "41"]).revision());
        assert_ne!(both.revision(), one.revision());
        let read = Revocations::parse(&both.render()).unwrap();
        assert_eq!(read.revision(), both.revision());
    }
}
