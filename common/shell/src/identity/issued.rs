//! The list of the certificates that an authority has signed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::io::ErrorKind;
use std::path::Path;

use model::{Identity, Role, Span, Wall};
use thiserror::Error;

use super::certificate::{Certificate, Fingerprint, Serial};
use super::files::{self, FileError, SECRET};
use super::token::TokenId;

/// Maximum number of remembered certificates: those of all members, with their predecessors.
const CERTIFICATES_MAX: usize = 50_000;

/// Bytes of the longest file of them.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Time for which a certificate is remembered after its end, for people who look back. The last one
/// of a name that owns processes is remembered for ever, because the next holder must get another
/// number.
const REMEMBERED: Span = Span::from_secs(30 * 86_400);

/// The first line of a file.
const HEAD: &str = "# Certificates: serial number, valid from and until in seconds since 1970, \
                    whose it is, where the holder is dialled, SHA-256 of the key, and the token or \
                    the certificate that it was given for.\n";

/// Prefixes of a token and of an earlier certificate as the origin of a certificate.
const TOKEN: &str = "token:";
const AFTER: &str = "after:";

/// The certificates that an authority has signed. The file has one line for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IssuedCertificates(BTreeMap<Serial, Signed>);

/// A certificate that was signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The identity of its holder.
    pub identity: Identity,
    /// From when it is valid.
    pub not_before: Wall,
    /// Until when it is valid.
    pub not_after: Wall,
    /// The address at which others dial its holder, as host and port.
    pub address: Option<String>,
    /// SHA-256 of its public key; none if an earlier version signed it.
    pub key: Option<Fingerprint>,
    /// The token or certificate that entitled the holder to it; none if an administrator signed it
    /// at the authority itself.
    pub origin: Option<Origin>,
}

/// A token or certificate that entitles its holder to one certificate, however often it is
/// presented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A join token.
    Token(TokenId),
    /// An earlier certificate, which this one succeeds.
    After(Serial),
}

/// Why the list cannot be used.
#[derive(Debug, Error)]
pub enum IssuedError {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A line has another form.
    #[error("line {line} of the list of certificates cannot be understood")]
    Line {
        /// The number of the line, from 1.
        line: usize,
    },
    /// The list is full.
    #[error("there are {CERTIFICATES_MAX} certificates already")]
    Many,
}

