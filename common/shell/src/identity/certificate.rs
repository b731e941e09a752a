//! The content of a certificate.

use std::fmt;
use std::str::FromStr;

use model::{GroupId, Identity, IdentityError, Wall};
use ring::digest::{SHA256, digest};
use thiserror::Error;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;
use x509_parser::time::ASN1Time;

/// The fields of a certificate that links and people use. Its signature is not checked here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The identity of its holder.
    pub identity: Identity,
    /// Its number among those of its authority.
    pub serial: Serial,
    /// From when it is valid.
    pub not_before: Wall,
    /// Until when it is valid.
    pub not_after: Wall,
}

impl Certificate {
    /// Reads the identity and the other fields from DER.
    pub fn read(der: &[u8]) -> Result<Certificate, CertificateError> {
        let parsed = parse(der)?;
        let names = parsed
            .subject_alternative_name()
            .map_err(|_| CertificateError::Unreadable)?
            .ok_or(CertificateError::Nameless)?;
        // The authority signs exactly one name; a second one would be ambiguous.
        let [GeneralName::URI(uri)] = &names.value.general_names[..] else {
            return Err(CertificateError::Nameless);
        };
        Ok(Certificate {
            identity: uri.parse()?,
            serial: Serial::new(parsed.raw_serial()).map_err(|_| CertificateError::Unreadable)?,
            not_before: wall(parsed.validity().not_before),
            not_after: wall(parsed.validity().not_after),
        })
    }
}

/// Parses a certificate without checking its content.
pub(super) fn parse(der: &[u8]) -> Result<X509Certificate<'_>, CertificateError> {
    match X509Certificate::from_der(der) {
        Ok(([], parsed)) => Ok(parsed),
        Ok(_) | Err(_) => Err(CertificateError::Unreadable),
    }
}

pub(super) fn wall(time: ASN1Time) -> Wall {
    let seconds = u64::try_from(time.timestamp()).unwrap_or(0);
    Wall(seconds.saturating_mul(1_000_000))
}

/// Why a certificate has no identity.
#[derive(Debug, Error)]
pub enum CertificateError {
    /// It is no certificate.
    #[error("could not read a certificate")]
    Unreadable,
    /// It has no name, or several.
    #[error(
        "the certificate does not have exactly one name of the form xav://grid/group/role/name"
    )]
    Nameless,
    /// Its name is no identity.
    #[error("the certificate names nobody")]
    Identity(#[from] IdentityError),
}

/// The serial number of a certificate, unique within its authority. Written in hexadecimal.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Serial(Vec<u8>);

/// Bytes of the longest serial number (RFC 5280, 4.1.2.2).
const SERIAL_BYTES_MAX: usize = 20;

impl Serial {
    /// A serial number from bytes, the highest first.
    pub fn new(bytes: &[u8]) -> Result<Serial, SerialError> {
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        let bytes = &bytes[zeros..];
        if (1..=SERIAL_BYTES_MAX).contains(&bytes.len()) {
            Ok(Serial(bytes.to_vec()))
        } else {
            Err(SerialError)
        }
    }
}

impl Serial {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Serial({self})")
    }
}

impl FromStr for Serial {
    type Err = SerialError;

    fn from_str(text: &str) -> Result<Serial, SerialError> {
        let is_hex = text.len() <= 2 * SERIAL_BYTES_MAX && text.len().is_multiple_of(2);
        if !is_hex || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(SerialError);
        }
        let digits = (0..text.len()).step_by(2).map(|at| &text[at..at + 2]);
        let bytes: Result<Vec<u8>, _> = digits.map(|two| u8::from_str_radix(two, 16)).collect();
        Serial::new(&bytes.map_err(|_| SerialError)?)
    }
}

/// A text or bytes that are no serial number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a serial number is 2 to 40 hexadecimal digits, and not 0")]
pub struct SerialError;

/// SHA-256 of a certificate, by which an authority is recognised, or of a key. Written in
/// hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 32]);

impl Fingerprint {
    /// The fingerprint of a certificate in DER or of a key.
    pub fn of(der: &[u8]) -> Fingerprint {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, der).as_ref());
        Fingerprint(bytes)
    }

    /// The group of the authority with this fingerprint.
    pub fn group(&self) -> GroupId {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        GroupId::new(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Fingerprint {
    type Err = SerialError;

    fn from_str(text: &str) -> Result<Fingerprint, SerialError> {
        digits(text).ok_or(SerialError).map(Fingerprint)
    }
}

/// Bytes that are written as hexadecimal digits, all of them.
pub(super) fn digits<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
    }
    Some(bytes)
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}
