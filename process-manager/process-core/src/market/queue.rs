//! The processes that want a plan, in the order in which they are planned: that of their submission.

use std::collections::BTreeSet;

use model::{ProcessId, Wall};

/// The place of a process in the order: when it was submitted.
pub(super) type Turn = (Wall, ProcessId);

/// Processes that want a plan.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Those without a plan. The first one that was tried in vain holds up those after it.
    first: BTreeSet<Turn>,
    /// Those without a plan that need a machine of a group which does not answer: they hold up nobody.
    absent: BTreeSet<Turn>,
    /// Those that have a plan, and need another.
    again: BTreeSet<Turn>,
    /// The same, where they were tried in vain since slots became free last.
    tried: BTreeSet<Turn>,
}

impl Queue {
    /// A process wants its first plan.
    pub(super) fn want_first(&mut self, turn: Turn) {
        self.first.insert(turn);
    }

    /// A process wants another plan.
    pub(super) fn want_again(&mut self, turn: Turn) {
        self.again.insert(turn);
    }

    /// A process wants no plan.
    pub(super) fn remove(&mut self, turn: Turn) {
        let sets = [
            &mut self.first,
            &mut self.absent,
            &mut self.again,
            &mut self.tried,
        ];
        for set in sets {
            set.remove(&turn);
        }
    }

    /// The process can only be planned once another group answers.
    pub(super) fn set_absent(&mut self, turn: Turn) {
        if self.first.remove(&turn) {
            self.absent.insert(turn);
        }
    }

    /// A process that has a plan was tried in vain.
    pub(super) fn set_tried(&mut self, turn: Turn) {
        if self.again.remove(&turn) {
            self.tried.insert(turn);
        }
    }

    /// Slots may be free that were not before.
    pub(super) fn retry(&mut self) {
        self.again.append(&mut self.tried);
    }

    /// Other machines may be there than before.
    pub(super) fn retry_absent(&mut self) {
        self.first.append(&mut self.absent);
    }

    /// The first process without a plan that may hold up others.
    pub(super) fn first(&self) -> Option<Turn> {
        self.first.first().copied()
    }

    /// Processes that may be planned again, in their order.
    pub(super) fn again(&self) -> impl Iterator<Item = Turn> {
        self.again.iter().copied()
    }

    /// Returns true if a process other than this one waits for a plan.
    pub(super) fn has_others(&self, id: ProcessId) -> bool {
        let sets = [&self.first, &self.absent, &self.again, &self.tried];
        sets.into_iter().flatten().any(|&(_, other)| other != id)
    }
}
