//! A battery of 23 predictors, of which the one with the least error speaks: the Network Weather
//! Service (Wolski 1998), as Dobber's thesis compares with it (7.2).
//!
//! For each of six spans of history the member with the least squared error over it is noted. The
//! span whose choices have had the least squared error so far says whose forecast is given.

use serde::{Deserialize, Serialize};

use crate::adaptive_median::AdaptiveMedian;
use crate::mean::{Mean, WindowMean};
use crate::median::Median;
use crate::predictor::{Forecast, Observation, Predictor, Score, Source};
use crate::ring::Ring;
use crate::smoothing::Smoothing;
use crate::trend::Trend;
use crate::trimmed_mean::TrimmedMean;

/// Spans of history in values; the last one is all of it.
const SPANS: [usize; N_SPANS] = [5, 10, 20, 50, 100, usize::MAX];
const N_SPANS: usize = 6;
/// The longest limited span: so many errors of each member are kept.
const SPAN_MAX: usize = 100;
const N_MEMBERS: usize = 23;
const TREND_GAINS: [f64; 4] = [0.30, 0.20, 0.15, 0.10];
const GAINS: [f64; 9] = [0.90, 0.75, 0.50, 0.40, 0.30, 0.20, 0.15, 0.10, 0.05];

/// The battery. About 3 µs a value, at most 27 KB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Nws {
    members: Members,
    /// Squared errors of all members, value by value.
    errors: Ring<[f64; N_MEMBERS]>,
    /// Their sums over each span.
    sums: [[f64; N_MEMBERS]; N_SPANS],
    /// Squared errors of the choices of each span.
    squares: [f64; N_SPANS],
    /// The member that each span chooses.
    choices: [usize; N_SPANS],
    /// Squared errors of the best member at each value.
    oracle: f64,
    forecasts: Option<[f64; N_MEMBERS]>,
    score: Score,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Members {
    adaptive: [AdaptiveMedian; 2],
    trimmed: [TrimmedMean; 2],
    medians: [Median; 2],
    means: [WindowMean; 2],
    mean: Mean,
    last: Smoothing,
    trends: [Trend; TREND_GAINS.len()],
    smoothing: [Smoothing; GAINS.len()],
}

impl Members {
    fn new() -> Members {
        Members {
            adaptive: [AdaptiveMedian::new(5, 21), AdaptiveMedian::new(21, 51)],
            trimmed: [31, 51].map(|width| TrimmedMean::new(width, 0.30)),
            medians: [5, 31].map(Median::new),
            means: [5, 31].map(WindowMean::new),
            mean: Mean::default(),
            last: Smoothing::new(1.0),
            trends: TREND_GAINS.map(Trend::new),
            smoothing: GAINS.map(Smoothing::new),
        }
    }

    fn each(&mut self) -> [&mut dyn Predictor; N_MEMBERS] {
        let [adaptive_1, adaptive_2] = &mut self.adaptive;
        let [trimmed_1, trimmed_2] = &mut self.trimmed;
        let [median_1, median_2] = &mut self.medians;
        let [mean_1, mean_2] = &mut self.means;
        let [t0, t1, t2, t3] = &mut self.trends;
        let [s0, s1, s2, s3, s4, s5, s6, s7, s8] = &mut self.smoothing;
        [
            adaptive_1,
            adaptive_2,
            trimmed_1,
            trimmed_2,
            median_1,
            median_2,
            mean_1,
            mean_2,
            &mut self.mean,
            &mut self.last,
            t0,
            t1,
            t2,
            t3,
            s0,
            s1,
            s2,
            s3,
            s4,
            s5,
            s6,
            s7,
            s8,
        ]
    }

    fn observe(&mut self, observation: Observation) -> [f64; N_MEMBERS] {
        self.each().map(|member| {
            member.observe(observation);
            member.forecast().map_or(0.0, |forecast| forecast.value)
        })
    }

