//! The last value.

use serde::{Deserialize, Serialize};

use crate::predictor::{Forecast, Observation, Predictor, Score, Source};

/// The next value is the newest one: best for a random walk. O(1), 32 bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Last {
    value: Option<f64>,
    score: Score,
}

impl Predictor for Last {
    fn observe(&mut self, observation: Observation) {
        let Some(value) = observation.measured() else {
            return;
        };
        self.score.count(self.value.map(|last| value - last));
        self.value = Some(value);
    }

    fn forecast(&self) -> Option<Forecast> {
        Some(self.score.forecast(self.value?, Source::Last))
    }

    fn state_bytes(&self) -> usize {
        size_of::<Last>()
    }
}
