//! The certificate, key and trusted authority of a member.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{Identity, Wall};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;

use super::certificate::{Certificate, CertificateError, Fingerprint, parse};
use super::files::{self, FileError, PUBLIC};
use super::key::{Key, KeyError};
use super::renewal::{Ending, Renewal, ending, renewal};
use super::revocation::{Revocations, RevocationsError};

/// The files in a member's directory.
const CERTIFICATE: &str = "certificate.pem";
const KEY: &str = "certificate.key";
const AUTHORITY: &str = "authority.pem";
const REVOKED: &str = "revoked";

/// All of them.
pub(super) const FILES: [&str; 4] = [CERTIFICATE, KEY, AUTHORITY, REVOKED];

/// A certificate with its key, the trusted authority, and the revoked certificates. Read again as a
/// whole after a change.
#[derive(Clone)]
pub struct Credentials {
    certificate: Certificate,
    chain: Vec<CertificateDer<'static>>,
    key: Arc<PrivateKeyDer<'static>>,
    authority: CertificateDer<'static>,
    revocations: Arc<Revocations>,
}

/// Why credentials cannot be used.
#[derive(Debug, Error)]
pub enum CredentialsError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The key cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The certificate has no identity.
    #[error("could not use the own certificate")]
    Certificate(#[source] CertificateError),
    /// The authority's certificate is unreadable.
    #[error("could not use the certificate of the authority")]
    Authority,
    /// The key belongs to another certificate.
    #[error("the key is not the one of the certificate")]
    OtherKey,
    /// The other certificate belongs to another holder.
    #[error("the other certificate is of somebody else")]
    OtherHolder,
    /// The list of revoked certificates cannot be read.
    #[error(transparent)]
    Revocations(#[from] RevocationsError),
}

impl Credentials {
    /// Credentials from a certificate and an authority in PEM.
    pub fn new(
        certificate: &str,
        key: &Key,
        authority: &str,
        revocations: Revocations,
    ) -> Result<Credentials, CredentialsError> {
        let unreadable = |_| CredentialsError::Certificate(CertificateError::Unreadable);
        let der = CertificateDer::from_pem_slice(certificate.as_bytes()).map_err(unreadable)?;
        let read = Certificate::read(&der).map_err(CredentialsError::Certificate)?;
        let parsed = parse(&der).map_err(CredentialsError::Certificate)?;
        if !key.is_of(&parsed) {
            return Err(CredentialsError::OtherKey);
        }
        let authority = CertificateDer::from_pem_slice(authority.as_bytes())
            .map_err(|_| CredentialsError::Authority)?;
        let is_authority = parse(&authority).is_ok_and(|parsed| parsed.is_ca());
        if !is_authority {
            return Err(CredentialsError::Authority);
        }
        Ok(Credentials {
            certificate: read,
            chain: vec![der.into_owned(), authority.clone().into_owned()],
            key: Arc::new(key.to_der()),
            authority: authority.into_owned(),
            revocations: Arc::new(revocations),
        })
    }

    /// Reads them from a member's directory.
    pub fn load(directory: &Path) -> Result<Credentials, CredentialsError> {
        let certificate = files::read(&directory.join(CERTIFICATE))?;
        let authority = files::read(&directory.join(AUTHORITY))?;
        let key = Key::load(&directory.join(KEY))?;
        let revocations = Revocations::load(&directory.join(REVOKED))?;
        Credentials::new(&certificate, &key, &authority, revocations)
    }

    /// Writes a certificate, its key and the authority into a member's directory.
    pub fn save(
        directory: &Path,
        certificate: &str,
        key: &Key,
        authority: &str,
    ) -> Result<(), CredentialsError> {
        key.save(&directory.join(KEY))?;
        files::write(&directory.join(AUTHORITY), authority.as_bytes(), PUBLIC)?;
        files::write(&directory.join(CERTIFICATE), certificate.as_bytes(), PUBLIC)?;
        Ok(())
    }

    /// The key of a directory without a certificate, created if there is no readable one; and the
    /// paths that were created for it: the file, and directories from the outermost one inwards.
    pub(crate) fn key_of(directory: &Path) -> Result<(Key, Vec<PathBuf>), KeyError> {
        let path = directory.join(KEY);
        if let Ok(key) = Key::load(&path) {
            return Ok((key, Vec::new()));
        }
        let missing = path.ancestors().take_while(|path| !path.exists());
        let mut made: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        made.reverse();
        let key = Key::generate()?;
        key.save(&path)?;
        Ok((key, made))
    }

    /// A request to sign the key of a member's directory again.
    pub fn request(directory: &Path) -> Result<Vec<u8>, CredentialsError> {
        Ok(Key::load(&directory.join(KEY))?.request()?)
    }

    /// Replaces the certificate of a member's directory by another one of the same holder and key.
    /// If it fails, the old certificate stays.
    pub fn replace(directory: &Path, certificate: &str) -> Result<(), CredentialsError> {
        let before = Credentials::load(directory)?;
        let authority = files::read(&directory.join(AUTHORITY))?;
        let key = Key::load(&directory.join(KEY))?;
        let after = Credentials::new(certificate, &key, &authority, Revocations::default())?;
        if after.identity() != before.identity() {
            return Err(CredentialsError::OtherHolder);
        }
        files::write(&directory.join(CERTIFICATE), certificate.as_bytes(), PUBLIC)?;
        Ok(())
    }

    /// Replaces the list of revoked certificates in a member's directory.
    pub fn revoke(directory: &Path, revoked: &str) -> Result<(), CredentialsError> {
        let revocations = Revocations::parse(revoked)?;
        revocations.save(&directory.join(REVOKED))?;
        Ok(())
    }

    /// The next step in renewing the own certificate, and its time.
    pub fn renewal(&self, now: Wall) -> Renewal {
        let Certificate {
            not_before,
            not_after,
            ..
        } = self.certificate;
        renewal(not_before, not_after, now)
    }

    /// The warning about the end of the own certificate, if it is due.
    pub fn ending(&self, now: Wall) -> Option<Ending> {
        ending(self.certificate.not_before, self.certificate.not_after, now)
    }

    /// The identity of the holder.
    pub fn identity(&self) -> &Identity {
        &self.certificate.identity
    }

    /// The own certificate.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// The fingerprint of the authority.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.authority)
    }

    /// The revoked certificates.
    pub fn revocations(&self) -> &Arc<Revocations> {
        &self.revocations
    }

    pub(crate) fn chain(&self) -> Vec<CertificateDer<'static>> {
        self.chain.clone()
    }

    pub(crate) fn key(&self) -> PrivateKeyDer<'static> {
        self.key.clone_key()
    }

    pub(crate) fn authority(&self) -> CertificateDer<'static> {
        self.authority.clone()
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}
