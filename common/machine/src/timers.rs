//! Timers of a machine: at most one of each kind is set.

use std::collections::{BTreeMap, BTreeSet};

use model::Mono;

/// The timers that are set, in the order in which they are due.
#[derive(Debug)]
pub struct Timers<T> {
    at: BTreeMap<T, Mono>,
    due: BTreeSet<(Mono, T)>,
}

impl<T> Default for Timers<T> {
    fn default() -> Timers<T> {
        Timers {
            at: BTreeMap::new(),
            due: BTreeSet::new(),
        }
    }
}

impl<T: Copy + Ord> Timers<T> {
    /// Sets a timer, or sets it anew.
    pub fn set(&mut self, timer: T, at: Mono) {
        if let Some(before) = self.at.insert(timer, at) {
            self.due.remove(&(before, timer));
        }
        self.due.insert((at, timer));
    }

    /// Sets a timer unless it is set.
    pub fn set_once(&mut self, timer: T, at: Mono) {
        if !self.at.contains_key(&timer) {
            self.set(timer, at);
        }
    }

    /// Sets a timer unless it is set for that moment or an earlier one.
    pub fn set_by(&mut self, timer: T, at: Mono) {
        if self.at.get(&timer).is_none_or(|&before| before > at) {
            self.set(timer, at);
        }
    }

    /// Cancels a timer that may be set.
    pub fn cancel(&mut self, timer: T) {
        if let Some(at) = self.at.remove(&timer) {
            self.due.remove(&(at, timer));
        }
    }

    /// Takes the first timer that is due; of two due at the same moment, the smaller one.
    pub fn take_due(&mut self, now: Mono) -> Option<T> {
        let &(at, timer) = self.due.first()?;
        if at > now {
            return None;
        }
        self.cancel(timer);
        Some(timer)
    }

    /// The moment at which the first timer is due.
    pub fn next(&self) -> Option<Mono> {
        self.due.first().map(|&(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_ring_in_order_and_once() {
        let mut timers = Timers::default();
        timers.set('b', Mono(5));
        timers.set('a', Mono(5));
        timers.set('c', Mono(3));
        timers.set('c', Mono(9));
        timers.set_once('b', Mono(1));
        timers.set('d', Mono(2));
        timers.cancel('d');
        assert_eq!(timers.next(), Some(Mono(5)));
        let mut rung = Vec::new();
        while let Some(timer) = timers.take_due(Mono(5)) {
            rung.push(timer);
        }
        assert_eq!(rung, ['a', 'b']);
        assert_eq!(timers.next(), Some(Mono(9)));
        timers.set_once('a', Mono(7));
        assert_eq!(timers.next(), Some(Mono(7)));
        timers.set_by('a', Mono(8));
        assert_eq!(timers.next(), Some(Mono(7)));
        timers.set_by('a', Mono(6));
        assert_eq!(timers.next(), Some(Mono(6)));
    }
}
