//! The process managers that wait, and how long slots that fit are kept for each.

use std::collections::BTreeMap;

use model::{Mono, ProcessId, Span};
use wire::group::{Need, WAITS_FOR};

/// Time for which slots that fit a process are kept for it at first: several round trips, and time to plan.
const KEPT_FOR: Span = Span::from_secs(1);
/// The same for one that has not claimed in time before. The time is doubled, since its plan may take long.
const KEPT_FOR_MAX: Span = Span::from_secs(64);

/// The process managers that wait, by their numbers: at most those that are attached.
#[derive(Debug, Default)]
pub(crate) struct Waiters(pub(crate) BTreeMap<u32, Waiter>);

/// A process manager that waits.
#[derive(Debug)]
pub(crate) struct Waiter {
    /// The process whose turn it is there.
    pub(crate) process: ProcessId,
    /// Its owner, by its name.
    pub(crate) owner: String,
    pub(crate) needs: Vec<Need>,
    /// When it began to wait, in microseconds of the clock of this manager, which may have begun later.
    pub(crate) since: i64,
    pub(crate) heard: Mono,
    pub(crate) keeping: Keeping,
    /// Time for which slots that fit are kept.
    pub(crate) kept_for: Span,
}

/// The slots that are kept for a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeping {
    /// They do not suffice.
    Gathers,
    /// They have sufficed since then, and it has not claimed them.
    Fits(Mono),
    /// None are kept until then: it has not claimed them in time.
    PassedOver(Mono),
}

impl Waiter {
    /// One for which nothing is kept yet.
    pub(crate) fn new(
        (process, owner): (ProcessId, String),
        needs: Vec<Need>,
        (heard, waited): (Mono, Span),
    ) -> Waiter {
        Waiter {
            process,
            owner,
            needs,
            since: heard.0.cast_signed() - waited.0.cast_signed(),
            heard,
            keeping: Keeping::Gathers,
            kept_for: KEPT_FOR,
        }
    }

    /// Notes whether the slots that are kept suffice.
    pub(crate) fn note(&mut self, fits: bool, now: Mono) {
        self.keeping = match (fits, self.keeping) {
            (true, Keeping::Fits(since)) => Keeping::Fits(since),
            (true, Keeping::Gathers | Keeping::PassedOver(_)) => Keeping::Fits(now),
            (false, _) => Keeping::Gathers,
        };
    }
}

impl Waiters {
    /// When [`Waiters::check`] is due.
    pub(crate) fn due(&self) -> Option<Mono> {
        let of_each = self.0.values().flat_map(|waiter| {
            let keeping = match waiter.keeping {
                Keeping::Gathers => None,
                Keeping::Fits(since) => Some(since + waiter.kept_for),
                Keeping::PassedOver(until) => Some(until),
            };
            keeping.into_iter().chain([waiter.heard + WAITS_FOR])
        });
        of_each.min()
    }

    /// Forgets who has not said for long that it waits, and passes over who has not claimed in time. Returns true
    /// if other slots may be free for others then.
    pub(crate) fn check(&mut self, now: Mono) -> bool {
        let n_before = self.0.len();
        self.0.retain(|_, waiter| waiter.heard + WAITS_FOR > now);
        let mut has_changed = self.0.len() < n_before;
        for waiter in self.0.values_mut() {
            match waiter.keeping {
                Keeping::Fits(since) if since + waiter.kept_for <= now => {
                    // As long again is others' and once more, so that at most a third of the time is lost.
                    waiter.keeping = Keeping::PassedOver(now + waiter.kept_for + waiter.kept_for);
                    waiter.kept_for = (waiter.kept_for + waiter.kept_for).min(KEPT_FOR_MAX);
                    has_changed = true;
                }
                Keeping::PassedOver(until) if until <= now => {
                    waiter.keeping = Keeping::Gathers;
                    has_changed = true;
                }
                Keeping::Gathers | Keeping::Fits(_) | Keeping::PassedOver(_) => {}
            }
        }
        has_changed
    }

    /// A process manager is away, and waits for nothing. Returns true if it did.
    pub(crate) fn remove(&mut self, manager: u32) -> bool {
        self.0.remove(&manager).is_some()
    }

    /// A process manager waits with a process: as before, or anew. Returns true if it is another one than
    /// before, or needs something else.
    pub(crate) fn insert(&mut self, manager: u32, waiter: Waiter) -> bool {
        let before = self.0.insert(manager, waiter);
        let Some(present) = self.0.get_mut(&manager) else {
            return false;
        };
        let before = before
            .filter(|before| before.process == present.process && before.needs == present.needs);
        if let Some(before) = &before {
            (present.keeping, present.kept_for) = (before.keeping, before.kept_for);
        }
        before.is_none()
    }

    /// A process has got slots.
    pub(crate) fn granted(&mut self, process: ProcessId) {
        self.0.retain(|_, waiter| waiter.process != process);
    }
}
