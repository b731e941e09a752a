//! A command that stands still: twelve activities on two machines, and lone ones.

use std::path::Path;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use super::Setting;
use super::bars::{Bar, Bars};
use super::machines::alike;
use super::trial::{Running, on_grid};
use super::work::{millis, side_by_side, written};
use crate::grid::world::{Grid, until};

/// Activities of a second, on two machines of one slot.
const N: usize = 12;
/// The seconds for which the first of them stands still.
const STANDS: f64 = 14.0;
/// The seconds of a lone activity. It stands still from a third of it on, for ever.
const LONE: f64 = 10.0;
/// The lengths of a lone activity after which it is given up that another attempt ends.
const LONE_MOST: f64 = 4.0;
/// Seconds between two questions why it runs.
const LOOK: f64 = 0.05;
/// The part by which an activity has to be late, as docs/rounds.md says.
const THRESHOLD: f64 = 0.1;

pub(super) fn measure(setting: &Setting, bars: &mut Bars) -> Result<()> {
    let mut twelve = [Vec::new(), Vec::new(), Vec::new()];
    let mut lone_ones = [const { (Vec::new(), Vec::new()) }; Beside::ALL.len()];
    for pair in 0..setting.n_pairs {
        crate::tell(&format!("stall: pair {} of {}", pair + 1, setting.n_pairs));
        let ways = [("static", ""), ("xavantes", ""), ("xavantes", "repeatable")];
        for ((policy, how), seconds) in ways.into_iter().zip(&mut twelve) {
            seconds.push(of_twelve(setting, policy, how == "repeatable")?);
        }
        for (beside, (judged, elsewhere)) in Beside::ALL.into_iter().zip(&mut lone_ones) {
            judged.push(lone(setting, beside, false)?);
            elsewhere.push(lone(setting, beside, true)?);
        }
    }
    let [still, moved, raced] = twelve;
    bars.add(
        "stall: 12 activities, nothing moves: s",
        still,
        2,
        Bar::Told,
    );
    let most = Bar::AtMost(setting.seconds(15.5));
    bars.add("the same, xavantes: s", moved, 2, most);
    let most = Bar::AtMost(setting.seconds(12.5));
    bars.add("the same, repeatable: s", raced, 2, most);
    for (beside, (judged, elsewhere)) in Beside::ALL.into_iter().zip(lone_ones) {
        let name = match beside {
            Beside::Nothing => "the only activity stands still",
            Beside::TwoShort => "a long activity beside two short ones stands still",
        };
        let most = Bar::AtMost(THRESHOLD * setting.seconds(LONE) + 1.0);
        bars.add(
            format!("{name}: s late when `xav why` says so"),
            judged,
            2,
            most,
        );
        // Twice as long as expected before another attempt begins, and that one's time.
        let most = Bar::AtMost(3.5 * setting.seconds(LONE) + 2.0);
        bars.add(
            format!("{name}, repeatable: s until it has ended elsewhere"),
            elsewhere,
            2,
            most,
        );
    }
    Ok(())
}

/// The other activities of a process whose long one stands still.
#[derive(Clone, Copy)]
enum Beside {
    /// None: it holds one machine.
    Nothing,
    /// Two short ones, so that it holds both machines.
    TwoShort,
}

impl Beside {
    const ALL: [Beside; 2] = [Beside::Nothing, Beside::TwoShort];
}

/// A process group that stands still. Dropping it lets it go on.
struct Stopped(Pid);

impl Stopped {
    /// Stops the command that has written its number into a file first.
    fn first_of(file: &Path) -> Result<Stopped> {
        let pid = until("a command to begin", || {
            let lines = std::fs::read_to_string(file).unwrap_or_default();
            let first = lines
                .lines()
                .next()
                .and_then(|line| line.trim().parse().ok());
            Ok(first.and_then(Pid::from_raw))
        })?;
        kill_process_group(pid, Signal::STOP).context("could not stop a command")?;
        Ok(Stopped(pid))
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // It may have been ended meanwhile.
        let _ = kill_process_group(self.0, Signal::CONT);
    }
}

/// The seconds of twelve activities of which the first one stands still.
fn of_twelve(setting: &Setting, policy: &str, is_repeatable: bool) -> Result<f64> {
    let dir = setting.fresh()?;
    let grid = alike(setting, dir.path(), (2, 1))?;
    let pids = dir.path().join("pids");
    let second = setting.seconds(1.0);
    let command = format!("echo $$ >> {}; exec sleep {second:.3}", pids.display());
    let further = if is_repeatable {
        "      repeatable: true\n"
    } else {
        ""
    };
    let text = side_by_side(N, &command, second, further);
    let file = written(dir.path(), "twelve", &text)?;
    let mut running = Running::start(on_grid(&grid, policy, &file, &[]), dir.path())?;
    let stopped = Stopped::first_of(&pids)?;
    running.wait_for(running.elapsed() + setting.seconds(STANDS))?;
    drop(stopped);
    Ok(running.end(setting.seconds(60.0) + 30.0)?.makespan)
}

/// A long activity that stands still for ever. How late it is when users are told that; of one that is repeatable, the seconds until another attempt has ended. Infinite where that did not happen.
fn lone(setting: &Setting, beside: Beside, is_repeatable: bool) -> Result<f64> {
    let dir = setting.fresh()?;
    let grid = alike(setting, dir.path(), (2, 1))?;
    let pids = dir.path().join("pids");
    let long = setting.seconds(LONE);
    let repeatable = if is_repeatable {
        "\n      repeatable: true"
    } else {
        ""
    };
    let short = |name: &str| format!("    - {{ activity: {name}, run: [sleep, '1'], work: 1s }}\n");
    let others = match beside {
        Beside::Nothing => String::new(),
        Beside::TwoShort => short("short1") + &short("short2"),
    };
    let text = format!(
        "\
xavantes: 1
name: lone
body:
  parallel:
    - activity: long
      run: {{ shell: 'echo $$ >> {}; exec sleep {long:.3}' }}
      work: {}ms{}
{}",
        pids.display(),
        millis(long),
        repeatable,
        others,
    );
    let file = written(dir.path(), "lone", &text)?;
    let mut running = Running::start(on_grid(&grid, "xavantes", &file, &[]), dir.path())?;
    until("the long command to begin", || {
        Ok(pids.exists().then_some(()))
    })?;
    let began = running.elapsed();
    running.wait_for(began + long / 3.0)?;
    let _stopped = Stopped::first_of(&pids)?;
    let most = began + LONE_MOST * long + 10.0;
    loop {
        if running.has_ended()? {
            let took = running.end(most)?.makespan;
            return Ok(if is_repeatable { took } else { f64::INFINITY });
        }
        let late = running.elapsed() - began - long;
        if late > 0.0 && !is_repeatable && is_told_late(&grid, "long")? {
            return Ok(late);
        }
        if running.elapsed() > most {
            return Ok(f64::INFINITY);
        }
        running.wait_for(running.elapsed() + LOOK)?;
    }
}

/// True if `xav why` says of an activity of the newest process that it is late.
fn is_told_late(grid: &Grid, activity: &str) -> Result<bool> {
    let list: Value = serde_json::from_str(&grid.xav(&["list", "--json"])?)?;
    let id = list[0]["process"].as_str();
    let id = id.context("the list has no process")?;
    let why: Value = serde_json::from_str(&grid.xav(&["why", id, activity, "--json"])?)?;
    let reasons = why["reasons"].as_array();
    Ok(reasons
        .into_iter()
        .flatten()
        .any(|one| one["reason"] == "late"))
}
