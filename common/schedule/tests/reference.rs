//! Published makespans on recorded workflows, held against the schedulers.
//!
//! The workflows lie in the directory that XAVANTES_DATA names, under `workflows`; where it is not
//! set the test says that it was skipped.
#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at what it did not expect"
)]

mod support;

use std::collections::BTreeMap;

use schedule::platform::{ReferenceNetwork, reference};
use schedule::{Problem, SchedulerKind, bound, check};

/// File, machines, network, the bound, and the makespans of the algorithms below; a dash where none was
/// published, or where this lookahead breaks ties in another way than the published one. Two
/// makespans with a bar between them are two ways to break ties.
const ROWS: &str = include_str!("support/rows.txt");
const ALGORITHMS: [SchedulerKind; 6] = [
    SchedulerKind::Heft,
    SchedulerKind::HeftB,
    SchedulerKind::Cpop,
    SchedulerKind::Peft,
    SchedulerKind::Lookahead,
    SchedulerKind::Pch,
];
/// Without optimisation the largest ones would take minutes.
const TASKS_MAX: Option<usize> = if cfg!(debug_assertions) {
    Some(300)
} else {
    None
};

#[test]
fn published_makespans_are_reached() {
    let Some(folder) = support::workflows() else {
        return;
    };
    let mut graphs = BTreeMap::new();
    let mut differences = Vec::new();
    for row in ROWS.lines() {
        let mut cells = row.split_whitespace();
        let (name, hosts, net) = (
            cells.next().unwrap(),
            cells.next().unwrap(),
            cells.next().unwrap(),
        );
        let dag = graphs
            .entry(name)
            .or_insert_with(|| support::read(&folder.join(name)));
        if TASKS_MAX.is_some_and(|most| dag.n_tasks() > most) {
            continue;
        }
        let network = ReferenceNetwork::named(net).unwrap();
        let platform = reference(hosts.parse().unwrap(), network, dag).unwrap();
        let problem = Problem::new(dag.clone(), &platform).unwrap();
        let least: f64 = cells.next().unwrap().parse().unwrap();
        let got = bound(&problem);
        if (got - least).abs() > 1e-4 {
            differences.push(format!("{name} {hosts} {net} bound: {got}, not {least}"));
        }
        for (kind, want) in ALGORITHMS.into_iter().zip(cells) {
            if want == "-" {
                continue;
            }
            let scheduler = kind.scheduler();
            let schedule = scheduler.schedule(&problem).unwrap();
            check(&problem, &schedule).unwrap();
            let got = schedule.makespan();
            let near = |want: &str| {
                let whole = !want.contains('.');
                (got - want.parse::<f64>().unwrap()).abs() <= if whole { 0.5 } else { 1e-4 }
            };
            if !want.split('|').any(near) {
                let algorithm = scheduler.name();
                differences.push(format!(
                    "{name} {hosts} {net} {algorithm}: {got}, not {want}"
                ));
            }
        }
    }
    assert!(differences.is_empty(), "{differences:#?}");
}
