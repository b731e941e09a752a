//! `cargo run --release -p schedule --example speed` prints how long plans take to make, the graph
//! built and the platform read: layered graphs, wide ones, and one machine against a grid. Words
//! after it (`heft, "64 hosts"`) restrict it to the lines that contain all of them. The word
//! `growth` alone prints how planning time grows with the number of activities, and the memory that
//! the largest graph takes.
#![expect(clippy::print_stdout, reason = "a program for people")]

#[path = "../tests/support/clock.rs"]
mod clock;
#[path = "../tests/support/graphs.rs"]
mod graphs;

use std::collections::BTreeMap;

use clock::worked_seconds;
use graphs::{fork_join, layered, lognormal, platform};
use model::{ActivityGraph, Bytes, Generation, GraphNode, Platform, Work};
use schedule::random::Random;
use schedule::{Dag, Problem, Request, SchedulerKind, Task, bound, check, plan};

/// Repetitions of each plan; the fastest counts.
const REPEATS: usize = 3;

/// Above this a plan would take too long for a table: (algorithm, tasks).
const TASKS_MAX: [(SchedulerKind, usize); 11] = [
    (SchedulerKind::Heft, 1_000_000),
    (SchedulerKind::Cpop, 100_000),
    (SchedulerKind::Peft, 100_000),
    (SchedulerKind::Pch, 5_000),
    (SchedulerKind::PchFast, 1_000_000),
    (SchedulerKind::Xavantes, 100_000),
    (SchedulerKind::Best, 5_000),
    (SchedulerKind::Lookahead, 1_000),
    (SchedulerKind::MinMin, 5_000),
    (SchedulerKind::MaxMin, 1_000),
    (SchedulerKind::BestGroups, 5_000),
];

/// Arguments restrict what is measured: a line is left out unless it contains each of them.
fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if wanted == ["growth"] {
        growth();
        return;
    }
    let platforms = [
        ("1 x 2 slots", platform(1, 1, 2)),
        ("1 x 64 slots", platform(1, 1, 64)),
        ("64 hosts", platform(8, 8, 1)),
        ("512 hosts", platform(16, 32, 1)),
        ("64 x 8 slots", platform(8, 8, 8)),
    ];
    println!("algorithm, graph, machines: plan, ms; check, ms; makespan / bound");
    for n in [1_000, 5_000, 10_000, 100_000, 1_000_000] {
        type Make = fn(usize) -> Dag;
        let graphs: [(&str, Make); 4] = [
            ("layered", |n| layered(n, 0.0)),
            ("layered with zeros", |n| layered(n, 0.1)),
            ("fork-join", fork_join),
            ("independent", independent),
        ];
        for (graph, make) in graphs {
            let mut dag = None;
            for (machines, platform) in &platforms {
                for (kind, tasks_max) in TASKS_MAX {
                    let name = kind.scheduler().name();
                    let line = format!("{name}, {graph} {n}, {machines}");
                    if n > tasks_max || !wanted.iter().all(|part| line.contains(part)) {
                        continue;
                    }
                    let dag = dag.get_or_insert_with(|| make(n));
                    let problem = Problem::new(dag.clone(), platform).expect("a sound problem");
                    measure(&line, &problem, kind);
                }
            }
            let line = format!("request to checked plan, {graph} {n}, 1 x 2 slots");
            if n <= 100_000 && wanted.iter().all(|part| line.contains(part)) {
                let request = request(dag.get_or_insert_with(|| make(n)), &platforms[0].1);
                let start = worked_seconds();
                plan(&request).expect("a plan");
                println!("{line}: {:.1}", (worked_seconds() - start) * 1e3);
            }
        }
    }
}

/// Planning times of ten times the activities, as powers of ten; on 64 machines.
fn growth() {
    let machines = platform(8, 8, 1);
    for (graph, make) in [
        ("layered", (|n| layered(n, 0.0)) as fn(usize) -> Dag),
        ("fork-join", fork_join),
    ] {
        let mut before: Option<[f64; 2]> = None;
        for n in [1_000, 10_000, 100_000, 1_000_000] {
            let dag = make(n);
            let problem = Problem::new(dag, &machines).expect("a sound problem");
            let mut best = [f64::INFINITY; 2];
            for _ in 0..(3_000_000 / n).clamp(1, 100) {
                for (best, kind) in best
                    .iter_mut()
                    .zip([SchedulerKind::Heft, SchedulerKind::PchFast])
                {
                    let start = worked_seconds();
                    let schedule = kind.scheduler().schedule(&problem);
                    *best = best.min(worked_seconds() - start);
                    schedule.expect("everything fits");
                }
            }
            let [heft, fast] = best.map(|seconds| seconds * 1e3);
            let exponent = |number: usize| {
                let before = before.map(|before| (best[number] / before[number]).log10());
                before.map_or(String::new(), |exponent| {
                    format!(", exponent {exponent:.2}")
                })
            };
            println!(
                "{graph} {n} x 64: heft {heft:.2} ms{}; pch-fast {fast:.2} ms{}; ratio {:.2}; peak so far {}",
                exponent(0),
                exponent(1),
                fast / heft,
                peak_memory(),
            );
            before = Some(best);
        }
    }
}

/// The most memory that this program has held so far.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or("unknown".to_owned(), |peak| peak.trim().to_owned())
}

fn measure(line: &str, problem: &Problem, kind: SchedulerKind) {
    let mut best = f64::INFINITY;
    let mut schedule = None;
    for _ in 0..REPEATS {
        let start = worked_seconds();
        schedule = kind.scheduler().schedule(problem).ok();
        best = best.min(worked_seconds() - start);
    }
    let Some(schedule) = schedule else {
        println!("{line}: given up after {:.1}", best * 1e3);
        return;
    };
    let start = worked_seconds();
    check(problem, &schedule).expect("a valid schedule");
    println!(
        "{line}: {:.2}; {:.2}; {:.3}",
        best * 1e3,
        (worked_seconds() - start) * 1e3,
        schedule.makespan() / bound(problem)
    );
}

/// The request that a process manager would make.
fn request(dag: &Dag, platform: &Platform) -> Request {
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
        graph: ActivityGraph::new(nodes, edges).expect("in topological order"),
        platform: platform.clone(),
        demands: BTreeMap::new(),
        ready: Vec::new(),
        held: Vec::new(),
        placed: Vec::new(),
        generation: Generation(1),
        scheduler: SchedulerKind::Best,
        controllers: None,
    }
}

fn independent(n: usize) -> Dag {
    let mut random = Random::new(n as u64 + 2);
    let tasks: Vec<Task> = (0..n)
        .map(|_| Task {
            work: 10.0 * lognormal(&mut random),
            cores: 1,
        })
        .collect();
    Dag::new(&tasks, &[]).expect("no edges")
}
