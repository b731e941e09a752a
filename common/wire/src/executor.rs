//! What an activity manager's daemon and its executor tell each other, over a Unix stream socket on
//! one machine, each message in a frame ([`crate::frame`]).
//!
//! The executor speaks first at each connection: [`FromExecutor::Hello`], then what it holds in
//! [`FromExecutor::Held`] up to [`FromExecutor::HeldEnd`]. It starts nothing before it has received
//! [`ToExecutor::Hello`]. Everything may be repeated: the answer to a repeat comes from what the
//! executor holds. Read [`Start`] and [`Ended`] first.

use std::fmt;

use minicbor::{Decode, Encode};
use model::{AttemptId, Bytes, Mono, Span, Wall};

use crate::frame;

/// The version that both sides name in their hello. An executor that meets another one closes.
pub const PROTOCOL: u32 = 1;

/// Bytes of the longest message on this link: a batch of a few hundred starts with their
/// environments, or one outcome with both streams inline at [`INLINE_BYTES_MAX`], several times over.
pub const FRAME_BYTES_MAX: usize = 16 << 20;

/// Bytes of one stream that travel within an outcome, whatever [`Start::stdout_inline_max`] says.
pub const INLINE_BYTES_MAX: u32 = 1 << 20;

/// Bytes of [`Start::note`]: an outcome with its note must fit in a frame. A start with more is not
/// taken and ends as `NotStarted`, without its note.
pub const NOTE_BYTES_MAX: usize = 64 * 1024;

/// Bytes at which a sender ends a batch and begins the next frame.
pub const BATCH_BYTES: usize = 1 << 20;

