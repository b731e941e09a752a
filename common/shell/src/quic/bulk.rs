//! Files between machines: connections of their own, on a socket and a thread of their own, so that
//! no transfer delays a message between managers.
//!
//! A [`Bulk`] fetches blobs from others and uploads blobs to them; with a [`Depot`] it also serves
//! and receives them. A transfer is a stream. An interrupted transfer continues at the byte that it
//! had reached; the hash is checked before anybody sees the blob.

mod ask;
mod give;
mod pace;
mod parked;
mod probe;
mod stream;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use model::{Hash, Identity, Mono, Role, Span};
use quinn::{
    ClientConfig, Connection, Endpoint, EndpointConfig, IdleTimeout, ServerConfig, TokioRuntime,
    TransportConfig, VarInt,
};
use thiserror::Error;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::time::timeout;
use wire::bulk::{Belongs, PROTOCOL, Refusal};
use wire::hello;

use super::admission::Admission;
use super::calls::FAREWELL;
use super::endpoint::duration;
use super::epoch::ResetKey;
use super::error::{LinkError, code};
use super::links::LinksError;
use super::socket;
use super::trust::Trust;
use crate::identity::{Credentials, Serial};
use crate::limits::{
    BULK_SILENCE_MAX, BULK_STREAM_WINDOW_BYTES, BULK_STREAMS_MAX, BULK_WINDOW_BYTES,
    INCOMING_BYTES_ALL_MAX, INCOMING_BYTES_MAX, INCOMING_MAX,
};
use pace::Bucket;

/// Roles that may fetch a blob by its hash. The depot decides which blobs a user may fetch.
const MAY_GET: [Role; 4] = [Role::Pm, Role::Am, Role::User, Role::Admin];
/// Roles that may upload a blob: those who submit, and those who do so for them.
const MAY_PUT: [Role; 3] = [Role::Pm, Role::User, Role::Admin];

/// A store of blobs. Its methods are called from threads that may wait for a disk.
pub trait Depot: Send + Sync + 'static {
    /// Opens a blob for reading, and returns its size; none if it is not here.
    fn open(&self, hash: Hash) -> io::Result<Option<(File, u64)>>;

    /// Begins to receive a blob; none if it is durably here already.
    fn receive(&self, hash: Hash) -> io::Result<Option<Box<dyn Arriving>>>;

    /// [`Depot::open`] for a peer. Blobs that the peer may not have are reported as missing.
    fn open_for(&self, asked: &Asked) -> io::Result<Option<(File, u64)>> {
        self.open(asked.hash)
    }

    /// [`Depot::receive`] of so many bytes from a peer, which may be refused.
    fn receive_from(&self, asked: &Asked, _bytes: u64) -> io::Result<Received> {
        Ok(match self.receive(asked.hash)? {
            Some(arriving) => Received::Coming(arriving),
            None => Received::Here,
        })
    }
}

/// A blob that a peer fetches or uploads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The peer.
    pub peer: Identity,
    /// The hash of the blob.
    pub hash: Hash,
    /// The process that the blob belongs to, as the peer says.
    pub of: Option<Belongs>,
}

/// The answer to an upload.
pub enum Received {
    /// The blob is durably here already.
    Here,
    /// The bytes are wanted.
    Coming(Box<dyn Arriving>),
    /// The blob is refused.
    Refused(Refusal),
}

/// A partly received blob. Dropping it discards it.
pub trait Arriving: Send {
    /// Number of received bytes.
    fn bytes(&self) -> u64;

    /// Writes the next bytes.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Checks the hash, makes the blob durable and visible to others.
    fn finish(self: Box<Self>) -> io::Result<Arrival>;
}

/// The result of checking the hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The content matches the hash.
    Sound,
    /// The content does not match and is discarded.
    Corrupt,
}

/// A peer that has a blob.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// Its identity.
    pub peer: Identity,
    /// Its address: host and port.
    pub address: String,
}

/// Settings of a [`Bulk`].
pub struct BulkConfig {
    /// The address to listen on and to dial from; with port 0 the system chooses the port.
    pub address: SocketAddr,
    /// The own certificate and the trusted authority.
    pub credentials: Credentials,
    /// The key that resets connections of an earlier epoch at this address; none for a program that
    /// nobody dials.
    pub key: Option<ResetKey>,
    /// The store to serve from and receive into; without one nobody may connect.
    pub depot: Option<Arc<dyn Depot>>,
    /// Bytes a second to and from each peer that dials; none for no limit.
    pub rate: Option<u64>,
    /// Bytes of the largest blob that is received from anybody.
    pub blob_bytes_max: u64,
}

