//! What is recorded of attempts.

use minicbor::{Decode, Encode};
use model::{Artifact, AttemptId, Bytes, GrantId, ResourceId, Span, Wall};

/// Slots of a machine that a group manager has granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Grant {
    /// Its number.
    #[n(0)]
    pub id: GrantId,
    /// Which machine.
    #[n(1)]
    pub resource: ResourceId,
    /// How many slots.
    #[n(2)]
    pub slots: u32,
}

/// The end of an attempt, without what it wrote.
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
    /// What it produced, in the order of the activity's outputs; empty where it did not end well.
    #[n(8)]
    pub outputs: Vec<Artifact>,
    /// Where what it wrote is kept on its machine; none where it wrote nothing.
    #[n(9)]
    pub log: Option<Log>,
}

/// Well or not. What went wrong is in the fault of the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum End {
    /// It did what it should, and all its outputs are kept.
    #[n(0)]
    Completed,
    /// It did not.
    #[n(1)]
    Failed,
    /// It was stopped because it was asked for.
    #[n(2)]
    Stopped,
    /// Nobody knows what became of it; it does not run any more.
    #[n(3)]
    Lost,
    /// It could not begin, for want of inputs.
    #[n(4)]
    Lacking,
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

/// Where a machine keeps a stream.
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
        /// Where the record begins, in bytes.
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
    /// On which machine.
    #[n(1)]
    pub resource: ResourceId,
    /// How it ended, in a word for people and scripts.
    #[n(2)]
    pub end: String,
    /// The command's process id; zero where it is not known.
    #[n(3)]
    pub pid: u32,
    /// When it started; zero where it is not known.
    #[n(4)]
    pub started: Wall,
    /// How long it ran.
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
    /// Where what it wrote is kept on its machine.
    #[n(9)]
    pub log: Option<Log>,
    /// Slots that it held.
    #[n(10)]
    pub slots: u32,
}
