//! Bounds the work for processes in one step of the manager, so that no process stalls it.
//!
//! All that a process can ask for without an end in sight is counted in the steps of expressions
//! ([`expression::Meter`]), of which a millisecond has some twenty thousand. A process gets a slice
//! of them. What is beyond it waits for a turn, behind the others that wait, and between two rounds
//! of turns the manager takes its other inputs. A process that does not wait is never behind those
//! that do: it has its slice from what is put aside for such processes.

use std::collections::{BTreeSet, VecDeque};

use machine::Context;
use model::{Mono, Now, ProcessId, Span};

use crate::manager::{ProcessManager, Timer};

/// Steps that a process may use before it waits for its turn: some 2 ms.
pub(crate) const SLICE_STEPS: u64 = 50_000;
/// Steps that turns use between two looks at what has come in: some 5 ms.
pub(crate) const TURNS_STEPS: u64 = 100_000;
/// Steps that processes use there which wait for no turn: some 20 ms.
pub(crate) const OTHERS_STEPS: u64 = 400_000;
/// Steps that a decision costs beside what its expressions use: it is recorded and applied.
pub(crate) const DECISION_STEPS: u64 = 50;
/// Steps of making an attempt ready to be sent, or to be looked for among recorded outcomes.
pub(crate) const ATTEMPT_STEPS: u64 = 25;

/// Whose turn it is, and what is left of this step of the manager.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// The moment that the counts are of: all inputs of one batch come at the same.
    at: Option<Mono>,
    n_left: u64,
    n_left_for_others: u64,
    waiting: VecDeque<ProcessId>,
    is_waiting: BTreeSet<ProcessId>,
    /// The process that has its turn.
    present: Option<ProcessId>,
}

/// What one process may use at the moment.
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
    /// What a process may use at this moment: nothing while it waits for its turn.
    fn slice(&mut self, now: Now, id: ProcessId) -> Slice {
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

    fn count(&mut self, id: ProcessId, slice: &Slice) {
        let left = if self.present == Some(id) {
            &mut self.n_left
        } else {
            &mut self.n_left_for_others
        };
        *left = left.saturating_sub(slice.n_used);
    }

    /// A process has more to do than fits into its slice.
    fn wait(&mut self, id: ProcessId) {
        if self.is_waiting.insert(id) {
            self.waiting.push_back(id);
        }
    }

    /// The next process whose turn it is, as long as there are steps left.
    fn next(&mut self, now: Now) -> Option<ProcessId> {
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

    fn look_at(&mut self, now: Now) {
        if self.at != Some(now.mono) {
            self.at = Some(now.mono);
            self.n_left = TURNS_STEPS;
            self.n_left_for_others = OTHERS_STEPS;
        }
    }
}

impl ProcessManager {
    /// The slice of work that a process gets at this moment.
    pub(crate) fn slice(&mut self, now: Now, id: ProcessId) -> Slice {
        self.turns.slice(now, id)
    }

    /// Counts what was done for a process; where its slice is used up, the rest waits for its turn.
    pub(crate) fn end_slice(&mut self, now: Now, id: ProcessId, slice: &Slice) {
        self.turns.count(id, slice);
        if slice.is_used_up() {
            self.turns.wait(id);
            self.arm_once(Timer::Turns, now.mono + Span(1));
        }
    }

    /// Goes on with the processes that wait for their turns, one after another.
    pub(crate) fn take_turns(&mut self, cx: &mut Context<'_, Self>, now: Now) {
        while let Some(id) = self.turns.next(now) {
            self.settle(cx, now, id);
        }
        if !self.turns.waiting.is_empty() {
            self.arm_once(Timer::Turns, now.mono + Span(1));
        }
    }
}
