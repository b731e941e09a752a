//! Small problems for the tests of several modules.

use std::collections::BTreeMap;

use model::{Bytes, GroupId, Network, NetworkLink, Platform, Resource, ResourceId};

use crate::problem::Problem;
use crate::random::Random;
use crate::{Dag, Schedule, Scheduler, Task, check};

pub(crate) fn task(work: f64, cores: u32) -> Task {
    Task { work, cores }
}

/// Machines of one group, (power, slots) each, with a bandwidth of 1e6.
pub(crate) fn platform(machines: &[(f64, u32)]) -> Platform {
    let machines: Vec<_> = machines
        .iter()
        .map(|&(power, slots)| (power, slots, 0))
        .collect();
    grouped(&machines, 1e6, 1e6)
}

/// Machines, (power, slots, group) each, with bandwidths inside groups and between them.
pub(crate) fn grouped(machines: &[(f64, u32, u32)], inside: f64, between: f64) -> Platform {
    let machine = |(&(power, slots, group), id): (&(f64, u32, u32), u32)| Resource {
        id: ResourceId::new(GroupId::new(group.into()), id),
        name: format!("m{id}"),
        power,
        slots,
        memory: Bytes::ZERO,
        labels: BTreeMap::new(),
    };
    let link = |bandwidth| NetworkLink {
        bandwidth,
        latency: 0.0,
    };
    let mut network = Network::uniform(link(between));
    network.inside = link(inside);
    Platform::new(machines.iter().zip(0..).map(machine).collect(), network).unwrap()
}

/// A random graph with heavy messages on machines of one to three slots in three groups.
pub(crate) fn random(seed: u64, n_tasks: u32, n_hosts: usize) -> Problem {
    let mut random = Random::new(seed);
    let tasks: Vec<Task> = (0..n_tasks)
        .map(|_| task((1 + random.below(9)) as f64, 1))
        .collect();
    let mut edges = Vec::new();
    for to in 1..n_tasks {
        for _ in 0..1 + random.below(3) {
            let from = random.below(to as usize) as u32;
            edges.push((from, to, random.below(30) as f64));
        }
    }
    let machines: Vec<(f64, u32, u32)> = (0..n_hosts)
        .map(|_| {
            let power = [0.5, 1.0, 1.0, 1.5 + random.unit()][random.below(4)];
            (power, 1 + random.below(3) as u32, random.below(3) as u32)
        })
        .collect();
    let dag = Dag::new(&tasks, &edges).unwrap();
    Problem::new(dag, &grouped(&machines, 10.0, 4.0)).unwrap()
}

/// One line a slot: `m0.1 |t2 0-4|`.
pub(crate) fn drawn(problem: &Problem, schedule: &Schedule) -> String {
    let mut text = String::new();
    for (host, slots) in schedule.order.iter().enumerate() {
        for (slot, tasks) in slots.iter().enumerate() {
            text += &format!("m{host}.{slot} |");
            for &task in tasks {
                let entry = schedule.entries[task as usize];
                let given = problem.dag().given(task);
                text += &format!("t{given} {}-{}|", entry.start, entry.finish);
            }
            text += "\n";
        }
    }
    text
}

/// Checks that a scheduler puts a task where its successor ends first, although the task itself takes longer.
pub(crate) fn looks_at_what_follows(scheduler: &dyn Scheduler) {
    // t0 --> t1 with a message of 10 s: t0 takes 1 s on m0 and 2 s on m1, t1 40 s and 5 s.
    let dag = Dag::new(&[task(1.0, 1); 2], &[(0, 1, 1e7)]).unwrap();
    let problem = Problem::new(dag, &platform(&[(1.0, 1), (1.0, 1)])).unwrap();
    let problem = problem
        .with_costs(&[vec![1.0, 2.0], vec![40.0, 5.0]])
        .unwrap();
    let schedule = scheduler.schedule(&problem).unwrap();
    check(&problem, &schedule).unwrap();
    assert_eq!(drawn(&problem, &schedule), "m0.0 |\nm1.0 |t0 0-2|t1 2-7|\n");
}
