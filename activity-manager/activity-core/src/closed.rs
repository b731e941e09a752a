//! Attempts that are over here, so that a late copy of their dispatch starts nothing.

use std::collections::{BTreeMap, VecDeque};

use model::AttemptId;

/// Number of remembered attempts. A pair of number and epoch is used once: its process manager
/// sends it only until it is confirmed, and an earlier epoch is refused. So only delayed copies can
/// arrive, and those are long gone after this many others. A process manager that was restored from a
/// backup may use numbers again; those that are forgotten here run again, which a restore permits.
const CLOSED_MAX: usize = 131_072;

/// Why an attempt is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    /// It has not run and will not run.
    Retracted,
    /// Its outcome is durable at its process manager.
    Acknowledged,
}

/// The latest attempts that are over.
#[derive(Debug, Default)]
pub(crate) struct ClosedSet {
    by_id: BTreeMap<AttemptId, Closed>,
    order: VecDeque<AttemptId>,
}

impl ClosedSet {
    pub(crate) fn insert(&mut self, attempt: AttemptId, why: Closed) {
        if self.by_id.insert(attempt, why).is_some() {
            return;
        }
        self.order.push_back(attempt);
        if self.order.len() > CLOSED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_id.remove(&oldest);
        }
    }

    pub(crate) fn get(&self, attempt: AttemptId) -> Option<Closed> {
        self.by_id.get(&attempt).copied()
    }
}
