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
mod options;
mod programs;
mod report;
mod rounds;
mod spawn_loop;
mod xav;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use crate::beside::Build;
use crate::definitions::Shape;
use crate::flush::Flushes;
use crate::options::{Command, Of, Run};
use crate::xav::Observed;

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
    let Command { of, run } = Command::parse();
    let compared = match of {
        None => compare(&run),
        Some(Of::Grid(options)) => grid::compare(&options),
        Some(Of::Many(options)) => many::compare(&options),
        Some(Of::Rounds(options)) => rounds::compare(&options),
    };
    match compared {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("compare: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn compare(options: &Run) -> Result<()> {
    let now = options.xav()?;
    let mut measured = Measured::default();
    options.place.repeat(|run| {
        let dir = options.place.fresh()?;
        measured.flushes.push(flush::measure(dir.path())?);
        for shape in Shape::ALL {
            measured.plain[shape as usize].push(spawn_loop::seconds(shape)?);
            for build in Build::order(run) {
                let (xav, observed): (Option<&Path>, _) = match build {
                    Build::Before => (options.beside.as_deref(), &mut measured.beside),
                    Build::Now => (now.as_deref(), &mut measured.xav),
                };
                if let Some(xav) = xav {
                    let place = dir.path().join(format!("{build:?}"));
                    observed[shape as usize].push(xav::run(xav, shape, &place)?);
                }
            }
        }
        Ok(())
    })?;
    print!("{}", report::text(&options.place.dir()?, &measured));
    Ok(())
}

fn say(text: &str) {
    println!("{text}");
}

fn tell(text: &str) {
    eprintln!("{text}");
}
