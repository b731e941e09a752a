//! Keeps the blob store within its budget. What live processes have made or been given here stays;
//! what nobody has needed for longest goes first.

use activity_blobs::Store;
use model::{Artifact, Bytes, ProcessId};

/// Parts of the budget, in hundredths, down to which is evicted at once: the next files have room
/// without another look through the store.
const LEFT_PER_CENT: u64 = 90;

/// The blobs of live processes.
#[derive(Clone, Debug)]
pub(crate) struct Pins(Store);

impl Pins {
    pub(crate) fn new(blobs: Store) -> Pins {
        Pins(blobs)
    }

    /// A process needs these for as long as it has leave here, or copies here.
    pub(crate) fn keep(&self, process: ProcessId, artifacts: &[Artifact]) {
        if let Err(error) = self.0.pin(process.0, artifacts) {
            // Should they be evicted, they are fetched or made again.
            tracing::warn!(%process, %error, "files of a process are not pinned");
        }
    }

    /// A process needs nothing here any more.
    pub(crate) fn release(&self, process: ProcessId) {
        self.0.unpin(process.0);
    }
}

/// Looks after the size of a store.
#[derive(Debug)]
pub(crate) struct Evictor {
    blobs: Store,
    budget: Bytes,
    /// What was left when all that may go had gone.
    stuck_at: Option<Bytes>,
}

impl Evictor {
    pub(crate) fn new(blobs: Store, budget: Bytes) -> Evictor {
        Evictor {
            blobs,
            budget,
            stuck_at: None,
        }
    }

    /// Evicts where there is more than the budget.
    pub(crate) fn look(&mut self) {
        let size = self.blobs.size();
        // Where nothing could go, nothing can until something comes or a process ends.
        if size <= self.budget || self.stuck_at == Some(size) {
            return;
        }
        // What is not durable is not evicted, and what was fetched need not have become so.
        if let Err(error) = self.blobs.flush() {
            tracing::error!(%error, "the blob store cannot be flushed");
            self.stuck_at = Some(size);
            return;
        }
        let target = Bytes(self.budget.0 / 100 * LEFT_PER_CENT);
        match self.blobs.evict(target) {
            Ok(evicted) => {
                tracing::info!(blobs = evicted.n_blobs, bytes = %evicted.bytes, left = %evicted.bytes_left, "evicted");
                self.stuck_at = (evicted.n_blobs == 0).then_some(evicted.bytes_left);
            }
            Err(error) => {
                tracing::error!(%error, "the blob store cannot be made smaller");
                self.stuck_at = Some(size);
            }
        }
    }
}

#[cfg(test)]
mod tests;
