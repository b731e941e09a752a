//! The encoding of a machine's events for the journal.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use journal::{CommitError, Journal, OpenError, Opened, Options, StreamKey};
use machine::{Batch, Codec, History, Machine};
use model::{Bytes, Span};
use thiserror::Error;

use crate::clock;
use crate::inbox::Inbox;
use crate::program::chain;

/// A journal and its content.
pub struct Store<M: Machine> {
    pub(crate) journal: Journal,
    pub(crate) histories: Vec<History<M>>,
    /// Findings at the opening, for the log.
    pub opened: Opened,
}

/// Why a manager's journal could not be used.
#[derive(Debug, Error)]
pub enum StoreError {
    /// It could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The content was not written by this program.
    #[error("could not understand {what} of stream {stream} in the journal")]
    Decode {
        /// The stream.
        stream: StreamKey,
        /// The part of the stream.
        what: String,
        /// The decoding error.
        #[source]
        source: minicbor::decode::Error,
    },
}

/// The treatment of a damaged journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damaged {
    /// Refuse to start: nobody else has its content.
    Refused,
    /// Set it aside and begin an empty one: others report its content again.
    SetAside,
}

/// A damaged journal that was set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// Its new path.
    pub path: PathBuf,
    /// The damage.
    pub why: String,
}

impl StoreError {
    /// Returns true if the error is damage to the stored data.
    fn is_damage(&self) -> bool {
        match self {
            StoreError::Open(error) => error.is_damage(),
            StoreError::Decode { .. } => true,
        }
    }
}

impl<M: Machine> Store<M> {
    /// [`Store::open_reserving`] with a treatment of damage. Also returns the journal that was set
    /// aside.
    pub fn open_despite(
        directory: &Path,
        reserve: Bytes,
        damaged: Damaged,
    ) -> Result<(Store<M>, Option<SetAside>), StoreError> {
        let error = match (Store::open_reserving(directory, reserve), damaged) {
            (Ok(store), _) => return Ok((store, None)),
            (Err(error), Damaged::SetAside) if error.is_damage() => error,
            (Err(error), _) => return Err(error),
        };
        let why = chain(&error);
        let path = journal::set_aside(directory).map_err(OpenError::from)?;
        tracing::warn!(why, path = %path.display(), "a damaged journal was put aside");
        let store = Store::open_reserving(directory, reserve)?;
        Ok((store, Some(SetAside { path, why })))
    }

    /// Opens the journal in a directory of its own, or creates it.
    pub fn open(directory: &Path) -> Result<Store<M>, StoreError> {
        Store::open_reserving(directory, Bytes::ZERO)
    }

    /// [`Store::open`] with bytes of the disk reserved for when it is full.
    pub fn open_reserving(directory: &Path, reserve: Bytes) -> Result<Store<M>, StoreError> {
        let mut histories = Vec::new();
        let mut wrong = None;
        let options = Options {
            reserve_bytes: reserve.0,
            ..Options::new(env!("CARGO_PKG_VERSION"))
        };
        let (journal, opened) = Journal::open_visiting(directory, &options, |history| {
            if wrong.is_none() {
                match decode(&history) {
                    Ok(history) => histories.push(history),
                    Err(error) => wrong = Some(error),
                }
            }
        })?;
        if let Some(error) = wrong {
            return Err(error);
        }
        if opened.unclean || opened.tail_cut {
            tracing::warn!(directory = %directory.display(), ?opened, "the journal was left unclean");
        }
        Ok(Store {
            journal,
            histories,
            opened,
        })
    }
}

/// Reads a journal that no program has open: for requests about a manager that does not run.
pub fn read_only<M: Machine>(directory: &Path) -> Result<Vec<History<M>>, StoreError> {
    let (histories, _) = journal::open_read(directory)?;
    histories.iter().map(decode).collect()
}

