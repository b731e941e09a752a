//! The socket on which clients of the same user ask a manager, streams for clients on other
//! machines, and the connections of both. Each connection has a thread that reads and one that
//! writes, so that no client delays another client or the core.

use std::error::Error;
use std::fs;
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use model::Identity;
use rustix::event::{PollFd, PollFlags, poll};
use thiserror::Error;
use wire::Envelope;
use wire::client::{Answer, Request};
use wire::frame::{FrameBuffer, FrameError};

use crate::client::{Client, ClientError};
use crate::inbox::Inbox;
use crate::limits::{CLIENT_WRITE_SECONDS_MAX, REMOTE_MESSAGE_BYTES_MAX};

mod connection;
mod places;

use connection::{Connection, Origin, write_all};
use places::Places;

/// The clients of one manager. Dropping it closes their connections and removes the socket.
pub struct Clients<I> {
    shared: Arc<Shared<I>>,
    accepting: Option<Accepting>,
}

/// The inputs that a manager makes of what clients do. Clients are numbered from 1, and a number is
/// never used again.
#[derive(Clone, Copy)]
pub struct ClientInputs<I> {
    /// A client sent a request with this number. `who` is the identity of a client on another
    /// machine, and none for clients of the manager's own user.
    pub request: fn(client: u64, who: Option<&Identity>, number: u64, Request) -> I,
    /// A client has disconnected.
    pub gone: fn(client: u64) -> I,
}

/// The socket for clients could not be opened.
#[derive(Debug, Error)]
#[error("could not {action} the socket {}", path.display())]
pub struct ClientsError {
    action: &'static str,
    path: PathBuf,
    #[source]
    source: io::Error,
}

struct Accepting {
    thread: JoinHandle<()>,
    /// Closing it ends the thread.
    awake: UnixStream,
    path: PathBuf,
}

struct Shared<I> {
    inbox: Inbox<I>,
    inputs: ClientInputs<I>,
    n_admitted: AtomicU64,
    places: Mutex<Places>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl<I: Send + 'static> Clients<I> {
    /// No clients, and no socket for others.
    pub fn new(inbox: &Inbox<I>, inputs: ClientInputs<I>) -> Clients<I> {
        let shared = Shared {
            inbox: inbox.clone(),
            inputs,
            n_admitted: AtomicU64::new(0),
            places: Mutex::default(),
            threads: Mutex::default(),
        };
        Clients {
            shared: Arc::new(shared),
            accepting: None,
        }
    }

    /// Opens the socket and replaces an existing one. The caller must have made sure that no other
    /// program uses the path; an existing socket was then left by a killed program.
    pub fn listen(&mut self, path: &Path) -> Result<(), ClientsError> {
        let failed = |action| {
            let path = path.to_owned();
            move |source| ClientsError {
                action,
                path,
                source,
            }
        };
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(failed("replace")(error));
            }
            Ok(()) | Err(_) => {}
        }
        let listener = UnixListener::bind(path).map_err(failed("create"))?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed("protect"))?;
        listener.set_nonblocking(true).map_err(failed("use"))?;
        let (awake, theirs) = UnixStream::pair().map_err(failed("use"))?;
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new()
            .name("clients".to_owned())
            .spawn(move || accept_all(&listener, &theirs, &shared))
            .map_err(failed("serve"))?;
        self.accepting = Some(Accepting {
            thread,
            awake,
            path: path.to_owned(),
        });
        Ok(())
    }

    /// A client inside the program.
    pub fn join(&self) -> io::Result<Client> {
        let (ours, theirs) = UnixStream::pair()?;
        let number = admit(&self.shared, theirs, (Origin::Inside, None))?;
        Ok(Client::inside(ours, number))
    }

    /// Gives the manager an input that takes the place of a request of a client from
    /// [`Clients::join`], and waits for its answer. So what is in this program's memory already need
    /// not be written to a socket and read again. `input` gets the numbers of the client and of its
    /// request.
    pub fn ask(
        &self,
        client: &mut Client,
        input: impl FnOnce(u64, u64) -> I,
    ) -> Result<Answer, ClientError> {
        let number = client.number().ok_or(ClientError::Closed)?;
        client.ask_by(|request| {
            let sent = self.shared.inbox.send_all([input(number, request)]);
            sent.map_err(|_| ClientError::Closed)
        })
    }

    /// Connects a client on another machine, at this address: the caller writes the client's requests
    /// to the returned stream and reads the answers from it.
    pub fn connect_as(&self, who: &Identity, address: IpAddr) -> io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        let origin = Origin::Remote(who.clone());
        admit(&self.shared, theirs, (origin, Some(address)))?;
        Ok(ours)
    }

    /// A sender of answers.
    pub fn answers(&self) -> Answers<I> {
        Answers(Arc::clone(&self.shared))
    }
}

