//! `cargo run --release -p schedule --example adversary -- 600` looks for problems on which xavantes is
//! worse than another scheduler that takes no more than its budget, or worse than a long search, for so
//! many seconds (as PISA does: Coleman, Krishnamachari). It changes works, data, edges and powers of small
//! problems, and shapes and sizes of large ones, at random and keeps what makes the ratio larger; small and
//! large problems get half of the time each. A second number is the seed. Exit status 1 if xavantes was
//! more than 0.1 % above any other scheduler.
#![expect(clippy::print_stdout, reason = "a program for people")]
#![expect(clippy::disallowed_methods, reason = "it ends after a time")]

#[path = "../../tests/support/graphs.rs"]
#[expect(dead_code, reason = "speed and shapes need the rest")]
mod graphs;
mod large;
mod small;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use large::Large;
use schedule::random::Random;
use schedule::{Meter, Problem, STEPS_PER_SECOND, Scheduler, SchedulerKind, Xavantes, check};
use small::Small;

/// Seconds of budget of small problems: enough that all members are asked.
const BUDGET_SMALL: f64 = 0.02;
/// The same of large ones, by chance.
const BUDGETS_LARGE: [f64; 4] = [0.05, 0.1, 0.3, 1.0];
/// A long search has so many times the budget.
const LONG: f64 = 20.0;
/// Budgets above this have no long search.
const LONG_BUDGET_MAX: f64 = 0.1;
/// Steps of a climb before it begins again elsewhere.
const CLIMB_SMALL: u32 = 60;
const CLIMB_LARGE: u32 = 6;
/// The most that xavantes may be above another scheduler.
const WORSE: f64 = 1.001;

#[derive(Clone, Debug)]
enum Instance {
    Small(Small),
    Large(Large, f64),
}

/// What was found on problems of one kind.
#[derive(Default)]
struct Found {
    n_problems: u64,
    seconds: f64,
    worst: f64,
    worst_by: &'static str,
    n_worse: u64,
    worst_to_long: f64,
}

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<u64>());
    let seconds = numbers.next().and_then(Result::ok).unwrap_or(30);
    let seed = numbers.next().and_then(Result::ok).unwrap_or(1);
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut random = Random::new(seed);
    let mut found = [Found::default(), Found::default()];
    while Instant::now() < end {
        let is_large = found[1].seconds <= found[0].seconds;
        let start = Instant::now();
        let found = &mut found[usize::from(is_large)];
        climb(is_large, &mut random, found, end);
        found.seconds += start.elapsed().as_secs_f64();
    }
    for (name, found) in ["small", "large"].into_iter().zip(&found) {
        println!(
            "{name}: {} problems; worst ratio to another scheduler {:.4} ({}), {} above {WORSE}; to a \
             search of {LONG} times the budget, of the last of each climb: {:.4}",
            found.n_problems, found.worst, found.worst_by, found.n_worse, found.worst_to_long
        );
    }
    match found.iter().any(|found| found.worst > WORSE) {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

fn climb(is_large: bool, random: &mut Random, found: &mut Found, end: Instant) {
    let mut here = Instance::random(is_large, random);
    let mut ratio = found.take(&here);
    let steps = if is_large { CLIMB_LARGE } else { CLIMB_SMALL };
    for _ in 0..steps {
        if Instant::now() >= end {
            break;
        }
        let mut other = here.clone();
        other.change(random);
        let there = found.take(&other);
        if there >= ratio {
            (here, ratio) = (other, there);
        }
    }
    let to_long = here.ratio_to_long();
    if to_long > found.worst_to_long {
        found.worst_to_long = to_long;
        println!("{to_long:.4} times a long search: {here:?}");
    }
}

impl Found {
    /// The ratio of one more problem.
    fn take(&mut self, instance: &Instance) -> f64 {
        let (ratio, by) = instance.ratio();
        self.n_problems += 1;
        self.n_worse += u64::from(ratio > WORSE);
        if ratio > self.worst {
            (self.worst, self.worst_by) = (ratio, by);
            if ratio > WORSE {
                println!("{ratio:.4} times {by}: {instance:?}");
            }
        }
        ratio
    }
}

impl Instance {
    fn random(is_large: bool, random: &mut Random) -> Instance {
        match is_large {
            false => Instance::Small(Small::random(random)),
            true => {
                let budget = BUDGETS_LARGE[random.below(BUDGETS_LARGE.len())];
                Instance::Large(Large::random(random), budget)
            }
        }
    }

    fn change(&mut self, random: &mut Random) {
        match self {
            Instance::Small(small) => small.change(random),
            Instance::Large(large, _) => large.change(random),
        }
    }

    fn problem(&self) -> Problem {
        match self {
            Instance::Small(small) => small.problem(),
            Instance::Large(large, _) => large.problem(),
        }
    }

    fn budget(&self) -> f64 {
        match self {
            Instance::Small(_) => BUDGET_SMALL,
            Instance::Large(_, budget) => *budget,
        }
    }

    /// Makespan of xavantes / the shortest of all others that take no more steps, and whose that is.
    fn ratio(&self) -> (f64, &'static str) {
        let problem = self.problem();
        let ours = makespan(&problem, &Xavantes::within(self.budget()), f64::INFINITY);
        let others = SchedulerKind::ALL
            .into_iter()
            .filter(|&kind| kind != SchedulerKind::Xavantes)
            .map(SchedulerKind::scheduler);
        let best = others
            .map(|other| (makespan(&problem, other, self.budget()), other.name()))
            .min_by(|one, other| one.0.total_cmp(&other.0));
        best.map_or((1.0, ""), |(best, name)| (quotient(ours, best), name))
    }

    /// The same to a long search; 0 where that would take too long.
    fn ratio_to_long(&self) -> f64 {
        if self.budget() > LONG_BUDGET_MAX {
            return 0.0;
        }
        let problem = self.problem();
        let within = |seconds| makespan(&problem, &Xavantes::within(seconds), f64::INFINITY);
        quotient(within(self.budget()), within(LONG * self.budget()))
    }
}

/// 1 where both are nothing.
fn quotient(ours: f64, best: f64) -> f64 {
    (ours + 1e-12) / (best + 1e-12)
}

/// Infinite where a scheduler does not end within so many seconds.
fn makespan(problem: &Problem, scheduler: &dyn Scheduler, seconds: f64) -> f64 {
    let meter = match seconds.is_finite() {
        true => Meter::of((seconds * STEPS_PER_SECOND) as u64),
        false => Meter::unlimited(),
    };
    let Ok(schedule) = scheduler.schedule_within(problem, &meter) else {
        return f64::INFINITY;
    };
    check(problem, &schedule).expect("a valid schedule");
    schedule.makespan()
}
