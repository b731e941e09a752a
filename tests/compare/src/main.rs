//! Speed of `xav run` beside a plain loop that only starts commands, on one machine in one run: `cargo compare`.
//!
//! It is not a test: it takes minutes, and what it prints is figures with the bar that each is held to beside
//! it. Every repetition measures everything once, one after another, so that a machine that gets slower
//! meanwhile slows both sides; the median of the repetitions is what counts. Read `Measured` first.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it measures: it reads the clock, starts commands and threads of its own, and prints"
)]

mod beside;
mod definitions;
mod figures;
mod flush;
mod grid;
mod many;
mod observer;
mod programs;
mod report;
mod spawn_loop;
mod xav;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};

use crate::beside::Build;
use crate::definitions::Shape;
use crate::flush::Flushes;
use crate::xav::Observed;

const USAGE: &str = "\
usage: cargo compare [--runs N] [--skip-xav] [--xav PATH] [--beside PATH] [--dir DIR]
       cargo compare grid [--help]    the same through the daemons of a grid
       cargo compare many [--help]    many processes on a grid
  --runs N      repetitions of everything, of which the median counts (default 5)
  --skip-xav    measure the plain loop and the flushes only
  --xav PATH    the program to measure (default: built for release from this workspace)
  --beside PATH an `xav` of another commit, measured by turns with this one
  --dir DIR     where state directories are made; must be on a real disk (default: beside this program)";

/// Repetitions of everything unless `--runs` says otherwise.
const RUNS: usize = 5;
/// More would take hours.
const RUNS_MAX: usize = 100;

struct Options {
    runs: usize,
    xav: Option<PathBuf>,
    beside: Option<PathBuf>,
    dir: PathBuf,
}

/// All that is measured in all repetitions.
#[derive(Default)]
struct Measured {
    /// Seconds of the plain loop, by shape.
    plain: [Vec<f64>; Shape::ALL.len()],
    /// Runs of `xav run`, by shape.
    xav: [Vec<Observed>; Shape::ALL.len()],
    /// Runs of another commit's `xav run`, by shape.
    beside: [Vec<Observed>; Shape::ALL.len()],
    flushes: Vec<Flushes>,
}

fn main() -> ExitCode {
    match compare() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("compare: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn compare() -> Result<()> {
    if std::env::args().nth(1).as_deref() == Some("grid") {
        return grid::compare(std::env::args().skip(2));
    }
    if std::env::args().nth(1).as_deref() == Some("many") {
        return many::compare(std::env::args().skip(2));
    }
    let Some(options) = options(std::env::args().skip(1))? else {
        println!("{USAGE}");
        return Ok(());
    };
    let mut measured = Measured::default();
    for run in 0..options.runs {
        eprintln!("run {} of {}", run + 1, options.runs);
        let dir = tempfile::Builder::new()
            .prefix("compare-")
            .tempdir_in(&options.dir)
            .with_context(|| format!("could not make a directory in {}", options.dir.display()))?;
        measured.flushes.push(flush::measure(dir.path())?);
        for shape in Shape::ALL {
            measured.plain[shape as usize].push(spawn_loop::seconds(shape)?);
            for build in Build::order(run) {
                let (xav, observed) = match build {
                    Build::Before => (&options.beside, &mut measured.beside),
                    Build::Now => (&options.xav, &mut measured.xav),
                };
                if let Some(xav) = xav {
                    let place = dir.path().join(format!("{build:?}"));
                    observed[shape as usize].push(xav::run(xav, shape, &place)?);
                }
            }
        }
    }
    print!("{}", report::text(&options.dir, &measured));
    Ok(())
}

/// `None` where help is asked for.
fn options(mut arguments: impl Iterator<Item = String>) -> Result<Option<Options>> {
    let mut runs = RUNS;
    let mut skip = false;
    let mut xav = None;
    let mut beside = None;
    let mut dir = programs::directory()?;
    while let Some(argument) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .with_context(|| format!("{argument} needs a value\n{USAGE}"))
        };
        match argument.as_str() {
            "--runs" => runs = value()?.parse().context("--runs needs a number")?,
            "--skip-xav" => skip = true,
            "--xav" => xav = Some(PathBuf::from(value()?)),
            "--beside" => beside = Some(PathBuf::from(value()?)),
            "--dir" => dir = PathBuf::from(value()?),
            "--help" | "-h" => return Ok(None),
            _ => bail!("unknown argument {argument}\n{USAGE}"),
        }
    }
    ensure!(
        (1..=RUNS_MAX).contains(&runs),
        "--runs is from 1 to {RUNS_MAX}"
    );
    let xav = match (skip, xav) {
        (true, _) => None,
        (false, Some(path)) => Some(path),
        (false, None) => Some(programs::build(&[("xav", "xav")])?.join("xav")),
    };
    Ok(Some(Options {
        runs,
        xav,
        beside,
        dir,
    }))
}

fn say(text: &str) {
    println!("{text}");
}

fn tell(text: &str) {
    eprintln!("{text}");
}
