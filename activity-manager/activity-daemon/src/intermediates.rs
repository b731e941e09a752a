//! The files of processes that discard what nobody needs any more: who has them here, so that they can be
//! deleted while the process runs. Files of all other processes stay until they are evicted.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use activity_blobs::{Dropped, Store, User};
use model::{ActivityId, Artifact, AttemptId, ProcessId};
use wire::attempt::Discard;

/// The users of the blobs of a store, as far as processes discard files.
#[derive(Clone, Debug)]
pub(crate) struct Intermediates {
    store: Store,
    /// Processes with a grant here that discard files: as many as have grants.
    processes: Arc<Mutex<BTreeSet<ProcessId>>>,
}

/// Files that a process manager wants deleted.
#[derive(Debug)]
pub(crate) struct ToDiscard {
    /// The process manager that gets the answer.
    pub(crate) to: u32,
    pub(crate) discard: Discard,
    /// The moment at which nobody else was known to need them: what is used later stays.
    pub(crate) moment: u64,
}

impl Intermediates {
    pub(crate) fn new(store: Store) -> Intermediates {
        Intermediates {
            store,
            processes: Arc::default(),
        }
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// A process discards files.
    pub(crate) fn note(&self, process: ProcessId) {
        self.lock().insert(process);
    }

    /// A process has no grant here any more.
    pub(crate) fn release(&self, process: ProcessId) {
        self.lock().remove(&process);
    }

    /// An attempt has made these artifacts.
    pub(crate) fn made(&self, attempt: AttemptId, artifacts: &[Artifact]) {
        let maker = Some((attempt.activity.0, attempt.number));
        self.used(attempt.process, maker, artifacts);
    }

    /// A process is given these artifacts here.
    pub(crate) fn given(&self, process: ProcessId, artifacts: &[Artifact]) {
        self.used(process, None, artifacts);
    }

    /// A machine keeps a copy of what this attempt has made; without a number, its process discards
    /// nothing.
    pub(crate) fn copied(
        &self,
        process: ProcessId,
        (activity, number): (ActivityId, Option<u32>),
        artifacts: &[Artifact],
    ) {
        match number {
            Some(number) => {
                let owner = process.0;
                let maker = Some((activity.0, number));
                self.store.note_user(User { owner, maker }, artifacts);
            }
            None => self.store.share(artifacts),
        }
    }

    fn used(&self, process: ProcessId, maker: Option<(u32, u32)>, artifacts: &[Artifact]) {
        if artifacts.is_empty() {
            return;
        }
        let discards = self.lock().contains(&process);
        match discards {
            true => {
                let owner = process.0;
                self.store.note_user(User { owner, maker }, artifacts);
            }
            false => self.store.share(artifacts),
        }
    }

    /// Deletes files that nobody else has. Returns false if that is to be tried again.
    pub(crate) fn discard(&self, wanted: &ToDiscard) -> bool {
        let Discard { made_by, artifacts } = &wanted.discard;
        let maker = (made_by.activity.0, made_by.number);
        let owner = made_by.process.0;
        let dropped = self.store.drop_made(owner, maker, artifacts, wanted.moment);
        match dropped {
            Ok(Dropped::Done) => true,
            Ok(Dropped::Held) => false,
            Err(error) => {
                // It is left to the eviction.
                tracing::warn!(attempt = %made_by, %error, "a file could not be deleted");
                true
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<ProcessId>> {
        // Nothing panics while it holds the lock.
        self.processes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
