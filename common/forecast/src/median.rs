//! The median of a sliding window.

use serde::{Deserialize, Serialize};

use crate::predictor::{Forecast, Observation, Predictor, Score, Source};
use crate::window::Window;

/// The median of the newest values: peaks do not move it, and it follows another level after half
/// a window. O(width), 16 bytes a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Median {
    window: Window,
    score: Score,
}

impl Median {
    /// Of the newest `width` values, one at least; 31 in Dobber's thesis.
    pub fn new(width: usize) -> Median {
        Median {
            window: Window::new(width),
            score: Score::default(),
        }
    }

    pub(crate) fn value(&self) -> Option<f64> {
        self.window.median()
    }

    pub(crate) fn window(&self) -> &Window {
        &self.window
    }
}

impl Predictor for Median {
    fn observe(&mut self, observation: Observation) {
        let Some(value) = observation.measured() else {
            return;
        };
        self.score.count(self.value().map(|median| value - median));
        self.window.push(value);
    }

    fn forecast(&self) -> Option<Forecast> {
        Some(self.score.forecast(self.value()?, Source::Median))
    }

    fn state_bytes(&self) -> usize {
        size_of::<Median>() + self.window.heap_bytes()
    }
}
