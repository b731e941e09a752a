//! A manager's disk: what was flushed, as bytes, and the state that these bytes stand for.

use std::collections::BTreeMap;
use std::fmt::Debug;

use machine::{Batch, Codec, Drive, History, Machine};

use crate::observe::LongTail;

/// The durable data of a manager. Beside the bytes lies a shadow of the state: fed with the same
/// events, once each, and never with a snapshot. A replay must give the same.
pub(crate) struct Disk<M: Machine> {
    streams: BTreeMap<M::Stream, Stream<M>>,
    snapshots: Snapshots,
}

/// The snapshots that a driver has taken, each with the chapters that came with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshots {
    /// Their number.
    pub n: u32,
    /// Bytes of all of them.
    pub bytes: usize,
    /// Bytes of the last one.
    pub last_bytes: usize,
}

impl<M: Machine> Disk<M> {
    /// A stream with more weight of events after its snapshot than a driver leaves there.
    pub(crate) fn long_tail(&self) -> Option<LongTail> {
        let of_driver = self.streams.values().filter(|kept| !kept.is_compacted);
        let tails = of_driver.map(|kept| LongTail {
            weight: kept.n_tail,
            most: machine::tail_max(M::weight(&kept.shadow)),
        });
        let mut long = tails.filter(|tail| tail.weight > tail.most);
        long.next()
    }
}

struct Stream<M: Machine> {
    founding: Vec<u8>,
    snapshot: Option<Vec<u8>>,
    /// The last chapter of each number.
    chapters: BTreeMap<u32, Vec<u8>>,
    tail: Vec<Vec<u8>>,
    /// The weight of the tail.
    n_tail: usize,
    /// True after a snapshot that the driver does not know: its own next one is due later.
    is_compacted: bool,
    shadow: M::State,
}

impl<M: Machine> Stream<M> {
    fn clear_tail(&mut self) {
        self.tail.clear();
        self.n_tail = 0;
    }
}

/// Events of streams, in the order in which they were recorded.
pub(crate) type Events<M> = Vec<(<M as Machine>::Stream, <M as Machine>::Event)>;

/// A batch as it goes to the disk.
pub(crate) struct Written<M: Machine> {
    pub(crate) number: u64,
    events: Vec<(M::Stream, Vec<u8>)>,
    snapshots: Vec<(M::Stream, Vec<u8>)>,
    chapters: Vec<(M::Stream, u32, Vec<u8>)>,
    forgotten: Vec<M::Stream>,
}

fn encoded<T: Codec>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.encode(&mut bytes);
    bytes
}

