//! The command line of the measurements.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};
use tempfile::TempDir;

use crate::{grid, many, programs, rounds};

/// Speed of `xav run` beside a plain loop that only starts commands, on one machine in one run
#[derive(Debug, Parser)]
#[command(name = "cargo compare", args_conflicts_with_subcommands = true)]
pub(crate) struct Command {
    #[command(subcommand)]
    pub(crate) of: Option<Of>,
    #[command(flatten)]
    pub(crate) run: Run,
}

/// What is measured in place of `xav run`.
#[derive(Debug, Subcommand)]
pub(crate) enum Of {
    /// The same through the daemons of a grid
    Grid(grid::Options),
    /// Many processes on a grid
    Many(many::Options),
    /// Processes on machines that get slower while they run, by policy
    Rounds(rounds::Options),
}

/// Options for measuring `xav run`.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Measure the plain loop and the flushes only
    #[arg(long)]
    skip_xav: bool,
    /// The program to measure; built for release from this workspace where left out
    #[arg(long, value_name = "PATH")]
    xav: Option<PathBuf>,
    /// An `xav` of another commit, measured by turns with this one
    #[arg(long, value_name = "PATH")]
    pub(crate) beside: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// How often it is measured, and where.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// Repetitions of everything, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 5,
        value_parser = clap::value_parser!(u64).range(1..=RUNS_MAX))]
    pub(crate) runs: u64,
    /// Where state directories are made, on a real disk; beside this program where left out
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// The programs of a grid.
#[derive(Debug, Args)]
pub(crate) struct Programs {
    /// Where xav, xavantes-gm, xavantes-pm and xavantes-am are; built for release from this workspace
    /// where left out
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
    /// The same programs of another commit, measured by turns with these
    #[arg(long, value_name = "DIR")]
    pub(crate) beside: Option<PathBuf>,
}

/// More repetitions would take hours.
const RUNS_MAX: u64 = 100;

impl Run {
    /// The program to measure; none where only the rest is wanted.
    pub(crate) fn xav(&self) -> Result<Option<PathBuf>> {
        Ok(match (self.skip_xav, &self.xav) {
            (true, _) => None,
            (false, Some(path)) => Some(path.clone()),
            (false, None) => Some(programs::build(&[("xav", "xav")])?.join("xav")),
        })
    }
}

impl Place {
    /// The directory for state directories.
    pub(crate) fn dir(&self) -> Result<PathBuf> {
        self.dir.clone().map_or_else(programs::directory, Ok)
    }

    /// A new directory there, which is removed with the answer.
    pub(crate) fn fresh(&self) -> Result<TempDir> {
        fresh_in(&self.dir()?)
    }

    /// Measures as often as is wanted; the number of the repetition, from 0, is given.
    pub(crate) fn repeat(&self, mut measure: impl FnMut(usize) -> Result<()>) -> Result<()> {
        for run in 0..self.runs as usize {
            crate::tell(&format!("run {} of {}", run + 1, self.runs));
            measure(run)?;
        }
        Ok(())
    }
}

/// A new directory in another one, which is removed with the answer. Its path is whole, since daemons are found by it.
pub(crate) fn fresh_in(dir: &Path) -> Result<TempDir> {
    let fresh = std::path::absolute(dir)
        .and_then(|dir| tempfile::Builder::new().prefix("compare-").tempdir_in(dir));
    fresh.with_context(|| format!("could not make a directory in {}", dir.display()))
}

impl Programs {
    /// The directory of the programs to measure.
    pub(crate) fn directory(&self) -> Result<PathBuf> {
        let given = self.programs.as_deref().map(Path::to_owned);
        given.map_or_else(programs::of_a_grid, Ok)
    }
}

#[test]
fn options_are_read_and_refused() {
    let read = |line: &str| Command::try_parse_from(line.split(' '));
    let run = read("compare --runs 2 --beside xav").unwrap().run;
    assert_eq!(run.place.runs, 2);
    assert_eq!(run.beside, Some("xav".into()));
    let given = read("compare grid --runs 3 --slots 3 --only back").unwrap();
    assert!(matches!(given.of, Some(Of::Grid(grid)) if grid.place.runs == 3));
    let given = read("compare many --only restart --waiting 500").unwrap();
    assert!(matches!(given.of, Some(Of::Many(_))));
    let given = read("compare rounds --only stall --pairs 2 --scale 0.2").unwrap();
    assert!(matches!(given.of, Some(Of::Rounds(_))));
    for bad in [
        "compare rounds --scale 0",
        "compare rounds --scale 11",
        "compare rounds --pairs 0",
        "compare rounds --only all",
        "compare --runs 0",
        "compare --runs",
        "compare x",
        "compare --runs 2 grid",
        "compare grid --slots 65",
        "compare grid --only all",
        "compare many --waiting 10000",
        "compare many --processes 0",
        "compare many --only all",
        "compare many --seconds",
    ] {
        assert!(read(bad).is_err(), "{bad}");
    }
}