/// Why a transfer failed.
#[derive(Debug, Error)]
pub enum BulkError {
    /// The peer cannot be reached, or has another identity.
    #[error("could not connect to {address} for files")]
    Connect {
        /// The dialled address.
        address: String,
        /// The cause.
        #[source]
        source: LinkError,
    },
    /// The connection broke repeatedly during the transfer.
    #[error("the transfer was cut")]
    Cut(#[source] LinkError),
    /// The peer moved too few bytes for too long.
    #[error("the transfer was too slow")]
    Slow,
    /// The peer refused it.
    #[error("the transfer was refused: {0}")]
    Refused(Refusal),
    /// The peer's answer does not fit the request.
    #[error("the peer gave an answer that means nothing here")]
    Answer,
    /// The blob is larger than the limit here.
    #[error("the blob has {bytes} bytes; at most {bytes_max} are taken")]
    TooLarge {
        /// The size, as the peer says.
        bytes: u64,
        /// The bound.
        bytes_max: u64,
    },
    /// The received content does not match the hash.
    #[error("what came is not what its name says")]
    Corrupt,
    /// The local disk failed.
    #[error("could not read or write the blob")]
    Disk(#[source] io::Error),
    /// This end is closing.
    #[error("transfers are ending")]
    Stopping,
    /// No source was given.
    #[error("nobody is known to have it")]
    Nobody,
}

/// Statistics of transfers since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BulkCounts {
    /// Connections that others have to this program.
    pub n_connections: usize,
    /// Blobs that were served or received at a peer's request.
    pub n_served: u64,
    /// Bytes of those blobs.
    pub served_bytes: u64,
    /// Probes that were answered.
    pub n_probed: u64,
    /// Number of refused requests.
    pub n_refused: u64,
    /// Blobs that this program fetched or uploaded.
    pub n_asked: u64,
    /// Bytes of those blobs; bytes that were repeated after an interruption count twice.
    pub asked_bytes: u64,
    /// Number of pieces that had to wait for the rate limit.
    pub n_paced: u64,
}

/// Fetches, uploads and serves blobs. Dropping it ends all transfers.
pub struct Bulk {
    shared: Arc<Shared>,
    handle: Handle,
    thread: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
    address: SocketAddr,
}

struct Shared {
    me: Identity,
    depot: Option<Arc<dyn Depot>>,
    rate: Option<u64>,
    blob_bytes_max: u64,
    present: Mutex<Present>,
    /// Peers in their handshakes. Only members have a place in `served_peers`.
    admission: Admission,
    served_peers: Mutex<ServedPeers>,
    parked: Mutex<parked::Parked>,
    dialled: Mutex<ask::Dialled>,
    n_served: AtomicU64,
    served_bytes: AtomicU64,
    n_probed: AtomicU64,
    n_refused: AtomicU64,
    n_asked: AtomicU64,
    asked_bytes: AtomicU64,
    n_paced: AtomicU64,
}

/// Settings that may change while transfers run.
struct Present {
    endpoint: Endpoint,
    client: ClientConfig,
}

/// The peers that have dialled.
#[derive(Default)]
struct ServedPeers {
    n_entered: u64,
    by_number: BTreeMap<u64, PeerEntry>,
    /// One token bucket for all connections of a peer.
    buckets: BTreeMap<Identity, Arc<Mutex<Bucket>>>,
}

struct PeerEntry {
    identity: Identity,
    serial: Serial,
    connection: Connection,
}

impl Bulk {
    /// Opens the socket and, if there is a depot, accepts peers.
    pub fn bind(config: BulkConfig) -> Result<Bulk, LinksError> {
        let address = config.address;
        let listen = |source| LinksError::Listen { address, source };
        let trust = trust(&config.credentials)?;
        let socket = socket::open(address).map_err(listen)?;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(LinksError::Thread)?;
        let server = config.depot.is_some().then(|| server_config(&trust));
        let endpoint = {
            let _entered = runtime.enter();
            let quinn = Arc::new(TokioRuntime);
            let endpoint = config
                .key
                .map_or_else(EndpointConfig::default, |key| key.endpoint_config());
            Endpoint::new(endpoint, server, socket, quinn).map_err(listen)?
        };
        let address = endpoint.local_addr().map_err(listen)?;
        let shared = Arc::new(Shared {
            me: config.credentials.identity().clone(),
            depot: config.depot,
            rate: config.rate,
            blob_bytes_max: config.blob_bytes_max,
            present: Mutex::new(Present {
                endpoint: endpoint.clone(),
                client: client_config(&trust),
            }),
            admission: Admission::new(),
            served_peers: Mutex::default(),
            parked: Mutex::default(),
            dialled: Mutex::default(),
            n_served: AtomicU64::new(0),
            served_bytes: AtomicU64::new(0),
            n_probed: AtomicU64::new(0),
            n_refused: AtomicU64::new(0),
            n_asked: AtomicU64::new(0),
            asked_bytes: AtomicU64::new(0),
            n_paced: AtomicU64::new(0),
        });
        let handle = runtime.handle().clone();
        handle.spawn(give::accept(endpoint.clone(), Arc::clone(&shared)));
        if shared.depot.is_some() {
            handle.spawn(parked::discard_old(Arc::clone(&shared)));
        }
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("bulk".to_owned())
            .spawn(move || {
                let _ = runtime.block_on(stopped);
                let why = hello::Refusal::Stopping;
                endpoint.close(code(why), why.to_string().as_bytes());
                // A peer that receives the farewell releases its place for the connection.
                runtime.block_on(async {
                    let _ = timeout(FAREWELL, endpoint.wait_idle()).await;
                });
                // Threads that wait for a disk are not waited for.
                runtime.shutdown_background();
            })
            .map_err(LinksError::Thread)?;
        Ok(Bulk {
            shared,
            handle,
            thread: Some((stop, thread)),
            address,
        })
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its own identity.
    pub fn identity(&self) -> &Identity {
        &self.shared.me
    }

    /// Fetches a blob into a depot from the first of these sources that has it whole. Blocks the
    /// caller, which must not be a thread that serves connections. Returns the place of the source
    /// that has given all of it, none if it was there or came from several. The error is that of the
    /// last source.
    pub fn fetch(
        &self,
        sources: &[Source],
        hash: Hash,
        into: &dyn Depot,
    ) -> Result<Option<usize>, BulkError> {
        self.fetch_of(sources, (hash, None), into)
    }

    /// [`Bulk::fetch`] for a user, who may fetch only the blobs of own processes.
    pub fn fetch_of(
        &self,
        sources: &[Source],
        (hash, of): (Hash, Option<Belongs>),
        into: &dyn Depot,
    ) -> Result<Option<usize>, BulkError> {
        let begin = || into.receive(hash).map_err(BulkError::Disk);
        let Some(mut arriving) = begin()? else {
            return Ok(None);
        };
        let mut failure = BulkError::Nobody;
        let mut has_tried = false;
        for (place, source) in sources.iter().enumerate() {
            let is_only = !std::mem::replace(&mut has_tried, true);
            match self.get(source, (hash, of), &mut *arriving) {
                Ok(()) => match arriving.finish().map_err(BulkError::Disk)? {
                    Arrival::Sound => {
                        self.shared.n_asked.fetch_add(1, Ordering::Relaxed);
                        return Ok(is_only.then_some(place));
                    }
                    Arrival::Corrupt => {
                        failure = BulkError::Corrupt;
                        match begin()? {
                            Some(again) => arriving = again,
                            None => return Ok(None),
                        }
                    }
                },
                Err(error @ (BulkError::Disk(_) | BulkError::Stopping)) => return Err(error),
                // The next source continues where this one has stopped.
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// Uploads a blob to a peer, which stores it durably. Blocks the caller, which must not be a
    /// thread that serves connections.
    pub fn put(&self, to: &Source, hash: Hash, file: File, bytes: u64) -> Result<(), BulkError> {
        self.put_of(to, (hash, None), file, bytes)
    }

    /// [`Bulk::put`] for a user, who may upload only what belongs to a process.
    pub fn put_of(
        &self,
        to: &Source,
        (hash, of): (Hash, Option<Belongs>),
        file: File,
        bytes: u64,
    ) -> Result<(), BulkError> {
        ask::put(self, to, (hash, of), file, bytes)?;
        self.shared.n_asked.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Fetches so many bytes that mean nothing from a peer, and returns the time that they took. Blocks the caller,
    /// which must not be a thread that serves connections. Nothing is tried again.
    pub fn probe(&self, from: &Source, bytes: u64) -> Result<Span, BulkError> {
        probe::probe(self, from, bytes)
    }

    /// Fetches the missing part of a blob. The hash is not checked: see [`Arriving::finish`].
    fn get(
        &self,
        from: &Source,
        what: (Hash, Option<Belongs>),
        into: &mut dyn Arriving,
    ) -> Result<(), BulkError> {
        ask::get(self, from, what, into)
    }

    /// Uses another certificate of the same identity for new connections, and ends connections of
    /// revoked peers.
    pub fn renew(&self, credentials: &Credentials) -> Result<(), LinksError> {
        let trust = trust(credentials)?;
        if *credentials.identity() != self.shared.me {
            return Err(LinksError::OtherIdentity {
                found: Box::new(credentials.identity().clone()),
                wanted: Box::new(self.shared.me.clone()),
            });
        }
        {
            let mut present = lock(&self.shared.present);
            present.client = client_config(&trust);
            if self.shared.depot.is_some() {
                let server = server_config(&trust);
                present.endpoint.set_server_config(Some(server));
            }
        }
        let revoked = hello::Refusal::Revoked;
        for served in lock(&self.shared.served_peers).by_number.values() {
            if credentials.revocations().contains(&served.serial) {
                let connection = &served.connection;
                connection.close(code(revoked), revoked.to_string().as_bytes());
            }
        }
        Ok(())
    }

    /// Ends all transfers, including running ones.
    pub fn close(&self) {
        let why = hello::Refusal::Stopping;
        let endpoint = &lock(&self.shared.present).endpoint;
        endpoint.close(code(why), why.to_string().as_bytes());
    }

    /// Statistics of transfers.
    pub fn counts(&self) -> BulkCounts {
        let shared = &self.shared;
        BulkCounts {
            n_connections: lock(&shared.served_peers).by_number.len(),
            n_served: shared.n_served.load(Ordering::Relaxed),
            served_bytes: shared.served_bytes.load(Ordering::Relaxed),
            n_probed: shared.n_probed.load(Ordering::Relaxed),
            n_refused: shared.n_refused.load(Ordering::Relaxed),
            n_asked: shared.n_asked.load(Ordering::Relaxed),
            asked_bytes: shared.asked_bytes.load(Ordering::Relaxed),
            n_paced: shared.n_paced.load(Ordering::Relaxed),
        }
    }

    /// Ends the connections of peers, as a bad network does.
    #[cfg(test)]
    fn cut(&self) {
        for served in lock(&self.shared.served_peers).by_number.values() {
            served.connection.close(VarInt::from_u32(0), b"cut");
        }
    }
}

impl Drop for Bulk {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.thread.take() {
            let _ = stop.send(());
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Bulk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bulk")
            .field("address", &self.address)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// Takes bytes from a peer's token bucket and returns the time to wait.
    fn pace(&self, bucket: &Mutex<Bucket>, now: Mono, bytes: usize) -> model::Span {
        let wait = lock(bucket).take(now, bytes as u64);
        if wait > model::Span::ZERO {
            self.n_paced.fetch_add(1, Ordering::Relaxed);
        }
        wait
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it holds one of these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn trust(credentials: &Credentials) -> Result<Trust, LinksError> {
    Trust::speaking(PROTOCOL, credentials).map_err(LinksError::Credentials)
}

fn server_config(trust: &Trust) -> ServerConfig {
    let mut config = ServerConfig::with_crypto(Arc::clone(&trust.server) as _);
    let mut transport = transport();
    transport.max_concurrent_bidi_streams(VarInt::from_u32(BULK_STREAMS_MAX));
    config.transport_config(Arc::new(transport));
    config
        .max_incoming(INCOMING_MAX)
        .incoming_buffer_size(INCOMING_BYTES_MAX)
        .incoming_buffer_size_total(INCOMING_BYTES_ALL_MAX);
    config
}

fn client_config(trust: &Trust) -> ClientConfig {
    let mut config = ClientConfig::new(Arc::clone(&trust.client) as _);
    let mut transport = transport();
    transport.max_concurrent_bidi_streams(VarInt::from_u32(0));
    config.transport_config(Arc::new(transport));
    config
}

/// An idle connection ends by itself: nothing keeps it alive.
fn transport() -> TransportConfig {
    let silence = u32::try_from(BULK_SILENCE_MAX.0 / 1_000).expect("some seconds");
    let mut config = TransportConfig::default();
    config
        .max_idle_timeout(Some(IdleTimeout::from(VarInt::from_u32(silence))))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .datagram_receive_buffer_size(None)
        .stream_receive_window(VarInt::from_u32(BULK_STREAM_WINDOW_BYTES))
        .receive_window(VarInt::from_u32(BULK_WINDOW_BYTES))
        .send_window(BULK_WINDOW_BYTES.into());
    config
}

/// Waits without delaying messages between managers.
async fn pause(span: model::Span) {
    tokio::time::sleep(duration(span)).await;
}

#[cfg(test)]
mod tests;
