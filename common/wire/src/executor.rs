//! The messages of an activity manager's daemon and its executor, over a Unix stream socket on one
//! machine, each in a frame ([`crate::frame`]).
//!
//! The executor begins each connection: [`FromExecutor::Hello`], then its attempts in
//! [`FromExecutor::Held`] up to [`FromExecutor::HeldEnd`]. It starts nothing before it has received
//! [`ToExecutor::Hello`]. Every message may be repeated: the executor answers a repeat from its
//! state. Read [`Start`] and [`Ended`] first.

use std::fmt;

use minicbor::{Decode, Encode};
use model::{AttemptId, Bytes, Mono, Span, Wall};

use crate::frame;

/// The version in both hellos. An executor closes a connection with another version.
pub const PROTOCOL: u32 = 1;

/// Bytes of the longest message on this link: some hundred starts with their environments, or one
/// outcome with both streams inline at [`INLINE_BYTES_MAX`], several times over.
pub const FRAME_BYTES_MAX: usize = 16 << 20;

/// Bytes of one stream that an outcome may contain, whatever [`Start::stdout_inline_max`] says.
pub const INLINE_BYTES_MAX: u32 = 1 << 20;

/// Bytes of [`Start::note`]: an outcome with its note must fit in a frame. A start with a longer
/// note is refused and ends as `NotStarted`, without its note.
pub const NOTE_BYTES_MAX: usize = 64 * 1024;

/// Bytes at which a sender ends a batch and begins the next frame.
pub const BATCH_BYTES: usize = 1 << 20;

