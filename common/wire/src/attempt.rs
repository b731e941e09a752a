//! Process manager and activity manager: attempts go down, outcomes come up.
//!
//! The process manager repeats a dispatch until the attempt is mentioned; the activity manager
//! repeats an outcome until it is acknowledged. Both answer repeats from their state.

mod log;

use minicbor::{Decode, Encode};
use model::{
    Activation, ActivityId, Artifact, AttemptId, Bytes, Epoch, FaultName, Hash, ProcessId,
    Produced, ResourceId, Span, Wall,
};

pub use self::log::{Log, LogPart, ReadLog, Stream, TAIL_BYTES_MAX, Tail};

/// Maximum number of attempts in one message.
pub const ATTEMPTS_MAX: usize = 1_024;
/// Maximum number of inputs of all attempts in one message, unless a single attempt has more: most
/// messages stay below 8 MiB.
pub const INPUTS_MAX: usize = 65_536;
/// Maximum number of activities in one request for copies...
pub const COPIES_MAX: usize = 256;
/// ...and of their files, unless a single activity has more: a request stays below a MiB.
pub const COPIED_FILES_MAX: usize = 4_096;
/// Maximum number of processes of one process manager for which one machine keeps copies: more than
/// it has at a time. A message with so many stays below 200 KiB.
pub const KEPT_MAX: usize = 16_384;
/// Maximum number of machines that are probed by one message.
pub const PROBES_MAX: usize = 4;
/// Maximum number of machines named for one input: the next one is asked when one fails.
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
        /// The sender's epoch.
        #[n(0)]
        epoch: Epoch,
        /// A number of this request that the answer repeats, so that an old answer is not taken for
        /// it.
        #[n(1)]
        ask: u32,
        /// The length of the sender's leases ([`crate::lease`]): the time for which the receiver
        /// may use each answer to `Renew`. None if there are no leases, or if the sender does not
        /// support lengths.
        #[n(2)]
        lease: Option<Span>,
    },
    /// Attempts to run, in this order as far as slots allow. Followed by `Started`, `Outcomes` or
    /// `Refused`; a repeat of a known attempt is answered by `Accepted`.
    #[n(1)]
    Dispatch {
        /// The receiver's epoch. A receiver with another epoch refuses the message.
        #[n(0)]
        meant_for: Epoch,
        /// The attempts to run.
        #[n(1)]
        attempts: Vec<Dispatch>,
        /// The machines that the attempts' sources name.
        #[cbor(n(2), default)]
        holders: Vec<Holder>,
        /// The slots that the process of all these attempts holds on the receiver. The group manager
        /// may not have told yet that some were given back.
        #[cbor(n(3), default)]
        holds: Option<Holds>,
    },
    /// These outcomes are durable and can be forgotten.
    #[n(2)]
    Acknowledge(#[n(0)] Vec<AttemptId>),
    /// Stop these attempts. Answered by `Outcomes`, or by `Retracted` where they are over.
    #[n(3)]
    Stop(#[n(0)] Vec<AttemptId>),
    /// Take these attempts back if they have not started. Answered by `Retracted`, `Started` or
    /// `Outcomes`.
    #[n(4)]
    Retract(#[n(0)] Vec<AttemptId>),
    /// Return what this attempt has written so far. Answered by `Tail`.
    #[n(5)]
    Tail(#[n(0)] AttemptId),
    /// Return a part of an attempt's log. Answered by `LogPart`.
    #[n(20)]
    ReadLog(#[n(0)] Box<ReadLog>),
    /// Fetch the outputs of these activities and keep them durably. Answered by `Copied` for each
    /// complete one, and repeated until then.
    #[n(21)]
    Copy {
        /// The outputs.
        #[n(0)]
        copies: Vec<Copy>,
        /// The machines that have them.
        #[n(1)]
        holders: Vec<Holder>,
        /// The epoch of the receiver that this is meant for: in another one it is too late, since the files may have
        /// been copied elsewhere meanwhile, and discarded.
        #[n(2)]
        meant_for: Option<Epoch>,
    },
    /// Check that all of these outputs are on the receiver, unchanged. Damaged or missing ones are
    /// fetched first if another machine has them. Answered by `Checked` for each, and repeated
    /// until then.
    #[n(22)]
    Check {
        /// The outputs, at most [`COPIES_MAX`].
        #[n(0)]
        copies: Vec<Copy>,
        /// The machines that have them.
        #[n(1)]
        holders: Vec<Holder>,
    },
    /// The answer to `Access`.
    #[n(23)]
    Access {
        /// The number of the request.
        #[n(0)]
        number: u32,
        /// True if the process is that user's and has the file.
        #[n(1)]
        is_allowed: bool,
    },
    /// Delete files that nobody needs any more, unless somebody else has them here. Answered by
    /// `Discarded` for each activity, and repeated until then.
    #[n(24)]
    Discard(
        /// At most [`COPIES_MAX`].
        #[n(0)]
        Vec<Discard>,
    ),
    /// Fetch a few bytes that mean nothing from each of these machines, at most [`PROBES_MAX`]. Each that gives them
    /// is told by `Fetched`. It may be lost, and is not repeated.
    #[n(26)]
    Probe(#[n(0)] Vec<Holder>),
    /// The answer to `Renew`: from here on the sender waits for the receiver's attempts.
    #[n(6)]
    Renewed {
        /// The receiver's epoch in the request.
        #[n(0)]
        epoch: Epoch,
        /// The number of the request.
        #[n(1)]
        number: u32,
        /// The sender's unfinished processes for which the receiver keeps copies, at most
        /// [`KEPT_MAX`]. Files pinned for its other processes may be evicted.
        #[cbor(n(2), default)]
        keeps: Vec<ProcessId>,
    },
}

/// The slots of a machine that a process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Holds {
    /// The process.
    #[n(0)]
    pub process: ProcessId,
    /// The number of its last claim or return in the machine's group: a higher one is later.
    #[n(1)]
    pub number: u32,
    /// The slots.
    #[n(2)]
    pub slots: u32,
}

/// The outputs of an activity, for a machine other than the one that made them.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Copy {
    /// The outputs.
    #[n(0)]
    pub copied: Copied,
    /// The machines that have them, at most [`SOURCES_MAX`]. The message lists their addresses
    /// once.
    #[n(1)]
    pub holders: Vec<ResourceId>,
    /// True if its process may still need it: it is not evicted until `Renewed` does not name that
    /// process any more.
    #[cbor(n(2), default)]
    pub is_needed: bool,
    /// The number of the attempt that made them, where its process discards files that nobody needs any
    /// more.
    #[n(3)]
    pub number: Option<u32>,
}

/// Files that a process does not need any more.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Discard {
    /// The last attempt that has made them. What later attempts at this activity make is meant to stay.
    #[n(0)]
    pub made_by: AttemptId,
    /// The files and directories.
    #[n(1)]
    pub artifacts: Vec<Artifact>,
}

/// The result of checking the outputs of an activity on a machine.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Checked {
    /// The outputs.
    #[n(0)]
    pub copied: Copied,
    /// True if all of them are there, unchanged.
    #[n(1)]
    pub is_sound: bool,
}

/// The question whether a user may have a file of a process.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Access {
    /// The user's identity, from the certificate: `xav://grid/group/role/name`.
    #[n(0)]
    pub user: String,
    /// The process that the user names.
    #[n(1)]
    pub process: ProcessId,
    /// The file, or a directory that contains it.
    #[n(2)]
    pub artifact: Hash,
}

