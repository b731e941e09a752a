//! A manager's storage: its journal of events, and the repository of resource records.
//!
//! This crate is the only one that knows a store. It stores bytes: it knows no manager, no event
//! and no codec, and it decides nothing.
//!
//! - [`Journal`] is a directory of streams: a stream is a sequence of events that begins with its
//!   founding event, and a snapshot that may stand for the events after it. A commit is on disk
//!   when [`Journal::commit`] returns, and [`Journal::open`] returns one [`History`] for each
//!   stream, or names the damage.
//! - [`Committer`] owns a journal in a thread of its own and commits all waiting batches at once.
//! - [`Records`] stores values that may be lost, because others report them again: the newest value
//!   by key. Damage there never stops a start.
//! - [`durable`] has the other durable operations: files and directories.
//! - [`SharedFile`] is a file that several programs add to at once, and that nothing depends on.
//! - [`RecordsCommitter`] owns records in a thread of its own, and nobody waits for it.
//!
//! Read [`Batch`], [`History`] and [`Journal`] first, then `tail.rs` and `layout.rs` for the format
//! on disk.

mod aside;
mod committer;
mod directory;
pub mod durable;
mod guard;
mod journal;
mod layout;
mod packing;
mod records;
mod records_committer;
mod reserve;
mod shared_file;
mod store_file;
mod tail;

pub use aside::set_aside;
pub use committer::{Committer, Refused, Report};
pub use directory::{DirectoryError, FORMAT, check_format, is_begun};
pub use journal::{
    Batch, CommitError, Damage, History, Journal, OpenError, Opened, Options, StoreError,
    commit_bytes_max, may_have_commits, open_read, remove_stream,
};
pub use layout::{MESSAGE_BYTES_MAX, STREAM_KEY_BYTES_MAX, StreamKey};
pub use records::{
    Change, RECORD_BYTES_MAX, Record, Records, RecordsError, RecordsOpened, SetAside,
};
pub use records_committer::{RecordsCommitter, RecordsRefused};
pub use reserve::room;
pub use shared_file::{BODY_BYTES_MAX, Content, SharedFile};
