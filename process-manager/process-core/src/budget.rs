//! Bounds the work for processes in one step of the manager, so that no process stalls it.
//!
//! The unit of all work without a bound of its own is the step of an expression
//! ([`expression::Meter`]); a millisecond has some twenty thousand. A process gets a slice of
//! steps. Work beyond it waits for a turn, in a queue of processes, and between two rounds of turns
//! the manager takes its other inputs. A process outside the queue never waits for it: its slice
//! comes from steps that are reserved for such processes.

use std::collections::{BTreeSet, VecDeque};

use model::{Mono, Now, ProcessId};

/// Steps that a process may use before it waits for its turn: some 2 ms.
pub(crate) const SLICE_STEPS: u64 = 50_000;

/// Steps that turns use between two looks at what has come in: some 5 ms.
pub(crate) const TURNS_STEPS: u64 = 100_000;

/// Steps that processes outside the queue use in that time: some 20 ms.
pub(crate) const OTHERS_STEPS: u64 = 400_000;

/// Steps that a decision costs beside what its expressions use: it is recorded and applied.
pub(crate) const DECISION_STEPS: u64 = 50;

/// Steps of making an attempt ready to be sent, or to be looked for among recorded outcomes.
pub(crate) const ATTEMPT_STEPS: u64 = 25;

/// The queue of processes that wait for a turn, and the steps left in this step of the manager.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// The time that the counts belong to: all inputs of one batch have the same time.
    at: Option<Mono>,
    n_left: u64,
    n_left_for_others: u64,
    waiting: VecDeque<ProcessId>,
    is_waiting: BTreeSet<ProcessId>,
    /// The process that has its turn.
    present: Option<ProcessId>,
}

/// The steps that one process may use now.
#[derive(Debug)]
pub(crate) struct Slice {
    n_left: u64,
    n_used: u64,
}

impl Slice {
    /// Counts steps; the last thing that is done may take more than there is left.
    pub(crate) fn take(&mut self, n_steps: u64) {
        self.n_used = self.n_used.saturating_add(n_steps);
    }

    pub(crate) fn is_used_up(&self) -> bool {
        self.n_used >= self.n_left
    }
}

impl Turns {
    /// The steps that a process may use now: none while it waits for its turn.
    pub(crate) fn slice(&mut self, now: Now, id: ProcessId) -> Slice {
        self.look_at(now);
        let n_left = if self.is_waiting.contains(&id) {
            0
        } else if self.present == Some(id) {
            SLICE_STEPS
        } else {
            SLICE_STEPS.min(self.n_left_for_others)
        };
        Slice { n_left, n_used: 0 }
    }

    pub(crate) fn count(&mut self, id: ProcessId, slice: &Slice) {
        let left = if self.present == Some(id) {
            &mut self.n_left
        } else {
            &mut self.n_left_for_others
        };
        *left = left.saturating_sub(slice.n_used);
    }

    /// A process has more to do than fits into its slice.
    pub(crate) fn wait(&mut self, id: ProcessId) {
        if self.is_waiting.insert(id) {
            self.waiting.push_back(id);
        }
    }

    /// The next process whose turn it is, as long as there are steps left.
    pub(crate) fn next(&mut self, now: Now) -> Option<ProcessId> {
        self.look_at(now);
        self.present = None;
        if self.n_left == 0 {
            return None;
        }
        let next = self.waiting.pop_front()?;
        self.is_waiting.remove(&next);
        self.present = Some(next);
        Some(next)
    }

    /// Returns true if any process waits for its turn.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn look_at(&mut self, now: Now) {
        if self.at != Some(now.mono) {
            self.at = Some(now.mono);
            self.n_left = TURNS_STEPS;
            self.n_left_for_others = OTHERS_STEPS;
        }
    }
}
