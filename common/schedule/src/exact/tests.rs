use super::{is_small, shorter};
use crate::fixtures::{grouped, platform, random, task};
use crate::heft::Heft;
use crate::meter::Meter;
use crate::problem::{Fixed, Problem};
use crate::rank::MeanRule;
use crate::{Dag, OUTSIDE, Scheduler, bound, check};

fn heft(problem: &Problem) -> f64 {
    let schedule = Heft::new(MeanRule::Costs).schedule(problem).unwrap();
    schedule.makespan()
}

#[test]
fn what_is_found_keeps_the_rules_and_nothing_shorter_is_left() {
    let mut n_shorter = 0;
    for seed in 0..60 {
        let problem = random(seed, 3 + (seed as u32 % 8), 1 + (seed as usize % 4));
        let before = heft(&problem);
        let found = shorter(&problem, before, &Meter::unlimited());
        assert!(found.is_proven);
        let Some(schedule) = found.shorter else {
            continue;
        };
        n_shorter += 1;
        check(&problem, &schedule).unwrap();
        let makespan = schedule.makespan();
        assert!(makespan < before && makespan >= bound(&problem) * (1.0 - 1e-9));
        let again = shorter(&problem, makespan, &Meter::unlimited());
        assert_eq!((again.shorter, again.is_proven), (None, true));
    }
    assert!(n_shorter > 5, "only {n_shorter} of 60 became shorter");
}

#[test]
fn it_gives_up_where_the_steps_are_used_up() {
    let mut n_given_up = 0;
    for seed in 0..20 {
        let problem = random(seed, 20, 3);
        let before = heft(&problem);
        let meter = Meter::of(2_000);
        let found = shorter(&problem, before, &meter);
        assert!(meter.spent() < 6_000, "{} steps", meter.spent());
        n_given_up += u32::from(!found.is_proven);
        if let Some(schedule) = found.shorter {
            check(&problem, &schedule).unwrap();
            assert!(schedule.makespan() < before);
        }
    }
    assert!(n_given_up > 3, "only {n_given_up} of 20 were given up");
}

#[test]
fn what_has_started_what_is_wide_and_gates_are_known() {
    let mut tasks: Vec<_> = (0..9)
        .map(|n| task(1.0 + f64::from(n % 4), 1 + n % 2))
        .collect();
    tasks.push(task(0.0, 0));
    let edges: Vec<_> = (1..10).map(|to| (to / 2, to, 5.0)).collect();
    let dag = Dag::new(&tasks, &edges).unwrap();
    let problem = Problem::new(dag, &grouped(&[(1.0, 3, 0), (2.0, 2, 1)], 10.0, 1.0)).unwrap();
    let problem = problem.with_ready(&[vec![1.0, 0.0, 2.5]]).unwrap();
    let started = |host, finish| Fixed { host, finish };
    let fixed = [(0, started(1, 3.0)), (1, started(OUTSIDE, 1.0))];
    let problem = problem.with_fixed(fixed).unwrap();
    let found = shorter(&problem, f64::INFINITY, &Meter::unlimited());
    let schedule = found.shorter.unwrap();
    check(&problem, &schedule).unwrap();
    assert!(found.is_proven && schedule.makespan() <= heft(&problem));
}

// The longest first on two equal machines takes 11 s: 4 + 4 + 3 beside 4 + 3.
#[test]
fn a_division_that_no_list_gives_is_found() {
    let works = [4.0, 4.0, 4.0, 3.0, 3.0];
    let tasks = works.map(|work| task(work, 1));
    let problem = Problem::new(Dag::new(&tasks, &[]).unwrap(), &platform(&[(1.0, 1); 2])).unwrap();
    let found = shorter(&problem, f64::INFINITY, &Meter::unlimited());
    assert_eq!(found.shorter.unwrap().makespan(), 10.0);
}

#[test]
fn of_many_machines_that_are_alike_few_are_looked_at() {
    let tasks: Vec<_> = (0..10).map(|n| task(1.0 + f64::from(n), 1)).collect();
    let edges: Vec<_> = (1..10).map(|to| (to / 3, to, 2e6)).collect();
    let machines = [(1.0, 4); 500];
    let problem = Problem::new(Dag::new(&tasks, &edges).unwrap(), &platform(&machines)).unwrap();
    let meter = Meter::unlimited();
    let found = shorter(&problem, f64::INFINITY, &meter);
    check(&problem, &found.shorter.unwrap()).unwrap();
    assert!(
        found.is_proven && meter.spent() < 5_000_000,
        "{}",
        meter.spent()
    );
}

#[test]
fn only_few_tasks_are_searched() {
    assert!(is_small(&random(1, 20, 3)));
    assert!(!is_small(&random(1, 21, 3)));
}
