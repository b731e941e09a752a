//! Reading a whole journal: each checksum, each number, and the totals.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use redb::{Database, ReadableDatabase};
use thiserror::Error;

use super::{RECORDS, StoreError, Stored, Stream};
use crate::layout::{
    HEAD_BYTES, Head, Kind, ROW_KEY_BYTES, RowKey, StreamKey, TOTALS_ROW, Totals, checksum,
    read_chunk, read_founding, read_head,
};

/// One stream for replay: the founding event, the snapshot with its chapters, the events after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// The stream.
    pub stream: StreamKey,
    /// Its first event, kept as long as the stream.
    pub founding: Vec<u8>,
    /// Stands for the events between the founding one and the tail.
    pub snapshot: Option<Vec<u8>>,
    /// The chapters of the snapshot, by their numbers.
    pub chapters: BTreeMap<u32, Vec<u8>>,
    /// The events that the snapshot does not cover.
    pub tail: Vec<Vec<u8>>,
}

/// Damage in the middle of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place} in {} {what}: restore the directory from a copy{}", path.display(), remedy(.stream_id))]
pub struct Damage {
    /// The store's file.
    pub path: PathBuf,
    /// The event, snapshot or total, and its stream.
    pub place: String,
    /// The damage.
    pub what: &'static str,
    /// For [`remove_stream`](crate::remove_stream), if the damage is within one stream.
    pub stream_id: Option<u64>,
}

fn remedy(stream_id: &Option<u64>) -> String {
    stream_id.map_or_else(String::new, |id| {
        format!(", or remove this stream (number {id})")
    })
}

/// Why a scan ended early.
pub(super) enum ScanError {
    /// The store could not read.
    Store(StoreError),
    Damage(Damage),
}

impl<E: Into<redb::Error>> From<E> for ScanError {
    fn from(error: E) -> ScanError {
        ScanError::Store(error.into().into())
    }
}

/// Reads all rows in order, checks each record, and passes each stream to `visit`.
pub(super) fn scan(
    store: &Database,
    path: &Path,
    visit: &mut impl FnMut(History),
) -> Result<Stored, ScanError> {
    Scan {
        path,
        visit,
        current: None,
        stored: Stored::default(),
    }
    .run(store)
}

struct Scan<'p, F> {
    path: &'p Path,
    visit: &'p mut F,
    current: Option<Current>,
    stored: Stored,
}

/// The stream that is being read.
struct Current {
    history: History,
    stream: Stream,
}

impl<'p, F: FnMut(History)> Scan<'p, F> {
    fn run(mut self, store: &Database) -> Result<Stored, ScanError> {
        let records = store.begin_read()?.open_table(RECORDS)?;
        let mut rows = records.range::<&[u8; ROW_KEY_BYTES]>(..&TOTALS_ROW)?;
        while let Some(row) = rows.next() {
            let (key, value) = row?;
            let Some(key) = RowKey::from_bytes(key.value()) else {
                return Err(self.damage(None, "a row", "has a key that is never written"));
            };
            let place = || place(&self.current, key);
            if key.part != 0 {
                return Err(self.damage(Some(key), &place(), "lacks its beginning"));
            }
            let Some(head) = read_head(value.value()) else {
                return Err(self.damage(Some(key), &place(), "has an impossible length"));
            };
            let mut record = value.value().to_vec();
            drop(value);
            let mut part = 0;
            while record.len() < HEAD_BYTES + head.length {
                part += 1;
                let Some(row) = rows.next() else {
                    return Err(self.damage(Some(key), &place(), "lacks its end"));
                };
                let (next, value) = row?;
                if RowKey::from_bytes(next.value()) != Some(RowKey { part, ..key }) {
                    return Err(self.damage(Some(key), &place(), "lacks its end"));
                }
                record.extend_from_slice(value.value());
            }
            if record.len() != HEAD_BYTES + head.length {
                return Err(self.damage(Some(key), &place(), "has a wrong length"));
            }
            self.record(key, head, &record[HEAD_BYTES..])?;
        }
        self.end_stream();
        let stored = records.get(&TOTALS_ROW)?;
        let stored = stored.and_then(|row| Totals::from_bytes(row.value()));
        let Some(stored) = stored else {
            return Err(self.damage(None, "the row of totals", "is damaged"));
        };
        self.stored.totals.n_commits = stored.n_commits;
        if self.stored.totals != stored {
            return Err(self.damage(
                None,
                "the set of records",
                "is not the one that was last written: rows are missing or come from an older commit",
            ));
        }
        Ok(self.stored)
    }

