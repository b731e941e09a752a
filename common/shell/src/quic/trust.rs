//! Trust: the chain to the group's authority, the time, the purpose and the revocations. Names are
//! checked afterwards, against the expected peer.

use std::fmt;
use std::sync::Arc;

use quinn::Connection;
use quinn::crypto::rustls::{HandshakeData, QuicClientConfig, QuicServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, verify_server_cert_signed_by_trust_anchor};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{NoServerSessionStorage, ParsedCertificate, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore,
    SignatureScheme,
};

use crate::identity::{Certificate, Credentials, Fingerprint, Revocations};

/// The purpose of a connection; both sides must name the same one.
const CONTROL: &[u8] = b"xavantes";

/// The purpose of a connection for requests.
const REQUESTS: &[u8] = b"xavantes-desk";

/// The TLS settings of both sides. Sessions are never resumed: each connection is checked against
/// the present trust.
pub(super) struct Trust {
    pub(super) server: Arc<QuicServerConfig>,
    pub(super) client: Arc<QuicClientConfig>,
}

/// The cryptography provider.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

impl Trust {
    /// For links alone: a peer without a certificate is refused in the handshake.
    pub(super) fn of(credentials: &Credentials) -> Result<Trust, Error> {
        Trust::speaking(CONTROL, credentials)
    }

    /// For connections of another purpose, which both sides name.
    pub(super) fn speaking(purpose: &[u8], credentials: &Credentials) -> Result<Trust, Error> {
        Trust::with(credentials, purpose, &[purpose], Strangers::TurnedAway)
    }

    /// For links and requests, with which a peer without a certificate may ask to join.
    pub(super) fn with_requests(credentials: &Credentials) -> Result<Trust, Error> {
        Trust::with(credentials, CONTROL, &[CONTROL, REQUESTS], Strangers::Heard)
    }

    fn with(
        credentials: &Credentials,
        purpose: &[u8],
        serves: &[&[u8]],
        strangers: Strangers,
    ) -> Result<Trust, Error> {
        let provider = provider();
        let judge = Arc::new(Judge::of(credentials, strangers)?);
        let (chain, key) = (credentials.chain(), credentials.key());
        let mut server = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])?
            .with_client_cert_verifier(Arc::clone(&judge) as Arc<dyn ClientCertVerifier>)
            .with_single_cert(chain.clone(), key.clone_key())?;
        server.alpn_protocols = serves.iter().map(|name| name.to_vec()).collect();
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        let client = client(judge, purpose, credentials)?;
        Ok(Trust {
            server: Arc::new(server.try_into().map_err(no_suite)?),
            client: Arc::new(client.try_into().map_err(no_suite)?),
        })
    }
}

/// The settings of a member that sends requests.
pub(super) fn request_config(credentials: &Credentials) -> Result<QuicClientConfig, Error> {
    let judge = Arc::new(Judge::of(credentials, Strangers::TurnedAway)?);
    let client = client(judge, REQUESTS, credentials)?;
    client.try_into().map_err(no_suite)
}

/// The settings of a peer without a certificate that knows an authority by its fingerprint.
pub(super) fn stranger(authority: Fingerprint) -> Result<QuicClientConfig, Error> {
    stranger_for(authority, REQUESTS)
}

/// The settings of a stranger that tries to open a link.
#[cfg(test)]
pub(super) fn stranger_for_links(authority: Fingerprint) -> Result<QuicClientConfig, Error> {
    stranger_for(authority, CONTROL)
}

fn stranger_for(authority: Fingerprint, purpose: &[u8]) -> Result<QuicClientConfig, Error> {
    let provider = provider();
    let judge = Arc::new(Pinned {
        authority,
        provider: Arc::clone(&provider),
    });
    let mut client = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(judge)
        .with_no_client_auth();
    plain(&mut client, purpose);
    client.try_into().map_err(no_suite)
}

/// Returns true if the purpose of a connection is requests.
pub(super) fn is_for_requests(connection: &Connection) -> bool {
    let data = connection.handshake_data();
    let data = data.and_then(|any| any.downcast::<HandshakeData>().ok());
    data.and_then(|data| data.protocol)
        .is_some_and(|name| name == REQUESTS)
}

