//! The rate limit of a link.

use model::{Mono, Span};

use crate::limits::{BULK_BURST, BULK_RATE_MAX};

/// A token bucket: within any time t, at most `rate * (t + burst)` bytes pass, and one piece.
/// Pieces pass in the order in which they ask.
#[derive(Debug)]
pub(super) struct Bucket {
    rate: Option<u64>,
    /// The time at which everything that has passed is paid for.
    paid: Mono,
}

impl Bucket {
    /// A bucket with a rate in bytes a second; without one everything passes.
    pub(super) fn new(rate: Option<u64>) -> Bucket {
        Bucket {
            rate: rate.map(|rate| rate.clamp(1, BULK_RATE_MAX)),
            paid: Mono(0),
        }
    }

    /// Takes bytes. They may pass after the returned wait.
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
