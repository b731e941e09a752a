//! The measurements: one grid for each.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use model::ProcessId;
use rustix::process::Signal;
use wire::client::Phase;

use super::Sizes;
use super::client::{Client, row};
use super::growth::Growth;
use super::mixed::Mixed;
use super::sharing::{Lost, Watchers};
use crate::definitions::COMMAND;
use crate::grid::world::{Grid, Size, until};
use crate::observer::cpu_exactly;

/// Machines of the wide part, each with a process of its own.
const WIDE: u32 = 8;
/// Machines of the other parts.
const MACHINES: usize = 4;
/// Activities of each process that waits for a restart.
const ROW: u32 = 10;
/// Processes that wait beside those whose cost is measured, where only some wait.
const FEW: usize = 100;
/// For how long a command keeps a machine busy that is to be busy.
pub(super) const BUSY: &str = "600";

/// The figures of one build.
#[derive(Default)]
pub(super) struct Figures {
    /// Seconds of as many one-activity processes as there are machines, beyond the time of their command.
    pub(super) wide: Vec<f64>,
    pub(super) mixed: Vec<Mixed>,
    /// Seconds of a process beside one that gives slots back.
    pub(super) given_back: Vec<f64>,
    pub(super) lost: Vec<Lost>,
    pub(super) watchers: Vec<Watchers>,
    pub(super) rate: Vec<Rate>,
    pub(super) waiting: Vec<Waiting>,
    pub(super) restart: Vec<Restart>,
    pub(super) growth: Vec<Growth>,
}

/// Many small processes.
#[derive(Clone, Copy)]
pub(super) struct Rate {
    /// Processes a second, from the first submission to the last end.
    pub(super) rate: f64,
    /// Seconds of a submission that only one in a hundred exceeds.
    pub(super) submission: f64,
    /// CPU seconds of the process manager and of the group manager for a process.
    pub(super) manager: f64,
    pub(super) group: f64,
}

/// The same while others wait.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    /// CPU seconds of the process manager for a process that ends while few, or many, wait.
    pub(super) few: f64,
    pub(super) many: f64,
    /// Processes a second while many wait.
    pub(super) rate: f64,
    /// Seconds of the slowest `xav list` meanwhile.
    pub(super) list: f64,
}

/// A process manager that was killed while many processes waited.
#[derive(Clone, Copy)]
pub(super) struct Restart {
    /// Seconds until a process has completed.
    pub(super) first: f64,
    /// The same, where one of the machines is stopped meanwhile.
    pub(super) first_beside_stopped: f64,
    /// Seconds of the slowest `xav list`.
    pub(super) list: f64,
}

/// Draws keys of submissions.
pub(super) struct Keys(u64);

impl Keys {
    pub(super) fn new() -> Keys {
        Keys(u64::from(std::process::id()) << 32)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }
}

/// A grid with a client on the socket of its process manager.
pub(super) struct World {
    pub(super) grid: Grid,
    pub(super) client: Client,
}

impl World {
    /// A grid of machines of one slot.
    pub(super) fn start(programs: &Path, dir: &Path, machines: usize) -> Result<World> {
        World::of(programs, dir, Size { machines, slots: 1 })
    }

    pub(super) fn of(programs: &Path, dir: &Path, size: Size) -> Result<World> {
        let grid = Grid::start(programs, dir, size)?;
        let client = Client::connect(&socket(&grid))?;
        Ok(World { grid, client })
    }

    /// Submits processes of a row of commands. Returns them with the seconds that each took.
    fn submit(
        &mut self,
        keys: &mut Keys,
        n: usize,
        (n_activities, command): (u32, &[&str]),
    ) -> Result<(Vec<ProcessId>, Vec<f64>)> {
        let draft = row(n_activities, command);
        let mut processes = Vec::new();
        let mut seconds = Vec::new();
        for _ in 0..n {
            let began = Instant::now();
            processes.push(self.client.submit(keys.next(), &draft)?);
            seconds.push(began.elapsed().as_secs_f64());
        }
        Ok((processes, seconds))
    }

