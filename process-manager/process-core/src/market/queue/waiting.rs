//! Processes that wait for their first plan. The owner of the process with the earliest turn is next,
//! and takes it with the process of greatest priority among his own, which exchange their turns. So a
//! priority overtakes nobody else's processes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::Turn;

/// The owner of a process, and its priority among those of that owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::market) struct Class {
    pub(in crate::market) owner: Option<String>,
    pub(in crate::market) priority: i32,
}

/// The processes; see the module.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    turns: BTreeMap<Turn, Class>,
    /// The processes of each owner, the next one first.
    owners: BTreeMap<Option<String>, BTreeSet<(Reverse<i32>, Turn)>>,
}

impl Waiting {
    pub(super) fn insert(&mut self, turn: Turn, class: Class) {
        self.remove(turn);
        let own = self.owners.entry(class.owner.clone()).or_default();
        own.insert((Reverse(class.priority), turn));
        self.turns.insert(turn, class);
    }

    pub(super) fn remove(&mut self, turn: Turn) -> Option<Class> {
        let class = self.turns.remove(&turn)?;
        if let Some(own) = self.owners.get_mut(&class.owner) {
            own.remove(&(Reverse(class.priority), turn));
            if own.is_empty() {
                self.owners.remove(&class.owner);
            }
        }
        Some(class)
    }

    /// The process whose turn it is.
    pub(super) fn first(&self) -> Option<Turn> {
        let (_, class) = self.turns.first_key_value()?;
        let (_, turn) = self.owners.get(&class.owner)?.first()?;
        Some(*turn)
    }

    /// All of them, in the order of their submission.
    pub(super) fn turns(&self) -> impl Iterator<Item = &Turn> {
        self.turns.keys()
    }
}

#[cfg(test)]
mod tests {
    use model::{ProcessId, Wall};

    use super::*;

    fn turn(number: u64) -> Turn {
        (Wall(number), ProcessId(number))
    }

    fn class(owner: &str, priority: i32) -> Class {
        let owner = Some(owner.to_owned());
        Class { owner, priority }
    }

    #[test]
    fn the_owner_of_the_earliest_turn_takes_it_with_the_process_of_greatest_priority() {
        let mut waiting = Waiting::default();
        waiting.insert(turn(1), class("a", -9));
        waiting.insert(turn(2), class("b", 0));
        waiting.insert(turn(3), class("b", 9));
        waiting.insert(turn(4), class("b", 9));
        assert_eq!(waiting.first(), Some(turn(1)));
        waiting.remove(turn(1));
        assert_eq!(waiting.first(), Some(turn(3)));
        waiting.remove(turn(3));
        waiting.remove(turn(4));
        assert_eq!(waiting.first(), Some(turn(2)));
        waiting.remove(turn(2));
        assert_eq!(waiting.first(), None);
        assert!(waiting.owners.is_empty() && waiting.turns.is_empty());
    }

    #[test]
    fn another_class_replaces_the_one_before() {
        let mut waiting = Waiting::default();
        waiting.insert(turn(1), class("a", 0));
        waiting.insert(turn(2), class("a", 0));
        waiting.insert(turn(2), class("a", 1));
        assert_eq!(waiting.first(), Some(turn(2)));
        assert_eq!(waiting.remove(turn(2)), Some(class("a", 1)));
        assert_eq!(waiting.first(), Some(turn(1)));
    }
}