impl<I> Drop for Clients<I> {
    fn drop(&mut self) {
        if let Some(Accepting {
            thread,
            awake,
            path,
        }) = self.accepting.take()
        {
            drop(awake);
            let _ = thread.join();
            let _ = fs::remove_file(path);
        }
        lock(&self.shared.places).close();
        let threads = std::mem::take(&mut *lock(&self.shared.threads));
        for thread in threads {
            let _ = thread.join();
        }
    }
}

/// Sends answers to clients; never waits.
pub struct Answers<I>(Arc<Shared<I>>);

impl<I> Answers<I> {
    /// The place of a client, for the log: its address, `socket`, `inside`, or `gone`.
    pub fn place(&self, client: u64) -> String {
        let connection = lock(&self.0.places).get(client);
        connection.map_or_else(|| "gone".to_owned(), |connection| connection.place())
    }

    /// Answers a client's request. A client that has disconnected is no error; a client that does
    /// not read its answers is disconnected.
    pub fn send(&self, client: u64, number: u64, answer: Answer) {
        let connection = lock(&self.0.places).get(client);
        if let Some(connection) = connection {
            connection.queue(&Envelope {
                number,
                message: Some(answer),
            });
        }
    }
}

fn accept_all<I: Send + 'static>(
    listener: &UnixListener,
    end: &UnixStream,
    shared: &Arc<Shared<I>>,
) {
    loop {
        let mut ready = [
            PollFd::new(listener, PollFlags::IN),
            PollFd::new(end, PollFlags::IN),
        ];
        if let Err(error) = poll(&mut ready, None)
            && error != rustix::io::Errno::INTR
        {
            tracing::error!(%error, "could not wait for clients");
            return;
        }
        if !ready[1].revents().is_empty() {
            return;
        }
        match listener.accept() {
            Ok((stream, _)) => {
                let arrived = check(&stream).and_then(|()| arrive(shared, stream));
                if let Err(error) = arrived {
                    tracing::warn!(%error, "a client was not admitted");
                }
            }
            Err(error) if is_passing(&error) => {}
            Err(error) => {
                tracing::error!(%error, "could not accept clients");
                return;
            }
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted
    )
}

/// Accepts the manager's own user and root.
fn check(stream: &UnixStream) -> io::Result<()> {
    let who = rustix::net::sockopt::socket_peercred(stream)?;
    if who.uid == rustix::process::geteuid() || who.uid.is_root() {
        return Ok(());
    }
    let message = format!("user {} may not use this socket", who.uid.as_raw());
    Err(io::Error::new(ErrorKind::PermissionDenied, message))
}

/// Takes a client of the socket, which waits for its turn while all places are taken.
fn arrive<I: Send + 'static>(shared: &Arc<Shared<I>>, stream: UnixStream) -> io::Result<()> {
    let has_place = lock(&shared.places).wait(stream);
    advance(shared);
    has_place.map_err(io::Error::other)
}

/// Serves the clients of the socket whose turn has come.
fn advance<I: Send + 'static>(shared: &Arc<Shared<I>>) {
    loop {
        let next = {
            let mut places = lock(&shared.places);
            let Some(stream) = places.next() else { return };
            enter(shared, &mut places, stream, (Origin::Socket, None))
        };
        let served = next.and_then(|(client, connection)| serve(shared, client, connection));
        if let Err(error) = served {
            tracing::warn!(%error, "a client was not admitted");
        }
    }
}

