//! Dynamic Exponential Smoothing (Dobber 2006, 7.3).
//!
//! The gain depends on the class of the newest error, and is the least-squares gain of what came
//! after earlier errors of that class (7.19, with the class of the error before: a pair says where
//! the series went *after* a fluctuation). A running mean and a sliding median compete with it: the
//! forecast is that of the least squared error so far, over the whole history (7.14).

use serde::{Deserialize, Serialize};

use crate::mean::Mean;
use crate::median::Median;
use crate::predictor::{Forecast, Observation, Predictor, Score, Source};
use crate::ring::Ring;

/// Error sizes in standard deviations of the newest values that begin classes (7.21).
const HUGE: f64 = 10.0;
const BIG: f64 = 2.0;
const MEDIUM: f64 = 1.0;
/// The gain of a class that nothing is known about.
const GAIN_UNKNOWN: f64 = 0.5;
const N_CLASSES: usize = 5;

/// The class of an error: the first one that fits (7.21).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Class {
    /// More than 10 standard deviations up or down.
    H1,
    /// More than 2 up.
    H2,
    /// More than 2 down.
    H3,
    /// More than 1, as the one before, to the same side.
    M,
    /// All others.
    B,
}

impl Class {
    /// All of them, in the order of the paper.
    pub const ALL: [Class; N_CLASSES] = [Class::H1, Class::H2, Class::H3, Class::M, Class::B];

    fn of(error: f64, before: f64, deviation: f64) -> Class {
        if error.abs() > HUGE * deviation {
            Class::H1
        } else if error > BIG * deviation {
            Class::H2
        } else if error < -BIG * deviation {
            Class::H3
        } else if error.abs().min(before.abs()) > MEDIUM * deviation && error * before > 0.0 {
            Class::M
        } else {
            Class::B
        }
    }
}

/// The readings of the paper that the vectors compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reading {
    /// The one that is used.
    Corrected,
    /// Pairs are filed as (7.19) is printed: under the class of the later error.
    AsPrinted,
    /// Gains may leave 0..1.
    Unclamped,
    /// Errors are those of the forecast that was issued.
    IssuedErrors,
    /// No competition with mean and median.
    Alone,
}

/// Sizes of the windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// Values whose standard deviation errors are measured by; 20.
    pub deviation: usize,
    /// Values of the sliding median; 31.
    pub median: usize,
    /// Pairs that each class remembers; 500.
    pub pairs: usize,
}

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes {
            deviation: 20,
            median: 31,
            pairs: 500,
        }
    }
}

/// Dobber's predictor. O(median window), at most 41 KB; memory grows with what is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Des {
    reading: Reading,
    /// The values before the newest one.
    recent: Ring<f64>,
    gains: [Gain; N_CLASSES],
    /// Squared errors of smoothing, mean and median.
    squares: [f64; 3],
    mean: Mean,
    median: Median,
    /// The smoothing component's forecast.
    level: f64,
    /// The newest value, the forecast of it, and its class.
    before: (f64, f64, Class),
    error: f64,
    gain: f64,
    value: Option<f64>,
    source: Source,
    score: Score,
}

/// Pairs of a class: the ideal gain times its weight, and the weight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Gain {
    pairs: Ring<(f64, f64)>,
    ideal: f64,
    weight: f64,
}

impl Gain {
    fn new(n_pairs: usize) -> Gain {
        Gain {
            pairs: Ring::new(n_pairs),
            ideal: 0.0,
            weight: 0.0,
        }
    }

    fn file(&mut self, ideal: f64, weight: f64) {
        self.ideal += ideal;
        self.weight += weight;
        if let Some((ideal, weight)) = self.pairs.push((ideal, weight)) {
            self.ideal -= ideal;
            self.weight -= weight;
            // What is subtracted leaves rounding errors behind: each round begins with exact sums.
            if self.pairs.is_round() {
                self.ideal = self.pairs.iter().map(|pair| pair.0).sum();
                self.weight = self.pairs.iter().map(|pair| pair.1).sum();
            }
        }
    }

    fn value(&self) -> f64 {
        if self.weight > 0.0 {
            self.ideal / self.weight
        } else {
            GAIN_UNKNOWN
        }
    }
}

impl Default for Des {
    fn default() -> Des {
        Des::new(Sizes::default(), Reading::Corrected)
    }
}

