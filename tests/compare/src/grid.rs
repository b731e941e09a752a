//! The same shapes through the daemons of a grid on this machine: a group manager, a process manager
//! and two activity managers, joined by QUIC on loopback, each with its journal; and how soon
//! daemons that were killed are at work again.

mod back;
mod report;
pub(crate) mod world;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use crate::beside::Build;
use crate::definitions::{COMMAND, Shape, definition};
use crate::flush::{self, Flushes};
use crate::options::{Place, Programs};
use crate::spawn_loop;
use back::Back;
use world::{Grid, RunCost, Size};

/// More commands at a time than that need another measurement.
const SLOTS_MAX: i64 = 64;
/// Machines of the grid.
const MACHINES: usize = 2;
/// Activities after which memory is looked at again.
const MANY: usize = 100_000;

/// A part that can be measured alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    Speed,
    Memory,
    Back,
}

/// Options for measuring the daemons of a grid.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Slots that each of the two machines lends: with 1 there are as many commands at a time as the
    /// plain loop has parents
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=SLOTS_MAX))]
    slots: u32,
    /// The one part to measure
    #[arg(long, value_name = "PART")]
    only: Option<Part>,
    #[command(flatten)]
    programs: Programs,
    #[command(flatten)]
    pub(crate) place: Place,
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
    /// Bytes of each daemon, by [`world::ROLES`]: idle, after [`MANY`] activities, and [`world::AT_REST`] later.
    memory: Vec<[Vec<f64>; 3]>,
    /// Seconds until work goes on.
    back: Vec<Back>,
}

pub(crate) fn compare(options: &Options) -> Result<()> {
    let wants = |part: Part| options.only.is_none_or(|only| only == part);
    let programs = options.programs.directory()?;
    let mut measured = Measured::default();
    options.place.repeat(|run| {
        let dir = options.place.fresh()?;
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
            let before = match &options.programs.beside {
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
            let after = grid.memory();
            measured.memory.push([idle, after, grid.memory_at_rest()]);
        }
        if wants(Part::Back) {
            let mut grid = new_grid("back")?;
            measured.back.push(back::measure(&mut grid, dir.path())?);
        }
        Ok(())
    })?;
    crate::say(&report::text(options, &options.place.dir()?, &measured));
    Ok(())
}

/// Writes a definition.
fn written(dir: &Path, name: &str, text: &str) -> Result<PathBuf> {
    let file = dir.join(format!("{name}.yaml"));
    std::fs::write(&file, text).with_context(|| format!("could not write {}", file.display()))?;
    Ok(file)
}