    /// Handles one complete record.
    fn record(&mut self, key: RowKey, head: Head, payload: &[u8]) -> Result<(), ScanError> {
        let crc = head.crc;
        if key.kind == Kind::Founding {
            self.end_stream();
            let read = head.form.read(payload);
            let Some((stream, event)) = read.as_deref().and_then(read_founding) else {
                return Err(self.damage(Some(key), &place(&None, key), "is damaged"));
            };
            self.check(key, head, payload, &stream)?;
            if key.number != 0 || self.stored.streams.contains_key(&stream) {
                return Err(self.damage(Some(key), &place(&None, key), "is there twice"));
            }
            let state = Stream {
                id: key.stream_id,
                number_next: 1,
                founding_crc: crc,
                n_records: 0,
                crc_sum: 0,
                chapters: BTreeMap::new(),
            };
            let history = History {
                stream,
                founding: event.to_vec(),
                snapshot: None,
                chapters: BTreeMap::new(),
                tail: Vec::new(),
            };
            self.current = Some(Current {
                history,
                stream: state,
            });
        } else {
            let stream = match &self.current {
                Some(current) if current.stream.id == key.stream_id => {
                    current.history.stream.clone()
                }
                Some(_) | None => {
                    let place = format!("the founding event of stream number {}", key.stream_id);
                    return Err(self.damage(Some(key), &place, "is missing"));
                }
            };
            self.check(key, head, payload, &stream)?;
            let Some(read) = head.form.read(payload) else {
                let place = place(&self.current, key);
                return Err(self.damage(Some(key), &place, "has a form that is never written"));
            };
            self.follower(key, crc, &read)?;
        }
        self.stored.totals.add(1, u64::from(crc));
        Ok(())
    }

    /// Handles a snapshot, a chunk or a chapter of the current stream with a correct checksum.
    fn follower(&mut self, key: RowKey, crc: u32, payload: &[u8]) -> Result<(), ScanError> {
        let current = self
            .current
            .as_mut()
            .expect("the caller has compared the stream");
        if key.kind == Kind::Chapter {
            let Ok(number) = u32::try_from(key.number) else {
                let place = place(&self.current, key);
                return Err(self.damage(Some(key), &place, "has a number that is never written"));
            };
            current.history.chapters.insert(number, payload.to_vec());
            current.stream.chapters.insert(number, crc);
            return Ok(());
        }
        if key.kind == Kind::Snapshot {
            if current.history.snapshot.is_some() || key.number == u64::MAX {
                let place = place(&self.current, key);
                return Err(self.damage(Some(key), &place, "is there twice"));
            }
            current.history.snapshot = Some(payload.to_vec());
            current.stream.number_next = key.number + 1;
        } else {
            let expected = current.stream.number_next;
            let events = read_chunk(payload).filter(|_| key.number == expected);
            let Some(events) = events else {
                let place = place(
                    &self.current,
                    RowKey {
                        number: expected,
                        ..key
                    },
                );
                return Err(self.damage(Some(key), &place, "is missing"));
            };
            current.stream.number_next += events.len() as u64;
            current.history.tail.extend(events);
        }
        current.stream.n_records += 1;
        current.stream.crc_sum = current.stream.crc_sum.wrapping_add(u64::from(crc));
        Ok(())
    }

    fn end_stream(&mut self) {
        if let Some(Current { history, stream }) = self.current.take() {
            self.stored.stream_id_next = stream.id.saturating_add(1);
            self.stored.streams.insert(history.stream.clone(), stream);
            (self.visit)(history);
        }
    }

    fn check(
        &self,
        key: RowKey,
        head: Head,
        payload: &[u8],
        stream: &StreamKey,
    ) -> Result<(), ScanError> {
        if checksum(stream, (key.kind, head.form), key.number, payload) == head.crc {
            return Ok(());
        }
        Err(self.damage(
            Some(key),
            &place(&self.current, key),
            "is damaged (wrong checksum)",
        ))
    }

    fn damage(&self, key: Option<RowKey>, place: &str, what: &'static str) -> ScanError {
        ScanError::Damage(Damage {
            path: self.path.to_owned(),
            place: place.to_owned(),
            what,
            stream_id: key.map(|key| key.stream_id),
        })
    }
}

/// Describes a record for people: the event and its stream.
fn place(current: &Option<Current>, key: RowKey) -> String {
    let stream = current
        .as_ref()
        .filter(|current| current.stream.id == key.stream_id)
        .map_or_else(
            || format!("number {}", key.stream_id),
            |current| current.history.stream.to_string(),
        );
    match key.kind {
        Kind::Founding => format!("event 0 of stream {stream}"),
        Kind::Snapshot => format!("the snapshot at event {} of stream {stream}", key.number),
        Kind::Chunk => format!("event {} of stream {stream}", key.number),
        Kind::Chapter => format!("chapter {} of stream {stream}", key.number),
    }
}
