use crate::fixtures::{platform, task};
use crate::{Cost, Dag, Heft, MeanRule, Problem, Rates, Scheduler};

// a0 --> a1    m0 (power 2, 2 slots) |a0 0-1800|a1 1800-3600|    m1 (power 1) runs nothing
#[test]
fn a_machine_is_paid_for_from_its_first_activity_to_its_last() {
    let work = 3_600.0;
    let dag = Dag::new(&[task(work, 1), task(work, 1)], &[(0, 1, 1e6)]).unwrap();
    let problem = Problem::new(dag, &platform(&[(2.0, 2), (1.0, 1)])).unwrap();
    let schedule = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
    let fast = Rates {
        price: 0.5,
        idle_watts: 100.0,
        busy_watts: 300.0,
    };
    let slow = Rates {
        price: 1e9,
        ..Rates::default()
    };
    let cost = Cost::new(&problem, &schedule, &[fast, slow]);
    assert_eq!(
        cost,
        Cost {
            machines: 1,
            slots: 2,
            slot_hours: 2.0,
            money: 1.0,
            // One of two slots is busy for an hour.
            energy: 0.2,
        }
    );
}

#[test]
fn what_runs_nothing_costs_nothing() {
    let dag = Dag::new(&[], &[]).unwrap();
    let problem = Problem::new(dag, &platform(&[(1.0, 1)])).unwrap();
    let schedule = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
    let rates = [Rates {
        price: 1.0,
        idle_watts: 1.0,
        busy_watts: 2.0,
    }];
    assert_eq!(Cost::new(&problem, &schedule, &rates), Cost::default());
}