impl<M: Machine> Written<M> {
    pub(crate) fn new(batch: &Batch<M>) -> Written<M> {
        Written {
            number: batch.number,
            events: batch
                .events
                .iter()
                .map(|(stream, event)| (*stream, encoded(event)))
                .collect(),
            snapshots: batch
                .snapshots
                .iter()
                .map(|(stream, snapshot)| (*stream, encoded(snapshot)))
                .collect(),
            chapters: batch
                .chapters
                .iter()
                .map(|(stream, number, chapter)| (*stream, *number, encoded(chapter)))
                .collect(),
            forgotten: batch.forgotten.clone(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.snapshots.is_empty() && self.forgotten.is_empty()
    }
}

impl<M: Machine> Disk<M>
where
    M::State: Debug,
    M::Event: Debug,
{
    pub(crate) fn new() -> Disk<M> {
        Disk {
            streams: BTreeMap::new(),
            snapshots: Snapshots::default(),
        }
    }

    /// The snapshots so far.
    pub(crate) fn snapshots(&self) -> Snapshots {
        self.snapshots
    }

    /// The state that is durable.
    pub(crate) fn state(&self, stream: M::Stream) -> Option<&M::State> {
        self.streams.get(&stream).map(|kept| &kept.shadow)
    }

    /// A batch has become durable: its events as they are read back.
    pub(crate) fn take(&mut self, written: Written<M>) -> Result<Events<M>, String> {
        let mut events = Vec::with_capacity(written.events.len());
        for (stream, bytes) in written.events {
            let event = M::Event::decode(&bytes)
                .map_err(|error| format!("an event cannot be read back: {error}"))?;
            match self.streams.get_mut(&stream) {
                Some(kept) => {
                    M::apply(&mut kept.shadow, &event);
                    kept.tail.push(bytes);
                    kept.n_tail += M::event_weight(&event);
                }
                None => {
                    let mut shadow = M::State::default();
                    M::apply(&mut shadow, &event);
                    let kept = Stream {
                        founding: bytes,
                        snapshot: None,
                        chapters: BTreeMap::new(),
                        tail: Vec::new(),
                        n_tail: 0,
                        is_compacted: false,
                        shadow,
                    };
                    self.streams.insert(stream, kept);
                }
            }
            events.push((stream, event));
        }
        let chapters = written.chapters.iter().map(|(_, _, bytes)| bytes.len());
        let heads = written.snapshots.iter().map(|(_, bytes)| bytes.len());
        let bytes: usize = heads.chain(chapters).sum();
        if bytes > 0 {
            self.snapshots.n += 1;
            self.snapshots.bytes += bytes;
            self.snapshots.last_bytes = bytes;
        }
        for (stream, snapshot) in written.snapshots {
            if let Some(kept) = self.streams.get_mut(&stream) {
                kept.snapshot = Some(snapshot);
                kept.is_compacted = false;
                kept.clear_tail();
                // With those of this batch, all chapters here are as the state is.
                M::take_chapters(&mut kept.shadow);
            }
        }
        for (stream, number, chapter) in written.chapters {
            if let Some(kept) = self.streams.get_mut(&stream) {
                kept.chapters.insert(number, chapter);
            }
        }
        for stream in written.forgotten {
            self.streams.remove(&stream);
        }
        Ok(events)
    }

    /// Replaces the tail of each stream by a snapshot, as a driver may at any time.
    pub(crate) fn compact(&mut self) {
        for kept in self.streams.values_mut() {
            if !kept.tail.is_empty() {
                kept.snapshot = Some(encoded(&M::snapshot(&kept.shadow)));
                for (number, chapter) in M::take_chapters(&mut kept.shadow) {
                    kept.chapters.insert(number, encoded(&chapter));
                }
                kept.is_compacted = true;
                kept.clear_tail();
            }
        }
    }

    /// The histories that a start reads.
    pub(crate) fn histories(&self) -> Result<Vec<History<M>>, String> {
        let event = |bytes: &Vec<u8>| {
            M::Event::decode(bytes)
                .map_err(|error| format!("an event cannot be read back: {error}"))
        };
        let mut histories = Vec::with_capacity(self.streams.len());
        for (&stream, kept) in &self.streams {
            let snapshot = match &kept.snapshot {
                Some(bytes) => Some(
                    M::Snapshot::decode(bytes)
                        .map_err(|error| format!("a snapshot cannot be read back: {error}"))?,
                ),
                None => None,
            };
            let chapter = |(&number, bytes): (&u32, &Vec<u8>)| {
                M::Chapter::decode(bytes)
                    .map(|chapter| (number, chapter))
                    .map_err(|error| format!("chapter {number} cannot be read back: {error}"))
            };
            histories.push(History {
                stream,
                founding: event(&kept.founding)?,
                snapshot,
                chapters: kept
                    .chapters
                    .iter()
                    .map(chapter)
                    .collect::<Result<_, _>>()?,
                tail: kept.tail.iter().map(event).collect::<Result<_, _>>()?,
            });
        }
        Ok(histories)
    }

    /// Compares the states of a drive that has nothing unflushed with those that the events give.
    pub(crate) fn compare(&self, drive: &Drive<M>) -> Result<(), String> {
        let n_streams = drive.states().iter().count();
        if n_streams != self.streams.len() {
            return Err(format!(
                "{n_streams} streams, and {} on disk",
                self.streams.len()
            ));
        }
        for (stream, state) in drive.states().iter() {
            let (own, shadow) = (format!("{state:?}"), format!("{:?}", self.state(stream)));
            let shadow = shadow
                .strip_prefix("Some(")
                .and_then(|text| text.strip_suffix(')'));
            if Some(own.as_str()) != shadow {
                return Err(format!(
                    "the state of {stream:?} is not what its events give: {}",
                    difference(&own, shadow.unwrap_or("nothing"))
                ));
            }
        }
        Ok(())
    }
}

/// The place at which two texts begin to differ.
fn difference(one: &str, other: &str) -> String {
    const BEFORE: usize = 60;
    const AFTER: usize = 60;
    let common = one
        .bytes()
        .zip(other.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let cut = |text: &str| {
        let bytes = text.as_bytes();
        let from = common.saturating_sub(BEFORE);
        let to = (common + AFTER).min(bytes.len());
        String::from_utf8_lossy(bytes.get(from..to).unwrap_or_default()).into_owned()
    };
    format!("`{}` against `{}`", cut(one), cut(other))
}
