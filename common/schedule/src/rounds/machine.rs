//! What a machine of a process has been sent, runs, and took.

use std::collections::BTreeSet;

use super::engine::Judgement;
use super::policy::Sizing;

/// The books of one machine. Waiting tasks are kept by their place in the order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Machine {
    pub(super) slots: usize,
    /// Tasks that wait here and were not sent.
    pub(super) unsent: BTreeSet<u32>,
    /// Tasks that were sent and have not started.
    pub(super) sent: BTreeSet<u32>,
    /// Tasks that run, by number.
    pub(super) running: BTreeSet<u32>,
    /// Its round, from 1; 0 before it has one.
    pub(super) round: u32,
    /// The seconds of work that a round has: the papers' ET.
    pub(super) extent: f64,
    /// Seconds that the tasks which ended in this round were expected to take.
    pub(super) expected: f64,
    /// Seconds that they took.
    pub(super) real: f64,
    /// Seconds that all tasks which ended here take at nominal power.
    pub(super) nominal_all: f64,
    /// Seconds that they took.
    pub(super) real_all: f64,
}

impl Machine {
    /// All tasks that have not started, sent or not, by place in the order.
    pub(super) fn waiting(&self) -> impl Iterator<Item = u32> {
        self.unsent.iter().chain(&self.sent).copied()
    }

    /// The number and extent of the next round (Algorithm 6).
    pub(super) fn next_round(&mut self, sizing: Sizing, judged: &Judgement) {
        self.round = self.round.saturating_add(1);
        match sizing {
            Sizing::Whole | Sizing::Parts(_) => {}
            Sizing::Adaptive { reward } => {
                let performance = judged.performance;
                let grown = (performance + 1e-9).floor() * reward * judged.expected;
                self.extent = self.extent * performance + grown;
            }
        }
    }
}

/// The tasks of one slot.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    /// Tasks that were sent and have not ended.
    pub(super) n_out: usize,
    pub(super) n_unsent: usize,
}

impl Queue {
    /// True if it has nothing to do and could have.
    pub(super) fn is_starved(&self) -> bool {
        self.n_out == 0 && self.n_unsent > 0
    }
}
