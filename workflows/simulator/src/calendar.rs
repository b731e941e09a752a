//! The events to come, by time; those of one time in the order in which they were
//! entered.

use std::collections::BTreeMap;

use model::Mono;

/// The events that lie ahead.
#[derive(Debug)]
pub(crate) struct Calendar<T> {
    entries: BTreeMap<(Mono, u64), T>,
    n_entered: u64,
}

impl<T> Calendar<T> {
    pub(crate) fn new() -> Calendar<T> {
        Calendar {
            entries: BTreeMap::new(),
            n_entered: 0,
        }
    }

    /// Enters something.
    pub(crate) fn enter(&mut self, at: Mono, entry: T) {
        self.n_entered += 1;
        self.entries.insert((at, self.n_entered), entry);
    }

    /// The next thing that happens, and when.
    pub(crate) fn next(&mut self) -> Option<(Mono, T)> {
        self.entries.pop_first().map(|((at, _), entry)| (at, entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_first_and_at_the_same_time_first_entered_first() {
        let mut calendar = Calendar::new();
        for (at, name) in [(5, 'd'), (1, 'a'), (3, 'b'), (3, 'c')] {
            calendar.enter(Mono(at), name);
        }
        let order: Vec<char> = std::iter::from_fn(|| calendar.next())
            .map(|(_, name)| name)
            .collect();
        assert_eq!(order, ['a', 'b', 'c', 'd']);
    }
}
