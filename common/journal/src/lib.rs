//! What a manager keeps on disk: its journal of events, and the repository of resource records.
//!
//! This crate is the only one that knows a store. It takes bytes and gives bytes back: it knows no
//! manager, no event and no codec, and it decides nothing.
//!
//! - [`Journal`] is one directory of streams: a stream is a row of events that begins with its
//!   founding event, and a snapshot that may stand for the events after it. What
//!   [`Journal::commit`] has returned for is on disk, and [`Journal::open`] gives it back as one
//!   [`History`] a stream, or says by name what is damaged.
//! - [`Committer`] owns a journal in a thread of its own and commits all that waits at once.
//! - [`Records`] keeps what may be lost, since others report it again: newest value by key. Damage
//!   there never stops a start.
//! - [`durable`] has what else has to be there after a power cut: files and directories.
//! - [`RecordsCommitter`] owns records in a thread of its own, and nobody waits for it.
//!
//! Read [`Batch`], [`History`] and [`Journal`] first, then `tail.rs` and `layout.rs` for what lies on
//! disk.

mod aside;
mod committer;
mod directory;
pub mod durable;
mod guard;
mod journal;
mod layout;
mod records;
mod records_committer;
mod reserve;
mod store_file;
mod tail;

pub use aside::set_aside;
pub use committer::{Committer, Refused, Report};
pub use directory::{DirectoryError, FORMAT, is_begun};
pub use journal::{
    Batch, CommitError, Damage, History, Journal, OpenError, Opened, Options, StoreError,
    commit_bytes_max, open_read, remove_stream,
};
pub use layout::{MESSAGE_BYTES_MAX, STREAM_KEY_BYTES_MAX, StreamKey};
pub use records::{
    Change, RECORD_BYTES_MAX, Record, Records, RecordsError, RecordsOpened, SetAside,
};
pub use records_committer::{RecordsCommitter, RecordsRefused};
pub use reserve::room;