    /// CPU seconds of process manager and group manager.
    pub(super) fn cpu(&self) -> [f64; 2] {
        [&self.grid.pm, &self.grid.gm].map(|one| cpu_exactly(&one.process()).unwrap_or(f64::NAN))
    }

    /// Another client on the socket of its process manager.
    pub(super) fn another_client(&self) -> Result<Client> {
        Client::connect(&socket(&self.grid))
    }

    /// Seconds of an `xav list`.
    fn list(&self) -> Result<f64> {
        let began = Instant::now();
        self.grid.xav(&["list"])?;
        Ok(began.elapsed().as_secs_f64())
    }

    /// A process on each machine that keeps it busy.
    fn occupy(&mut self, keys: &mut Keys) -> Result<Vec<ProcessId>> {
        let (busy, _) = self.submit(keys, MACHINES, (1, &["/bin/sleep", BUSY]))?;
        for &one in &busy {
            self.another_client()?.wait_running(one)?;
        }
        Ok(busy)
    }
}

fn socket(grid: &Grid) -> PathBuf {
    grid.socket().to_owned()
}

/// Eight processes of one command that sleeps, on eight machines.
pub(super) fn wide(programs: &Path, dir: &Path, sizes: &Sizes, keys: &mut Keys) -> Result<f64> {
    let mut world = World::start(programs, dir, WIDE as usize)?;
    let seconds = sizes.seconds.to_string();
    let began = Instant::now();
    let command = ["/bin/sleep", seconds.as_str()];
    let (processes, _) = world.submit(keys, WIDE as usize, (1, &command))?;
    for process in processes {
        world.client.wait(process)?;
    }
    Ok(began.elapsed().as_secs_f64() - sizes.seconds as f64)
}

/// Many processes of one command that does nothing.
pub(super) fn rate(programs: &Path, dir: &Path, sizes: &Sizes, keys: &mut Keys) -> Result<Rate> {
    let mut world = World::start(programs, dir, MACHINES)?;
    let n = sizes.processes as usize;
    let before = world.cpu();
    let began = Instant::now();
    let (processes, mut seconds) = world.submit(keys, n, (1, &[COMMAND]))?;
    let last = processes.last().context("there are some")?;
    world.client.wait(*last)?;
    // The last one may overtake others.
    until("all to end", || {
        let all = world.client.list()?;
        let n_ended = all.iter().filter(|one| one.phase == Phase::Completed);
        Ok((n_ended.count() == n).then_some(()))
    })?;
    let wall = began.elapsed().as_secs_f64();
    let after = world.cpu();
    seconds.sort_by(f64::total_cmp);
    let each = |index: usize| (after[index] - before[index]) / n as f64;
    Ok(Rate {
        rate: n as f64 / wall,
        submission: seconds[n * 99 / 100],
        manager: each(0),
        group: each(1),
    })
}

/// The same while few and while many others wait.
pub(super) fn waiting(
    programs: &Path,
    dir: &Path,
    sizes: &Sizes,
    keys: &mut Keys,
) -> Result<Waiting> {
    let waiting = sizes.waiting as usize;
    let n = waiting / 10;
    let (few, _) = while_waiting(programs, &dir.join("few"), (n, FEW), keys)?;
    let others = waiting - 2 * n;
    let (many, list) = while_waiting(programs, &dir.join("many"), (n, n + others), keys)?;
    Ok(Waiting {
        few: few.manager,
        many: many.manager,
        rate: many.rate,
        list,
    })
}

