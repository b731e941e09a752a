//! The socket on which clients of the same user ask a manager, streams for clients on other
//! machines, and the connections of both. Each connection has a thread that reads and one that
//! writes, so that no client delays another client or the core.

use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use model::Identity;
use rustix::event::{PollFd, PollFlags, poll};
use thiserror::Error;
use wire::Envelope;
use wire::client::{Answer, Request};
use wire::frame::{self, FrameBuffer, FrameError};

use crate::client::{Client, ClientError};
use crate::inbox::Inbox;
use crate::limits::{
    CLIENT_REQUESTS_MAX, CLIENT_WAITING_BYTES_MAX, CLIENT_WRITE_SECONDS_MAX, CLIENTS_MAX,
    REMOTE_CLIENTS_MAX, REMOTE_CONNECTIONS_EACH_MAX, REMOTE_MESSAGE_BYTES_MAX,
};

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
    is_closing: AtomicBool,
    connections: Mutex<BTreeMap<u64, Arc<Connection>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Connection {
    stream: UnixStream,
    /// The identity of a client on another machine.
    who: Option<Identity>,
    state: Mutex<Traffic>,
    changed: Condvar,
}

#[derive(Default)]
struct Traffic {
    frames: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Number of requests that are not answered yet.
    n_open: usize,
    is_closed: bool,
}

impl<I: Send + 'static> Clients<I> {
    /// No clients, and no socket for others.
    pub fn new(inbox: &Inbox<I>, inputs: ClientInputs<I>) -> Clients<I> {
        let shared = Shared {
            inbox: inbox.clone(),
            inputs,
            n_admitted: AtomicU64::new(0),
            is_closing: AtomicBool::new(false),
            connections: Mutex::default(),
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
        admit(&self.shared, theirs, None)?;
        Ok(Client::over(ours))
    }

    /// Gives the manager an input that takes the place of a request, and waits for its answer. So what
    /// is in this program's memory already need not be written to a socket and read again. `input`
    /// gets the numbers of a client that is inside the program and of its request.
    pub fn ask(&self, input: impl FnOnce(u64, u64) -> I) -> Result<Answer, ClientError> {
        let failed = |source| ClientError::Io {
            action: "ask",
            source,
        };
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let number = admit(&self.shared, theirs, None).map_err(failed)?;
        Client::over(ours).ask_by(|request| {
            let sent = self.shared.inbox.send_all([input(number, request)]);
            sent.map_err(|_| ClientError::Closed)
        })
    }

    /// Connects a client on another machine: the caller writes the client's requests to the
    /// returned stream and reads the answers from it.
    pub fn connect_as(&self, who: &Identity) -> io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        admit(&self.shared, theirs, Some(who.clone()))?;
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
        self.shared.is_closing.store(true, Ordering::Release);
        for connection in lock(&self.shared.connections).values() {
            connection.finish();
        }
        let threads = std::mem::take(&mut *lock(&self.shared.threads));
        for thread in threads {
            let _ = thread.join();
        }
    }
}

/// Sends answers to clients; never waits.
pub struct Answers<I>(Arc<Shared<I>>);

