//! Whom to believe: the chain to the group's authority, the time, the purpose and the list of what
//! was revoked. Names are judged afterwards, when it is known who is meant.

use std::fmt;
use std::sync::Arc;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
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

use crate::identity::{Certificate, Credentials, Revocations};

/// What a connection is for; both sides must say the same.
const CONTROL: &[u8] = b"xavantes";

/// The settings of TLS on both sides. Sessions are never resumed: each connection is judged by
/// what is known at its time.
pub(super) struct Trust {
    pub(super) server: Arc<QuicServerConfig>,
    pub(super) client: Arc<QuicClientConfig>,
}

/// Where the arithmetic comes from.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

impl Trust {
    /// Those of links.
    pub(super) fn of(credentials: &Credentials) -> Result<Trust, Error> {
        Trust::speaking(CONTROL, credentials)
    }

    /// Those of connections for something else, which both sides name.
    pub(super) fn speaking(purpose: &[u8], credentials: &Credentials) -> Result<Trust, Error> {
        let provider = provider();
        let mut roots = RootCertStore::empty();
        roots.add(credentials.authority())?;
        let roots = Arc::new(roots);
        let clients =
            WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
                .build()
                .map_err(|error| Error::General(error.to_string()))?;
        let judge = Arc::new(Judge {
            clients,
            roots,
            provider: Arc::clone(&provider),
            revocations: Arc::clone(credentials.revocations()),
        });
        let (chain, key) = (credentials.chain(), credentials.key());
        let mut server = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])?
            .with_client_cert_verifier(Arc::clone(&judge) as Arc<dyn ClientCertVerifier>)
            .with_single_cert(chain.clone(), key.clone_key())?;
        server.alpn_protocols = vec![purpose.to_vec()];
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        let mut client = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(judge)
            .with_client_auth_cert(chain, key)?;
        client.alpn_protocols = vec![purpose.to_vec()];
        client.resumption = Resumption::disabled();
        client.enable_sni = false;
        let no_suite = |_| Error::General("no cipher suite for QUIC".to_owned());
        Ok(Trust {
            server: Arc::new(server.try_into().map_err(no_suite)?),
            client: Arc::new(client.try_into().map_err(no_suite)?),
        })
    }
}

/// Judges certificates of both sides by the same rules.
struct Judge {
    clients: Arc<dyn ClientCertVerifier>,
    roots: Arc<RootCertStore>,
    provider: Arc<CryptoProvider>,
    revocations: Arc<Revocations>,
}

impl Judge {
    /// What the chain does not say.
    fn is_not_revoked(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        let read = Certificate::read(certificate)
            .map_err(|_| Error::InvalidCertificate(CertificateError::BadEncoding))?;
        if self.revocations.contains(&read.serial) {
            return Err(Error::InvalidCertificate(CertificateError::Revoked));
        }
        Ok(())
    }

    fn signed(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

/// TLS 1.2 is not spoken.
fn never() -> Result<HandshakeSignatureValid, Error> {
    Err(Error::General("TLS 1.2 is not spoken".to_owned()))
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

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        never()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}

impl ClientCertVerifier for Judge {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        // Whoever dials has one certificate; hints would only tell strangers the group's name.
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

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        never()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judge").finish_non_exhaustive()
    }
}
