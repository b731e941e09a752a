//! The count of requests that the executor has not answered.

use model::{Mono, Span};

/// Interval of requests to the executor.
pub(crate) const PERIOD: Span = Span::from_secs(1);

/// Requests to the executor, and its answers.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    next: Option<Mono>,
    asked: u64,
    answered: u64,
    /// Requests without an answer, or without an executor.
    pub(crate) n_missed: u32,
    pub(crate) is_silent: bool,
}

impl Watch {
    /// Takes an answer. Returns true if none is missing.
    pub(crate) fn answer(&mut self, number: u64) -> bool {
        self.answered = self.answered.max(number.min(self.asked));
        let is_last = self.answered == self.asked;
        if is_last {
            self.n_missed = 0;
        }
        is_last
    }

    /// The number of the next request.
    pub(crate) fn ask(&mut self) -> u64 {
        self.asked += 1;
        self.asked
    }

    /// Counts a second without an answer, or with one. The first second misses nothing.
    pub(crate) fn count(&mut self, now: Mono, is_ready: bool) {
        let is_first = self.next.is_none();
        self.next = Some(now + PERIOD);
        let is_missed = !is_ready || self.answered < self.asked;
        self.n_missed = if is_missed && !is_first {
            self.n_missed.saturating_add(1)
        } else {
            0
        };
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.is_silent
    }

    /// When the next request is due.
    pub(crate) fn due(&self) -> Option<Mono> {
        self.next
    }
}
