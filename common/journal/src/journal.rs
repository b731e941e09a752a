//! The journal: streams of events in one directory, written in durable groups.

mod open;
mod scan;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use redb::{Database, Durability, Table, TableDefinition};
use thiserror::Error;

use crate::directory::{Acknowledged, DirectoryError, Lock};
use crate::guard::guarded;
use crate::layout::{
    CHUNK_BYTES_MAX, Draft, Kind, MESSAGE_BYTES_MAX, PART_BYTES, ROW_KEY_BYTES, RowKey,
    STREAM_KEY_BYTES_MAX, StreamKey, TOTALS_ROW, Totals, first_row, last_row,
};

pub use open::{OpenError, Opened, Options, open_read, remove_stream};
pub use scan::{Damage, History};

/// Rows of records, and at the end the totals, as `layout.rs` says.
const RECORDS: TableDefinition<'_, &[u8; ROW_KEY_BYTES], &[u8]> = TableDefinition::new("records");

/// The store's file in the directory.
const STORE_FILE: &str = "events.redb";

/// What a manager's one step, or a group of them, has recorded.
///
/// A snapshot stands for all events of its stream so far, this batch's own included. Forgetting
/// comes last: it removes the stream with its events and its snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Number by which the flush is reported. Rises from batch to batch.
    pub number: u64,
    /// Events in the order in which they happened, at most [`MESSAGE_BYTES_MAX`] each.
    pub events: Vec<(StreamKey, Vec<u8>)>,
    /// Snapshots of streams that have at least one event.
    pub snapshots: Vec<(StreamKey, Vec<u8>)>,
    /// Streams to remove. One that is not there is no error.
    pub forgotten: Vec<StreamKey>,
}

impl Batch {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.snapshots.is_empty() && self.forgotten.is_empty()
    }

    /// Bytes of all events and snapshots.
    pub fn payload_bytes(&self) -> usize {
        self.events
            .iter()
            .chain(&self.snapshots)
            .map(|(_, bytes)| bytes.len())
            .sum()
    }
}

/// An open journal. Its directory is locked until it is closed or dropped.
///
/// The directory holds the store `events.redb` and the small files `lock`, `version` and
/// `acknowledged`.
pub struct Journal {
    /// `None` once it is closed, or given up after a panic inside the store.
    store: Option<Database>,
    dir: PathBuf,
    acknowledged: Acknowledged,
    lock: Lock,
    streams: BTreeMap<StreamKey, Stream>,
    stream_id_next: u64,
    totals: Totals,
    /// A commit failed: memory and disk may differ.
    failed: bool,
}

/// What is kept in memory of a stream.
#[derive(Clone, Debug)]
struct Stream {
    id: u64,
    /// Number of the next event.
    number_next: u64,
    founding_crc: u32,
    /// Number and CRC sum of the records behind the founding one.
    n_records: u64,
    crc_sum: u64,
}

impl Journal {
    /// Makes the batches durable, in their order, with one flush for all of them. Either all of
    /// them are in the journal afterwards, or none.
    ///
    /// After an error the journal refuses to write: the caller ends, and starts again from what
    /// is on disk. That may or may not contain the batches of the failed call.
    pub fn commit(&mut self, batches: &[Batch]) -> Result<(), CommitError> {
        if self.failed {
            return Err(CommitError::AfterFailure);
        }
        if batches.iter().all(Batch::is_empty) {
            return Ok(());
        }
        self.failed = true;
        match guarded(|| self.write(batches)) {
            Ok(written) => written?,
            Err(message) => {
                // Its own locks may be poisoned, and dropping it could panic again.
                std::mem::forget(self.store.take());
                return Err(CommitError::Panicked { message });
            }
        }
        self.acknowledged.write(self.totals.n_commits)?;
        self.failed = false;
        Ok(())
    }

