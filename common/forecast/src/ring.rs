//! A window of the newest values, which grows as it fills and never beyond its capacity.

use serde::{Deserialize, Serialize};

/// Room at the first value; later it doubles.
const ROOM_FIRST: usize = 8;

/// The newest `capacity` values in their order. Memory grows with what is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored<T>", into = "Stored<T>")]
#[serde(bound(
    serialize = "T: Copy + Serialize",
    deserialize = "T: Copy + Deserialize<'de>"
))]
pub(crate) struct Ring<T: Copy> {
    values: Vec<T>,
    /// The place of the oldest value once the ring is full.
    oldest: usize,
    capacity: usize,
}

/// The stored form: the oldest value first.
#[derive(Serialize, Deserialize)]
struct Stored<T> {
    capacity: usize,
    values: Vec<T>,
}

/// A stored ring that holds more than it may.
#[derive(Debug, thiserror::Error)]
#[error("a window of {capacity} values has {n} of them")]
pub(crate) struct TooMany {
    capacity: usize,
    n: usize,
}

impl<T: Copy> TryFrom<Stored<T>> for Ring<T> {
    type Error = TooMany;

    fn try_from(stored: Stored<T>) -> Result<Ring<T>, TooMany> {
        let Stored { capacity, values } = stored;
        let n = values.len();
        if n > capacity || capacity == 0 {
            return Err(TooMany { capacity, n });
        }
        Ok(Ring {
            values,
            oldest: 0,
            capacity,
        })
    }
}

impl<T: Copy> From<Ring<T>> for Stored<T> {
    fn from(ring: Ring<T>) -> Stored<T> {
        Stored {
            capacity: ring.capacity,
            values: ring.iter().collect(),
        }
    }
}

impl<T: Copy> Ring<T> {
    /// An empty window of at most `capacity` values, one at least.
    pub(crate) fn new(capacity: usize) -> Ring<T> {
        Ring {
            values: Vec::new(),
            oldest: 0,
            capacity: capacity.max(1),
        }
    }

    /// Adds a value; the oldest one falls out when the window is full.
    pub(crate) fn push(&mut self, value: T) -> Option<T> {
        if self.values.len() < self.capacity {
            if self.values.len() == self.values.capacity() {
                let room = (2 * self.values.len()).clamp(ROOM_FIRST, self.capacity.max(ROOM_FIRST));
                let room = room.min(self.capacity);
                self.values.reserve_exact(room - self.values.len());
            }
            self.values.push(value);
            return None;
        }
        let out = std::mem::replace(&mut self.values[self.oldest], value);
        self.oldest += 1;
        if self.oldest == self.capacity {
            self.oldest = 0;
        }
        Some(out)
    }

    /// The value `back` places before the newest one.
    pub(crate) fn back(&self, back: usize) -> Option<T> {
        let n = self.values.len();
        if back >= n {
            return None;
        }
        let place = self.oldest + n - 1 - back;
        Some(self.values[if place >= n { place - n } else { place }])
    }

    /// True right after the ring has come round: the moment to sum it anew.
    pub(crate) fn is_round(&self) -> bool {
        self.oldest == 0 && self.values.len() == self.capacity
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// The older part and the newer part.
    pub(crate) fn slices(&self) -> (&[T], &[T]) {
        let (newer, older) = self.values.split_at(self.oldest);
        (older, newer)
    }

    /// From the oldest to the newest.
    pub(crate) fn iter(&self) -> impl Iterator<Item = T> + '_ {
        let (older, newer) = self.slices();
        older.iter().chain(newer).copied()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.values.capacity() * size_of::<T>()
    }
}

#[cfg(test)]
mod tests;
