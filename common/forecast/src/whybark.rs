//! Whybark: three gains, for large errors, after large errors, and else.

use serde::{Deserialize, Serialize};

use crate::predictor::{Forecast, Observation, Predictor, Score, Source};

/// Gains of Dobber's thesis, 7.2.
const GAIN: f64 = 0.2;
const GAIN_AFTER: f64 = 0.4;
const GAIN_LARGE: f64 = 0.8;
/// An error of so many standard deviations of the earlier errors is large.
const LARGE: f64 = 4.0;
/// Two errors in succession to the same side of so many are large too.
const LARGE_TWICE: f64 = 1.2;

/// Smoothing with gain 0.8 for a large error, 0.4 for the one after it, and 0.2 else. O(1), 88
/// bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Whybark {
    level: Option<f64>,
    n_errors: u64,
    errors: f64,
    squares: f64,
    error: f64,
    was_large: bool,
    score: Score,
}

impl Whybark {
    /// Sample standard deviation of all earlier errors; `None` below two of them.
    fn deviation(&self) -> Option<f64> {
        if self.n_errors < 2 {
            return None;
        }
        let n = self.n_errors as f64;
        let variance = (self.squares - self.errors * self.errors / n) / (n - 1.0);
        Some(variance.max(0.0).sqrt())
    }
}

impl Predictor for Whybark {
    fn observe(&mut self, observation: Observation) {
        let Some(value) = observation.measured() else {
            return;
        };
        self.score.count(self.level.map(|level| value - level));
        let Some(level) = self.level else {
            self.level = Some(value);
            return;
        };
        let error = value - level;
        let is_large = self.deviation().is_some_and(|deviation| {
            let twice = error.abs().min(self.error.abs()) > LARGE_TWICE * deviation
                && error * self.error > 0.0;
            deviation > 0.0 && (error.abs() > LARGE * deviation || twice)
        });
        let gain = match (is_large, self.was_large) {
            (true, _) => GAIN_LARGE,
            (false, true) => GAIN_AFTER,
            (false, false) => GAIN,
        };
        self.level = Some(gain * value + (1.0 - gain) * level);
        self.was_large = is_large;
        self.error = error;
        self.n_errors += 1;
        self.errors += error;
        self.squares += error * error;
    }

    fn forecast(&self) -> Option<Forecast> {
        Some(self.score.forecast(self.level?, Source::Smoothing))
    }

    fn state_bytes(&self) -> usize {
        size_of::<Whybark>()
    }
}
