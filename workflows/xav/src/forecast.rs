//! `xav forecast`: predictors over measured series, compared.

mod compared;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use forecast::Method;
use forecast::draw::{Picture, number};
use serde_json::{Map, Value as Json, json};

use self::compared::{Compared, Figures, Pictured, Sums};
use crate::failure::{Failure, Outcome};
use crate::measurements::{self, Measurements};
use crate::{screen, text};

pub(crate) const EXAMPLES: &str = "\
Examples:
  xav forecast planetlab.csv                                   a row a series, its name first
  xav forecast runs.csv --column ms --by machine --quantity runtime
  xav forecast runs.csv --predictors xavantes,des --against last --plot
  xav forecast runs.csv --series node7 --svg node7.svg --json > forecasts.json

Each forecast is of the next value, made from the values before it alone. A table prints the root of
the mean squared error (RMSE), the mean absolute error (MAE), the mean error (bias, above zero where
values are above their forecasts), by how many percent its RMSE is smaller than that of the
predictor of --against, and the processor time of a forecast. docs/forecasting.md tells more.";

/// Bytes of predictors that may be kept at once, where the rows of series are mixed.
const STATES_BYTES_MAX: usize = 1 << 30;
/// Lines of a terminal's plot.
const PLOT_LINES: usize = 12;
/// Series whose errors are kept one by one where JSON is printed: some 100 MB. Of more there are means.
const SERIES_TOLD_MAX: usize = 100_000;
/// Series that the table of a terminal names one by one.
const SERIES_SHOWN_MAX: usize = 10;

/// `xav forecast`
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    measurements: Measurements,
    /// The predictors, all where left out: last, mean, median, trimmed-mean, es, trigg-leach,
    /// whybark, mentzer, pantazopoulos, ar16, nws, des, xavantes
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    predictors: Vec<Method>,
    /// The predictor that the others are compared with
    #[arg(long, value_name = "NAME", default_value_t = Method::Es)]
    against: Method,
    /// Only this series
    #[arg(long, value_name = "NAME")]
    series: Option<String>,
    /// Draw the newest values of a series: that of --series, or the first one
    #[arg(long)]
    plot: bool,
    /// Write a picture of the same, with the forecasts, to a file
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// Print JSON: the errors of each predictor on each series
    #[arg(long)]
    pub(crate) json: bool,
}

/// `xav forecast`
pub(crate) fn forecast(arguments: &Arguments) -> Outcome {
    let mut methods = match arguments.predictors.as_slice() {
        [] => Method::ALL.to_vec(),
        some => some.to_vec(),
    };
    // What others are compared with is among them.
    methods.push(arguments.against);
    methods.sort();
    methods.dedup();
    let read = read(arguments, &methods)?;
    if read.done.is_empty() {
        return Err(nothing(arguments));
    }
    let mean = read.sums.mean();
    if let Some(path) = &arguments.svg
        && let Some(picture) = &read.picture
    {
        measurements::write(path, &picture.svg())?;
    }
    if arguments.json {
        if read.n_series > read.done.len() as u64 {
            return Err(Failure::refused(format!(
                "{} has {} series; JSON is printed of {SERIES_TOLD_MAX} at most",
                arguments.measurements.file.display(),
                read.n_series
            ))
            .help("choose one with --series"));
        }
        screen::json(&as_json(&read.done, &mean))?;
        return Ok(0);
    }
    screen::out(&shown(arguments, &read, &mean))?;
    Ok(0)
}

/// Everything that was read.
#[derive(Default)]
struct Read {
    /// Series that are kept.
    n_kept_max: usize,
    /// The first series, by name.
    done: BTreeMap<String, BTreeMap<Method, Figures>>,
    /// How often each name of them came.
    names: BTreeMap<String, u32>,
    n_series: u64,
    sums: Sums,
    picture: Option<Picture>,
    n_values: u64,
}

fn read(arguments: &Arguments, methods: &[Method]) -> Result<Read, Failure> {
    let bytes: usize = methods.iter().map(|method| method.state_bytes_max()).sum();
    let at_once_max = STATES_BYTES_MAX / bytes.max(1);
    let mut open: BTreeMap<String, Compared> = BTreeMap::new();
    let mut read = Read {
        n_kept_max: match arguments.json {
            true => SERIES_TOLD_MAX,
            false => SERIES_SHOWN_MAX,
        },
        ..Read::default()
    };
    let quantity = arguments.measurements.quantity();
    let wants_picture = arguments.plot || arguments.svg.is_some();
    arguments.measurements.read(&mut |(name, observation)| {
        if arguments.series.as_deref().is_some_and(|only| only != name) {
            return Ok(());
        }
        let Some(observation) = observation else {
            if let Some(compared) = open.remove(name) {
                let (figures, pictured) = compared.finish();
                if let Some(pictured) = pictured {
                    read.picture = Some(pictured.picture(name));
                }
                read.add(name, figures);
            }
            return Ok(());
        };
        if !open.contains_key(name) {
            if open.len() == at_once_max {
                return Err(Failure::refused(format!(
                    "{} has more than {at_once_max} series whose rows are mixed",
                    arguments.measurements.file.display()
                ))
                .help("choose fewer predictors with --predictors, or one series with --series"));
            }
            let is_first = wants_picture && open.is_empty() && read.n_series == 0;
            let pictured = is_first.then(|| Pictured::new(methods));
            let compared = Compared::new(methods, quantity, pictured);
            open.insert(name.to_owned(), compared);
        }
        if let Some(compared) = open.get_mut(name) {
            compared.observe(observation);
        }
        Ok(())
    })?;
    Ok(read)
}

