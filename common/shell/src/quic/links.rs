//! The thread that serves all links of a program, and the program's interface to it.

use std::fmt;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use minicbor::{Decode, Encode};
use model::{Identity, ResourceId, Role, Span};
use quinn::{
    ClientConfig, Connecting, Endpoint, IdleTimeout, Runtime as _, ServerConfig, TokioRuntime,
    TransportConfig, VarInt,
};
use ring::rand::{SecureRandom, SystemRandom};
use thiserror::Error;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{oneshot, watch};
use tokio::time::{sleep, timeout};
use wire::hello::{Hello, PROTOCOLS, Refusal};

use super::admission::Admission;
use super::epoch::LinkEpoch;
use super::error::{LinkError, code};
use super::forwarder::{self, Outgoing, unless};
use super::greeting::{self, Greeted};
use super::incoming;
use super::registry::{LinkRegistration, Registry};
use super::request_client::{self, RequestClient};
use super::request_server::{RequestHandler, RequestServer};
use super::retry;
use super::socket::{self, CountedSocket};
use super::stream;
use super::trust::{Trust, request_config};
use crate::identity::{Credentials, Revocations};
use crate::limits::{
    INCOMING_BYTES_ALL_MAX, INCOMING_BYTES_MAX, INCOMING_MAX, LINK_FAREWELL_MAX,
    LINK_FIRST_ROUND_TRIP, LINK_GREETING_MAX, LINK_KEEP_ALIVE, LINK_RETRY_MAX, LINK_SILENCE_MAX,
    LINK_WINDOW_BYTES, UNKNOWN_WINDOW_BYTES,
};
use crate::link::{Bringer, Carry, End, link};

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

/// A connection to a peer that waits for a manager. Dropping it ends the connection.
pub struct Link {
    /// The identity of the peer, from its certificate.
    pub peer: Identity,
    /// The greeting of the peer. Its identity agrees with the certificate.
    pub hello: Hello,
    /// The version of the messages.
    pub protocol: u16,
    joint: oneshot::Sender<Joint>,
}

/// The local end of a link.
enum Joint {
    /// A manager.
    Manager(Arc<Outgoing>, Bringer),
    /// A stream of bytes: frames are not inspected.
    Stream(UnixStream),
    /// Nothing, for this reason.
    Nobody(Refusal),
}

impl Link {
    /// The end for a manager that sends `S` and receives `R`. The link is up when the manager is
    /// attached.
    pub fn open<S, R>(self) -> End<S, R>
    where
        S: Encode<()>,
        R: for<'b> Decode<'b, ()> + 'static,
    {
        let (ours, theirs) = link::<S, R>();
        let outgoing: Arc<Outgoing> = Arc::default();
        let bringer = theirs.carried_by(Arc::clone(&outgoing) as Arc<dyn Carry>);
        // If the connection has ended already, the end is down from the beginning.
        let _ = self.joint.send(Joint::Manager(outgoing, bringer));
        ours
    }

    /// Joins the link to a stream: the peer's bytes can be read from it, and written bytes are sent
    /// to the peer. A side that does not read is not read from.
    pub fn carry(self, stream: UnixStream) {
        // If the connection has ended already, the stream ends too.
        let _ = self.joint.send(Joint::Stream(stream));
    }

    /// Ends the link with a reason for the peer.
    pub fn refuse(self, refusal: Refusal) {
        let _ = self.joint.send(Joint::Nobody(refusal));
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("peer", &self.peer)
            .field("hello", &self.hello)
            .finish_non_exhaustive()
    }
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Number of established links.
    pub n_links: usize,
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
    n_up: AtomicU64,
    pub(super) n_failed: AtomicU64,
    n_foreign_packets: Arc<AtomicU64>,
}

