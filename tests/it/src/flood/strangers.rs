//! Peers without a certificate that want nothing but places.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, Endpoint};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};

use crate::wait;

/// The strangers' addresses; the first is also the members'.
pub(super) const ADDRESSES: [&str; 4] = ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.8.0.1"];

/// Connections that they hold at a time.
const HELD: usize = 80;

/// The pause between two handshakes beside these: 50 a second.
const PAUSE: Duration = Duration::from_millis(20);

/// The purpose of a connection on which a peer without a certificate may send requests.
const PURPOSE: &[u8] = b"xavantes-desk";

/// A crowd at an address, until it leaves.
pub(super) struct Strangers {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Shared {
    is_over: AtomicBool,
    n_held: AtomicU64,
    n_handshakes: AtomicU64,
    n_turned_away: AtomicU64,
}

/// Counts of their attempts.
#[derive(Debug)]
pub(super) struct Done {
    /// Connections that were held, one after another.
    pub(super) n_held: u64,
    /// Handshakes beside these.
    #[expect(dead_code, reason = "it is shown")]
    pub(super) n_handshakes: u64,
    /// Connections that did not come about.
    #[expect(dead_code, reason = "it is shown")]
    pub(super) n_turned_away: u64,
}

impl Strangers {
    /// Begins.
    pub(super) fn crowd(target: SocketAddr) -> Strangers {
        let shared: Arc<Shared> = Arc::default();
        let theirs = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(run(target, &theirs));
        });
        Strangers { shared, thread }
    }

    /// Waits until as many connections as they want were made, held or not.
    pub(super) fn wait_for_all_held(&self) {
        wait::until("the strangers are there", || {
            let n = self.shared.n_held.load(Ordering::Relaxed)
                + self.shared.n_turned_away.load(Ordering::Relaxed);
            (n >= HELD as u64).then_some(())
        });
    }

    /// Ends them.
    pub(super) fn leave(self) -> Done {
        self.shared.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Done {
            n_held: count(&self.shared.n_held),
            n_handshakes: count(&self.shared.n_handshakes),
            n_turned_away: count(&self.shared.n_turned_away),
        }
    }
}

async fn run(target: SocketAddr, shared: &Arc<Shared>) {
    let endpoints: Vec<Endpoint> = ADDRESSES
        .iter()
        .map(|address| {
            let address: IpAddr = address.parse().unwrap();
            Endpoint::client((address, 0).into()).unwrap()
        })
        .collect();
    let config = config();
    let dial = |number: usize| {
        let endpoint = &endpoints[number % endpoints.len()];
        endpoint.connect_with(config.clone(), target, "x").unwrap()
    };
    // A connection that ends is made anew at once.
    for number in 0..HELD {
        let endpoint = endpoints[number % endpoints.len()].clone();
        let (config, shared) = (config.clone(), Arc::clone(shared));
        tokio::task::spawn(async move {
            loop {
                match endpoint
                    .connect_with(config.clone(), target, "x")
                    .unwrap()
                    .await
                {
                    Ok(connection) => {
                        shared.n_held.fetch_add(1, Ordering::Relaxed);
                        connection.closed().await;
                    }
                    Err(_) => {
                        shared.n_turned_away.fetch_add(1, Ordering::Relaxed);
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            }
        });
    }
    let mut last: Vec<Connection> = Vec::new();
    let mut number = 0;
    while !shared.is_over.load(Ordering::Relaxed) {
        let connecting = dial(number);
        number += 1;
        let handshake = tokio::time::timeout(PAUSE, connecting).await;
        if let Ok(Ok(connection)) = handshake {
            shared.n_handshakes.fetch_add(1, Ordering::Relaxed);
            // Kept for some time, without a word.
            last.push(connection);
            if last.len() > HELD {
                last.remove(0);
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn config() -> ClientConfig {
    let provider = Arc::new(ring::default_provider());
    let mut client = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Credulous(provider)))
        .with_no_client_auth();
    client.alpn_protocols = vec![PURPOSE.to_vec()];
    let client: QuicClientConfig = client.try_into().unwrap();
    ClientConfig::new(Arc::new(client))
}

/// Believes everybody.
#[derive(Debug)]
struct Credulous(Arc<CryptoProvider>);

impl ServerCertVerifier for Credulous {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