fn decode<M: Machine>(history: &journal::History) -> Result<History<M>, StoreError> {
    let wrong = |what: String| {
        let stream = history.stream.clone();
        move |source| StoreError::Decode {
            stream,
            what,
            source,
        }
    };
    let event = |bytes: &[u8], number: usize| {
        M::Event::decode(bytes).map_err(wrong(format!("event {number}")))
    };
    Ok(History {
        stream: M::Stream::decode(&history.stream.0).map_err(wrong("the name".to_owned()))?,
        founding: event(&history.founding, 0)?,
        snapshot: match &history.snapshot {
            Some(bytes) => {
                Some(M::Snapshot::decode(bytes).map_err(wrong("the snapshot".to_owned()))?)
            }
            None => None,
        },
        chapters: history
            .chapters
            .iter()
            .map(|(&number, bytes)| {
                let chapter = M::Chapter::decode(bytes);
                let chapter = chapter.map_err(wrong(format!("chapter {number}")));
                chapter.map(|chapter| (number, chapter))
            })
            .collect::<Result<_, _>>()?,
        tail: (1..)
            .zip(&history.tail)
            .map(|(number, bytes)| event(bytes, number))
            .collect::<Result<_, _>>()?,
    })
}

/// Encodes a batch for the journal.
pub(crate) fn encode<M: Machine>(batch: &Batch<M>) -> journal::Batch {
    fn bytes(value: &impl Codec) -> Vec<u8> {
        let mut out = Vec::new();
        value.encode(&mut out);
        out
    }
    let key = |stream: &M::Stream| StreamKey(bytes(stream));
    journal::Batch {
        number: batch.number,
        events: batch
            .events
            .iter()
            .map(|(s, event)| (key(s), bytes(event)))
            .collect(),
        snapshots: batch
            .snapshots
            .iter()
            .map(|(s, snap)| (key(s), bytes(snap)))
            .collect(),
        chapters: batch
            .chapters
            .iter()
            .map(|(s, number, chapter)| (key(s), *number, bytes(chapter)))
            .collect(),
        forgotten: batch.forgotten.iter().map(key).collect(),
    }
}

/// A journal that returns from its flush.
pub(crate) struct Committed {
    pub(crate) journal: Journal,
    /// All batches up to this number are durable, unless there was an error.
    pub(crate) number: u64,
    /// The time that the flush took.
    pub(crate) took: Span,
    pub(crate) result: Result<(), CommitError>,
}

/// A thread that flushes a journal while the loop goes on stepping.
pub(crate) struct Flusher {
    queue: Option<SyncSender<(Journal, Vec<journal::Batch>)>>,
    thread: Option<JoinHandle<()>>,
}

impl Flusher {
    /// Starts the thread, which sleeps until it gets a journal.
    pub(crate) fn start<I: Send + 'static>(name: &str, back: Inbox<I>) -> io::Result<Flusher> {
        let (queue, given) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name(format!("{name}-flush"))
            .spawn(move || flush_all(&given, &back))?;
        Ok(Flusher {
            queue: Some(queue),
            thread: Some(thread),
        })
    }

    /// Passes a journal and the batches to write. The journal returns through the inbox.
    pub(crate) fn give(&self, journal: Journal, batches: Vec<journal::Batch>) {
        let queue = self.queue.as_ref().expect("only drop takes it");
        // The thread ends only after the queue, so it exists. Without it the loop would wait for
        // the journal for ever, and no caller could help.
        queue
            .send((journal, batches))
            .expect("the flushing thread lives as long as its queue");
    }
}

fn flush_all<I>(given: &Receiver<(Journal, Vec<journal::Batch>)>, back: &Inbox<I>) {
    while let Ok((mut journal, batches)) = given.recv() {
        let number = batches.last().map_or(0, |batch| batch.number);
        let begun = clock::mono();
        let result = journal.commit(&batches);
        back.give_back(Committed {
            journal,
            number,
            took: clock::mono().since(begun),
            result,
        });
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // The panic hook has reported the panic; the journal is lost with it.
            let _ = thread.join();
        }
    }
}
