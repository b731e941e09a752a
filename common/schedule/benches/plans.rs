//! `cargo bench -p schedule` measures how long plans take, graph built and platform read, in time of
//! one thread on the processor, so that figures from a busy machine can be compared. After each
//! shape it prints the least time of each algorithm as a multiple of HEFT's.
//!
//! It takes two minutes. Words choose among the shapes, as criterion does; the word `million` asks
//! for 1,000,000 tasks, which takes minutes more (`cargo run --release -p schedule --example speed`
//! tells its memory). With XAVANTES_DATA set the recorded Montage is measured too.
#![expect(clippy::print_stdout, reason = "a program for people")]
#![expect(clippy::unwrap_used, reason = "its own problems are sound")]

#[path = "../tests/support/clock.rs"]
mod clock;
#[path = "../tests/support/graphs.rs"]
mod graphs;
#[path = "../tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::time::Duration;

use clock::worked_seconds;
use criterion::{Criterion, SamplingMode};
use model::{
    ActivityGraph, ActivityId, Bytes, Generation, GraphNode, Plan, Platform, Resource, Span, Work,
};
use schedule::{Dag, Demand, Options, Placed, Problem, Request, SchedulerKind, plan_with_options};

/// The word that asks for the largest shape.
const MILLION: &str = "million";

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(3))
        .without_plots()
        .configure_from_args();
    let grid = graphs::platform(8, 8, 1);
    let large = graphs::platform(16, 32, 1);
    let layered = graphs::layered(10_000, 0.0);
    compare(&mut criterion, "layered 10,000 x 64", &layered, &grid);
    compare(&mut criterion, "layered 10,000 x 512", &layered, &large);
    let fork_join = graphs::fork_join(10_000);
    compare(&mut criterion, "fork-join 10,000 x 64", &fork_join, &grid);
    if let Some(folder) = support::workflows() {
        let montage = support::read(&folder.join("synthetic/montage-10k.json.gz"));
        compare(&mut criterion, "montage 10,000 x 64", &montage, &grid);
    }
    let long = graphs::layered(100_000, 0.0);
    compare(&mut criterion, "layered 100,000 x 64", &long, &grid);
    if std::env::args().any(|argument| argument == MILLION) {
        let longest = graphs::layered(1_000_000, 0.0);
        compare(&mut criterion, "layered million x 64", &longest, &grid);
    }
    plan_the_rest(&mut criterion, &layered);
    plan_with_memory(&mut criterion, &layered, &graphs::platform(8, 2, 4));
    criterion.final_summary();
}

fn compare(criterion: &mut Criterion, name: &str, dag: &Dag, platform: &Platform) {
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
    measure(criterion, name, &runs);
}

/// A machine has slowed to a third when a fourth of the plan's time is over: everything that has
/// not started is planned again.
fn plan_the_rest(criterion: &mut Criterion, dag: &Dag) {
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
        ("best from request to checked plan", &whole_way),
    ];
    let n_left = dag.n_tasks() - placed.len();
    let name = format!("{n_left} of 10,000 left x 64, one machine slowed");
    measure(criterion, &name, &runs);
}

/// Every second activity declares memory, of which the slots of a machine together may ask for more
/// than twice what it has.
fn plan_with_memory(criterion: &mut Criterion, dag: &Dag, platform: &Platform) {
    let slots = platform.resources().iter().map(|machine| machine.slots);
    let slots_max = u64::from(slots.max().unwrap_or(1));
    let crowded = platform.resources().iter().map(|machine| Resource {
        memory: Bytes(slots_max << 30),
        ..machine.clone()
    });
    let crowded = Platform::new(crowded.collect(), platform.network().clone()).unwrap();
    let declared = dag.tasks().step_by(2).filter_map(|task| {
        let gib = 1 + u64::from(task) % slots_max;
        let demand = Demand {
            memory: Bytes(gib << 30),
            ..Demand::default()
        };
        Some((dag.activity(task)?, demand))
    });
    let demands: BTreeMap<ActivityId, Demand> = declared.collect();
    let request = |scheduler| Request {
        demands: demands.clone(),
        ..request(dag, crowded.clone(), scheduler)
    };
    let [heft, fast, best, xavantes] = [
        SchedulerKind::Heft,
        SchedulerKind::PchFast,
        SchedulerKind::Best,
        SchedulerKind::Xavantes,
    ]
    .map(|kind| {
        let request = request(kind);
        move || drop(planned(&request))
    });
    let runs: [(&str, &dyn Fn()); 4] = [
        ("heft", &heft),
        ("pch-fast", &fast),
        ("best", &best),
        ("xavantes", &xavantes),
    ];
    measure(
        criterion,
        "10,000 with memory x 16 of 4 slots, to checked plans",
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
        held: Vec::new(),
        placed: Vec::new(),
        generation: Generation(1),
        scheduler,
        controllers: None,
    }
}

/// Measures each, and prints how its least time compares with the first one's.
fn measure(criterion: &mut Criterion, name: &str, runs: &[(&str, impl Fn())]) {
    let mut least = vec![f64::INFINITY; runs.len()];
    let mut group = criterion.benchmark_group(name);
    // Else each sample would be longer than the one before: too long for the large shapes.
    group.sampling_mode(SamplingMode::Flat);
    for ((name, run), least) in runs.iter().zip(&mut least) {
        group.bench_function(*name, |bencher| {
            bencher.iter_custom(|times| {
                let start = worked_seconds();
                (0..times).for_each(|_| run());
                let seconds = worked_seconds() - start;
                *least = least.min(seconds / times as f64);
                Duration::from_secs_f64(seconds)
            });
        });
    }
    group.finish();
    for ((other, _), seconds) in runs.iter().zip(&least).skip(1) {
        // Those that the words leave out were not measured.
        if seconds.is_finite() && least[0].is_finite() {
            println!("{name}: {other} / {} {:.2}", runs[0].0, seconds / least[0]);
        }
    }
}
