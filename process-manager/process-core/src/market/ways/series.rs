//! The series of one machine: how fast its links were, round by round, and the forecast of the next value.
//!
//! ```text
//!   level of the links after each transfer --fastest of a round--> forecaster --> speed that plans count on
//!                      | another one by a factor of 2.5
//!                      +--> the series begins anew with it; in the fourth time in a row, as the mean of all
//! ```
//! Transfers share links, so one level may be low by chance, and of a round only the fastest counts. A link that has
//! broken down is not averaged with what it was: the series begins anew. Where that happens again and again, the link
//! comes and goes, and a forecast that followed it would have everything planned anew each time: then the mean counts,
//! until the link has kept its level for a while.

use forecast::{Forecaster, Method, Observation, Predictor, Quantity};
use model::{Mono, Span};

use super::CHANGED;

/// The shortest round: the transfers of one activity's inputs mostly end within it.
const ROUND: Span = Span::from_secs(1);

/// The predictor of speeds: of all, the one with the least errors (docs/forecasting.md).
const METHOD: Method = Method::Xavantes;

/// Levels that a series begins anew with, each within [`TOGETHER`] after the one before: a first transfer was slow
/// by chance, a link breaks down, and it is back.
const JUMPS_MAX: u32 = 3;
const TOGETHER: Span = Span::from_secs(60);

/// The speed of one machine's links, in bytes a second.
#[derive(Debug)]
pub(super) struct Series {
    forecaster: Forecaster,
    /// The fastest of the round that is open, and the beginning of that.
    fastest: f64,
    since: Mono,
    /// The level after the last jump, or the first one.
    around: f64,
    /// The jumps in a row, and the last of them.
    n_jumps: u32,
    jumped: Mono,
}

impl Series {
    /// The series of a machine whose links were first seen to be this fast.
    pub(super) fn new(level: f64, now: Mono) -> Series {
        Series {
            forecaster: Forecaster::new(METHOD, Quantity::Runtime),
            fastest: level,
            since: now,
            around: level,
            n_jumps: 0,
            jumped: now,
        }
    }

    /// Links are this fast after a transfer that has ended now.
    pub(super) fn note(&mut self, level: f64, now: Mono) {
        let is_in_row = now.since(self.jumped) < TOGETHER;
        if is_changed(level / self.around) {
            self.n_jumps = if is_in_row { self.n_jumps } else { 0 }.saturating_add(1);
            self.jumped = now;
            self.around = level;
            if self.n_jumps <= JUMPS_MAX {
                return self.begin(METHOD, level, now);
            }
            if self.n_jumps == JUMPS_MAX + 1 {
                let before = self.speed();
                self.begin(Method::Mean, level, now);
                return self.forecaster.observe(Observation::Value(before));
            }
        } else if self.n_jumps > JUMPS_MAX && !is_in_row {
            self.n_jumps = 0;
            return self.begin(METHOD, level, now);
        }
        if now.since(self.since) < ROUND {
            self.fastest = self.fastest.max(level);
            return;
        }
        self.forecaster.observe(Observation::Value(self.fastest));
        self.fastest = level;
        self.since = now;
    }

    /// The speed that is expected; of a series without a complete round, the fastest up to now.
    pub(super) fn speed(&self) -> f64 {
        let forecast = self.forecaster.forecast();
        forecast.map_or(self.fastest, |forecast| forecast.value)
    }

    /// Forgets all levels before this one.
    fn begin(&mut self, method: Method, level: f64, now: Mono) {
        self.forecaster = Forecaster::new(method, Quantity::Runtime);
        self.fastest = level;
        self.since = now;
    }
}

/// Returns true if a speed over the one before is another one, and not the same by chance.
pub(super) fn is_changed(ratio: f64) -> bool {
    ratio.ln().abs() > CHANGED.ln()
}

#[cfg(test)]
mod tests;
