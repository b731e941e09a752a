use super::Cpop;
use crate::fixtures::{drawn, platform, random, task};
use crate::problem::Problem;
use crate::{Dag, MeanRule, Scheduler, check};

#[test]
fn the_critical_path_stays_on_the_machine_that_is_best_for_it() {
    // t0 --> t1 --> t3       messages of 2 s between machines; t0, t1, t3 are critical
    //   \--> t2 ---/
    let tasks = [task(2.0, 1), task(9.0, 1), task(4.0, 1), task(2.0, 1)];
    let edges = [(0, 1, 2e6), (0, 2, 2e6), (1, 3, 2e6), (2, 3, 2e6)];
    let dag = Dag::new(&tasks, &edges).unwrap();
    let problem = Problem::new(dag, &platform(&[(0.5, 1), (1.0, 1), (1.0, 1)])).unwrap();
    let schedule = Cpop::new(MeanRule::Costs).schedule(&problem).unwrap();
    let text = drawn(&problem, &schedule);
    assert_eq!(
        text,
        "m0.0 |\nm1.0 |t0 0-2|t1 2-11|t3 11-13|\nm2.0 |t2 4-8|\n"
    );
}

#[test]
fn a_critical_task_that_does_not_fit_goes_elsewhere() {
    let tasks = [task(2.0, 1), task(9.0, 3), task(2.0, 1)];
    let dag = Dag::new(&tasks, &[(0, 1, 0.0), (1, 2, 0.0)]).unwrap();
    let problem = Problem::new(dag, &platform(&[(9.0, 1), (1.0, 3), (1.0, 2)])).unwrap();
    let schedule = Cpop::new(MeanRule::Costs).schedule(&problem).unwrap();
    check(&problem, &schedule).unwrap();
    assert_eq!(schedule.entries[1].host, 1);
}

#[test]
fn schedules_of_random_problems_are_valid() {
    for seed in 0..40 {
        let problem = random(seed, 30, 6);
        for rule in [MeanRule::Costs, MeanRule::Bandwidths] {
            let schedule = Cpop::new(rule).schedule(&problem).unwrap();
            check(&problem, &schedule).unwrap();
        }
    }
}
