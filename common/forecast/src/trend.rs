//! Exponential smoothing with a trend.

use serde::{Deserialize, Serialize};

use crate::predictor::{Forecast, Observation, Predictor, Score, Source};

/// Weight of the newest step in the trend: 10 % in the Network Weather Service.
const TREND_GAIN: f64 = 0.10;

/// Smooths the level with `gain` and its steps with 0.1; the forecast is level plus step. O(1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    gain: f64,
    level: Option<f64>,
    step: f64,
    score: Score,
}

impl Trend {
    /// `gain` is clamped to 0..1.
    pub fn new(gain: f64) -> Trend {
        Trend {
            gain: if gain.is_nan() {
                0.2
            } else {
                gain.clamp(0.0, 1.0)
            },
            level: None,
            step: 0.0,
            score: Score::default(),
        }
    }

    pub(crate) fn value(&self) -> Option<f64> {
        Some(self.level? + self.step)
    }
}

impl Predictor for Trend {
    fn observe(&mut self, observation: Observation) {
        let Some(value) = observation.measured() else {
            return;
        };
        self.score
            .count(self.value().map(|forecast| value - forecast));
        let Some(before) = self.level else {
            self.level = Some(value);
            return;
        };
        let level = self.gain * value + (1.0 - self.gain) * (before + self.step);
        self.step = TREND_GAIN * (level - before) + (1.0 - TREND_GAIN) * self.step;
        self.level = Some(level);
    }

    fn forecast(&self) -> Option<Forecast> {
        Some(self.score.forecast(self.value()?, Source::Trend))
    }

    fn state_bytes(&self) -> usize {
        size_of::<Trend>()
    }
}
