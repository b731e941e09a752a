//! Ten processes of mixed shapes that are submitted together on four slots, as the simulator runs them too.

use std::path::Path;
use std::thread;
use std::time::Instant;

use anyhow::{Result, anyhow};
use scenarios::{Scenario, TOLERANCE};

use super::measure::{Keys, World};
use crate::figures::{Figure, Table};
use crate::grid::world::Size;

/// The second at which each process has ended, in the order of their submission.
pub(super) struct Mixed(Vec<f64>);

impl Mixed {
    /// The time of all of them, as a part of the least that any schedule takes.
    pub(super) fn of_bound(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max) / Scenario::ten().bound()
    }

    /// The end of the process that is latest compared with first come, first served without backfill, as
    /// a part of that.
    pub(super) fn of_latest(&self) -> f64 {
        let without = Scenario::ten().without_backfill();
        let parts = self.0.iter().zip(without).map(|(end, latest)| end / latest);
        parts.fold(0.0, f64::max)
    }
}

/// Submits the ten processes and waits for each of them.
pub(super) fn measure(programs: &Path, dir: &Path, keys: &mut Keys) -> Result<Mixed> {
    let scenario = Scenario::ten();
    let size = Size {
        machines: scenario.machines as usize,
        slots: scenario.slots,
    };
    let mut world = World::of(programs, dir, size)?;
    let clients: Result<Vec<_>> = scenario
        .processes
        .iter()
        .map(|_| world.another_client())
        .collect();
    let began = Instant::now();
    let mut waiting = Vec::new();
    for (shape, mut client) in scenario.processes.iter().zip(clients?) {
        let process = world.client.submit(keys.next(), &shape.draft())?;
        waiting.push(thread::spawn(move || {
            client.wait(process)?;
            Ok(began.elapsed().as_secs_f64())
        }));
    }
    let ends = waiting.into_iter().map(|one| {
        let joined: Result<f64> = one
            .join()
            .map_err(|_| anyhow!("a waiting thread panicked"))?;
        joined
    });
    let ends: Result<Vec<f64>> = ends.collect();
    Ok(Mixed(ends?))
}

/// The end of each process beside what it would be without backfill.
pub(super) fn table(runs: &[Mixed], build: &str) -> Table<4> {
    let mut table = Table::new(["process", build, "s without backfill", "bar"]);
    let scenario = Scenario::ten();
    let latest = scenario.without_backfill();
    for (index, (shape, latest)) in scenario.processes.iter().zip(latest).enumerate() {
        let ends = Figure::of(runs.iter().map(|run| run.0[index]));
        table.row([
            shape.name.clone(),
            ends.text(2),
            format!("{latest:.0}"),
            format!("≤ {:.2}", latest * (1.0 + TOLERANCE)),
        ]);
    }
    table
}
