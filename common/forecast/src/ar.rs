//! Autoregression about the mean, by Yule and Walker's equations.

use serde::{Deserialize, Serialize};

use crate::predictor::{Forecast, Observation, Predictor, Score, Source};
use crate::ring::Ring;

/// The largest order.
pub const ORDER_MAX: usize = 32;
/// Values that a model is fitted to.
const WINDOW: usize = 600;
/// Values from one fit to the next.
const FIT_EVERY: u32 = 20;

/// `forecast = mean + sum of a_i (y_{t+1-i} - mean)`, fitted to the newest 600 values every 20
/// values (biased autocovariances, Levinson and Durbin's recursion); the running mean before `2p`
/// values. O(p) a value and O(600 p) a fit, at most 5.2 KB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ar {
    order: usize,
    ring: Ring<f64>,
    /// The coefficients, the newest value's first; `None` before the first fit.
    fit: Option<Vec<f64>>,
    mean: f64,
    until_fit: u32,
    value: Option<f64>,
    score: Score,
}

impl Ar {
    /// Of an order from 1 to 32; 16 in Dobber's thesis.
    pub fn new(order: usize) -> Ar {
        Ar {
            order: order.clamp(1, ORDER_MAX),
            ring: Ring::new(WINDOW),
            fit: None,
            mean: 0.0,
            until_fit: 0,
            value: None,
            score: Score::default(),
        }
    }

    fn fit(&mut self) {
        // The newest value comes last; the order of the ring matters to autocovariances.
        let mut values = [0.0; WINDOW];
        let n = self.ring.len().min(WINDOW);
        for (place, value) in values.iter_mut().zip(self.ring.iter()) {
            *place = value;
        }
        let values = &mut values[..n];
        self.mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter_mut().for_each(|value| *value -= self.mean);
        // What was stored may say anything.
        let order = self.order.clamp(1, ORDER_MAX);
        let mut covariances = [0.0; ORDER_MAX + 1];
        for (lag, covariance) in covariances.iter_mut().enumerate().take(order + 1) {
            *covariance =
                product(values.get(lag..).unwrap_or_default(), values) / values.len() as f64;
        }
        let mut coefficients = self.fit.take().unwrap_or_else(|| vec![0.0; order]);
        levinson(&covariances[..=order], &mut coefficients);
        self.fit = Some(coefficients);
    }
}

/// The sum of products, as far as the shorter one goes. Four sums at once, because a sum of
/// floating-point numbers waits for the one before.
pub(crate) fn product(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    let (a, b) = (&a[..n], &b[..n]);
    let mut sums = [0.0; 8];
    let (a, b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a
        .remainder()
        .iter()
        .zip(b.remainder())
        .map(|(a, b)| a * b)
        .sum();
    for (a, b) in a.zip(b) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// Solves Yule and Walker's equations by Levinson and Durbin's recursion: from the autocovariances
/// of lags 0 to p the coefficients of lags 1 to p, in O(p²). Where the covariances leave nothing to
/// explain, the remaining coefficients are zero.
pub fn levinson(covariances: &[f64], coefficients: &mut [f64]) {
    coefficients.fill(0.0);
    let order = coefficients
        .len()
        .min(covariances.len().saturating_sub(1))
        .min(ORDER_MAX);
    let Some(&variance) = covariances.first() else {
        return;
    };
    let mut unexplained = variance;
    let mut before = [0.0; ORDER_MAX];
    for place in 0..order {
        if unexplained.is_nan() || unexplained <= 0.0 {
            break;
        }
        let known = &coefficients[..place];
        let told: f64 = known
            .iter()
            .enumerate()
            .map(|(lag, a)| a * covariances[place - lag])
            .sum();
        let reflection = (covariances[place + 1] - told) / unexplained;
        before[..place].copy_from_slice(known);
        for lag in 0..place {
            coefficients[lag] = before[lag] - reflection * before[place - 1 - lag];
        }
        coefficients[place] = reflection;
        unexplained *= 1.0 - reflection * reflection;
    }
}

impl Predictor for Ar {
    fn observe(&mut self, observation: Observation) {
        let Some(value) = observation.measured() else {
            return;
        };
        self.score
            .count(self.value.map(|forecast| value - forecast));
        self.ring.push(value);
        let n = self.ring.len();
        if n < 2 * self.order {
            self.value = Some(self.ring.iter().sum::<f64>() / n as f64);
            return;
        }
        if self.until_fit == 0 || self.fit.is_none() {
            self.fit();
            self.until_fit = FIT_EVERY;
        }
        self.until_fit -= 1;
        let mut forecast = self.mean;
        for (back, a) in self.fit.iter().flatten().enumerate() {
            forecast += a * (self.ring.back(back).unwrap_or(self.mean) - self.mean);
        }
        self.value = Some(forecast);
    }

    fn forecast(&self) -> Option<Forecast> {
        Some(self.score.forecast(self.value?, Source::Autoregression))
    }

    fn state_bytes(&self) -> usize {
        let fit = self.fit.as_ref().map_or(0, Vec::capacity);
        size_of::<Ar>() + self.ring.heap_bytes() + fit * size_of::<f64>()
    }
}

#[cfg(test)]
mod tests;
