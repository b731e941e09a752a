//! The server of requests outside of links: each on a stream of its own, on a connection for
//! nothing else. It is the only endpoint that accepts requests from peers without a certificate
//! (enrolment).

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use model::{Identity, Role, Span};
use quinn::{Connection, ReadExactError, RecvStream, SendStream};
use tokio::sync::oneshot;
use tokio::time::timeout;
use wire::admin::{ASK_BYTES_MAX, MEMBER_ASK_BYTES_MAX, TOLD_BYTES_MAX};
use wire::frame::{self, HEADER_BYTES};
use wire::hello::Refusal;

use super::endpoint::duration;
use super::error::LinkError;
use super::greeting::refuse;
use crate::clock;
use crate::identity::{Certificate, Revocations};
use crate::limits::{
    LINK_GREETING_MAX, REQUEST_ANSWER_MAX, REQUEST_CONNECTIONS_ADMINS_MAX,
    REQUEST_CONNECTIONS_EACH_MAX, REQUEST_CONNECTIONS_MANAGERS_MAX, REQUEST_CONNECTIONS_USERS_MAX,
    REQUESTS_WAITING_MAX, STRANGER_REQUEST_MAX, STRANGER_REQUESTS_MAX,
};

/// Answers requests. It is called from a thread of its own, one request at a time.
pub trait RequestHandler: Send {
    /// The answer to a request.
    fn answer(&mut self, origin: RequestOrigin<'_>, request: &[u8]) -> Vec<u8>;
}

/// The sender of a request.
#[derive(Clone, Copy, Debug)]
pub struct RequestOrigin<'a> {
    /// The certificate of the connection; none for a stranger.
    pub certificate: Option<&'a Certificate>,
    /// The address of the sender.
    pub address: IpAddr,
}

/// A request that waits for its answer.
struct PendingRequest {
    certificate: Option<Certificate>,
    address: IpAddr,
    bytes: Vec<u8>,
    answer: oneshot::Sender<Vec<u8>>,
}

/// The queue of requests to a program, and the number of its clients.
#[derive(Default)]
pub(super) struct RequestServer {
    requests: Mutex<Option<SyncSender<PendingRequest>>>,
    /// Number of waiting requests of strangers.
    n_of_strangers: AtomicUsize,
    /// Number of connections of each member.
    connections: Mutex<BTreeMap<Member, usize>>,
}

/// A member by its role and identity.
type Member = (Role, String);

impl RequestServer {
    /// Starts the thread of a handler. It ends with [`RequestServer::close`].
    pub(super) fn open(&self, mut handler: Box<dyn RequestHandler>) -> io::Result<JoinHandle<()>> {
        let (sender, requests): (_, Receiver<PendingRequest>) = sync_channel(REQUESTS_WAITING_MAX);
        let serve = move || {
            for request in requests {
                let origin = RequestOrigin {
                    certificate: request.certificate.as_ref(),
                    address: request.address,
                };
                let answer = handler.answer(origin, &request.bytes);
                // The client may have gone.
                let _ = request.answer.send(answer);
            }
        };
        let thread = std::thread::Builder::new()
            .name("requests".to_owned())
            .spawn(serve)?;
        *self.lock() = Some(sender);
        Ok(thread)
    }

    /// Takes no more requests.
    pub(super) fn close(&self) {
        self.lock().take();
    }

    pub(super) fn is_open(&self) -> bool {
        self.lock().is_some()
    }

    fn put(&self, request: PendingRequest) -> Result<(), Refusal> {
        let sender = self.lock().clone().ok_or(Refusal::Role)?;
        sender.try_send(request).map_err(|_| Refusal::Slow)
    }

    fn connections(&self) -> MutexGuard<'_, BTreeMap<Member, usize>> {
        // Nothing panics while it holds the lock.
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Option<SyncSender<PendingRequest>>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A counted connection of a member.
struct MemberConnection<'a> {
    server: &'a RequestServer,
    member: Member,
}

