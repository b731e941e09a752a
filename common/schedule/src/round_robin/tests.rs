use super::RoundRobin;
use crate::fixtures::{drawn, platform, task};
use crate::problem::Problem;
use crate::{Dag, Scheduler, check};

#[test]
fn machines_take_turns_and_those_that_do_not_fit_are_left_out() {
    let tasks = [task(1.0, 1), task(1.0, 2), task(1.0, 1), task(1.0, 2)];
    let dag = Dag::new(&tasks, &[]).unwrap();
    let problem = Problem::new(dag, &platform(&[(1.0, 1), (1.0, 1), (1.0, 2)])).unwrap();
    let schedule = RoundRobin.schedule(&problem).unwrap();
    check(&problem, &schedule).unwrap();
    let text = "m0.0 |t0 0-1|t2 1-2|\nm1.0 |\nm2.0 |t1 0-1|t3 1-2|\nm2.1 |t1 0-1|t3 1-2|\n";
    assert_eq!(drawn(&problem, &schedule), text);
}
