//! `xav trace`: series described by their statistics, and synthetic series.

mod described;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use forecast::draw::{Curve, Picture, number};
use forecast::generator::Set;
use forecast::statistics::{MEANINGS, NAMES};

use self::described::{Described, summary};
use crate::failure::{Failure, Outcome};
use crate::inputs::reason;
use crate::measurements::{self, Measurements};
use crate::{screen, text};

/// Values that are in memory at once: 128 MB.
const VALUES_MAX: usize = 16_000_000;
/// Series that are described: 150 MB.
const SERIES_MAX: usize = 100_000;
/// Points of a picture; a longer series is drawn by parts.
const PICTURE_VALUES: usize = 4000;
/// Lines of a terminal's plot.
const PLOT_LINES: usize = 12;
/// Most series and values that are made at once: 16 million values take a file of 300 MB.
const GENERATED_MAX: u64 = 16_000_000;

/// `xav trace`
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Statistics of measured series, with advice
    #[command(after_help = STATS_EXAMPLES)]
    Stats(Stats),
    /// Make synthetic runtimes of time-shared machines, a row a series
    #[command(after_help = GENERATE_EXAMPLES)]
    Generate(Generate),
}

impl Command {
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Command::Stats(stats) => stats.json,
            Command::Generate(_) => false,
        }
    }
}

const STATS_EXAMPLES: &str = "\
Examples:
  xav trace stats planetlab.csv                  the means over all series
  xav trace stats runs.csv --column ms --by machine --series node7 --plot
  xav trace stats runs.csv --svg runs.svg";

const GENERATE_EXAMPLES: &str = "\
Examples:
  xav trace generate --set two --out two.csv     90 series of 2000 runtimes in milliseconds
  xav trace generate --set one --series 4 --values 500 --seed 7 | xav forecast /dev/stdin";

/// `xav trace stats`
#[derive(Args, Debug)]
pub(crate) struct Stats {
    #[command(flatten)]
    measurements: Measurements,
    /// Only this series
    #[arg(long, value_name = "NAME")]
    series: Option<String>,
    /// Draw a series: that of --series, or the first one
    #[arg(long)]
    plot: bool,
    /// Write a picture of the same to a file
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// Print JSON: all figures of each series
    #[arg(long)]
    json: bool,
}

/// `xav trace generate`
#[derive(Args, Debug)]
pub(crate) struct Generate {
    /// Which machines
    #[arg(long, value_enum, default_value_t = SetName::Two)]
    set: SetName,
    /// Number of series; as many as in the thesis where left out
    #[arg(long, value_name = "N")]
    series: Option<u32>,
    /// Number of values of each
    #[arg(long, value_name = "N", default_value_t = 2000)]
    values: u32,
    /// The same seed gives the same series
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Where they are written; standard output where left out
    #[arg(long, short, value_name = "FILE.csv")]
    out: Option<PathBuf>,
}

/// A set of series, as users choose it.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum SetName {
    /// Alike machines whose load lasts: 40 series
    One,
    /// Machines of the whole world, bursty: 90 series
    Two,
}

/// `xav trace stats`
pub(crate) fn stats(arguments: &Stats) -> Outcome {
    let mut open: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut done: Vec<(String, Described)> = Vec::new();
    let mut n_values = 0;
    let mut picture = None;
    let file = arguments.measurements.file.display();
    arguments.measurements.read(&mut |(name, observation)| {
        if arguments.series.as_deref().is_some_and(|only| only != name) {
            return Ok(());
        }
        match observation {
            Some(observation) => {
                let series = match open.get_mut(name) {
                    Some(series) => series,
                    None => open.entry(name.to_owned()).or_default(),
                };
                if let Some(value) = observation.measured() {
                    series.push(value);
                    n_values += 1;
                }
                if n_values > VALUES_MAX {
                    return Err(Failure::refused(format!(
                        "{file} has a series, or mixed series, of more than {VALUES_MAX} values"
                    ))
                    .help("statistics need all values at once; choose one series with --series"));
                }
            }
            None => {
                if let Some(values) = open.remove(name) {
                    if done.len() == SERIES_MAX {
                        return Err(Failure::refused(format!(
                            "{file} has more than {SERIES_MAX} series"
                        ))
                        .help("choose one with --series"));
                    }
                    n_values -= values.len();
                    picture = picture.take().or_else(|| Some(pictured(name, &values)));
                    done.push((name.to_owned(), Described::of(&values)));
                }
            }
        }
        Ok(())
    })?;
    if done.is_empty() {
        let what = arguments
            .series
            .as_ref()
            .map_or("measurements".to_owned(), |name| {
                format!("series {}", text::quoted(&text::one_line(name, 60)))
            });
        return Err(Failure::refused(format!("{file} has no {what}")));
    }
    if let (Some(path), Some(picture)) = (&arguments.svg, &picture) {
        measurements::write(path, &picture.svg())?;
    }
    if arguments.json {
        screen::json(&described::as_json(&done))?;
        return Ok(0);
    }
    let mut out = format!(
        "{}: {}\n\n",
        screen::bold(&file.to_string()),
        text::count(done.len() as u64, "series", "series")
    );
    if let Some(picture) = picture.as_ref().filter(|_| arguments.plot) {
        let _ = write!(
            out,
            "{}\n{}\n",
            picture.title,
            picture.terminal(screen::width(), PLOT_LINES)
        );
    }
    out.push_str(&shown(&done));
    screen::out(&out)?;
    Ok(0)
}

