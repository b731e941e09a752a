//! The client of requests: once, from a program without links, or repeatedly beside links.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{Identity, Role};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, Endpoint};
use tokio::runtime::{Builder, Handle};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use wire::hello::Refusal;

use super::dialling::resolve;
use super::endpoint::{duration, idle, transport};
use super::error::{LinkError, code};
use super::greeting::{certificate, refuse};
use super::links::Shared;
use super::request_server;
use super::retry;
use super::trust;
use crate::identity::{Credentials, Fingerprint};
use crate::limits::{REQUEST_KEEP_ALIVE, REQUEST_SILENCE_MAX};

/// Number of tries while the server drops the handshake in favour of others.
const CROWDED_TRIES_MAX: u32 = 10;

/// The identity and target of a request.
#[derive(Clone, Copy, Debug)]
pub enum Requester<'a> {
    /// The holder of a certificate, and the member of the group to ask.
    Member(&'a Credentials, &'a Identity),
    /// A peer without a certificate. It trusts only the group manager of this grid and group whose
    /// authority has this fingerprint, and sends nothing to anybody else.
    Stranger {
        /// The fingerprint of the authority.
        authority: Fingerprint,
        /// The grid.
        grid: &'a str,
        /// The group.
        group: &'a str,
    },
}

/// Sends one request to the server at `address`, host and port.
pub fn ask(address: &str, requester: Requester<'_>, request: &[u8]) -> Result<Vec<u8>, LinkError> {
    let failed = |error: &dyn std::fmt::Display| LinkError::Failed(error.to_string());
    let config = match requester {
        Requester::Member(credentials, _) => trust::request_config(credentials),
        Requester::Stranger { authority, .. } => trust::stranger(authority),
    };
    let config = client_config(config.map_err(|error| failed(&error))?);
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(&error))?;
    let done = async {
        let target = resolve(address).await?;
        let any: SocketAddr = if target.is_ipv4() {
            (Ipv4Addr::UNSPECIFIED, 0).into()
        } else {
            (Ipv6Addr::UNSPECIFIED, 0).into()
        };
        let endpoint = Endpoint::client(any).map_err(|error| failed(&error))?;
        let mut n_failures = 0;
        let connection = loop {
            let connecting = endpoint
                .connect_with(config.clone(), target, "xavantes")
                .map_err(|error| failed(&error))?;
            match connecting.await.map_err(LinkError::from) {
                Ok(connection) => break connection,
                // The server was crowded; the request was not sent yet.
                Err(LinkError::RefusedByPeer(Refusal::Full) | LinkError::Ended(_))
                    if n_failures < CROWDED_TRIES_MAX =>
                {
                    n_failures += 1;
                    sleep(duration(retry::pause(n_failures, 0))).await;
                }
                Err(error) => return Err(error),
            }
        };
        check(&connection, requester)?;
        let answer = request_server::ask(&connection, request).await?;
        connection.close(code(Refusal::Stopping), b"");
        endpoint.wait_idle().await;
        Ok(answer)
    };
    let bounded = async { timeout(duration(request_server::PATIENCE), done).await };
    runtime.block_on(bounded).unwrap_or(Err(LinkError::Silent))
}

/// Checks that the peer is the expected one.
fn check(connection: &Connection, requester: Requester<'_>) -> Result<(), LinkError> {
    let found = certificate(connection).ok_or_else(|| refuse(connection, Refusal::Certificate))?;
    let is_meant = match requester {
        Requester::Member(_, expected) => found.identity.has_name_of(expected),
        Requester::Stranger { grid, group, .. } => {
            let found = &found.identity;
            (found.role(), found.grid(), found.group()) == (Role::Gm, grid, group)
        }
    };
    if is_meant {
        Ok(())
    } else {
        Err(refuse(connection, Refusal::Stranger))
    }
}

/// A client for requests to one peer beside the links of a program. It keeps its connection.
pub struct RequestClient {
    handle: Handle,
    shared: Arc<Shared>,
    address: String,
    peer: Identity,
    connection: Option<Connection>,
    stopper: Stopper,
}

/// Stops a [`RequestClient`] for good.
#[derive(Clone, Debug, Default)]
pub struct Stopper(Arc<Mutex<Stop>>);

#[derive(Debug, Default)]
struct Stop {
    has_stopped: bool,
    task: Option<AbortHandle>,
}

impl Stopper {
    /// Stops the client: a waiting request fails, and so do later ones.
    pub fn stop(&self) {
        let mut stop = self.lock();
        stop.has_stopped = true;
        if let Some(task) = stop.task.take() {
            task.abort();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Stop> {
        // Nothing panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RequestClient {
    pub(super) fn new(
        handle: Handle,
        shared: Arc<Shared>,
        address: &str,
        peer: &Identity,
    ) -> RequestClient {
        RequestClient {
            handle,
            shared,
            address: address.to_owned(),
            peer: peer.clone(),
            connection: None,
            stopper: Stopper::default(),
        }
    }

    /// The stopper of this client, for another thread.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Sends a request and waits for the answer. After a failure the next request dials anew.
    pub fn ask(&mut self, request: &[u8]) -> Result<Vec<u8>, LinkError> {
        let (tell, told) = sync_channel(1);
        let shared = Arc::clone(&self.shared);
        let (address, peer) = (self.address.clone(), self.peer.clone());
        let connection = self.connection.take();
        let request = request.to_vec();
        let exchange = async move {
            let connection = match connection.filter(|one| one.close_reason().is_none()) {
                Some(connection) => connection,
                None => dial(&shared, &address, &peer).await?,
            };
            let answer = request_server::ask(&connection, &request).await?;
            Ok((connection, answer))
        };
        let task = async move {
            let done = timeout(duration(request_server::PATIENCE), exchange).await;
            // The server answers or fails within that time.
            let _ = tell.send(done.unwrap_or(Err(LinkError::Silent)));
        };
        {
            let mut stop = self.stopper.lock();
            if stop.has_stopped {
                return Err(LinkError::Refused(Refusal::Stopping));
            }
            stop.task = Some(self.handle.spawn(task).abort_handle());
        }
        // The links' thread, and the task with it, may have ended.
        let done = told.recv_timeout(duration(request_server::PATIENCE) * 2);
        if let Some(task) = self.stopper.lock().task.take() {
            task.abort();
        }
        let (connection, answer) = done.unwrap_or(Err(LinkError::Silent))?;
        self.connection = Some(connection);
        Ok(answer)
    }

    /// Dials anew for the next request, with another certificate for example.
    pub fn hang_up(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.close(code(Refusal::Stopping), b"");
        }
    }
}

impl std::fmt::Debug for RequestClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestClient")
            .field("address", &self.address)
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}

async fn dial(shared: &Shared, address: &str, peer: &Identity) -> Result<Connection, LinkError> {
    let target = resolve(address).await?;
    let connecting = shared.connect_for_requests(target)?;
    let connection = retry::reach(connecting).await?;
    let found = certificate(&connection);
    if found.is_none_or(|found| !found.identity.has_name_of(peer)) {
        return Err(refuse(&connection, Refusal::Stranger));
    }
    Ok(connection)
}

pub(super) fn client_config(crypto: QuicClientConfig) -> ClientConfig {
    let mut config = ClientConfig::new(Arc::new(crypto));
    let mut transport = transport();
    transport
        .max_idle_timeout(Some(idle(REQUEST_SILENCE_MAX)))
        .keep_alive_interval(Some(duration(REQUEST_KEEP_ALIVE)));
    config.transport_config(Arc::new(transport));
    config
}
