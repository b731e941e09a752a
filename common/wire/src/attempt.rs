//! Process manager and activity manager: attempts go down, outcomes come up.
//!
//! The process manager repeats a dispatch until it hears of the attempt; the activity manager
//! repeats an outcome until it is acknowledged. Both answer repeats from what they know.

use minicbor::{Decode, Encode};
use model::{
    ActivityId, Artifact, AttemptId, Bytes, Epoch, FaultName, Hash, ProcessId, Produced,
    ResourceId, Span, Wall,
};

use crate::executor::Kept;

/// Attempts of one message at most.
pub const ATTEMPTS_MAX: usize = 1_024;
/// Activities of one question for copies at most...
pub const COPIES_MAX: usize = 256;
/// ...and files of theirs, unless a single one has more: a question stays below a MiB.
pub const COPIED_FILES_MAX: usize = 4_096;
/// Processes for which one machine keeps copies that one process manager may name: more than it has
/// at a time. A message with so many stays below 200 KiB.
pub const KEPT_MAX: usize = 16_384;
/// Machines that are named for one input at most: the next one is asked when one fails.
pub const SOURCES_MAX: usize = 8;
/// Bytes of a stream that may go into a variable.
pub const CAPTURE_BYTES_MAX: u32 = 1 << 20;
/// Bytes of stderr that go with a fault.
pub const STDERR_TAIL_BYTES_MAX: u32 = 4 << 10;

/// From a process manager.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum ToActivity {
    /// The first message of a connection. Answered by `Holding`.
    #[n(0)]
    Attach {
        /// The sender's life.
        #[n(0)]
        epoch: Epoch,
        /// Drawn for this question: the answer repeats it, so that no old answer is taken for it.
        #[n(1)]
        ask: u32,
        /// The length of the sender's leases ([`crate::lease`]): what the receiver may make of each
        /// answer to `Renew`. None where there are no leases, or where it does not know that they
        /// have lengths.
        #[n(2)]
        lease: Option<Span>,
    },
    /// Attempts to run, in this order as far as slots allow. Heard of again by `Started`,
    /// `Outcomes` or `Refused`; a repeat of what is known is answered by `Accepted`.
    #[n(1)]
    Dispatch {
        /// The life of the receiver that this is meant for. Another one refuses it.
        #[n(0)]
        meant_for: Epoch,
        /// What to run.
        #[n(1)]
        attempts: Vec<Dispatch>,
        /// The machines that the attempts' sources name.
        #[cbor(n(2), default)]
        holders: Vec<Holder>,
    },
    /// These outcomes are durable: forget them.
    #[n(2)]
    Acknowledge(#[n(0)] Vec<AttemptId>),
    /// End these. Answered by `Outcomes`.
    #[n(3)]
    Stop(#[n(0)] Vec<AttemptId>),
    /// Take these back where they have not started. Answered by `Retracted`, `Started` or
    /// `Outcomes`.
    #[n(4)]
    Retract(#[n(0)] Vec<AttemptId>),
    /// What this attempt has written so far. Answered by `Tail`.
    #[n(5)]
    Tail(#[n(0)] AttemptId),
    /// A part of what this attempt wrote. Answered by `LogPart`.
    #[n(20)]
    ReadLog(#[n(0)] Box<ReadLog>),
    /// Fetch what these have produced, and keep it durably. Answered by `Copied` for each of which
    /// all is there, and repeated until then.
    #[n(21)]
    Copy {
        /// What.
        #[n(0)]
        copies: Vec<Copy>,
        /// The machines that have it.
        #[n(1)]
        holders: Vec<Holder>,
    },
    /// Say of each of these whether all of it is on the receiver as it was made; what is damaged or
    /// gone there is fetched first where another machine has it. Answered by `Checked` for each, and
    /// repeated until then.
    #[n(22)]
    Check {
        /// What, at most [`COPIES_MAX`].
        #[n(0)]
        copies: Vec<Copy>,
        /// The machines that have it.
        #[n(1)]
        holders: Vec<Holder>,
    },
    /// The answer to `Access`.
    #[n(23)]
    Access {
        /// Which question this answers.
        #[n(0)]
        number: u32,
        /// Whether the process is that user's and has the file.
        #[n(1)]
        is_allowed: bool,
    },
    /// The answer to `Renew`: the sender waits for the receiver's attempts from here on.
    #[n(6)]
    Renewed {
        /// The life of the receiver that asked.
        #[n(0)]
        epoch: Epoch,
        /// Which question this answers.
        #[n(1)]
        number: u32,
        /// The sender's processes for which the receiver keeps copies and that have not ended, at most
        /// [`KEPT_MAX`]: what was pinned there for others of its processes may go.
        #[cbor(n(2), default)]
        keeps: Vec<ProcessId>,
    },
}

/// What an activity has produced, to be kept by another machine than that which made it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Copy {
    /// What it is a copy of.
    #[n(0)]
    pub copied: Copied,
    /// The machines that have it, at most [`SOURCES_MAX`]. Where they are stands once in the message.
    #[n(1)]
    pub holders: Vec<ResourceId>,
    /// Whether its process may still need it: it is not evicted until `Renewed` does not name that
    /// process any more.
    #[cbor(n(2), default)]
    pub is_needed: bool,
}

/// Whether a machine has what an activity has produced.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Checked {
    /// What was asked about.
    #[n(0)]
    pub copied: Copied,
    /// Whether all of it is there as it was made.
    #[n(1)]
    pub is_sound: bool,
}

/// Whether a user may have a file of a process.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Access {
    /// Who wants it, as the certificate says: `xav://grid/group/role/name`.
    #[n(0)]
    pub user: String,
    /// The process that the user names.
    #[n(1)]
    pub process: ProcessId,
    /// The file, or the directory that it lies in.
    #[n(2)]
    pub artifact: Hash,
}

/// What an activity has produced.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Copied {
    /// Of which process.
    #[n(0)]
    pub process: ProcessId,
    /// Which activity.
    #[n(1)]
    pub activity: ActivityId,
    /// Its files and directories, in the order of its outputs.
    #[n(2)]
    pub artifacts: Vec<Artifact>,
}

