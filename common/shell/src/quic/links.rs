//! The thread that serves all links of a program, and the program's interface to it.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use model::{Identity, ResourceId, Role, Wall};
use quinn::{ClientConfig, Connecting, Endpoint};
use thiserror::Error;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;
use wire::hello::{Hello, PROTOCOLS, Refusal};

use super::admission::Admission;
use super::dialling::keep;
use super::endpoint::{client_config, duration, endpoint, server_config};
use super::epoch::LinkEpoch;
use super::error::{LinkError, code};
use super::greeting::{self, Greeted};
use super::incoming;
use super::link::Link;
use super::registry::{LinkRegistration, Registry};
use super::request_client::{self, RequestClient};
use super::request_server::{RequestHandler, RequestServer};
use super::socket;
use super::trust::{Trust, request_config};
use crate::identity::{Credentials, Revocations};
use crate::limits::LINK_FAREWELL_MAX;

/// Settings of [`Links`].
pub struct LinkConfig {
    /// The address to listen on and to dial from; with port 0 the system chooses the port.
    pub address: SocketAddr,
    /// The own certificate and the trusted authority.
    pub credentials: Credentials,
    /// The daemon's epoch.
    pub epoch: LinkEpoch,
    /// The number of the machine, if known from the start.
    pub resource: Option<ResourceId>,
    /// Roles of accepted peers. With none of them, nobody may connect.
    pub accepts: Vec<Role>,
    /// The handler of requests; none to refuse them.
    pub requests: Option<Box<dyn RequestHandler>>,
}

