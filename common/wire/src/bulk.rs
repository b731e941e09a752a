//! Blobs between machines, on connections of their own: a stream a transfer.
//!
//! Whoever opens the stream sends one [`Request`] as a frame and hears one [`Answer`] as a frame.
//! After `Sending` the bytes follow from the answerer, after `Send` from the asker, as they are and
//! without frames, up to the end of the stream; a `Put` is answered once more when they are there.
//! A transfer that was cut goes on from the byte that it had come to.

use minicbor::{Decode, Encode};
use model::{Hash, ProcessId};
use thiserror::Error;

/// What both sides name when they connect; the number is the version of this module.
pub const PROTOCOL: &[u8] = b"xavantes-bulk/1";

/// Bytes of the longest frame of these connections: a hash and some numbers.
pub const FRAME_BYTES_MAX: usize = 256;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Request {
    /// Send a blob. Answered by `Sending` or `Refused`.
    #[n(0)]
    Get {
        /// Which one.
        #[n(0)]
        hash: Hash,
        /// From which byte on.
        #[n(1)]
        offset: u64,
        /// What it belongs to: a user is given nothing else.
        #[n(2)]
        of: Option<Belongs>,
    },
    /// Keep a blob. Answered by `Send` and then, when all has come, by `Stored`; by `Stored` at
    /// once where it is there; or by `Refused`.
    #[n(1)]
    Put {
        /// Its name.
        #[n(0)]
        hash: Hash,
        /// Its size.
        #[n(1)]
        bytes: u64,
        /// What it belongs to: of a user nothing else is taken.
        #[n(2)]
        of: Option<Belongs>,
    },
}

/// What a blob belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Belongs {
    /// The process that has it, or will when it is submitted.
    #[n(0)]
    pub process: ProcessId,
    /// The blob itself, or the directory that lists it.
    #[n(1)]
    pub artifact: Hash,
}

/// What is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Answer {
    /// The bytes from the offset on follow.
    #[n(0)]
    Sending {
        /// Bytes of the whole blob.
        #[n(0)]
        bytes: u64,
    },
    /// The bytes are wanted. Said again with the whole size while all has come and is not durable yet.
    #[n(1)]
    Send {
        /// From which one on: what came before is kept from an earlier try.
        #[n(0)]
        offset: u64,
    },
    /// The blob is there, durably.
    #[n(2)]
    Stored,
    /// It is not done.
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
    /// The role in the certificate may not do this.
    #[n(1)]
    #[error("the role in the certificate may not do this")]
    Role,
    /// A blob of this size is not kept.
    #[n(2)]
    #[error("the blob is larger than the {bytes_max} bytes that are kept there")]
    TooLarge {
        /// The largest that is.
        #[n(0)]
        bytes_max: u64,
    },
    /// The offset lies behind the end of the blob.
    #[n(3)]
    #[error("the offset lies behind the end of the blob")]
    Offset,
    /// What came is not what the name says, or not as long as was said.
    #[n(4)]
    #[error("what came is not what its name says")]
    Corrupt,
    /// There is no space for it.
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
    /// Too much is under way.
    #[n(8)]
    #[error("too many transfers are under way there")]
    Busy,
    /// A user did not say to what it belongs.
    #[n(9)]
    #[error("it was not said for which process the file is")]
    Unannounced,
    /// The user has given so much there already that no process names.
    #[n(10)]
    #[error(
        "files that you have given there and that no process names take more than {bytes_max} \
         bytes with it: submit processes with them, or wait {minutes} minutes"
    )]
    Unclaimed {
        /// How much it may be.
        #[n(0)]
        bytes_max: u64,
        /// When what no process names is removed.
        #[n(1)]
        minutes: u32,
    },
}
