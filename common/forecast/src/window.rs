//! A window whose values are also kept in order of size, for medians.

use serde::{Deserialize, Serialize};

use crate::ring::Ring;

/// The newest values, sorted too. A value costs O(window) moves and O(log window) comparisons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Ring<f64>", into = "Ring<f64>")]
pub(crate) struct Window {
    ring: Ring<f64>,
    sorted: Vec<f64>,
}

impl From<Ring<f64>> for Window {
    fn from(ring: Ring<f64>) -> Window {
        let mut sorted = Vec::with_capacity(ring.len());
        sorted.extend(ring.iter());
        sorted.sort_by(f64::total_cmp);
        Window { ring, sorted }
    }
}

impl From<Window> for Ring<f64> {
    fn from(window: Window) -> Ring<f64> {
        window.ring
    }
}

impl Window {
    pub(crate) fn new(capacity: usize) -> Window {
        Window {
            ring: Ring::new(capacity),
            sorted: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, value: f64) {
        // One zero: the places of -0 and 0 would differ.
        let value = value + 0.0;
        match self.ring.push(value) {
            None => {
                let room = self.ring.heap_bytes() / size_of::<f64>();
                if self.sorted.len() == self.sorted.capacity() {
                    self.sorted.reserve_exact(room - self.sorted.len());
                }
                let place = self.below(value);
                self.sorted.insert(place, value);
            }
            Some(out) => {
                let from = self.below(out);
                let to = self.below(value);
                // The values between the two places move by one.
                if to > from {
                    self.sorted.copy_within(from + 1..to, from);
                    self.sorted[to - 1] = value;
                } else {
                    self.sorted.copy_within(to..from, to + 1);
                    self.sorted[to] = value;
                }
            }
        }
    }

    /// Number of values less than this one. Counting all of them has no branch to guess wrong.
    fn below(&self, value: f64) -> usize {
        self.sorted
            .iter()
            .map(|&other| usize::from(other < value))
            .sum()
    }

    /// The values by size.
    pub(crate) fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    pub(crate) fn median(&self) -> Option<f64> {
        median(&self.sorted)
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.ring.heap_bytes() + self.sorted.capacity() * size_of::<f64>()
    }
}

/// The median of sorted values; the mean of the two in the middle where their number is even.
pub(crate) fn median(sorted: &[f64]) -> Option<f64> {
    let n = sorted.len();
    match n {
        0 => None,
        _ if n % 2 == 1 => Some(sorted[n / 2]),
        _ => Some(0.5 * (sorted[n / 2 - 1] + sorted[n / 2])),
    }
}

#[cfg(test)]
mod tests;