impl Des {
    /// With sizes and a reading of one's own.
    pub fn new(sizes: Sizes, reading: Reading) -> Des {
        Des {
            reading,
            recent: Ring::new(sizes.deviation),
            gains: std::array::from_fn(|_| Gain::new(sizes.pairs)),
            squares: [0.0; 3],
            mean: Mean::default(),
            median: Median::new(sizes.median),
            level: 0.0,
            before: (0.0, 0.0, Class::B),
            error: 0.0,
            gain: GAIN_UNKNOWN,
            value: None,
            source: Source::Smoothing,
            score: Score::default(),
        }
    }

    /// The class of the newest value.
    pub fn class(&self) -> Class {
        self.before.2
    }

    /// The gain that the newest value was taken with.
    pub fn gain(&self) -> f64 {
        self.gain
    }

    /// The forecasts of smoothing, running mean and sliding median.
    pub fn components(&self) -> Option<[f64; 3]> {
        Some([self.level, self.mean.value()?, self.median.value()?])
    }

    /// The values of the sliding median, by size.
    pub(crate) fn newest_sorted(&self) -> &[f64] {
        self.median.window().sorted()
    }

    /// The squared errors of smoothing, running mean and sliding median.
    pub fn squared_errors(&self) -> [f64; 3] {
        self.squares
    }

    /// Number of pairs of a class, the sum of their ideal gains times weights, and of the weights.
    pub fn pairs(&self, class: Class) -> (usize, f64, f64) {
        let gain = &self.gains[class as usize];
        (gain.pairs.len(), gain.ideal, gain.weight)
    }

    fn learn(&mut self, value: f64, forecast: f64, mean: f64, median: f64) {
        self.squares[0] += (value - self.level).powi(2);
        self.squares[1] += (value - mean).powi(2);
        self.squares[2] += (value - median).powi(2);
        let error = match self.reading {
            Reading::IssuedErrors => value - forecast,
            Reading::Corrected | Reading::AsPrinted | Reading::Unclamped | Reading::Alone => {
                value - self.level
            }
        };
        let class = match deviation(&self.recent) {
            None => Class::B,
            Some(deviation) => Class::of(error, self.error, deviation),
        };
        let (last, forecast_of_last, class_of_last) = self.before;
        let missed = last - forecast_of_last;
        let filed = match self.reading {
            Reading::AsPrinted => class,
            Reading::Corrected | Reading::Unclamped | Reading::IssuedErrors | Reading::Alone => {
                class_of_last
            }
        };
        self.gains[filed as usize].file((value - forecast_of_last) * missed, missed * missed);
        let gain = self.gains[class as usize].value();
        self.gain = match self.reading {
            Reading::Unclamped => gain,
            Reading::Corrected | Reading::AsPrinted | Reading::IssuedErrors | Reading::Alone => {
                gain.clamp(0.0, 1.0)
            }
        };
        self.before = (value, self.level, class);
        self.error = error;
        self.level = self.gain * value + (1.0 - self.gain) * self.level;
    }

    fn choose(&mut self) {
        let [smoothing, mean, median] = self.squares;
        (self.source, self.value) =
            if self.reading == Reading::Alone || smoothing <= mean && smoothing <= median {
                (Source::Smoothing, Some(self.level))
            } else if mean <= median {
                (Source::Mean, self.mean.value())
            } else {
                (Source::Median, self.median.value())
            };
    }
}

/// Sample standard deviation, `None` below two values.
fn deviation(values: &Ring<f64>) -> Option<f64> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    // The order of a ring does not matter to it.
    let (older, newer) = values.slices();
    let mean = (older.iter().sum::<f64>() + newer.iter().sum::<f64>()) / n as f64;
    let apart = |values: &[f64]| {
        values
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>()
    };
    Some(((apart(older) + apart(newer)) / (n - 1) as f64).sqrt())
}

impl Predictor for Des {
    fn observe(&mut self, observation: Observation) {
        let Some(value) = observation.measured() else {
            return;
        };
        self.score
            .count(self.value.map(|forecast| value - forecast));
        if let (Some(forecast), Some(mean), Some(median)) =
            (self.value, self.mean.value(), self.median.value())
        {
            self.learn(value, forecast, mean, median);
        } else {
            self.level = value;
            self.before = (value, value, Class::B);
        }
        self.mean.observe(observation);
        self.median.observe(observation);
        self.recent.push(value);
        self.choose();
    }

    fn forecast(&self) -> Option<Forecast> {
        Some(self.score.forecast(self.value?, self.source))
    }

    fn state_bytes(&self) -> usize {
        let pairs: usize = self.gains.iter().map(|gain| gain.pairs.heap_bytes()).sum();
        size_of::<Des>() + pairs + self.recent.heap_bytes() + self.median.window().heap_bytes()
    }
}

#[cfg(test)]
mod tests;
