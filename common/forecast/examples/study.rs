//! The figures of docs/forecasting.md: all predictors over measured and synthetic series.
//!
//! `cargo run --release -p forecast --example study -- DATA_DIR` writes them between the marks of
//! that page; DATA_DIR has the traces. `--learn` prints the weights of `xavantes` instead, which are
//! learned on the first half of the machines of each data set. Everything is judged on the other.
#![expect(clippy::print_stdout, reason = "a program for people")]

#[path = "../tests/support/stes.rs"]
#[expect(dead_code, reason = "the vectors use the rest")]
mod stes;
#[path = "../tests/support/traces.rs"]
mod traces;

use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use forecast::statistics::deviation;
use forecast::{
    Des, Forecaster, Method, N_INPUTS, Nws, Observation, Predictor, Quantity, Smoothing, Xavantes,
};
use stes::Stes;
use traces::Data;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/forecasting.md");
const BEGIN: &str = "<!-- figures: begin -->\n";
const END: &str = "<!-- figures: end -->\n";
/// Series of each set that STES is tried on: it fits anew with every value.
const STES_SERIES: usize = 19;
const STES_WINDOW: usize = 80;
/// Gains that plain smoothing may choose from, on the first half.
const GAINS: [f64; 7] = [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9];
/// Weight of the wish for small weights, relative to the mean of the diagonal.
const RIDGE: f64 = 1e-4;

fn main() -> Result<(), Box<dyn Error>> {
    let mut folder = None;
    let mut learns = false;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--learn" => learns = true,
            other => folder = Some(PathBuf::from(other)),
        }
    }
    let Some(folder) = folder else {
        return Err("usage: study DATA_DIR [--learn]".into());
    };
    let all = traces::all(&folder);
    if learns {
        print_weights(&learned(&all, None));
        return Ok(());
    }
    let figures = figures(&all)?;
    println!("{figures}");
    write_into(Path::new(PAGE), &figures)
}

fn write_into(page: &Path, figures: &str) -> Result<(), Box<dyn Error>> {
    let text = std::fs::read_to_string(page)?;
    let (before, rest) = text
        .split_once(BEGIN)
        .ok_or("the page has no mark of the beginning")?;
    let (_, behind) = rest
        .split_once(END)
        .ok_or("the page has no mark of the end")?;
    std::fs::write(page, format!("{before}{BEGIN}\n{figures}\n{END}{behind}"))?;
    Ok(())
}

/// The halves of a data set: to choose parameters on, and to judge on. Constant series are left
/// out: every predictor is exact on them.
fn halves(data: &Data) -> (Vec<&[f64]>, Vec<&[f64]>) {
    let (first, second) = data.series.split_at(data.series.len() / 2);
    let moving = |series: &'_ [Vec<f64>]| -> Vec<usize> {
        let moves = |at: &usize| deviation(&series[*at]).is_some_and(|sigma| sigma > 0.0);
        (0..series.len()).filter(moves).collect()
    };
    let of = |half: &'_ [Vec<f64>]| moving(half);
    (
        of(first)
            .into_iter()
            .map(|at| first[at].as_slice())
            .collect(),
        of(second)
            .into_iter()
            .map(|at| second[at].as_slice())
            .collect(),
    )
}

fn quantity(data: &Data) -> Quantity {
    if data.is_runtime {
        Quantity::Runtime
    } else {
        Quantity::Load
    }
}

/// Root mean squared error from the second value on.
fn rmse(predictor: &mut dyn Predictor, values: &[f64]) -> f64 {
    let mut squares = 0.0;
    for &value in values {
        if let Some(forecast) = predictor.forecast() {
            squares += (value - forecast.value).powi(2);
        }
        predictor.observe(Observation::Value(value));
    }
    (squares / (values.len() - 1) as f64).sqrt()
}

