//! The predictor of this project: a weighted mixture of twelve others, whose weights are learned
//! beforehand from many machines and corrected on each series.
//!
//! The forecast is `centre + sum of weight_i * input_i`, cut to the range of what the experts say.
//! The centre is exponential smoothing with gain 0.15. The inputs are how far each expert is from
//! it, and how far the newest value and the one before were from it when they came, cut at several
//! multiples of the usual distance: a linear mixture of cut distances is a gain that depends on the
//! size and the sign of the error, which is what DES learns by classes.
//!
//! The weights begin at those of least squares over many machines ([`weights`]) and follow each
//! series by recursive least squares with a strong prior: below some hundred values there is little
//! to learn from one series, and what holds for most machines is better than any tournament.
//! docs/forecasting.md compares it with the others on machines that were not used for the weights.

mod weights;

use serde::{Deserialize, Serialize};

use crate::ar::Ar;
use crate::des::{Des, Reading, Sizes};
use crate::median::Median;
use crate::predictor::{Forecast, Observation, Predictor, Score, Source, VALUE_MAX};
use crate::smoothing::Smoothing;
use crate::trimmed_mean::middle;

/// Number of inputs of the mixture.
pub const N_INPUTS: usize = 24;

/// Gains of the smoothing experts; the centre is not among them.
const GAINS: [f64; 5] = [0.7, 0.5, 0.3, 0.05, 0.02];
const GAIN_OF_CENTRE: f64 = 0.15;
/// Number of inputs that say what an expert forecasts; the others are cut distances.
const N_EXPERTS: usize = 13;
/// Values of the short median.
const MEDIAN: usize = 5;
/// The middle of the long window: 15 % at each end are left out.
const TRIMMED: f64 = 0.3;
const ORDER: usize = 16;
/// Pairs that each class of DES remembers: half of what DES has by itself, for memory.
const PAIRS: usize = 256;
/// Multiples of the usual distance where the newest distance is cut.
const CUTS: [f64; 4] = [0.5, 1.0, 2.0, 4.0];
const CUTS_UP: [f64; 2] = [1.0, 3.0];
const CUTS_BEFORE: [f64; 2] = [1.0, 3.0];
/// Weight of the newest distance and error in their running means, after a plain mean of the first.
const RATE: f64 = 0.03;
const RATE_OF_ERRORS: f64 = 0.02;
/// Weight of what was learned beforehand, in values of one series.
const PRIOR: f64 = 500.0;
/// How much older values still weigh, a value later.
const FORGETTING: f64 = 0.9995;
/// An error counts as at most so many usual ones when weights follow it.
const ERROR_MAX: f64 = 4.0;

/// The default predictor. About 1 µs a value, at most 34 KB; memory grows with what is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Xavantes {
    last: f64,
    centre: Smoothing,
    smoothing: [Smoothing; GAINS.len()],
    median: Median,
    ar: Ar,
    des: Des,
    /// The distance of the newest value from the centre before it, and that of the value before.
    distance: (f64, f64),
    /// The usual distance when each of them came.
    usual: (f64, f64),
    /// Running means of the distances and of the squared errors.
    distances: f64,
    squares: f64,
    weights: Weights,
    inputs: Inputs,
    value: Option<f64>,
    score: Score,
}

/// The inputs of a forecast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Inputs {
    values: [f64; N_INPUTS],
    centre: f64,
}

/// Weights and how well they are known: recursive least squares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Weights {
    prior: Box<[f64; N_INPUTS]>,
    values: [f64; N_INPUTS],
    /// The inverse of the weighted products of the inputs, row by row.
    inverse: Box<[[f64; N_INPUTS]; N_INPUTS]>,
}

impl Default for Xavantes {
    fn default() -> Xavantes {
        Xavantes::with_weights(&weights::LEARNED)
    }
}

