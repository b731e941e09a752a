//! The same shapes through the daemons of a grid on this machine: a group manager, a process manager
//! and two activity managers, joined by QUIC on loopback, each with its journal; and how soon
//! daemons that were killed are at work again.

mod back;
mod report;
pub(crate) mod world;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::beside::Build;
use crate::definitions::{COMMAND, Shape, definition};
use crate::flush::{self, Flushes};
use crate::{programs, spawn_loop};
use back::Back;
use world::{Grid, RunCost, Size};

const USAGE: &str = "\
usage: cargo compare grid [--runs N] [--slots N] [--only PART] [--programs DIR]
                          [--beside DIR] [--dir DIR]
  --runs N        repetitions of everything, of which the median counts (default 5)
  --slots N       slots that each of the two machines lends (default 1: as many commands at a time as
                  the plain loop has parents)
  --only PART     speed, memory or back
  --programs DIR  where xav, xavantes-gm, xavantes-pm and xavantes-am are (default: built for release
                  from this workspace)
  --beside DIR    the same programs of another commit, whose speed is measured by turns with these
  --dir DIR       where state directories are made; must be on a real disk (default: beside this program)";

/// Repetitions unless `--runs` says otherwise.
const RUNS: usize = 5;
/// More would take hours.
const RUNS_MAX: usize = 100;
/// More commands at a time than that need another measurement.
const SLOTS_MAX: u32 = 64;
/// Machines of the grid.
const MACHINES: usize = 2;
/// Activities after which memory is looked at again.
const MANY: usize = 100_000;

/// A part that can be measured alone (`--only`).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Speed,
    Memory,
    Back,
}

struct Options {
    runs: usize,
    slots: u32,
    only: Option<Part>,
    programs: Option<PathBuf>,
    beside: Option<PathBuf>,
    dir: PathBuf,
}

/// All that is measured.
#[derive(Default)]
struct Measured {
    /// Seconds of the plain loop, by shape.
    plain: [Vec<f64>; Shape::ALL.len()],
    /// Runs on the grid, by shape.
    grid: [Vec<RunCost>; Shape::ALL.len()],
    /// Runs on the grid of another commit, by shape.
    beside: [Vec<RunCost>; Shape::ALL.len()],
    flushes: Vec<Flushes>,
    /// Bytes of each daemon, by [`world::ROLES`]: idle, and after [`MANY`] activities.
    memory: Vec<[Vec<f64>; 2]>,
    /// Seconds until work goes on.
    back: Vec<Back>,
}

pub(crate) fn compare(arguments: impl Iterator<Item = String>) -> Result<()> {
    let Some(options) = options(arguments)? else {
        crate::say(USAGE);
        return Ok(());
    };
    let wants = |part: Part| options.only.is_none_or(|only| only == part);
    let programs = match &options.programs {
        Some(directory) => directory.clone(),
        None => programs::of_a_grid()?,
    };
    let mut measured = Measured::default();
    for run in 0..options.runs {
        crate::tell(&format!("run {} of {}", run + 1, options.runs));
        let dir = tempfile::Builder::new()
            .prefix("compare-")
            .tempdir_in(&options.dir)
            .with_context(|| format!("could not make a directory in {}", options.dir.display()))?;
        let grid_of = |programs: &Path, name: &str| {
            let size = Size {
                machines: MACHINES,
                slots: options.slots,
            };
            Grid::start(programs, &dir.path().join(name), size)
        };
        let new_grid = |name: &str| grid_of(&programs, name);
        if wants(Part::Speed) {
            measured.flushes.push(flush::measure(dir.path())?);
            let now = Some(new_grid("speed")?);
            let before = match &options.beside {
                Some(programs) => Some(grid_of(programs, "before")?),
                None => None,
            };
            for shape in Shape::ALL {
                measured.plain[shape as usize].push(spawn_loop::seconds(shape)?);
                let file = written(dir.path(), &format!("{shape:?}"), &shape.definition())?;
                for build in Build::order(run) {
                    let (grid, told) = match build {
                        Build::Before => (&before, &mut measured.beside),
                        Build::Now => (&now, &mut measured.grid),
                    };
                    if let Some(grid) = grid {
                        told[shape as usize].push(grid.run(&file)?);
                    }
                }
            }
        }
        if wants(Part::Memory) && run == 0 {
            let grid = new_grid("memory")?;
            let idle = grid.memory();
            let text = definition(&[MANY], &format!("[{COMMAND}]"));
            grid.run(&written(dir.path(), "many", &text)?)?;
            measured.memory.push([idle, grid.memory()]);
        }
        if wants(Part::Back) {
            let mut grid = new_grid("back")?;
            measured.back.push(back::measure(&mut grid, dir.path())?);
        }
    }
    crate::say(&report::text(&options, &measured));
    Ok(())
}

/// Writes a definition.
fn written(dir: &Path, name: &str, text: &str) -> Result<PathBuf> {
    let file = dir.join(format!("{name}.yaml"));
    std::fs::write(&file, text).with_context(|| format!("could not write {}", file.display()))?;
    Ok(file)
}

/// `None` where help is asked for.
fn options(mut arguments: impl Iterator<Item = String>) -> Result<Option<Options>> {
    let mut options = Options {
        runs: RUNS,
        slots: 1,
        only: None,
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
        match argument.as_str() {
            "--runs" => options.runs = value()?.parse().context("--runs needs a number")?,
            "--slots" => options.slots = value()?.parse().context("--slots needs a number")?,
            "--only" => {
                options.only = Some(match value()?.as_str() {
                    "speed" => Part::Speed,
                    "memory" => Part::Memory,
                    "back" => Part::Back,
                    other => bail!("there is no part {other}\n{USAGE}"),
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
        (1..=SLOTS_MAX).contains(&options.slots),
        "--slots is from 1 to {SLOTS_MAX}"
    );
    Ok(Some(options))
}

#[test]
fn options_are_read_and_refused() {
    let read = |words: &[&str]| options(words.iter().map(ToString::to_string));
    let read_well = read(&["--runs", "2", "--slots", "3", "--only", "back"]);
    let given = read_well.unwrap().unwrap();
    assert_eq!((given.runs, given.slots), (2, 3));
    assert!(given.only == Some(Part::Back));
    assert!(read(&["--help"]).unwrap().is_none());
    for bad in [
        &["--runs", "0"][..],
        &["--slots", "65"],
        &["--only", "all"],
        &["--runs"],
        &["x"],
    ] {
        assert!(read(bad).is_err(), "{bad:?}");
    }
}
