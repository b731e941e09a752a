//! Trigg and Leach: the gain is the tracking signal.

use serde::{Deserialize, Serialize};

use crate::predictor::{Forecast, Observation, Predictor, Score, Source};

/// Smoothing with the gain `|A / M|`, where `A` and `M` are the smoothed error and the smoothed
/// size of the error: errors to one side make it fast. Dobber's thesis, 7.2. O(1), 72 bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TriggLeach {
    phi: f64,
    gain: f64,
    error: f64,
    size: f64,
    level: Option<f64>,
    score: Score,
}

impl TriggLeach {
    /// `phi` smooths the errors, 0.2 in the thesis; it is clamped to 0..1.
    pub fn new(phi: f64) -> TriggLeach {
        TriggLeach {
            phi: if phi.is_nan() {
                0.2
            } else {
                phi.clamp(0.0, 1.0)
            },
            gain: 0.5,
            error: 0.0,
            size: 0.0,
            level: None,
            score: Score::default(),
        }
    }
}

impl Default for TriggLeach {
    fn default() -> TriggLeach {
        TriggLeach::new(0.2)
    }
}

impl Predictor for TriggLeach {
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
        self.error = self.phi * error + (1.0 - self.phi) * self.error;
        self.size = self.phi * error.abs() + (1.0 - self.phi) * self.size;
        if self.size > 0.0 {
            self.gain = (self.error / self.size).abs().min(1.0);
        }
        self.level = Some(self.gain * value + (1.0 - self.gain) * level);
    }

    fn forecast(&self) -> Option<Forecast> {
        Some(self.score.forecast(self.level?, Source::Smoothing))
    }

    fn state_bytes(&self) -> usize {
        size_of::<TriggLeach>()
    }
}