impl<'a> MemberConnection<'a> {
    /// None if there are too many connections, of members with such roles or of this member.
    fn begin(server: &'a RequestServer, identity: &Identity) -> Option<MemberConnection<'a>> {
        let member = (identity.role(), identity.to_string());
        let (roles, n_max) = places(identity.role());
        let mut connections = server.connections();
        let alike = connections
            .iter()
            .filter(|((role, _), _)| roles.contains(role));
        let n_alike: usize = alike.map(|(_, n)| n).sum();
        let n_own = connections.get(&member).copied().unwrap_or_default();
        if n_alike >= n_max || n_own >= REQUEST_CONNECTIONS_EACH_MAX {
            return None;
        }
        connections.insert(member.clone(), n_own + 1);
        drop(connections);
        Some(MemberConnection { server, member })
    }
}

/// The roles whose members share places for connections with this one, and the number of these places.
fn places(role: Role) -> (&'static [Role], usize) {
    match role {
        Role::Gm | Role::Pm | Role::Am => (
            &[Role::Gm, Role::Pm, Role::Am],
            REQUEST_CONNECTIONS_MANAGERS_MAX,
        ),
        Role::User => (&[Role::User], REQUEST_CONNECTIONS_USERS_MAX),
        Role::Admin => (&[Role::Admin], REQUEST_CONNECTIONS_ADMINS_MAX),
    }
}

impl Drop for MemberConnection<'_> {
    fn drop(&mut self) {
        let mut connections = self.server.connections();
        match connections.get_mut(&self.member) {
            Some(n_own) if *n_own > 1 => *n_own -= 1,
            Some(_) | None => {
                connections.remove(&self.member);
            }
        }
    }
}

/// A counted request of a stranger that waits for its answer.
struct StrangerRequest<'a>(&'a RequestServer);