/// Why links could not be opened or changed.
#[derive(Debug, Error)]
pub enum LinksError {
    /// The address cannot be bound.
    #[error("could not listen on {address} (UDP)")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The runtime or its thread cannot be started.
    #[error("could not start a thread for links")]
    Thread(#[source] io::Error),
    /// The credentials cannot be used.
    #[error("could not use the own certificate")]
    Credentials(#[source] rustls::Error),
    /// Links do not change their identity.
    #[error("the certificate is of {found}, and the links are of {wanted}")]
    OtherIdentity {
        /// The identity of the new certificate.
        found: Box<Identity>,
        /// The identity of the links.
        wanted: Box<Identity>,
    },
}

/// An event of links. It is reported from the links' thread, which must not wait.
#[derive(Debug)]
pub enum Event {
    /// A peer is connected.
    Up(Link),
    /// A link has ended; its manager has received `down`.
    Down {
        /// The peer.
        peer: Identity,
        /// Why it ended.
        error: LinkError,
    },
    /// Dialling a peer failed.
    Failed {
        /// The dialled address.
        address: String,
        /// The cause.
        error: LinkError,
    },
    /// An incoming connection was refused. Strangers can cause this as often as they like.
    TurnedAway {
        /// The address that it came from.
        address: SocketAddr,
        /// The cause.
        error: LinkError,
    },
}

/// All links of a program to other machines. Dropping it ends them and notifies the peers.
pub struct Links {
    shared: Arc<Shared>,
    handle: Handle,
    thread: Option<(oneshot::Sender<Farewell>, JoinHandle<()>)>,
    requests: Option<JoinHandle<()>>,
    address: SocketAddr,
}

/// The notification of peers when links end.
enum Farewell {
    /// Peers are notified.
    Said,
    /// Silently, as if the machine had lost its power.
    #[cfg(test)]
    Unsaid,
}

/// A peer that is dialled again and again. Dropping it ends that, and ends the link once everything
/// sent on it has arrived.
pub struct Kept {
    stop: watch::Sender<bool>,
    shared: Arc<Shared>,
    peer: Identity,
}

/// Statistics of links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Number of established links.
    pub n_links: usize,
    /// The same, by the role of the peer.
    pub by_role: BTreeMap<Role, usize>,
    /// The end of the own certificate.
    pub certificate_until: Wall,
    /// Connections that have not greeted yet, and those of peers that want to join.
    pub n_greetings: usize,
    /// Links established since the start.
    pub n_up: u64,
    /// Connections that did not become links since the start.
    pub n_failed: u64,
    /// Connections that were ended for others before their greeting.
    pub n_crowded_out: u64,
    /// Packets of no connection: strays, noise, and packets of earlier epochs.
    pub n_foreign_packets: u64,
}

pub(super) struct Shared {
    registry: Arc<Registry>,
    pub(super) requests: RequestServer,
    pub(super) roles: Vec<Role>,
    now: Mutex<Present>,
    pub(super) admission: Admission,
    pub(super) n_up: AtomicU64,
    pub(super) n_failed: AtomicU64,
    n_foreign_packets: Arc<AtomicU64>,
}

/// Settings that may change while links are up.
pub(super) struct Present {
    pub(super) endpoint: Endpoint,
    pub(super) client: ClientConfig,
    /// For requests to other members.
    request_config: ClientConfig,
    pub(super) revocations: Arc<Revocations>,
    pub(super) me: Identity,
    pub(super) hello: Hello,
    /// The end of the own certificate.
    until: Wall,
}

impl Links {
    /// Opens the socket and accepts peers. `on_event` receives the events of incoming links.
    pub fn bind(
        config: LinkConfig,
        on_event: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Links, LinksError> {
        let address = config.address;
        let listen = |source| LinksError::Listen { address, source };
        let socket = socket::open(address).map_err(listen)?;
        let trust = match config.requests {
            Some(_) => Trust::with_requests(&config.credentials),
            None => Trust::of(&config.credentials),
        };
        let trust = trust.map_err(LinksError::Credentials)?;
        let request_config =
            request_config(&config.credentials).map_err(LinksError::Credentials)?;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(LinksError::Thread)?;
        let n_foreign_packets: Arc<AtomicU64> = Arc::default();
        let endpoint = endpoint(&runtime, socket, &config.epoch, &trust, &n_foreign_packets);
        let endpoint = endpoint.map_err(listen)?;
        let address = endpoint.local_addr().map_err(listen)?;
        let me = config.credentials.identity().clone();
        let hello = Hello {
            protocols: PROTOCOLS,
            identity: me.to_string(),
            epoch: config.epoch.epoch(),
            resource: config.resource,
            program: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let shared = Arc::new(Shared {
            registry: Arc::default(),
            requests: RequestServer::default(),
            roles: config.accepts,
            now: Mutex::new(Present {
                endpoint: endpoint.clone(),
                client: client_config(&trust),
                request_config: request_client::client_config(request_config),
                revocations: Arc::clone(config.credentials.revocations()),
                me,
                hello,
                until: config.credentials.certificate().not_after,
            }),
            admission: Admission::new(),
            n_up: AtomicU64::new(0),
            n_failed: AtomicU64::new(0),
            n_foreign_packets,
        });
        let requests = config
            .requests
            .map(|requests| shared.requests.open(requests));
        let requests = requests.transpose().map_err(LinksError::Thread)?;
        let handle = runtime.handle().clone();
        let on_event: Arc<OnEvent> = Arc::new(on_event);
        handle.spawn(incoming::accept(
            endpoint.clone(),
            Arc::clone(&shared),
            on_event,
        ));
        let (stop, stopped) = oneshot::channel();
        let registry = Arc::clone(&shared.registry);
        let thread = std::thread::Builder::new()
            .name("links".to_owned())
            .spawn(move || runtime.block_on(serve(endpoint, registry, stopped)))
            .map_err(LinksError::Thread)?;
        Ok(Links {
            shared,
            handle,
            thread: Some((stop, thread)),
            requests,
            address,
        })
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Keeps a link to a peer: dials it, and dials again when the link has ended. `address` is host
    /// and port, resolved at each attempt.
    pub fn keep(
        &self,
        address: &str,
        peer: &Identity,
        on_event: impl Fn(Event) + Send + Sync + 'static,
    ) -> Kept {
        let shared = Arc::clone(&self.shared);
        let (stop, stopped) = watch::channel(false);
        let (address, on_event) = (address.to_owned(), Arc::new(on_event));
        self.handle
            .spawn(keep(shared, address, peer.clone(), on_event, stopped));
        Kept {
            stop,
            shared: Arc::clone(&self.shared),
            peer: peer.clone(),
        }
    }

    /// A client for requests to a peer.
    pub fn request_client(&self, address: &str, peer: &Identity) -> RequestClient {
        RequestClient::new(self.handle.clone(), Arc::clone(&self.shared), address, peer)
    }

    /// Greets with this number of the own machine from the next connection on.
    pub fn set_resource(&self, resource: ResourceId) {
        self.shared.now().hello.resource = Some(resource);
    }

    /// Uses another certificate of the same identity and another list of revocations for new
    /// connections. Links of revoked peers end at once.
    pub fn renew(&self, credentials: &Credentials) -> Result<(), LinksError> {
        let trust = if self.shared.requests.is_open() {
            Trust::with_requests(credentials)
        } else {
            Trust::of(credentials)
        };
        let trust = trust.map_err(LinksError::Credentials)?;
        let request_config = request_config(credentials).map_err(LinksError::Credentials)?;
        {
            let mut now = self.shared.now();
            if *credentials.identity() != now.me {
                return Err(LinksError::OtherIdentity {
                    found: Box::new(credentials.identity().clone()),
                    wanted: Box::new(now.me.clone()),
                });
            }
            now.client = client_config(&trust);
            now.request_config = request_client::client_config(request_config);
            now.revocations = Arc::clone(credentials.revocations());
            now.until = credentials.certificate().not_after;
            now.endpoint.set_server_config(Some(server_config(&trust)));
        }
        let revocations = credentials.revocations();
        let is_revoked = |_: &Identity, serial: &_| revocations.contains(serial);
        self.shared.registry.end(Refusal::Revoked, is_revoked);
        Ok(())
    }

    /// Statistics of links.
    pub fn counts(&self) -> LinkCounts {
        let shared = &self.shared;
        let by_role = shared.registry.n_by_role();
        LinkCounts {
            n_links: by_role.values().sum(),
            by_role,
            certificate_until: shared.now().until,
            n_greetings: shared.admission.len(),
            n_up: shared.n_up.load(Ordering::Relaxed),
            n_failed: shared.n_failed.load(Ordering::Relaxed),
            n_crowded_out: shared.admission.n_evicted(),
            n_foreign_packets: shared.n_foreign_packets.load(Ordering::Relaxed),
        }
    }

    fn end(&mut self, farewell: Farewell) {
        if let Some((stop, thread)) = self.thread.take() {
            let _ = stop.send(farewell);
            let _ = thread.join();
        }
        self.shared.requests.close();
        if let Some(requests) = self.requests.take() {
            let _ = requests.join();
        }
    }

    /// Ends silently, as a killed daemon does.
    #[cfg(test)]
    pub(super) fn vanish(mut self) {
        self.end(Farewell::Unsaid);
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        self.end(Farewell::Said);
    }
}

impl fmt::Debug for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Links")
            .field("address", &self.address)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // Set before the farewell, because a new link checks it first.
        self.stop.send_replace(true);
        let is_meant = |peer: &Identity| peer.has_name_of(&self.peer);
        self.shared.registry.say_farewell(is_meant);
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept")
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}

pub(super) type OnEvent = dyn Fn(Event) + Send + Sync;

impl Shared {
    pub(super) fn now(&self) -> MutexGuard<'_, Present> {
        // Nothing panics while it holds the lock.
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn enter(&self, greeted: &Greeted) -> Result<LinkRegistration, LinkError> {
        let entered = self.registry.enter(greeted).await;
        entered.map_err(|refusal| greeting::refuse(&greeted.connection, refusal))
    }

    pub(super) fn connect_for_requests(&self, target: SocketAddr) -> Result<Connecting, LinkError> {
        let now = self.now();
        now.endpoint
            .connect_with(now.request_config.clone(), target, "xavantes")
            .map_err(|error| LinkError::Failed(error.to_string()))
    }
}

/// Runs the endpoint until it is told to stop.
async fn serve(endpoint: Endpoint, registry: Arc<Registry>, stopped: oneshot::Receiver<Farewell>) {
    match stopped.await {
        Ok(Farewell::Said) | Err(_) => {
            // Messages that managers have sent arrive before the end.
            registry.say_farewell(|_| true);
            let _ = timeout(duration(LINK_FAREWELL_MAX), registry.emptied()).await;
            let why = Refusal::Stopping;
            endpoint.close(code(why), why.to_string().as_bytes());
            let _ = timeout(duration(LINK_FAREWELL_MAX), endpoint.wait_idle()).await;
        }
        #[cfg(test)]
        Ok(Farewell::Unsaid) => {}
    }
}
