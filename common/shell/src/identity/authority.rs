//! The authority of a group. It alone decides identities: it takes the key of a request and nothing
//! else.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use model::{Identity, IdentityError, Role, Span, Wall};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, DistinguishedName,
    DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, PublicKeyData,
    SanType, SerialNumber,
};
use ring::rand::{SecureRandom, SystemRandom};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateSigningRequestDer};
use thiserror::Error;
use x509_parser::x509::AttributeTypeAndValue;

use super::certificate::{Certificate, CertificateError, Fingerprint, Serial, parse, wall};
use super::files::{self, FileError, PUBLIC};
use super::key::{Key, KeyError};
use super::pem;

/// Time before its signing from which a certificate is valid, so that a clock that is a little
/// behind accepts it.
pub(super) const BACKDATE: Span = Span::from_secs(5 * 60);

/// Bytes of the longest request; one with a key of P-256 has about 300.
const REQUEST_BYTES_MAX: usize = 4 << 10;

/// Bytes of the serial numbers that the authority draws at random, so that none occurs twice.
pub(super) const SERIAL_BYTES: usize = 16;

/// Seconds from 1970 to the end of the year 9999, after which a certificate cannot be dated.
const DATE_SECONDS_MAX: u64 = 253_402_300_799;

/// The files in an authority's directory.
const CERTIFICATE: &str = "authority.pem";
const KEY: &str = "authority.key";

/// The key that signs for one group, and its certificate.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    der: CertificateDer<'static>,
    pem: String,
    grid: String,
    group: String,
    not_after: Wall,
}

/// A certificate that was signed.
#[derive(Clone, Debug)]
pub struct Issued {
    /// The content of the certificate.
    pub certificate: Certificate,
    /// The certificate itself.
    pub pem: String,
}

