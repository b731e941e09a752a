//! The client's end of a manager's socket.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use model::{Mono, ProcessId, Span};
use thiserror::Error;
use wire::client::{Answer, Progress, Request};
use wire::frame::{self, FrameBuffer, FrameError};
use wire::{Envelope, MESSAGE_BYTES_MAX};

use crate::clock;
use crate::limits::CLIENT_ANSWER_SECONDS_MAX;

/// The longest sleep of a client that has no deadline; it only bounds a system call.
const LONG_SECONDS: u64 = 3_600;

/// A connection to a process manager. One question at a time.
pub struct Client {
    stream: UnixStream,
    buffer: FrameBuffer,
    arrived: VecDeque<Envelope<Answer>>,
    n_requests: u64,
    patience: Span,
}

/// Why a question was not answered.
#[derive(Debug, Error)]
pub enum ClientError {
    /// Nobody listens there.
    #[error("could not connect to {}", path.display())]
    Connect {
        /// The socket.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// The connection failed.
    #[error("could not {action} the manager")]
    Io {
        /// What was attempted.
        action: &'static str,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// The manager has ended, or does not want this client.
    #[error("could not read an answer: the manager closed the connection")]
    Closed,
    /// What came is not a message.
    #[error("could not read an answer")]
    Frame(#[from] FrameError),
    /// What came is not an answer.
    #[error("could not understand an answer")]
    Decode(#[from] minicbor::decode::Error),
    /// Nothing came.
    #[error("could not wait longer for an answer: {0} are over")]
    TimedOut(Span),
    /// The manager does not know the process.
    #[error("there is no process {0}")]
    UnknownProcess(ProcessId),
    /// The answer is of a kind that does not fit the question, or that this version does not know.
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

    /// Talks over a stream that is connected already.
    pub(crate) fn over(stream: UnixStream) -> Client {
        Client {
            stream,
            buffer: FrameBuffer::new(MESSAGE_BYTES_MAX),
            arrived: VecDeque::new(),
            n_requests: 0,
            patience: Span::from_secs(CLIENT_ANSWER_SECONDS_MAX),
        }
    }

    /// How long to wait for an answer; a minute unless this was called.
    pub fn set_patience(&mut self, patience: Span) {
        self.patience = patience;
    }

    /// Asks, and waits for the first answer.
    pub fn ask(&mut self, request: Request) -> Result<Answer, ClientError> {
        let number = self.send(request)?;
        let patience = self.patience;
        self.receive(number, Some(clock::mono() + patience))?
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

    fn send(&mut self, request: Request) -> Result<u64, ClientError> {
        self.n_requests += 1;
        let envelope = Envelope {
            number: self.n_requests,
            message: Some(request),
        };
        let mut bytes = Vec::new();
        frame::append(&mut bytes, |out| {
            minicbor::encode(&envelope, out).expect("a vector takes every byte");
        });
        self.stream
            .write_all(&bytes)
            .map_err(|source| ClientError::Io {
                action: "ask",
                source,
            })?;
        Ok(self.n_requests)
    }

    /// The next answer to a request; none where nothing has come until then. Answers to earlier
    /// requests are passed over.
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
            // Zero would be no timeout at all.
            let timeout = Duration::from_micros(left.0.max(1));
            self.stream
                .set_read_timeout(Some(timeout))
                .map_err(|source| ClientError::Io {
                    action: "wait for",
                    source,
                })?;
            match self.buffer.fill(&mut self.stream) {
                Ok(0) => return Err(ClientError::Closed),
                Ok(_) => self.take()?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if left == Span::ZERO {
                        return Ok(None);
                    }
                }
                Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                    return Err(ClientError::Closed);
                }
                Err(source) => {
                    return Err(ClientError::Io {
                        action: "hear",
                        source,
                    });
                }
            }
        }
    }

    fn take(&mut self) -> Result<(), ClientError> {
        while let Some(body) = self.buffer.take()? {
            self.arrived.push_back(wire::decode(body)?);
        }
        Ok(())
    }
}

/// The progress of a process, as its manager tells it. It ends after the progress that shows the
/// process's end.
pub struct Watch<'a> {
    client: &'a mut Client,
    number: u64,
    has_ended: bool,
}

impl Watch<'_> {
    /// The next progress, or none where there was none within this time or the process has ended:
    /// [`Watch::has_ended`] tells which.
    pub fn next_within(&mut self, patience: Span) -> Result<Option<Progress>, ClientError> {
        self.next_until(Some(clock::mono() + patience))
    }

    /// Whether the last progress has been given.
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
        match answer {
            Answer::Progress(progress) => {
                self.has_ended = progress.phase.has_ended();
                Ok(Some(*progress))
            }
            Answer::Unknown(process) => {
                self.has_ended = true;
                Err(ClientError::UnknownProcess(process))
            }
            Answer::Submitted(_)
            | Answer::Refused(_)
            | Answer::Processes(_)
            | Answer::Status(_)
            | Answer::Cancelling(_)
            | Answer::Submission(_)
            | Answer::Forgotten(_)
            | Answer::Why(_)
            | Answer::Peeked(_) => Err(ClientError::Unfit),
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