/// From the daemon to its executor.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum ToExecutor {
    /// The first message; may be repeated to change the number of cores.
    #[n(0)]
    Hello(#[n(0)] DaemonHello),
    /// Commands to queue in this order.
    #[n(1)]
    Start(#[n(0)] Vec<Start>),
    /// Take back attempts that have not started. Answered by `Retracted`, `Started` or `Ended`.
    #[n(2)]
    Retract(#[n(0)] Vec<AttemptId>),
    /// Stop running attempts: TERM to all their processes, KILL after the kill grace. Answered by
    /// `Ended`, and for queued or unknown attempts by `Retracted`.
    #[n(3)]
    Stop(#[n(0)] Vec<AttemptId>),
    /// These outcomes are durable elsewhere and can be dropped. Not answered.
    #[n(4)]
    Forget(#[n(0)] Vec<AttemptId>),
    /// Return what an attempt has written so far. Answered by `Output`.
    #[n(5)]
    Tail(#[n(0)] AttemptId),
    /// Kill all commands, store the outcomes that are not forgotten in the state directory, and
    /// end.
    #[n(6)]
    Shutdown,
    /// A lease for the attempts of a process manager. Not answered.
    #[n(7)]
    Lease(#[n(0)] Lease),
    /// Checks that the executor answers. `Pong` returns the number.
    #[n(8)]
    Ping(#[n(0)] u64),
}

/// The time for which the attempts of one process manager may go on. The executor keeps the latest
/// end. An attempt with such an owner is not started without a lease; when the lease ends, running
/// attempts are stopped and waiting ones taken back, whether the daemon is awake or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Lease {
    /// The process manager: see [`Start::owner`].
    #[n(0)]
    pub owner: u32,
    /// The time at which attempts are told to end, by the clock that counts suspend
    /// (`CLOCK_BOOTTIME`).
    #[n(1)]
    pub until: Mono,
    /// The time at which remaining ones are killed, by the same clock.
    #[n(2)]
    pub dead_by: Mono,
}

/// The version of a daemon and its settings for the executor.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DaemonHello {
    /// [`PROTOCOL`].
    #[n(0)]
    pub protocol: u32,
    /// Cores that running attempts may hold together.
    #[n(1)]
    pub cores: u32,
    /// Time for which commands go on after the connection has closed; none keeps the configured
    /// one.
    #[n(2)]
    pub linger: Option<Span>,
    /// Time from TERM to KILL; none keeps the configured one.
    #[n(3)]
    pub kill_grace: Option<Span>,
    /// The time from which the steps of the pace of commands count, by the clock that counts suspend,
    /// where an executor imitates a slower machine; none goes on counting.
    #[n(4)]
    pub pace_since: Option<Mono>,
}

/// One command to run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Start {
    /// Its name. A start of a known attempt is answered, not run again.
    #[n(0)]
    pub attempt: AttemptId,
    /// The command line. A first word without `/` is searched in `directory`, then in the `PATH` of
    /// `env`; one with `/` that is not absolute is relative to `directory`.
    #[n(1)]
    pub program: Vec<String>,
    /// The whole environment. The executor adds `XAVANTES_CORES`, and `XAVANTES_EXECUTOR` if it
    /// contains commands as process trees ([`HeldBy`]).
    #[n(2)]
    pub env: Vec<(String, String)>,
    /// Its working directory: absolute, and existing before the start.
    #[n(3)]
    pub directory: String,
    /// Its stdin.
    #[n(4)]
    pub stdin: Stdin,
    /// Cores it holds while it runs; 0 counts as 1.
    #[n(5)]
    pub cores: u32,
    /// Memory limit in bytes of the command and all processes that it starts together, above which
    /// they are killed.
    #[n(6)]
    pub memory_bytes_max: Option<u64>,
    /// Time limit, after which it is stopped as `TimedOut`.
    #[n(7)]
    pub timeout: Option<Span>,
    /// Bytes of stdout in the outcome: the first ones, if there are more.
    #[n(8)]
    pub stdout_inline_max: u32,
    /// Bytes of stderr in the outcome: the last ones, if there are more.
    #[n(9)]
    pub stderr_inline_max: u32,
    /// Returned with the outcome and in `Held`, not interpreted; at most [`NOTE_BYTES_MAX`].
    #[cbor(n(10), with = "minicbor::bytes")]
    pub note: Vec<u8>,
    /// Priority of the command, -20 (first) to 19 (last).
    #[n(11)]
    pub nice: Option<i32>,
    /// The process manager under whose lease it runs; none if it needs no lease.
    #[n(12)]
    pub owner: Option<u32>,
    /// The user whose command it is, if known.
    #[n(13)]
    pub user: Option<String>,
    /// A directory without which it must not start, an absolute path; none if it needs none.
    #[n(14)]
    pub needs: Option<String>,
    /// The environment that it runs in, which is made before it where it is not there yet; none if it
    /// runs in none that is made.
    #[n(15)]
    pub made: Option<Made>,
    /// The container that it runs in; none if it runs in none.
    #[n(16)]
    pub container: Option<Contained>,
}

/// A container for one command.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Contained {
    /// Its kind.
    #[n(0)]
    pub kind: ContainerKind,
    /// The directory of its root file system, or the name of its image.
    #[n(1)]
    pub image: String,
    /// True if it reaches the network.
    #[n(2)]
    pub has_network: bool,
    /// Paths in the directory of the attempt that the command cannot write to.
    #[n(3)]
    pub read_only: Vec<String>,
    /// The directories in which the program that runs it is looked up, as in `PATH`: the `PATH` of the command is
    /// for the container.
    #[n(4)]
    pub search_path: String,
    /// The command line. It is here and [`Start::program`] is empty, so that an executor that knows of no containers
    /// refuses the command, in place of running it outside of one.
    #[n(5)]
    pub command: Vec<String>,
    /// The environment of the program that runs it, beside `PATH`: that of the command is for the container.
    #[cbor(n(6), default)]
    pub env: Vec<(String, String)>,
}

/// A program that runs containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum ContainerKind {
    /// Bubblewrap, from a directory.
    #[n(0)]
    Bwrap,
    /// Podman, from an image.
    #[n(1)]
    Podman,
}

/// An environment that is made of a file.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Made {
    /// Its kind.
    #[n(0)]
    pub kind: MadeKind,
    /// The file, in the directory of the attempt.
    #[n(1)]
    pub file: String,
    /// The directory of the environments of this machine, an absolute path.
    #[n(2)]
    pub root: String,
}

/// A kind of environment that is made of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum MadeKind {
    /// A virtual environment of Python, of a file of requirements.
    #[n(0)]
    Venv,
    /// An environment of conda, of its YAML file.
    #[n(1)]
    Conda,
}

