//! The processes that want a plan, in the order in which they are planned: between owners by what they
//! have used for their shares where groups have shares, else first come, first served; and by priority
//! among the processes of one owner.

mod waiting;

use std::collections::{BTreeMap, BTreeSet};

use model::{ProcessId, Wall};

use super::owners::Standing;

use waiting::Waiting;
pub(super) use waiting::{Ahead, Class};

/// The place of a process in the order: its time, which is that of its submission unless it has
/// exchanged its turn with another one.
pub(super) type Turn = (Wall, ProcessId);

/// Processes that want a plan.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Processes without a plan. The first one that was tried in vain holds up those after it.
    first: Waiting,
    /// Those of them that hold slots, whether their owners may claim more or not.
    holders: BTreeSet<Turn>,
    /// Processes without a plan that need a machine of a group which does not answer, or more slots than their
    /// owners may hold: they hold up nobody.
    aside: BTreeMap<Turn, Class>,
    /// Processes that have a plan, and need another.
    again: BTreeSet<Turn>,
    /// The same, where they were tried in vain since slots became free last.
    tried: BTreeSet<Turn>,
}

impl Queue {
    /// A process wants its first plan.
    pub(super) fn want_first(&mut self, turn: Turn, class: Class) {
        self.first.insert(turn, class);
    }

    /// A process that wants its first plan holds slots, or none any more.
    pub(super) fn set_holds(&mut self, turn: Turn, holds: bool) {
        match holds {
            true => self.holders.insert(turn),
            false => self.holders.remove(&turn),
        };
    }

    /// A process wants another plan.
    pub(super) fn want_again(&mut self, turn: Turn) {
        self.again.insert(turn);
    }

    /// A process wants no plan.
    pub(super) fn remove(&mut self, turn: Turn) {
        self.first.remove(turn);
        self.holders.remove(&turn);
        self.aside.remove(&turn);
        self.again.remove(&turn);
        self.tried.remove(&turn);
    }

    /// The process can only be planned once there are other machines or limits.
    pub(super) fn set_aside(&mut self, turn: Turn) {
        if let Some(class) = self.first.remove(turn) {
            self.aside.insert(turn, class);
        }
    }

    /// A process that has a plan was tried in vain.
    pub(super) fn set_tried(&mut self, turn: Turn) {
        if self.again.remove(&turn) {
            self.tried.insert(turn);
        }
    }

    /// The first process that has a plan and was tried in vain.
    pub(super) fn first_tried(&self) -> Option<Turn> {
        self.tried.first().copied()
    }

    /// Slots may be free that were not before.
    pub(super) fn retry(&mut self) {
        self.again.append(&mut self.tried);
    }

    /// Other machines or limits may be there than before.
    pub(super) fn retry_aside(&mut self) {
        for (turn, class) in std::mem::take(&mut self.aside) {
            self.first.insert(turn, class);
        }
    }

    /// The first process without a plan that may hold up others.
    pub(super) fn first(&self) -> Option<Turn> {
        self.first.first()
    }

    /// The processes without a plan, in the order of their submission.
    pub(super) fn turns(&self) -> impl Iterator<Item = Turn> {
        self.first.turns().copied()
    }

    /// The process of an owner that is planned next, whether the owner is barred or not.
    pub(super) fn first_of(&self, owner: &Option<String>) -> Option<ProcessId> {
        self.first.first_of(owner).map(|(_, id)| id)
    }

    /// The earliest turn of the owner that is next, whichever of its processes it takes.
    pub(super) fn first_turn(&self) -> Option<Turn> {
        self.first.first_turn()
    }

    /// What is before a process that wants its first plan.
    pub(super) fn ahead(&self, turn: Turn) -> Option<Ahead> {
        self.first.ahead(turn)
    }

    /// The processes before one that wants its first plan, in their order.
    pub(super) fn before(&self, turn: Turn) -> Vec<ProcessId> {
        self.first.before(turn)
    }

    /// Owners stand elsewhere in the order than before; those that are not named are as before any use.
    pub(super) fn rank(&mut self, standings: BTreeMap<String, Standing>) {
        self.first.rank(standings);
    }

    /// An owner stands elsewhere in the order.
    pub(super) fn rank_one(&mut self, name: &str, standing: Standing) {
        self.first.rank_one(name, standing);
    }

    /// Processes that may be planned out of turn: others may wait for the slots that they hold.
    pub(super) fn out_of_turn(&self) -> impl Iterator<Item = Turn> {
        self.again.iter().chain(&self.holders).copied()
    }

    /// The numbers of processes that want their first plan and that want another.
    pub(super) fn n_waiting(&self) -> (usize, usize) {
        let first = self.first.turns().count() + self.aside.len();
        (first, self.again.len() + self.tried.len())
    }

    /// Returns true if no process waits for a plan.
    pub(super) fn is_empty(&self) -> bool {
        self.first.turns().next().is_none()
            && self.aside.is_empty()
            && self.again.is_empty()
            && self.tried.is_empty()
    }

    /// Returns true if a process other than this one waits for a plan.
    pub(super) fn has_others(&self, id: ProcessId) -> bool {
        let waiting = self.first.turns().chain(self.aside.keys());
        let mut all = waiting.chain(&self.again).chain(&self.tried);
        all.any(|&(_, other)| other != id)
    }
}
