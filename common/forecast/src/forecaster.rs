//! A predictor of one series with everything that users of forecasts need: bounds of the kind of
//! quantity, quantiles, and a record of the errors.

use serde::{Deserialize, Serialize};

use crate::method::{AnyPredictor, Method};
use crate::predictor::{Forecast, Observation, Predictor, Score, VALUE_MAX};
use crate::spread::{Quantiles, Spread};

/// The shortest runtime that is forecast, in the unit of the series.
pub const RUNTIME_MIN: f64 = 1e-9;

/// The quantity of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Runtimes or bandwidths: above zero.
    Runtime,
    /// Loads: zero or more.
    Load,
    /// Any number.
    Any,
}

impl Quantity {
    /// True if this can be a measurement of it.
    pub fn holds(self, value: f64) -> bool {
        value.abs() <= VALUE_MAX
            && match self {
                Quantity::Runtime => value > 0.0,
                Quantity::Load => value >= 0.0,
                Quantity::Any => true,
            }
    }

    fn bounded(self, value: f64) -> f64 {
        match self {
            Quantity::Runtime => value.clamp(RUNTIME_MIN, VALUE_MAX),
            Quantity::Load => value.clamp(0.0, VALUE_MAX),
            Quantity::Any => value.clamp(-VALUE_MAX, VALUE_MAX),
        }
    }
}

/// A predictor of one series. What cannot be a measurement of its quantity counts as a gap, and no
/// forecast leaves the bounds of the quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forecaster {
    quantity: Quantity,
    predictor: AnyPredictor,
    score: Score,
    spread: Spread,
}

impl Forecaster {
    /// A forecaster that has seen nothing.
    pub fn new(method: Method, quantity: Quantity) -> Forecaster {
        Forecaster {
            quantity,
            predictor: method.predictor(),
            score: Score::default(),
            spread: Spread::default(),
        }
    }

    /// Quantiles of the next value; `None` before the second value.
    pub fn quantiles(&self) -> Option<Quantiles> {
        let Quantiles { p50, p90, p99 } = self.spread.about(self.forecast()?.value)?;
        Some(Quantiles {
            p50: self.quantity.bounded(p50),
            p90: self.quantity.bounded(p90),
            p99: self.quantity.bounded(p99),
        })
    }

    /// The predictor inside.
    pub fn predictor(&self) -> &AnyPredictor {
        &self.predictor
    }

    /// True if a killed attempt says anything to this predictor.
    fn learns_from_killed(&self) -> bool {
        matches!(self.predictor, AnyPredictor::Xavantes(_))
    }
}

impl Predictor for Forecaster {
    fn observe(&mut self, observation: Observation) {
        let issued = self.forecast().map(|forecast| forecast.value);
        match observation {
            Observation::Value(value) if self.quantity.holds(value) => {
                let error = issued.map(|forecast| value - forecast);
                self.score.count(error);
                if let Some(error) = error {
                    self.spread.count(error);
                }
                self.predictor.observe(observation);
            }
            Observation::AtLeast(least) if self.quantity.holds(least) => {
                if !self.learns_from_killed() {
                    return;
                }
                // The error was this much or more; an attempt that was killed before its forecast
                // says nothing about long ones.
                if let Some(forecast) = issued.filter(|forecast| *forecast < least) {
                    self.spread.count(least - forecast);
                }
                self.predictor.observe(observation);
            }
            Observation::Value(_) | Observation::AtLeast(_) | Observation::Gap => {
                self.predictor.observe(Observation::Gap);
            }
        }
    }

    fn forecast(&self) -> Option<Forecast> {
        let Forecast { value, source, .. } = self.predictor.forecast()?;
        Some(self.score.forecast(self.quantity.bounded(value), source))
    }

    fn state_bytes(&self) -> usize {
        size_of::<Forecaster>() - size_of::<AnyPredictor>()
            + self.predictor.state_bytes()
            + self.spread.heap_bytes()
    }
}
