//! Requests of this program to its own core, and their answers.

use std::collections::BTreeMap;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use group_core::{GivenUp, Survey};
use wire::admin::Moment;

/// Longest time for an answer of the core: a batch and its flush.
const PATIENCE: Duration = Duration::from_secs(5);

/// The open requests by kind.
#[derive(Default)]
pub(crate) struct Questions {
    pub(crate) surveys: Open<Survey>,
    pub(crate) drained: Open<bool>,
    pub(crate) given_up: Open<GivenUp>,
    pub(crate) histories: Open<Option<Vec<Moment>>>,
}

/// Requests of one kind that wait for their answers.
pub(crate) struct Open<T>(Mutex<Asked<T>>);

struct Asked<T> {
    n_asked: u64,
    waiting: BTreeMap<u64, SyncSender<T>>,
}

impl<T> Default for Open<T> {
    fn default() -> Open<T> {
        Open(Mutex::new(Asked {
            n_asked: 0,
            waiting: BTreeMap::new(),
        }))
    }
}

impl<T> Open<T> {
    /// Sends a request and waits for the answer; none if it does not come in time.
    pub(crate) fn ask(&self, ask: impl FnOnce(u64)) -> Option<T> {
        let (sender, answer) = sync_channel(1);
        let question = {
            let mut asked = self.lock();
            asked.n_asked += 1;
            let question = asked.n_asked;
            asked.waiting.insert(question, sender);
            question
        };
        ask(question);
        let answer = answer.recv_timeout(PATIENCE).ok();
        self.lock().waiting.remove(&question);
        answer
    }

    /// Passes an answer to its request, if that still waits.
    pub(crate) fn answer(&self, question: u64, answer: T) {
        if let Some(sender) = self.lock().waiting.remove(&question) {
            let _ = sender.try_send(answer);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Asked<T>> {
        // Nothing panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
