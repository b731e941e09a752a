use model::Platform;

use super::{Figures, bound, critical_path_time, sequential_time};
use crate::fixtures;
use crate::problem::{Fixed, OUTSIDE, Problem};
use crate::schedule::Schedule;
use crate::{Dag, Heft, MeanRule, Scheduler, Task};

fn platform(powers: &[f64], slots: u32) -> Platform {
    let machines: Vec<_> = powers.iter().map(|&power| (power, slots, 0)).collect();
    fixtures::grouped(&machines, 1.0, 1.0)
}

fn tasks(works: &[f64]) -> Vec<Task> {
    works.iter().map(|&work| Task { work, cores: 1 }).collect()
}

#[test]
fn a_chain_is_bound_by_its_length_and_a_bag_by_its_work() {
    let chain = Dag::new(&tasks(&[4.0, 6.0]), &[(0, 1, 100.0)]).unwrap();
    let problem = Problem::new(chain, &platform(&[1.0, 2.0], 1)).unwrap();
    assert_eq!(bound(&problem), 5.0);
    assert_eq!(
        (critical_path_time(&problem), sequential_time(&problem)),
        (5.0, 5.0)
    );

    let bag = Dag::new(&tasks(&[4.0; 6]), &[]).unwrap();
    let problem = Problem::new(bag, &platform(&[1.0, 2.0], 1)).unwrap();
    assert_eq!(bound(&problem), 8.0);
    let schedule = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
    let figures = Figures::new(&problem, &schedule);
    assert_eq!(
        (figures.makespan, figures.slr, figures.speedup),
        (8.0, 4.0, 1.5)
    );
    assert_eq!(figures.efficiency, 0.75);
}

#[test]
fn slots_that_become_free_late_help_late() {
    // 12 units of work, slots free at 0, 4 and 100: 8 after 4, shared by two: 4 + 8 / 2
    let bag = Dag::new(&tasks(&[4.0; 3]), &[]).unwrap();
    let problem = Problem::new(bag, &platform(&[1.0], 3)).unwrap();
    let problem = problem.with_ready(&[vec![0.0, 4.0, 100.0]]).unwrap();
    assert_eq!(bound(&problem), 8.0);
}

#[test]
fn what_has_started_bounds_what_waits_for_it() {
    let chain = Dag::new(&tasks(&[4.0, 6.0]), &[(0, 1, 0.0)]).unwrap();
    let problem = Problem::new(chain, &platform(&[1.0], 1)).unwrap();
    let fixed = Fixed {
        host: OUTSIDE,
        finish: 50.0,
    };
    let problem = problem.with_fixed([(0, fixed)]).unwrap();
    assert_eq!(bound(&problem), 56.0);
}

#[test]
fn nothing_to_do_takes_no_time() {
    let problem = Problem::new(Dag::default(), &platform(&[1.0], 1)).unwrap();
    assert_eq!(bound(&problem), 0.0);
    let figures = Figures::new(&problem, &Schedule::default());
    assert_eq!((figures.slr, figures.speedup), (1.0, 1.0));
}