/// Least squares over the first halves, where each series and each data set counts the same: an
/// error counts relative to the deviation of its series and to what DES leaves of it.
fn learned(all: &[Data], without: Option<&str>) -> [f64; N_INPUTS] {
    let mut products = [[0.0; N_INPUTS]; N_INPUTS];
    let mut answers = [0.0; N_INPUTS];
    for data in all.iter().filter(|data| Some(data.name) != without) {
        let (first, _) = halves(data);
        for values in &first {
            let sigma = deviation(values).unwrap_or(1.0);
            let left = rmse(&mut Des::default(), values).max(1e-3 * sigma);
            let weight = 1.0 / (first.len() as f64 * values.len() as f64 * sigma * left);
            let mut xavantes = Xavantes::with_weights(&[0.0; N_INPUTS]);
            for pair in values.windows(2) {
                xavantes.observe(Observation::Value(pair[0]));
                let (inputs, centre) = xavantes.inputs();
                for (row, input) in products.iter_mut().zip(inputs) {
                    for (product, other) in row.iter_mut().zip(inputs) {
                        *product += weight * input * other;
                    }
                }
                for (answer, input) in answers.iter_mut().zip(inputs) {
                    *answer += weight * input * (pair[1] - centre);
                }
            }
        }
    }
    let trace: f64 = (0..N_INPUTS).map(|place| products[place][place]).sum();
    for (place, row) in products.iter_mut().enumerate() {
        row[place] += RIDGE * trace / N_INPUTS as f64;
    }
    solved(products, answers)
}

/// Gauss's elimination; the ridge makes the matrix positive definite.
fn solved(mut rows: [[f64; N_INPUTS]; N_INPUTS], mut answers: [f64; N_INPUTS]) -> [f64; N_INPUTS] {
    for place in 0..N_INPUTS {
        let pivot = rows[place];
        for below in place + 1..N_INPUTS {
            let factor = rows[below][place] / pivot[place];
            for (entry, from) in rows[below].iter_mut().zip(pivot) {
                *entry -= factor * from;
            }
            answers[below] -= factor * answers[place];
        }
    }
    for place in (0..N_INPUTS).rev() {
        let known: f64 = (place + 1..N_INPUTS)
            .map(|at| rows[place][at] * answers[at])
            .sum();
        answers[place] = (answers[place] - known) / rows[place][place];
    }
    answers
}

fn print_weights(weights: &[f64; N_INPUTS]) {
    println!("pub(super) const LEARNED: [f64; N_INPUTS] = [");
    for weight in weights {
        println!("    {weight:.4},");
    }
    println!("];");
}

/// The errors of one predictor on the judged series of a data set.
struct Judged {
    name: String,
    /// A list for each data set.
    errors: Vec<Vec<f64>>,
}

fn figures(all: &[Data]) -> Result<String, Box<dyn Error>> {
    let mut judged: Vec<Judged> = Vec::new();
    let mut sigmas = Vec::new();
    let mut bounds = Vec::new();
    let mut covered = Vec::new();
    for data in all {
        let (_, second) = halves(data);
        sigmas.push(
            second
                .iter()
                .map(|values| deviation(values).unwrap_or(1.0))
                .collect::<Vec<f64>>(),
        );
        bounds.push(
            second
                .iter()
                .map(|values| bound(values))
                .collect::<Vec<f64>>(),
        );
        covered.push(coverage(&second, quantity(data)));
    }
    for method in Method::ALL {
        let errors = all.iter().map(|data| {
            let each = halves(data).1.into_iter();
            each.map(|values| rmse(&mut Forecaster::new(method, quantity(data)), values))
                .collect()
        });
        judged.push(Judged {
            name: method.name().to_owned(),
            errors: errors.collect(),
        });
    }
    judged.push(Judged {
        name: "es, gain of the first half".to_owned(),
        errors: all.iter().map(smoothed).collect(),
    });
    judged.push(Judged {
        name: "xavantes, learned without this set".to_owned(),
        errors: all
            .iter()
            .map(|data| {
                let weights = learned(all, Some(data.name));
                let each = halves(data).1.into_iter();
                each.map(|values| rmse(&mut Xavantes::with_weights(&weights), values))
                    .collect()
            })
            .collect(),
    });
    let mut text = String::new();
    errors_table(&mut text, all, &judged, &sigmas)?;
    against_table(&mut text, all, &judged, &bounds, "xavantes")?;
    against_table(&mut text, all, &judged, &bounds, "des")?;
    coverage_table(&mut text, all, &covered)?;
    stes_table(&mut text, all)?;
    Ok(text)
}

