use std::collections::BTreeMap;

use model::{
    ActivityId, Bytes, Generation, Network, NetworkLink, Plan, Platform, Resource, ResourceId, Span,
};

use super::{CheckError, check, check_plan};
use crate::problem::{Demand, Fixed, Problem};
use crate::retime::retime;
use crate::schedule::Schedule;
use crate::{Dag, Heft, MeanRule, Scheduler, Task};

// t0 --> t2 (2 cores) --> gate --> t3      t4 has started on m1 and ends at 3; t3 waits for it
// t1 ---/
fn problem() -> Problem {
    let machine = |id, slots, gpu: &str| Resource {
        id: ResourceId::local(id),
        name: format!("m{id}"),
        power: 1.0,
        slots,
        memory: Bytes(4 << 30),
        labels: BTreeMap::from([("gpu".to_owned(), gpu.to_owned())]),
    };
    let link = NetworkLink {
        bandwidth: 1.0,
        latency: 0.5,
    };
    let machines = vec![machine(0, 2, "no"), machine(1, 1, "yes")];
    let platform = Platform::new(machines, Network::uniform(link)).unwrap();
    let task = |work, cores| Task { work, cores };
    let tasks = [
        task(4.0, 1),
        task(3.0, 1),
        task(5.0, 2),
        task(0.0, 0),
        task(2.0, 1),
        task(9.0, 1),
    ];
    let edges = [
        (0, 2, 1.0),
        (1, 2, 1.0),
        (2, 3, 0.0),
        (3, 4, 0.0),
        (5, 4, 1.0),
    ];
    let gpu = Demand {
        memory: Bytes(1),
        labels: vec![("gpu".to_owned(), "yes".to_owned())],
        ..Demand::default()
    };
    let dag = Dag::new(&tasks, &edges).unwrap();
    let of: Vec<u32> = dag.tasks().map(|task| dag.given(task)).collect();
    let position = |given| of.iter().position(|&of| of == given).unwrap() as u32;
    let (picky, started) = (position(4), position(5));
    Problem::new(dag, &platform)
        .and_then(|problem| problem.with_demands(|task| (task == picky).then_some(&gpu)))
        .and_then(|problem| problem.with_ready(&[vec![0.0, 1.0], vec![3.0]]))
        .and_then(|problem| {
            problem.with_fixed([(
                started,
                Fixed {
                    host: 1,
                    finish: 3.0,
                },
            )])
        })
        .unwrap()
}

fn mutated(change: impl FnOnce(&mut Schedule)) -> CheckError {
    let problem = problem();
    let mut schedule = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
    assert_eq!(check(&problem, &schedule), Ok(()));
    change(&mut schedule);
    check(&problem, &schedule).unwrap_err()
}

#[test]
fn every_broken_rule_is_named() {
    // Positions: t0 0, t1 1, t2 2, gate 3, started 4 or 5, t3 the other.
    let dag = problem().dag().clone();
    let names: Vec<u32> = dag.tasks().map(|task| dag.given(task)).collect();
    let at = |given: usize| {
        names
            .iter()
            .position(|&name| name as usize == given)
            .unwrap()
    };
    let (last, started) = (at(4), at(5));
    let error = mutated(|s| s.entries.retain(|entry| entry.task != 1));
    assert_eq!(error, CheckError::Missing { task: 1 });
    let error = mutated(|s| s.entries.push(s.entries[1]));
    assert_eq!(error, CheckError::Doubled { task: 1 });
    let error = mutated(|s| s.entries[1].task = 99);
    assert_eq!(error, CheckError::Unknown { entry: 1 });
    let error = mutated(|s| s.entries[1].host = 7);
    assert!(
        matches!(
            error,
            CheckError::Place {
                task: 1,
                host: 7,
                ..
            }
        ),
        "{error}"
    );
    let error = mutated(|s| s.entries[2].host = 1);
    assert!(
        matches!(error, CheckError::Place { task: 2, .. }),
        "{error}"
    );
    let error = mutated(|s| (s.entries[last].host, s.entries[last].slot) = (0, 0));
    assert!(matches!(error, CheckError::Constraint { .. }), "{error}");
    let error = mutated(|s| s.entries[started].host = 0);
    assert!(matches!(error, CheckError::Moved { .. }), "{error}");
    let error = mutated(|s| s.entries[2].finish -= 0.1);
    assert!(
        matches!(error, CheckError::Duration { task: 2, .. }),
        "{error}"
    );
    let error = mutated(|s| s.entries[2].start = f64::NAN);
    assert!(
        matches!(error, CheckError::Duration { task: 2, .. }),
        "{error}"
    );
    let error = mutated(|s| (s.entries[2].start, s.entries[2].finish) = (1.0, 6.0));
    assert!(
        matches!(error, CheckError::Order { task: 2, .. }),
        "{error}"
    );
    let error = mutated(|s| {
        // t2 starts when t0 would end on m1, but the data needs 1.5 s from there.
        (s.entries[0].host, s.entries[0].slot) = (1, 0);
    });
    assert!(
        matches!(
            error,
            CheckError::Transfer {
                task: 2,
                pred: 0,
                ..
            }
        ),
        "{error}"
    );
    let error = mutated(|s| {
        // t0 and t1 on one slot at the same time
        for slot in &mut s.order[0] {
            slot.retain(|&task| task > 1);
        }
        s.order[0][0].splice(0..0, [0, 1]);
        (s.entries[0].slot, s.entries[1].slot) = (0, 0);
    });
    assert!(matches!(error, CheckError::Overlap { .. }), "{error}");
    let error = mutated(|s| s.order[0][1].retain(|&task| task != 2));
    assert!(
        matches!(error, CheckError::Place { task: 2, .. }),
        "{error}"
    );
    let error = mutated(|s| s.order[1][0].clear());
    assert!(matches!(error, CheckError::Missing { .. }), "{error}");
    let error = mutated(|s| s.order[1][0].push(last as u32));
    assert!(matches!(error, CheckError::Doubled { .. }), "{error}");
    // t1 holds slot 1, which is free from 1 s on.
    let error = mutated(|s| (s.entries[1].start, s.entries[1].finish) = (0.0, 3.0));
    assert!(
        matches!(
            error,
            CheckError::Ready {
                task: 1,
                slot: 1,
                ..
            }
        ),
        "{error}"
    );
}

