//! `xav experiment`: the published comparisons of schedulers and policies, repeated.

mod runner;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use experiments::claims::{Claim, Verdict, claims};
use experiments::design::{Design, parse_groups};
use experiments::instance::Source;
use experiments::report;
use experiments::results::Results;
use experiments::study::Study;
use experiments::traces::Traces;

use crate::failure::{self, Failure, Outcome};
use crate::inputs::reason;
use crate::machines::{FILE_BYTES_MAX, read_bounded};
use crate::{measurements, screen, text};

pub(crate) const EXAMPLES: &str = "\
Examples:
  xav experiment list
  xav experiment static --repetitions 100 --to results
  xav experiment lasting --groups 2,5,10-25 --seed 7 --to results
  xav experiment all --repetitions 1000 --to results    the paper's size; stop it and go on at will
  xav experiment all --check --to results               exit status 1 if a claim holds no more

Each experiment writes NAME.results, a line for each 15 schedules, from which an interrupted one
goes on; NAME.csv and NAME.json, every figure with its 95 % interval; NAME.md, the paper's claims
and numbers beside those found; and charts (SVG). docs/experiments.md tells what came of them.";

/// The measured loads below the directory that XAVANTES_DATA names.
const TRACES: &str = "traces/planetlab-20110303.csv";
/// The least repetitions of which intervals are known, which claims are judged by.
const CHECKED_LEAST: u32 = 2;
/// The most threads: more than machines have processors only take turns.
const THREADS_MAX: i64 = 1_024;

/// `xav experiment`
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// The experiment; `list` prints all, `all` runs all
    #[arg(value_name = "NAME")]
    name: String,
    /// All that is drawn follows from it
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How often each of the 15 graphs is drawn at each point; the paper's are 1000
    #[arg(long, value_name = "N", default_value_t = 20)]
    repetitions: u32,
    /// The numbers of groups, as in 2,5,10-25; those of the experiment where left out
    #[arg(long, value_name = "LIST")]
    groups: Option<String>,
    /// Number of threads; as many as there are processors where left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=THREADS_MAX))]
    threads: Option<i64>,
    /// The directory of the results
    #[arg(long, value_name = "DIR", default_value = "experiments")]
    to: PathBuf,
    /// A table of loads (CSV, a row a machine: its name, then percents every 300 s) for planetlab
    #[arg(long, value_name = "FILE")]
    traces: Option<PathBuf>,
    /// End with status 1 if a claim that is known to hold does not
    #[arg(long)]
    check: bool,
}

/// `xav experiment`
pub(crate) fn experiment(arguments: &Arguments) -> Outcome {
    if arguments.name == "list" {
        screen::out(&list())?;
        return Ok(0);
    }
    let studies = match arguments.name.as_str() {
        "all" => Study::ALL.to_vec(),
        name => vec![Study::named(name).ok_or_else(|| unknown(name))?],
    };
    // What is wrong in the command line is told before anything is written.
    let designs = studies.iter().map(|&study| design(arguments, study));
    let designs = designs.collect::<Result<Vec<_>, _>>()?;
    if arguments.check && arguments.repetitions < CHECKED_LEAST {
        return Err(Failure::refused(format!(
            "--check needs at least {CHECKED_LEAST} repetitions: one tells nothing of how much results vary"
        )));
    }
    let traces = traces(arguments)?;
    let needs = |study: Study| study.needs_traces() && traces.is_empty();
    if let [one] = studies[..]
        && needs(one)
    {
        return Err(Failure::refused(format!("{} needs measured loads", one.name())).help(
            "name a table of them with --traces, or set XAVANTES_DATA to a directory that has traces/planetlab-20110303.csv",
        ));
    }
    let to = &arguments.to;
    fs::create_dir_all(to).map_err(|error| {
        let shown = to.display();
        Failure::refused(format!("could not make {shown}: {}", reason(&error)))
    })?;
    let mut broken = Vec::new();
    for design in designs {
        let study = design.study;
        if needs(study) {
            screen::out(&format!(
                "{}: skipped, it needs measured loads (--traces)\n",
                screen::bold(study.name())
            ))?;
            continue;
        }
        let source = Source::new(design, traces.clone());
        let path = to.join(format!("{}.results", study.name()));
        let results = runner::run(&source, &path, n_threads(arguments))?;
        write(&results, to)?;
        let claims = claims(&results);
        screen::out(&shown(&results, &claims, to))?;
        broken.extend(claims.into_iter().filter(Claim::is_broken));
    }
    if !arguments.check || broken.is_empty() {
        return Ok(0);
    }
    for claim in &broken {
        screen::error(&format!("no longer true: {} ({})", claim.text, claim.here));
    }
    Ok(failure::status::FAULTED)
}

