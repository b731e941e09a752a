//! Ready activities of one machine, in their turns.
//!
//! Activities that take the same units of the same named limits stand in a line of their own. Once one of a line has
//! no room in a limit, nobody behind it has, so that a hundred thousand that wait for a licence cost no more than
//! one.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::btree_set::{self, BTreeSet};

use model::{ActivityId, Span};

/// Named limits, with the units that an activity takes of them.
type Limits = Vec<(String, u32)>;

/// The turn of a ready activity among those of its machine: the greater priority first, then the
/// earlier planned start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn {
    priority: Reverse<i32>,
    start: Span,
    activity: ActivityId,
}

impl Turn {
    pub(super) fn new(priority: i32, start: Span, activity: ActivityId) -> Turn {
        Turn {
            priority: Reverse(priority),
            start,
            activity,
        }
    }
}

/// The queue of a machine.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ReadyQueue(BTreeMap<Limits, BTreeSet<Turn>>);

impl ReadyQueue {
    pub(super) fn insert(&mut self, limits: &[(String, u32)], turn: Turn) {
        match self.0.get_mut(limits) {
            Some(line) => {
                line.insert(turn);
            }
            None => {
                self.0.insert(limits.to_vec(), BTreeSet::from([turn]));
            }
        }
    }

    pub(super) fn remove(&mut self, limits: &[(String, u32)], turn: &Turn) {
        if let Some(line) = self.0.get_mut(limits) {
            line.remove(turn);
            if line.is_empty() {
                self.0.remove(limits);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.values().map(BTreeSet::len).sum()
    }

    /// All of them, line after line.
    pub(crate) fn activities(&self) -> impl Iterator<Item = ActivityId> {
        self.0.values().flatten().map(|turn| turn.activity)
    }

    /// The number of activities whose turn is before that of another one.
    pub(crate) fn n_before(&self, activity: ActivityId) -> usize {
        let mut turns = self.0.values().flatten();
        let Some(own) = turns.find(|turn| turn.activity == activity) else {
            return self.len();
        };
        let before = self.0.values().map(|line| line.range(..own).count());
        before.sum()
    }

    /// The first so many activities of each line.
    pub(crate) fn first_of_lines(&self, n: usize) -> impl Iterator<Item = ActivityId> {
        let lines = self.0.values();
        lines.flat_map(move |line| line.iter().take(n).map(|turn| turn.activity))
    }

    /// The activities in their turns that may go and have room in their limits. `has_room` is asked only of those that
    /// may go; after the first one of a line without room, its line is passed over.
    pub(crate) fn in_turn<'a>(
        &'a self,
        may_go: impl Fn(ActivityId) -> bool + 'a,
        has_room: impl Fn(ActivityId) -> bool + 'a,
    ) -> impl Iterator<Item = ActivityId> + 'a {
        let mut lines: BTreeMap<&Turn, btree_set::Iter<'_, Turn>> = BTreeMap::new();
        for line in self.0.values() {
            let mut rest = line.iter();
            if let Some(first) = rest.next() {
                lines.insert(first, rest);
            }
        }
        std::iter::from_fn(move || {
            loop {
                let (turn, mut rest) = lines.pop_first()?;
                let goes = may_go(turn.activity);
                if goes && !has_room(turn.activity) {
                    continue;
                }
                if let Some(next) = rest.next() {
                    lines.insert(next, rest);
                }
                if goes {
                    return Some(turn.activity);
                }
            }
        })
    }
}

#[cfg(test)]
mod tests;
