//! The time for which owners of processes are not charged yet.

use model::{Mono, Now, Span};

/// When owners are charged.
#[derive(Debug, Default)]
pub(crate) struct Charging {
    /// The time of the present step.
    pub(crate) now: Now,
    /// Since when owners are to be charged.
    pub(crate) since: Mono,
    /// True if somebody holds slots.
    pub(crate) is_any_held: bool,
}

impl Charging {
    /// The time for which nobody was charged.
    pub(crate) fn uncharged(&self) -> Span {
        self.now.mono.since(self.since)
    }
}
