//! The mean of the middle of a sliding window.

use serde::{Deserialize, Serialize};

use crate::predictor::{Forecast, Observation, Predictor, Score, Source};
use crate::window::Window;

/// The mean of a window without its largest and smallest values. O(width), 16 bytes a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrimmedMean {
    window: Window,
    /// Share of the values that is dropped, half of it at each end.
    trimmed: f64,
    score: Score,
}

impl TrimmedMean {
    /// Of the newest `width` values; `trimmed` is the share that is dropped, half at each end, and
    /// is clamped to 0..0.9. The Network Weather Service drops 0.3 of 31 and of 51 values.
    pub fn new(width: usize, trimmed: f64) -> TrimmedMean {
        TrimmedMean {
            window: Window::new(width),
            trimmed: if trimmed.is_nan() {
                0.3
            } else {
                trimmed.clamp(0.0, 0.9)
            },
            score: Score::default(),
        }
    }

    pub(crate) fn value(&self) -> Option<f64> {
        middle(self.window.sorted(), self.trimmed)
    }
}

/// The mean of sorted values without the share `trimmed` of them, half of it at each end.
pub(crate) fn middle(sorted: &[f64], trimmed: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let dropped = ((sorted.len() as f64 * trimmed / 2.0) as usize).min(last / 2);
    let kept = &sorted[dropped..sorted.len() - dropped];
    Some(kept.iter().sum::<f64>() / kept.len() as f64)
}

impl Predictor for TrimmedMean {
    fn observe(&mut self, observation: Observation) {
        let Some(value) = observation.measured() else {
            return;
        };
        self.score.count(self.value().map(|mean| value - mean));
        self.window.push(value);
    }

    fn forecast(&self) -> Option<Forecast> {
        Some(self.score.forecast(self.value()?, Source::TrimmedMean))
    }

    fn state_bytes(&self) -> usize {
        size_of::<TrimmedMean>() + self.window.heap_bytes()
    }
}
