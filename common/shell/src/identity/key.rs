//! A private key.

use std::fmt;
use std::path::Path;

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use thiserror::Error;
use x509_parser::certificate::X509Certificate;

use super::files::{self, FileError, SECRET};
use super::pem;

/// A private key (ECDSA on P-256). It leaves its machine only in a file of mode 0600.
pub struct Key(KeyPair);

/// Why there is no key.
#[derive(Debug, Error)]
pub enum KeyError {
    /// The key or a request could not be made.
    #[error("could not make a key")]
    Make(#[source] rcgen::Error),
    /// Its file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file contains no key.
    #[error("{path:?} holds no private key")]
    Unreadable {
        /// The file.
        path: String,
    },
}

impl Key {
    /// Generates a key.
    pub fn generate() -> Result<Key, KeyError> {
        KeyPair::generate().map(Key).map_err(KeyError::Make)
    }

    /// Reads a key. A file that others may read is refused.
    pub fn load(path: &Path) -> Result<Key, KeyError> {
        let text = files::read_secret(path)?;
        let unreadable = || KeyError::Unreadable {
            path: path.display().to_string(),
        };
        let der = PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|_| unreadable())?;
        let pair = KeyPair::try_from(&der).map_err(|_| unreadable())?;
        Ok(Key(pair))
    }

    /// Writes the key, readable by its owner alone.
    pub fn save(&self, path: &Path) -> Result<(), KeyError> {
        files::write(path, pem::key(self.0.serialized_der()).as_bytes(), SECRET)?;
        Ok(())
    }

    /// A request to sign this key, in DER. It contains no name: the signer decides that.
    pub fn request(&self) -> Result<Vec<u8>, KeyError> {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        let request = params.serialize_request(&self.0).map_err(KeyError::Make)?;
        Ok(request.der().to_vec())
    }

    pub(super) fn into_pair(self) -> KeyPair {
        self.0
    }

    /// Returns true if a certificate is for this key.
    pub(super) fn is_of(&self, certificate: &X509Certificate<'_>) -> bool {
        certificate.public_key().subject_public_key.data == self.0.public_key_raw()
    }

    pub(super) fn to_der(&self) -> PrivateKeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.0.serialize_der()).into()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").finish_non_exhaustive()
    }
}
