//! `cargo run --release -p schedule --example shapes` prints what planning takes on shapes that schedulers
//! find hard, as CPU time of the thread beside the budget, and how the plan of `xavantes` compares with that of every
//! other scheduler that takes less than the budget. A word after it restricts the shapes; `--budget S` sets
//! the seconds (1), `--only NAME` leaves other schedulers out, and `--steps` prints for each what it took and
//! the seconds that its steps stand for.
#![expect(clippy::print_stdout, reason = "a program for people")]

#[path = "../tests/support/clock.rs"]
mod clock;
#[path = "../tests/support/graphs.rs"]
mod graphs;

use clock::worked_seconds;
use graphs::{fork_join, layered, lognormal, platform, platform_with};
use model::Platform;
use schedule::random::Random;
use schedule::{Dag, Meter, Problem, STEPS_PER_SECOND, Scheduler, SchedulerKind, Task, Xavantes};

/// What a plan may take: this times the budget, and [`SLACK`] seconds.
const OVER: f64 = 1.3;
/// Seconds beside the budget.
const SLACK: f64 = 0.05;
/// What takes longer runs so many times, and the least counts: others who use memory and caches make it
/// slower, nothing makes it faster.
const RUNS: usize = 4;
/// A plan this much longer than another one is worse.
const WORSE: f64 = 1.005;
/// Members that the others need not be asked for: they are the same, or ask the others.
const LEFT_OUT: [SchedulerKind; 2] = [SchedulerKind::Xavantes, SchedulerKind::Random];

/// A graph and the machines that it is planned on.
struct Shape {
    name: String,
    dag: Dag,
    platform: Platform,
}

fn main() {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let mut take = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        words.remove(at);
        (at < words.len()).then(|| words.remove(at))
    };
    let budget: f64 = take("--budget").map_or(1.0, |word| word.parse().expect("seconds"));
    let only = take("--only");
    let tells_steps = words.iter().position(|word| word == "--steps");
    let tells_steps = tells_steps.map(|at| words.remove(at)).is_some();
    let wanted = |shape: &Shape| words.iter().all(|word| shape.name.contains(word.as_str()));
    println!("shape: CPU seconds of xavantes with a budget of {budget} s, its makespan; others");
    let (mut n_shapes, mut n_over, mut n_worse) = (0, 0, 0);
    for shape in shapes().into_iter().filter(wanted) {
        n_shapes += 1;
        let problem = Problem::new(shape.dag, &shape.platform).expect("a sound problem");
        let xavantes = Xavantes::within(budget);
        let (seconds, makespan, _) = run(&xavantes, &problem, budget, f64::INFINITY);
        let mut line = format!("{}: {seconds:.2} s, {makespan:.4}", shape.name);
        if seconds > OVER * budget + SLACK {
            n_over += 1;
            line += " OVER";
        }
        for kind in SchedulerKind::ALL {
            let scheduler = kind.scheduler();
            let name = scheduler.name();
            let is_asked = only.as_ref().is_none_or(|only| only == name);
            if LEFT_OUT.contains(&kind) || !is_asked {
                continue;
            }
            let (seconds, other, steps) = run(scheduler, &problem, budget, budget);
            if seconds > OVER * budget + SLACK {
                n_over += 1;
                line += &format!("; {name} {seconds:.2} s OVER");
            }
            if tells_steps {
                let counted = steps / STEPS_PER_SECOND;
                line += &format!("; {name} {seconds:.3} s of {counted:.3}");
            }
            if seconds <= budget && makespan > other * WORSE {
                n_worse += 1;
                line += &format!("; WORSE than {name}: {:.3}", makespan / other);
            }
        }
        println!("{line}");
    }
    println!("{n_shapes} shapes: {n_over} over the budget, {n_worse} times worse than another");
}

/// CPU seconds (the least of several runs where they are more than a plan may take), the makespan (infinite
/// if the scheduler gives up) and the steps that were counted.
fn run(scheduler: &dyn Scheduler, problem: &Problem, budget: f64, most: f64) -> (f64, f64, f64) {
    let mut least = run_once(scheduler, problem, most);
    for _ in 1..RUNS {
        if least.0 <= OVER * budget + SLACK {
            break;
        }
        let again = run_once(scheduler, problem, most);
        least.0 = least.0.min(again.0);
    }
    least
}

