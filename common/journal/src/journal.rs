//! The journal: streams of events in one directory, written in durable groups.

mod create;
mod open;
mod overlay;
mod remove;
mod scan;
mod writer;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use redb::{Database, Durability, TableDefinition};
use thiserror::Error;

use crate::directory::{Acknowledged, DirectoryError, Lock};
use crate::guard::guarded;
use crate::layout::{MESSAGE_BYTES_MAX, ROW_KEY_BYTES, STREAM_KEY_BYTES_MAX, StreamKey, Totals};
use crate::reserve::Reserve;
use crate::tail::{self, Change, TAIL_BYTES, Tail, What};

use self::create::create_store;
use self::writer::Writer;

pub use open::{OpenError, Opened, Options, may_have_commits, open_read};
pub use remove::remove_stream;
pub use scan::{Damage, History};

/// Bytes that moving the tail into the store may need, beside a multiple of its content: pages of
/// the store's tree that are rewritten for each stream.
const SETTLE_BYTES: u64 = 8 << 20;

/// Copies of its bytes on the disk meanwhile: in the tail, and in pages that are not full.
const SETTLE_FACTOR: u64 = 4;

/// Bytes of the largest commit that surely fits into so much free space.
pub fn commit_bytes_max(room: u64) -> u64 {
    let bytes = room.saturating_sub(SETTLE_BYTES) / SETTLE_FACTOR;
    bytes.saturating_sub(TAIL_BYTES as u64)
}

/// Rows of records and, at the end, the totals; see `layout.rs`.
const RECORDS: TableDefinition<'_, &[u8; ROW_KEY_BYTES], &[u8]> = TableDefinition::new("records");

/// The store's file in the directory.
const STORE_FILE: &str = "events.redb";

/// The events of a manager's step, or of a group of steps.
///
/// A snapshot stands for all events of its stream so far, including those of this batch, together with the
/// chapters of its stream: the last one of each number, of this batch or an earlier one. Forgetting comes
/// last: it removes the stream with its events, its snapshot and its chapters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// The number by which the flush is reported. It increases from batch to batch.
    pub number: u64,
    /// Events in the order in which they happened, at most [`MESSAGE_BYTES_MAX`] each.
    pub events: Vec<(StreamKey, Vec<u8>)>,
    /// Snapshots of streams that have at least one event.
    pub snapshots: Vec<(StreamKey, Vec<u8>)>,
    /// Chapters of snapshots of this batch, by their numbers: only those that have changed.
    pub chapters: Vec<(StreamKey, u32, Vec<u8>)>,
    /// Streams to remove. A missing one is no error.
    pub forgotten: Vec<StreamKey>,
}

impl Batch {
    /// Returns true if there is nothing to write.
    pub fn is_empty(&self) -> bool {
        let Batch {
            number: _,
            events,
            snapshots,
            chapters,
            forgotten,
        } = self;
        let (events, forgotten) = (events.is_empty(), forgotten.is_empty());
        events && snapshots.is_empty() && chapters.is_empty() && forgotten
    }

    /// Bytes of all events, snapshots and chapters.
    pub fn payload_bytes(&self) -> usize {
        let of_streams = self.events.iter().chain(&self.snapshots);
        let of_streams = of_streams.map(|(_, bytes)| bytes.len());
        let of_chapters = self.chapters.iter().map(|(_, _, bytes)| bytes.len());
        of_streams.chain(of_chapters).sum()
    }
}

/// An open journal. Its directory is locked until it is closed or dropped.
///
/// The directory has the `tail`, the store `events.redb` once there was more than the tail can
/// hold, and the small files `lock`, `version` and `acknowledged`.
pub struct Journal {
    store: Store,
    /// Cache of the store, in bytes.
    cache_bytes: usize,
    /// The commits that are not in the store yet.
    tail: Tail,
    dir: PathBuf,
    acknowledged: Acknowledged,
    lock: Lock,
    /// Space for commits when the disk is full.
    reserve: Reserve,
    /// All streams, including those in the tail.
    known: BTreeSet<StreamKey>,
    /// Number of the last commit.
    n_commits: u64,
    stored: Stored,
    /// True after a failed commit: memory and disk may differ.
    failed: bool,
}

/// The tree of records behind the tail.
enum Store {
    /// There is none: the tail has always been large enough.
    Unmade,
    Open(Database),
    /// The journal was closed, or given up after a panic inside the store.
    Gone,
}

