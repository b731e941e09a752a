//! Synthetic series that look like runtimes on time-shared machines.
//!
//! A value is level × burst × noise × peak: levels last for hundreds of values, bursts for some,
//! noise is new in each value, and peaks last one to four values. The parameters are calibrated on
//! the tables of Dobber's thesis (3.3, 4.1, 4.2), whose measurements nobody has any more.

use crate::random::Random;

/// Parameters of one series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Deviation of the logarithm of levels, and their mean length in values.
    level: f64,
    level_length: f64,
    /// Deviation of the logarithm of bursts, and their mean length in values.
    burst: f64,
    burst_length: f64,
    /// Deviation of the logarithm of the noise.
    noise: f64,
    /// Probability that a peak begins, and its mean height above 1.
    peak: f64,
    peak_height: f64,
}

/// A parameter's distribution: median times a lognormal factor of this deviation, clipped.
struct Drawn(f64, f64, f64, f64);

/// In the order of [`Parameters`].
const PLAIN: [Drawn; 7] = [
    Drawn(0.20, 0.55, 0.03, 0.55),
    Drawn(140.0, 0.8, 20.0, 1000.0),
    Drawn(0.27, 0.60, 0.02, 0.60),
    Drawn(3.2, 0.7, 1.0, 25.0),
    Drawn(0.10, 0.80, 0.02, 0.40),
    Drawn(0.021, 1.0, 0.0005, 0.15),
    Drawn(0.75, 0.80, 0.10, 8.0),
];

/// Machines with lasting levels and little noise: set one.
const CALM: [Drawn; 7] = [
    Drawn(0.38, 0.3, 0.05, 1.0),
    Drawn(600.0, 0.5, 50.0, 2000.0),
    Drawn(0.04, 0.3, 0.01, 0.2),
    Drawn(4.0, 0.0, 1.0, 25.0),
    Drawn(0.03, 0.3, 0.005, 0.2),
    Drawn(0.0015, 0.5, 0.0001, 0.02),
    Drawn(1.0, 0.0, 0.1, 8.0),
];

/// Shares of series with rare high peaks, and with frequent moderate ones.
const TALL: f64 = 0.20;
const FLICKER: f64 = 0.15;
const LEVEL_SCALE: f64 = 1.15;
const PEAK_LENGTH: f64 = 1.3;
const PEAK_LENGTH_MAX: u64 = 4;

impl Parameters {
    fn drawn(random: &mut Random, distributions: &[Drawn; 7]) -> Parameters {
        let mut draw = |place: usize| {
            let Drawn(median, deviation, least, most) = distributions[place];
            (median * (deviation * random.normal()).exp())
                .max(least)
                .min(most)
        };
        Parameters {
            level: draw(0),
            level_length: draw(1),
            burst: draw(2),
            burst_length: draw(3),
            noise: draw(4),
            peak: draw(5),
            peak_height: draw(6),
        }
    }

    /// Of a machine of set one.
    pub fn calm(random: &mut Random) -> Parameters {
        Parameters::drawn(random, &CALM)
    }

    /// Of a machine of set two: most are plain, some have tall peaks, some flicker.
    pub fn varied(random: &mut Random) -> Parameters {
        let mut p = Parameters::drawn(random, &PLAIN);
        let kind = random.uniform();
        let (often, high) = (random.normal(), random.normal());
        if kind < TALL {
            p.peak = (0.004 * (0.7 * often).exp()).clamp(0.0008, 0.02);
            p.peak_height = (8.0 * (0.5 * high).exp()).clamp(2.0, 30.0);
            p.burst *= 0.5;
        } else if kind < TALL + FLICKER {
            p.peak = (0.10 * (0.4 * often).exp()).clamp(0.04, 0.25);
            p.peak_height = (1.2 * (0.4 * high).exp()).clamp(0.5, 4.0);
            p.burst *= 0.4;
            p.level *= 0.5;
            p.noise *= 0.6;
        }
        p.level *= LEVEL_SCALE;
        p
    }
}

/// An endless series.
#[derive(Clone, Debug)]
pub struct Series {
    parameters: Parameters,
    random: Random,
    level: (f64, u64),
    burst: (f64, u64),
    peak: (f64, u64),
}

impl Series {
    /// A series of these parameters; `random` says what happens in it.
    pub fn new(parameters: Parameters, random: Random) -> Series {
        Series {
            parameters,
            random,
            level: (0.0, 0),
            burst: (0.0, 0),
            peak: (0.0, 0),
        }
    }
}

impl Iterator for Series {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        let Series {
            parameters: p,
            random,
            ..
        } = self;
        if self.level.1 == 0 {
            self.level = (p.level * random.normal(), random.geometric(p.level_length));
        }
        if self.burst.1 == 0 {
            self.burst = (p.burst * random.normal(), random.geometric(p.burst_length));
        }
        if self.peak.1 == 0 && random.uniform() < p.peak {
            let length = random.geometric(PEAK_LENGTH).min(PEAK_LENGTH_MAX);
            self.peak = (
                1.0 + p.peak_height * (0.5 + 0.5 * random.exponential()),
                length,
            );
        }
        let mut value = (self.level.0 + self.burst.0 + p.noise * random.normal()).exp();
        if self.peak.1 > 0 {
            value *= self.peak.0;
            self.peak.1 -= 1;
        }
        self.level.1 -= 1;
        self.burst.1 -= 1;
        Some(value)
    }
}

/// A set of series of different machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// Few and alike machines with lasting levels: 40 series, mean 72.5 s.
    One,
    /// Machines of the whole world: 90 series, mean 65 s, means far apart.
    Two,
}

impl Set {
    /// Number of series of the thesis.
    pub fn n_series(self) -> usize {
        match self {
            Set::One => 40,
            Set::Two => 90,
        }
    }

    /// The seed of the recorded simulations.
    pub fn seed(self) -> u64 {
        match self {
            Set::One => 11,
            Set::Two => 12,
        }
    }

    /// `n_series` series of `n_values` runtimes in milliseconds.
    pub fn generate(self, seed: u64, n_series: usize, n_values: usize) -> Vec<Vec<f64>> {
        let (mean, spread) = match self {
            Set::One => (72_500.0, 0.85),
            Set::Two => (65_000.0, 1.40),
        };
        let mut random = Random::new(seed);
        let weights: Vec<f64> = (0..n_series)
            .map(|_| (spread * random.normal()).exp())
            .collect();
        let factor = mean / mean_of(&weights);
        let mut made = Vec::with_capacity(n_series);
        for weight in weights {
            let parameters = match self {
                Set::One => Parameters::calm(&mut random),
                Set::Two => Parameters::varied(&mut random),
            };
            made.push(scaled(
                next_trace(&mut random, parameters, n_values),
                weight * factor,
            ));
        }
        made
    }
}

/// `n_values` values of a series; `random` goes on behind them.
pub fn next_trace(random: &mut Random, parameters: Parameters, n_values: usize) -> Vec<f64> {
    let mut series = Series::new(parameters, random.clone());
    let values = series.by_ref().take(n_values).collect();
    *random = series.random;
    values
}

fn scaled(mut values: Vec<f64>, mean: f64) -> Vec<f64> {
    let factor = mean / mean_of(&values);
    values.iter_mut().for_each(|value| *value *= factor);
    values
}

/// 1 for no values, so that it can be divided by.
fn mean_of(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 1.0;
    }
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests;
