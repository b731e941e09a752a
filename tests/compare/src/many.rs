//! Many processes on a grid on this machine: how soon they are admitted, how soon slots of others are free for
//! them, what each costs its managers while few and while thousands wait, and how soon work goes on after a
//! restart.

pub(crate) mod client;
mod growth;
mod measure;
mod mixed;
mod report;
mod sharing;

use std::path::Path;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use crate::beside::Build;
use crate::options::{Place, Programs};
use measure::{Figures, Keys};

/// A part that can be measured alone (`--only`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    Wide,
    Mixed,
    GivenBack,
    Lost,
    Watchers,
    Rate,
    Waiting,
    Restart,
    Growth,
}

/// Sizes of the parts.
#[derive(Clone, Copy, Debug, Args)]
struct Sizes {
    /// Length of the command of the wide part
    #[arg(long, value_name = "N", default_value_t = 10)]
    seconds: u64,
    /// Processes of the rate part
    #[arg(long, value_name = "N", default_value_t = 1_000,
        value_parser = clap::value_parser!(u64).range(1..=10_000))]
    processes: u64,
    /// Processes that wait in the last two parts: a process manager takes no more than 10,000 that have
    /// not ended
    #[arg(long, value_name = "N", default_value_t = 9_900,
        value_parser = clap::value_parser!(u64).range(100..=9_900))]
    waiting: u64,
}

/// Options for measuring many processes.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The one part to measure
    #[arg(long, value_name = "PART")]
    only: Option<Part>,
    #[command(flatten)]
    sizes: Sizes,
    #[command(flatten)]
    programs: Programs,
    #[command(flatten)]
    place: Place,
}

pub(crate) fn compare(options: &Options) -> Result<()> {
    let programs = options.programs.directory()?;
    let (mut now, mut before) = (Figures::default(), Figures::default());
    let mut keys = Keys::new();
    options.place.repeat(|run| {
        let parts = Part::value_variants().iter();
        for &part in parts.filter(|&&part| options.only.is_none_or(|only| only == part)) {
            for build in Build::order(run) {
                let (programs, figures) = match build {
                    Build::Before => (options.programs.beside.as_ref(), &mut before),
                    Build::Now => (Some(&programs), &mut now),
                };
                if let Some(programs) = programs {
                    measure(part, programs, options, &mut keys, figures)
                        .with_context(|| format!("could not measure {part:?} of {build:?}"))?;
                }
            }
        }
        Ok(())
    })?;
    let dir = options.place.dir()?;
    crate::say(&report::text(options, &dir, &now, &before));
    Ok(())
}

fn measure(
    part: Part,
    programs: &Path,
    options: &Options,
    keys: &mut Keys,
    figures: &mut Figures,
) -> Result<()> {
    let dir = options.place.fresh()?;
    let (dir, sizes) = (dir.path().join("many"), &options.sizes);
    match part {
        Part::Wide => figures
            .wide
            .push(measure::wide(programs, &dir, sizes, keys)?),
        Part::Mixed => figures.mixed.push(mixed::measure(programs, &dir, keys)?),
        Part::GivenBack => {
            let seconds = sharing::given_back(programs, &dir, keys)?;
            figures.given_back.push(seconds);
        }
        Part::Lost => figures.lost.push(sharing::lost(programs, &dir, keys)?),
        Part::Watchers => {
            let watchers = sharing::watchers(programs, &dir, keys)?;
            figures.watchers.push(watchers);
        }
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
