use super::Peft;
use crate::fixtures::{drawn, platform, task};
use crate::problem::Problem;
use crate::{Dag, Scheduler, check};

#[test]
fn a_task_goes_where_what_follows_ends_first() {
    // t0 --> t1 with a message of 10 s: t0 takes 1 s on m0 and 2 s on m1, t1 40 s and 5 s.
    let dag = Dag::new(&[task(1.0, 1); 2], &[(0, 1, 1e7)]).unwrap();
    let problem = Problem::new(dag, &platform(&[(1.0, 1), (1.0, 1)])).unwrap();
    let problem = problem
        .with_costs(&[vec![1.0, 2.0], vec![40.0, 5.0]])
        .unwrap();
    let schedule = Peft.schedule(&problem).unwrap();
    check(&problem, &schedule).unwrap();
    assert_eq!(drawn(&problem, &schedule), "m0.0 |\nm1.0 |t0 0-2|t1 2-7|\n");
}