/// From the daemon to its executor.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum ToExecutor {
    /// The first message; may be repeated to change the number of cores.
    #[n(0)]
    Hello(#[n(0)] DaemonHello),
    /// Commands to queue, first come, first started.
    #[n(1)]
    Start(#[n(0)] Vec<Start>),
    /// Take back what has not started. Answered by `Retracted`, `Started` or `Ended`.
    #[n(2)]
    Retract(#[n(0)] Vec<AttemptId>),
    /// End what runs: TERM to all of it, KILL after the kill grace. Answered by `Ended`; what is
    /// queued or unknown by `Retracted`.
    #[n(3)]
    Stop(#[n(0)] Vec<AttemptId>),
    /// These outcomes are durable elsewhere: drop them. Not answered.
    #[n(4)]
    Forget(#[n(0)] Vec<AttemptId>),
    /// What an attempt has written so far. Answered by `Output`.
    #[n(5)]
    Tail(#[n(0)] AttemptId),
    /// Kill everything, keep what is not forgotten in the state directory, end.
    #[n(6)]
    Shutdown,
    /// How long attempts of a process manager may go on. Not answered.
    #[n(7)]
    Lease(#[n(0)] Lease),
    /// Asks whether the executor answers; with a number, which is given back. Answered by `Pong`.
    #[n(8)]
    Ping(#[n(0)] u64),
}

/// How long the attempts of one process manager may go on. The executor keeps the latest end: what
/// has such an owner is not started before a lease for it was told, and at the end what runs is
/// stopped and what waits taken back, whether the daemon is awake or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Lease {
    /// Whose attempts: see [`Start::owner`].
    #[n(0)]
    pub owner: u32,
    /// When they are told to end, by the clock that counts suspend (`CLOCK_BOOTTIME`).
    #[n(1)]
    pub until: Mono,
    /// When what is left of them is killed, by the same clock.
    #[n(2)]
    pub dead_by: Mono,
}

/// What a daemon says of itself and wants of its executor.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DaemonHello {
    /// [`PROTOCOL`].
    #[n(0)]
    pub protocol: u32,
    /// Cores that running attempts may hold together.
    #[n(1)]
    pub cores: u32,
    /// How long commands go on after the connection has closed; `None` keeps what is configured.
    #[n(2)]
    pub linger: Option<Span>,
    /// From TERM to KILL; `None` keeps what is configured.
    #[n(3)]
    pub kill_grace: Option<Span>,
}

/// One command to run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Start {
    /// Its name from here on. A start of an attempt that is known is answered, not run.
    #[n(0)]
    pub attempt: AttemptId,
    /// The command line. A first word without `/` is looked up in `directory`, then in the `PATH` of
    /// `env`; one with `/` that is not absolute is relative to `directory`.
    #[n(1)]
    pub program: Vec<String>,
    /// The whole environment; the executor adds `XAVANTES_CORES`, and `XAVANTES_EXECUTOR` where it holds
    /// commands as trees of processes ([`HeldBy`]).
    #[n(2)]
    pub env: Vec<(String, String)>,
    /// Where it runs; absolute, and there before the start.
    #[n(3)]
    pub directory: String,
    /// What it reads.
    #[n(4)]
    pub stdin: Stdin,
    /// Cores it holds while it runs; 0 counts as 1.
    #[n(5)]
    pub cores: u32,
    /// Bytes of memory of the command and everything that it started, together, above which they are
    /// killed.
    #[n(6)]
    pub memory_bytes_max: Option<u64>,
    /// How long it may run before it is stopped as `TimedOut`.
    #[n(7)]
    pub timeout: Option<Span>,
    /// Bytes of standard output that travel within the outcome; of more, the first ones.
    #[n(8)]
    pub stdout_inline_max: u32,
    /// Bytes of standard error that travel within the outcome; of more, the last ones.
    #[n(9)]
    pub stderr_inline_max: u32,
    /// Given back with the outcome and in `Held`, not looked into; at most [`NOTE_BYTES_MAX`].
    #[cbor(n(10), with = "minicbor::bytes")]
    pub note: Vec<u8>,
    /// Priority of the command, -20 (first) to 19 (last).
    #[n(11)]
    pub nice: Option<i32>,
    /// The process manager under whose lease it runs; none where it needs no lease.
    #[n(12)]
    pub owner: Option<u32>,
    /// The name of the user whose command it is, if that is known.
    #[n(13)]
    pub user: Option<String>,
}

/// Where a command's standard input comes from.
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
    /// Some of what is held, in the order of the attempts.
    #[n(1)]
    Held(#[n(0)] Vec<Held>),
    /// All that was held when the connection began has been told.
    #[n(2)]
    HeldEnd,
    /// These run. Told some milliseconds after the start; an attempt that ends earlier is told only in
    /// `Ended`.
    #[n(3)]
    Started(#[n(0)] Vec<Started>),
    /// These have ended; they are held until `Forget`.
    #[n(4)]
    Ended(#[n(0)] Vec<Ended>),
    /// These have not started, and a start of them is refused from here on.
    #[n(5)]
    Retracted(#[n(0)] Vec<AttemptId>),
    /// These were not taken, because the queue is full. They may be sent again.
    #[n(6)]
    Refused(#[n(0)] Vec<AttemptId>),
    /// The answer to `Tail`.
    #[n(7)]
    Output {
        /// The attempt that was asked for.
        #[n(0)]
        attempt: AttemptId,
        /// `None` for an attempt that is not known or has not started.
        #[n(1)]
        written: Option<Written>,
    },
    /// The answer to `Ping`.
    #[n(8)]
    Pong(#[n(0)] u64),
}

/// What an executor says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ExecutorHello {
    /// [`PROTOCOL`].
    #[n(0)]
    pub protocol: u32,
    /// Its process id.
    #[n(1)]
    pub pid: u32,
    /// A random number of this executor's epoch: another one means that commands were lost.
    #[n(2)]
    pub instance: u64,
    /// How it holds what commands start; none where it does not say.
    #[n(3)]
    pub containment: Option<Containment>,
}

/// How an executor holds everything that its commands start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Containment {
    /// By what processes are found and killed.
    #[n(0)]
    pub held_by: HeldBy,
    /// By what memory is limited.
    #[n(1)]
    pub memory_by: MemoryBy,
}

/// By what the processes of a command are found and killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum HeldBy {
    /// A control group of version 2, which the kernel kills at once.
    #[n(0)]
    Cgroup,
    /// The tree of processes below it, which is walked.
    #[n(1)]
    ProcessTree,
}

/// By what the memory of a command is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum MemoryBy {
    /// The kernel: the memory controller of version 2.
    #[n(0)]
    CgroupV2,
    /// The kernel: the memory controller of version 1.
    #[n(1)]
    CgroupV1,
    /// Looking at what its processes hold, ten times a second.
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

/// An attempt that an executor holds.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Held {
    /// Which one.
    #[n(0)]
    pub attempt: AttemptId,
    /// [`Start::note`].
    #[cbor(n(1), with = "minicbor::bytes")]
    pub note: Vec<u8>,
    /// How far it is.
    #[n(2)]
    pub phase: Phase,
}

/// How far a held attempt is.
#[expect(
    clippy::large_enum_variant,
    reason = "most of what an executor holds at a reconnection has ended, and lives for one message"
)]
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Phase {
    /// Waits for cores.
    #[n(0)]
    Queued,
    /// Runs.
    #[n(1)]
    Running(#[n(0)] Started),
    /// Has ended and was not forgotten.
    #[n(2)]
    Ended(#[n(0)] Ended),
}

/// An attempt that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Started {
    /// Which one.
    #[n(0)]
    pub attempt: AttemptId,
    /// The process id of the command, which is also its process group.
    #[n(1)]
    pub pid: u32,
    /// When it was started.
    #[n(2)]
    pub started: Wall,
}

/// How an attempt ended, and what it took.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Ended {
    /// Which one.
    #[n(0)]
    pub attempt: AttemptId,
    /// Why it ended.
    #[n(1)]
    pub exit: Exit,
    /// When it was started; when it was tried, for `NotStarted`.
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
    /// Largest resident size of one of these processes, in bytes. The kernel counts what the executor
    /// itself held at the start (a few MiB), so small commands show that instead.
    #[n(6)]
    pub peak_memory_bytes: u64,
    /// What it wrote to standard output: the beginning, where it is long.
    #[n(7)]
    pub stdout: Captured,
    /// What it wrote to standard error: the end, where it is long.
    #[n(8)]
    pub stderr: Captured,
    /// [`Start::note`].
    #[cbor(n(9), with = "minicbor::bytes")]
    pub note: Vec<u8>,
    /// The process id that the command had; 0 where it was never started.
    #[n(10)]
    pub pid: u32,
    /// The user that the command ran as; none where that is the executor's own, or it never ran.
    #[n(11)]
    pub user: Option<u32>,
    /// The limit of the machine that it seems to have failed by.
    #[n(12)]
    pub limit: Option<SiteLimit>,
}

/// A limit that a machine's administrator sets for every command. Its text goes into faults.
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

/// Why an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Exit {
    /// By itself.
    #[n(0)]
    Exited {
        /// Its exit status, 0 to 255.
        #[n(0)]
        code: u8,
    },
    /// By a signal that the executor did not send.
    #[n(1)]
    Signaled {
        /// Number of the signal.
        #[n(0)]
        signal: u32,
    },
    /// It was killed because it ran longer than [`Start::timeout`].
    #[n(2)]
    TimedOut,
    /// It was killed because it held more than [`Start::memory_bytes_max`].
    #[n(3)]
    OutOfMemory,
    /// It was killed on [`ToExecutor::Stop`].
    #[n(4)]
    Stopped,
    /// It was killed because the executor ended: its daemon stayed away, or it was told to.
    #[n(5)]
    Abandoned,
    /// It never ran.
    #[n(6)]
    NotStarted {
        /// The system's error number, 0 where there is none.
        #[n(0)]
        errno: i32,
        /// What was attempted and why it failed.
        #[n(1)]
        message: String,
    },
    /// It was killed because its lease had ended.
    #[n(7)]
    Expired,
    /// It was killed because somebody had kept its process from executing the program for too long.
    /// Whether it did so in the end is not known.
    #[n(8)]
    Stuck,
}

/// What one stream of an attempt has been given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Captured {
    /// Bytes that were written, whether kept or not.
    #[n(0)]
    pub bytes: u64,
    /// All of them, or the first (stdout) or last (stderr) ones where they are more than the inline
    /// bound of the stream.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub inline: Vec<u8>,
    /// Where they are found on the executor's disk.
    #[n(2)]
    pub kept: Kept,
}

/// Where a stream is kept, in the executor's log directory.
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
        /// Where the record begins, in bytes.
        #[n(1)]
        offset: u64,
    },
    /// In a file of its own, named by attempt and stream.
    #[n(2)]
    File {
        /// Bytes in the file; fewer than were written when the disk was full or the bound reached.
        #[n(0)]
        bytes: u64,
    },
}

/// What an attempt has written.
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

    /// Reads the body of a frame. `None` is a kind of message that this version does not know.
    pub fn decode(body: &[u8]) -> Result<Option<ToExecutor>, minicbor::decode::Error> {
        minicbor::decode::<Envelope<ToExecutor>>(body).map(|envelope| envelope.message)
    }
}

impl FromExecutor {
    /// Appends this message as one frame.
    pub fn append_frame(&self, out: &mut Vec<u8>) {
        append_frame(self, out);
    }

    /// Reads the body of a frame. `None` is a kind of message that this version does not know.
    pub fn decode(body: &[u8]) -> Result<Option<FromExecutor>, minicbor::decode::Error> {
        minicbor::decode::<Envelope<FromExecutor>>(body).map(|envelope| envelope.message)
    }
}

/// The option makes a reader see `None` for a variant that it does not know, rather than fail.
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
