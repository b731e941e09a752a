//! Planning takes no more steps than it may, whatever the graph.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::collections::BTreeMap;

use model::{Bytes, GroupId, Network, NetworkLink, Platform, Resource, ResourceId};
use schedule::{
    Dag, Meter, Problem, STEPS_PER_SECOND, ScheduleError, SchedulerKind, Task, Xavantes, check,
};

/// Steps beyond the limit until an algorithm looks at its meter: the longest piece between two looks is a
/// task with all that it waits for, on each machine.
const PIECE: u64 = 2_000_000;

fn platform(n_hosts: u32) -> Platform {
    let resources = (0..n_hosts).map(|number| Resource {
        id: ResourceId::new(GroupId::new((number / 4).into()), number),
        name: format!("m{number}"),
        power: 1.0 + f64::from(number % 4),
        slots: 2,
        memory: Bytes::ZERO,
        labels: BTreeMap::new(),
    });
    let network = Network::uniform(NetworkLink {
        bandwidth: 1e7,
        latency: 1e-3,
    });
    Platform::new(resources.collect(), network).unwrap()
}

fn problem(n_tasks: u32, n_hosts: u32, edges: &[(u32, u32, f64)]) -> Problem {
    let task = |number: u32| Task {
        work: 1.0 + f64::from(number % 7),
        cores: 1,
    };
    let tasks: Vec<Task> = (0..n_tasks).map(task).collect();
    let dag = Dag::new(&tasks, edges).unwrap();
    Problem::new(dag, &platform(n_hosts)).unwrap()
}

/// A gather, a scatter, a bipartite graph, a chain and a bag.
fn shapes() -> Vec<Problem> {
    let gather: Vec<_> = (0..1_999).map(|from| (from, 1_999, 1e6)).collect();
    let scatter: Vec<_> = (1..2_000).map(|to| (0, to, 1e6)).collect();
    let pairs = (0..60).flat_map(|from| (60..120).map(move |to| (from, to, 1e6)));
    let chain: Vec<_> = (1..2_000).map(|to| (to - 1, to, 1e6)).collect();
    vec![
        problem(2_000, 16, &gather),
        problem(2_000, 16, &scatter),
        problem(120, 16, &pairs.collect::<Vec<_>>()),
        problem(2_000, 64, &chain),
        problem(2_000, 64, &[]),
    ]
}

#[test]
fn an_algorithm_gives_up_when_its_steps_are_used_up() {
    let mut n_given_up = 0;
    for problem in shapes() {
        for kind in SchedulerKind::ALL {
            // It makes one plan whatever it may take.
            if kind == SchedulerKind::Xavantes {
                continue;
            }
            for most in [0, 100_000, 3_000_000] {
                let meter = Meter::of(most);
                let schedule = kind.scheduler().schedule_within(&problem, &meter);
                let spent = meter.spent();
                assert!(spent <= most + PIECE, "{kind:?}: {spent} of {most} steps");
                match schedule {
                    Ok(schedule) => check(&problem, &schedule).unwrap(),
                    Err(error) => {
                        n_given_up += 1;
                        let is_limit = matches!(error, ScheduleError::TooLarge { .. });
                        assert!(is_limit, "{kind:?}: {error}");
                    }
                }
            }
        }
    }
    assert!(n_given_up > 50, "only {n_given_up} gave up");
}

#[test]
fn more_steps_than_are_needed_change_no_plan() {
    for problem in shapes() {
        for kind in SchedulerKind::ALL {
            let meter = Meter::of(20 * STEPS_PER_SECOND as u64);
            let Ok(limited) = kind.scheduler().schedule_within(&problem, &meter) else {
                continue;
            };
            if kind != SchedulerKind::Xavantes {
                let free = kind.scheduler().schedule(&problem).unwrap();
                assert!(free == limited, "{kind:?} gives another plan");
            }
        }
    }
}

/// The best of all is found where the budget has room for whoever finds it, also of those that a small part
/// of a large graph's budget is left to.
#[test]
fn messages_that_cost_too_much_leave_all_on_one_machine() {
    let gather: Vec<_> = (0..1_999).map(|from| (from, 1_999, 9e15)).collect();
    let problem = problem(2_000, 16, &gather);
    let run = Xavantes::within(0.05).run(&problem).unwrap();
    let alone = SchedulerKind::OneMachine.scheduler().schedule(&problem);
    let (found, alone) = (run.schedule.makespan(), alone.unwrap().makespan());
    assert!(found <= alone, "{found} s beside {alone} s on one machine");
}

/// Also where a second plan on all machines would take what is left.
#[test]
fn where_messages_cost_too_much_one_machine_comes_before_the_others() {
    let pairs = (0..500).flat_map(|from| (500..1_000).map(move |to| (from, to, 9e15)));
    let problem = problem(1_000, 16, &pairs.collect::<Vec<_>>());
    let heft = Meter::unlimited();
    let scheduler = SchedulerKind::HeftB.scheduler();
    scheduler.schedule_within(&problem, &heft).unwrap();
    let seconds = 2.8 * heft.spent() as f64 / STEPS_PER_SECOND;
    let run = Xavantes::within(seconds).run(&problem).unwrap();
    let alone = SchedulerKind::OneMachine.scheduler().schedule(&problem);
    let (found, alone) = (run.schedule.makespan(), alone.unwrap().makespan());
    assert!(found <= alone, "{found} s beside {alone} s on one machine");
}
