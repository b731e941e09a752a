//! How fast a link may be used.

use model::{Mono, Span};

use crate::limits::{BULK_BURST, BULK_RATE_MAX};

/// A token bucket: over any time t no more than `rate * (t + burst)` bytes pass, and one piece.
/// Pieces pass in the order in which they ask.
#[derive(Debug)]
pub(super) struct Bucket {
    rate: Option<u64>,
    /// When all that has passed will have taken its time.
    paid: Mono,
}

impl Bucket {
    /// One that lets so many bytes a second pass; all without a rate.
    pub(super) fn new(rate: Option<u64>) -> Bucket {
        Bucket {
            rate: rate.map(|rate| rate.clamp(1, BULK_RATE_MAX)),
            paid: Mono(0),
        }
    }

    /// Takes so many bytes. They pass after this wait.
    pub(super) fn take(&mut self, now: Mono, bytes: u64) -> Span {
        let Some(rate) = self.rate else {
            return Span::ZERO;
        };
        let cost = u128::from(bytes) * 1_000_000 / u128::from(rate);
        let start = self.paid.max(now);
        let wait = start.since(now + BULK_BURST);
        self.paid = start + Span(u64::try_from(cost).unwrap_or(u64::MAX));
        wait
    }
}
