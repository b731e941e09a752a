//! Predictors over one series at the same time, in bounded memory.

use std::collections::{BTreeMap, VecDeque};

use forecast::draw::{Curve, Picture};
use forecast::{Forecaster, Method, Observation, Predictor, Quantity};
use rustix::time::{ClockId, clock_gettime};

/// Observations that are kept until the predictors run over them: enough for the clock to cost
/// little beside what it measures.
const CHUNK: usize = 256;
/// Values of a picture: the newest ones, some for each of its points.
const PICTURE_VALUES: usize = 2000;

/// Predictors that are drawn before others.
const USUAL: [Method; 3] = [Method::Xavantes, Method::Des, Method::Es];

/// Predictors over one series.
#[derive(Debug)]
pub(super) struct Compared {
    chunk: Vec<Observation>,
    rows: Vec<Row>,
    pictured: Option<Pictured>,
}

#[derive(Debug)]
struct Row {
    method: Method,
    forecaster: Forecaster,
    n_values: u64,
    n_errors: u64,
    squares: f64,
    sizes: f64,
    errors: f64,
    nanoseconds: f64,
}

/// The errors of one predictor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Figures {
    /// Number of values of the series.
    pub(super) n_values: u64,
    /// None below two values.
    pub(super) rmse: Option<f64>,
    pub(super) mae: Option<f64>,
    pub(super) bias: Option<f64>,
    /// Processor time of an observation with the forecast after it.
    pub(super) nanoseconds: Option<f64>,
}

/// Figures of several series, added up.
#[derive(Debug, Default)]
pub(super) struct Sums {
    by_method: BTreeMap<Method, [Sum; 4]>,
    n_values: u64,
}

/// Series without an error do not count.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    n: u64,
    sum: f64,
}

impl Sums {
    pub(super) fn add(&mut self, series: &BTreeMap<Method, Figures>) {
        self.n_values += series.values().next().map_or(0, |figures| figures.n_values);
        for (method, figures) in series {
            let sums = self.by_method.entry(*method).or_default();
            let values = [figures.rmse, figures.mae, figures.bias, figures.nanoseconds];
            for (sum, value) in sums.iter_mut().zip(values) {
                if let Some(value) = value {
                    sum.n += 1;
                    sum.sum += value;
                }
            }
        }
    }

    /// The means.
    pub(super) fn mean(&self) -> BTreeMap<Method, Figures> {
        let mean = |(method, sums): (&Method, &[Sum; 4])| {
            let [rmse, mae, bias, nanoseconds] =
                sums.map(|sum| (sum.n > 0).then(|| sum.sum / sum.n as f64));
            let figures = Figures {
                n_values: self.n_values,
                rmse,
                mae,
                bias,
                nanoseconds,
            };
            (*method, figures)
        };
        self.by_method.iter().map(mean).collect()
    }
}

impl Compared {
    pub(super) fn new(
        methods: &[Method],
        quantity: Quantity,
        pictured: Option<Pictured>,
    ) -> Compared {
        let row = |&method: &Method| Row {
            method,
            forecaster: Forecaster::new(method, quantity),
            n_values: 0,
            n_errors: 0,
            squares: 0.0,
            sizes: 0.0,
            errors: 0.0,
            nanoseconds: 0.0,
        };
        Compared {
            chunk: Vec::new(),
            rows: methods.iter().map(row).collect(),
            pictured,
        }
    }

    pub(super) fn observe(&mut self, observation: Observation) {
        self.chunk.push(observation);
        if self.chunk.len() == CHUNK {
            self.run();
        }
    }

    pub(super) fn finish(mut self) -> (BTreeMap<Method, Figures>, Option<Pictured>) {
        self.run();
        let figures = self
            .rows
            .iter()
            .map(|row| (row.method, row.figures()))
            .collect();
        (figures, self.pictured)
    }

    fn run(&mut self) {
        let mut forecasts = vec![None; self.chunk.len()];
        if let Some(pictured) = &mut self.pictured {
            pictured.add(
                0,
                self.chunk.iter().map(|observation| observation.measured()),
            );
        }
        for row in &mut self.rows {
            let begun = worked_nanoseconds();
            for (observation, forecast) in self.chunk.iter().zip(&mut forecasts) {
                *forecast = row.forecaster.forecast().map(|forecast| forecast.value);
                row.forecaster.observe(*observation);
            }
            row.nanoseconds += worked_nanoseconds() - begun;
            for (observation, forecast) in self.chunk.iter().zip(&forecasts) {
                row.count(observation.measured(), *forecast);
            }
            if let Some(pictured) = &mut self.pictured
                && let Some(place) = pictured.place(row.method)
            {
                pictured.add(place, forecasts.iter().copied());
            }
        }
        self.chunk.clear();
    }
}

impl Row {
    fn count(&mut self, value: Option<f64>, forecast: Option<f64>) {
        let Some(value) = value else {
            return;
        };
        self.n_values += 1;
        if let Some(forecast) = forecast {
            let error = value - forecast;
            self.n_errors += 1;
            self.squares += error * error;
            self.sizes += error.abs();
            self.errors += error;
        }
    }

    fn figures(&self) -> Figures {
        let n = self.n_errors as f64;
        let mean = |sum: f64| (self.n_errors > 0).then(|| sum / n);
        Figures {
            n_values: self.n_values,
            rmse: mean(self.squares).map(f64::sqrt),
            mae: mean(self.sizes),
            bias: mean(self.errors),
            nanoseconds: (self.n_values > 0).then(|| self.nanoseconds / self.n_values as f64),
        }
    }
}

/// The newest values of a series with some of the forecasts.
#[derive(Debug)]
pub(super) struct Pictured {
    /// The predictors that are drawn.
    methods: Vec<Method>,
    curves: Vec<VecDeque<Option<f64>>>,
    n_values: u64,
}

impl Pictured {
    pub(super) fn new(methods: &[Method]) -> Pictured {
        let is_usual = |method: &&Method| USUAL.contains(method);
        let usual = USUAL.iter().filter(|method| methods.contains(method));
        let others = methods.iter().filter(|method| !is_usual(method));
        let drawn = usual.chain(others).take(Picture::CURVES_MAX - 1);
        let methods: Vec<Method> = drawn.copied().collect();
        Pictured {
            curves: vec![VecDeque::new(); methods.len() + 1],
            methods,
            n_values: 0,
        }
    }

    fn place(&self, method: Method) -> Option<usize> {
        self.methods
            .iter()
            .position(|known| *known == method)
            .map(|place| place + 1)
    }

    fn add(&mut self, place: usize, values: impl Iterator<Item = Option<f64>>) {
        for value in values {
            if place == 0 {
                self.n_values += 1;
            }
            let curve = &mut self.curves[place];
            if curve.len() == PICTURE_VALUES {
                curve.pop_front();
            }
            curve.push_back(value);
        }
    }

    pub(super) fn picture(self, name: &str) -> Picture {
        let first = self.n_values.saturating_sub(PICTURE_VALUES as u64);
        let which = match first {
            0 => String::new(),
            _ => format!(", the newest {PICTURE_VALUES} of {} values", self.n_values),
        };
        let names =
            std::iter::once("measured").chain(self.methods.iter().map(|method| method.name()));
        let curves = names.zip(self.curves).map(|(name, values)| Curve {
            name: name.to_owned(),
            values: values.into(),
        });
        Picture {
            title: format!("{}{which}", crate::text::one_line(name, 80)),
            first: first + 1,
            curves: curves.collect(),
        }
    }
}

/// Processor time of this thread.
fn worked_nanoseconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
