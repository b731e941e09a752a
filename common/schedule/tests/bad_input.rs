//! Input at the edges: each case has a defined result or a clear error.
#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at what it did not expect"
)]

use std::collections::BTreeMap;

use model::{
    ActivityGraph, ActivityId, Bytes, Generation, GraphNode, GroupId, Network, NetworkLink,
    Platform, Resource, ResourceId, Work,
};
use schedule::{
    Dag, Demand, Problem, Refusal, Request, Scheduler, SchedulerKind, Task, Xavantes, bound, check,
    plan,
};

/// The algorithms that are fast enough for inputs of any size.
const QUICK: [SchedulerKind; 4] = [
    SchedulerKind::Heft,
    SchedulerKind::Cpop,
    SchedulerKind::PchFast,
    SchedulerKind::RoundRobin,
];

fn platform(powers: &[f64]) -> Platform {
    let machines = powers.iter().zip(0u32..).map(|(&power, id)| Resource {
        id: ResourceId::new(GroupId::new((id / 2).into()), id),
        name: format!("m{id}"),
        power,
        slots: 1,
        memory: Bytes(4 << 30),
        labels: BTreeMap::new(),
    });
    let link = |bandwidth| NetworkLink {
        bandwidth,
        latency: 0.0,
    };
    let mut network = Network::uniform(link(1e6));
    network.inside = link(1e7);
    Platform::new(machines.collect(), network).unwrap()
}

fn all(dag: &Dag, kinds: &[SchedulerKind]) -> Vec<f64> {
    let problem = Problem::new(dag.clone(), &platform(&[1.0, 2.0, 0.5])).unwrap();
    let makespans = kinds.iter().map(|kind| {
        let schedule = if *kind == SchedulerKind::Xavantes {
            Xavantes::within(0.01).schedule(&problem)
        } else {
            kind.scheduler().schedule(&problem)
        };
        let schedule = schedule.unwrap();
        check(&problem, &schedule).unwrap();
        assert!(schedule.makespan() >= bound(&problem) * (1.0 - 1e-9));
        schedule.makespan()
    });
    makespans.collect()
}

fn tasks(n: usize, work: f64) -> Vec<Task> {
    vec![Task { work, cores: 1 }; n]
}

#[test]
fn an_empty_graph_takes_no_time() {
    let dag = Dag::new(&[], &[]).unwrap();
    assert!(all(&dag, &SchedulerKind::ALL).iter().all(|&m| m <= 0.0));
}

#[test]
fn a_single_task_goes_to_the_fastest_machine_with_all_that_look() {
    let dag = Dag::new(&tasks(1, 4.0), &[]).unwrap();
    let makespans = all(&dag, &SchedulerKind::ALL);
    let blind = [SchedulerKind::RoundRobin, SchedulerKind::Random];
    for (kind, makespan) in SchedulerKind::ALL.into_iter().zip(makespans) {
        assert!(blind.contains(&kind) || makespan <= 2.0, "{kind:?}");
    }
}

#[test]
fn parts_that_nothing_joins_are_scheduled_side_by_side() {
    let edges = [(0, 1, 1.0), (2, 3, 1.0)];
    let dag = Dag::new(&tasks(6, 2.0), &edges).unwrap();
    assert!(all(&dag, &SchedulerKind::ALL).iter().all(|m| m.is_finite()));
}

#[test]
fn a_chain_of_a_hundred_thousand_needs_no_stack() {
    let n = 100_000;
    let edges: Vec<_> = (1..n).map(|to| (to - 1, to, 1.0)).collect();
    let dag = Dag::new(&tasks(n as usize, 1.0), &edges).unwrap();
    for makespan in all(&dag, &[SchedulerKind::Heft, SchedulerKind::PchFast]) {
        assert!((makespan - 50_000.0).abs() < 1e-3, "{makespan}");
    }
}

#[test]
fn tasks_without_work_take_no_time() {
    let edges: Vec<_> = (1..50).map(|to| (to / 2, to, 0.0)).collect();
    let dag = Dag::new(&tasks(50, 0.0), &edges).unwrap();
    assert!(all(&dag, &SchedulerKind::ALL).iter().all(|&m| m <= 0.0));
}

#[test]
fn a_tebibyte_on_each_edge_keeps_all_on_one_machine() {
    let edges: Vec<_> = (1..30)
        .map(|to| (to / 2, to, (1u64 << 40) as f64))
        .collect();
    let dag = Dag::new(&tasks(30, 1.0), &edges).unwrap();
    let makespans = all(&dag, &[SchedulerKind::Xavantes, SchedulerKind::OneMachine]);
    assert!(makespans.iter().all(|&m| m <= 15.0), "{makespans:?}");
    assert!(all(&dag, &QUICK).iter().all(|m| m.is_finite()));
}

#[test]
fn powers_and_bandwidths_that_are_no_numbers_above_0_are_refused() {
    let machine = |power| Resource {
        id: ResourceId::local(0),
        name: "slow".to_owned(),
        power,
        slots: 1,
        memory: Bytes(1),
        labels: BTreeMap::new(),
    };
    let link = |bandwidth| {
        Network::uniform(NetworkLink {
            bandwidth,
            latency: 0.0,
        })
    };
    for wrong in [0.0, -1.0, f64::NAN] {
        let said = Platform::new(vec![machine(wrong)], link(1.0)).unwrap_err();
        assert_eq!(
            said.to_string(),
            format!("machine slow has power {wrong}; a power is a number above 0")
        );
        let said = Platform::new(vec![machine(1.0)], link(wrong)).unwrap_err();
        assert!(said.to_string().contains(&format!("bandwidth {wrong}")));
    }
}

#[test]
fn an_activity_that_fits_nowhere_is_named_with_what_is_missing() {
    let node = GraphNode {
        activity: Some(ActivityId(7)),
        work: Work(1),
        cores: 1,
    };
    let demand = Demand {
        memory: Bytes(8 << 30),
        ..Demand::default()
    };
    let request = |scheduler| Request {
        graph: ActivityGraph::new([node], []).unwrap(),
        platform: platform(&[1.0]),
        demands: BTreeMap::from([(ActivityId(7), demand.clone())]),
        ready: Vec::new(),
        held: Vec::new(),
        placed: Vec::new(),
        generation: Generation(1),
        scheduler,
        controllers: None,
    };
    for kind in SchedulerKind::ALL {
        let refused = plan(&request(kind)).unwrap_err();
        let Refusal::NoResource { activity, misfit } = refused else {
            panic!("{refused}");
        };
        assert_eq!(activity, ActivityId(7));
        assert!(
            misfit.contains("of memory; the largest machine has"),
            "{misfit}"
        );
    }
}