/// Settings that may change while links are up.
pub(super) struct Present {
    endpoint: Endpoint,
    client: ClientConfig,
    /// For requests to other members.
    request_config: ClientConfig,
    pub(super) revocations: Arc<Revocations>,
    pub(super) me: Identity,
    pub(super) hello: Hello,
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
        LinkCounts {
            n_links: shared.registry.n_links(),
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

/// Dials a peer until `stopped` is set. An established link ends by its farewell instead.
async fn keep(
    shared: Arc<Shared>,
    address: String,
    peer: Identity,
    on_event: Arc<OnEvent>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut n_failures = 0_u32;
    loop {
        let patience = duration(LINK_GREETING_MAX);
        let dialling = timeout(patience, dial(&shared, &address, &peer));
        let Some(dialled) = unless(is_over(&mut stopped), dialling).await else {
            return;
        };
        match dialled.unwrap_or(Err(LinkError::Refused(Refusal::Late))) {
            Ok((greeted, _place)) if *stopped.borrow() => {
                greeting::refuse(&greeted.connection, Refusal::Stopping);
                return;
            }
            Ok((greeted, place)) => {
                let began = tokio::time::Instant::now();
                live(&shared, greeted, place, &*on_event).await;
                // A peer that ends each link at once is dialled as rarely as one that is
                // unreachable.
                if began.elapsed() > duration(LINK_RETRY_MAX) {
                    n_failures = 0;
                }
            }
            Err(error) => {
                shared.n_failed.fetch_add(1, Ordering::Relaxed);
                let address = address.clone();
                on_event(Event::Failed { address, error });
            }
        }
        n_failures = n_failures.saturating_add(1);
        let mut drawn = [0; 4];
        // Without a random number the pause is the longest one.
        let _ = SystemRandom::new().fill(&mut drawn);
        let pause = duration(retry::pause(n_failures, u32::from_le_bytes(drawn)));
        if unless(is_over(&mut stopped), sleep(pause)).await.is_none() {
            return;
        }
    }
}

/// Waits until a peer is no longer to be dialled.
async fn is_over(stopped: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone.
    let _ = stopped.wait_for(|&stopped| stopped).await;
}

async fn dial(
    shared: &Arc<Shared>,
    address: &str,
    peer: &Identity,
) -> Result<(Greeted, LinkRegistration), LinkError> {
    let target = resolve(address).await?;
    let (connecting, hello) = {
        let now = shared.now();
        let connecting = now
            .endpoint
            // The name is not sent and not compared: the certificate names the peer otherwise.
            .connect_with(now.client.clone(), target, "xavantes")
            .map_err(|error| LinkError::Failed(error.to_string()))?;
        (connecting, now.hello.clone())
    };
    let connection = retry::reach(connecting).await?;
    let greeted = greeting::greet(connection, peer, &hello).await?;
    let place = shared.enter(&greeted).await?;
    Ok((greeted, place))
}

pub(super) async fn resolve(address: &str) -> Result<SocketAddr, LinkError> {
    if let Ok(address) = address.parse() {
        return Ok(address);
    }
    let found = tokio::net::lookup_host(address).await;
    let mut found = found.map_err(|error| LinkError::address(address, &error))?;
    found.next().ok_or_else(|| {
        let error = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        LinkError::address(address, &error)
    })
}

/// Passes a link to its manager and serves it until its end.
pub(super) async fn live(
    shared: &Shared,
    greeted: Greeted,
    place: LinkRegistration,
    on_event: &OnEvent,
) {
    shared.n_up.fetch_add(1, Ordering::Relaxed);
    let peer = greeted.certificate.identity.clone();
    let (joint, joined) = oneshot::channel();
    on_event(Event::Up(Link {
        peer: peer.clone(),
        hello: greeted.hello.clone(),
        protocol: greeted.protocol,
        joint,
    }));
    let error = match timeout(duration(LINK_GREETING_MAX), joined).await {
        Ok(Ok(Joint::Manager(outgoing, bringer))) => {
            forwarder::run(greeted, outgoing, bringer, place.farewell()).await
        }
        Ok(Ok(Joint::Stream(stream))) => {
            let connection = greeted.connection.clone();
            unless(place.farewell(), stream::run(greeted, stream))
                .await
                .unwrap_or_else(|| greeting::refuse(&connection, Refusal::Stopping))
        }
        Ok(Ok(Joint::Nobody(refusal))) => greeting::refuse(&greeted.connection, refusal),
        Ok(Err(_)) | Err(_) => greeting::refuse(&greeted.connection, Refusal::Role),
    };
    let error = place.reason().map_or(error, LinkError::Refused);
    drop(place);
    on_event(Event::Down { peer, error });
}

fn endpoint(
    runtime: &Runtime,
    socket: UdpSocket,
    epoch: &LinkEpoch,
    trust: &Trust,
    n_foreign: &Arc<AtomicU64>,
) -> io::Result<Endpoint> {
    let _entered = runtime.enter();
    let inner = TokioRuntime.wrap_udp_socket(socket)?;
    let socket = CountedSocket::new(inner, epoch.key().connection_ids(), Arc::clone(n_foreign));
    Endpoint::new_with_abstract_socket(
        epoch.key().endpoint_config(),
        Some(server_config(trust)),
        Arc::new(socket),
        Arc::new(TokioRuntime),
    )
}

fn server_config(trust: &Trust) -> ServerConfig {
    let mut config = ServerConfig::with_crypto(Arc::clone(&trust.server) as _);
    let mut transport = transport();
    transport.receive_window(VarInt::from_u32(UNKNOWN_WINDOW_BYTES));
    config.transport_config(Arc::new(transport));
    config
        .max_incoming(INCOMING_MAX)
        .incoming_buffer_size(INCOMING_BYTES_MAX)
        .incoming_buffer_size_total(INCOMING_BYTES_ALL_MAX);
    config
}

pub(super) fn client_config(trust: &Trust) -> ClientConfig {
    let mut config = ClientConfig::new(Arc::clone(&trust.client) as _);
    config.transport_config(Arc::new(transport()));
    config
}

pub(super) fn transport() -> TransportConfig {
    let silence = u32::try_from(LINK_SILENCE_MAX.0 / 1_000).expect("some seconds");
    let mut config = TransportConfig::default();
    config
        .max_idle_timeout(Some(IdleTimeout::from(VarInt::from_u32(silence))))
        .keep_alive_interval(Some(duration(LINK_KEEP_ALIVE)))
        .initial_rtt(duration(LINK_FIRST_ROUND_TRIP))
        .max_concurrent_bidi_streams(VarInt::from_u32(1))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .datagram_receive_buffer_size(None)
        .stream_receive_window(VarInt::from_u32(LINK_WINDOW_BYTES))
        .receive_window(VarInt::from_u32(LINK_WINDOW_BYTES))
        .send_window(LINK_WINDOW_BYTES.into());
    config
}

pub(super) fn duration(span: Span) -> Duration {
    Duration::from_micros(span.0)
}