/// Why the authority could not sign, or could not be used.
#[derive(Debug, Error)]
pub enum AuthorityError {
    /// A name cannot be one.
    #[error(transparent)]
    Name(#[from] IdentityError),
    /// A key cannot be made, read or written.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is not an authority's certificate, or belongs to another key.
    #[error("{path:?} is not the certificate of this group's authority")]
    NotAnAuthority {
        /// The file.
        path: String,
    },
    /// Signing failed.
    #[error("could not sign a certificate")]
    Sign(#[source] rcgen::Error),
    /// A signed certificate does not read as it should.
    #[error("could not sign a certificate that can be read")]
    Read(#[from] CertificateError),
    /// There was no random number.
    #[error("could not draw a serial number")]
    Random,
    /// The request is unreadable or too long, or its signature is not by its key.
    #[error("the signing request cannot be read, or is not signed with its own key")]
    Request,
    /// The request's key is of an unsupported kind.
    #[error("the signing request has a key of another kind than ECDSA on P-256 or Ed25519")]
    Algorithm,
    /// It signs for its own group alone.
    #[error("{identity} is not of the group {group:?} of the grid {grid:?}")]
    Foreign {
        /// The identity that was to be signed.
        identity: Box<Identity>,
        /// The authority's grid.
        grid: String,
        /// The authority's group.
        group: String,
    },
    /// The authority has expired.
    #[error("the authority's own certificate has expired")]
    Expired,
}

impl Authority {
    /// Creates an authority for a group of a grid, with a new key.
    pub fn create(
        grid: &str,
        group: &str,
        now: Wall,
        lifetime: Span,
    ) -> Result<Authority, AuthorityError> {
        // Members' names are checked against the same rules.
        let sample = Identity::new(grid, group, Role::Gm, "x")?;
        let pair = Key::generate()?.into_pair();
        let serial = serial()?;
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        let mut name = |what, text: &str| params.distinguished_name.push(what, text);
        // Each authority gets a name of its own, so that none is mistaken for another.
        let number: String = serial[..4]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        name(DnType::CommonName, &format!("xavantes authority {number}"));
        name(DnType::OrganizationName, sample.grid());
        name(DnType::OrganizationalUnitName, sample.group());
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.serial_number = Some(SerialNumber::from_slice(&serial));
        let not_after = whole(Wall(now.0.saturating_add(lifetime.0)));
        let begin = Wall(now.0.saturating_sub(BACKDATE.0));
        set_times(&mut params, begin, not_after);
        let certificate = params.self_signed(&pair).map_err(AuthorityError::Sign)?;
        Ok(Authority {
            der: certificate.der().clone(),
            pem: pem::certificate(certificate.der()),
            issuer: Issuer::new(params, pair),
            grid: grid.to_owned(),
            group: group.to_owned(),
            not_after,
        })
    }

    /// The authority that was saved in a directory.
    pub fn load(directory: &Path) -> Result<Authority, AuthorityError> {
        let path = directory.join(CERTIFICATE);
        let pem = files::read(&path)?;
        let key = Key::load(&directory.join(KEY))?;
        let wrong = || AuthorityError::NotAnAuthority {
            path: path.display().to_string(),
        };
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|_| wrong())?;
        let parsed = parse(&der).map_err(|_| wrong())?;
        let pair = key.into_pair();
        if !parsed.is_ca() || parsed.public_key().subject_public_key.data != pair.public_key_raw() {
            return Err(wrong());
        }
        let subject = parsed.subject();
        let grid = one(subject.iter_organization()).ok_or_else(wrong)?;
        let group = one(subject.iter_organizational_unit()).ok_or_else(wrong)?;
        let not_after = wall(parsed.validity().not_after);
        Ok(Authority {
            issuer: Issuer::from_ca_cert_der(&der, pair).map_err(AuthorityError::Sign)?,
            pem,
            grid,
            group,
            not_after,
            der: der.into_owned(),
        })
    }

    /// Writes the authority into a directory, the key readable by its owner alone.
    pub fn save(&self, directory: &Path) -> Result<(), AuthorityError> {
        let key = pem::key(self.issuer.key().serialized_der());
        files::write(&directory.join(KEY), key.as_bytes(), files::SECRET)?;
        files::write(&directory.join(CERTIFICATE), self.pem.as_bytes(), PUBLIC)?;
        Ok(())
    }

    /// Signs the key of a request (DER) for an identity. The authority decides name, usages and
    /// times. The certificate ends no later than the authority.
    pub fn issue(
        &self,
        request: &[u8],
        identity: &Identity,
        now: Wall,
        lifetime: Span,
    ) -> Result<Issued, AuthorityError> {
        self.issue_for(&SigningRequest::read(request)?, identity, now, lifetime)
    }

    /// The same for a request that was read.
    pub fn issue_for(
        &self,
        request: &SigningRequest,
        identity: &Identity,
        now: Wall,
        lifetime: Span,
    ) -> Result<Issued, AuthorityError> {
        if now >= self.not_after {
            return Err(AuthorityError::Expired);
        }
        let end = Wall(now.0.saturating_add(lifetime.0)).min(self.not_after);
        let begin = Wall(now.0.saturating_sub(BACKDATE.0));
        self.sign(request, identity, &serial()?, (begin, end))
    }

    /// Signs an earlier certificate again, for a holder who did not get the first answer.
    pub fn issue_again(
        &self,
        request: &SigningRequest,
        identity: &Identity,
        serial: &Serial,
        times: (Wall, Wall),
    ) -> Result<Issued, AuthorityError> {
        self.sign(request, identity, serial.bytes(), times)
    }

    fn sign(
        &self,
        request: &SigningRequest,
        identity: &Identity,
        serial: &[u8],
        (begin, end): (Wall, Wall),
    ) -> Result<Issued, AuthorityError> {
        if (identity.grid(), identity.group()) != (&self.grid, &self.group) {
            return Err(AuthorityError::Foreign {
                identity: Box::new(identity.clone()),
                grid: self.grid.clone(),
                group: self.group.clone(),
            });
        }
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        let subject = format!("{} {}", identity.role(), identity.label());
        params.distinguished_name.push(DnType::CommonName, subject);
        let uri = identity.to_string().try_into();
        params.subject_alt_names = vec![SanType::URI(uri.map_err(AuthorityError::Sign)?)];
        params.serial_number = Some(SerialNumber::from_slice(serial));
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        if identity.role().is_manager() {
            params
                .extended_key_usages
                .push(ExtendedKeyUsagePurpose::ServerAuth);
        }
        params.use_authority_key_identifier_extension = true;
        set_times(&mut params, begin, end);
        let signed = params
            .signed_by(&request.key, &self.issuer)
            .map_err(AuthorityError::Sign)?;
        Ok(Issued {
            certificate: Certificate::read(signed.der())?,
            pem: pem::certificate(signed.der()),
        })
    }

    /// End of the authority's own validity.
    pub fn not_after(&self) -> Wall {
        self.not_after
    }

    /// The grid that its group is of.
    pub fn grid(&self) -> &str {
        &self.grid
    }

    /// Its group.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// Its own certificate, which members trust.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// The fingerprint by which the authority is recognised.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.der)
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority")
            .field("grid", &self.grid)
            .field("group", &self.group)
            .finish_non_exhaustive()
    }
}

/// A request to sign a key that the requester has proved to hold. Only the key is used.
pub struct SigningRequest {
    key: rcgen::PublicKey,
}

impl SigningRequest {
    /// Reads a request in DER.
    pub fn read(der: &[u8]) -> Result<SigningRequest, AuthorityError> {
        if der.len() > REQUEST_BYTES_MAX {
            return Err(AuthorityError::Request);
        }
        let parsed =
            CertificateSigningRequestParams::from_der(&CertificateSigningRequestDer::from(der))
                .map_err(|_| AuthorityError::Request)?;
        let key = parsed.public_key;
        let signed = [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ED25519];
        if signed.contains(&key.algorithm()) {
            Ok(SigningRequest { key })
        } else {
            Err(AuthorityError::Algorithm)
        }
    }

    /// The fingerprint of its key.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self.key.der_bytes())
    }
}

impl fmt::Debug for SigningRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningRequest")
            .field("key", &self.fingerprint())
            .finish_non_exhaustive()
    }
}

fn serial() -> Result<[u8; SERIAL_BYTES], AuthorityError> {
    let mut bytes = [0; SERIAL_BYTES];
    let drawn = SystemRandom::new().fill(&mut bytes);
    drawn.map_err(|_| AuthorityError::Random)?;
    // A serial number is positive and has no leading zero byte, so that it is read as it was
    // written.
    bytes[0] = bytes[0] & 0x7f | 0x40;
    Ok(bytes)
}

/// Rounds to seconds, the unit of certificates.
fn whole(time: Wall) -> Wall {
    Wall(time.0 - time.0 % 1_000_000)
}

/// Sets the validity of a certificate.
fn set_times(params: &mut CertificateParams, begin: Wall, end: Wall) {
    let date = |time: Wall| {
        let seconds = (time.0 / 1_000_000).min(DATE_SECONDS_MAX);
        rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds)
    };
    params.not_before = date(begin);
    params.not_after = date(end);
}

fn one<'a>(mut values: impl Iterator<Item = &'a AttributeTypeAndValue<'a>>) -> Option<String> {
    let value = values.next()?.as_str().ok()?.to_owned();
    values.next().is_none().then_some(value)
}
