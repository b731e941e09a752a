//! Processes on machines that get slower while they run: policies of planning again beside each other, each case with
//! the bars that it is held to.
//!
//! A case is measured in pairs: each runs once by each of its policies, one after another, and the other way round in
//! the next pair. Each run on a grid has a grid of its own, so that nobody knows from before which machine is slow.
//! Read [`Case`] first, and [`Bars`] for what is printed.

mod bars;
mod competitor;
mod link;
mod machines;
mod managers;
mod played;
mod prediction;
mod relay;
mod stall;
mod trial;
mod work;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use tempfile::TempDir;

use crate::options::fresh_in;
use crate::programs;
use bars::Bars;

/// A case that can be measured alone (`--only`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Case {
    /// A command of twelve stands still for most of the run; a lone one stands still for ever
    Stall,
    /// Two busy loops get on the core of a machine, and stay
    Competitor,
    /// The same on machines that `xav run` plays
    Played,
    /// Busy loops that come and go every five seconds
    ComesAndGoes,
    /// Eight played machines with the load of a measured day
    Planetlab,
    /// A link gets slow in the middle
    Link,
    /// The planned length beside the real one
    Prediction,
    /// Two process managers on machines of which one gets slow
    Managers,
}

/// Options for comparing policies.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The one case to measure
    #[arg(long, value_name = "CASE")]
    only: Option<Case>,
    /// Pairs of each case, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 10,
        value_parser = clap::value_parser!(u64).range(1..=100))]
    pairs: u64,
    /// The length of all runs, as a part of the one that the bars are meant for
    #[arg(long, value_name = "F", default_value = "1", value_parser = scale)]
    scale: f64,
    /// Where xav, xavantes-gm, xavantes-pm and xavantes-am are; built for release from this workspace where left out
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
    /// Where state directories are made, on a real disk; beside this program where left out
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// The scales of a whole run: below, the half second of grace of anything that is late is most of what is measured.
fn scale(text: &str) -> Result<f64, String> {
    let scale = text.parse().ok();
    let scale = scale.filter(|scale| (0.05..=10.0).contains(scale));
    scale.ok_or_else(|| "a number from 0.05 to 10 is expected".to_owned())
}

/// What all cases are measured with.
struct Setting {
    programs: PathBuf,
    dir: PathBuf,
    n_pairs: usize,
    scale: f64,
}

impl Setting {
    /// So many seconds of a whole run.
    fn seconds(&self, whole: f64) -> f64 {
        whole * self.scale
    }

    fn fresh(&self) -> Result<TempDir> {
        fresh_in(&self.dir)
    }

    fn xav(&self) -> PathBuf {
        self.programs.join("xav")
    }

    /// Measures as many pairs as are wanted. The two sides are given in the order in which they are to run.
    fn pairs<T: Copy>(
        &self,
        name: &str,
        sides: [T; 2],
        mut measure: impl FnMut(usize, [T; 2]) -> Result<()>,
    ) -> Result<()> {
        for pair in 0..self.n_pairs {
            crate::tell(&format!("{name}: pair {} of {}", pair + 1, self.n_pairs));
            let [one, other] = sides;
            let order = match pair % 2 {
                0 => [one, other],
                _ => [other, one],
            };
            measure(pair, order).with_context(|| format!("could not measure {name}"))?;
        }
        Ok(())
    }
}

pub(crate) fn compare(options: &Options) -> Result<()> {
    let given = options.programs.as_deref().map(Path::to_owned);
    let programs = given.map_or_else(programs::of_a_grid, Ok)?;
    let setting = Setting {
        // Commands of activities name them too, from directories of their own.
        programs: std::path::absolute(programs)?,
        dir: options.dir.clone().map_or_else(programs::directory, Ok)?,
        n_pairs: options.pairs as usize,
        scale: options.scale,
    };
    let mut bars = Bars::default();
    let wanted = |case: &&Case| options.only.is_none_or(|only| only == **case);
    for case in Case::value_variants().iter().filter(wanted) {
        match case {
            Case::Stall => stall::measure(&setting, &mut bars)?,
            Case::Competitor => competitor::lasting(&setting, &mut bars)?,
            Case::ComesAndGoes => competitor::comes_and_goes(&setting, &mut bars)?,
            Case::Played => played::halved(&setting, &mut bars)?,
            Case::Planetlab => played::planetlab(&setting, &mut bars)?,
            Case::Link => link::measure(&setting, &mut bars)?,
            Case::Prediction => prediction::measure(&setting, &mut bars)?,
            Case::Managers => managers::measure(&setting, &mut bars)?,
        }
    }
    crate::say(&bars.text(&setting));
    Ok(())
}
