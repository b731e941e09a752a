//! Many processes on a grid on this machine: how soon they are admitted, what each costs its managers while
//! few and while thousands wait, and how soon work goes on after a restart.

mod client;
mod growth;
mod measure;
mod report;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::beside::Build;
use crate::programs;
use measure::{Figures, Keys};

const USAGE: &str = "\
usage: cargo compare many [--runs N] [--only PART] [--seconds N] [--processes N] [--waiting N]
                          [--programs DIR] [--beside DIR] [--dir DIR]
  --runs N        repetitions of everything, of which the median counts (default 3)
  --only PART     wide, rate, waiting, restart or growth
  --seconds N     length of the command of the wide part (default 10)
  --processes N   processes of the rate part (default 1000)
  --waiting N     processes that wait in the last two parts (default 9900)
  --programs DIR  where xav, xavantes-gm, xavantes-pm and xavantes-am are (default: built for release
                  from this workspace)
  --beside DIR    the same programs of another commit, measured by turns with these
  --dir DIR       where state directories are made; must be on a real disk (default: beside this program)";

/// Repetitions unless `--runs` says otherwise.
const RUNS: usize = 3;
/// More would take hours.
const RUNS_MAX: usize = 100;

/// A part that can be measured alone (`--only`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Wide,
    Rate,
    Waiting,
    Restart,
    Growth,
}

impl Part {
    const ALL: [Part; 5] = [
        Part::Wide,
        Part::Rate,
        Part::Waiting,
        Part::Restart,
        Part::Growth,
    ];
}

/// Sizes of the parts.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    seconds: u64,
    processes: usize,
    /// A process manager takes no more than 10,000 that have not ended.
    waiting: usize,
}

struct Options {
    runs: usize,
    only: Option<Part>,
    sizes: Sizes,
    programs: Option<PathBuf>,
    beside: Option<PathBuf>,
    dir: PathBuf,
}

pub(crate) fn compare(arguments: impl Iterator<Item = String>) -> Result<()> {
    let Some(options) = options(arguments)? else {
        crate::say(USAGE);
        return Ok(());
    };
    let programs = match &options.programs {
        Some(directory) => directory.clone(),
        None => programs::of_a_grid()?,
    };
    let (mut now, mut before) = (Figures::default(), Figures::default());
    let mut keys = Keys::new();
    for run in 0..options.runs {
        crate::tell(&format!("run {} of {}", run + 1, options.runs));
        for part in Part::ALL {
            if options.only.is_some_and(|only| only != part) {
                continue;
            }
            for build in Build::order(run) {
                let (programs, figures) = match build {
                    Build::Before => (options.beside.as_ref(), &mut before),
                    Build::Now => (Some(&programs), &mut now),
                };
                if let Some(programs) = programs {
                    measure(part, programs, &options, &mut keys, figures)
                        .with_context(|| format!("could not measure {part:?} of {build:?}"))?;
                }
            }
        }
    }
    crate::say(&report::text(&options, &now, &before));
    Ok(())
}

fn measure(
    part: Part,
    programs: &Path,
    options: &Options,
    keys: &mut Keys,
    figures: &mut Figures,
) -> Result<()> {
    let dir = tempfile::Builder::new()
        .prefix("compare-")
        .tempdir_in(&options.dir)
        .with_context(|| format!("could not make a directory in {}", options.dir.display()))?;
    let (dir, sizes) = (dir.path().join("many"), &options.sizes);
    match part {
        Part::Wide => figures
            .wide
            .push(measure::wide(programs, &dir, sizes, keys)?),
        Part::Rate => figures
            .rate
            .push(measure::rate(programs, &dir, sizes, keys)?),
        Part::Waiting => {
            let waiting = measure::waiting(programs, &dir, sizes, keys)?;
            figures.waiting.push(waiting);
        }
        Part::Restart => {
            let restart = measure::restart(programs, &dir, sizes, keys)?;
            figures.restart.push(restart);
        }
        Part::Growth => {
            let growth = growth::measure(programs, &dir, keys)?;
            figures.growth.extend(growth);
        }
    }
    Ok(())
}

/// `None` where help is asked for.
fn options(mut arguments: impl Iterator<Item = String>) -> Result<Option<Options>> {
    let mut options = Options {
        runs: RUNS,
        only: None,
        sizes: Sizes {
            seconds: 10,
            processes: 1_000,
            waiting: 9_900,
        },
        programs: None,
        beside: None,
        dir: programs::directory()?,
    };
    while let Some(argument) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .with_context(|| format!("{argument} needs a value\n{USAGE}"))
        };
        let sizes = &mut options.sizes;
        match argument.as_str() {
            "--runs" => options.runs = value()?.parse().context("--runs needs a number")?,
            "--seconds" => sizes.seconds = value()?.parse().context("--seconds needs a number")?,
            "--processes" => {
                sizes.processes = value()?.parse().context("--processes needs a number")?;
            }
            "--waiting" => sizes.waiting = value()?.parse().context("--waiting needs a number")?,
            "--only" => {
                let name = value()?;
                let mut parts = Part::ALL.into_iter();
                let part = parts.find(|part| format!("{part:?}").to_lowercase() == name);
                options.only = Some(match part {
                    Some(part) => part,
                    None => bail!("there is no part {name}\n{USAGE}"),
                });
            }
            "--programs" => options.programs = Some(PathBuf::from(value()?)),
            "--beside" => options.beside = Some(PathBuf::from(value()?)),
            "--dir" => options.dir = PathBuf::from(value()?),
            "--help" | "-h" => return Ok(None),
            _ => bail!("unknown argument {argument}\n{USAGE}"),
        }
    }
    ensure!(
        (1..=RUNS_MAX).contains(&options.runs),
        "--runs is from 1 to {RUNS_MAX}"
    );
    ensure!(
        (1..=10_000).contains(&options.sizes.processes),
        "--processes is from 1 to 10000"
    );
    ensure!(
        (100..=9_900).contains(&options.sizes.waiting),
        "--waiting is from 100 to 9900"
    );
    Ok(Some(options))
}

#[test]
fn options_are_read_and_refused() {
    let read = |words: &[&str]| options(words.iter().map(ToString::to_string));
    let given = read(&["--runs", "2", "--only", "restart", "--waiting", "500"]);
    let given = given.unwrap().unwrap();
    assert_eq!((given.runs, given.sizes.waiting), (2, 500));
    assert_eq!(given.only, Some(Part::Restart));
    assert!(read(&["--help"]).unwrap().is_none());
    for bad in [
        &["--runs", "0"][..],
        &["--waiting", "10000"],
        &["--processes", "0"],
        &["--only", "all"],
        &["--seconds"],
        &["x"],
    ] {
        assert!(read(bad).is_err(), "{bad:?}");
    }
}
