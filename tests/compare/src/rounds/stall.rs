//! A command that stands still: twelve activities on two machines, and lone ones.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};

use super::Setting;
use super::bars::{Bar, Bars};
use super::trial::{Running, on_grid};
use super::work::{millis, side_by_side, written};
use crate::grid::world::{Grid, Machine, until};

/// Activities of a second, on two machines of one slot.
const N: usize = 12;
/// The seconds for which the first of them stands still.
const STANDS: f64 = 14.0;
/// The seconds of a lone activity. It stands still from a third of it on, for ever.
const LONE: f64 = 10.0;
/// The lengths of a lone activity after which it is given up that another attempt ends.
const LONE_MOST: f64 = 4.0;
/// Seconds between two looks at metrics.
const LOOK: f64 = 0.05;
/// The longest wait for metrics.
const PATIENCE: Duration = Duration::from_secs(10);
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
        bars.add(format!("{name}: s late when it is judged"), judged, 2, most);
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

fn grid(setting: &Setting, dir: &Path, of_pm: &str) -> Result<Grid> {
    let machine = Machine {
        slots: 1,
        ..Machine::default()
    };
    Grid::of(
        &setting.programs,
        &dir.join("grid"),
        &[machine.clone(), machine],
        of_pm,
    )
}

/// The seconds of twelve activities of which the first one stands still.
fn of_twelve(setting: &Setting, policy: &str, is_repeatable: bool) -> Result<f64> {
    let dir = setting.fresh()?;
    let grid = grid(setting, dir.path(), "")?;
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

/// A long activity that stands still for ever. How late it is when its machine is judged; of
/// one that is repeatable, the seconds until another attempt has ended. Infinite where that did not happen.
fn lone(setting: &Setting, beside: Beside, is_repeatable: bool) -> Result<f64> {
    let dir = setting.fresh()?;
    let metrics = free_port()?;
    let grid = grid(
        setting,
        dir.path(),
        &format!("metrics = \"127.0.0.1:{metrics}\"\n"),
    )?;
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
    let mut before = n_judged(metrics)?;
    let most = began + LONE_MOST * long + 10.0;
    loop {
        if running.has_ended()? {
            let took = running.end(most)?.makespan;
            return Ok(if is_repeatable { took } else { f64::INFINITY });
        }
        let (late, n) = (running.elapsed() - began - long, n_judged(metrics)?);
        if late < 0.0 {
            // Others are looked at as well, and nobody knows yet that it is late.
            before = n;
        } else if !is_repeatable && n > before {
            return Ok(late);
        }
        if running.elapsed() > most {
            return Ok(f64::INFINITY);
        }
        running.wait_for(running.elapsed() + LOOK)?;
    }
}

/// The looks at machines that a process manager has taken, by its metrics.
fn n_judged(port: u16) -> Result<f64> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).context("no metrics are served")?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut told = String::new();
    stream.read_to_string(&mut told)?;
    let line = told
        .lines()
        .find_map(|line| line.strip_prefix("xavantes_machine_judgements_total"));
    let value = line.and_then(|line| line.split_whitespace().last()?.parse().ok());
    value.context("its metrics do not tell of judgements")
}

/// A port that nobody has at the moment.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    Ok(listener.local_addr()?.port())
}
