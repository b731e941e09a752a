//! Attempts as they are recorded: the slots that they run on, their ends, their streams.

use minicbor::{Decode, Encode};
use model::{
    ActivityId, Artifact, AttemptId, Bytes, Fault, GrantId, ResourceId, Span, Value, Wall,
};

use super::flow::Flow;

/// The slots of a process in one group.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Holding {
    /// The number of the last claim that the group manager has answered, or of a later return.
    #[n(0)]
    pub number: u32,
    /// All its grants.
    #[n(1)]
    pub grants: Vec<Grant>,
}

/// Slots of a machine that a group manager has granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Grant {
    /// Its number.
    #[n(0)]
    pub id: GrantId,
    /// The machine.
    #[n(1)]
    pub resource: ResourceId,
    /// The number of slots.
    #[n(2)]
    pub slots: u32,
}

/// The end of an attempt, without the content of its streams.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Outcome {
    /// The attempt.
    #[n(0)]
    pub attempt: AttemptId,
    /// The kind of its end.
    #[n(1)]
    pub end: End,
    /// When the command started, by its machine's clock; zero where it never did.
    #[n(2)]
    pub started: Wall,
    /// Its run time.
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
    /// Its outputs in the order of the activity's; empty where it did not complete.
    #[n(8)]
    pub outputs: Vec<Artifact>,
    /// The place of its streams on its machine; none if it wrote nothing.
    #[n(9)]
    pub log: Option<Log>,
}

/// The kind of an attempt's end. The fault is in the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum End {
    /// It exited well, and all its outputs are kept.
    #[n(0)]
    Completed,
    /// It failed.
    #[n(1)]
    Failed,
    /// It was stopped on request.
    #[n(2)]
    Stopped,
    /// Its end is unknown; it does not run any more.
    #[n(3)]
    Lost,
    /// It could not begin, for want of inputs.
    #[n(4)]
    Lacking,
}

/// The streams of an attempt, with their places on its machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Log {
    /// Bytes written to stdout.
    #[n(0)]
    pub stdout_bytes: u64,
    /// The place of those bytes.
    #[n(1)]
    pub stdout: Kept,
    /// Bytes written to stderr.
    #[n(2)]
    pub stderr_bytes: u64,
    /// The place of those bytes.
    #[n(3)]
    pub stderr: Kept,
}

/// The place of a stream on its machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub enum Kept {
    /// Nowhere: it is empty, or could not be written.
    #[n(0)]
    #[default]
    Nowhere,
    /// In a record of the machine's log.
    #[n(1)]
    Log {
        /// Number of the segment.
        #[n(0)]
        segment: u32,
        /// The offset of the record in the segment, in bytes.
        #[n(1)]
        offset: u64,
    },
    /// In a file of its own.
    #[n(2)]
    File {
        /// Bytes in the file; fewer than were written where the disk was full or the bound reached.
        #[n(0)]
        bytes: u64,
    },
}

/// An attempt that was followed by another one at the same activity.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct PastAttempt {
    /// Its number.
    #[n(0)]
    pub number: u32,
    /// Its machine.
    #[n(1)]
    pub resource: ResourceId,
    /// The kind of its end, in a word for people and scripts.
    #[n(2)]
    pub end: String,
    /// The command's process id; zero where it is not known.
    #[n(3)]
    pub pid: u32,
    /// When it started; zero where it is not known.
    #[n(4)]
    pub started: Wall,
    /// Its run time.
    #[n(5)]
    pub wall: Span,
    /// CPU time that it used.
    #[n(6)]
    pub cpu: Span,
    /// The most memory that it used.
    #[n(7)]
    pub peak_memory: Bytes,
    /// Its exit status, where it exited.
    #[n(8)]
    pub exit_code: Option<i32>,
    /// The place of its streams on its machine.
    #[n(9)]
    pub log: Option<Log>,
    /// Slots that it held.
    #[n(10)]
    pub slots: u32,
}

/// The end of an attempt, and its consequences.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Ended {
    /// The report of its machine, without the streams that went into variables.
    #[n(0)]
    pub outcome: Outcome,
    /// The consequence for its activity.
    #[n(1)]
    pub verdict: Verdict,
    /// Variables that its streams were written to: stdout before stderr.
    #[n(2)]
    pub writes: Vec<(u32, Value)>,
    /// The controllers' moves.
    #[n(3)]
    pub flow: Flow,
}

/// The consequence of an attempt's end for its activity.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Verdict {
    /// The activity is done.
    #[n(0)]
    Completed,
    /// It is tried again, not before this time.
    #[n(1)]
    Retry {
        /// When.
        #[n(0)]
        at: Wall,
        /// The fault of this attempt.
        #[n(1)]
        fault: Box<Fault>,
    },
    /// The attempt was lost; it is tried again at once.
    #[n(2)]
    Again,
    /// The attempt was taken back before it started; it is sent elsewhere.
    #[n(3)]
    Moved,
    /// The activity is at an end with this fault, and the process with it.
    #[n(4)]
    Faulted(#[n(0)] Box<Fault>),
    /// The activity is at an end with this fault; only activities that depend on it do not run.
    #[n(5)]
    Broke(#[n(0)] Box<Fault>),
    /// It was stopped because the process ends.
    #[n(6)]
    Stopped,
    /// Inputs of the attempt were gone: the activities that produced them make them again first.
    #[n(7)]
    Lacking(#[n(0)] Vec<ActivityId>),
    /// Another attempt at the activity counts in its place: one that goes on, or whose end is recorded. The fault
    /// is that of an attempt that failed by itself while another one goes on.
    #[n(8)]
    Dropped(#[n(0)] Option<Box<Fault>>),
}

impl Verdict {
    /// The fault that the activity is at an end with.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Verdict::Faulted(fault) | Verdict::Broke(fault) => Some(fault),
            Verdict::Completed
            | Verdict::Retry { .. }
            | Verdict::Again
            | Verdict::Moved
            | Verdict::Stopped
            | Verdict::Lacking(_)
            | Verdict::Dropped(_) => None,
        }
    }
}