/// Smoothing with the gain that was best on the first half.
fn smoothed(data: &Data) -> Vec<f64> {
    let (first, second) = halves(data);
    let total = |gain: f64| -> f64 {
        let relative = |values: &&[f64]| {
            rmse(&mut Smoothing::new(gain), values) / deviation(values).unwrap_or(1.0)
        };
        first.iter().map(relative).sum()
    };
    let best = GAINS
        .into_iter()
        .min_by(|a, b| total(*a).total_cmp(&total(*b)))
        .unwrap_or(0.5);
    second
        .iter()
        .map(|values| rmse(&mut Smoothing::new(best), values))
        .collect()
}

/// The error of an oracle that knows the best member of the battery at each value.
fn bound(values: &[f64]) -> f64 {
    let mut nws = Nws::default();
    for &value in values {
        nws.observe(Observation::Value(value));
    }
    (nws.oracle_squares() / (values.len() - 1) as f64).sqrt()
}

/// Shares of the values at or below the quantiles of `xavantes`, in percent.
fn coverage(series: &[&[f64]], quantity: Quantity) -> [f64; 3] {
    let mut below = [0.0; 3];
    let mut n = 0.0;
    for values in series {
        let mut forecaster = Forecaster::new(Method::Xavantes, quantity);
        for &value in *values {
            if let Some(quantiles) = forecaster.quantiles() {
                n += 1.0;
                for (below, quantile) in
                    below
                        .iter_mut()
                        .zip([quantiles.p50, quantiles.p90, quantiles.p99])
                {
                    *below += f64::from(u8::from(value <= quantile));
                }
            }
            forecaster.observe(Observation::Value(value));
        }
    }
    below.map(|below| 100.0 * below / n)
}

fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut n) = (0.0, 0.0);
    for value in values {
        sum += value;
        n += 1.0;
    }
    sum / n
}

fn names(all: &[Data]) -> String {
    all.iter().map(|data| format!(" {} |", data.name)).collect()
}

fn errors_table(
    text: &mut String,
    all: &[Data],
    judged: &[Judged],
    sigmas: &[Vec<f64>],
) -> Result<(), std::fmt::Error> {
    let counts: Vec<String> = sigmas.iter().map(|set| set.len().to_string()).collect();
    writeln!(
        text,
        "### Errors\n\nMean over the judged series ({}) of the RMSE, as a share of the standard deviation of the series; the last column is the mean of the data sets.\n",
        counts.join(", ")
    )?;
    writeln!(
        text,
        "| predictor |{} all |\n|---|{}--:|",
        names(all),
        "--:|".repeat(all.len())
    )?;
    for row in judged {
        let means: Vec<f64> = row
            .errors
            .iter()
            .zip(sigmas)
            .map(|(errors, sigmas)| {
                mean(
                    errors
                        .iter()
                        .zip(sigmas)
                        .map(|(error, sigma)| error / sigma),
                )
            })
            .collect();
        let shown: String = means.iter().map(|mean| format!(" {mean:.4} |")).collect();
        writeln!(
            text,
            "| {} |{shown} {:.4} |",
            row.name,
            mean(means.iter().copied())
        )?;
    }
    Ok(())
}

