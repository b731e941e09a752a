//! The client's end of a manager's socket, or of a connection to a manager on another machine.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use model::{Identity, Mono, ProcessId, Span};
use thiserror::Error;
use wire::client::{Answer, Progress, Request};
use wire::frame::{self, FrameBuffer, FrameError};
use wire::{Envelope, MESSAGE_BYTES_MAX};

use crate::clock;
use crate::identity::Credentials;
use crate::limits::{CLIENT_ANSWER_SECONDS_MAX, CLIENT_QUEUED_MAX, CLIENT_REACH_SECONDS_MAX};
use crate::quic::{Calls, LinkError};

/// The longest sleep of a client that has no deadline; it only bounds a system call.
const LONG_SECONDS: u64 = 3_600;

/// A connection to a process manager. It carries one request at a time.
///
/// A connection over the network is dialled again when it is lost, and the request that was not
/// answered is sent again. Every request may be repeated without another effect.
pub struct Client {
    way: Way,
    /// None while the connection is lost.
    stream: Option<UnixStream>,
    buffer: FrameBuffer,
    arrived: VecDeque<Envelope<Answer>>,
    /// The last request, as it was sent.
    asked: Vec<u8>,
    /// True once the last request was sent more than once.
    is_repeated: bool,
    n_requests: u64,
    patience: Span,
    turn: Turn,
    word: Option<Word>,
}

/// Tells the user that the manager has no place yet: the number of clients that wait, this one
/// included.
type Word = Box<dyn FnMut(u32) + Send>;

/// The place of a client at the manager's socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// It had a place at once.
    First,
    /// It waits for one; so many clients wait, this one included.
    Queued { n_waiting: u32, since: Mono },
    /// It has waited, and the manager serves it since then.
    Served(Mono),
}

/// The way to the manager.
enum Way {
    /// By this one stream, which cannot be opened again.
    Socket,
    /// The same, inside the manager's program: the number that the manager knows the client by.
    Inside(u64),
    /// Over the network.
    Calls {
        calls: Calls,
        manager: String,
        address: String,
    },
}

