//! The works of embedded runs: in a file that all runs of a user share.

use std::path::PathBuf;

use history::{Batch, Key, Observed, Record, Seen, Store};
use model::{Mono, Work};

use super::gatherer::Gatherer;
use crate::history_file::HistoryFile;

/// What a run adds to the file of its user.
pub(crate) struct Shared {
    file: HistoryFile,
    factor: f64,
    keeps: bool,
    gatherer: Gatherer,
}

impl Shared {
    /// Reads what the file has of some definitions.
    pub(super) fn open(
        path: PathBuf,
        factor: f64,
        keeps: bool,
        definitions: &[String],
    ) -> (Shared, Vec<(Key, Record)>) {
        let file = HistoryFile::new(path.clone());
        let read = definitions.iter().map(|one| file.of_definition(one));
        let known = read.flat_map(|store| match store {
            Ok(store) => scaled(&store, factor),
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "the history is not read");
                Vec::new()
            }
        });
        let known = known.collect();
        let shared = Shared {
            file,
            factor,
            keeps,
            gatherer: Gatherer::default(),
        };
        (shared, known)
    }

    pub(super) fn keep(&mut self, key: &Key, seen: Seen) {
        if !self.keeps {
            return;
        }
        let there = |work: Work| Work((work.0 as f64 / self.factor).max(1.0) as u64);
        let seen = match seen {
            Seen::Attempt(seen) => Seen::Attempt(Observed {
                work: there(seen.work),
                ..seen
            }),
            Seen::Bodies(counted) => Seen::Bodies(counted),
        };
        let now = shell::clock::mono();
        if self.gatherer.add(key, &seen, now) {
            self.write(now);
        }
    }

    pub(super) fn next_wakeup(&self) -> Option<Mono> {
        self.gatherer.due()
    }

    pub(super) fn wake(&mut self, now: Mono) {
        let file = &self.file;
        self.gatherer.wake(now, |batch| add(file, batch));
    }

    fn write(&mut self, now: Mono) {
        let file = &self.file;
        self.gatherer.write(now, |batch| add(file, batch));
    }
}

/// Adds a batch, or gives it back: a compaction goes on, which takes a moment.
fn add(file: &HistoryFile, batch: Batch) -> Result<(), Batch> {
    match file.add(&batch) {
        Ok(true) => Ok(()),
        Ok(false) => Err(batch),
        Err(error) => {
            tracing::warn!(%error, "works of activities are not remembered");
            Ok(())
        }
    }
}

impl Drop for Shared {
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
