//! Loads: the parts of the machines that others take while a process runs, in the settings of the digest's section 9.2.

use forecast::generator::{Parameters, next_trace};
use schedule::random::Random;

use crate::ideal::{PowerError, Powers, Steps};
use crate::traces::Traces;

/// A pattern of performance. Whatever is drawn is the same for all policies compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Load {
    /// D: a fifth of the machines lose 30 to 90 % of their power for the whole run, and each task
    /// 0 to 10 % wherever it runs.
    Lasting,
    /// C: half of the machines lose 0 to 90 %, and each task 0 to 30 %.
    Spread,
    /// Each machine has the load of a measured one, from a moment of the day on that is drawn.
    Planetlab,
    /// Each task gets 40 to 100 % of the power of whatever machine it runs on.
    Independent,
    /// Each machine is free and busy in turn, for times that are exponential.
    OnOff,
    /// Each machine is shared with others as Dobber's of PlanetLab were: levels for hundreds of
    /// jobs, bursts, noise and peaks ([`forecast::generator`]).
    TimeShared,
    /// Each machine has all of its power for a time, and then a twentieth of it for a time, as one
    /// that swaps memory or whose clock is throttled does; both times are exponential.
    Stalling,
    /// A fifth of the machines are slower than they are said to be, by 30 to 90 %, and all are free and
    /// busy in turn as with [`Load::OnOff`].
    Mixed,
    /// The links of a fifth of the machines have 5 to 50 % of their bandwidth; all powers are nominal.
    SlowLinks,
}

/// The mean time that a machine of [`Load::OnOff`] stays free or busy, in time units.
pub const HOLDING_MEAN: f64 = 3_000.0;
/// The power that a busy machine has left: that of a processor which one more program shares.
pub const BUSY: f64 = 0.5;
/// The mean time that a machine of [`Load::Stalling`] works, in time units: the longest graphs take so long
/// or less, and a machine in some stalls during a run.
pub const WORKING_MEAN: f64 = 12_000.0;
/// The mean time that it stalls, in time units: several activities.
pub const STALLED_MEAN: f64 = 6_000.0;
/// The power that it has left meanwhile.
pub const STALLED: f64 = 0.05;
/// The part of the machines that are slow themselves, or whose links are.
const SLOW: f64 = 0.2;
/// Loads that change are drawn until here, in time units; the last one holds from then on. The
/// largest graph takes 90,000 on one machine of full power.
const DRAWN_UNTIL: f64 = 400_000.0;
/// The time of a job of the shared machines' series, in time units: the mean of the thesis' first
/// set, in seconds.
const JOB: f64 = 72.5;
/// Shared machines are drawn until here, in time units: some times the longest run at ten groups, since
/// their series cost more than all else.
const SHARED_UNTIL: f64 = 100_000.0;
/// The part of the jobs of a shared machine that get all of its power.
const UNHINDERED: f64 = 0.1;
/// The part of its power that a measured machine has at least: systems let every program run a
/// little.
const SHARE_LEAST: f64 = 0.01;

impl Load {
    /// The powers of machines for the tasks of a graph. Without traces, measured machines are free.
    pub fn powers(
        self,
        n_tasks: usize,
        n_machines: usize,
        traces: &Traces,
        seed: u64,
    ) -> Result<Powers, PowerError> {
        let mut random = Random::new(seed);
        match self {
            Load::Lasting => Ok(lost(
                &mut random,
                (n_tasks, n_machines),
                0.2,
                (0.3, 0.9),
                0.1,
            )),
            Load::Spread => Ok(lost(
                &mut random,
                (n_tasks, n_machines),
                0.5,
                (0.0, 0.9),
                0.3,
            )),
            Load::Independent => {
                let rows = (0..n_tasks).map(|_| vec![between(&mut random, 0.4, 1.0); n_machines]);
                Ok(Powers::PerTask(rows.collect()))
            }
            Load::Planetlab => {
                let machines = (0..n_machines).map(|_| measured(&mut random, traces));
                Ok(Powers::Steps(machines.collect::<Result<_, _>>()?))
            }
            Load::OnOff => {
                let parts = [(1.0, HOLDING_MEAN), (BUSY, HOLDING_MEAN)];
                let machines = (0..n_machines).map(|_| in_turn(&mut random, parts));
                Ok(Powers::Steps(machines.collect::<Result<_, _>>()?))
            }
            Load::Stalling => {
                let parts = [(1.0, WORKING_MEAN), (STALLED, STALLED_MEAN)];
                let machines = (0..n_machines).map(|_| in_turn(&mut random, parts));
                Ok(Powers::Steps(machines.collect::<Result<_, _>>()?))
            }
            Load::Mixed => {
                let parts = [(1.0, HOLDING_MEAN), (BUSY, HOLDING_MEAN)];
                let speeds = self.speeds(n_machines, seed).into_iter();
                let machines = speeds.map(|speed| in_turn(&mut random, parts)?.scaled(speed));
                Ok(Powers::Steps(machines.collect::<Result<_, _>>()?))
            }
            Load::SlowLinks => Ok(Powers::nominal(n_machines)),
            Load::TimeShared => {
                let mut random = forecast::Random::new(seed);
                let machines = (0..n_machines).map(|_| time_shared(&mut random));
                Ok(Powers::Steps(machines.collect::<Result<_, _>>()?))
            }
        }
    }
}

