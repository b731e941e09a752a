//! Keeps the works of activities beside the journal: nothing depends on them, so nothing waits for them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use history::{Batch, Key, Observed, Record, Seen, Store};
use journal::{Records, RecordsCommitter};
use model::{Mono, Span, Work};
use process_core::{ForgetRequest, Input, Remembered};
use shell::Inbox;

use crate::history_file::HistoryFile;

/// The time for which attempts wait to be written with others.
const GATHER: Span = Span::from_millis(100);

/// Attempts written at once: some 50 KB.
const GATHERED_MAX: usize = 1_024;

/// The place where works of activities are kept.
#[derive(Clone, Debug, Default)]
pub enum HistoryPlace {
    /// Nowhere.
    #[default]
    Nowhere,
    /// In records of the manager's own directory, by owner: those of a grid.
    Records,
    /// In a file that all runs of a user share.
    File {
        /// The file.
        path: PathBuf,
        /// Works here by works there: machines that are imitated may have any power.
        factor: f64,
        /// True if what this run takes is kept there: not if it tells nothing of the machine.
        keeps: bool,
        /// The definitions of which the file is read.
        definitions: Vec<String>,
    },
}

/// Keeps what an effect says.
pub(crate) enum HistoryKeeper {
    Nowhere,
    Records(RecordsCommitter, Inbox<Input>),
    File(Gatherer),
}

/// Attempts that wait to be written to a file.
pub(crate) struct Gatherer {
    file: HistoryFile,
    factor: f64,
    keeps: bool,
    batches: BTreeMap<String, Batch>,
    n_items: usize,
    due: Option<Mono>,
}

impl HistoryKeeper {
    /// Opens a place, and returns what it has. What cannot be read is as if there were nothing.
    pub(crate) fn open(
        place: &HistoryPlace,
        directory: &Path,
        inbox: &Inbox<Input>,
    ) -> (HistoryKeeper, Vec<(Key, Record)>) {
        match place {
            HistoryPlace::Nowhere => (HistoryKeeper::Nowhere, Vec::new()),
            HistoryPlace::Records => open_records(directory, inbox),
            HistoryPlace::File {
                path,
                factor,
                keeps,
                definitions,
            } => {
                let file = HistoryFile::new(path.clone());
                let read = definitions.iter().map(|one| file.of_definition(one));
                let known = read.flat_map(|store| match store {
                    Ok(store) => scaled(&store, *factor),
                    Err(error) => {
                        tracing::warn!(%error, path = %path.display(), "the history is not read");
                        Vec::new()
                    }
                });
                let known = known.collect();
                let gatherer = Gatherer {
                    file,
                    factor: *factor,
                    keeps: *keeps,
                    batches: BTreeMap::new(),
                    n_items: 0,
                    due: None,
                };
                (HistoryKeeper::File(gatherer), known)
            }
        }
    }

    pub(crate) fn keep(&mut self, remembered: Remembered) {
        let Remembered {
            key,
            seen,
            record,
            gone,
        } = remembered;
        match self {
            HistoryKeeper::Nowhere => {}
            HistoryKeeper::Records(records, _) => {
                // What stayed there would be unknown to the core, which could not forget it.
                records.remove(gone.iter().map(Key::encode));
                if let Err(error) = records.keep(key.encode(), Some(record.encode())) {
                    tracing::warn!(%error, "the work of an activity is not remembered");
                }
            }
            HistoryKeeper::File(gatherer) if !gatherer.keeps => {}
            HistoryKeeper::File(gatherer) => gatherer.gather(&key, &seen),
        }
    }

    /// Forgets what is kept under these names. Whoever has asked for it is told, by an input here or later.
    pub(crate) fn forget(
        &mut self,
        keys: &[Key],
        request: Option<ForgetRequest>,
        inputs: &mut Vec<Input>,
    ) {
        match self {
            HistoryKeeper::Nowhere => {
                // It was in memory alone.
                inputs.extend(request.map(|request| Input::HistoryForgotten(request, Ok(()))));
            }
            HistoryKeeper::Records(records, inbox) => {
                records.remove(keys.iter().map(Key::encode));
                let Some(request) = request else { return };
                let inbox = inbox.clone();
                records.when_written(move |result| {
                    let result = result.map_err(|error| {
                        let cause = error.to_string();
                        format!("what is forgotten may be known after a restart again: {cause}")
                    });
                    inbox.tell(Input::HistoryForgotten(request, result));
                });
            }
            HistoryKeeper::File(_) => {
                let why = "the history of embedded runs is in a file of their user, which `xav history --embedded --forget` changes";
                let refused = |request| Input::HistoryForgotten(request, Err(why.to_owned()));
                inputs.extend(request.map(refused));
            }
        }
    }

