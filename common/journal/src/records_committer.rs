//! Records in a thread of their own, which nobody waits for.
//!
//! The thread writes, and pauses: a flush of the store costs more than all else that an activity costs a manager, and a
//! record that changes again meanwhile is written once. A crash loses what changed in the pause.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use thiserror::Error;

use crate::records::{Change, Records, RecordsError, check_record};

/// Number of waiting keys: some keys a machine for a group of 10,000, in at most 256 MiB.
const WAITING_RECORDS_MAX: usize = 65_536;

/// Records written with one flush: enough that the flush costs little a record.
const WRITE_RECORDS_MAX: usize = 256;

/// Those who wait for the disk at the same time: more than one request of each client of a manager.
const WAITERS_MAX: usize = 4_096;

/// Bytes of keys and values written with one flush: half of the store's segment of 512 KiB.
const WRITE_BYTES_MAX: usize = 256 << 10;

/// Pause after a write, unless somebody waits for the next one or there is enough for it.
const PAUSE: Duration = Duration::from_millis(250);

/// Owns [`Records`] in a thread. The newest value of a waiting key replaces the one before.
pub struct RecordsCommitter {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// Why a record was refused. It will be reported again, so this is for the log.
#[derive(Debug, Error)]
pub enum RecordsRefused {
    /// Too many keys wait.
    #[error("could not keep a record: {WAITING_RECORDS_MAX} others wait for the disk")]
    Full,
    /// Too many wait.
    #[error("could not wait for the disk: {WAITERS_MAX} others do")]
    Crowded,
    /// An earlier write failed, which was reported.
    #[error("could not keep a record: the repository has stopped")]
    Stopped,
    /// The record is too long.
    #[error(transparent)]
    Unfit(RecordsError),
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

/// Told when records are on disk, or will never be.
type Done = Box<dyn FnOnce(Result<(), RecordsRefused>) + Send>;

/// Changes by key: another value, or none.
type Changes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

#[derive(Default)]
struct Waiting {
    changes: Changes,
    /// Changes before those, of which somebody waits for the last one. They are written first.
    awaited: Changes,
    /// Those who wait for them, and for what is being written.
    waiters: Vec<Done>,
    /// True while the thread pauses after a write.
    pauses: bool,
    closing: bool,
    stopped: bool,
}

impl RecordsCommitter {
    /// Starts the thread. `failed` is called from it, at most once, with the error that ended it.
    pub fn start(
        records: Records,
        failed: impl FnOnce(RecordsError) + Send + 'static,
    ) -> io::Result<RecordsCommitter> {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("records".to_owned())
            .spawn(move || {
                if let Err(error) = run(records, &theirs) {
                    let mut waiting = theirs.lock();
                    waiting.stopped = true;
                    waiting.changes.clear();
                    waiting.awaited.clear();
                    let waiters = std::mem::take(&mut waiting.waiters);
                    drop(waiting);
                    waiters
                        .into_iter()
                        .for_each(|done| done(Err(RecordsRefused::Stopped)));
                    failed(error);
                }
            })?;
        Ok(RecordsCommitter {
            shared,
            thread: Some(thread),
        })
    }

    /// Queues a record, or with none its removal. Never waits for the disk.
    pub fn keep(&self, key: Vec<u8>, value: Option<Vec<u8>>) -> Result<(), RecordsRefused> {
        check_record(&key, value.as_deref()).map_err(RecordsRefused::Unfit)?;
        let mut waiting = self.shared.lock();
        if waiting.stopped {
            return Err(RecordsRefused::Stopped);
        }
        let n_waiting = waiting.changes.len() + waiting.awaited.len();
        if n_waiting >= WAITING_RECORDS_MAX && !waiting.changes.contains_key(&key) {
            return Err(RecordsRefused::Full);
        }
        waiting.changes.insert(key, value);
        let wakes = !waiting.pauses || waiting.is_urgent();
        drop(waiting);
        if wakes {
            self.shared.changed.notify_one();
        }
        Ok(())
    }

