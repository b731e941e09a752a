//! Blobs between machines, on connections of their own: one stream for each transfer.
//!
//! The client opens a stream, sends one [`Request`] as a frame and receives one [`Answer`] as a
//! frame. After `Sending` the server's bytes follow, after `Send` the client's, without frames, up
//! to the end of the stream; a `Put` is answered once more when the bytes are durable. An
//! interrupted transfer continues at the byte that it had reached.

use minicbor::{Decode, Encode};
use model::{Hash, ProcessId};
use thiserror::Error;

/// The protocol name for connecting; the number is the version of this module.
pub const PROTOCOL: &[u8] = b"xavantes-bulk/1";

/// Bytes of the longest frame of these connections: a hash and some numbers.
pub const FRAME_BYTES_MAX: usize = 256;

/// The most bytes that a probe may ask for.
pub const PROBE_BYTES_MAX: u64 = 4 << 20;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Request {
    /// Send a blob. Answered by `Sending` or `Refused`.
    #[n(0)]
    Get {
        /// The blob.
        #[n(0)]
        hash: Hash,
        /// The offset of the first byte.
        #[n(1)]
        offset: u64,
        /// The owner of the blob: a user may fetch nothing else.
        #[n(2)]
        of: Option<Belongs>,
    },
    /// Store a blob. Answered by `Send` and then, when it is complete, by `Stored`; by `Stored` at
    /// once if the blob is there; or by `Refused`.
    #[n(1)]
    Put {
        /// The hash.
        #[n(0)]
        hash: Hash,
        /// Its size.
        #[n(1)]
        bytes: u64,
        /// The owner of the blob: a user may upload nothing else.
        #[n(2)]
        of: Option<Belongs>,
    },
    /// Send so many bytes that mean nothing, at most [`PROBE_BYTES_MAX`]: how long they take tells how fast the way
    /// is. Answered by `Sending` or `Refused`.
    #[n(2)]
    Probe {
        /// The number of bytes.
        #[n(0)]
        bytes: u64,
    },
}

/// The process and artifact that a blob belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Belongs {
    /// The process that has the artifact, or will when it is submitted.
    #[n(0)]
    pub process: ProcessId,
    /// The blob itself, or the directory that lists it.
    #[n(1)]
    pub artifact: Hash,
}

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Answer {
    /// The bytes from the offset on follow.
    #[n(0)]
    Sending {
        /// Bytes of the whole blob.
        #[n(0)]
        bytes: u64,
    },
    /// The bytes are wanted. Repeated with the whole size while all bytes have arrived and are not
    /// durable yet.
    #[n(1)]
    Send {
        /// The offset of the first wanted byte: earlier ones are kept from an interrupted transfer.
        #[n(0)]
        offset: u64,
    },
    /// The blob is durably stored.
    #[n(2)]
    Stored,
    /// The request is refused.
    #[n(3)]
    Refused(#[n(0)] Refusal),
}

/// Why a transfer is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, Error)]
pub enum Refusal {
    /// There is no such blob.
    #[n(0)]
    #[error("the blob is not there")]
    Missing,
    /// The role may not do this.
    #[n(1)]
    #[error("the role in the certificate may not do this")]
    Role,
    /// The blob is larger than permitted.
    #[n(2)]
    #[error("the blob is larger than the {bytes_max} bytes that are kept there")]
    TooLarge {
        /// The limit.
        #[n(0)]
        bytes_max: u64,
    },
    /// The offset is behind the end of the blob.
    #[n(3)]
    #[error("the offset lies behind the end of the blob")]
    Offset,
    /// The content does not match the hash or the announced size.
    #[n(4)]
    #[error("what came is not what its name says")]
    Corrupt,
    /// The disk has no space for it.
    #[n(5)]
    #[error("the disk there is full")]
    DiskFull,
    /// The request cannot be read.
    #[n(6)]
    #[error("the request could not be read")]
    Unreadable,
    /// The disk failed.
    #[n(7)]
    #[error("the disk there failed")]
    Failed,
    /// Too many transfers are running.
    #[n(8)]
    #[error("too many transfers are under way there")]
    Busy,
    /// A user did not name the owner of the blob.
    #[n(9)]
    #[error("it was not said for which process the file is")]
    Unannounced,
    /// The user has uploaded too many bytes that no process uses yet.
    #[n(10)]
    #[error(
        "files that you have given there and that no process names take more than {bytes_max} \
         bytes with it: submit processes with them, or wait {minutes} minutes"
    )]
    Unclaimed {
        /// The limit in bytes.
        #[n(0)]
        bytes_max: u64,
        /// The time after which unused files are removed.
        #[n(1)]
        minutes: u32,
    },
}
