//! The daemon's side: start an executor, connect to it, send and receive.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use model::Span;
use thiserror::Error;
use wire::executor::{FRAME_BYTES_MAX, FromExecutor, ToExecutor};
use wire::frame::{FrameBuffer, FrameError};

use crate::account::Accounts;
use crate::containment::ContainmentChoice;
use crate::limits::Limits;
use crate::program::{ARGUMENT, READY};
use crate::throttle::Pace;

/// Bytes of messages that are gathered for one write.
const WRITE_BYTES: usize = 64 * 1024;

/// Time for which an executor may read nothing before a write to it fails, so that a silent
/// executor does not block its daemon.
const WRITE_PATIENCE: Duration = Duration::from_secs(3);

/// Settings of an executor to start.
#[derive(Clone, Debug)]
pub struct Spawn<'a> {
    /// The program, which becomes the executor if its first argument is [`ARGUMENT`].
    pub binary: &'a Path,
    /// The path of its socket: at most 107 bytes, in an existing directory.
    pub socket: &'a Path,
    /// The directory of its lock, its log and the outcomes that outlive it; created if missing.
    pub state: &'a Path,
    /// Time for which commands go on without a daemon; none is 10 s.
    pub linger: Option<Span>,
    /// Time from TERM to KILL; none is 2 s.
    pub kill_grace: Option<Span>,
    /// The shares of CPU time that commands get; none is always all of it. The time of the steps
    /// counts from its start, until a daemon's hello says since when.
    pub pace: Option<&'a Pace>,
    /// Stored bytes of each stream of an attempt; none is the default.
    pub stream_bytes_max: Option<u64>,
    /// The accounts of commands.
    pub accounts: &'a Accounts,
    /// The parent of the processes' directories of attempts: those that a killed executor left to
    /// an account are closed to it. Only needed with accounts of slots.
    pub work: Option<&'a Path>,
    /// The site's limits for every command.
    pub limits: &'a Limits,
    /// The containment of commands.
    pub containment: ContainmentChoice,
}

/// Starts an executor in a session of its own, and returns when it listens. It does not end with
/// its starter. The returned process is the guardian, which ends when all processes of commands
/// have ended; the starter should collect it (`wait`) if it lives that long. The executor's
/// messages go to the file `executor.err` in its state directory.
pub fn spawn(spawn: &Spawn<'_>) -> Result<Child, SpawnError> {
    let prepare = |source| SpawnError::State {
        path: spawn.state.to_owned(),
        source,
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(spawn.state)
        .map_err(prepare)?;
    let errors = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(spawn.state.join("executor.err"))
        .map_err(prepare)?;
    let mut command = Command::new(spawn.binary);
    command
        .arg(ARGUMENT)
        .arg("--socket")
        .arg(spawn.socket)
        .arg("--state")
        .arg(spawn.state);
    if let Some(linger) = spawn.linger {
        command.arg("--linger-micros").arg(linger.0.to_string());
    }
    if let Some(grace) = spawn.kill_grace {
        command.arg("--kill-grace-micros").arg(grace.0.to_string());
    }
    if let Some(pace) = spawn.pace {
        command.arg("--pace").arg(pace.argument());
    }
    if let Some(bytes) = spawn.stream_bytes_max {
        command.arg("--stream-bytes-max").arg(bytes.to_string());
    }
    if spawn.containment != ContainmentChoice::default() {
        command.arg("--containment").arg(spawn.containment.name());
    }
    command.args(spawn.limits.arguments());
    command.args(spawn.accounts.arguments());
    if let Some(work) = spawn.work {
        command.arg("--work").arg(work);
    }
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors)
        .spawn()
        .map_err(|source| SpawnError::Start {
            binary: spawn.binary.to_owned(),
            source,
        })?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        // An end without a line is an empty line.
        let _ = BufReader::new(stdout).read_line(&mut line);
    }
    if line.trim_end() == READY {
        return Ok(child);
    }
    let _ = child.kill();
    let _ = child.wait();
    let said = line.trim_end().trim_start_matches("error: ").to_owned();
    Err(SpawnError::Refused { said })
}

