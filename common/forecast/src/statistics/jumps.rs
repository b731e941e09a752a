//! Jumps of a series: peaks, and switches to another level.

use super::{JUMP, deviation};

/// A jump that returns within so many values is a peak.
const PEAK_LENGTH_MAX: usize = 4;

/// A step of more than two standard deviations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jump {
    /// The place of the first value after the step, from 0.
    pub at: usize,
    /// The value before it.
    pub from: f64,
    /// The value after it.
    pub to: f64,
    /// The kind, by what followed.
    pub kind: JumpKind,
}

/// The kind of a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JumpKind {
    /// The series came back, more than half of the way, after 1 to 4 values.
    Peak {
        /// Number of values of the peak.
        length: usize,
    },
    /// The series stayed for more than 4 values.
    LevelSwitch,
    /// The series ends before it shows.
    Open,
}

/// The jumps of a series in their order. The step back from a peak is a part of the peak.
pub fn jumps(values: &[f64]) -> Vec<Jump> {
    let Some(sigma) = deviation(values) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut at = 1;
    while at < values.len() {
        let (from, to) = (values[at - 1], values[at]);
        if (to - from).abs() <= JUMP * sigma {
            at += 1;
            continue;
        }
        let after = &values[at + 1..values.len().min(at + 1 + PEAK_LENGTH_MAX)];
        let half = 0.5 * (to - from).abs();
        let back = after.iter().position(|value| (value - from).abs() < half);
        let kind = match back {
            Some(place) => JumpKind::Peak { length: place + 1 },
            None if after.len() < PEAK_LENGTH_MAX => JumpKind::Open,
            None => JumpKind::LevelSwitch,
        };
        found.push(Jump { at, from, to, kind });
        at += back.map_or(1, |place| place + 2);
    }
    found
}