fn mutated_plan(change: impl FnOnce(&mut Plan)) -> CheckError {
    let problem = problem();
    let schedule = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
    let mut plan = retime(&problem, &schedule, Generation(1)).unwrap();
    assert_eq!(check_plan(&problem, &plan), Ok(()));
    change(&mut plan);
    check_plan(&problem, &plan).unwrap_err()
}

#[test]
fn every_broken_rule_of_a_plan_is_named() {
    // Entries by activity: t0, t1, t2, t4 (the gate and what has started are not there).
    let error = mutated_plan(|plan| plan.entries.retain(|entry| entry.activity.0 != 1));
    assert_eq!(error, CheckError::Missing { task: 1 });
    let error = mutated_plan(|plan| plan.entries.insert(1, plan.entries[0]));
    assert_eq!(error, CheckError::Doubled { task: 0 });
    let error = mutated_plan(|plan| plan.entries[0].activity = ActivityId(77));
    assert_eq!(error, CheckError::Unknown { entry: 0 });
    let error = mutated_plan(|plan| plan.entries[3].activity = ActivityId(5));
    assert_eq!(error, CheckError::Unknown { entry: 3 });
    let error = mutated_plan(|plan| plan.entries[0].resource = ResourceId::local(5));
    assert!(
        matches!(error, CheckError::Place { task: 0, .. }),
        "{error}"
    );
    let error = mutated_plan(|plan| plan.entries[2].slot = 1);
    assert!(
        matches!(error, CheckError::Place { task: 2, .. }),
        "{error}"
    );
    let error = mutated_plan(|plan| plan.entries[3].resource = ResourceId::local(0));
    assert!(matches!(error, CheckError::Constraint { .. }), "{error}");
    let error = mutated_plan(|plan| plan.entries[2].finish = plan.entries[2].start);
    assert!(
        matches!(error, CheckError::Duration { task: 2, .. }),
        "{error}"
    );
    let error = mutated_plan(|plan| plan.entries[2].start = Span::ZERO);
    assert!(
        matches!(error, CheckError::Order { task: 2, .. }),
        "{error}"
    );
    let error = mutated_plan(|plan| plan.entries[3].start = Span::ZERO);
    assert!(matches!(error, CheckError::Order { .. }), "{error}");
    let error = mutated_plan(|plan| plan.entries[0].resource = ResourceId::local(1));
    assert!(
        matches!(
            error,
            CheckError::Transfer {
                task: 2,
                pred: 0,
                ..
            }
        ),
        "{error}"
    );
    let error = mutated_plan(|plan| {
        let slot = plan.entries[0].slot;
        plan.entries[1].slot = slot;
    });
    assert!(
        matches!(error, CheckError::Overlap { .. } | CheckError::Ready { .. }),
        "{error}"
    );
    let error = mutated_plan(|plan| {
        plan.entries
            .iter_mut()
            .take(2)
            .for_each(|entry| entry.start = Span::ZERO);
    });
    assert!(
        matches!(error, CheckError::Ready { slot: 1, .. }),
        "{error}"
    );
}
