//! Identities in a group: the authority that signs certificates, keys, the content of certificates,
//! join tokens, renewal and revocation.
//!
//! Nothing here uses the network, and times are passed in. Files are read and written here, keys
//! with mode 0600. Read [`Authority`] and [`Credentials`] first, then [`Registrar`], which belongs
//! to a group manager.

mod authority;
mod certificate;
mod credentials;
mod files;
mod issued;
mod key;
mod lock;
mod pem;
mod reader;
mod registrar;
mod renewal;
mod revocation;
mod token;

pub use authority::{Authority, AuthorityError, Issued, SigningRequest};
pub use certificate::{Certificate, CertificateError, Fingerprint, Serial, SerialError};
pub use credentials::{Credentials, CredentialsError};
pub use files::{FileError, write_secret};
pub use issued::{IssuedCertificates, IssuedError, Origin, Signed};
pub use key::{Key, KeyError};
pub use reader::CredentialsReader;
pub use registrar::{
    AUTHORITY_LIFE, CERTIFICATE_LIFE, Entry, Registrar, RegistrarError, is_address,
};
pub use renewal::{Ending, Renewal, days, ending, renewal};
pub use revocation::{Revocations, RevocationsError, Revoked};
pub use token::{
    JoinToken, OpenToken, Terms, TokenCounts, TokenError, TokenId, Tokens, TokensError,
};

pub(crate) use files::read_secret;

#[cfg(test)]
mod tests;