/// Why a request has no answer.
#[derive(Debug, Error)]
pub enum ClientError {
    /// Nothing listens on the socket.
    #[error("could not connect to {}", path.display())]
    Connect {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The manager cannot be reached over the network.
    #[error("could not reach {manager} at {address}")]
    Reach {
        /// The manager, by role and name.
        manager: String,
        /// The address at which it was dialled.
        address: String,
        /// The cause.
        #[source]
        source: LinkError,
    },
    /// The connection failed.
    #[error("could not {action} the manager")]
    Io {
        /// The operation that failed.
        action: &'static str,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The manager has ended, or refuses this client.
    #[error("could not read an answer: the manager closed the connection")]
    Closed,
    /// The received bytes are no frame.
    #[error("could not read an answer")]
    Frame(#[from] FrameError),
    /// The received frame is no answer.
    #[error("could not understand an answer")]
    Decode(#[from] minicbor::decode::Error),
    /// No answer came within this time.
    #[error("could not wait longer for an answer: {0} are over")]
    TimedOut(Span),
    /// The manager does not know the process.
    #[error("there is no process {0}")]
    UnknownProcess(ProcessId),
    /// The answer does not fit the request, or this version does not know it.
    #[error("could not use the answer: it does not fit the question")]
    Unfit,
}

impl Client {
    /// Connects to a manager's socket.
    pub fn connect(path: &Path) -> Result<Client, ClientError> {
        let failed = |source| ClientError::Connect {
            path: path.to_owned(),
            source,
        };
        UnixStream::connect(path).map(Client::over).map_err(failed)
    }

    /// Connects to the manager on another machine that has this certificate's identity. `address`
    /// is host and port. Dialling is repeated for some seconds.
    pub fn dial(
        credentials: &Credentials,
        address: &str,
        peer: &Identity,
    ) -> Result<Client, ClientError> {
        let manager = format!("{} {}", peer.role(), peer.name());
        let reach = |source| ClientError::Reach {
            manager: manager.clone(),
            address: address.to_owned(),
            source,
        };
        let calls = Calls::begin(credentials, address, peer).map_err(reach)?;
        let until = clock::mono() + Span::from_secs(CLIENT_REACH_SECONDS_MAX);
        let stream = calls.next(Some(until)).map_err(reach)?;
        let stream = match stream {
            Some(stream) => stream,
            None => return Err(reach(calls.trouble().unwrap_or(LinkError::Silent))),
        };
        let way = Way::Calls {
            calls,
            manager,
            address: address.to_owned(),
        };
        Ok(Client::with(way, stream))
    }

    /// Talks over a stream that is connected already.
    pub(crate) fn over(stream: UnixStream) -> Client {
        Client::with(Way::Socket, stream)
    }

    /// Talks over a stream inside the manager's program, which knows the client by this number.
    pub(crate) fn inside(stream: UnixStream, number: u64) -> Client {
        Client::with(Way::Inside(number), stream)
    }

    /// The number that the manager knows a client inside its program by.
    pub(crate) fn number(&self) -> Option<u64> {
        match self.way {
            Way::Inside(number) => Some(number),
            Way::Socket | Way::Calls { .. } => None,
        }
    }

    fn with(way: Way, stream: UnixStream) -> Client {
        Client {
            way,
            stream: Some(stream),
            buffer: FrameBuffer::new(MESSAGE_BYTES_MAX),
            arrived: VecDeque::new(),
            asked: Vec::new(),
            is_repeated: false,
            n_requests: 0,
            patience: Span::from_secs(CLIENT_ANSWER_SECONDS_MAX),
            turn: Turn::First,
            word: None,
        }
    }

    /// Has `word` called, once, if the manager has no place for this client for some seconds.
    #[must_use]
    pub fn when_waiting(mut self, word: impl FnMut(u32) + Send + 'static) -> Client {
        self.word = Some(Box::new(word));
        self
    }

    /// True while the manager has no place for this client.
    fn is_waiting(&self) -> bool {
        matches!(self.turn, Turn::Queued { .. })
    }

    /// Sets the time to wait for an answer, which is a minute by default.
    pub fn set_patience(&mut self, patience: Span) {
        self.patience = patience;
    }

    /// Sends a request and waits for its first answer.
    pub fn ask(&mut self, request: Request) -> Result<Answer, ClientError> {
        let forgets = if let Request::Forget(process) = &request {
            Some(*process)
        } else {
            None
        };
        let number = self.send(request)?;
        let patience = self.patience;
        let Some(answer) = self.receive_patiently(number)? else {
            return Err(match self.trouble() {
                Some(source) => self.unreachable(source),
                None => ClientError::TimedOut(patience),
            });
        };
        Ok(match (answer, forgets) {
            // The first request was carried out, and its answer was lost.
            (Answer::Unknown(process), Some(forgotten))
                if self.is_repeated && process == forgotten =>
            {
                Answer::Forgotten(process)
            }
            (answer, _) => answer,
        })
    }

    /// Has a request given to the manager by other means than this connection, and waits for its
    /// answer. `give` gets the number of the request.
    pub(crate) fn ask_by(
        &mut self,
        give: impl FnOnce(u64) -> Result<(), ClientError>,
    ) -> Result<Answer, ClientError> {
        self.n_requests += 1;
        let number = self.n_requests;
        give(number)?;
        let patience = self.patience;
        self.receive_patiently(number)?
            .ok_or(ClientError::TimedOut(patience))
    }

    /// Follows a process until it has ended.
    pub fn watch(&mut self, process: ProcessId) -> Result<Watch<'_>, ClientError> {
        let number = self.send(Request::Watch(process))?;
        Ok(Watch {
            client: self,
            number,
            has_ended: false,
        })
    }

    /// The reason why the connection is lost, while it is.
    fn trouble(&self) -> Option<LinkError> {
        match (&self.way, &self.stream) {
            (Way::Calls { calls, .. }, None) => Some(calls.trouble().unwrap_or(LinkError::Silent)),
            (Way::Calls { .. } | Way::Socket | Way::Inside(_), _) => None,
        }
    }

    fn unreachable(&self, source: LinkError) -> ClientError {
        match &self.way {
            Way::Calls {
                manager, address, ..
            } => ClientError::Reach {
                manager: manager.clone(),
                address: address.clone(),
                source,
            },
            Way::Socket | Way::Inside(_) => ClientError::Closed,
        }
    }

    fn send(&mut self, request: Request) -> Result<u64, ClientError> {
        self.n_requests += 1;
        let envelope = Envelope {
            number: self.n_requests,
            message: Some(request),
        };
        self.asked.clear();
        frame::append(&mut self.asked, |out| {
            minicbor::encode(&envelope, out).expect("a vector takes every byte");
        });
        self.is_repeated = false;
        if let Some(mut stream) = self.stream.as_ref() {
            let sent = stream.write_all(&self.asked);
            sent.or_else(|source| {
                let action = "ask";
                self.lose(ClientError::Io { action, source })
            })?;
        }
        Ok(self.n_requests)
    }

    /// Drops the connection. Returns the error where the stream cannot be opened again.
    fn lose(&mut self, error: ClientError) -> Result<(), ClientError> {
        match self.way {
            Way::Socket | Way::Inside(_) => Err(error),
            Way::Calls { .. } => {
                self.stream = None;
                Ok(())
            }
        }
    }

    /// Takes the next connection and repeats the last request on it. There is no connection if none
    /// came about until `until`.
    fn reconnect(&mut self, until: Option<Mono>) -> Result<(), ClientError> {
        let Way::Calls { calls, .. } = &self.way else {
            return Err(ClientError::Closed);
        };
        let stream = match calls.next(until) {
            Ok(Some(stream)) => stream,
            Ok(None) => return Ok(()),
            Err(error) => return Err(self.unreachable(error)),
        };
        self.buffer = FrameBuffer::new(MESSAGE_BYTES_MAX);
        self.arrived.clear();
        self.is_repeated = true;
        let sent = (&stream).write_all(&self.asked);
        self.stream = sent.is_ok().then_some(stream);
        Ok(())
    }

    /// The answer to a request, or none if the patience with it is over. It begins when the manager
    /// has a place for this client.
    fn receive_patiently(&mut self, number: u64) -> Result<Option<Answer>, ClientError> {
        let asked = clock::mono();
        loop {
            let from = match self.turn {
                Turn::First => asked,
                Turn::Queued { .. } => clock::mono(),
                Turn::Served(since) => since.max(asked),
            };
            let until = from + self.patience;
            let answer = self.receive(number, Some(until))?;
            if answer.is_some() || (!self.is_waiting() && until <= clock::mono()) {
                return Ok(answer);
            }
        }
    }

    /// The next answer to a request, or none if none came until `until`. Answers to earlier
    /// requests are skipped.
    fn receive(&mut self, number: u64, until: Option<Mono>) -> Result<Option<Answer>, ClientError> {
        loop {
            while let Some(envelope) = self.arrived.pop_front() {
                if envelope.number == number {
                    return envelope.message.map(Some).ok_or(ClientError::Unfit);
                }
            }
            let left = match until {
                Some(until) => until.since(clock::mono()),
                None => Span::from_secs(LONG_SECONDS),
            };
            let Some(mut stream) = self.stream.as_ref() else {
                if left == Span::ZERO {
                    return Ok(None);
                }
                self.reconnect(until)?;
                continue;
            };
            let sleep = match self.word_is_due() {
                Some(at) => left.min(at.since(clock::mono())),
                None => left,
            };
            // Zero would be no timeout at all.
            let timeout = Duration::from_micros(sleep.0.max(1));
            let read = stream
                .set_read_timeout(Some(timeout))
                .and_then(|()| self.buffer.fill(&mut stream));
            match read {
                Ok(0) => self.lose(ClientError::Closed)?,
                Ok(_) => self.take()?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.tell_of_waiting();
                    if left == sleep {
                        return Ok(None);
                    }
                }
                Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                    self.lose(ClientError::Closed)?;
                }
                Err(source) => self.lose(ClientError::Io {
                    action: "hear",
                    source,
                })?,
            }
        }
    }

    fn take(&mut self) -> Result<(), ClientError> {
        while let Some(body) = self.buffer.take()? {
            let envelope: Envelope<Answer> = wire::decode(body)?;
            if let Some(Answer::Queued(n_waiting)) = envelope.message {
                let since = clock::mono();
                self.turn = match n_waiting {
                    0 => Turn::Served(since),
                    n_waiting => Turn::Queued { n_waiting, since },
                };
            } else {
                self.arrived.push_back(envelope);
            }
        }
        Ok(())
    }

    /// When the user is to be told that this client waits.
    fn word_is_due(&self) -> Option<Mono> {
        let Turn::Queued { since, .. } = self.turn else {
            return None;
        };
        self.word.is_some().then_some(since + CLIENT_QUEUED_MAX)
    }

    fn tell_of_waiting(&mut self) {
        if let Turn::Queued { n_waiting, .. } = self.turn
            && self.word_is_due().is_some_and(|due| due <= clock::mono())
            && let Some(mut word) = self.word.take()
        {
            word(n_waiting);
        }
    }
}

/// The progress of a process, as its manager reports it. The iterator ends after the report that
/// contains the end of the process.
pub struct Watch<'a> {
    client: &'a mut Client,
    number: u64,
    has_ended: bool,
}

