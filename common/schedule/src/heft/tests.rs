use super::Heft;
use crate::fixtures::{self, platform, task};
use crate::problem::Problem;
use crate::{Dag, MeanRule, Scheduler, Task, bound, check};

/// One line a slot: `m0.1 |t2 0-4|`.
fn drawn(tasks: &[Task], edges: &[(u32, u32, f64)], machines: &[(f64, u32)]) -> String {
    let dag = Dag::new(tasks, edges).unwrap();
    let problem = Problem::new(dag, &platform(machines)).unwrap();
    let schedule = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
    check(&problem, &schedule).unwrap();
    fixtures::drawn(&problem, &schedule)
}

#[test]
fn a_task_of_two_cores_waits_for_both_slots() {
    // t0 --> t1 (2 cores)     t2, t3 alone
    let tasks = [task(4.0, 1), task(5.0, 2), task(3.0, 1), task(2.0, 1)];
    let text = drawn(&tasks, &[(0, 1, 0.0)], &[(1.0, 2)]);
    assert_eq!(text, "m0.0 |t2 0-3|t1 4-9|t3 9-11|\nm0.1 |t0 0-4|t1 4-9|\n");
}

#[test]
fn a_gap_that_is_long_enough_is_filled() {
    // t0 --> t1 (2 cores)     t2 alone fits beside t0
    let tasks = [task(4.0, 1), task(5.0, 2), task(3.0, 1)];
    let text = drawn(&tasks, &[(0, 1, 0.0)], &[(1.0, 2)]);
    assert_eq!(text, "m0.0 |t2 0-3|t1 4-9|\nm0.1 |t0 0-4|t1 4-9|\n");
}

#[test]
fn data_keeps_a_chain_together_and_gates_cost_nothing() {
    // t0 --8 MB--> gate --8 MB--> t2: on the faster machine, unless the data would have to move
    let tasks = [task(10.0, 1), task(0.0, 0), task(10.0, 1)];
    let edges = [(0, 1, 8e6), (1, 2, 8e6)];
    let text = drawn(&tasks, &edges, &[(1.0, 1), (2.0, 1)]);
    assert_eq!(text, "m0.0 |\nm1.0 |t0 0-5|t2 5-10|\n");
}

#[test]
fn tasks_without_work_lie_between_runs_and_not_inside_them() {
    // t0 --> t1 (no work) --> t3, t0 --> t2
    let tasks = [task(3.0, 1), task(0.0, 1), task(9.0, 1), task(1.0, 1)];
    let edges = [(0, 1, 0.0), (0, 2, 0.0), (1, 3, 0.0)];
    let text = drawn(&tasks, &edges, &[(1.0, 1)]);
    assert_eq!(text, "m0.0 |t0 0-3|t1 3-3|t2 3-12|t3 12-13|\n");
    // Nothing but tasks without work, in any number, takes no time.
    let none = vec![task(0.0, 1); 1_000];
    let chain: Vec<_> = (1..1_000).map(|i| (i - 1, i, 0.0)).collect();
    let problem = Problem::new(Dag::new(&none, &chain).unwrap(), &platform(&[(1.0, 2)])).unwrap();
    let schedule = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
    check(&problem, &schedule).unwrap();
    assert_eq!(schedule.makespan(), 0.0);
}

#[test]
fn an_empty_graph_and_single_and_separate_tasks_are_fine() {
    assert_eq!(drawn(&[], &[], &[(1.0, 1)]), "m0.0 |\n");
    assert_eq!(
        drawn(&[task(2.0, 1)], &[], &[(1.0, 1), (2.0, 1)]),
        "m0.0 |\nm1.0 |t0 0-1|\n"
    );
    let text = drawn(&[task(2.0, 1); 3], &[], &[(1.0, 1), (2.0, 1)]);
    assert_eq!(text, "m0.0 |t1 0-2|\nm1.0 |t0 0-1|t2 1-2|\n");
}

#[test]
fn a_chain_of_a_hundred_thousand_runs_on_one_machine() {
    let n = 100_000;
    let edges: Vec<_> = (1..n).map(|i| (i - 1, i, (1u64 << 40) as f64)).collect();
    let dag = Dag::new(&vec![task(1.0, 1); n as usize], &edges).unwrap();
    let problem = Problem::new(dag, &platform(&[(1.0, 2), (2.0, 2)])).unwrap();
    let schedule = Heft::new(MeanRule::Bandwidths).schedule(&problem).unwrap();
    check(&problem, &schedule).unwrap();
    assert_eq!(schedule.makespan(), 50_000.0);
    assert_eq!(bound(&problem), 50_000.0);
}
