//! Processes that wait for their first plan. Owners stand in an order, first by what they have used for
//! their shares, and then by their earliest turn. The first owner takes its earliest turn with the
//! process of greatest priority among its own, which exchange their turns. So a priority overtakes
//! nobody else's processes.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};

use model::ProcessId;
use wire::group::owner_name;

use super::Turn;
use crate::market::owners::Standing;

/// The owner of a process, and its priority among those of that owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::market) struct Class {
    pub(in crate::market) owner: Option<String>,
    pub(in crate::market) priority: i32,
}

/// What is before a process in the order.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::market) struct Ahead {
    pub(in crate::market) n: usize,
    /// The last one before it, and its owner.
    pub(in crate::market) nearest: Option<(ProcessId, Option<String>)>,
}

/// The processes; see the module.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    turns: BTreeMap<Turn, Class>,
    owners: BTreeMap<Option<String>, OfOwner>,
    /// The owners that are not barred: what each has used for its share, its earliest turn, and who.
    order: BTreeSet<(u64, Turn, Option<String>)>,
    /// The places of owners by their names; those of others are as good as can be.
    standings: BTreeMap<String, Standing>,
}

/// The processes of one owner.
#[derive(Debug, Default)]
struct OfOwner {
    /// The next one first.
    by_priority: BTreeSet<(Reverse<i32>, Turn)>,
    by_turn: BTreeSet<Turn>,
    standing: Standing,
}

impl OfOwner {
    /// Its place in the order; none where it is barred.
    fn place(&self, owner: &Option<String>) -> Option<(u64, Turn, Option<String>)> {
        let turn = self.by_turn.first().filter(|_| !self.standing.is_barred)?;
        Some((self.standing.usage, *turn, owner.clone()))
    }
}

impl Waiting {
    pub(super) fn insert(&mut self, turn: Turn, class: Class) {
        self.remove(turn);
        let standing = self.standing(&class.owner);
        self.change(&class.owner, |own| {
            own.standing = standing;
            own.by_priority.insert((Reverse(class.priority), turn));
            own.by_turn.insert(turn);
        });
        self.turns.insert(turn, class);
    }

    pub(super) fn remove(&mut self, turn: Turn) -> Option<Class> {
        let class = self.turns.remove(&turn)?;
        self.change(&class.owner, |own| {
            own.by_priority.remove(&(Reverse(class.priority), turn));
            own.by_turn.remove(&turn);
        });
        Some(class)
    }

    /// Owners stand elsewhere than before.
    pub(super) fn rank(&mut self, standings: BTreeMap<String, Standing>) {
        if standings == self.standings {
            return;
        }
        self.standings = standings;
        let owners: Vec<Option<String>> = self.owners.keys().cloned().collect();
        for owner in owners {
            let standing = self.standing(&owner);
            self.change(&owner, |own| own.standing = standing);
        }
    }

    /// The same for one of them.
    pub(super) fn rank_one(&mut self, name: &str, standing: Standing) {
        if self.standings.get(name).copied().unwrap_or_default() == standing {
            return;
        }
        self.standings.insert(name.to_owned(), standing);
        let owners = self.owners.keys();
        let owners = owners.filter(|owner| owner_name(owner.as_deref()) == name);
        let owners: Vec<Option<String>> = owners.cloned().collect();
        for owner in owners {
            self.change(&owner, |own| own.standing = standing);
        }
    }

    /// The process whose turn it is.
    pub(super) fn first(&self) -> Option<Turn> {
        let (_, _, owner) = self.order.first()?;
        self.first_of(owner)
    }

    /// The next process of an owner.
    pub(super) fn first_of(&self, owner: &Option<String>) -> Option<Turn> {
        let (_, turn) = self.owners.get(owner)?.by_priority.first()?;
        Some(*turn)
    }

    /// The earliest turn of the owner that is next.
    pub(super) fn first_turn(&self) -> Option<Turn> {
        let (_, turn, _) = self.order.first()?;
        Some(*turn)
    }

    /// What is before a process, as owners stand; none where it does not wait, or its owner is barred.
    /// The processes of an owner take its turns in the order of their priorities.
    pub(super) fn ahead(&self, turn: Turn) -> Option<Ahead> {
        let before = self.numbers_before(turn)?;
        let before = before.into_iter().filter_map(|(owner, other, n)| {
            let last = other.by_turn.iter().nth(n.checked_sub(1)?)?;
            let (_, (_, process)) = other.by_priority.iter().nth(n - 1)?;
            Some((n, (other.standing.usage, last), (*process, owner.clone())))
        });
        let before: Vec<_> = before.collect();
        Some(Ahead {
            n: before.iter().map(|(n, ..)| n).sum(),
            nearest: before
                .into_iter()
                .max_by_key(|&(_, at, _)| at)
                .map(|(.., who)| who),
        })
    }

    /// The same processes in their order.
    pub(super) fn before(&self, turn: Turn) -> Vec<ProcessId> {
        let numbers = self.numbers_before(turn).into_iter().flatten();
        let before = numbers.flat_map(|(_, other, n)| {
            let turns = other.by_turn.iter().zip(&other.by_priority);
            let usage = other.standing.usage;
            turns
                .take(n)
                .map(move |(&at, &(_, (_, process)))| (usage, at, process))
        });
        let mut before: Vec<(u64, Turn, ProcessId)> = before.collect();
        before.sort_unstable();
        before.into_iter().map(|(.., process)| process).collect()
    }

