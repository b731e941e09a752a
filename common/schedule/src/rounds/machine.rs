//! The books of a machine of a process: tasks that it was sent, that run, and that have ended.

use std::collections::BTreeSet;
use std::ops::Range;

use forecast::Forecaster;

use super::engine::Judgement;
use super::links::Links;
use super::policy::Sizing;
use super::shown::Shown;

/// The books of one machine. Waiting tasks are kept by their rank, which is their place in the order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Machine {
    unsent: BTreeSet<u32>,
    sent: BTreeSet<u32>,
    /// Tasks that run, by number.
    running: BTreeSet<u32>,
    queues: Vec<Queue>,
    /// Its round, from 1; 0 before it has one.
    pub(super) round: u32,
    /// The seconds of work that a round has: the papers' ET.
    pub(super) extent: f64,
    /// Seconds that the tasks which ended in this round were expected to take.
    pub(super) expected: f64,
    /// Seconds that they took.
    pub(super) real: f64,
    /// Its power, as tasks that ended here have shown it.
    pub(super) shown: Shown,
    /// The power that it has itself, and the part of that which tasks get beside others, where CPU
    /// times are told.
    pub(super) speed: Shown,
    pub(super) share: Shown,
    /// The forecast of real over nominal times, where the policy has one.
    pub(super) forecaster: Option<Box<Forecaster>>,
    /// The bandwidth of its links, as transfers have shown it.
    pub(super) links: Links,
}

/// The tasks of one slot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Queue {
    /// Tasks that were sent and have not ended.
    pub(super) n_out: usize,
    /// Tasks that wait and were not sent.
    pub(super) n_unsent: usize,
}

impl Machine {
    pub(super) fn new(slots: usize) -> Machine {
        Machine {
            queues: vec![Queue::default(); slots],
            ..Machine::default()
        }
    }

    /// A task that waits here comes to the books, not sent.
    pub(super) fn came(&mut self, rank: u32, slots: Range<usize>) {
        if self.unsent.insert(rank) {
            self.each(slots, |queue| queue.n_unsent += 1);
        }
    }

    /// A task that was not sent leaves the books; false if there is none.
    pub(super) fn left(&mut self, rank: u32, slots: Range<usize>) -> bool {
        let was_here = self.unsent.remove(&rank);
        if was_here {
            self.each(slots, |queue| queue.n_unsent -= 1);
        }
        was_here
    }

    /// A task that waits gets other slots.
    pub(super) fn shifted(&mut self, rank: u32, from: Range<usize>, to: Range<usize>) {
        if self.unsent.contains(&rank) {
            self.each(from, |queue| queue.n_unsent -= 1);
            self.each(to, |queue| queue.n_unsent += 1);
        } else if self.sent.contains(&rank) {
            self.each(from, |queue| queue.n_out -= 1);
            self.each(to, |queue| queue.n_out += 1);
        }
    }

    /// A task was sent.
    pub(super) fn was_sent(&mut self, rank: u32, slots: Range<usize>) {
        if self.left(rank, slots.clone()) {
            self.sent.insert(rank);
            self.each(slots, |queue| queue.n_out += 1);
        }
    }

    /// A task that was sent was retracted.
    pub(super) fn was_retracted(&mut self, rank: u32, slots: Range<usize>) {
        if self.sent.remove(&rank) {
            self.each(slots.clone(), |queue| queue.n_out -= 1);
            self.came(rank, slots);
        }
    }

    /// A task has started, sent or, as far as these books know, not.
    pub(super) fn has_started(&mut self, task: u32, rank: u32, slots: Range<usize>) {
        self.was_sent(rank, slots);
        if self.sent.remove(&rank) {
            self.running.insert(task);
        }
    }

    /// A task that ran was stopped, and waits as if it had not been sent.
    pub(super) fn was_stopped(&mut self, task: u32, rank: u32, slots: Range<usize>) {
        self.has_ended(task, slots.clone());
        self.came(rank, slots);
    }

    /// A task has ended.
    pub(super) fn has_ended(&mut self, task: u32, slots: Range<usize>) {
        if self.running.remove(&task) {
            self.each(slots, |queue| queue.n_out -= 1);
        }
    }

    /// Nothing is sent here or runs any more.
    pub(super) fn has_vanished(&mut self) {
        self.running.clear();
        self.sent.clear();
        self.queues.iter_mut().for_each(|queue| queue.n_out = 0);
    }

    pub(super) fn unsent(&self) -> &BTreeSet<u32> {
        &self.unsent
    }

    pub(super) fn sent(&self) -> &BTreeSet<u32> {
        &self.sent
    }

    pub(super) fn running(&self) -> &BTreeSet<u32> {
        &self.running
    }

    pub(super) fn queues(&self) -> &[Queue] {
        &self.queues
    }

    /// All tasks that have not started, sent or not, by rank.
    pub(super) fn waiting(&self) -> impl Iterator<Item = u32> {
        self.unsent.iter().chain(&self.sent).copied()
    }

    /// The number of tasks that have not started.
    pub(super) fn n_waiting(&self) -> usize {
        self.unsent.len() + self.sent.len()
    }

    /// True if a slot has nothing to do and could have.
    pub(super) fn is_starved(&self) -> bool {
        self.queues.iter().any(Queue::is_starved)
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

    fn each(&mut self, slots: Range<usize>, change: impl Fn(&mut Queue)) {
        self.queues[slots].iter_mut().for_each(change);
    }
}

impl Queue {
    /// True if it has nothing to do and could have.
    pub(super) fn is_starved(&self) -> bool {
        self.n_out == 0 && self.n_unsent > 0
    }
}