impl<'a> StrangerRequest<'a> {
    /// None if too many of them wait.
    fn begin(server: &'a RequestServer) -> Option<StrangerRequest<'a>> {
        let before = server.n_of_strangers.fetch_add(1, Ordering::Relaxed);
        let waiting = StrangerRequest(server);
        (before < STRANGER_REQUESTS_MAX).then_some(waiting)
    }
}

impl Drop for StrangerRequest<'_> {
    fn drop(&mut self) {
        self.0.n_of_strangers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Serves a peer without a certificate: one request, sent at once.
pub(super) async fn serve_stranger(
    connection: &Connection,
    server: &RequestServer,
    address: IpAddr,
) -> Result<(), LinkError> {
    let asking = async {
        let (send, mut recv) = connection.accept_bi().await?;
        let bytes = read(connection, &mut recv, ASK_BYTES_MAX).await?;
        Ok((send, bytes))
    };
    let asked = timeout(duration(STRANGER_REQUEST_MAX), asking).await;
    let (mut send, bytes) = asked.unwrap_or(Err(LinkError::Refused(Refusal::Late)))?;
    let waiting = StrangerRequest::begin(server).ok_or(LinkError::Refused(Refusal::Slow))?;
    answer(connection, server, (None, address), bytes, &mut send).await?;
    drop(waiting);
    // The answer arrives before the connection ends.
    let patience = duration(STRANGER_REQUEST_MAX);
    let _ = timeout(patience, connection.closed()).await;
    refuse(connection, Refusal::Stopping);
    Ok(())
}

/// Serves a member, which may send requests for as long as it likes.
pub(super) async fn serve_member(
    connection: &Connection,
    server: &RequestServer,
    member: (&Certificate, IpAddr),
    me: &Identity,
    revocations: impl Fn() -> Arc<Revocations>,
) -> LinkError {
    let identity = &member.0.identity;
    if (identity.grid(), identity.group()) != (me.grid(), me.group()) {
        return refuse(connection, Refusal::Group);
    }
    let Some(_counted) = MemberConnection::begin(server, identity) else {
        return refuse(connection, Refusal::Full);
    };
    loop {
        if let Err(error) = one_of(connection, server, member, &revocations).await {
            return error;
        }
    }
}

/// Serves a request of a member, which may have been revoked since the connection began.
async fn one_of(
    connection: &Connection,
    server: &RequestServer,
    (member, address): (&Certificate, IpAddr),
    revocations: impl Fn() -> Arc<Revocations>,
) -> Result<(), LinkError> {
    let (mut send, mut recv) = connection.accept_bi().await?;
    if revocations().contains(&member.serial) {
        return Err(refuse(connection, Refusal::Revoked));
    }
    if clock::wall() > member.not_after {
        return Err(refuse(connection, Refusal::Expired));
    }
    let reading = read(connection, &mut recv, MEMBER_ASK_BYTES_MAX);
    let bytes = timeout(duration(LINK_GREETING_MAX), reading).await;
    let bytes = bytes.unwrap_or_else(|_| Err(refuse(connection, Refusal::Late)))?;
    let origin = (Some(member.clone()), address);
    answer(connection, server, origin, bytes, &mut send).await
}

async fn answer(
    connection: &Connection,
    server: &RequestServer,
    (certificate, address): (Option<Certificate>, IpAddr),
    bytes: Vec<u8>,
    send: &mut SendStream,
) -> Result<(), LinkError> {
    let (sender, answered) = oneshot::channel();
    let request = PendingRequest {
        certificate,
        address,
        bytes,
        answer: sender,
    };
    server
        .put(request)
        .map_err(|refusal| refuse(connection, refusal))?;
    let told = timeout(duration(REQUEST_ANSWER_MAX), answered).await;
    let Ok(Ok(told)) = told else {
        return Err(refuse(connection, Refusal::Slow));
    };
    let writing = write(send, &told);
    let written = timeout(duration(REQUEST_ANSWER_MAX), writing).await;
    written.unwrap_or_else(|_| Err(refuse(connection, Refusal::Slow)))
}

/// Sends one request on a connection to a server.
pub(super) async fn ask(connection: &Connection, request: &[u8]) -> Result<Vec<u8>, LinkError> {
    let (mut send, mut recv) = connection.open_bi().await?;
    write(&mut send, request).await?;
    read(connection, &mut recv, TOLD_BYTES_MAX).await
}

async fn write(send: &mut SendStream, body: &[u8]) -> Result<(), LinkError> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
    frame::append(&mut bytes, |out| out.extend_from_slice(body));
    send.write_all(&bytes).await?;
    let _ = send.finish();
    Ok(())
}

async fn read(
    connection: &Connection,
    recv: &mut RecvStream,
    bytes_max: usize,
) -> Result<Vec<u8>, LinkError> {
    let unreadable = |error| match error {
        ReadExactError::FinishedEarly(_) => refuse(connection, Refusal::Malformed),
        ReadExactError::ReadError(error) => error.into(),
    };
    let mut header = [0; HEADER_BYTES];
    recv.read_exact(&mut header).await.map_err(unreadable)?;
    // The length is checked before memory is allocated.
    let bytes = usize::try_from(u32::from_le_bytes(header))
        .ok()
        .filter(|bytes| *bytes <= bytes_max)
        .ok_or_else(|| refuse(connection, Refusal::TooLong))?;
    let mut body = vec![0; bytes];
    recv.read_exact(&mut body).await.map_err(unreadable)?;
    Ok(body)
}

/// Time to wait for an answer, including the way there and back.
pub(super) const PATIENCE: Span = Span(2 * LINK_GREETING_MAX.0 + REQUEST_ANSWER_MAX.0);

impl fmt::Debug for RequestServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestServer")
            .field("is_open", &self.is_open())
            .finish_non_exhaustive()
    }
}

#[test]
fn neither_machines_nor_users_take_the_places_of_administrators() {
    let server = RequestServer::default();
    let one = |role, number: usize| {
        let identity = Identity::new("grid", "lab", role, &format!("n{number}"));
        MemberConnection::begin(&server, &identity.unwrap())
    };
    let fill = |role| -> Vec<_> { (0..).map_while(|number| one(role, number)).collect() };
    let machines = fill(Role::Am);
    assert_eq!(machines.len(), REQUEST_CONNECTIONS_MANAGERS_MAX);
    assert!(one(Role::Pm, 0).is_none());
    let users = fill(Role::User);
    assert_eq!(users.len(), REQUEST_CONNECTIONS_USERS_MAX);
    let own: Vec<_> = (0..).map_while(|_| one(Role::Admin, 0)).collect();
    assert_eq!(own.len(), REQUEST_CONNECTIONS_EACH_MAX);
    drop((own, users));
    assert!(one(Role::User, 0).is_some() && one(Role::Admin, 0).is_some());
}