/// A part of what an attempt wrote that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ReadLog {
    /// Which.
    #[n(0)]
    pub attempt: AttemptId,
    /// Where it is kept, as its outcome said.
    #[n(1)]
    pub log: Log,
    /// Which stream.
    #[n(2)]
    pub stream: Stream,
    /// From which byte on.
    #[n(3)]
    pub offset: u64,
}

/// What a command writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(index_only)]
pub enum Stream {
    /// Standard output.
    #[n(0)]
    Stdout,
    /// Standard error.
    #[n(1)]
    Stderr,
}

/// One attempt to run. Everything is resolved: the receiver evaluates nothing.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Dispatch {
    /// Its name.
    #[n(0)]
    pub attempt: AttemptId,
    /// The command line.
    #[n(1)]
    pub command: Vec<String>,
    /// Environment variables beside the machine's own.
    #[n(2)]
    pub env: Vec<(String, String)>,
    /// What it reads.
    #[n(3)]
    pub stdin: Stdin,
    /// What is laid into its directory, by path; a directory's path ends with `/`.
    #[n(4)]
    pub inputs: Vec<(String, Artifact)>,
    /// What is taken out of its directory.
    #[n(5)]
    pub outputs: Vec<Produced>,
    /// Whether the whole of stdout is wanted, up to [`CAPTURE_BYTES_MAX`].
    #[n(6)]
    pub wants_stdout: bool,
    /// Whether the whole of stderr is wanted, up to [`CAPTURE_BYTES_MAX`].
    #[n(7)]
    pub wants_stderr: bool,
    /// Slots that it holds.
    #[n(8)]
    pub cores: u32,
    /// The most memory it may use.
    #[n(9)]
    pub memory: Option<Bytes>,
    /// The longest it may run.
    #[n(10)]
    pub timeout: Option<Span>,
    /// Who has the inputs that the receiver may lack.
    #[cbor(n(11), default)]
    pub sources: Vec<Sources>,
    /// Whether it must never run twice: that it may have been started outlives the receiver's daemon.
    #[cbor(n(12), default)]
    pub at_most_once: bool,
    /// The name of the user who has submitted its process, for whom the machine may have an account;
    /// none where the process manager itself is the user's.
    #[n(13)]
    pub user: Option<String>,
}