/// The outputs of an activity.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Copied {
    /// The process.
    #[n(0)]
    pub process: ProcessId,
    /// The activity.
    #[n(1)]
    pub activity: ActivityId,
    /// Its files and directories, in the order of its outputs.
    #[n(2)]
    pub artifacts: Vec<Artifact>,
}

/// One attempt to run. All expressions are evaluated already.
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
    /// Its stdin.
    #[n(3)]
    pub stdin: Stdin,
    /// The inputs in its directory, by path; a directory's path ends with `/`.
    #[n(4)]
    pub inputs: Vec<(String, Artifact)>,
    /// The outputs in its directory.
    #[n(5)]
    pub outputs: Vec<Produced>,
    /// True if the outcome must contain stdout, up to [`CAPTURE_BYTES_MAX`].
    #[n(6)]
    pub wants_stdout: bool,
    /// True if the outcome must contain stderr, up to [`CAPTURE_BYTES_MAX`].
    #[n(7)]
    pub wants_stderr: bool,
    /// Slots that it holds.
    #[n(8)]
    pub cores: u32,
    /// Limit of its memory.
    #[n(9)]
    pub memory: Option<Bytes>,
    /// Limit of its run time.
    #[n(10)]
    pub timeout: Option<Span>,
    /// The sources of inputs that the receiver may lack.
    #[cbor(n(11), default)]
    pub sources: Vec<Sources>,
    /// True if it must never run twice: the receiver stores durably that it may have been started.
    #[cbor(n(12), default)]
    pub at_most_once: bool,
    /// The user who submitted its process, for whom the machine may have an account; none if the
    /// process manager belongs to the user.
    #[n(13)]
    pub user: Option<String>,
    /// True if its process discards files that nobody needs any more.
    #[cbor(n(14), default)]
    pub discards: bool,
    /// The software that it runs with; nothing is said where that is the machine's own.
    #[n(15)]
    pub activation: Option<Activation>,
}