fn against_table(
    text: &mut String,
    all: &[Data],
    judged: &[Judged],
    bounds: &[Vec<f64>],
    name: &str,
) -> Result<(), std::fmt::Error> {
    let Some(own) = judged.iter().find(|row| row.name == name) else {
        return Ok(());
    };
    writeln!(
        text,
        "\n### `{name}` against the others\n\nHow much smaller its RMSE is, in percent of the other's, as a mean over series; mean Δ% (7.29), the share of the way from the other's error to that of an oracle over the battery; and on how many series its error is smaller.\n"
    )?;
    writeln!(
        text,
        "| against |{} all |\n|---|{}--:|",
        names(all),
        "--:|".repeat(all.len())
    )?;
    for row in judged.iter().filter(|row| row.name != name) {
        let mut shown = String::new();
        let mut totals = Vec::new();
        for ((own, other), bounds) in own.errors.iter().zip(&row.errors).zip(bounds) {
            let pairs = || own.iter().zip(other);
            let less = mean(pairs().map(|(own, other)| 100.0 * (1.0 - own / other)));
            // Where the other one is within 1 % of the oracle there is no way to go.
            let ways = pairs()
                .zip(bounds)
                .filter(|((_, other), bound)| *other - *bound > 0.01 * *other);
            let delta =
                mean(ways.map(|((own, other), bound)| 100.0 * (other - own) / (other - bound)));
            let wins = pairs().filter(|(own, other)| own < other).count();
            totals.push(less);
            write!(
                shown,
                " {less:+.1} %; Δ {delta:+.0} %; {wins} of {} |",
                own.len()
            )?;
        }
        writeln!(text, "| {} |{shown} {:+.2} % |", row.name, mean(totals))?;
    }
    Ok(())
}

fn coverage_table(
    text: &mut String,
    all: &[Data],
    covered: &[[f64; 3]],
) -> Result<(), std::fmt::Error> {
    writeln!(
        text,
        "\n### Quantiles of `xavantes`\n\nPercent of the values that were at most the quantile said before them.\n"
    )?;
    writeln!(
        text,
        "| quantile |{}\n|---|{}",
        names(all),
        "--:|".repeat(all.len())
    )?;
    for (place, name) in ["p50", "p90", "p99"].iter().enumerate() {
        let shown: String = covered
            .iter()
            .map(|covered| format!(" {:.1} |", covered[place]))
            .collect();
        writeln!(text, "| {name} |{shown}")?;
    }
    Ok(())
}

fn stes_table(text: &mut String, all: &[Data]) -> Result<(), std::fmt::Error> {
    writeln!(
        text,
        "\n### STES\n\nSmooth transition exponential smoothing, fitted anew to the newest {STES_WINDOW} values with each value: hundreds of times as dear as the others, so it is tried on the first {STES_SERIES} judged series of each set only, and on 1000 values of each at most. Mean RMSE as a share of the deviation.\n"
    )?;
    writeln!(
        text,
        "| predictor |{}\n|---|{}",
        names(all),
        "--:|".repeat(all.len())
    )?;
    type Make = fn() -> Box<dyn Predictor>;
    let make: [(&str, Make); 3] = [
        ("stes", || Box::new(Stes::fitted(STES_WINDOW))),
        ("des", || Box::new(Des::default())),
        ("xavantes", || Box::new(Xavantes::default())),
    ];
    for (name, make) in make {
        let mut shown = String::new();
        for data in all {
            let (_, second) = halves(data);
            let tried = second
                .iter()
                .map(|values| &values[..values.len().min(1000)]);
            let tried = tried.filter(|values| deviation(values).is_some_and(|sigma| sigma > 0.0));
            let errors = tried
                .take(STES_SERIES)
                .map(|values| rmse(&mut *make(), values) / deviation(values).unwrap_or(1.0));
            write!(shown, " {:.4} |", mean(errors))?;
        }
        writeln!(text, "| {name} |{shown}")?;
    }
    Ok(())
}
