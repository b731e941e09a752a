//! Machines that several share: slots that are given back early, slots of a process manager that is lost, and
//! many watchers of one user.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::client::{Client, row, wide_then_row};
use super::measure::{BUSY, Keys, World};
use crate::definitions::COMMAND;
use crate::observer::cpu_exactly;

/// Machines of all these parts, each with one slot.
const MACHINES: usize = 2;
/// Activities of the process that gives slots back: as many side by side as there are machines, and then so
/// many in a row.
const ROW: u32 = 15;
/// Programs that watch one process.
const WATCHERS: usize = 200;
/// For how long the cost of watchers is measured.
const WATCHED: Duration = Duration::from_secs(10);

/// The time until slots are for others that a process manager held which does not come back.
#[derive(Clone, Copy)]
pub(super) struct Lost {
    /// Seconds after it was killed.
    pub(super) killed: f64,
    /// Seconds after its certificate was revoked.
    pub(super) revoked: f64,
}

/// Many programs that watch one process.
#[derive(Clone, Copy)]
pub(super) struct Watchers {
    /// Those that were not told its end.
    pub(super) failed: f64,
    /// CPU seconds of the process manager a second for each of them.
    pub(super) cost: f64,
}

/// Seconds of a process that sleeps for a second beside another one that was submitted before, which needs
/// both machines for a second and then one of them for long.
pub(super) fn given_back(programs: &Path, dir: &Path, keys: &mut Keys) -> Result<f64> {
    let mut world = World::start(programs, dir, MACHINES)?;
    let second = ["/bin/sleep", "1"];
    let narrow = wide_then_row(MACHINES as u32, ROW, &second);
    let first = world.client.submit(keys.next(), &narrow)?;
    world.another_client()?.wait_running(first)?;
    let began = Instant::now();
    let other = world.client.submit(keys.next(), &row(1, &second))?;
    world.client.wait(other)?;
    Ok(began.elapsed().as_secs_f64())
}

/// The two ways in which a process manager is lost, each in a grid of its own.
pub(super) fn lost(programs: &Path, dir: &Path, keys: &mut Keys) -> Result<Lost> {
    let killed = until_others_run(programs, &dir.join("killed"), keys, |world| {
        world.grid.pm.kill()
    })?;
    let revoked = until_others_run(programs, &dir.join("revoked"), keys, |world| {
        world.grid.xav(&["cert", "revoke", "pm/pm"]).map(drop)
    })?;
    Ok(Lost { killed, revoked })
}

/// Seconds from the loss of a process manager, whose commands are on all machines, until processes of
/// another one have run on each of them.
fn until_others_run(
    programs: &Path,
    dir: &Path,
    keys: &mut Keys,
    lose: impl Fn(&mut World) -> Result<()>,
) -> Result<f64> {
    std::fs::create_dir_all(dir)?;
    let mut world = World::start(programs, &dir.join("grid"), MACHINES)?;
    let (_other, socket) = world.grid.add_process_manager("pm2")?;
    let mut other = Client::connect(&socket)?;
    for _ in 0..MACHINES {
        let busy = world
            .client
            .submit(keys.next(), &row(1, &["/bin/sleep", BUSY]))?;
        world.another_client()?.wait_running(busy)?;
    }
    let began = Instant::now();
    lose(&mut world)?;
    for _ in 0..MACHINES {
        let process = other.submit(keys.next(), &row(1, &[COMMAND]))?;
        other.wait(process)?;
    }
    Ok(began.elapsed().as_secs_f64())
}

/// Many programs watch one process to its end.
pub(super) fn watchers(programs: &Path, dir: &Path, keys: &mut Keys) -> Result<Watchers> {
    let mut world = World::start(programs, dir, 1)?;
    let gate = dir.join("gate");
    let waits = format!("until [ -e {} ]; do sleep 0.2; done", gate.display());
    let process = world
        .client
        .submit(keys.next(), &row(1, &["/bin/sh", "-c", &waits]))?;
    world.another_client()?.wait_running(process)?;
    let id = process.to_string();
    let watchers: Result<Vec<Child>> = (0..WATCHERS)
        .map(|_| world.grid.start_xav(&["watch", &id]))
        .collect();
    let mut watchers = watchers?;
    // The first line of each: that the command has started, or why it cannot be watched.
    let mut said = vec![String::new(); WATCHERS];
    for (watcher, said) in watchers.iter_mut().zip(&mut said) {
        let news = watcher.stderr.as_mut().context("its news are read")?;
        BufReader::new(news).read_line(said)?;
    }
    let cpu = || cpu_exactly(&world.grid.pm.process()).unwrap_or(f64::NAN);
    let (before, began) = (cpu(), Instant::now());
    thread::sleep(WATCHED);
    let all = (cpu() - before) / began.elapsed().as_secs_f64();
    std::fs::write(&gate, "").context("could not let the command end")?;
    let mut failed = 0.0;
    for (mut watcher, said) in watchers.into_iter().zip(said) {
        let ended = watcher.wait().context("could not wait for a watcher")?;
        if !ended.success() {
            failed += 1.0;
            crate::tell(said.trim_end());
        }
    }
    Ok(Watchers {
        failed,
        cost: all / (WATCHERS as f64 - failed),
    })
}