impl<I> Answers<I> {
    /// Answers a client's request. A client that has disconnected is no error; a client that does
    /// not read its answers is disconnected.
    pub fn send(&self, client: u64, number: u64, answer: Answer) {
        let connection = lock(&self.0.connections).get(&client).cloned();
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
                let admitted = check(&stream).and_then(|()| admit(shared, stream, None));
                if let Err(error) = admitted {
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

/// Serves a connection; the answer is the client's number.
fn admit<I: Send + 'static>(
    shared: &Arc<Shared<I>>,
    stream: UnixStream,
    who: Option<Identity>,
) -> io::Result<u64> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(Duration::from_secs(CLIENT_WRITE_SECONDS_MAX)))?;
    let (reading, writing) = (stream.try_clone()?, stream.try_clone()?);
    let connection = Arc::new(Connection {
        stream,
        who,
        state: Mutex::default(),
        changed: Condvar::new(),
    });
    let client = shared.n_admitted.fetch_add(1, Ordering::Relaxed) + 1;
    {
        let mut connections = lock(&shared.connections);
        if shared.is_closing.load(Ordering::Acquire) {
            return Err(io::Error::other("the manager is stopping"));
        }
        has_room(&connections, connection.who.as_ref()).map_err(io::Error::other)?;
        connections.insert(client, Arc::clone(&connection));
    }
    let theirs = Arc::clone(&connection);
    let writer = std::thread::Builder::new()
        .name(format!("client-{client}-out"))
        .spawn(move || write_all(writing, &theirs));
    let theirs = (Arc::clone(shared), Arc::clone(&connection));
    let reader = std::thread::Builder::new()
        .name(format!("client-{client}-in"))
        .spawn(move || read_all(client, reading, &theirs.0, &theirs.1));
    let mut threads = lock(&shared.threads);
    threads.retain(|thread| !thread.is_finished());
    match (reader, writer) {
        (Ok(reader), Ok(writer)) => {
            threads.extend([reader, writer]);
            Ok(client)
        }
        (reader, writer) => {
            connection.cut_off();
            lock(&shared.connections).remove(&client);
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

/// Checks the bounds for one more connection. Clients on other machines do not use up the places of
/// local ones, and one user cannot use up all of theirs.
fn has_room(
    connections: &BTreeMap<u64, Arc<Connection>>,
    who: Option<&Identity>,
) -> Result<(), String> {
    let count = |is_meant: &dyn Fn(&Connection) -> bool| {
        let meant = connections.values().filter(|one| is_meant(one));
        meant.count()
    };
    let (n, n_max) = match who {
        None => (count(&|one| one.who.is_none()), CLIENTS_MAX),
        Some(who) => {
            let n_own = count(&|one| one.who.as_ref() == Some(who));
            if n_own >= REMOTE_CONNECTIONS_EACH_MAX {
                let n_max = REMOTE_CONNECTIONS_EACH_MAX;
                return Err(format!("{who} has {n_max} connections"));
            }
            (count(&|one| one.who.is_some()), REMOTE_CLIENTS_MAX)
        }
    };
    if n < n_max {
        return Ok(());
    }
    Err(format!("{n_max} clients are connected"))
}

fn read_all<I>(client: u64, mut stream: UnixStream, shared: &Shared<I>, connection: &Connection) {
    // The buffer grows with the bytes that have arrived, not with the announced length.
    let mut frames = FrameBuffer::new(match connection.who {
        None => wire::MESSAGE_BYTES_MAX,
        Some(_) => REMOTE_MESSAGE_BYTES_MAX,
    });
    let cut_off = |error: &dyn Error| {
        let who = connection.who.as_ref().map(tracing::field::display);
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
            if !connection.take(client, envelope, shared) {
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
    lock(&shared.connections).remove(&client);
    // It comes after the requests of the client.
    shared.inbox.tell_of_client((shared.inputs.gone)(client));
}

fn write_all(mut stream: UnixStream, connection: &Connection) {
    while let Some(frame) = connection.next() {
        if stream.write_all(&frame).is_err() {
            connection.cut_off();
            return;
        }
        connection.written(frame.len());
    }
    let _ = stream.shutdown(Shutdown::Both);
}

impl Connection {
    /// Passes a request on. Returns false if the connection must not be read any further.
    fn take<I>(&self, client: u64, envelope: Envelope<Request>, shared: &Shared<I>) -> bool {
        let Envelope { number, message } = envelope;
        let Some(request) = message else {
            let reasons = vec!["this version does not know that request".to_owned()];
            self.queue(&Envelope {
                number,
                message: Some(Answer::Refused(reasons)),
            });
            return true;
        };
        let input = (shared.inputs.request)(client, self.who.as_ref(), number, request);
        self.wait_for_turn() && shared.inbox.send_all([input]).is_ok()
    }

    fn queue(&self, envelope: &Envelope<Answer>) {
        let mut bytes = Vec::new();
        frame::append(&mut bytes, |out| {
            minicbor::encode(envelope, out).expect("a vector takes every byte");
        });
        let mut state = lock(&self.state);
        if state.bytes > 0 && state.bytes + bytes.len() > CLIENT_WAITING_BYTES_MAX {
            drop(state);
            tracing::warn!("a client that does not read was cut off");
            return self.cut_off();
        }
        state.bytes += bytes.len();
        state.n_open = state.n_open.saturating_sub(1);
        state.frames.push_back(bytes);
        drop(state);
        self.changed.notify_all();
    }

    /// The next frame to write. None once the connection is closed and everything is written.
    fn next(&self) -> Option<Vec<u8>> {
        let mut state = lock(&self.state);
        loop {
            if let Some(frame) = state.frames.pop_front() {
                return Some(frame);
            }
            if state.is_closed {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn written(&self, bytes: usize) {
        let mut state = lock(&self.state);
        state.bytes = state.bytes.saturating_sub(bytes);
    }

    /// Waits until enough earlier requests are answered. Returns false once the connection is
    /// closed.
    fn wait_for_turn(&self) -> bool {
        let mut state = lock(&self.state);
        while state.n_open >= CLIENT_REQUESTS_MAX && !state.is_closed {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.n_open += 1;
        !state.is_closed
    }

    /// Closes the connection once the waiting frames are written.
    fn finish(&self) {
        lock(&self.state).is_closed = true;
        self.changed.notify_all();
        let _ = self.stream.shutdown(Shutdown::Read);
    }

    /// Closes the connection at once.
    fn cut_off(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        state.frames.clear();
        drop(state);
        self.changed.notify_all();
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it holds one of these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