fn shown(done: &[(String, Described)]) -> String {
    let is_one = done.len() == 1;
    let summary = summary(done);
    let mut rows = Vec::new();
    for ((name, meaning), value) in NAMES.iter().zip(MEANINGS).zip(summary.statistics) {
        let value = value.map_or("-".to_owned(), number);
        rows.push(vec![(*name).to_owned(), value, meaning.to_owned()]);
    }
    let more = [
        (
            "rho(1)",
            summary.rho,
            "autocorrelation from one value to the next",
        ),
        (
            "Hurst",
            summary.hurst,
            "0.5 is a short memory, above it a long one",
        ),
        ("peaks", summary.peaks, "jumps that return within 4 values"),
        ("level switches", summary.switches, "jumps to another level"),
        (
            "outliers",
            summary.outliers,
            "values beyond the fences of a box plot",
        ),
    ];
    for (name, value, meaning) in more {
        let value = value.map_or("-".to_owned(), number);
        rows.push(vec![name.to_owned(), value, meaning.to_owned()]);
    }
    let mut out = text::table(&rows);
    if !is_one {
        out.push_str("\nThese are means of the series; --series NAME shows one, --json all.\n");
    }
    if !summary.hints.is_empty() {
        out.push('\n');
    }
    for (hint, n) in &summary.hints {
        if is_one {
            let _ = writeln!(out, "{}", hint.text());
        } else {
            let _ = writeln!(out, "{n} of {}: {}", done.len(), hint.text());
        }
    }
    out
}

/// A series that is longer than a picture is drawn by the extremes of its parts.
fn pictured(name: &str, values: &[f64]) -> Picture {
    let n = values.len();
    let values = if n <= PICTURE_VALUES {
        values.iter().copied().map(Some).collect()
    } else {
        let parts = values.chunks(n.div_ceil(PICTURE_VALUES / 2));
        parts
            .flat_map(|part| {
                let least = part.iter().copied().reduce(f64::min);
                [least, part.iter().copied().reduce(f64::max)]
            })
            .collect()
    };
    Picture {
        title: format!(
            "{}, {}",
            text::one_line(name, 80),
            text::count(n as u64, "value", "values")
        ),
        first: 1,
        curves: vec![Curve {
            name: "measured".to_owned(),
            values,
        }],
    }
}

/// `xav trace generate`
pub(crate) fn generate(arguments: &Generate) -> Outcome {
    let (set, word) = match arguments.set {
        SetName::One => (Set::One, "one"),
        SetName::Two => (Set::Two, "two"),
    };
    let n_series = arguments.series.map_or(set.n_series(), |n| n as usize);
    let n_values = arguments.values as usize;
    let all = n_series as u64 * u64::from(arguments.values);
    if all == 0 || all > GENERATED_MAX {
        return Err(Failure::refused(format!(
            "{n_series} series of {n_values} values are none or too many: at most {GENERATED_MAX} values are made at once"
        )));
    }
    let made = set.generate(arguments.seed.unwrap_or(set.seed()), n_series, n_values);
    let mut csv = "series".to_owned();
    for place in 0..n_values {
        let _ = write!(csv, ",v{place}");
    }
    csv.push('\n');
    for (place, values) in made.iter().enumerate() {
        let _ = write!(csv, "{word}-{}", place + 1);
        for value in values {
            let _ = write!(csv, ",{value:.3}");
        }
        csv.push('\n');
    }
    match &arguments.out {
        None => screen::out(&csv)?,
        Some(path) => {
            let failed = |error: std::io::Error| {
                let shown = path.display();
                Failure::new(format!("could not write {shown}: {}", reason(&error)))
            };
            let mut file = std::fs::File::create(path).map_err(failed)?;
            file.write_all(csv.as_bytes()).map_err(failed)?;
            screen::tell(&format!(
                "{} of {}, in milliseconds, written to {}\n",
                text::count(n_series as u64, "series", "series"),
                text::count(n_values as u64, "value", "values"),
                path.display()
            ));
        }
    }
    Ok(0)
}

#[cfg(test)]
mod tests;
