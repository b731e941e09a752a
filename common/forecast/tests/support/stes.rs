//! Smooth Transition Exponential Smoothing (Taylor 2004): a comparator of the study, too slow for
//! use.

use forecast::{Forecast, Observation, Predictor, Smoothing};

/// The size of an error that the gain depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    Absolute,
    Square,
}

/// Smoothing with the gain `1 / (1 + exp(beta + gamma V))`.
#[derive(Clone, Debug)]
pub(crate) struct Stes {
    beta: f64,
    gamma: f64,
    size: Size,
    /// Values that beta and gamma are fitted to after each value; none where they are fixed.
    window: Option<usize>,
    recent: Vec<f64>,
    level: Option<f64>,
    /// Counts and scores.
    record: Smoothing,
    forecast: Option<Forecast>,
}

impl Stes {
    pub(crate) fn fixed(beta: f64, gamma: f64, size: Size) -> Stes {
        Stes {
            beta,
            gamma,
            size,
            window: None,
            recent: Vec::new(),
            level: None,
            record: Smoothing::new(1.0),
            forecast: None,
        }
    }

    /// Refitted by least squares over the newest `window` values after each value.
    pub(crate) fn fitted(window: usize) -> Stes {
        Stes {
            window: Some(window),
            ..Stes::fixed(0.0, 0.0, Size::Absolute)
        }
    }

    fn gain(&self, beta: f64, gamma: f64, error: f64, scale: f64) -> f64 {
        let size = match self.size {
            Size::Absolute => error.abs() / scale,
            Size::Square => error * error / (scale * scale),
        };
        1.0 / (1.0 + (beta + gamma * size).min(700.0).exp())
    }

    /// The squared error over the window, and the level after it.
    fn tried(&self, beta: f64, gamma: f64, scale: f64) -> (f64, f64) {
        let mut level = self.recent[0];
        let mut squares = 0.0;
        for &value in &self.recent[1..] {
            let error = value - level;
            squares += error * error;
            level += self.gain(beta, gamma, error, scale) * error;
        }
        (squares, level)
    }

    /// Coordinate steps that halve, from the last fit.
    fn fit(&mut self, window: usize) -> f64 {
        if self.recent.len() > window {
            self.recent.remove(0);
        }
        let n = self.recent.len() as f64;
        let mean = self.recent.iter().sum::<f64>() / n;
        let scale = self
            .recent
            .iter()
            .map(|value| (value - mean).abs())
            .sum::<f64>()
            / n;
        let scale = if scale > 0.0 { scale } else { 1.0 };
        let (mut best, mut level) = self.tried(self.beta, self.gamma, scale);
        let mut step = 1.0;
        while step > 0.05 {
            let mut is_better = false;
            for (beta, gamma) in [(step, 0.0), (-step, 0.0), (0.0, step), (0.0, -step)] {
                let (beta, gamma) = (self.beta + beta, self.gamma + gamma);
                if beta.abs().max(gamma.abs()) > 10.0 {
                    continue;
                }
                let (squares, after) = self.tried(beta, gamma, scale);
                if squares < best {
                    (self.beta, self.gamma, best, level) = (beta, gamma, squares, after);
                    is_better = true;
                    break;
                }
            }
            if !is_better {
                step /= 2.0;
            }
        }
        level
    }
}

impl Predictor for Stes {
    fn observe(&mut self, observation: Observation) {
        let Observation::Value(value) = observation else {
            return;
        };
        self.record.observe(observation);
        let level = match (self.level, self.window) {
            (None, _) => {
                self.recent.push(value);
                value
            }
            (Some(_), Some(window)) => {
                self.recent.push(value);
                self.fit(window)
            }
            (Some(level), None) => {
                let error = value - level;
                level + self.gain(self.beta, self.gamma, error, 1.0) * error
            }
        };
        self.level = Some(level);
        let record = self.record.forecast();
        self.forecast = record.map(|forecast| Forecast {
            value: level,
            ..forecast
        });
    }

    fn forecast(&self) -> Option<Forecast> {
        self.forecast
    }

    fn state_bytes(&self) -> usize {
        size_of::<Stes>() + self.recent.capacity() * 8
    }
}