impl Dispatch {
    /// A command line on one core, with nothing else said of it.
    pub fn new(attempt: AttemptId, command: Vec<String>) -> Dispatch {
        Dispatch {
            attempt,
            command,
            env: Vec::new(),
            stdin: Stdin::Empty,
            inputs: Vec::new(),
            outputs: Vec::new(),
            wants_stdout: false,
            wants_stderr: false,
            cores: 1,
            memory: None,
            timeout: None,
            sources: Vec::new(),
            at_most_once: false,
            user: None,
            discards: false,
            activation: None,
        }
    }
}

/// The sources of an input.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Sources {
    /// Its index in [`Dispatch::inputs`].
    #[n(0)]
    pub input: u32,
    /// The machines, the likeliest first, at most [`SOURCES_MAX`]. The message lists their
    /// addresses once.
    #[n(1)]
    pub holders: Vec<ResourceId>,
}

/// A machine that serves files to others.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Holder {
    /// Its number.
    #[n(0)]
    pub resource: ResourceId,
    /// Its name, as in its certificate.
    #[n(1)]
    pub name: String,
    /// The address that serves its files: host and port.
    #[n(2)]
    pub address: String,
}

/// The stdin of an attempt.
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
    /// The receiver's attempts here; the answer to `Attach`, in one or several parts.
    #[n(0)]
    Holding {
        /// The sender's epoch.
        #[n(0)]
        epoch: Epoch,
        /// The number of the request.
        #[n(1)]
        ask: u32,
        /// The index of this part, from 0.
        #[n(2)]
        part: u32,
        /// Number of parts; they may arrive in any order.
        #[n(3)]
        n_parts: u32,
        /// Attempts that are waiting, being staged, running, or ended and not yet acknowledged.
        #[n(4)]
        attempts: Vec<AttemptId>,
        /// The length of lease with which the sender counts the receiver's answers. None if there
        /// are no leases, or if the sender does not support lengths.
        #[n(5)]
        lease: Option<Span>,
        /// True if the sender's journal was lost: an attempt that must never run twice may have
        /// been started though it is not named here.
        #[cbor(n(6), default)]
        has_forgotten: bool,
    },
    /// These attempts are known and have not ended: the answer to a repeated dispatch.
    #[n(1)]
    Accepted(#[n(0)] Vec<AttemptId>),
    /// These attempts run.
    #[n(2)]
    Started(#[n(0)] Vec<Started>),
    /// These attempts have ended; repeated until acknowledged.
    #[n(3)]
    Outcomes(#[n(0)] Vec<Outcome>),
    /// These attempts have not started here and will not, or are over and their outcomes acknowledged.
    #[n(4)]
    Retracted(#[n(0)] Vec<AttemptId>),
    /// These attempts were refused.
    #[n(5)]
    Refused {
        /// The attempts.
        #[n(0)]
        attempts: Vec<AttemptId>,
        /// The reason.
        #[n(1)]
        why: Refusal,
    },
    /// The output so far of an attempt; none if it does not run here.
    #[n(6)]
    Tail(#[n(0)] AttemptId, #[n(1)] Option<Box<Tail>>),
    /// A part of an attempt's log.
    #[n(20)]
    LogPart(#[n(0)] Box<LogPart>),
    /// All of these outputs are here, durably: the answer to `Copy`.
    #[n(21)]
    Copied(#[n(0)] Vec<Copied>),
    /// The answer to `Check`.
    #[n(22)]
    Checked(#[n(0)] Vec<Checked>),
    /// Nobody here needs these any more, as far as the sender of `Discard` can say: the attempts that it
    /// has named.
    #[n(24)]
    Discarded(#[n(0)] Vec<AttemptId>),
    /// Asks whether a user may have a file of a process. Answered by `Access`.
    #[n(23)]
    Access {
        /// Repeated by the answer.
        #[n(0)]
        number: u32,
        /// The user and the file.
        #[n(1)]
        access: Access,
    },
    /// Inputs of attempts of the receiver that came from other machines, and the answer to `Probe`. It may be lost,
    /// and is not repeated.
    #[n(25)]
    Fetched(#[n(0)] Vec<Fetched>),
    /// Asks whether the receiver's attempts may go on. Sent periodically ([`crate::lease`]); it
    /// also shows that the sender is alive. Answered by `Renewed`, or by `Attach` if the receiver
    /// knows another epoch.
    #[n(7)]
    Renew {
        /// The epoch that the sender has told the receiver, or wants to.
        #[n(0)]
        epoch: Epoch,
        /// Increases within each epoch of the sender.
        #[n(1)]
        number: u32,
    },
}

/// Why a dispatch was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Refusal {
    /// The group manager's grant has not arrived; send it again.
    #[n(0)]
    NoGrantYet,
    /// It was meant for an earlier epoch.
    #[n(1)]
    OtherEpoch {
        /// The present epoch.
        #[n(0)]
        epoch: Epoch,
    },
    /// Too many attempts wait here; send it again later.
    #[n(2)]
    Full,
    /// It was taken back before.
    #[n(3)]
    Retracted,
}

/// A running attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Started {
    /// The attempt.
    #[n(0)]
    pub attempt: AttemptId,
    /// The command's process id on its machine.
    #[n(1)]
    pub pid: u32,
    /// When it started, by its machine's clock.
    #[n(2)]
    pub at: Wall,
}

/// A file of [`TRANSFER_TOLD_LEAST`] or more that was fetched, and was not asked for from a second machine; or a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Fetched {
    /// The machine that gave it.
    #[n(0)]
    pub from: ResourceId,
    /// Its size.
    #[n(1)]
    pub bytes: Bytes,
    /// The time from the request to the last byte.
    #[n(2)]
    pub took: Span,
}

/// The least size of a file whose transfer is told: smaller ones say little about a link.
pub const TRANSFER_TOLD_LEAST: Bytes = Bytes(1 << 20);

/// The outcome of an attempt.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Outcome {
    /// The attempt.
    #[n(0)]
    pub attempt: AttemptId,
    /// Its end.
    #[n(1)]
    pub end: End,
    /// When the command started, by its machine's clock; zero if it never did.
    #[n(2)]
    pub started: Wall,
    /// Its run time.
    #[n(3)]
    pub wall: Span,
    /// CPU time that it used.
    #[n(4)]
    pub cpu: Span,
    /// Its peak memory.
    #[n(5)]
    pub peak_memory: Bytes,
    /// Its exit status, if it exited.
    #[n(6)]
    pub exit_code: Option<i32>,
    /// The command's process id on its machine.
    #[n(7)]
    pub pid: u32,
    /// Its outputs, in the order of [`Dispatch::outputs`]; empty unless it completed.
    #[n(8)]
    pub outputs: Vec<Artifact>,
    /// All of stdout, if wanted.
    #[cbor(n(9), with = "minicbor::bytes")]
    pub stdout: Option<Vec<u8>>,
    /// All of stderr, if wanted.
    #[cbor(n(10), with = "minicbor::bytes")]
    pub stderr: Option<Vec<u8>>,
    /// The place of its log on its machine; none if it wrote nothing.
    #[n(11)]
    pub log: Option<Log>,
}

impl Outcome {
    /// The outcome of an attempt that has not run, or whose run is unknown.
    pub fn without_run(attempt: AttemptId, end: End) -> Outcome {
        Outcome {
            attempt,
            end,
            started: Wall(0),
            wall: Span::ZERO,
            cpu: Span::ZERO,
            peak_memory: Bytes::ZERO,
            exit_code: None,
            pid: 0,
            outputs: Vec::new(),
            stdout: None,
            stderr: None,
            log: None,
        }
    }

    /// The outcome of a failure without a command.
    pub fn failed(attempt: AttemptId, name: FaultName, message: String) -> Outcome {
        let failure = Failure {
            name,
            message,
            directory: String::new(),
            stderr_tail: String::new(),
        };
        Outcome::without_run(attempt, End::Failed(Box::new(failure)))
    }
}

/// The end of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum End {
    /// It completed, and all its outputs are stored.
    #[n(0)]
    Completed,
    /// It failed.
    #[n(1)]
    Failed(#[n(0)] Box<Failure>),
    /// It was stopped on request.
    #[n(2)]
    Stopped,
    /// Its end is unknown, because its machine or executor was lost; it does not run any more.
    #[n(3)]
    Lost,
    /// It could not start: these inputs, by index in [`Dispatch::inputs`], are not on its machine,
    /// and no machine that was named for them has given them.
    #[n(4)]
    Lacking(#[n(0)] Vec<u32>),
}

/// The failure of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Failure {
    /// The name of the fault.
    #[n(0)]
    pub name: FaultName,
    /// The error, in a sentence.
    #[n(1)]
    pub message: String,
    /// Its directory, which is kept until the process is forgotten.
    #[n(2)]
    pub directory: String,
    /// The end of stderr.
    #[n(3)]
    pub stderr_tail: String,
}
