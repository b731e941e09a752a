use language::platform;
use schedule::rounds::{Messages, Policy};
use schedule::{Dag, Problem, Task};

use super::*;
use crate::ideal::{Failure, Why, execute};

/// The end of a chain of so many tasks of ten seconds on the machines of a platform file.
fn chain(machines: &str, n_tasks: u32) -> Result<f64, Failure> {
    let file = platform::compile("machines.yaml", machines.as_bytes()).unwrap();
    let platform = file.platform().unwrap();
    let task = Task {
        work: 10.0,
        cores: 1,
    };
    let edges: Vec<(u32, u32, f64)> = (1..n_tasks).map(|n| (n - 1, n, 0.0)).collect();
    let dag = Dag::new(&vec![task; n_tasks as usize], &edges).unwrap();
    let problem = Problem::new(dag, &platform).unwrap();
    let powers = Powers::of(&platform).unwrap();
    let run = execute(&problem, &Policy::fixed(), &powers, &Messages::Direct, 1e6)?;
    Ok(run.makespan)
}

#[test]
fn a_platform_file_says_the_powers_of_an_ideal_execution() {
    // Four seconds of work a second at first, then half of that, then a standstill of five seconds.
    let steps = "machines: [{name: a, power: [{from: 0s, is: 4}, {from: 5s, is: 2}, {from: 8s, is: 0}, {from: 13s, is: 2}]}]";
    // 20 and 6 seconds are done before the standstill.
    assert_eq!(chain(steps, 3), Ok(15.0));
    assert_eq!(chain("machines: [{name: a, power: 4}]", 3), Ok(7.5));
    // A plan uses the machine that is faster at the start, whatever it is later.
    let two = "machines: [{name: a, power: 1}, {name: b, power: [{from: 0s, is: 2}, {from: 5s, is: 0.1}]}]";
    assert_eq!(chain(two, 1), Ok(5.0));
    assert_eq!(chain(two, 2), Ok(105.0));
}

#[test]
fn a_machine_that_stands_still_for_ever_keeps_its_tasks() {
    let stalls = "machines: [{name: a, power: [{from: 0s, is: 1}, {from: 15s, is: 0}]}]";
    let Err(Failure::Unfinished(verdict)) = chain(stalls, 2) else {
        panic!("the second task cannot end");
    };
    assert_eq!(verdict.tasks, [(1, Why::NoPower { host: 0 })]);
}