impl Read {
    fn add(&mut self, name: &str, figures: BTreeMap<Method, Figures>) {
        self.n_series += 1;
        self.n_values += figures
            .values()
            .next()
            .map_or(0, |figures| figures.n_values);
        self.sums.add(&figures);
        if self.done.len() >= self.n_kept_max {
            return;
        }
        // Rows may have the same name.
        let times = self.names.entry(name.to_owned()).or_default();
        let mut free = name.to_owned();
        loop {
            *times += 1;
            if *times > 1 {
                free = format!("{name} ({times})");
            }
            if !self.done.contains_key(&free) {
                break;
            }
        }
        self.done.insert(free, figures);
    }
}

fn nothing(arguments: &Arguments) -> Failure {
    let shown = arguments.measurements.file.display();
    match &arguments.series {
        Some(series) => Failure::refused(format!(
            "{shown} has no series {}",
            text::quoted(&text::one_line(series, 60))
        )),
        None => Failure::refused(format!("{shown} has no measurements")),
    }
}

fn as_json(
    done: &BTreeMap<String, BTreeMap<Method, Figures>>,
    mean: &BTreeMap<Method, Figures>,
) -> Json {
    let one = |figures: &BTreeMap<Method, Figures>| {
        let entry = |(method, figures): (&Method, &Figures)| {
            let fields = json!({
                "rmse": figures.rmse,
                "mae": figures.mae,
                "bias": figures.bias,
                "nanoseconds": figures.nanoseconds,
            });
            (method.name().to_owned(), fields)
        };
        Json::Object(figures.iter().map(entry).collect())
    };
    let series: Map<String, Json> = done
        .iter()
        .map(|(name, figures)| (name.clone(), one(figures)))
        .collect();
    json!({ "series": series, "mean": one(mean) })
}

fn shown(arguments: &Arguments, read: &Read, mean: &BTreeMap<Method, Figures>) -> String {
    let n_series = read.n_series;
    let mut out = format!(
        "{}: {}, {}\n",
        screen::bold(&arguments.measurements.file.display().to_string()),
        text::count(n_series, "series", "series"),
        text::count(read.n_values, "value", "values")
    );
    if let Some(picture) = read.picture.as_ref().filter(|_| arguments.plot) {
        out.push_str(&format!("\n{}\n", picture.title));
        out.push_str(&picture.terminal(screen::width(), PLOT_LINES));
    }
    if n_series > 1 && n_series <= SERIES_SHOWN_MAX as u64 {
        for (name, figures) in &read.done {
            out.push_str(&format!("\n{}\n", text::one_line(name, 60)));
            out.push_str(&table(figures, arguments.against));
        }
        out.push_str("\nmean of the series\n");
    } else if n_series > 1 {
        out.push_str("\nmean of the series (--series NAME shows one, --json all)\n");
    } else {
        out.push('\n');
    }
    out.push_str(&table(mean, arguments.against));
    out
}

fn table(figures: &BTreeMap<Method, Figures>, against: Method) -> String {
    let against_rmse = figures.get(&against).and_then(|figures| figures.rmse);
    let mut rows = vec![
        [
            "predictor",
            "RMSE",
            "MAE",
            "bias",
            &format!("Δ% to {against}"),
            "ns",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    let shown = |value: Option<f64>| value.map_or("-".to_owned(), number);
    for (method, own) in figures {
        let delta = own.rmse.zip(against_rmse).filter(|(_, other)| *other > 0.0);
        rows.push(vec![
            method.name().to_owned(),
            shown(own.rmse),
            shown(own.mae),
            shown(own.bias),
            delta.map_or("-".to_owned(), |(own, other)| {
                format!("{:+.1}", 100.0 * (1.0 - own / other))
            }),
            own.nanoseconds
                .map_or("-".to_owned(), |time| format!("{time:.0}")),
        ]);
    }
    text::table(&rows)
}

#[cfg(test)]
mod tests;