    /// Closes the store in order, so that the next start has nothing to repair.
    ///
    /// Dropping does the same and tells no error. All that was committed is safe without it.
    pub fn close(mut self) -> Result<(), CommitError> {
        self.close_store()
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Number of streams.
    pub fn n_streams(&self) -> usize {
        self.streams.len()
    }

    fn close_store(&mut self) -> Result<(), CommitError> {
        let Some(store) = self.store.take() else {
            return Ok(());
        };
        match guarded(|| store.close()) {
            Ok(closed) => closed.map_err(|e| CommitError::Store(e.into()))?,
            Err(message) => return Err(CommitError::Panicked { message }),
        }
        if !self.failed {
            self.acknowledged.sync()?;
            self.lock.release_clean();
        }
        Ok(())
    }

    fn write(&mut self, batches: &[Batch]) -> Result<(), CommitError> {
        let store = self.store.as_ref().ok_or(CommitError::AfterFailure)?;
        let mut transaction = store.begin_write().map_err(StoreError::from)?;
        transaction
            .set_durability(Durability::Immediate)
            .map_err(StoreError::from)?;
        {
            let records = transaction.open_table(RECORDS).map_err(StoreError::from)?;
            let mut writer = Writer {
                records,
                streams: &mut self.streams,
                stream_id_next: &mut self.stream_id_next,
                totals: &mut self.totals,
                open_chunks: BTreeMap::new(),
            };
            for batch in batches {
                writer.batch(batch)?;
            }
            writer.finish()?;
        }
        transaction.commit().map_err(StoreError::from)?;
        Ok(())
    }
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
    /// A file beside the store could not be written.
    #[error("could not note what the journal holds")]
    Directory(#[from] DirectoryError),
    /// The store panicked.
    #[error("the journal's store failed: {message}")]
    Panicked {
        /// What it said.
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
    /// A snapshot came for a stream without events.
    #[error("could not journal a snapshot of stream {stream}: it has no founding event")]
    NoFounding {
        /// The stream.
        stream: StreamKey,
    },
}

/// An error of the store, whichever that is.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct StoreError(Box<redb::Error>);

impl StoreError {
    /// The I/O error below, where it was one.
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

/// One transaction while it is put together.
struct Writer<'t, 'b> {
    records: Table<'t, &'static [u8; ROW_KEY_BYTES], &'static [u8]>,
    streams: &'b mut BTreeMap<StreamKey, Stream>,
    stream_id_next: &'b mut u64,
    totals: &'b mut Totals,
    /// Events that are not written yet, with the number of the first and their count: events of
    /// one stream go into one row, which costs a tenth of a row each.
    open_chunks: BTreeMap<&'b StreamKey, Chunk>,
}

struct Chunk {
    draft: Draft,
    number: u64,
    n_events: u64,
}

impl<'b> Writer<'_, 'b> {
    fn batch(&mut self, batch: &'b Batch) -> Result<(), CommitError> {
        for (stream, event) in &batch.events {
            check_length(stream, event)?;
            self.event(stream, event)?;
        }
        for (stream, snapshot) in &batch.snapshots {
            check_length(stream, snapshot)?;
            self.snapshot(stream, snapshot)?;
        }
        for stream in &batch.forgotten {
            self.forget(stream)?;
        }
        Ok(())
    }

    /// Writes the open chunks and the totals.
    fn finish(mut self) -> Result<(), CommitError> {
        while let Some((stream, chunk)) = self.open_chunks.pop_first() {
            self.write_chunk(stream, chunk)?;
        }
        self.totals.n_commits += 1;
        let totals = self.totals.to_bytes();
        self.records
            .insert(&TOTALS_ROW, totals.as_slice())
            .map_err(StoreError::from)?;
        Ok(())
    }

    fn event(&mut self, stream: &'b StreamKey, event: &[u8]) -> Result<(), CommitError> {
        if let Some(chunk) = self.open_chunks.get_mut(stream) {
            if chunk.draft.len() + event.len() <= CHUNK_BYTES_MAX {
                chunk.draft.push_event(event);
                chunk.n_events += 1;
                return Ok(());
            }
            let chunk = self.open_chunks.remove(stream).expect("it was found above");
            self.write_chunk(stream, chunk)?;
        }
        let Some(known) = self.streams.get(stream) else {
            return self.found(stream, event);
        };
        let mut draft = Draft::new(4 + event.len());
        draft.push_event(event);
        self.open_chunks.insert(
            stream,
            Chunk {
                draft,
                number: known.number_next,
                n_events: 1,
            },
        );
        Ok(())
    }

    fn found(&mut self, stream: &StreamKey, event: &[u8]) -> Result<(), CommitError> {
        let id = *self.stream_id_next;
        *self.stream_id_next += 1;
        let (bytes, founding_crc) = Draft::founding(stream, event).seal(stream, Kind::Founding, 0);
        self.write_record(id, Kind::Founding, 0, &bytes)?;
        self.totals.add(1, u64::from(founding_crc));
        let known = Stream {
            id,
            number_next: 1,
            founding_crc,
            n_records: 0,
            crc_sum: 0,
        };
        self.streams.insert(stream.clone(), known);
        Ok(())
    }

    fn snapshot(&mut self, stream: &StreamKey, snapshot: &[u8]) -> Result<(), CommitError> {
        let n_covered = self
            .open_chunks
            .remove(stream)
            .map_or(0, |chunk| chunk.n_events);
        let Some(known) = self.streams.get_mut(stream) else {
            return Err(CommitError::NoFounding {
                stream: stream.clone(),
            });
        };
        known.number_next += n_covered;
        let (id, number) = (known.id, known.number_next - 1);
        let (bytes, crc) = Draft::snapshot(snapshot).seal(stream, Kind::Snapshot, number);
        let (n_before, sum_before) = (known.n_records, known.crc_sum);
        (known.n_records, known.crc_sum) = (1, u64::from(crc));
        if n_before > 0 {
            self.remove_rows(id, Kind::Snapshot)?;
            self.totals.subtract(n_before, sum_before);
        }
        self.write_record(id, Kind::Snapshot, number, &bytes)?;
        self.totals.add(1, u64::from(crc));
        Ok(())
    }

    fn forget(&mut self, stream: &StreamKey) -> Result<(), CommitError> {
        self.open_chunks.remove(stream);
        if let Some(known) = self.streams.remove(stream) {
            self.remove_rows(known.id, Kind::Founding)?;
            self.totals.subtract(known.n_records, known.crc_sum);
            self.totals.subtract(1, u64::from(known.founding_crc));
        }
        Ok(())
    }

    fn write_chunk(&mut self, stream: &StreamKey, chunk: Chunk) -> Result<(), CommitError> {
        let known = self
            .streams
            .get_mut(stream)
            .expect("a chunk is opened for a known stream");
        let (bytes, crc) = chunk.draft.seal(stream, Kind::Chunk, chunk.number);
        known.number_next += chunk.n_events;
        known.n_records += 1;
        known.crc_sum = known.crc_sum.wrapping_add(u64::from(crc));
        let id = known.id;
        self.totals.add(1, u64::from(crc));
        self.write_record(id, Kind::Chunk, chunk.number, &bytes)
    }

    fn write_record(
        &mut self,
        stream_id: u64,
        kind: Kind,
        number: u64,
        bytes: &[u8],
    ) -> Result<(), CommitError> {
        for (part, bytes) in (0..).zip(bytes.chunks(PART_BYTES)) {
            let key = RowKey {
                stream_id,
                kind,
                number,
                part,
            }
            .to_bytes();
            self.records.insert(&key, bytes).map_err(StoreError::from)?;
        }
        Ok(())
    }

    fn remove_rows(&mut self, stream_id: u64, from: Kind) -> Result<(), CommitError> {
        let rows = first_row(stream_id, from)..=last_row(stream_id);
        self.records
            .retain_in::<&[u8; ROW_KEY_BYTES], _>(rows.start()..=rows.end(), |_, _| false)
            .map_err(StoreError::from)?;
        Ok(())
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
