//! Means: of everything, and of a window.

use serde::{Deserialize, Serialize};

use crate::predictor::{Forecast, Observation, Predictor, Score, Source};
use crate::ring::Ring;

/// The mean of all values: best for independent values of one distribution. O(1), 24 bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mean {
    sum: f64,
    score: Score,
}

impl Mean {
    pub(crate) fn value(&self) -> Option<f64> {
        let n = self.score.n();
        (n > 0).then(|| self.sum / n as f64)
    }
}

impl Predictor for Mean {
    fn observe(&mut self, observation: Observation) {
        let Some(value) = observation.measured() else {
            return;
        };
        self.score.count(self.value().map(|mean| value - mean));
        self.sum += value;
    }

    fn forecast(&self) -> Option<Forecast> {
        Some(self.score.forecast(self.value()?, Source::Mean))
    }

    fn state_bytes(&self) -> usize {
        size_of::<Mean>()
    }
}

/// The mean of the newest values of a window. O(window), 8 bytes a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowMean {
    ring: Ring<f64>,
    score: Score,
}

impl WindowMean {
    /// Of the newest `width` values, one at least.
    pub fn new(width: usize) -> WindowMean {
        WindowMean {
            ring: Ring::new(width),
            score: Score::default(),
        }
    }

    pub(crate) fn value(&self) -> Option<f64> {
        let n = self.ring.len();
        (n > 0).then(|| self.ring.iter().sum::<f64>() / n as f64)
    }
}

impl Predictor for WindowMean {
    fn observe(&mut self, observation: Observation) {
        let Some(value) = observation.measured() else {
            return;
        };
        self.score.count(self.value().map(|mean| value - mean));
        self.ring.push(value);
    }

    fn forecast(&self) -> Option<Forecast> {
        Some(self.score.forecast(self.value()?, Source::WindowMean))
    }

    fn state_bytes(&self) -> usize {
        size_of::<WindowMean>() + self.ring.heap_bytes()
    }
}
