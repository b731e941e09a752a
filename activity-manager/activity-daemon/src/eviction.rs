//! Eviction keeps the blob store within its budget. Blobs of live processes stay; the least
//! recently used others go first.

use activity_blobs::Store;
use model::{Artifact, Bytes, ProcessId};

use crate::figures::Counts;

/// Eviction goes down to this part of the budget, in hundredths, so that the next files fit without
/// another search.
const LEFT_PER_CENT: u64 = 90;

/// The blobs of live processes.
#[derive(Clone, Debug)]
pub(crate) struct Pins(Store);

impl Pins {
    pub(crate) fn new(blobs: Store) -> Pins {
        Pins(blobs)
    }

    /// Pins artifacts for as long as their process has a grant or copies here.
    pub(crate) fn keep(&self, process: ProcessId, artifacts: &[Artifact]) {
        if let Err(error) = self.0.pin(process.0, artifacts) {
            // Evicted files are fetched or recomputed.
            tracing::warn!(%process, %error, "files of a process are not pinned");
        }
    }

    /// Releases the artifacts of a process.
    pub(crate) fn release(&self, process: ProcessId) {
        self.0.unpin(process.0);
    }
}

/// Evicts blobs of a store above its budget.
#[derive(Debug)]
pub(crate) struct Evictor {
    blobs: Store,
    budget: Bytes,
    /// The size that remained when everything evictable was gone.
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

    /// Evicts blobs if the store is above its budget.
    pub(crate) fn look(&mut self, counts: &Counts) {
        let size = self.blobs.size();
        // If nothing could be evicted, nothing can be until a blob is added or a process ends.
        if size <= self.budget || self.stuck_at == Some(size) {
            return;
        }
        // Blobs that are not durable are not evicted, and fetched ones need not be durable yet.
        if let Err(error) = self.blobs.flush() {
            tracing::error!(%error, "the blob store cannot be flushed");
            self.stuck_at = Some(size);
            return;
        }
        let target = Bytes(self.budget.0 / 100 * LEFT_PER_CENT);
        match self.blobs.evict(target) {
            Ok(evicted) => {
                counts.evicted(evicted.n_blobs as u64, evicted.bytes.0);
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