/// The cost of so many processes that run while so many others wait; where these are enough, lists are
/// asked for while as many again run. Returns the seconds of the slowest one.
fn while_waiting(
    programs: &Path,
    dir: &Path,
    (n, others): (usize, usize),
    keys: &mut Keys,
) -> Result<(Rate, f64)> {
    std::fs::create_dir_all(dir)?;
    let mut world = World::start(programs, dir, MACHINES)?;
    let busy = world.occupy(keys)?;
    let (processes, _) = world.submit(keys, n + others, (1, &[COMMAND]))?;
    let mut slowest = world.list()?;
    let before = world.cpu();
    let began = Instant::now();
    for process in busy {
        world.client.cancel(process)?;
    }
    world.client.wait(processes[n - 1])?;
    let wall = began.elapsed().as_secs_f64();
    let after = world.cpu();
    if others > n {
        let second = processes[2 * n - 1];
        let socket = socket(&world.grid);
        let waits = thread::spawn(move || Client::connect(&socket)?.wait(second));
        while !waits.is_finished() {
            slowest = slowest.max(world.list()?);
        }
        let waited = waits.join();
        waited.map_err(|_| anyhow::anyhow!("the waiting thread panicked"))??;
    }
    let each = |index: usize| (after[index] - before[index]) / n as f64;
    let rate = Rate {
        rate: n as f64 / wall,
        submission: f64::NAN,
        manager: each(0),
        group: each(1),
    };
    Ok((rate, slowest))
}

/// The process manager is killed while processes of some activities wait.
pub(super) fn restart(
    programs: &Path,
    dir: &Path,
    sizes: &Sizes,
    keys: &mut Keys,
) -> Result<Restart> {
    let whole = restart_beside(programs, &dir.join("whole"), sizes, (keys, false))?;
    let stopped = restart_beside(programs, &dir.join("stopped"), sizes, (keys, true))?;
    Ok(Restart {
        first_beside_stopped: stopped.first,
        list: whole.list.max(stopped.list),
        ..whole
    })
}

/// The same, where a machine may be stopped for a while when the process manager is killed.
fn restart_beside(
    programs: &Path,
    dir: &Path,
    sizes: &Sizes,
    (keys, is_one_stopped): (&mut Keys, bool),
) -> Result<Restart> {
    std::fs::create_dir_all(dir)?;
    let mut world = World::start(programs, &dir.join("grid"), MACHINES)?;
    let (long, _) = world.submit(keys, 1, (1, &["/bin/sleep", LONG]))?;
    world.submit(keys, sizes.waiting as usize - 1, (ROW, &[COMMAND]))?;
    let n_before = completed(&mut world.client)?;
    if is_one_stopped {
        world.grid.ams[0].signal(Signal::STOP)?;
    }
    world.grid.pm.kill()?;
    let began = Instant::now();
    world.grid.pm.start_again()?;
    let socket = socket(&world.grid);
    world.client = until("the process manager", || Ok(Client::connect(&socket).ok()))?;
    let mut list: f64 = 0.0;
    let first = loop {
        list = list.max(world.list()?);
        if completed(&mut world.client)? > n_before {
            break began.elapsed().as_secs_f64();
        }
        ensure!(
            began.elapsed() < PATIENCE,
            "nothing goes on after the restart"
        );
    };
    if is_one_stopped {
        while began.elapsed() < STOPPED {
            list = list.max(world.list()?);
        }
        world.grid.ams[0].signal(Signal::CONT)?;
    }
    world.client.wait(long[0])?;
    let n_attempts = world.client.n_attempts(long[0])?;
    ensure!(n_attempts == 1, "a lease ran out: {n_attempts} attempts");
    Ok(Restart {
        first,
        first_beside_stopped: f64::NAN,
        list,
    })
}

/// Seconds of a command that runs all the while: it must not be lost.
const LONG: &str = "40";
/// For how long a machine is stopped: less than its lease.
const STOPPED: Duration = Duration::from_secs(5);
/// The longest wait for work after a restart.
const PATIENCE: Duration = Duration::from_secs(600);

fn completed(client: &mut Client) -> Result<usize> {
    let all = client.list()?;
    let ended = all.iter().filter(|one| one.phase == Phase::Completed);
    Ok(ended.count())
}