/// The stdin of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub enum Stdin {
    /// Nothing: `/dev/null`.
    #[default]
    #[n(0)]
    Empty,
    /// These bytes.
    #[n(1)]
    Bytes(#[cbor(n(0), with = "minicbor::bytes")] Vec<u8>),
    /// This file; a relative path is relative to the attempt's directory.
    #[n(2)]
    Path(#[n(0)] String),
}

/// From an executor to its daemon.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum FromExecutor {
    /// The first message of each connection.
    #[n(0)]
    Hello(#[n(0)] ExecutorHello),
    /// Some of the executor's attempts, in order.
    #[n(1)]
    Held(#[n(0)] Vec<Held>),
    /// All attempts at the beginning of the connection have been sent.
    #[n(2)]
    HeldEnd,
    /// These attempts run. Sent some milliseconds after the start; an attempt that ends earlier is
    /// only reported in `Ended`.
    #[n(3)]
    Started(#[n(0)] Vec<Started>),
    /// These attempts have ended; their outcomes are kept until `Forget`.
    #[n(4)]
    Ended(#[n(0)] Vec<Ended>),
    /// These attempts have not started, and later starts of them are refused.
    #[n(5)]
    Retracted(#[n(0)] Vec<AttemptId>),
    /// These starts were refused, because the queue is full. They may be sent again.
    #[n(6)]
    Refused(#[n(0)] Vec<AttemptId>),
    /// The answer to `Tail`.
    #[n(7)]
    Output {
        /// The requested attempt.
        #[n(0)]
        attempt: AttemptId,
        /// None for an attempt that is unknown or has not started.
        #[n(1)]
        written: Option<Written>,
    },
    /// The answer to `Ping`.
    #[n(8)]
    Pong(#[n(0)] u64),
}

/// The version and state of an executor.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ExecutorHello {
    /// [`PROTOCOL`].
    #[n(0)]
    pub protocol: u32,
    /// Its process id.
    #[n(1)]
    pub pid: u32,
    /// A random number of this executor's run: another number means that commands were lost.
    #[n(2)]
    pub instance: u64,
    /// The containment of its commands; none if unknown.
    #[n(3)]
    pub containment: Option<Containment>,
}

/// The way in which an executor contains the processes of its commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Containment {
    /// The way in which processes are found and killed.
    #[n(0)]
    pub held_by: HeldBy,
    /// The way in which memory is limited.
    #[n(1)]
    pub memory_by: MemoryBy,
}

/// The way in which the processes of a command are found and killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum HeldBy {
    /// A control group of version 2, which the kernel kills as a whole.
    #[n(0)]
    Cgroup,
    /// The process tree, which is searched.
    #[n(1)]
    ProcessTree,
}

/// The way in which the memory of a command is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum MemoryBy {
    /// The kernel's memory controller of version 2.
    #[n(0)]
    CgroupV2,
    /// The kernel's memory controller of version 1.
    #[n(1)]
    CgroupV1,
    /// Measuring its processes ten times a second.
    #[n(2)]
    Counting,
}

impl fmt::Display for Containment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.held_by {
            HeldBy::Cgroup => "cgroup v2",
            HeldBy::ProcessTree => "process tree",
        })?;
        f.write_str(match self.memory_by {
            MemoryBy::CgroupV2 => ", memory by cgroup v2",
            MemoryBy::CgroupV1 => ", memory by cgroup v1",
            MemoryBy::Counting => ", memory by counting",
        })
    }
}

/// An attempt of an executor.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Held {
    /// The attempt.
    #[n(0)]
    pub attempt: AttemptId,
    /// [`Start::note`].
    #[cbor(n(1), with = "minicbor::bytes")]
    pub note: Vec<u8>,
    /// Its state.
    #[n(2)]
    pub phase: Phase,
}

/// The state of an attempt.
#[expect(
    clippy::large_enum_variant,
    reason = "most of what an executor holds at a reconnection has ended, and lives for one message"
)]
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Phase {
    /// Waits for cores.
    #[n(0)]
    Queued,
    /// Running.
    #[n(1)]
    Running(#[n(0)] Started),
    /// Ended and not forgotten.
    #[n(2)]
    Ended(#[n(0)] Ended),
}

/// A running attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Started {
    /// The attempt.
    #[n(0)]
    pub attempt: AttemptId,
    /// The process id of the command, which is also its process group.
    #[n(1)]
    pub pid: u32,
    /// When it was started.
    #[n(2)]
    pub started: Wall,
}

/// The end of an attempt and its resource use.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Ended {
    /// The attempt.
    #[n(0)]
    pub attempt: AttemptId,
    /// The reason of its end.
    #[n(1)]
    pub exit: Exit,
    /// The time of its start; for `NotStarted`, of the try.
    #[n(2)]
    pub started: Wall,
    /// From its start to the end of its first process.
    #[n(3)]
    pub wall: Span,
    /// CPU time in user mode, of the first process and the descendants it waited for.
    #[n(4)]
    pub cpu_user: Span,
    /// CPU time in the kernel, likewise.
    #[n(5)]
    pub cpu_system: Span,
    /// Largest resident size of one of these processes, in bytes. The kernel includes the
    /// executor's own size at the start (a few MiB), so small commands show that instead.
    #[n(6)]
    pub peak_memory_bytes: u64,
    /// Its stdout: the beginning, if it is long.
    #[n(7)]
    pub stdout: Captured,
    /// Its stderr: the end, if it is long.
    #[n(8)]
    pub stderr: Captured,
    /// [`Start::note`].
    #[cbor(n(9), with = "minicbor::bytes")]
    pub note: Vec<u8>,
    /// The process id of the command; 0 if it never started.
    #[n(10)]
    pub pid: u32,
    /// The user that the command ran as; none if it was the executor's own, or it never ran.
    #[n(11)]
    pub user: Option<u32>,
    /// The machine's limit that it probably failed by.
    #[n(12)]
    pub limit: Option<SiteLimit>,
}