    /// The kind of a member, in the order of `each`.
    fn source(member: usize) -> Source {
        match member {
            0 | 1 => Source::AdaptiveMedian,
            2 | 3 => Source::TrimmedMean,
            4 | 5 => Source::Median,
            6 | 7 => Source::WindowMean,
            8 => Source::Mean,
            9 => Source::Last,
            10..=13 => Source::Trend,
            _ => Source::Smoothing,
        }
    }

    fn heap_bytes(&self) -> usize {
        fn beyond<P: Predictor>(members: &[P]) -> usize {
            members
                .iter()
                .map(|member| member.state_bytes() - size_of::<P>())
                .sum()
        }
        beyond(&self.adaptive) + beyond(&self.trimmed) + beyond(&self.medians) + beyond(&self.means)
    }
}

impl Default for Nws {
    fn default() -> Nws {
        Nws {
            members: Members::new(),
            errors: Ring::new(SPAN_MAX),
            sums: [[0.0; N_MEMBERS]; N_SPANS],
            squares: [0.0; N_SPANS],
            choices: [0; N_SPANS],
            oracle: 0.0,
            forecasts: None,
            score: Score::default(),
        }
    }
}

impl Nws {
    /// The sum of the squared errors that the best member at each value had: the bound of the
    /// battery, by which improvements are measured (7.29).
    pub fn oracle_squares(&self) -> f64 {
        self.oracle
    }

    fn judge(&mut self, value: f64, forecasts: &[f64; N_MEMBERS]) {
        let errors = forecasts.map(|forecast| (value - forecast).powi(2));
        self.oracle += errors.iter().copied().fold(f64::INFINITY, f64::min);
        for (span, sums) in self.sums.iter_mut().enumerate() {
            self.squares[span] += errors[self.choices[span].min(N_MEMBERS - 1)];
            let out = SPANS[span]
                .checked_sub(1)
                .and_then(|back| self.errors.back(back));
            for member in 0..N_MEMBERS {
                sums[member] += errors[member];
                if let Some(out) = out {
                    sums[member] -= out[member];
                }
            }
        }
        self.errors.push(errors);
        if self.errors.is_round() {
            self.sum_anew();
        }
        self.choices = std::array::from_fn(|span| least(&self.sums[span]));
    }

    /// What is subtracted leaves rounding errors behind: each round begins with exact sums.
    fn sum_anew(&mut self) {
        for (span, sums) in self.sums.iter_mut().enumerate() {
            if SPANS[span] > SPAN_MAX {
                continue;
            }
            *sums = [0.0; N_MEMBERS];
            for back in (0..SPANS[span]).rev() {
                let errors = self.errors.back(back).unwrap_or([0.0; N_MEMBERS]);
                for member in 0..N_MEMBERS {
                    sums[member] += errors[member];
                }
            }
        }
    }

    fn chosen(&self) -> usize {
        self.choices[least(&self.squares)].min(N_MEMBERS - 1)
    }
}

/// The place of the first least number.
fn least(numbers: &[f64]) -> usize {
    let mut best = 0;
    for (place, &number) in numbers.iter().enumerate() {
        if number < numbers[best] {
            best = place;
        }
    }
    best
}

impl Predictor for Nws {
    fn observe(&mut self, observation: Observation) {
        let Some(value) = observation.measured() else {
            return;
        };
        let issued = self.forecast().map(|forecast| value - forecast.value);
        self.score.count(issued);
        if let Some(forecasts) = self.forecasts {
            self.judge(value, &forecasts);
        }
        self.forecasts = Some(self.members.observe(observation));
    }

    fn forecast(&self) -> Option<Forecast> {
        let chosen = self.chosen();
        let value = self.forecasts?[chosen];
        Some(self.score.forecast(value, Members::source(chosen)))
    }

    fn state_bytes(&self) -> usize {
        size_of::<Nws>() + self.errors.heap_bytes() + self.members.heap_bytes()
    }
}
