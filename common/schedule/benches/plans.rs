//! `cargo bench -p schedule` measures how long plans take, graph built and platform read, in time
//! of one thread on the processor. Algorithms take turns, so that what else the machine does falls
//! on all of them; a line gives the median, the least and the largest time, and the least one as a
//! multiple of the first line's.
//! It ends within a minute or two. With XAVANTES_DATA set it measures the recorded Montage too.
#![expect(clippy::print_stdout, reason = "a program for people")]
#![expect(clippy::unwrap_used, reason = "its own problems are sound")]

#[path = "../tests/support/clock.rs"]
mod clock;
#[path = "../tests/support/graphs.rs"]
mod graphs;
#[path = "../tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;

use clock::worked_seconds;
use model::{ActivityGraph, Bytes, Generation, GraphNode, Plan, Platform, Span, Work};
use schedule::{Dag, Options, Placed, Problem, Request, SchedulerKind, plan_with_options};

/// Rounds of one comparison at most, and the seconds after which it ends before that.
const ROUNDS_MAX: usize = 25;
const SECONDS_MAX: f64 = 5.0;

fn main() {
    let grid = graphs::platform(8, 8, 1);
    let large = graphs::platform(16, 32, 1);
    let layered = graphs::layered(10_000, 0.0);
    compare("layered 10,000 x 64", &layered, &grid);
    compare("layered 10,000 x 512", &layered, &large);
    compare("fork-join 10,000 x 64", &graphs::fork_join(10_000), &grid);
    if let Some(folder) = support::workflows() {
        let montage = support::read(&folder.join("synthetic/montage-10k.json.gz"));
        compare("montage 10,000 x 64", &montage, &grid);
    }
    compare(
        "layered 100,000 x 64",
        &graphs::layered(100_000, 0.0),
        &grid,
    );
    plan_the_rest(&layered);
}

fn compare(name: &str, dag: &Dag, platform: &Platform) {
    let problem = Problem::new(dag.clone(), platform).unwrap();
    let kinds = [
        SchedulerKind::Heft,
        SchedulerKind::HeftB,
        SchedulerKind::Cpop,
        SchedulerKind::PchFast,
    ];
    let runs = kinds.map(|kind| {
        let problem = &problem;
        let run = move || drop(kind.scheduler().schedule(problem).unwrap());
        (kind.scheduler().name(), run)
    });
    in_turns(name, &runs);
}

/// A machine has slowed to a third when a fourth of the plan's time is over: everything that has
/// not started is planned again.
fn plan_the_rest(dag: &Dag) {
    const SLOW: u32 = 63;
    let powers = graphs::platform(8, 8, 1);
    let power = |host: u32| powers.resources()[host as usize].power;
    let whole = request(dag, powers.clone(), SchedulerKind::HeftB);
    let plan = planned(&whole);
    let at = Span(plan.makespan().0 / 4);
    let slowed = graphs::platform_with(64, 8, 1, |host| {
        power(host) / if host == SLOW { 3.0 } else { 1.0 }
    });
    let started = plan.entries.iter().filter(|entry| entry.start < at);
    let placed: Vec<Placed> = started
        .map(|entry| Placed {
            activity: entry.activity,
            resource: entry.resource,
            finish: Span(entry.finish.0.saturating_sub(at.0)),
        })
        .collect();
    let ready = slowed.resources().iter().map(|machine| {
        let here = placed.iter().filter(|p| p.resource == machine.id);
        vec![here.map(|p| p.finish).max().unwrap_or(Span(0))]
    });
    let rest = Request {
        ready: ready.collect(),
        placed: placed.clone(),
        ..whole
    };
    let rest = Request {
        platform: slowed,
        ..rest
    };
    let problem = schedule::problem(&rest).unwrap();
    let best = Request {
        scheduler: SchedulerKind::Best,
        ..rest.clone()
    };
    let heft_b = || drop(SchedulerKind::HeftB.scheduler().schedule(&problem).unwrap());
    let fast = || {
        drop(
            SchedulerKind::PchFast
                .scheduler()
                .schedule(&problem)
                .unwrap(),
        )
    };
    let whole_way = || drop(planned(&best));
    let runs: [(&str, &dyn Fn()); 3] = [
        ("heft-b", &heft_b),
        ("pch-fast", &fast),
        ("request to checked plan, best", &whole_way),
    ];
    let n_left = dag.n_tasks() - placed.len();
    in_turns(
        &format!("{n_left} of 10,000 left x 64, one machine slowed"),
        &runs,
    );
}

fn planned(request: &Request) -> Plan {
    plan_with_options(request, &Options::default())
        .unwrap()
        .plan
}

fn request(dag: &Dag, platform: Platform, scheduler: SchedulerKind) -> Request {
    let nodes = dag.tasks().map(|task| GraphNode {
        activity: dag.activity(task),
        work: Work((dag.work(task) * 1e6) as u64),
        cores: dag.cores(task),
    });
    let edges = dag.tasks().flat_map(|task| {
        dag.successors(task)
            .map(move |(succ, data)| (task, succ, Bytes(data as u64)))
    });
    Request {
        graph: ActivityGraph::new(nodes, edges).unwrap(),
        platform,
        demands: BTreeMap::new(),
        ready: Vec::new(),
        placed: Vec::new(),
        generation: Generation(1),
        scheduler,
    }
}

/// Runs each in turn, again and again, and prints a line for each.
fn in_turns(name: &str, runs: &[(&str, impl Fn())]) {
    println!("\n{name}: median, least, largest ms; least / the first's");
    let begin = worked_seconds();
    let mut seconds: Vec<Vec<f64>> = vec![Vec::new(); runs.len()];
    while seconds[0].len() < ROUNDS_MAX && worked_seconds() - begin < SECONDS_MAX {
        for ((_, run), seconds) in runs.iter().zip(&mut seconds) {
            let start = worked_seconds();
            run();
            seconds.push((worked_seconds() - start) * 1e3);
        }
    }
    let mut first = f64::NAN;
    for ((name, _), mut times) in runs.iter().zip(seconds) {
        times.sort_by(f64::total_cmp);
        let (least, largest) = (times[0], times[times.len() - 1]);
        let median = times[times.len() / 2];
        if first.is_nan() {
            first = least;
        }
        let ratio = least / first;
        println!("  {name}: {median:.2}, {least:.2}, {largest:.2}; {ratio:.2}");
    }
}
