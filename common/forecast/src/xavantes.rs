//! The predictor of this project: a mixture of fourteen experts, with weights that are learned
//! beforehand from many machines and two tournaments that learn from each series.
//!
//! The forecast is `centre + sum of weight_i * input_i`, cut to the range of what the experts say.
//! The centre is the expert of exponential smoothing with gain 0.15. The inputs are distances from
//! it, in three groups:
//!
//! 1. the other experts: smoothing, means, medians, autoregression, and DES with its smoothing
//!    component;
//! 2. two tournaments, over the last hundred values or so and over a longer time: the mean of the experts, each
//!    weighted by the exponential of its squared errors. They follow the experts that suit this
//!    series (Herbster and Warmuth 1998, with forgetting instead of sharing);
//! 3. how far the newest value and the one before were from the centre when they came, cut at
//!    several multiples of the usual distance. A linear mixture of cut distances is a gain that
//!    depends on the size and the sign of an error, which is what DES learns by classes.
//!
//! A series of some hundred values is too short to learn weights from, but what holds for many
//! machines holds for others too: docs/forecasting.md judges it on machines, and on kinds of data,
//! that the weights have not seen.

mod weights;

use serde::{Deserialize, Serialize};

use crate::ar::{Ar, product};
use crate::des::{Des, Reading, Sizes};
use crate::median::Median;
use crate::predictor::{Forecast, Observation, Predictor, Score, Source, VALUE_MAX};
use crate::smoothing::Smoothing;
use crate::trimmed_mean::middle;

/// Number of inputs of the mixture.
pub const N_INPUTS: usize = N_EXPERTS + N_TOURNAMENTS + N_CUTS;

/// Gains of the smoothing experts; the centre is not among them.
const GAINS: [f64; 5] = [0.7, 0.5, 0.3, 0.05, 0.02];
const GAIN_OF_CENTRE: f64 = 0.15;
/// Number of experts beside the centre.
const N_EXPERTS: usize = 13;
/// Those that are slow: after a change of the level they are far away for long.
const SLOW: [usize; 6] = [4, 5, 7, 8, 9, 12];
/// Their distance counts as at most so many usual ones, so that an old level fades.
const SLOW_MAX: f64 = 6.0;
/// The place of DES among them: its errors are what others are measured by.
const DES: usize = 11;
/// Values of the short median.
const MEDIAN: usize = 5;
/// The middle of the long window: 15 % at each end are left out.
const TRIMMED: f64 = 0.3;
const ORDER: usize = 16;
/// Pairs that each class of DES remembers: half of what DES has by itself, for memory.
const PAIRS: usize = 256;
const N_TOURNAMENTS: usize = 2;
/// How much older errors still weigh, a value later.
const MEMORIES: [f64; N_TOURNAMENTS] = [0.97, 0.998];
/// A squared error of so many usual ones makes a weight smaller by e.
const PATIENCE: f64 = 8.0;
const N_CUTS: usize = 11;
/// Multiples of the usual distance where distances are cut.
const CUTS: [f64; 4] = [0.5, 1.0, 2.0, 4.0];
const CUTS_UP: [f64; 2] = [1.0, 3.0];
const CUTS_BEFORE: [f64; 2] = [1.0, 3.0];
/// Weight of the newest distance and squared error in their running means, which are plain means
/// of the first values.
const RATE: f64 = 0.03;
const RATE_OF_ERRORS: f64 = 0.02;

/// The default predictor. Less than 1 µs a value, at most 28 KB; memory grows with what is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Xavantes {
    /// None where they are those that are learned beforehand.
    weights: Option<Box<[f64; N_INPUTS]>>,
    last: f64,
    centre: Smoothing,
    smoothing: [Smoothing; GAINS.len()],
    median: Median,
    ar: Ar,
    des: Des,
    tournaments: Tournaments,
    distances: Distances,
    /// Distances of the experts from the centre.
    experts: [f64; N_EXPERTS],
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

/// Squared errors of the centre and the other experts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Tournaments {
    /// Forgetting sums, for each memory.
    squares: [[f64; N_EXPERTS + 1]; N_TOURNAMENTS],
    /// Running mean for DES: the usual squared error.
    usual: f64,
    n: u64,
}

/// Distances of values from the centre before them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Distances {
    now: f64,
    before: f64,
    /// The usual distance when each of them came.
    usual: f64,
    usual_before: f64,
    /// Running mean of their sizes.
    mean: f64,
}

impl Default for Xavantes {
    fn default() -> Xavantes {
        let sizes = Sizes {
            pairs: PAIRS,
            ..Sizes::default()
        };
        Xavantes {
            weights: None,
            last: 0.0,
            centre: Smoothing::new(GAIN_OF_CENTRE),
            smoothing: GAINS.map(Smoothing::new),
            median: Median::new(MEDIAN),
            ar: Ar::new(ORDER),
            des: Des::new(sizes, Reading::Corrected),
            tournaments: Tournaments::default(),
            distances: Distances::default(),
            experts: [0.0; N_EXPERTS],
            inputs: Inputs::default(),
            value: None,
            score: Score::default(),
        }
    }
}

impl Xavantes {
    /// Bytes of one series at most: 256 pairs in five classes, windows of 600, 20, 31 and 5 values.
    pub(crate) const BYTES_MAX: usize =
        size_of::<Xavantes>() + 5 * PAIRS * 16 + (600 + ORDER + 20 + 2 * 31 + 2 * 8 + N_INPUTS) * 8;

