//! Two activity managers on a core each, and busy loops that get on one of the cores.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use super::Setting;
use super::bars::{Bar, Bars};
use super::machines::on_two_cores;
use super::trial::{Running, Trial, n_run_again, on_grid};
use super::work::{MONTAGE, burns, data, fork_join, millis, written};
use crate::grid::world::on_core;

/// CPU time of all activities of a process, in seconds.
const CPU_TOTAL: f64 = 60.0;
/// Activities of the fork-join between its first and its last one.
const FORKS: usize = 200;
/// Busy loops that get on a core: a command gets a third of it then.
const LOOPS: usize = 2;
/// The part of the length without them after which they come.
const COMES: f64 = 0.3;
/// The seconds for which they come, and go.
const EACH: f64 = 5.0;
/// The times that a run may take beside its plan before it has failed.
const LENGTHS_MOST: f64 = 8.0;

/// What others do on the core of the second machine.
#[derive(Clone, Copy)]
enum Others {
    None,
    /// They come after so many seconds and stay.
    Stay(f64),
    /// They come and go.
    ComeAndGo,
}

impl Display for Others {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Others::None => Ok(()),
            Others::Stay(from) => write!(f, " beside others from {from:.1} s on"),
            Others::ComeAndGo => write!(f, " beside others that come and go"),
        }
    }
}

/// A process of the case.
struct Work {
    name: &'static str,
    file: PathBuf,
    options: Vec<String>,
}

/// Busy loops. Dropping them ends them.
struct Busy(Vec<Child>);

impl Busy {
    fn on(core: usize) -> Result<Busy> {
        let mut busy = Busy(Vec::new());
        for _ in 0..LOOPS {
            let mut command = on_core(Some(core), Path::new("/bin/sh"));
            let child = command
                .args(["-c", "while :; do :; done"])
                .stdin(Stdio::null())
                .spawn();
            busy.0.push(child.context("could not start a busy loop")?);
        }
        Ok(busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Competitors that stay: `xavantes` beside `static`, with them and without.
pub(super) fn lasting(setting: &Setting, bars: &mut Bars) -> Result<()> {
    let dir = setting.fresh()?;
    for work in works(setting, dir.path(), bars)? {
        let name = format!("competitor, {}", work.name);
        let (mut quiet, mut loaded, mut known) = (Vec::new(), Vec::new(), Vec::new());
        let mut again = Vec::new();
        setting.pairs(&name, ["static", "xavantes"], |_, order| {
            let (mut quietly, mut beside) = ([f64::NAN; 2], [f64::NAN; 2]);
            for policy in order {
                let side = usize::from(policy == "xavantes");
                let alone = run(setting, &work, policy, Others::None)?.0;
                quietly[side] = alone.makespan;
                // The first plan of a process whose `for-each` counts its items later is not that of the whole.
                let comes = COMES * alone.makespan;
                let (trial, status) = run(setting, &work, policy, Others::Stay(comes))?;
                beside[side] = trial.makespan;
                if side == 1 {
                    again.push(n_run_again(&status) as f64);
                    known.push(trial.makespan / least(alone.makespan));
                }
            }
            quiet.push(quietly[1] / quietly[0]);
            loaded.push(beside[1] / beside[0]);
            Ok(())
        })?;
        bars.add(
            format!("{name}: xavantes / static"),
            loaded,
            3,
            Bar::AtMost(0.8),
        );
        let most = Bar::AtMost(1.15);
        bars.add(
            format!("{name}: xavantes / the least that anybody can who knows"),
            known,
            3,
            most,
        );
        bars.add(
            format!("{name}: the same without it / static"),
            quiet,
            3,
            Bar::AtMost(1.02),
        );
        bars.add(
            format!("{name}: commands that ran again"),
            again,
            0,
            Bar::EachAtMost(0.0),
        );
    }
    Ok(())
}

/// Competitors that come and go.
pub(super) fn comes_and_goes(setting: &Setting, bars: &mut Bars) -> Result<()> {
    let dir = setting.fresh()?;
    for work in works(setting, dir.path(), bars)? {
        let name = format!("comes and goes, {}", work.name);
        let mut ratios = Vec::new();
        setting.pairs(&name, ["static", "xavantes"], |_, order| {
            let mut took = [f64::NAN; 2];
            for policy in order {
                let (trial, _) = run(setting, &work, policy, Others::ComeAndGo)?;
                took[usize::from(policy == "xavantes")] = trial.makespan;
            }
            ratios.push(took[1] / took[0]);
            Ok(())
        })?;
        bars.add(
            format!("{name}: xavantes / static"),
            ratios,
            3,
            Bar::AtMost(1.03),
        );
    }
    Ok(())
}

/// The least time of a process that takes so long on two machines, where one of them has a third of its power from
/// [`COMES`] of that time on: both are at work until the end, and nothing is cut off.
fn least(alone: f64) -> f64 {
    let before = COMES * alone;
    let left = 2.0 * (alone - before);
    before + left / (1.0 + 1.0 / (LOOPS + 1) as f64)
}

fn works(setting: &Setting, dir: &Path, bars: &mut Bars) -> Result<Vec<Work>> {
    let total = setting.seconds(CPU_TOTAL);
    let each = total / (FORKS + 2) as f64;
    let text = fork_join(FORKS, &burns(each, &setting.xav()), each, "");
    let mut works = vec![Work {
        name: "fork-join",
        file: written(dir, "fork-join", &text)?,
        options: Vec::new(),
    }];
    match data("workflows", MONTAGE) {
        Some(file) => works.push(Work {
            name: "Montage of 472",
            file,
            options: vec![
                format!("--cpu-total={}ms", millis(total)),
                "--data-scale=0.001".to_owned(),
            ],
        }),
        None => bars.skip(format!("needs {MONTAGE} in XAVANTES_DATA")),
    }
    Ok(works)
}

/// Runs a process in a grid of its own, with two machines of one slot on the first two cores.
fn run(setting: &Setting, work: &Work, policy: &str, others: Others) -> Result<(Trial, Value)> {
    let dir = setting.fresh()?;
    let grid = on_two_cores(setting, dir.path())?;
    let command = on_grid(&grid, policy, &work.file, &work.options);
    let mut running = Running::start(command, dir.path())?;
    let most = LENGTHS_MOST * setting.seconds(CPU_TOTAL) / 2.0 + 60.0;
    let mut busy = None;
    match others {
        Others::None => {}
        Others::Stay(from) => {
            running.wait_for(from)?;
            busy = Some(Busy::on(1)?);
        }
        Others::ComeAndGo => {
            let mut next = 0.0;
            while !running.has_ended()? && next < most {
                busy = match busy {
                    Some(_) => None,
                    None => Some(Busy::on(1)?),
                };
                next += setting.seconds(EACH);
                running.wait_for(next)?;
            }
        }
    }
    let trial = running.end(most)?;
    drop(busy);
    crate::tell(&format!("  {policy}{others}: {:.1} s", trial.makespan));
    let status = grid.xav(&["status", &trial.id, "--json"])?;
    Ok((trial, serde_json::from_str(&status)?))
}

#[test]
fn the_least_time_is_that_of_both_machines_at_work() {
    // 3 s at full power, and then 14 s of work at four thirds.
    assert!((least(10.0) - 13.5).abs() < 1e-9);
}