/// Who has an input.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Sources {
    /// Its place in [`Dispatch::inputs`].
    #[n(0)]
    pub input: u32,
    /// The machines, the likeliest first, at most [`SOURCES_MAX`]. Where they are stands once in
    /// the message.
    #[n(1)]
    pub holders: Vec<ResourceId>,
}

/// A machine that has files which others want.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Holder {
    /// Its number.
    #[n(0)]
    pub resource: ResourceId,
    /// Its name, as in its certificate.
    #[n(1)]
    pub name: String,
    /// Where it is asked for files: host and port.
    #[n(2)]
    pub address: String,
}

/// What an attempt reads from stdin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub enum Stdin {
    /// Nothing.
    #[n(0)]
    #[default]
    Empty,
    /// Text.
    #[n(1)]
    Text(#[n(0)] String),
    /// A file in its directory.
    #[n(2)]
    File(#[n(0)] String),
}

/// From an activity manager.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum FromActivity {
    /// What is known of the receiver's attempts; the answer to `Attach`, in one or several parts.
    #[n(0)]
    Holding {
        /// The sender's life.
        #[n(0)]
        epoch: Epoch,
        /// Which question this answers.
        #[n(1)]
        ask: u32,
        /// Which part of the answer this is, from 0.
        #[n(2)]
        part: u32,
        /// How many parts the answer has; parts may arrive in any order.
        #[n(3)]
        n_parts: u32,
        /// Attempts that are waiting, being staged, running, or ended and not yet acknowledged.
        #[n(4)]
        attempts: Vec<AttemptId>,
        /// The length of a lease by which the sender counts the receiver's answers. None where there
        /// are no leases, or where it does not know that they have lengths.
        #[n(5)]
        lease: Option<Span>,
        /// Whether the sender's journal was lost: an attempt that must never run twice may have been
        /// started though it is not named here.
        #[cbor(n(6), default)]
        has_forgotten: bool,
    },
    /// These are known and have not ended: the answer to a repeated dispatch.
    #[n(1)]
    Accepted(#[n(0)] Vec<AttemptId>),
    /// These run.
    #[n(2)]
    Started(#[n(0)] Vec<Started>),
    /// These have ended; repeated until acknowledged.
    #[n(3)]
    Outcomes(#[n(0)] Vec<Outcome>),
    /// These have not started here and will not.
    #[n(4)]
    Retracted(#[n(0)] Vec<AttemptId>),
    /// These were not taken.
    #[n(5)]
    Refused {
        /// Which.
        #[n(0)]
        attempts: Vec<AttemptId>,
        /// Why.
        #[n(1)]
        why: Refusal,
    },
    /// What an attempt has written so far; none where it does not run here.
    #[n(6)]
    Tail(#[n(0)] AttemptId, #[n(1)] Option<Box<Tail>>),
    /// A part of what an attempt wrote.
    #[n(20)]
    LogPart(#[n(0)] Box<LogPart>),
    /// All of these is here, durably: the answer to `Copy`.
    #[n(21)]
    Copied(#[n(0)] Vec<Copied>),
    /// Whether these are here as they were made: the answer to `Check`.
    #[n(22)]
    Checked(#[n(0)] Vec<Checked>),
    /// May a user have a file of a process? Answered by `Access`.
    #[n(23)]
    Access {
        /// Repeated by the answer.
        #[n(0)]
        number: u32,
        /// Who wants what.
        #[n(1)]
        access: Access,
    },
    /// May the receiver's attempts go on? Asked again and again ([`crate::lease`]); also the sign
    /// that the sender is there. Answered by `Renewed`, or by `Attach` where the receiver knows
    /// another life.
    #[n(7)]
    Renew {
        /// The life that the sender has told the receiver, or wants to.
        #[n(0)]
        epoch: Epoch,
        /// Counts up in each life of the sender's daemon.
        #[n(1)]
        number: u32,
    },
}

/// Why a dispatch was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Refusal {
    /// The group manager's leave has not arrived; send it again.
    #[n(0)]
    NoGrantYet,
    /// It was meant for an earlier life.
    #[n(1)]
    OtherEpoch {
        /// The present one.
        #[n(0)]
        epoch: Epoch,
    },
    /// Too many are waiting here already; send it again later.
    #[n(2)]
    Full,
    /// It was taken back before.
    #[n(3)]
    Retracted,
}

/// An attempt that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Started {
    /// Which.
    #[n(0)]
    pub attempt: AttemptId,
    /// The command's process id on its machine.
    #[n(1)]
    pub pid: u32,
    /// When it started, by its machine's clock.
    #[n(2)]
    pub at: Wall,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Outcome {
    /// Which.
    #[n(0)]
    pub attempt: AttemptId,
    /// Well or not.
    #[n(1)]
    pub end: End,
    /// When the command started, by its machine's clock; zero where it never did.
    #[n(2)]
    pub started: Wall,
    /// How long it ran.
    #[n(3)]
    pub wall: Span,
    /// CPU time that it used.
    #[n(4)]
    pub cpu: Span,
    /// The most memory that it used.
    #[n(5)]
    pub peak_memory: Bytes,
    /// Its exit status, where it exited.
    #[n(6)]
    pub exit_code: Option<i32>,
    /// The command's process id on its machine.
    #[n(7)]
    pub pid: u32,
    /// What it produced, in the order of [`Dispatch::outputs`]; empty where it did not end well.
    #[n(8)]
    pub outputs: Vec<Artifact>,
    /// All of stdout, where wanted.
    #[cbor(n(9), with = "minicbor::bytes")]
    pub stdout: Option<Vec<u8>>,
    /// All of stderr, where wanted.
    #[cbor(n(10), with = "minicbor::bytes")]
    pub stderr: Option<Vec<u8>>,
    /// Where what it wrote is kept on its machine; none where it wrote nothing.
    #[n(11)]
    pub log: Option<Log>,
}

/// What an attempt wrote, and where its machine keeps it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Log {
    /// Bytes written to stdout.
    #[n(0)]
    pub stdout_bytes: u64,
    /// Where they are.
    #[n(1)]
    pub stdout: Kept,
    /// Bytes written to stderr.
    #[n(2)]
    pub stderr_bytes: u64,
    /// Where they are.
    #[n(3)]
    pub stderr: Kept,
}

/// Well or not.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum End {
    /// It did what it should, and all its outputs are kept.
    #[n(0)]
    Completed,
    /// It did not.
    #[n(1)]
    Failed(#[n(0)] Box<Failure>),
    /// It was stopped because it was asked for.
    #[n(2)]
    Stopped,
    /// What became of it cannot be known, its machine or executor went; it does not run any more.
    #[n(3)]
    Lost,
    /// It could not begin: these of its inputs, by their place in [`Dispatch::inputs`], are not on
    /// its machine and could not be had from any machine that was named for them.
    #[n(4)]
    Lacking(#[n(0)] Vec<u32>),
}

/// What went wrong with an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Failure {
    /// The fault it is.
    #[n(0)]
    pub name: FaultName,
    /// What happened, in a sentence.
    #[n(1)]
    pub message: String,
    /// Where it ran; the directory is kept until the process is forgotten.
    #[n(2)]
    pub directory: String,
    /// The end of stderr.
    #[n(3)]
    pub stderr_tail: String,
}

/// Bytes of each stream that a peek gives.
pub const TAIL_BYTES_MAX: u32 = 256 << 10;

/// A part of what an attempt wrote.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LogPart {
    /// Which attempt.
    #[n(0)]
    pub attempt: AttemptId,
    /// Which stream.
    #[n(1)]
    pub stream: Stream,
    /// From which byte on.
    #[n(2)]
    pub offset: u64,
    /// The bytes, up to [`TAIL_BYTES_MAX`]; none at the end of the stream.
    #[cbor(n(3), with = "minicbor::bytes")]
    pub bytes: Vec<u8>,
    /// Why there are no bytes, where that is not the end.
    #[n(4)]
    pub trouble: Option<String>,
}

/// What an attempt that still runs has written so far.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Tail {
    /// Which.
    #[n(0)]
    pub attempt: AttemptId,
    /// Bytes written to stdout.
    #[n(1)]
    pub stdout_bytes: u64,
    /// The end of them, up to [`TAIL_BYTES_MAX`].
    #[cbor(n(2), with = "minicbor::bytes")]
    pub stdout: Vec<u8>,
    /// Bytes written to stderr.
    #[n(3)]
    pub stderr_bytes: u64,
    /// The end of them, up to [`TAIL_BYTES_MAX`].
    #[cbor(n(4), with = "minicbor::bytes")]
    pub stderr: Vec<u8>,
}
