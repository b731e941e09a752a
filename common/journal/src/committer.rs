//! A journal in a thread of its own, which makes all waiting batches durable with one flush.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::thread::JoinHandle;

use thiserror::Error;

use crate::journal::{Batch, CommitError, Journal};

/// Number of waiting batches. A driver has one or two in progress, so a full queue means that the
/// disk does not keep up, and the driver should stop reading.
const QUEUE_BATCHES_MAX: usize = 64;

/// Bytes of a group of batches above which no batch is added, so that the first one does not wait
/// too long for the last.
const GROUP_BYTES_MAX: usize = 8 << 20;

/// The committer's reports, in this order: any number of `Flushed`, at most one `Failed`.
#[derive(Debug)]
pub enum Report {
    /// All batches up to this number are durable.
    Flushed(u64),
    /// The journal could not be written, and accepts no more.
    Failed(CommitError),
}

/// Why a batch was refused.
#[derive(Debug, Error)]
pub enum Refused {
    /// The queue is full. Returns the batch.
    #[error("could not queue a batch: the journal does not keep up")]
    Full(Batch),
    /// An earlier commit failed, which was reported.
    #[error("could not queue a batch: the journal has stopped")]
    Stopped,
}

/// Owns a [`Journal`] in a thread. Batches are committed in order.
pub struct Committer {
    queue: Option<SyncSender<Batch>>,
    thread: Option<JoinHandle<Journal>>,
}

impl Committer {
    /// Starts the thread. `report` is called from it, and should only pass the report on.
    pub fn start(
        journal: Journal,
        report: impl FnMut(Report) + Send + 'static,
    ) -> io::Result<Committer> {
        let (queue, batches) = sync_channel(QUEUE_BATCHES_MAX);
        let thread = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || run(journal, &batches, report))?;
        Ok(Committer {
            queue: Some(queue),
            thread: Some(thread),
        })
    }

    /// Queues a batch, and waits while the queue is full.
    pub fn commit(&self, batch: Batch) -> Result<(), Refused> {
        self.queue().send(batch).map_err(|_| Refused::Stopped)
    }

    /// Queues a batch, or returns it if the queue is full.
    pub fn try_commit(&self, batch: Batch) -> Result<(), Refused> {
        self.queue().try_send(batch).map_err(|error| match error {
            TrySendError::Full(batch) => Refused::Full(batch),
            TrySendError::Disconnected(_) => Refused::Stopped,
        })
    }

    /// Makes queued batches durable and reports them, ends the thread, and returns the journal.
    ///
    /// None if the thread ended by a panic of `report`.
    pub fn close(mut self) -> Option<Journal> {
        self.queue = None;
        self.thread.take().and_then(|thread| thread.join().ok())
    }

    fn queue(&self) -> &SyncSender<Batch> {
        self.queue.as_ref().expect("only close and drop take it")
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(mut journal: Journal, batches: &Receiver<Batch>, mut report: impl FnMut(Report)) -> Journal {
    let mut group = Vec::new();
    while let Ok(first) = batches.recv() {
        take_group(first, batches, &mut group);
        let number = group.last().map_or(0, |batch| batch.number);
        match journal.commit(&group) {
            Ok(()) => report(Report::Flushed(number)),
            Err(error) => {
                report(Report::Failed(error));
                break;
            }
        }
    }
    journal
}

/// Takes waiting batches after `first`, within the limits of one group.
fn take_group(first: Batch, batches: &Receiver<Batch>, group: &mut Vec<Batch>) {
    group.clear();
    let mut bytes = first.payload_bytes();
    group.push(first);
    while bytes < GROUP_BYTES_MAX && group.len() < QUEUE_BATCHES_MAX {
        match batches.try_recv() {
            Ok(batch) => {
                bytes += batch.payload_bytes();
                group.push(batch);
            }
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => return,
        }
    }
}

#[cfg(test)]
mod tests;