/// The same of one run.
fn run_once(scheduler: &dyn Scheduler, problem: &Problem, most: f64) -> (f64, f64, f64) {
    let meter = match most.is_finite() {
        true => Meter::of((most * STEPS_PER_SECOND) as u64),
        false => Meter::unlimited(),
    };
    let start = worked_seconds();
    let schedule = scheduler.schedule_within(problem, &meter);
    let seconds = worked_seconds() - start;
    let makespan = schedule.map_or(f64::INFINITY, |schedule| schedule.makespan());
    (seconds, makespan, meter.spent() as f64)
}

fn shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    let mut add = |name: &str, n: usize, dag: Dag, machines: &str| {
        let name = format!("{name} {n} x {machines}");
        let platform = machines_of(machines);
        shapes.push(Shape {
            name,
            dag,
            platform,
        });
    };
    for (n, machines) in [(5_000, "64"), (10_000, "8"), (10_000, "2000")] {
        add("gather", n, star(n, Star::In, 1e6), machines);
        add("scatter", n, star(n, Star::Out, 1e6), machines);
    }
    for (n, machines) in [(10_000, "2000"), (30_000, "8"), (100_000, "64")] {
        add("in-star dear", n, star(n, Star::In, 9e15), machines);
        add("out-star dear", n, star(n, Star::Out, 9e12), machines);
    }
    for machines in ["8", "512", "1:1000"] {
        add("bipartite", 600, bipartite(300, 1e6), machines);
    }
    for (n, machines) in [(1_000, "8"), (30_000, "2000"), (100_000, "1:1000")] {
        add("chain", n, chains(1, n), machines);
        add("100 chains", n, chains(100, n), machines);
    }
    for (n, machines) in [(1_000, "2000"), (10_000, "512"), (100_000, "512")] {
        add("layered", n, layered(n, 0.0), machines);
        add("layered with zeros", n, layered(n, 0.1), machines);
    }
    for (n, machines) in [(1_000, "8"), (10_000, "1:1000"), (100_000, "2000")] {
        add("fork-join", n, fork_join(n), machines);
    }
    for (n, machines) in [(1_000, "512"), (30_000, "8"), (100_000, "2000")] {
        add("bag", n, bag(n), machines);
        add("equal bag", n, equal_bag(n), machines);
    }
    shapes
}

/// So many machines of the reference groups, or of powers from 1 to 1000.
fn machines_of(name: &str) -> Platform {
    match name {
        "8" => platform(2, 4, 1),
        "64" => platform(8, 8, 1),
        "512" => platform(16, 32, 1),
        "2000" => platform_with(2_000, 125, 1, |number| 1.0 + f64::from(number / 125) / 4.0),
        _ => platform_with(64, 8, 2, |number| 1000f64.powf(f64::from(number) / 63.0)),
    }
}

enum Star {
    In,
    Out,
}

fn star(n: usize, star: Star, bytes: f64) -> Dag {
    let mut random = Random::new(n as u64 + 3);
    let tasks = tasks(n, &mut random);
    let last = n as u32 - 1;
    let edges = (0..last).map(|leaf| {
        let data = bytes * lognormal(&mut random);
        match star {
            Star::In => (leaf, last, data),
            Star::Out => (0, leaf + 1, data),
        }
    });
    let edges: Vec<(u32, u32, f64)> = edges.collect();
    Dag::new(&tasks, &edges).expect("edges go up")
}

fn bipartite(side: u32, bytes: f64) -> Dag {
    let mut random = Random::new(5);
    let tasks = tasks(2 * side as usize, &mut random);
    let pairs = (0..side).flat_map(|from| (side..2 * side).map(move |to| (from, to)));
    let edges: Vec<(u32, u32, f64)> = pairs
        .map(|(from, to)| (from, to, bytes * lognormal(&mut random)))
        .collect();
    Dag::new(&tasks, &edges).expect("edges go up")
}

fn chains(n_chains: usize, n: usize) -> Dag {
    let mut random = Random::new(7);
    let tasks = tasks(n, &mut random);
    let edges = (n_chains..n).map(|task| {
        let before = task - n_chains;
        (before as u32, task as u32, 1e6 * lognormal(&mut random))
    });
    let edges: Vec<(u32, u32, f64)> = edges.collect();
    Dag::new(&tasks, &edges).expect("edges go up")
}

fn bag(n: usize) -> Dag {
    Dag::new(&tasks(n, &mut Random::new(9)), &[]).expect("no edges")
}

fn equal_bag(n: usize) -> Dag {
    let task = Task {
        work: 10.0,
        cores: 1,
    };
    Dag::new(&vec![task; n], &[]).expect("no edges")
}

fn tasks(n: usize, random: &mut Random) -> Vec<Task> {
    let task = |_| Task {
        work: 10.0 * lognormal(random),
        cores: 1,
    };
    (0..n).map(task).collect()
}