    /// By owner, the number of its processes that are before this one; none where it does not wait, or its
    /// owner is barred.
    fn numbers_before(&self, turn: Turn) -> Option<Vec<(&Option<String>, &OfOwner, usize)>> {
        let class = self.turns.get(&turn)?;
        let own = self.owners.get(&class.owner)?;
        let rank = own.by_priority.iter().position(|&(_, of)| of == turn)?;
        let at = own.by_turn.iter().nth(rank)?;
        own.place(&class.owner)?;
        let numbers = self.owners.iter().map(|(owner, other)| {
            let n = match other.standing.usage.cmp(&own.standing.usage) {
                _ if *owner == class.owner => rank,
                _ if other.standing.is_barred => 0,
                Ordering::Less => other.by_turn.len(),
                Ordering::Equal => other.by_turn.range(..at).count(),
                Ordering::Greater => 0,
            };
            (owner, other, n)
        });
        Some(numbers.collect())
    }

    /// All of them, in the order of their submission.
    pub(super) fn turns(&self) -> impl Iterator<Item = &Turn> {
        self.turns.keys()
    }

    fn standing(&self, owner: &Option<String>) -> Standing {
        let standing = self.standings.get(owner_name(owner.as_deref()));
        standing.copied().unwrap_or_default()
    }

    /// Changes what is known of an owner, and its place with it.
    fn change(&mut self, owner: &Option<String>, change: impl FnOnce(&mut OfOwner)) {
        let own = self.owners.entry(owner.clone()).or_default();
        let before = own.place(owner);
        change(own);
        let after = own.place(owner);
        let is_gone = own.by_turn.is_empty();
        if before != after {
            if let Some(before) = before {
                self.order.remove(&before);
            }
            self.order.extend(after);
        }
        if is_gone {
            self.owners.remove(owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use model::Wall;

    use super::*;

    fn turn(number: u64) -> Turn {
        (Wall(number), ProcessId(number))
    }

    fn class(owner: &str, priority: i32) -> Class {
        let owner = Some(owner.to_owned());
        Class { owner, priority }
    }

    fn standing(usage: u64, is_barred: bool) -> Standing {
        Standing { usage, is_barred }
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
        assert!(waiting.order.is_empty());
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

    #[test]
    fn the_owner_who_has_used_least_is_next_and_takes_its_own_earliest_turn() {
        let mut waiting = Waiting::default();
        waiting.insert(turn(1), class("a", 0));
        waiting.insert(turn(2), class("b", 0));
        waiting.insert(turn(3), class("b", 5));
        waiting.rank(BTreeMap::from([("a".to_owned(), standing(7, false))]));
        assert_eq!(
            (waiting.first(), waiting.first_turn()),
            (Some(turn(3)), Some(turn(2)))
        );
        // An owner who comes later has used nothing either, and waits for those before.
        waiting.insert(turn(4), class("c", 9));
        assert_eq!(waiting.first(), Some(turn(3)));
        let standings = [("a", 7), ("b", 8), ("c", 9)];
        let standings = standings.map(|(name, used)| (name.to_owned(), standing(used, false)));
        waiting.rank(BTreeMap::from(standings));
        assert_eq!(waiting.first(), Some(turn(1)));
        waiting.rank(BTreeMap::new());
        assert_eq!(waiting.first(), Some(turn(1)));
    }

    #[test]
    fn what_is_before_a_process_follows_the_order_of_owners_and_priorities() {
        let mut waiting = Waiting::default();
        for (number, owner, priority) in [(1, "a", 0), (2, "b", 0), (3, "a", 5), (4, "b", 0)] {
            waiting.insert(turn(number), class(owner, priority));
        }
        let before = |waiting: &Waiting, number| {
            let Ahead { n, nearest } = waiting.ahead(turn(number)).unwrap();
            (n, nearest.map(|(process, _)| process.0))
        };
        // Process 3 takes the first turn of its owner, and 1 takes the third.
        let all = |waiting: &Waiting| [1, 2, 3, 4].map(|number| before(waiting, number));
        assert_eq!(
            all(&waiting),
            [(2, Some(2)), (1, Some(3)), (0, None), (3, Some(1))]
        );
        assert_eq!(waiting.before(turn(4)), [3, 2, 1].map(ProcessId));
        waiting.rank(BTreeMap::from([("a".to_owned(), standing(7, false))]));
        assert_eq!(
            all(&waiting),
            [(3, Some(3)), (0, None), (2, Some(4)), (1, Some(2))]
        );
        assert_eq!(waiting.before(turn(1)), [2, 4, 3].map(ProcessId));
        waiting.rank(BTreeMap::from([("a".to_owned(), standing(0, true))]));
        assert_eq!(waiting.ahead(turn(1)), None);
        assert_eq!(before(&waiting, 4), (1, Some(2)));
        assert_eq!(waiting.before(turn(4)), [ProcessId(2)]);
    }

    #[test]
    fn a_barred_owner_holds_up_nobody() {
        let mut waiting = Waiting::default();
        waiting.rank(BTreeMap::from([("a".to_owned(), standing(0, true))]));
        waiting.insert(turn(1), class("a", 0));
        assert_eq!((waiting.first(), waiting.first_turn()), (None, None));
        waiting.insert(turn(2), class("b", 0));
        assert_eq!(waiting.first(), Some(turn(2)));
        assert_eq!(waiting.turns().count(), 2);
        waiting.rank(BTreeMap::new());
        assert_eq!(waiting.first(), Some(turn(1)));
    }
}
