//! The lease of one process manager, and the requests for it.

use std::collections::BTreeMap;

use model::{Mono, Span};
use wire::lease;

/// Requests that may still be answered. More have been in flight for longer than a lease, or for a
/// quarter of a minute.
const ASKED_MAX: usize = 8;

/// The lease of a process manager.
#[derive(Debug, Default)]
pub(crate) struct ProcessLease {
    /// The time that an answer is worth, from the process manager's attachment.
    pub(crate) length: Span,
    /// When the attempts under it end; none without a lease.
    pub(crate) end: Option<End>,
    /// Send times of the requests that are not answered yet.
    asked: BTreeMap<u32, Mono>,
    /// The number of the last request.
    n_asked: u32,
    /// When the next request is due.
    pub(crate) next: Mono,
}

/// The end of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct End {
    pub(crate) until: Mono,
    /// When the executor must have stopped all of them.
    pub(crate) dead_by: Mono,
}

impl ProcessLease {
    /// Another epoch was announced to the process manager: earlier requests are void.
    pub(crate) fn ask_anew(&mut self, now: Mono) {
        self.asked.clear();
        self.next = now;
    }

    /// Returns the number of a request that is sent now.
    pub(crate) fn ask(&mut self, now: Mono) -> u32 {
        self.n_asked += 1;
        self.asked.insert(self.n_asked, now);
        if self.asked.len() > ASKED_MAX {
            self.asked.pop_first();
        }
        self.next = now + lease::period(self.length);
        self.n_asked
    }

    /// The send time of the answered request.
    pub(crate) fn answered(&mut self, number: u32) -> Option<Mono> {
        let sent = self.asked.get(&number).copied()?;
        self.asked = self.asked.split_off(&(number + 1));
        Some(sent)
    }

    /// Returns true if the lease ends later than before.
    pub(crate) fn extend(&mut self, now: Mono, end: End) -> bool {
        let is_later = end.until > now && self.end.is_none_or(|before| before < end);
        if is_later {
            self.end = Some(end);
        }
        is_later
    }
}
