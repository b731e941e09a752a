//! `cargo run --release -p schedule --example quality` prints how long the schedules of all
//! algorithms are on the recorded workflows of the data pack that XAVANTES_DATA names: geometric
//! means of makespan / HEFT's, and the worst ratio. A cell in which an algorithm gave up some
//! workflows says how many it did. It takes some minutes, most of them for lookahead.
#![expect(clippy::print_stdout, reason = "a program for people")]
#![expect(clippy::unwrap_used, reason = "the data pack is known to be sound")]

#[path = "../tests/support/mod.rs"]
mod support;

use schedule::platform::{ReferenceNetwork, reference};
use schedule::{Dag, Problem, SchedulerKind, bound, check};

const CELLS: [(u32, &str); 5] = [
    (8, "lan"),
    (64, "lan"),
    (512, "lan"),
    (64, "ccr1"),
    (64, "ccr10"),
];

fn main() {
    let Some(folder) = support::workflows() else {
        return;
    };
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    files.sort();
    let graphs: Vec<Dag> = files.iter().map(|path| support::read(path)).collect();
    println!(
        "{} workflows: geometric mean (worst) of makespan / heft",
        graphs.len()
    );
    print!("{:<14}", "");
    CELLS
        .iter()
        .for_each(|(hosts, net)| print!("{:>20}", format!("{hosts} {net}")));
    println!();
    let cells: Vec<Vec<(Problem, f64)>> = CELLS
        .iter()
        .map(|&(hosts, net)| {
            let network = ReferenceNetwork::named(net).unwrap();
            let problems = graphs.iter().map(|dag| {
                let platform = reference(hosts, network, dag).unwrap();
                let problem = Problem::new(dag.clone(), &platform).unwrap();
                let heft = SchedulerKind::Heft.scheduler().schedule(&problem).unwrap();
                (problem, heft.makespan())
            });
            problems.collect()
        })
        .collect();
    line("heft / bound", &cells, |problem, heft| {
        Some(heft / bound(problem))
    });
    for kind in SchedulerKind::ALL {
        let scheduler = kind.scheduler();
        line(scheduler.name(), &cells, |problem, heft| {
            let schedule = scheduler.schedule(problem).ok()?;
            check(problem, &schedule).unwrap();
            Some(schedule.makespan() / heft)
        });
    }
}

fn line(name: &str, cells: &[Vec<(Problem, f64)>], ratio: impl Fn(&Problem, f64) -> Option<f64>) {
    print!("{name:<14}");
    for cell in cells {
        let ratios = cell.iter().map(|(problem, heft)| ratio(problem, *heft));
        let ratios: Vec<f64> = ratios.flatten().collect();
        let mean = (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp();
        let worst = ratios.iter().copied().fold(0.0, f64::max);
        let n_missing = cell.len() - ratios.len();
        let missing = match n_missing {
            0 => String::new(),
            n => format!(" -{n}"),
        };
        print!("{:>20}", format!("{mean:.3} ({worst:.2}){missing}"));
    }
    println!();
}
