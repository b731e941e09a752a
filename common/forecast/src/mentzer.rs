//! Mentzer: the gain is the size of the last error relative to the value.

use serde::{Deserialize, Serialize};

use crate::predictor::{Forecast, Observation, Predictor, Score, Source};

/// Smoothing with the gain `min(|error / value|, 1)`. Dobber's thesis, 7.2. O(1), 32 bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mentzer {
    level: Option<f64>,
    score: Score,
}

impl Predictor for Mentzer {
    fn observe(&mut self, observation: Observation) {
        let Some(value) = observation.measured() else {
            return;
        };
        self.score.count(self.level.map(|level| value - level));
        self.level = Some(match self.level {
            None => value,
            Some(level) => {
                let gain = match value {
                    0.0 => 1.0,
                    value => ((value - level) / value).abs().min(1.0),
                };
                gain * value + (1.0 - gain) * level
            }
        });
    }

    fn forecast(&self) -> Option<Forecast> {
        Some(self.score.forecast(self.level?, Source::Smoothing))
    }

    fn state_bytes(&self) -> usize {
        size_of::<Mentzer>()
    }
}
