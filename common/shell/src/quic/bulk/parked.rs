//! Partly received blobs of interrupted uploads, kept for a while so that their peers can continue.

use std::sync::Arc;

use model::{Mono, Span};

use super::give::blocking;
use super::{Arriving, Asked, Shared, lock, pause};
use crate::clock;
use crate::limits::BULK_PARKED_MAX;

/// Time for which a part is kept: a client continues within seconds, or within minutes if its
/// network was away. Until then the part takes disk space and a share of its peer's quota.
pub(super) const PARKED_TIME_MAX: Span = Span::from_secs(600);

/// Interval at which old parts are discarded.
const PARKED_LOOK: Span = Span::from_secs(60);

/// The parts of all peers, the oldest first.
#[derive(Default)]
pub(super) struct Parked(Vec<Part>);

/// A partly received blob and its announcement, which the depot has admitted.
pub(super) struct Part {
    /// The peer, the blob and the process.
    pub(super) asked: Asked,
    /// The announced size of the whole blob.
    pub(super) bytes: u64,
    /// The time of the interruption.
    pub(super) since: Mono,
    pub(super) arriving: Box<dyn Arriving>,
}

impl Parked {
    /// Keeps a part. If there are too many, the oldest one is returned, to be discarded.
    pub(super) fn put(&mut self, part: Part) -> Option<Part> {
        let is_full = self.0.len() >= BULK_PARKED_MAX;
        let oldest = is_full.then(|| self.0.remove(0));
        self.0.push(part);
        oldest
    }

    /// Takes the part that the same announcement continues. Any other one is a new upload, which
    /// the depot must admit.
    pub(super) fn take(&mut self, asked: &Asked, bytes: u64) -> Option<Box<dyn Arriving>> {
        let is_it = |part: &Part| part.bytes == bytes && part.asked == *asked;
        let at = self.0.iter().position(is_it)?;
        Some(self.0.remove(at).arriving)
    }

    /// Takes the parts of a blob that the same peer uploads anew.
    pub(super) fn take_replaced(&mut self, asked: &Asked) -> Vec<Part> {
        let is_replaced = |part: &mut Part| {
            let earlier = &part.asked;
            (&earlier.peer, earlier.hash) == (&asked.peer, asked.hash)
        };
        self.0.extract_if(.., is_replaced).collect()
    }

    /// Takes the parts that nobody has continued in time.
    pub(super) fn take_old(&mut self, now: Mono) -> Vec<Part> {
        let is_old = |part: &mut Part| now.since(part.since) >= PARKED_TIME_MAX;
        self.0.extract_if(.., is_old).collect()
    }
}

/// Keeps a part until its peer continues.
pub(super) async fn park(shared: &Shared, part: Part) {
    let oldest = lock(&shared.parked).put(part);
    discard(Vec::from_iter(oldest)).await;
}

/// Discards parts that nobody continues, as long as transfers are served.
pub(super) async fn discard_old(shared: Arc<Shared>) {
    loop {
        pause(PARKED_LOOK).await;
        let old = lock(&shared.parked).take_old(clock::mono());
        discard(old).await;
    }
}

/// Discards parts on a thread that may wait for the disk.
pub(super) async fn discard(parts: Vec<Part>) {
    if parts.is_empty() {
        return;
    }
    let discarded = blocking(move || {
        drop(parts);
        Ok(())
    });
    if let Err(error) = discarded.await {
        tracing::warn!(%error, "parts of files could not be discarded");
    }
}