/// Why no executor was started.
#[derive(Debug, Error)]
pub enum SpawnError {
    /// The state directory cannot be used.
    #[error("could not prepare the executor's state directory {}", path.display())]
    State {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The program could not be run.
    #[error("could not start {} as the executor", binary.display())]
    Start {
        /// The program.
        binary: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// It ended before it listened.
    #[error("could not start the executor: {}", if said.is_empty() { "it ended without a word" } else { said })]
    Refused {
        /// Its message.
        said: String,
    },
}

/// A connection to an executor, whose first message is a hello. Both halves block, and different
/// threads may use them. A sender must keep receiving: an executor whose answers are not read stops
/// reading.
#[derive(Debug)]
pub struct Connection {
    sender: Sender,
    receiver: Receiver,
}

impl Connection {
    /// Connects to the executor that listens on `socket`.
    pub fn connect(socket: &Path) -> io::Result<Connection> {
        let stream = UnixStream::connect(socket)?;
        stream.set_write_timeout(Some(WRITE_PATIENCE))?;
        Ok(Connection {
            sender: Sender {
                stream: stream.try_clone()?,
                buffer: Vec::new(),
            },
            receiver: Receiver {
                stream,
                buffer: FrameBuffer::new(FRAME_BYTES_MAX),
            },
        })
    }

    /// The two halves. The connection closes when both are dropped, or by [`Sender::close`].
    pub fn split(self) -> (Sender, Receiver) {
        (self.sender, self.receiver)
    }
}

/// The sending half.
#[derive(Debug)]
pub struct Sender {
    stream: UnixStream,
    buffer: Vec<u8>,
}

impl Sender {
    /// Sends one message. Waits while the executor does not read, and fails after 3 s of that.
    pub fn send(&mut self, message: &ToExecutor) -> io::Result<()> {
        self.send_all([message])
    }

    /// Sends messages with as few writes as possible.
    pub fn send_all<'a>(
        &mut self,
        messages: impl IntoIterator<Item = &'a ToExecutor>,
    ) -> io::Result<()> {
        for message in messages {
            message.append_frame(&mut self.buffer);
            if self.buffer.len() > WRITE_BYTES {
                self.flush()?;
            }
        }
        self.flush()
    }

    /// The executor's process, and its session; none if the system does not tell.
    pub fn peer_pid(&self) -> Option<u32> {
        let peer = rustix::net::sockopt::socket_peercred(&self.stream).ok()?;
        u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
    }

    /// Closes the connection for both halves: the receiver returns, and the executor begins to
    /// linger.
    pub fn close(&self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Both)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.stream.write_all(&self.buffer);
        self.buffer.clear();
        result
    }
}

/// The receiving half.
#[derive(Debug)]
pub struct Receiver {
    stream: UnixStream,
    buffer: FrameBuffer,
}

impl Receiver {
    /// Waits for the next message; none when the connection has ended. Messages that this version
    /// does not know are skipped.
    pub fn receive(&mut self) -> Result<Option<FromExecutor>, ReceiveError> {
        loop {
            if let Some(message) = self.receive_arrived()? {
                return Ok(Some(message));
            }
            match self.buffer.fill(&mut self.stream) {
                Ok(0) if self.buffer.is_within_frame() => return Err(FrameError::CutOff.into()),
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Err(source) => return Err(FrameError::Read { source }.into()),
            }
        }
    }

    /// The next message that arrived together with the last one; none if there is no other.
    pub fn receive_arrived(&mut self) -> Result<Option<FromExecutor>, ReceiveError> {
        while let Some(body) = self.buffer.take()? {
            if let Some(message) = FromExecutor::decode(body)? {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    /// Sets the time for which [`Receiver::receive`] waits before it fails; none waits for ever.
    pub fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.stream.set_read_timeout(timeout)
    }
}

/// Why nothing more can be received.
#[derive(Debug, Error)]
pub enum ReceiveError {
    /// The stream has no valid frames, or failed.
    #[error("could not receive from the executor")]
    Frame(#[from] FrameError),
    /// A message cannot be decoded.
    #[error("could not read a message of the executor")]
    Decode(#[from] minicbor::decode::Error),
}