    /// Queues the removal of records, even where too many keys wait: there are no more removals than records.
    pub fn remove(&self, keys: impl IntoIterator<Item = Vec<u8>>) {
        let mut waiting = self.shared.lock();
        if waiting.stopped {
            return;
        }
        // A key that is too long is that of no record.
        let keys = keys.into_iter();
        let removed = keys.filter(|key| check_record(key, None).is_ok());
        let removed = removed.map(|key| (key, None));
        waiting.changes.extend(removed);
        drop(waiting);
        self.shared.changed.notify_one();
    }

    /// Has somebody told, from the thread, when all that was queued so far is on disk. Never waits for that.
    pub fn when_written(&self, done: impl FnOnce(Result<(), RecordsRefused>) + Send + 'static) {
        let mut waiting = self.shared.lock();
        let refused = match (waiting.stopped, waiting.waiters.len() >= WAITERS_MAX) {
            (true, _) => Some(RecordsRefused::Stopped),
            (false, true) => Some(RecordsRefused::Crowded),
            (false, false) => None,
        };
        if let Some(refused) = refused {
            drop(waiting);
            return done(Err(refused));
        }
        let newer = std::mem::take(&mut waiting.changes);
        waiting.awaited.extend(newer);
        waiting.waiters.push(Box::new(done));
        drop(waiting);
        self.shared.changed.notify_one();
    }

    /// Writes the waiting records and ends the thread. Dropping does the same.
    pub fn close(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.shared.lock().closing = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for RecordsCommitter {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Nothing panics while it holds the lock, and the map would be whole if something did.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pause(&self) {
        let mut waiting = self.lock();
        waiting.pauses = true;
        let paused = self
            .changed
            .wait_timeout_while(waiting, PAUSE, |waiting| !waiting.is_urgent());
        paused.unwrap_or_else(PoisonError::into_inner).0.pauses = false;
    }
}

fn run(mut records: Records, shared: &Shared) -> Result<(), RecordsError> {
    loop {
        let mut waiting = shared.lock();
        while waiting.is_idle() {
            if waiting.closing {
                return Ok(());
            }
            waiting = shared
                .changed
                .wait(waiting)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let changes = waiting.take();
        // Nothing that they wait for is left where these are the last changes.
        let told = match waiting.awaited.is_empty() {
            true => std::mem::take(&mut waiting.waiters),
            false => Vec::new(),
        };
        drop(waiting);
        let written = match changes.is_empty() {
            true => Ok(()),
            false => records.keep(&changes),
        };
        let is_written = written.is_ok();
        for done in told {
            done(match is_written {
                true => Ok(()),
                false => Err(RecordsRefused::Stopped),
            });
        }
        written?;
        shared.pause();
    }
}

impl Waiting {
    fn is_idle(&self) -> bool {
        self.changes.is_empty() && self.waiters.is_empty()
    }

    /// Returns true if the next write should not wait.
    fn is_urgent(&self) -> bool {
        self.closing || !self.waiters.is_empty() || self.changes.len() >= WRITE_RECORDS_MAX
    }

    /// The next changes to write: those that somebody waits for, else others.
    fn take(&mut self) -> Vec<Change> {
        match self.waiters.is_empty() {
            true => take_changes(&mut self.changes),
            false => take_changes(&mut self.awaited),
        }
    }
}

/// Takes the first waiting keys, within the limits of one write.
fn take_changes(waiting: &mut Changes) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut bytes = 0;
    while bytes < WRITE_BYTES_MAX && changes.len() < WRITE_RECORDS_MAX {
        let Some((key, value)) = waiting.pop_first() else {
            break;
        };
        bytes += key.len() + value.as_ref().map_or(0, Vec::len);
        changes.push((key, value));
    }
    changes
}

#[cfg(test)]
mod tests;
