//! Pantazopoulos and Pappis: the gain that would have been right one step ago.

use serde::{Deserialize, Serialize};

use crate::predictor::{Forecast, Observation, Predictor, Score, Source};

/// Smoothing with the gain `(y_t - f_{t-1}) / (y_{t-1} - f_{t-1})`, clamped to 0..1; where the
/// divisor is zero the gain stays, and it starts at 0.5. Dobber's thesis, 7.2. O(1), 64 bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PantazopoulosPappis {
    level: Option<f64>,
    /// The last value and the forecast of it.
    before: (f64, f64),
    gain: f64,
    score: Score,
}

impl Default for PantazopoulosPappis {
    fn default() -> PantazopoulosPappis {
        PantazopoulosPappis {
            level: None,
            before: (0.0, 0.0),
            gain: 0.5,
            score: Score::default(),
        }
    }
}

impl Predictor for PantazopoulosPappis {
    fn observe(&mut self, observation: Observation) {
        let Some(value) = observation.measured() else {
            return;
        };
        self.score.count(self.level.map(|level| value - level));
        let Some(level) = self.level else {
            self.before = (value, value);
            self.level = Some(value);
            return;
        };
        let (last, forecast) = self.before;
        let ideal = (value - forecast) / (last - forecast);
        if last != forecast && !ideal.is_nan() {
            self.gain = ideal.clamp(0.0, 1.0);
        }
        self.before = (value, level);
        self.level = Some(self.gain * value + (1.0 - self.gain) * level);
    }

    fn forecast(&self) -> Option<Forecast> {
        Some(self.score.forecast(self.level?, Source::Smoothing))
    }

    fn state_bytes(&self) -> usize {
        size_of::<PantazopoulosPappis>()
    }
}
