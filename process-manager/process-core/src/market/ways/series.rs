//! The series of one machine: how fast its links were, round by round, and the forecast of the next value.
//!
//! ```text
//!   level of the links after each transfer --fastest of a round--> forecaster --> speed that plans count on
//!                      | another one by a factor of 2.5
//!                      +--> the series begins anew with it
//! ```
//! Transfers share links, so one level may be low by chance, and of a round only the fastest counts. A link that has
//! broken down is not averaged with what it was: the series begins anew, however often it has done so before, since
//! levels change by such a factor by chance as well where several transfers share a fast link.

use forecast::{Forecaster, Method, Observation, Predictor, Quantity};
use model::{Mono, Span};

use super::CHANGED;

/// The shortest round: the transfers of one activity's inputs mostly end within it.
const ROUND: Span = Span::from_secs(1);

/// The predictor of speeds: of all, the one with the least errors (docs/forecasting.md).
const METHOD: Method = Method::Xavantes;

/// The speed of one machine's links, in bytes a second.
#[derive(Debug)]
pub(super) struct Series {
    forecaster: Forecaster,
    /// The fastest of the round that is open, and the beginning of that.
    fastest: f64,
    since: Mono,
    /// The level that the series began with.
    around: f64,
}

impl Series {
    /// The series of a machine whose links were first seen to be this fast.
    pub(super) fn new(level: f64, now: Mono) -> Series {
        Series {
            forecaster: Forecaster::new(METHOD, Quantity::Runtime),
            fastest: level,
            since: now,
            around: level,
        }
    }

    /// Links are this fast after a transfer that has ended now.
    pub(super) fn note(&mut self, level: f64, now: Mono) {
        if is_changed(level / self.around) {
            *self = Series::new(level, now);
            return;
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
}

/// Returns true if a speed over the one before is another one, and not the same by chance.
pub(super) fn is_changed(ratio: f64) -> bool {
    ratio.ln().abs() > CHANGED.ln()
}

#[cfg(test)]
mod tests;
