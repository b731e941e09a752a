//! The contract of every predictor: observations go in, a forecast of the next one comes out.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The largest magnitude that counts as a measurement: its square and sums of 10^12 such squares
/// are finite, so that no forecast becomes infinite. As milliseconds it is 30,000 years.
pub const VALUE_MAX: f64 = 1e15;

/// A measurement of a runtime, load or bandwidth, in whatever unit the series has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Observation {
    /// It was this much. A number that is not finite, or beyond [`VALUE_MAX`], counts as a gap.
    Value(f64),
    /// It was at least this much when it was stopped: a killed attempt.
    AtLeast(f64),
    /// It was not measured.
    Gap,
}

impl Observation {
    /// The measured number, if there is one that a predictor may use.
    pub fn measured(self) -> Option<f64> {
        match self {
            Observation::Value(value) if value.abs() <= VALUE_MAX => Some(value),
            Observation::Value(_) | Observation::AtLeast(_) | Observation::Gap => None,
        }
    }
}

/// The part of a predictor that made a forecast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The newest value.
    Last,
    /// The mean of all values.
    Mean,
    /// The mean of a window.
    WindowMean,
    /// The median of a window.
    Median,
    /// The median of a window that adapts its width.
    AdaptiveMedian,
    /// The mean of the middle of a window.
    TrimmedMean,
    /// Smoothing with a constant or an adaptive gain.
    Smoothing,
    /// Smoothing with a trend.
    Trend,
    /// An autoregressive model.
    Autoregression,
    /// A weighted mixture of several.
    Mixture,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Last => "last",
            Source::Mean => "mean",
            Source::WindowMean => "window mean",
            Source::Median => "median",
            Source::AdaptiveMedian => "adaptive median",
            Source::TrimmedMean => "trimmed mean",
            Source::Smoothing => "smoothing",
            Source::Trend => "trend",
            Source::Autoregression => "autoregression",
            Source::Mixture => "mixture",
        })
    }
}

/// A forecast of the next value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// The expected value, in the unit of the series. Always finite.
    pub value: f64,
    /// Root of the mean squared error of the forecasts so far; `None` before the second value.
    pub rmse: Option<f64>,
    /// The part that made it.
    pub source: Source,
    /// Number of values measured so far.
    pub n: u64,
}

/// A one-step-ahead predictor with bounded state.
pub trait Predictor {
    /// Takes the next observation of the series.
    fn observe(&mut self, observation: Observation);

    /// The forecast of the next value; `None` before the first one.
    fn forecast(&self) -> Option<Forecast>;

    /// Bytes of the state that are in use at present, with the heap.
    fn state_bytes(&self) -> usize;
}

/// The errors of the forecasts that a predictor gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Score {
    n: u64,
    squares: f64,
}

impl Score {
    /// Counts a value and the error of its forecast, where there was one.
    pub(crate) fn count(&mut self, error: Option<f64>) {
        self.n += 1;
        if let Some(error) = error {
            self.squares += error * error;
        }
    }

    /// Number of values.
    pub(crate) fn n(&self) -> u64 {
        self.n
    }

    /// A forecast with this record.
    pub(crate) fn forecast(&self, value: f64, source: Source) -> Forecast {
        let n_errors = self.n.saturating_sub(1);
        Forecast {
            value,
            rmse: (n_errors > 0).then(|| (self.squares / n_errors as f64).sqrt()),
            source,
            n: self.n,
        }
    }
}
