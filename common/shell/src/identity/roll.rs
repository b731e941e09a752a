//! Which certificates an authority has signed.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::ErrorKind;
use std::path::Path;

use model::{Identity, Span, Wall};
use thiserror::Error;

use super::certificate::{Certificate, Serial};
use super::files::{self, FileError, SECRET};

/// Certificates that are remembered: more than a group has members, with what they had before.
const CERTIFICATES_MAX: usize = 50_000;

/// Bytes of the longest file of them.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// How long a certificate is remembered after its end, for people who look back.
const REMEMBERED: Span = Span::from_secs(30 * 86_400);

/// The first line of a file.
const HEAD: &str = "# Certificates: serial number, valid from and until in seconds since 1970, \
                    whose it is, where the holder is dialled.\n";

/// The certificates that an authority has signed. In a file each stands on a line of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roll(BTreeMap<Serial, Signed>);

/// A certificate that was signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// Whose it is.
    pub identity: Identity,
    /// From when it is valid.
    pub not_before: Wall,
    /// Until when it is valid.
    pub not_after: Wall,
    /// Where others dial its holder, as host and port.
    pub address: Option<String>,
}

/// Why certificates are not known, or cannot be kept.
#[derive(Debug, Error)]
pub enum RollError {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A line is not one of such a file.
    #[error("line {line} of the list of certificates cannot be understood")]
    Line {
        /// Which line, from 1.
        line: usize,
    },
    /// There are too many.
    #[error("there are {CERTIFICATES_MAX} certificates already")]
    Many,
}

impl Roll {
    /// Reads a file; one that is not there has none.
    pub fn load(path: &Path) -> Result<Roll, RollError> {
        match files::read_up_to(path, FILE_BYTES_MAX) {
            Ok(text) => Roll::parse(&text),
            Err(FileError::System { source, .. }) if source.kind() == ErrorKind::NotFound => {
                Ok(Roll::default())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Writes a file, without what ended long ago.
    pub fn save(&mut self, path: &Path, now: Wall) -> Result<(), RollError> {
        self.0
            .retain(|_, signed| signed.not_after.0.saturating_add(REMEMBERED.0) >= now.0);
        files::write(path, self.render().as_bytes(), SECRET)?;
        Ok(())
    }

    /// Remembers a certificate.
    pub fn add(
        &mut self,
        certificate: &Certificate,
        address: Option<String>,
    ) -> Result<(), RollError> {
        if self.0.len() >= CERTIFICATES_MAX {
            return Err(RollError::Many);
        }
        let signed = Signed {
            identity: certificate.identity.clone(),
            not_before: certificate.not_before,
            not_after: certificate.not_after,
            address,
        };
        self.0.insert(certificate.serial.clone(), signed);
        Ok(())
    }

    /// A certificate by its number.
    pub fn get(&self, serial: &Serial) -> Option<&Signed> {
        self.0.get(serial)
    }

    /// All of them, by their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (&Serial, &Signed)> {
        self.0.iter()
    }

    /// Where a holder is dialled, by the newest of its certificates that says so.
    pub fn address(&self, identity: &Identity) -> Option<&str> {
        let own = self.0.values().filter(|one| one.identity == *identity);
        let known = own.filter(|one| one.address.is_some());
        known
            .max_by_key(|one| one.not_before)
            .and_then(|one| one.address.as_deref())
    }

    fn parse(text: &str) -> Result<Roll, RollError> {
        let mut roll = Roll::default();
        for (index, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (serial, signed) = parse_line(line).ok_or(RollError::Line { line: index + 1 })?;
            roll.0.insert(serial, signed);
        }
        Ok(roll)
    }

    fn render(&self) -> String {
        let mut text = HEAD.to_owned();
        for (serial, signed) in &self.0 {
            let Signed {
                identity,
                not_before,
                not_after,
                address,
            } = signed;
            let (from, until) = (not_before.0 / 1_000_000, not_after.0 / 1_000_000);
            let address = address.as_deref().unwrap_or("-");
            writeln!(text, "{serial} {from} {until} {identity} {address}")
                .expect("a String takes every text");
        }
        text
    }
}

fn parse_line(line: &str) -> Option<(Serial, Signed)> {
    let mut words = line.split_whitespace();
    let (serial, from, until) = (words.next()?, words.next()?, words.next()?);
    let (identity, address) = (words.next()?, words.next()?);
    let wall = |text: &str| Some(Wall(text.parse::<u64>().ok()?.checked_mul(1_000_000)?));
    let signed = Signed {
        identity: identity.parse().ok()?,
        not_before: wall(from)?,
        not_after: wall(until)?,
        address: (address != "-").then(|| address.to_owned()),
    };
    (words.next().is_none()).then_some((serial.parse().ok()?, signed))
}