impl Xavantes {
    /// Bytes of one series at most: 256 pairs in five classes, windows of 600, 20, 31 and 5 values.
    pub(crate) const BYTES_MAX: usize = size_of::<Xavantes>()
        + 5 * PAIRS * 16
        + (600 + ORDER + 20 + 2 * 31 + 2 * 8) * 8
        + (N_INPUTS + 1) * N_INPUTS * 8;

    /// With weights of one's own to begin with: for studies.
    pub fn with_weights(weights: &[f64; N_INPUTS]) -> Xavantes {
        let sizes = Sizes {
            pairs: PAIRS,
            ..Sizes::default()
        };
        Xavantes {
            last: 0.0,
            centre: Smoothing::new(GAIN_OF_CENTRE),
            smoothing: GAINS.map(Smoothing::new),
            median: Median::new(MEDIAN),
            ar: Ar::new(ORDER),
            des: Des::new(sizes, Reading::Corrected),
            distance: (0.0, 0.0),
            usual: (0.0, 0.0),
            distances: 0.0,
            squares: 0.0,
            weights: Weights::new(weights),
            inputs: Inputs::default(),
            value: None,
            score: Score::default(),
        }
    }

    /// The inputs of the forecast, and the centre that they are distances from: for studies, which
    /// learn weights by least squares.
    pub fn inputs(&self) -> ([f64; N_INPUTS], f64) {
        (self.inputs.values, self.inputs.centre)
    }

    /// Takes a value into everything but the weights and the record.
    fn take(&mut self, value: f64) {
        let observation = Observation::Value(value);
        let n = self.centre.forecast().map_or(0, |forecast| forecast.n);
        let centre = self
            .centre
            .forecast()
            .map_or(value, |forecast| forecast.value);
        self.usual = (self.distances, self.usual.0);
        self.distance = (value - centre, self.distance.0);
        let rate = (1.0 / (n as f64 + 1.0)).max(RATE);
        self.distances += rate * (self.distance.0.abs() - self.distances);
        self.last = value;
        self.centre.observe(observation);
        self.smoothing
            .iter_mut()
            .for_each(|expert| expert.observe(observation));
        self.median.observe(observation);
        self.ar.observe(observation);
        self.des.observe(observation);
        self.mix();
    }

    /// Works out the forecast.
    fn mix(&mut self) {
        let said = |expert: &dyn Predictor| expert.forecast().map_or(self.last, |said| said.value);
        let centre = said(&self.centre);
        let [level, mean, median] = self.des.components().unwrap_or([self.last; 3]);
        let [s0, s1, s2, s3, s4] = &self.smoothing;
        let experts: [f64; N_EXPERTS] = [
            self.last,
            said(s0),
            said(s1),
            said(s2),
            said(s3),
            mean,
            said(&self.median),
            median,
            middle(self.des.newest_sorted(), TRIMMED).unwrap_or(self.last),
            said(&self.ar),
            level,
            said(&self.des),
            said(s4),
        ];
        let (mut least, mut most) = (centre, centre);
        let mut inputs = Inputs {
            values: [0.0; N_INPUTS],
            centre,
        };
        for (input, expert) in inputs.values.iter_mut().zip(experts) {
            *input = expert - centre;
            least = least.min(expert);
            most = most.max(expert);
        }
        for (input, cut) in inputs.values[N_EXPERTS..]
            .iter_mut()
            .zip(self.cut_distances())
        {
            *input = cut;
        }
        self.inputs = inputs;
        self.value = Some(self.weights.mixed(&inputs).clamp(least, most));
    }

    fn cut_distances(&self) -> [f64; N_INPUTS - N_EXPERTS] {
        let (now, before) = self.distance;
        let (usual, usual_before) = self.usual;
        let cut = |distance: f64, at: f64| distance.clamp(-at, at);
        let both = if now * before > 0.0 {
            now.abs().min(before.abs()).copysign(now)
        } else {
            0.0
        };
        [
            cut(now, CUTS[0] * usual),
            cut(now, CUTS[1] * usual),
            cut(now, CUTS[2] * usual),
            cut(now, CUTS[3] * usual),
            now.clamp(0.0, CUTS_UP[0] * usual),
            now.clamp(0.0, CUTS_UP[1] * usual),
            now.max(0.0),
            cut(before, CUTS_BEFORE[0] * usual_before),
            cut(before, CUTS_BEFORE[1] * usual_before),
            both,
            cut(both, usual),
        ]
    }