fn client(
    judge: Arc<Judge>,
    purpose: &[u8],
    credentials: &Credentials,
) -> Result<rustls::ClientConfig, Error> {
    let mut client = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(judge)
        .with_client_auth_cert(credentials.chain(), credentials.key())?;
    plain(&mut client, purpose);
    Ok(client)
}

fn plain(client: &mut rustls::ClientConfig, purpose: &[u8]) {
    client.alpn_protocols = vec![purpose.to_vec()];
    client.resumption = Resumption::disabled();
    client.enable_sni = false;
}

fn no_suite<E>(_: E) -> Error {
    Error::General("no cipher suite for QUIC".to_owned())
}

/// The treatment of peers without a certificate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strangers {
    TurnedAway,
    Heard,
}

/// Checks certificates of both sides by the same rules.
struct Judge {
    clients: Arc<dyn ClientCertVerifier>,
    roots: Arc<RootCertStore>,
    provider: Arc<CryptoProvider>,
    revocations: Arc<Revocations>,
    strangers: Strangers,
}

impl Judge {
    fn of(credentials: &Credentials, strangers: Strangers) -> Result<Judge, Error> {
        let provider = provider();
        let mut roots = RootCertStore::empty();
        roots.add(credentials.authority())?;
        let roots = Arc::new(roots);
        let clients =
            WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
                .build()
                .map_err(|error| Error::General(error.to_string()))?;
        Ok(Judge {
            clients,
            roots,
            provider,
            revocations: Arc::clone(credentials.revocations()),
            strangers,
        })
    }

    /// Checks the revocations, which are not part of the chain.
    fn is_not_revoked(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        let read = Certificate::read(certificate)
            .map_err(|_| Error::InvalidCertificate(CertificateError::BadEncoding))?;
        if self.revocations.contains(&read.serial) {
            return Err(Error::InvalidCertificate(CertificateError::Revoked));
        }
        Ok(())
    }
}

/// The methods by which a verifier checks signatures: TLS 1.3 alone, with the algorithms of its provider.
macro_rules! tls_1_3_alone {
    () => {
        fn verify_tls12_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Err(Error::General("TLS 1.2 is not spoken".to_owned()))
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            let algorithms = &self.provider.signature_verification_algorithms;
            rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            let algorithms = &self.provider.signature_verification_algorithms;
            algorithms.supported_schemes()
        }
    };
}

impl ServerCertVerifier for Judge {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let parsed = ParsedCertificate::try_from(certificate)?;
        let algorithms = self.provider.signature_verification_algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&parsed, &self.roots, others, now, algorithms)?;
        self.is_not_revoked(certificate)?;
        Ok(ServerCertVerified::assertion())
    }

    tls_1_3_alone!();
}

impl ClientCertVerifier for Judge {
    fn client_auth_mandatory(&self) -> bool {
        self.strangers == Strangers::TurnedAway
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        // A client has one certificate; hints would only reveal the group's name to strangers.
        &[]
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.clients.verify_client_cert(certificate, others, now)?;
        self.is_not_revoked(certificate)?;
        Ok(verified)
    }

    tls_1_3_alone!();
}

/// Trusts certificates of the authority with this fingerprint, which the other side sends along.
struct Pinned {
    authority: Fingerprint,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let authority = others
            .iter()
            .find(|other| Fingerprint::of(other) == self.authority);
        let authority =
            authority.ok_or(Error::InvalidCertificate(CertificateError::UnknownIssuer))?;
        let mut roots = RootCertStore::empty();
        roots.add(authority.clone().into_owned())?;
        let parsed = ParsedCertificate::try_from(certificate)?;
        let algorithms = self.provider.signature_verification_algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&parsed, &roots, others, now, algorithms)?;
        Ok(ServerCertVerified::assertion())
    }

    tls_1_3_alone!();
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pinned").finish_non_exhaustive()
    }
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judge").finish_non_exhaustive()
    }
}