    /// With weights of one's own: for studies.
    pub fn with_weights(weights: &[f64; N_INPUTS]) -> Xavantes {
        Xavantes {
            weights: Some(Box::new(*weights)),
            ..Xavantes::default()
        }
    }

    /// The inputs of the forecast, and the centre that they are distances from: for studies, which
    /// learn weights by least squares.
    pub fn inputs(&self) -> ([f64; N_INPUTS], f64) {
        (self.inputs.values, self.inputs.centre)
    }

    /// Takes a value into everything but the record.
    fn take(&mut self, value: f64) {
        let observation = Observation::Value(value);
        if self.value.is_some() {
            self.tournaments
                .judge(value, self.inputs.centre, &self.experts);
        }
        let centre = self.centre.forecast();
        let n = centre.map_or(0, |forecast| forecast.n);
        self.distances
            .take(value - centre.map_or(value, |forecast| forecast.value), n);
        self.last = value;
        self.centre.observe(observation);
        for expert in &mut self.smoothing {
            expert.observe(observation);
        }
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
        let values = &mut self.inputs.values;
        let (mut least, mut most) = (centre, centre);
        for (input, expert) in values.iter_mut().zip(experts) {
            *input = expert - centre;
            least = least.min(expert);
            most = most.max(expert);
        }
        self.experts = std::array::from_fn(|place| values[place]);
        let means = self.tournaments.means(&self.experts);
        values[N_EXPERTS..N_EXPERTS + N_TOURNAMENTS].copy_from_slice(&means);
        let slow_max = SLOW_MAX * self.distances.mean.max(0.0);
        for place in SLOW {
            values[place] = values[place].clamp(-slow_max, slow_max);
        }
        values[N_EXPERTS + N_TOURNAMENTS..].copy_from_slice(&self.distances.cut());
        self.inputs.centre = centre;
        let weights = self.weights.as_deref().unwrap_or(&weights::LEARNED);
        let mixed = centre + product(weights, &self.inputs.values);
        // Weights that were stored wrongly could make it infinite.
        self.value = Some(if mixed.is_nan() {
            centre
        } else {
            mixed.clamp(least, most)
        });
    }

    /// A killed attempt took at least `least`. Above the forecast, the value is taken to be as much
    /// beyond the bound as distances usually are: exact for an exponential tail. Below the forecast
    /// the bound says nothing, because the expectation is beyond it already.
    fn take_killed(&mut self, least: f64) {
        match self.value {
            Some(forecast) if least <= forecast => {}
            Some(_) => self.take((least + self.distances.mean).min(VALUE_MAX)),
            None => self.take(least),
        }
    }
}

impl Tournaments {
    fn judge(&mut self, value: f64, centre: f64, distances: &[f64; N_EXPERTS]) {
        let mut errors = [value - centre; N_EXPERTS + 1];
        for (error, distance) in errors.iter_mut().zip(distances) {
            *error -= distance;
        }
        for (squares, memory) in self.squares.iter_mut().zip(MEMORIES) {
            for (square, error) in squares.iter_mut().zip(errors) {
                *square = memory * *square + error * error;
            }
        }
        self.n += 1;
        let rate = (1.0 / self.n as f64).max(RATE_OF_ERRORS);
        self.usual += rate * (errors[DES] * errors[DES] - self.usual);
    }

    /// The weighted mean of each tournament, as a distance from the centre.
    fn means(&self, experts: &[f64; N_EXPERTS]) -> [f64; N_TOURNAMENTS] {
        // The centre comes last; its distance from itself is zero.
        self.squares.map(|squares| {
            let least = squares.iter().copied().fold(f64::INFINITY, f64::min);
            let patience = PATIENCE * self.usual;
            let (mut sum, mut weights) = (0.0, 0.0);
            for (place, square) in squares.iter().enumerate() {
                let weight = if patience > 0.0 {
                    ((least - square) / patience).exp()
                } else {
                    1.0
                };
                weights += weight;
                sum += weight * experts.get(place).copied().unwrap_or(0.0);
            }
            sum / weights
        })
    }
}

impl Distances {
    /// Takes the distance of the value after the first `n`.
    fn take(&mut self, distance: f64, n: u64) {
        self.usual_before = self.usual;
        self.usual = self.mean;
        self.before = self.now;
        self.now = distance;
        let rate = (1.0 / (n as f64 + 1.0)).max(RATE);
        self.mean += rate * (distance.abs() - self.mean);
    }

    fn cut(&self) -> [f64; N_CUTS] {
        let Distances {
            now,
            before,
            usual,
            usual_before,
            ..
        } = *self;
        // What was stored may be negative.
        let cut = |distance: f64, at: f64| distance.max(-at).min(at);
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
            cut(now.max(0.0), CUTS_UP[0] * usual),
            cut(now.max(0.0), CUTS_UP[1] * usual),
            now.max(0.0),
            cut(before, CUTS_BEFORE[0] * usual_before),
            cut(before, CUTS_BEFORE[1] * usual_before),
            both,
            cut(both, usual),
        ]
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
        self.take(value);
    }

    fn forecast(&self) -> Option<Forecast> {
        Some(self.score.forecast(self.value?, Source::Mixture))
    }

    fn state_bytes(&self) -> usize {
        let median = self.median.state_bytes() - size_of::<Median>();
        let ar = self.ar.state_bytes() - size_of::<Ar>();
        let des = self.des.state_bytes() - size_of::<Des>();
        let weights = self
            .weights
            .as_ref()
            .map_or(0, |weights| size_of_val(&**weights));
        size_of::<Xavantes>() + median + ar + des + weights
    }
}

#[cfg(test)]
mod tests;