    /// A killed attempt took at least `least`. Above the forecast, the value is taken to be as much
    /// beyond the bound as errors usually are: exact for an exponential tail. Below the forecast the
    /// bound says nothing, because the expectation is beyond it already.
    fn take_killed(&mut self, least: f64) {
        let Some(forecast) = self.value else {
            self.take(least);
            return;
        };
        if least > forecast {
            self.take((least + self.distances).min(VALUE_MAX));
        }
    }
}

impl Weights {
    fn new(prior: &[f64; N_INPUTS]) -> Weights {
        let mut inverse = Box::new([[0.0; N_INPUTS]; N_INPUTS]);
        for (place, row) in inverse.iter_mut().enumerate() {
            row[place] = 1.0 / PRIOR;
        }
        Weights {
            prior: Box::new(*prior),
            values: *prior,
            inverse,
        }
    }

    fn mixed(&self, inputs: &Inputs) -> f64 {
        inputs.centre + crate::ar::product(&self.values, &inputs.values)
    }

    /// Follows an error of the mixture; `usual` is what errors are measured by.
    fn learn(&mut self, inputs: &Inputs, error: f64, usual: f64) {
        let input = inputs.values.map(|input| input / usual);
        let error = (error / usual).clamp(-ERROR_MAX, ERROR_MAX);
        let mut told = [0.0; N_INPUTS];
        for (told, row) in told.iter_mut().zip(self.inverse.iter()) {
            *told = crate::ar::product(row, &input);
        }
        let divisor = FORGETTING + crate::ar::product(&told, &input);
        let mut trace = 0.0;
        for (place, row) in self.inverse.iter_mut().enumerate() {
            let own = told[place] / divisor;
            self.values[place] += own * error;
            for (entry, other) in row.iter_mut().zip(&told) {
                *entry = (*entry - own * other) * (1.0 / FORGETTING);
            }
            trace += row[place];
        }
        // Forgetting never makes the weights less certain than they were at first.
        let most = N_INPUTS as f64 / PRIOR;
        if trace > most {
            let factor = most / trace;
            self.inverse
                .iter_mut()
                .flatten()
                .for_each(|entry| *entry *= factor);
        }
        if !(trace > 0.0) || self.values.iter().any(|weight| !(weight.abs() < 1e3)) {
            let prior = *self.prior;
            *self = Weights::new(&prior);
        }
    }
}

impl Predictor for Xavantes {
    fn observe(&mut self, observation: Observation) {
        if let Observation::AtLeast(least) = observation
            && least.abs() <= VALUE_MAX
        {
            self.take_killed(least);
        }
        let Some(value) = observation.measured() else {
            return;
        };
        self.score
            .count(self.value.map(|forecast| value - forecast));
        if self.value.is_some() {
            let error = value - self.weights.mixed(&self.inputs);
            let rate = (1.0 / (self.score.n() - 1).max(1) as f64).max(RATE_OF_ERRORS);
            self.squares += rate * (error * error - self.squares);
            let usual = self.squares.sqrt();
            if usual > 0.0 {
                self.weights.learn(&self.inputs, error, usual);
            }
        }
        self.take(value);
    }

    fn forecast(&self) -> Option<Forecast> {
        Some(self.score.forecast(self.value?, Source::Mixture))
    }

    fn state_bytes(&self) -> usize {
        let median = self.median.state_bytes() - size_of::<Median>();
        let ar = self.ar.state_bytes() - size_of::<Ar>();
        let des = self.des.state_bytes() - size_of::<Des>();
        size_of::<Xavantes>() + median + ar + des + (N_INPUTS + 1) * N_INPUTS * size_of::<f64>()
    }
}

#[cfg(test)]
mod tests;
