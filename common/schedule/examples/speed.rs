//! `cargo run --release -p schedule --example speed` prints how long plans take to make, the graph
//! built and the platform read: layered graphs, wide ones, and one machine against a grid. Words
//! after it (`heft, "64 hosts"`) restrict it to the lines that contain all of them.
#![expect(clippy::print_stdout, reason = "a program for people")]
#![expect(clippy::disallowed_methods, reason = "it measures time")]

use std::collections::BTreeMap;
use std::time::Instant;

use model::{
    ActivityGraph, Bytes, Generation, GraphNode, GroupId, Network, NetworkLink, Platform, Resource,
    ResourceId, Work,
};
use schedule::{Dag, Problem, Request, SchedulerKind, Task, bound, check, plan};

/// Powers by group of the reference platforms.
const POWERS: [f64; 16] = [
    1.0, 1.9, 2.8, 4.5, 1.2, 2.2, 3.4, 6.4, 1.1, 1.5, 2.5, 3.9, 1.7, 2.0, 3.1, 5.1,
];
/// How often each plan is made; the fastest counts.
const REPEATS: usize = 3;

/// Above this a plan would take too long for a table: (algorithm, tasks).
const TASKS_MAX: [(SchedulerKind, usize); 11] = [
    (SchedulerKind::Heft, 1_000_000),
    (SchedulerKind::Cpop, 100_000),
    (SchedulerKind::Peft, 100_000),
    (SchedulerKind::Pch, 5_000),
    (SchedulerKind::PchFast, 100_000),
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
                let start = Instant::now();
                plan(&request).expect("a plan");
                println!("{line}: {:.1}", start.elapsed().as_secs_f64() * 1e3);
            }
        }
    }
}

fn measure(line: &str, problem: &Problem, kind: SchedulerKind) {
    let mut best = f64::INFINITY;
    let mut schedule = None;
    for _ in 0..REPEATS {
        let start = Instant::now();
        schedule = kind.scheduler().schedule(problem).ok();
        best = best.min(start.elapsed().as_secs_f64());
    }
    let Some(schedule) = schedule else {
        println!("{line}: given up after {:.1}", best * 1e3);
        return;
    };
    let start = Instant::now();
    check(problem, &schedule).expect("a valid schedule");
    println!(
        "{line}: {:.2}; {:.2}; {:.3}",
        best * 1e3,
        start.elapsed().as_secs_f64() * 1e3,
        schedule.makespan() / bound(problem)
    );
}

/// What a process manager asks for.
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
        placed: Vec::new(),
        generation: Generation(1),
        scheduler: SchedulerKind::Best,
    }
}

/// About sqrt(n) levels, each task with 1 to 5 predecessors in the two levels before; works and
/// data are lognormal. A part of the works is zero.
fn layered(n: usize, zeros: f64) -> Dag {
    let mut random = Random(n as u64);
    let width = (n as f64).sqrt() as usize;
    let tasks: Vec<Task> = (0..n)
        .map(|_| {
            let zero = random.unit() < zeros;
            Task {
                work: if zero { 0.0 } else { 10.0 * random.lognormal() },
                cores: 1,
            }
        })
        .collect();
    let mut edges = Vec::new();
    for task in width..n {
        let level = task / width;
        let first = level.saturating_sub(2) * width;
        let count = 1 + random.below(5);
        for _ in 0..count {
            let from = first + random.below(level * width - first);
            edges.push((from as u32, task as u32, 1e6 * random.lognormal()));
        }
    }
    Dag::new(&tasks, &edges).expect("edges go up")
}

/// Montage-like: wide levels between single tasks.
fn fork_join(n: usize) -> Dag {
    let mut random = Random(n as u64 + 1);
    let tasks: Vec<Task> = (0..n)
        .map(|_| Task {
            work: 10.0 * random.lognormal(),
            cores: 1,
        })
        .collect();
    let width = n / 4;
    let mut edges = Vec::new();
    for task in 1..n {
        let mut edge = |from: usize, to: usize| {
            edges.push((from as u32, to as u32, 1e6 * random.lognormal()));
        };
        if task % width == 0 {
            (task - width + 1..task).for_each(|before| edge(before, task));
        } else {
            edge(task - task % width, task);
        }
    }
    Dag::new(&tasks, &edges).expect("edges go up")
}

fn independent(n: usize) -> Dag {
    let mut random = Random(n as u64 + 2);
    let tasks: Vec<Task> = (0..n)
        .map(|_| Task {
            work: 10.0 * random.lognormal(),
            cores: 1,
        })
        .collect();
    Dag::new(&tasks, &[]).expect("no edges")
}

fn platform(groups: u32, hosts: u32, slots: u32) -> Platform {
    let resources = (0..groups * hosts).map(|number| Resource {
        id: ResourceId(number),
        name: format!("m{number}"),
        group: GroupId(number / hosts),
        power: POWERS[(number / hosts) as usize],
        slots,
        memory: Bytes::ZERO,
        labels: BTreeMap::new(),
    });
    let mut network = Network::uniform(NetworkLink {
        bandwidth: 12.5e6,
        latency: 5e-3,
    });
    network.inside = NetworkLink {
        bandwidth: 125e6,
        latency: 1e-4,
    };
    Platform::new(resources.collect(), network).expect("a sound platform")
}

/// Splitmix64: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Median 1, sigma 0.5: the sum of twelve units is near enough to a normal number.
    fn lognormal(&mut self) -> f64 {
        let normal: f64 = (0..12).map(|_| self.unit()).sum::<f64>() - 6.0;
        (0.5 * normal).exp()
    }
}
