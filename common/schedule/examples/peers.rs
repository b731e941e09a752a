//! `cargo run --release -p schedule --example peers -- FOLDER` plans layered random graphs by HEFT and
//! CPOP, prints planning times and makespans as tab-separated lines, and writes each graph with its
//! machines to `FOLDER/TASKSxMACHINES.json`, so that others can plan the same: tests/compare/peers
//! does. Links have no latency, which not every peer knows.
#![expect(clippy::print_stdout, reason = "a program for people")]
#![expect(clippy::unwrap_used, reason = "what it makes is sound")]
#![expect(clippy::disallowed_methods, reason = "it measures time")]

use std::path::Path;
use std::time::Instant;

use schedule::platform::{ReferenceNetwork, reference};
use schedule::{Dag, Problem, SchedulerKind, Task, check};
use serde_json::json;

/// Tasks and machines.
const SIZES: [(usize, u32); 3] = [(100, 8), (1_000, 8), (1_000, 64)];
const KINDS: [SchedulerKind; 4] = [
    SchedulerKind::Heft,
    SchedulerKind::HeftB,
    SchedulerKind::Cpop,
    SchedulerKind::Xavantes,
];
/// The shortest time of so many counts.
const RUNS: u32 = 5;

fn main() {
    let folder = std::env::args().nth(1).expect("a folder is named");
    for (n_tasks, n_hosts) in SIZES {
        let (works, edges) = layered(n_tasks);
        let tasks: Vec<Task> = works.iter().map(|&work| Task { work, cores: 1 }).collect();
        let dag = Dag::new(&tasks, &edges).unwrap();
        let network = ReferenceNetwork::named("ccr1").unwrap();
        let platform = reference(n_hosts, network, &dag).unwrap();
        let problem = Problem::new(dag, &platform).unwrap();
        let name = format!("{n_tasks}x{n_hosts}");
        for kind in KINDS {
            let runs = if kind == SchedulerKind::Xavantes {
                1
            } else {
                RUNS
            };
            let mut least = f64::INFINITY;
            let mut makespan = 0.0;
            for _ in 0..runs {
                let begin = Instant::now();
                let schedule = kind.scheduler().schedule(&problem).unwrap();
                least = least.min(begin.elapsed().as_secs_f64());
                check(&problem, &schedule).unwrap();
                makespan = schedule.makespan();
            }
            let scheduler = kind.scheduler().name();
            println!("{name}\txavantes: {scheduler}\t{least:.6}\t{makespan:.4}");
        }
        let powers: Vec<f64> = problem.hosts().iter().map(|host| host.power).collect();
        let groups: Vec<u32> = problem.hosts().iter().map(|host| host.group).collect();
        let links = problem.links();
        let n_groups = links.n_groups();
        let bandwidth = |from| (0..n_groups).map(move |to| links.bandwidth(from, to));
        let bandwidths: Vec<Vec<f64>> = (0..n_groups)
            .map(|from| bandwidth(from).collect())
            .collect();
        let input = json!({
            "works": works, "edges": edges, "powers": powers, "groups": groups,
            "bandwidths": bandwidths,
        });
        std::fs::write(
            Path::new(&folder).join(format!("{name}.json")),
            input.to_string(),
        )
        .unwrap();
    }
}

/// About sqrt(n) levels, each task with 1 to 5 predecessors in the two levels before.
fn layered(n: usize) -> (Vec<f64>, Vec<(u32, u32, f64)>) {
    let mut random = schedule::random::Random::new(n as u64);
    // Median 1, sigma 0.5: the sum of twelve units is near enough to a normal number.
    let mut lognormal = {
        let mut random = schedule::random::Random::new(n as u64 + 1);
        move || {
            let normal: f64 = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
            (0.5 * normal).exp()
        }
    };
    let works = (0..n).map(|_| 10.0 * lognormal()).collect();
    let width = (n as f64).sqrt() as usize;
    let mut edges = std::collections::BTreeMap::new();
    for task in width..n {
        let level = task / width;
        let first = level.saturating_sub(2) * width;
        for _ in 0..1 + random.below(5) {
            let from = first + random.below(level * width - first);
            edges.insert((from as u32, task as u32), 1e6 * lognormal());
        }
    }
    let edges = edges.into_iter().map(|((from, to), data)| (from, to, data));
    (works, edges.collect())
}