impl Watch<'_> {
    /// The next report. None if none came within this time, or if the process has ended: see
    /// [`Watch::has_ended`].
    pub fn next_within(&mut self, patience: Span) -> Result<Option<Progress>, ClientError> {
        self.next_until(Some(clock::mono() + patience))
    }

    /// The reason why there are no reports at the moment: the connection is lost. Reports go on
    /// when it has been dialled again.
    pub fn trouble(&self) -> Option<LinkError> {
        self.client.trouble()
    }

    /// Returns true if the last report has been returned.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    fn next_until(&mut self, until: Option<Mono>) -> Result<Option<Progress>, ClientError> {
        if self.has_ended {
            return Ok(None);
        }
        let Some(answer) = self.client.receive(self.number, until)? else {
            return Ok(None);
        };
        if let Answer::Progress(progress) = answer {
            self.has_ended = progress.phase.has_ended();
            Ok(Some(*progress))
        } else if let Answer::Unknown(process) = answer {
            self.has_ended = true;
            Err(ClientError::UnknownProcess(process))
        } else {
            Err(ClientError::Unfit)
        }
    }
}

impl Iterator for Watch<'_> {
    type Item = Result<Progress, ClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_until(None);
        if next.is_err() {
            self.has_ended = true;
        }
        next.transpose()
    }
}