impl Store {
    fn take(&mut self) -> Option<Database> {
        match std::mem::replace(self, Store::Gone) {
            Store::Open(store) => Some(store),
            Store::Unmade | Store::Gone => None,
        }
    }
}

/// The state of the records in the store.
#[derive(Default)]
struct Stored {
    streams: BTreeMap<StreamKey, Stream>,
    stream_id_next: u64,
    totals: Totals,
}

/// The state of a stream in the store.
#[derive(Clone, Debug)]
struct Stream {
    id: u64,
    /// Number of the next event.
    number_next: u64,
    founding_crc: u32,
    /// Number and CRC sum of the snapshot and the chunks.
    n_records: u64,
    crc_sum: u64,
    /// The CRC of each chapter.
    chapters: BTreeMap<u32, u32>,
}

impl Journal {
    /// Makes the batches durable in order, with one flush for all of them. Afterwards either all of
    /// them are in the journal, or none.
    ///
    /// After an error the journal refuses to write: the caller must end, and start again from the
    /// disk, which may or may not have the batches of the failed call.
    pub fn commit(&mut self, batches: &[Batch]) -> Result<(), CommitError> {
        if self.failed {
            return Err(CommitError::AfterFailure);
        }
        if batches.iter().all(Batch::is_empty) {
            return Ok(());
        }
        self.failed = true;
        let changes = self.changes(batches)?;
        let number = self.n_commits + 1;
        // A large one would wait for the store anyway, and be written twice.
        let fits = batches.iter().map(Batch::payload_bytes).sum::<usize>() < TAIL_BYTES;
        let is_appended = fits
            && self
                .tail
                .append(number, changes.iter().copied())
                .map_err(|source| CommitError::Tail { source })?;
        if !is_appended {
            self.settle(&changes, number)?;
        }
        self.n_commits = number;
        self.acknowledged.write(number)?;
        self.reserve.fill_up(&self.dir);
        self.failed = false;
        Ok(())
    }

    /// Closes the store in order, so that the next start has nothing to repair. The tail keeps its
    /// content.
    ///
    /// Dropping does the same without reporting errors. All commits are safe without it.
    pub fn close(mut self) -> Result<(), CommitError> {
        self.close_store()
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Number of streams.
    pub fn n_streams(&self) -> usize {
        self.known.len()
    }

    fn close_store(&mut self) -> Result<(), CommitError> {
        if matches!(self.store, Store::Gone) {
            return Ok(());
        }
        if let Some(store) = self.store.take() {
            match guarded(|| store.close()) {
                Ok(closed) => closed.map_err(|e| CommitError::Store(e.into()))?,
                Err(message) => return Err(CommitError::Panicked { message }),
            }
        }
        if !self.failed {
            self.lock.release_clean();
        }
        Ok(())
    }

    /// The changes of the batches, if all of them are possible.
    fn changes<'b>(&mut self, batches: &'b [Batch]) -> Result<Vec<Change<'b>>, CommitError> {
        let mut changes = Vec::new();
        for batch in batches {
            for (stream, event) in &batch.events {
                check_length(stream, event)?;
                let what = if self.known.contains(stream) {
                    What::Event(event)
                } else {
                    self.known.insert(stream.clone());
                    What::Found(event)
                };
                changes.push((stream, what));
            }
            let snapshots = batch.snapshots.iter();
            let snapshots = snapshots.map(|(stream, bytes)| (stream, What::Snapshot(bytes)));
            let chapters = batch.chapters.iter();
            let chapters =
                chapters.map(|(stream, number, bytes)| (stream, What::Chapter(*number, bytes)));
            for (stream, what) in snapshots.chain(chapters) {
                check_length(stream, what.bytes())?;
                if !self.known.contains(stream) {
                    let stream = stream.clone();
                    return Err(CommitError::NoFounding { stream });
                }
                changes.push((stream, what));
            }
            for stream in &batch.forgotten {
                if self.known.remove(stream) {
                    changes.push((stream, What::Forget));
                }
            }
        }
        Ok(changes)
    }

    /// Moves the tail and later changes into the store, which then ends at commit `number`.
    fn settle(&mut self, changes: &[Change<'_>], number: u64) -> Result<(), CommitError> {
        let bytes: usize = changes.iter().map(|(_, what)| what.bytes().len()).sum();
        let bytes = (bytes + self.tail.bytes()) as u64;
        let needed = SETTLE_BYTES.saturating_add(bytes.saturating_mul(SETTLE_FACTOR));
        self.reserve.make_room(&self.dir, needed);
        match guarded(|| self.write(changes, number)) {
            Ok(written) => written?,
            Err(message) => {
                // Its own locks may be poisoned, and dropping it could panic again.
                std::mem::forget(self.store.take());
                return Err(CommitError::Panicked { message });
            }
        }
        self.tail.clear();
        Ok(())
    }

    fn write(&mut self, changes: &[Change<'_>], number: u64) -> Result<(), CommitError> {
        if matches!(self.store, Store::Unmade) {
            self.store = Store::Open(create_store(&self.dir, self.cache_bytes)?);
        }
        let Store::Open(store) = &self.store else {
            return Err(CommitError::AfterFailure);
        };
        let payloads = self.tail.payloads();
        let tail = payloads.as_deref().and_then(tail::changes);
        let tail = tail.expect("its frames are made here, or were read at the opening");
        let tail = tail.iter().map(|(stream, what)| (stream, *what));
        write(
            store,
            &mut self.stored,
            tail.chain(changes.iter().copied()),
            number,
        )
    }
}

/// Writes changes to the store durably, after which it ends at commit `number`.
fn write<'b>(
    store: &Database,
    stored: &mut Stored,
    changes: impl Iterator<Item = Change<'b>>,
    number: u64,
) -> Result<(), CommitError> {
    let mut transaction = store.begin_write().map_err(StoreError::from)?;
    transaction
        .set_durability(Durability::Immediate)
        .map_err(StoreError::from)?;
    {
        let records = transaction.open_table(RECORDS).map_err(StoreError::from)?;
        let mut writer = Writer::new(records, stored);
        for change in changes {
            writer.change(change)?;
        }
        writer.finish(number)?;
    }
    transaction.commit().map_err(StoreError::from)?;
    Ok(())
}

