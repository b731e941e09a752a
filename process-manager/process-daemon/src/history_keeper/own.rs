//! The works of a process manager of a grid: in a file of its own, which a thread adds to.
//!
//! The file is beside the journal and nothing depends on it: what is added is not flushed, and damaged parts of it are
//! passed over. What is forgotten is durable before whoever asked is told.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use history::{Batch, Key, Record, Seen};
use journal::Records;
use model::Mono;
use process_core::{ForgetRequest, Input};
use shell::Inbox;

use super::gatherer::Gatherer;
use crate::history_file::{COMPACTED_FROM, HistoryFile};

/// The file, in the directory of the manager.
const FILE: &str = "works";

/// The directory that had records of it until there was a file.
const EARLIER: &str = "history";

/// Added bytes from which the file is compacted while the manager runs: some 200,000 attempts, which a start reads in
/// some 20 ms.
const COMPACTED_AT_WORK_FROM: u64 = 8 << 20;

/// Orders that wait for the thread: it may be compacting, which takes some tens of milliseconds.
const ORDERS_MAX: usize = 64;

/// Orders to the thread.
enum Order {
    Add(Batch),
    Forget(Box<ForgetRequest>),
}

/// The works of a manager.
pub(crate) struct Own {
    gatherer: Gatherer,
    /// None only while it is dropped.
    orders: Option<SyncSender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl Own {
    /// Opens the file and returns what it has. What cannot be read is as if there were nothing.
    pub(super) fn open(
        directory: &Path,
        inbox: &Inbox<Input>,
    ) -> io::Result<(Own, Vec<(Key, Record)>)> {
        let path = directory.join(FILE);
        let file = HistoryFile::new(path.clone());
        take_over(directory, &file);
        let known = match file.all() {
            Ok(store) => {
                let known = store.all().map(|(key, record)| (key, record.clone()));
                known.collect()
            }
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "the history is not read");
                Vec::new()
            }
        };
        let (orders, ordered) = sync_channel(ORDERS_MAX);
        let writer = Writer {
            file,
            inbox: inbox.clone(),
            is_failing: false,
        };
        let thread = std::thread::Builder::new()
            .name("works".to_owned())
            .spawn(move || writer.run(&ordered))?;
        let own = Own {
            gatherer: Gatherer::default(),
            orders: Some(orders),
            thread: Some(thread),
        };
        Ok((own, known))
    }

    pub(super) fn keep(&mut self, key: &Key, seen: &Seen) {
        let now = shell::clock::mono();
        if self.gatherer.add(key, seen, now) {
            self.write(now);
        }
    }

    /// Forgets what is kept, and makes durable what stays: whoever has asked is told later. Gives the request back
    /// where the thread has too much to do.
    pub(super) fn forget(&mut self, request: Box<ForgetRequest>) -> Result<(), Box<ForgetRequest>> {
        self.gatherer.forget(&request);
        self.write(shell::clock::mono());
        match give(self.orders.as_ref(), Order::Forget(request)) {
            Ok(()) | Err(Order::Add(_)) => Ok(()),
            Err(Order::Forget(request)) => Err(request),
        }
    }

    pub(super) fn next_wakeup(&self) -> Option<Mono> {
        self.gatherer.due()
    }

    pub(super) fn wake(&mut self, now: Mono) {
        let orders = self.orders.as_ref();
        self.gatherer.wake(now, |batch| add(orders, batch));
    }

    fn write(&mut self, now: Mono) {
        let orders = self.orders.as_ref();
        self.gatherer.write(now, |batch| add(orders, batch));
    }
}

/// Orders a batch to be added, or gives it back: the thread has enough to do.
fn add(orders: Option<&SyncSender<Order>>, batch: Batch) -> Result<(), Batch> {
    match give(orders, Order::Add(batch)) {
        Ok(()) | Err(Order::Forget(_)) => Ok(()),
        Err(Order::Add(batch)) => Err(batch),
    }
}

/// Gives the thread an order, or gives it back.
fn give(orders: Option<&SyncSender<Order>>, order: Order) -> Result<(), Order> {
    let Some(orders) = orders else {
        return Err(order);
    };
    orders.try_send(order).map_err(|error| match error {
        TrySendError::Full(order) | TrySendError::Disconnected(order) => order,
    })
}

impl Drop for Own {
    fn drop(&mut self) {
        self.write(shell::clock::mono());
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread's part.
struct Writer {
    file: HistoryFile,
    inbox: Inbox<Input>,
    /// True from a failure on until something is written: it is told once.
    is_failing: bool,
}

impl Writer {
    fn run(mut self, orders: &Receiver<Order>) {
        self.compact_from(COMPACTED_FROM);
        while let Ok(order) = orders.recv() {
            match order {
                Order::Add(batch) => {
                    let added = self.file.add(&batch).map(|_| ());
                    self.tell(added);
                    self.compact_from(COMPACTED_AT_WORK_FROM);
                }
                Order::Forget(request) => {
                    let goes = |key: &Key| request.names(&key.owner, &key.definition);
                    let result = self.file.forget_where(goes).map(|_| ());
                    let result = result.map_err(|error| {
                        format!("what is forgotten may be known after a restart again: {error}")
                    });
                    self.inbox.tell(Input::HistoryForgotten(request, result));
                }
            }
        }
    }

    fn compact_from(&mut self, bytes: u64) {
        let added = self.file.added_bytes();
        if added.is_ok_and(|added| added >= bytes) {
            let compacted = self.file.forget_where(|_| false).map(|_| ());
            self.tell(compacted);
        }
    }

    fn tell(&mut self, result: io::Result<()>) {
        if let Err(error) = &result
            && !self.is_failing
        {
            tracing::warn!(%error, "works of activities are not remembered");
        }
        self.is_failing = result.is_err();
    }
}

/// Takes the records that earlier releases kept into the file, which is durable before they go.
fn take_over(directory: &Path, file: &HistoryFile) {
    let earlier = directory.join(EARLIER);
    if !earlier.is_dir() {
        return;
    }
    let taken = match directory.join(FILE).is_file() {
        true => Ok(()),
        false => read_records(&earlier)
            .and_then(|known| file.take_over(known).map_err(|error| error.to_string())),
    };
    let gone = taken.and_then(|()| fs::remove_dir_all(&earlier).map_err(|error| error.to_string()));
    if let Err(error) = gone {
        tracing::warn!(error, path = %earlier.display(), "the earlier history is not taken over");
    }
}

fn read_records(earlier: &Path) -> Result<Vec<(Key, Record)>, String> {
    let (_records, known, opened) = Records::open(earlier).map_err(|error| error.to_string())?;
    if let Some(aside) = opened.set_aside {
        return Err(aside.reason);
    }
    let known = known.into_iter().filter_map(|(key, value)| {
        let key = Key::decode(&key)?;
        let record = Record::decode(&key, &value)?;
        Some((key, record))
    });
    Ok(known.collect())
}

#[cfg(test)]
mod tests;