/// A limit that a machine's administrator sets for every command. Its text appears in faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum SiteLimit {
    /// Bytes of the largest file.
    #[n(0)]
    FileBytes(#[n(0)] u64),
    /// Processes and threads at a time.
    #[n(1)]
    Processes(#[n(0)] u32),
    /// Open files of a process.
    #[n(2)]
    OpenFiles(#[n(0)] u32),
}

impl fmt::Display for SiteLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the machine's administrator allows a command no ")?;
        match self {
            SiteLimit::FileBytes(bytes) => {
                write!(f, "file above {} (command-file-size-max)", Bytes(*bytes))
            }
            SiteLimit::Processes(n) => {
                write!(
                    f,
                    "more than {n} processes and threads (command-processes-max)"
                )
            }
            SiteLimit::OpenFiles(n) => {
                write!(
                    f,
                    "more than {n} open files in a process (command-open-files-max)"
                )
            }
        }
    }
}

/// The reason of an attempt's end.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Exit {
    /// It exited by itself.
    #[n(0)]
    Exited {
        /// Its exit status, 0 to 255.
        #[n(0)]
        code: u8,
    },
    /// It was killed by a signal that the executor did not send.
    #[n(1)]
    Signaled {
        /// Number of the signal.
        #[n(0)]
        signal: u32,
    },
    /// It was killed because it ran longer than [`Start::timeout`].
    #[n(2)]
    TimedOut,
    /// It was killed because it used more than [`Start::memory_bytes_max`].
    #[n(3)]
    OutOfMemory,
    /// It was killed on [`ToExecutor::Stop`].
    #[n(4)]
    Stopped,
    /// It was killed because the executor ended: its daemon stayed away, or shut it down.
    #[n(5)]
    Abandoned,
    /// It never ran.
    #[n(6)]
    NotStarted {
        /// The system's error number; 0 if there is none.
        #[n(0)]
        errno: i32,
        /// The failed operation and its error.
        #[n(1)]
        message: String,
    },
    /// It was killed because its lease had ended.
    #[n(7)]
    Expired,
    /// It was killed because its process was kept from executing the program for too long. It may
    /// have executed it in the end.
    #[n(8)]
    Stuck,
}

/// A stream of an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Captured {
    /// Bytes that were written, stored or not.
    #[n(0)]
    pub bytes: u64,
    /// All of them; if they are more than the stream's inline limit, the first (stdout) or last
    /// (stderr) ones.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub inline: Vec<u8>,
    /// The place on the executor's disk.
    #[n(2)]
    pub kept: Kept,
}

/// The place of a stream in the executor's log directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub enum Kept {
    /// Nowhere: it is empty, or not ended, or could not be written.
    #[default]
    #[n(0)]
    Nowhere,
    /// In a record of the segmented log.
    #[n(1)]
    Log {
        /// Number of the segment.
        #[n(0)]
        segment: u32,
        /// The offset of the record.
        #[n(1)]
        offset: u64,
    },
    /// In a file of its own, named by attempt and stream.
    #[n(2)]
    File {
        /// Bytes in the file; fewer than were written if the disk was full or the limit reached.
        #[n(0)]
        bytes: u64,
    },
}

/// The output so far of an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Written {
    /// Standard output so far.
    #[n(0)]
    pub stdout: Captured,
    /// Standard error so far.
    #[n(1)]
    pub stderr: Captured,
}

impl ToExecutor {
    /// Appends this message as one frame.
    pub fn append_frame(&self, out: &mut Vec<u8>) {
        append_frame(self, out);
    }

    /// Decodes the body of a frame. None is a message that this version does not know.
    pub fn decode(body: &[u8]) -> Result<Option<ToExecutor>, minicbor::decode::Error> {
        minicbor::decode::<Envelope<ToExecutor>>(body).map(|envelope| envelope.message)
    }
}

impl FromExecutor {
    /// Appends this message as one frame.
    pub fn append_frame(&self, out: &mut Vec<u8>) {
        append_frame(self, out);
    }

    /// Decodes the body of a frame. None is a message that this version does not know.
    pub fn decode(body: &[u8]) -> Result<Option<FromExecutor>, minicbor::decode::Error> {
        minicbor::decode::<Envelope<FromExecutor>>(body).map(|envelope| envelope.message)
    }
}

/// The option makes a reader see `None` for an unknown variant instead of failing.
#[derive(Encode, Decode)]
struct Envelope<M> {
    #[n(0)]
    message: Option<M>,
}

#[derive(Encode)]
struct EnvelopeRef<'a, M> {
    #[n(0)]
    message: Option<&'a M>,
}

fn append_frame<M: Encode<()>>(message: &M, out: &mut Vec<u8>) {
    frame::append(out, |out| {
        minicbor::encode(
            EnvelopeRef {
                message: Some(message),
            },
            out,
        )
        .expect("a vector takes every byte");
    });
}

#[cfg(test)]
mod tests;