impl Drop for Journal {
    fn drop(&mut self) {
        let _ = self.close_store();
    }
}

/// Why a commit failed.
#[derive(Debug, Error)]
pub enum CommitError {
    /// The store could not write: the disk is full, or fails.
    #[error("could not write the journal")]
    Store(#[from] StoreError),
    /// The tail could not be written: the disk fails.
    #[error("could not write the journal's tail")]
    Tail {
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A file beside the store could not be written.
    #[error("could not note what the journal holds")]
    Directory(#[from] DirectoryError),
    /// The store panicked.
    #[error("the journal's store failed: {message}")]
    Panicked {
        /// Its message.
        message: String,
    },
    /// An earlier commit had failed already.
    #[error("could not write the journal after an earlier failure")]
    AfterFailure,
    /// An event or snapshot is too long.
    #[error(
        "could not journal {bytes} bytes at once for stream {stream}: the limit is {MESSAGE_BYTES_MAX}"
    )]
    TooLong {
        /// Its stream.
        stream: StreamKey,
        /// Its length.
        bytes: usize,
    },
    /// The key of a stream is too long.
    #[error(
        "could not journal stream {stream}: its key is longer than {STREAM_KEY_BYTES_MAX} bytes"
    )]
    KeyTooLong {
        /// The stream.
        stream: StreamKey,
    },
    /// A snapshot for a stream without events.
    #[error("could not journal a snapshot of stream {stream}: it has no founding event")]
    NoFounding {
        /// The stream.
        stream: StreamKey,
    },
}

/// An error of the store.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct StoreError(Box<redb::Error>);

impl StoreError {
    /// The I/O error behind it, if it is one.
    pub fn io(&self) -> Option<&std::io::Error> {
        if let redb::Error::Io(error) = &*self.0 {
            Some(error)
        } else {
            None
        }
    }
}

impl<E: Into<redb::Error>> From<E> for StoreError {
    fn from(error: E) -> StoreError {
        StoreError(Box::new(error.into()))
    }
}

fn check_length(stream: &StreamKey, bytes: &[u8]) -> Result<(), CommitError> {
    if stream.0.len() > STREAM_KEY_BYTES_MAX {
        return Err(CommitError::KeyTooLong {
            stream: stream.clone(),
        });
    }
    if bytes.len() > MESSAGE_BYTES_MAX {
        return Err(CommitError::TooLong {
            stream: stream.clone(),
            bytes: bytes.len(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