/// Serves a client at once; the answer is its number.
fn admit<I: Send + 'static>(
    shared: &Arc<Shared<I>>,
    stream: UnixStream,
    from: (Origin, Option<IpAddr>),
) -> io::Result<u64> {
    let (client, connection) = enter(shared, &mut lock(&shared.places), stream, from)?;
    serve(shared, client, connection)
}

/// Gives a client a number and a place.
fn enter<I>(
    shared: &Shared<I>,
    places: &mut Places,
    stream: UnixStream,
    from: (Origin, Option<IpAddr>),
) -> io::Result<(u64, Arc<Connection>)> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(Duration::from_secs(CLIENT_WRITE_SECONDS_MAX)))?;
    let connection = Arc::new(Connection::new(stream, from));
    let client = shared.n_admitted.fetch_add(1, Ordering::Relaxed) + 1;
    let entered = places.enter(client, &connection);
    entered.map_err(io::Error::other)?;
    Ok((client, connection))
}

/// Starts the threads of a connection.
fn serve<I: Send + 'static>(
    shared: &Arc<Shared<I>>,
    client: u64,
    connection: Arc<Connection>,
) -> io::Result<u64> {
    let theirs = Arc::clone(&connection);
    let writer = std::thread::Builder::new()
        .name(format!("client-{client}-out"))
        .spawn(move || write_all(&theirs));
    let theirs = (Arc::clone(shared), Arc::clone(&connection));
    let reader = std::thread::Builder::new()
        .name(format!("client-{client}-in"))
        .spawn(move || read_all(client, &theirs.0, &theirs.1));
    let mut threads = lock(&shared.threads);
    threads.retain(|thread| !thread.is_finished());
    match (reader, writer) {
        (Ok(reader), Ok(writer)) => {
            threads.extend([reader, writer]);
            Ok(client)
        }
        (reader, writer) => {
            connection.cut_off();
            lock(&shared.places).leave(client);
            let result = reader
                .as_ref()
                .err()
                .or(writer.as_ref().err())
                .map(io::Error::kind);
            threads.extend([reader, writer].into_iter().flatten());
            Err(result.unwrap_or(ErrorKind::Other).into())
        }
    }
}

fn read_all<I: Send + 'static>(client: u64, shared: &Arc<Shared<I>>, connection: &Connection) {
    let mut stream = &connection.stream;
    // The buffer grows with the bytes that have arrived, not with the announced length.
    let mut frames = FrameBuffer::new(match connection.who() {
        None => wire::MESSAGE_BYTES_MAX,
        Some(_) => REMOTE_MESSAGE_BYTES_MAX,
    });
    let cut_off = |error: &dyn Error| {
        let who = connection.who().map(tracing::field::display);
        tracing::warn!(client, who, %error, "a client was cut off");
    };
    'stream: loop {
        loop {
            let body = match frames.take() {
                Ok(Some(body)) => body,
                Ok(None) => break,
                Err(error) => {
                    cut_off(&error);
                    break 'stream;
                }
            };
            let envelope = match wire::decode::<Envelope<Request>>(body) {
                Ok(envelope) => envelope,
                Err(error) => {
                    cut_off(&error);
                    break 'stream;
                }
            };
            if !take(client, envelope, shared, connection) {
                break 'stream;
            }
        }
        match frames.fill(&mut stream) {
            Ok(0) if frames.is_within_frame() => {
                cut_off(&FrameError::CutOff);
                break;
            }
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    connection.finish();
    lock(&shared.places).leave(client);
    // It comes after the requests of the client.
    shared.inbox.tell_of_client((shared.inputs.gone)(client));
    advance(shared);
}

/// Passes a request on. Returns false if the connection must not be read any further.
fn take<I>(
    client: u64,
    envelope: Envelope<Request>,
    shared: &Shared<I>,
    connection: &Connection,
) -> bool {
    let Envelope { number, message } = envelope;
    let Some(request) = message else {
        let reasons = vec!["this version does not know that request".to_owned()];
        connection.queue(&Envelope {
            number,
            message: Some(Answer::Refused(reasons)),
        });
        return true;
    };
    let input = (shared.inputs.request)(client, connection.who(), number, request);
    connection.wait_for_turn() && shared.inbox.send_all([input]).is_ok()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it holds one of these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