impl IssuedCertificates {
    /// Reads a file. A missing file is an empty list.
    pub fn load(path: &Path) -> Result<IssuedCertificates, IssuedError> {
        match files::read_up_to(path, FILE_BYTES_MAX) {
            Ok(text) => IssuedCertificates::parse(&text),
            Err(FileError::System { source, .. }) if source.kind() == ErrorKind::NotFound => {
                Ok(IssuedCertificates::default())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Writes the file, without certificates that ended long ago.
    pub fn save(&mut self, path: &Path, now: Wall) -> Result<(), IssuedError> {
        self.forget(now, CERTIFICATES_MAX);
        files::write(path, self.render().as_bytes(), SECRET)?;
        Ok(())
    }

    /// Makes room for one more: forgets certificates that ended long ago, and in a full list others that have ended.
    pub fn make_room(&mut self, now: Wall) -> Result<(), IssuedError> {
        self.forget(now, CERTIFICATES_MAX - 1);
        self.has_room()
    }

    /// Forgets certificates that ended long ago, and beyond this number the others that have ended, those that ended
    /// first before the others.
    fn forget(&mut self, now: Wall, n_kept: usize) {
        let mut last: BTreeMap<(Role, String), (Wall, Serial)> = BTreeMap::new();
        for (serial, signed) in self.0.iter().filter(|(_, one)| owns(one.identity.role())) {
            let name = (signed.identity.role(), signed.identity.name().to_owned());
            let own = (signed.not_after, serial.clone());
            let before = last.entry(name).or_insert_with(|| own.clone());
            if *before < own {
                *before = own;
            }
        }
        let last: BTreeSet<Serial> = last.into_values().map(|(_, serial)| serial).collect();
        self.0.retain(|serial, signed| {
            signed.not_after.0.saturating_add(REMEMBERED.0) >= now.0 || last.contains(serial)
        });
        let n_beyond = self.0.len().saturating_sub(n_kept);
        if n_beyond == 0 {
            return;
        }
        let ended = self.0.iter().filter(|(_, signed)| signed.not_after < now);
        let ended = ended.filter(|(serial, _)| !last.contains(serial));
        let ended = ended.map(|(serial, signed)| (signed.not_after, serial.clone()));
        let mut ended: Vec<(Wall, Serial)> = ended.collect();
        ended.sort_unstable();
        for (_, serial) in ended.iter().take(n_beyond) {
            self.0.remove(serial);
        }
    }

    /// Checks that there is room for one more.
    fn has_room(&self) -> Result<(), IssuedError> {
        match self.0.len() < CERTIFICATES_MAX {
            true => Ok(()),
            false => Err(IssuedError::Many),
        }
    }

    /// Remembers a certificate.
    pub fn add(
        &mut self,
        certificate: &Certificate,
        address: Option<String>,
        key: Fingerprint,
        origin: Option<Origin>,
    ) -> Result<(), IssuedError> {
        self.has_room()?;
        let signed = Signed {
            identity: certificate.identity.clone(),
            not_before: certificate.not_before,
            not_after: certificate.not_after,
            address,
            key: Some(key),
            origin,
        };
        self.0.insert(certificate.serial.clone(), signed);
        Ok(())
    }

    /// Removes a certificate that nobody has received.
    pub fn remove(&mut self, serial: &Serial) {
        self.0.remove(serial);
    }

    /// The certificate that was signed for an origin.
    pub fn given_for(&self, origin: &Origin) -> Option<(&Serial, &Signed)> {
        let mut all = self.0.iter();
        all.find(|(_, signed)| signed.origin.as_ref() == Some(origin))
    }

    /// The number of the last holder of a name; none if nobody has had it.
    pub fn last_holder(&self, role: Role, name: &str) -> Option<u32> {
        let identities = self.0.values().map(|signed| &signed.identity);
        let own = identities.filter(|one| one.role() == role && one.name() == name);
        own.map(Identity::holder).max()
    }

    /// A certificate by its number.
    pub fn get(&self, serial: &Serial) -> Option<&Signed> {
        self.0.get(serial)
    }

    /// All of them, by their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (&Serial, &Signed)> {
        self.0.iter()
    }

    /// The address of a holder, from the newest of its certificates that has one.
    pub fn address(&self, identity: &Identity) -> Option<&str> {
        let own = self.0.values().filter(|one| one.identity == *identity);
        let known = own.filter(|one| one.address.is_some());
        known
            .max_by_key(|one| one.not_before)
            .and_then(|one| one.address.as_deref())
    }

    fn parse(text: &str) -> Result<IssuedCertificates, IssuedError> {
        let mut issued = IssuedCertificates::default();
        for (index, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (serial, signed) = parse_line(line).ok_or(IssuedError::Line { line: index + 1 })?;
            issued.0.insert(serial, signed);
        }
        Ok(issued)
    }

    fn render(&self) -> String {
        let mut text = HEAD.to_owned();
        for (serial, signed) in &self.0 {
            let Signed {
                identity,
                not_before,
                not_after,
                address,
                key,
                origin,
            } = signed;
            let (from, until) = (not_before.0 / 1_000_000, not_after.0 / 1_000_000);
            let address = address.as_deref().unwrap_or("-");
            let key = key.map_or_else(|| "-".to_owned(), |key| key.to_string());
            let origin = match origin {
                None => "-".to_owned(),
                Some(Origin::Token(token)) => format!("{TOKEN}{token}"),
                Some(Origin::After(serial)) => format!("{AFTER}{serial}"),
            };
            writeln!(
                text,
                "{serial} {from} {until} {identity} {address} {key} {origin}"
            )
            .expect("a String takes every text");
        }
        text
    }
}

/// Returns true if processes are owned or controlled under names of this role.
pub(super) fn owns(role: Role) -> bool {
    match role {
        Role::User | Role::Pm => true,
        Role::Gm | Role::Am | Role::Admin => false,
    }
}

fn parse_line(line: &str) -> Option<(Serial, Signed)> {
    let mut words = line.split_whitespace();
    let (serial, from, until) = (words.next()?, words.next()?, words.next()?);
    let (identity, address) = (words.next()?, words.next()?);
    // Lines of earlier versions end here.
    let (key, origin) = match words.next() {
        Some(key) => (key, words.next()?),
        None => ("-", "-"),
    };
    let wall = |text: &str| Some(Wall(text.parse::<u64>().ok()?.checked_mul(1_000_000)?));
    let signed = Signed {
        identity: identity.parse().ok()?,
        not_before: wall(from)?,
        not_after: wall(until)?,
        address: (address != "-").then(|| address.to_owned()),
        key: match key {
            "-" => None,
            key => Some(key.parse().ok()?),
        },
        origin: match origin {
            "-" => None,
            origin => Some(parse_origin(origin)?),
        },
    };
    (words.next().is_none()).then_some((serial.parse().ok()?, signed))
}

fn parse_origin(text: &str) -> Option<Origin> {
    match text.strip_prefix(TOKEN) {
        Some(token) => Some(Origin::Token(token.parse().ok()?)),
        None => Some(Origin::After(text.strip_prefix(AFTER)?.parse().ok()?)),
    }
}