fn list() -> String {
    let studies = Study::ALL.into_iter();
    studies
        .map(|study| format!("{:13} {}\n", study.name(), study.about()))
        .collect()
}

fn unknown(name: &str) -> Failure {
    let shown = text::quoted(&text::one_line(name, 60));
    let names = Study::ALL.map(Study::name);
    let failure = Failure::refused(format!("there is no experiment {shown}"));
    match text::nearest(name, names.into_iter().chain(["all", "list"])) {
        Some(meant) => failure.help(format!("did you mean `{meant}`?")),
        None => failure.help(format!("there are {}, and all", names.join(", "))),
    }
}

fn design(arguments: &Arguments, study: Study) -> Result<Design, Failure> {
    let refused = |error: experiments::design::DesignError| Failure::refused(error.to_string());
    let groups = match &arguments.groups {
        Some(list) => parse_groups(list).map_err(refused)?,
        None => study.groups(),
    };
    Design::new(study, arguments.seed, arguments.repetitions, groups).map_err(refused)
}

/// The measured loads; none where nobody names any.
fn traces(arguments: &Arguments) -> Result<Traces, Failure> {
    let of_data = || {
        let data = shell::environment::text("XAVANTES_DATA")?;
        Some(Path::new(&data).join(TRACES))
    };
    let Some(path) = arguments.traces.clone().or_else(of_data) else {
        return Ok(Traces::default());
    };
    let shown = path.display();
    let text = read_bounded(&path)
        .map_err(|error| Failure::refused(format!("could not read {shown}: {}", reason(&error))))?;
    let text = text.ok_or_else(|| {
        Failure::refused(format!(
            "{shown} is too large: {FILE_BYTES_MAX} bytes are read"
        ))
    })?;
    let text = String::from_utf8_lossy(&text);
    Traces::parse(&text).map_err(|error| Failure::refused(format!("{shown}: {error}")))
}

fn n_threads(arguments: &Arguments) -> usize {
    match arguments.threads {
        Some(threads) => threads as usize,
        None => std::thread::available_parallelism().map_or(1, usize::from),
    }
}

fn write(results: &Results, to: &Path) -> Result<(), Failure> {
    let name = results.design().study.name();
    let json = serde_json::to_string_pretty(&report::json(results));
    let json = json.expect("numbers and texts are always JSON") + "\n";
    let files = [
        (format!("{name}.csv"), report::csv(results)),
        (format!("{name}.json"), json),
        (format!("{name}.md"), report::markdown(results, "")),
    ];
    let charts = report::charts(results).into_iter();
    let charts = charts.map(|(file, chart)| (file, chart.svg()));
    for (file, text) in files.into_iter().chain(charts) {
        measurements::write(&to.join(file), &text)?;
    }
    Ok(())
}

fn shown(results: &Results, claims: &[Claim], to: &Path) -> String {
    let design = results.design();
    let name = design.study.name();
    let mut out = format!(
        "{}: {}, seed {}\n",
        screen::bold(name),
        text::count(u64::from(design.repetitions), "repetition", "repetitions"),
        design.seed
    );
    for claim in claims {
        let word = match claim.verdict {
            Verdict::Holds => screen::good("holds  "),
            Verdict::Fails if claim.reproduces => screen::bad("fails  "),
            // Known not to hold, for a reason that the tables give.
            Verdict::Fails => screen::odd("differs"),
            Verdict::Open => screen::faint("open   "),
        };
        out.push_str(&format!(
            "  {word}  {}\n           {}\n",
            claim.text, claim.here
        ));
    }
    let file = to.join(format!("{name}.md"));
    out.push_str(&format!("  tables and charts: {}\n", file.display()));
    out
}

#[cfg(test)]
mod tests;