    pub(crate) fn next_wakeup(&self) -> Option<Mono> {
        match self {
            HistoryKeeper::Nowhere | HistoryKeeper::Records(..) => None,
            HistoryKeeper::File(gatherer) => gatherer.due,
        }
    }

    pub(crate) fn wake(&mut self, now: Mono) {
        if let HistoryKeeper::File(gatherer) = self
            && gatherer.due.is_some_and(|due| due <= now)
        {
            gatherer.write(now);
        }
    }
}

impl Gatherer {
    fn gather(&mut self, key: &Key, seen: &Seen) {
        let batch = self.batches.entry(key.definition.clone());
        let batch = batch.or_insert_with(|| Batch::new(&key.definition));
        let there = |work: Work| Work((work.0 as f64 / self.factor).max(1.0) as u64);
        let seen = match *seen {
            Seen::Attempt(seen) => Seen::Attempt(Observed {
                work: there(seen.work),
                ..seen
            }),
            Seen::Bodies(counted) => Seen::Bodies(counted),
        };
        batch.take(key, &seen);
        self.n_items += 1;
        if self.n_items >= GATHERED_MAX {
            self.write(shell::clock::mono());
        } else if self.due.is_none() {
            self.due = Some(shell::clock::mono() + GATHER);
        }
    }

    fn write(&mut self, now: Mono) {
        self.due = None;
        while let Some((definition, batch)) = self.batches.pop_first() {
            let n_items = batch.len();
            match self.file.add(&batch) {
                Ok(true) => {}
                // A compaction goes on, which takes a moment. What is too much for that is let go.
                Ok(false) if self.n_items < GATHERED_MAX => {
                    self.batches.insert(definition, batch);
                    self.due = Some(now + GATHER);
                    return;
                }
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(%error, "works of activities are not remembered");
                }
            }
            self.n_items -= n_items;
        }
    }
}

impl Drop for Gatherer {
    fn drop(&mut self) {
        self.write(shell::clock::mono());
        if let Err(error) = self.file.compact_if_long() {
            tracing::warn!(%error, "the history is not compacted");
        }
    }
}

/// All templates of a store in another unit of work.
fn scaled(store: &Store, factor: f64) -> Vec<(Key, Record)> {
    let all = store.all();
    all.map(|(key, record)| (key, record.scaled(factor)))
        .collect()
}

fn open_records(directory: &Path, inbox: &Inbox<Input>) -> (HistoryKeeper, Vec<(Key, Record)>) {
    let opened = Records::open(&directory.join("history"));
    let (records, known) = match opened {
        Ok((records, known, opened)) => {
            if let Some(aside) = opened.set_aside {
                tracing::warn!(
                    reason = aside.reason,
                    path = %aside.path.display(),
                    "the history of activities was in doubt and set aside"
                );
            }
            (records, known)
        }
        Err(error) => {
            tracing::warn!(%error, "works of activities are not remembered");
            return (HistoryKeeper::Nowhere, Vec::new());
        }
    };
    let stopped = |error: journal::RecordsError| {
        tracing::error!(%error, "works of activities are not remembered any more");
    };
    let known = known.into_iter().filter_map(|(key, value)| {
        let key = Key::decode(&key)?;
        let record = Record::decode(&key, &value)?;
        Some((key, record))
    });
    let known = known.collect();
    match RecordsCommitter::start(records, stopped) {
        Ok(committer) => (HistoryKeeper::Records(committer, inbox.clone()), known),
        Err(error) => {
            tracing::warn!(%error, "works of activities are not remembered");
            (HistoryKeeper::Nowhere, known)
        }
    }
}
