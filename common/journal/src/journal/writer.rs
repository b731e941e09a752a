//! Changes to the store: one transaction.

use std::collections::BTreeMap;

use redb::Table;

use super::{CommitError, StoreError, Stored, Stream};
use crate::layout::{
    CHUNK_BYTES_MAX, Draft, Kind, ROW_KEY_BYTES, RowKey, StreamKey, TOTALS_ROW, first_row,
    last_row, part_bytes,
};
use crate::tail::{Change, What};

/// One transaction that is being assembled.
pub(super) struct Writer<'t, 'b> {
    records: Table<'t, &'static [u8; ROW_KEY_BYTES], &'static [u8]>,
    stored: &'t mut Stored,
    /// Unwritten events, with the number of the first and their count: events of one stream go into
    /// one row, which costs a tenth of a row each.
    open_chunks: BTreeMap<&'b StreamKey, Chunk>,
}

struct Chunk {
    draft: Draft,
    number: u64,
    n_events: u64,
}

impl<'t, 'b> Writer<'t, 'b> {
    pub(super) fn new(
        records: Table<'t, &'static [u8; ROW_KEY_BYTES], &'static [u8]>,
        stored: &'t mut Stored,
    ) -> Writer<'t, 'b> {
        Writer {
            records,
            stored,
            open_chunks: BTreeMap::new(),
        }
    }

    pub(super) fn change(&mut self, (stream, what): Change<'b>) -> Result<(), CommitError> {
        match what {
            What::Found(event) | What::Event(event) => self.event(stream, event),
            What::Snapshot(snapshot) => self.snapshot(stream, snapshot),
            What::Chapter(number, chapter) => self.chapter(stream, number, chapter),
            What::Forget => self.forget(stream),
        }
    }

    /// Writes the open chunks, and totals that end at commit `n_commits`.
    pub(super) fn finish(mut self, n_commits: u64) -> Result<(), CommitError> {
        while let Some((stream, chunk)) = self.open_chunks.pop_first() {
            self.write_chunk(stream, chunk)?;
        }
        self.stored.totals.n_commits = n_commits;
        let totals = self.stored.totals.to_bytes();
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
        let Some(known) = self.stored.streams.get(stream) else {
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
        let id = self.stored.stream_id_next;
        self.stored.stream_id_next += 1;
        let (bytes, founding_crc) = Draft::founding(stream, event).seal(stream, Kind::Founding, 0);
        self.write_record(id, Kind::Founding, 0, &bytes)?;
        self.stored.totals.add(1, u64::from(founding_crc));
        let known = Stream {
            id,
            number_next: 1,
            founding_crc,
            n_records: 0,
            crc_sum: 0,
            chapters: BTreeMap::new(),
        };
        self.stored.streams.insert(stream.clone(), known);
        Ok(())
    }

    fn snapshot(&mut self, stream: &StreamKey, snapshot: &[u8]) -> Result<(), CommitError> {
        let n_covered = self
            .open_chunks
            .remove(stream)
            .map_or(0, |chunk| chunk.n_events);
        let Some(known) = self.stored.streams.get_mut(stream) else {
            return Err(CommitError::NoFounding {
                stream: stream.clone(),
            });
        };
        known.number_next += n_covered;
        let (id, number) = (known.id, known.number_next - 1);
        let (bytes, crc) = Draft::whole(snapshot).seal(stream, Kind::Snapshot, number);
        let (n_before, sum_before) = (known.n_records, known.crc_sum);
        (known.n_records, known.crc_sum) = (1, u64::from(crc));
        if n_before > 0 {
            self.remove_rows(id, Kind::Snapshot, Kind::Chunk)?;
            self.stored.totals.subtract(n_before, sum_before);
        }
        self.write_record(id, Kind::Snapshot, number, &bytes)?;
        self.stored.totals.add(1, u64::from(crc));
        Ok(())
    }

    /// Writes a chapter in place of the one with its number.
    fn chapter(
        &mut self,
        stream: &StreamKey,
        number: u32,
        chapter: &[u8],
    ) -> Result<(), CommitError> {
        let Some(known) = self.stored.streams.get_mut(stream) else {
            return Err(CommitError::NoFounding {
                stream: stream.clone(),
            });
        };
        let id = known.id;
        let (bytes, crc) = Draft::whole(chapter).seal(stream, Kind::Chapter, u64::from(number));
        if let Some(before) = known.chapters.insert(number, crc) {
            self.stored.totals.subtract(1, u64::from(before));
            let row = |part| RowKey {
                stream_id: id,
                kind: Kind::Chapter,
                number: u64::from(number),
                part,
            };
            let (first, last) = (row(0).to_bytes(), row(u32::MAX).to_bytes());
            self.remove(&first, &last)?;
        }
        self.write_record(id, Kind::Chapter, u64::from(number), &bytes)?;
        self.stored.totals.add(1, u64::from(crc));
        Ok(())
    }

    fn forget(&mut self, stream: &StreamKey) -> Result<(), CommitError> {
        self.open_chunks.remove(stream);
        if let Some(known) = self.stored.streams.remove(stream) {
            self.remove_rows(known.id, Kind::Founding, Kind::Chapter)?;
            for crc in known.chapters.into_values() {
                self.stored.totals.subtract(1, u64::from(crc));
            }
            self.stored.totals.subtract(known.n_records, known.crc_sum);
            self.stored
                .totals
                .subtract(1, u64::from(known.founding_crc));
        }
        Ok(())
    }

    fn write_chunk(&mut self, stream: &StreamKey, chunk: Chunk) -> Result<(), CommitError> {
        let known = self
            .stored
            .streams
            .get_mut(stream)
            .expect("a chunk is opened for a known stream");
        let (bytes, crc) = chunk.draft.seal(stream, Kind::Chunk, chunk.number);
        known.number_next += chunk.n_events;
        known.n_records += 1;
        known.crc_sum = known.crc_sum.wrapping_add(u64::from(crc));
        let id = known.id;
        self.stored.totals.add(1, u64::from(crc));
        self.write_record(id, Kind::Chunk, chunk.number, &bytes)
    }

    fn write_record(
        &mut self,
        stream_id: u64,
        kind: Kind,
        number: u64,
        bytes: &[u8],
    ) -> Result<(), CommitError> {
        for (part, bytes) in (0..).zip(bytes.chunks(part_bytes(bytes.len()))) {
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

    fn remove_rows(&mut self, stream_id: u64, from: Kind, to: Kind) -> Result<(), CommitError> {
        self.remove(&first_row(stream_id, from), &last_row(stream_id, to))
    }

    fn remove(
        &mut self,
        first: &[u8; ROW_KEY_BYTES],
        last: &[u8; ROW_KEY_BYTES],
    ) -> Result<(), CommitError> {
        self.records
            .retain_in::<&[u8; ROW_KEY_BYTES], _>(first..=last, |_, _| false)
            .map_err(StoreError::from)?;
        Ok(())
    }
}