impl Load {
    /// By machine: the factor of the nominal power that it has itself; others take the rest of what
    /// tasks do not get.
    pub fn speeds(self, n_machines: usize, seed: u64) -> Vec<f64> {
        match self {
            Load::Mixed => slow(n_machines, seed, (0.1, 0.7)),
            Load::Lasting
            | Load::Spread
            | Load::Planetlab
            | Load::Independent
            | Load::OnOff
            | Load::TimeShared
            | Load::Stalling
            | Load::SlowLinks => vec![1.0; n_machines],
        }
    }

    /// By machine: the bandwidth of its links as a factor of that of the platform; nothing where all
    /// are as fast as that.
    pub fn links(self, n_machines: usize, seed: u64) -> Vec<f64> {
        match self {
            Load::SlowLinks => slow(n_machines, seed, (0.05, 0.5)),
            Load::Lasting
            | Load::Spread
            | Load::Planetlab
            | Load::Independent
            | Load::OnOff
            | Load::TimeShared
            | Load::Stalling
            | Load::Mixed => Vec::new(),
        }
    }
}

/// Factors of which a fifth is drawn between two numbers, and the others are 1.
fn slow(n_machines: usize, seed: u64, (least, most): (f64, f64)) -> Vec<f64> {
    // Other numbers than those that the powers of the same seed are drawn from.
    let mut random = Random::new(!seed);
    let factors = (0..n_machines).map(|_| {
        let (hit, factor) = (random.unit() < SLOW, between(&mut random, least, most));
        if hit { factor } else { 1.0 }
    });
    factors.collect()
}

/// Each machine loses a part of its power with some probability, and each task another part.
fn lost(
    random: &mut Random,
    (n_tasks, n_machines): (usize, usize),
    probability: f64,
    (least, most): (f64, f64),
    of_task_most: f64,
) -> Powers {
    let machines: Vec<f64> = (0..n_machines)
        .map(|_| {
            let (hit, loss) = (random.unit() < probability, between(random, least, most));
            if hit { 1.0 - loss } else { 1.0 }
        })
        .collect();
    let rows = (0..n_tasks).map(|_| {
        let task = 1.0 - between(random, 0.0, of_task_most);
        machines.iter().map(|machine| machine * task).collect()
    });
    Powers::PerTask(rows.collect())
}

fn measured(random: &mut Random, traces: &Traces) -> Result<Steps, PowerError> {
    if traces.is_empty() {
        return Steps::constant(1.0);
    }
    let machine = traces.machine(random.below(traces.n_machines()));
    let first = random.below(machine.len());
    let n_steps = (DRAWN_UNTIL / Traces::STEP_SECONDS) as usize;
    Steps::new((0..n_steps).map(|step| {
        let percent = machine[(first + step) % machine.len()];
        let factor = (1.0 - f64::from(percent) / 100.0).max(SHARE_LEAST);
        (step as f64 * Traces::STEP_SECONDS, factor)
    }))
}

/// Two factors in turn, each with the mean of the exponential times that it holds for; at the
/// beginning each as likely as it is later.
fn in_turn(
    random: &mut Random,
    [(up, up_mean), (down, down_mean)]: [(f64, f64); 2],
) -> Result<Steps, PowerError> {
    let mut is_down = random.unit() < down_mean / (up_mean + down_mean);
    let (mut steps, mut now) = (Vec::new(), 0.0);
    while now < DRAWN_UNTIL {
        steps.push((now, if is_down { down } else { up }));
        is_down = !is_down;
        let mean = if is_down { up_mean } else { down_mean };
        // One time unit at least, so that times ascend.
        now += (-mean * (1.0 - random.unit()).ln()).max(1.0);
    }
    Steps::new(steps)
}

/// A job that takes so many times as long as the fast ones of its series gets that part of the
/// power.
fn time_shared(random: &mut forecast::Random) -> Result<Steps, PowerError> {
    let n_jobs = (SHARED_UNTIL / JOB) as usize;
    let parameters = Parameters::varied(random);
    let runtimes = next_trace(random, parameters, n_jobs);
    let mut sorted = runtimes.clone();
    sorted.sort_by(f64::total_cmp);
    let fast = sorted[(UNHINDERED * n_jobs as f64) as usize];
    let factors = runtimes
        .iter()
        .map(|runtime| (fast / runtime).clamp(SHARE_LEAST, 1.0));
    Steps::new((0..n_jobs).map(|job| job as f64 * JOB).zip(factors))
}

fn between(random: &mut Random, least: f64, most: f64) -> f64 {
    least + (most - least) * random.unit()
}

#[cfg(test)]
mod tests;
