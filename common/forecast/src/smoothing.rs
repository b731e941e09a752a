//! Exponential smoothing with a constant gain.

use serde::{Deserialize, Serialize};

use crate::predictor::{Forecast, Observation, Predictor, Score, Source};

/// `forecast += gain * (value - forecast)`: the newest value weighs `gain`, and each older one
/// `1 - gain` times as much as its successor. Gain 1 is the last value. O(1), 40 bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Smoothing {
    gain: f64,
    level: Option<f64>,
    score: Score,
}

impl Smoothing {
    /// `gain` is clamped to 0..1; the best constant one in Dobber's thesis is 0.5.
    pub fn new(gain: f64) -> Smoothing {
        Smoothing {
            gain: if gain.is_nan() {
                0.5
            } else {
                gain.clamp(0.0, 1.0)
            },
            level: None,
            score: Score::default(),
        }
    }
}

impl Predictor for Smoothing {
    fn observe(&mut self, observation: Observation) {
        let Some(value) = observation.measured() else {
            return;
        };
        self.score.count(self.level.map(|level| value - level));
        self.level = Some(match self.level {
            None => value,
            Some(level) => self.gain * value + (1.0 - self.gain) * level,
        });
    }

    fn forecast(&self) -> Option<Forecast> {
        Some(self.score.forecast(self.level?, Source::Smoothing))
    }

    fn state_bytes(&self) -> usize {
        size_of::<Smoothing>()
    }
}
