//! The output of attempts: the places where it is kept, and parts of it.

use minicbor::{Decode, Encode};
use model::AttemptId;

use crate::executor::Kept;

/// The place and length of an attempt's log on its machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Log {
    /// Bytes written to stdout.
    #[n(0)]
    pub stdout_bytes: u64,
    /// The place of stdout.
    #[n(1)]
    pub stdout: Kept,
    /// Bytes written to stderr.
    #[n(2)]
    pub stderr_bytes: u64,
    /// The place of stderr.
    #[n(3)]
    pub stderr: Kept,
}

/// A part of the log of an ended attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ReadLog {
    /// The attempt.
    #[n(0)]
    pub attempt: AttemptId,
    /// The place of the log, from the outcome.
    #[n(1)]
    pub log: Log,
    /// The stream.
    #[n(2)]
    pub stream: Stream,
    /// The offset of the first byte.
    #[n(3)]
    pub offset: u64,
}

/// An output stream of a command.
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

/// Bytes of each stream that a tail contains.
pub const TAIL_BYTES_MAX: u32 = 256 << 10;

/// A part of an attempt's log.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LogPart {
    /// The attempt.
    #[n(0)]
    pub attempt: AttemptId,
    /// The stream.
    #[n(1)]
    pub stream: Stream,
    /// The offset of the first byte.
    #[n(2)]
    pub offset: u64,
    /// The bytes, up to [`TAIL_BYTES_MAX`]; none at the end of the stream.
    #[cbor(n(3), with = "minicbor::bytes")]
    pub bytes: Vec<u8>,
    /// The reason why there are no bytes, other than the end of the stream.
    #[n(4)]
    pub trouble: Option<String>,
}

/// The output so far of a running attempt.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Tail {
    /// The attempt.
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
