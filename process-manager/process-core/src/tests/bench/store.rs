//! A store that takes a snapshot after each batch, with the chapters that have changed: what is read back
//! must be the state that the events give.

use std::collections::BTreeMap;

use machine::{Codec, Machine};

use crate::record::Event;
use crate::{Chapter, ProcessManager, Snapshot, State, Stream};

#[derive(Default)]
pub(in crate::tests) struct Store {
    streams: BTreeMap<Stream, Stored>,
}

struct Stored {
    founding: Event,
    /// Fed with the events alone.
    state: State,
    head: Vec<u8>,
    chapters: BTreeMap<u32, Vec<u8>>,
    /// Bytes of the last snapshot with the chapters that came with it.
    last: usize,
}

impl Store {
    /// Takes in a batch.
    pub(in crate::tests) fn take(&mut self, events: &[(Stream, Event)], forgotten: &[Stream]) {
        let mut touched: Vec<Stream> = Vec::new();
        for (stream, event) in events {
            let stored = self.streams.entry(*stream).or_insert_with(|| Stored {
                founding: event.clone(),
                state: State::default(),
                head: Vec::new(),
                chapters: BTreeMap::new(),
                last: 0,
            });
            ProcessManager::apply(&mut stored.state, event);
            touched.push(*stream);
        }
        touched.sort_unstable();
        touched.dedup();
        for stream in touched {
            let stored = self.streams.get_mut(&stream).expect("it was found above");
            stored.write();
        }
        forgotten.iter().for_each(|stream| {
            self.streams.remove(stream);
        });
    }

    /// Reads all streams back.
    pub(in crate::tests) fn check(&self) {
        for (stream, stored) in &self.streams {
            let (read, kept) = (stored.read(), &stored.state);
            let (read, kept) = (format!("{read:?}"), format!("{kept:?}"));
            assert_eq!(read, kept, "{stream:?} is not read as it was written");
        }
    }

    /// Bytes of the last snapshot of a stream, with the chapters that came with it.
    pub(in crate::tests) fn last(&self, stream: Stream) -> usize {
        self.streams[&stream].last
    }
}

impl Stored {
    fn write(&mut self) {
        self.head.clear();
        ProcessManager::snapshot(&self.state).encode(&mut self.head);
        self.last = self.head.len();
        for (number, chapter) in ProcessManager::take_chapters(&mut self.state) {
            let mut bytes = Vec::new();
            chapter.encode(&mut bytes);
            self.last += bytes.len();
            self.chapters.insert(number, bytes);
        }
    }

    fn read(&self) -> State {
        let mut state = State::default();
        ProcessManager::apply(&mut state, &self.founding);
        let head = Snapshot::decode(&self.head).unwrap();
        let chapters = self.chapters.iter();
        let chapters = chapters.map(|(&number, bytes)| (number, Chapter::decode(bytes).unwrap()));
        ProcessManager::restore(state, head, chapters.collect())
    }
}
