use super::{MAX_MIN_TASKS_MAX, MinMin};
use crate::fixtures::{drawn, platform, random, task};
use crate::problem::Problem;
use crate::{Dag, ScheduleError, Scheduler, check};

fn text(rule: MinMin) -> String {
    let works = [2.0, 5.0, 3.0, 4.0].map(|work| task(work, 1));
    let dag = Dag::new(&works, &[]).unwrap();
    let problem = Problem::new(dag, &platform(&[(1.0, 1), (1.0, 1)])).unwrap();
    let schedule = rule.schedule(&problem).unwrap();
    check(&problem, &schedule).unwrap();
    drawn(&problem, &schedule)
}

#[test]
fn short_tasks_come_first_or_last() {
    let shortest = "m0.0 |t0 0-2|t3 2-6|\nm1.0 |t2 0-3|t1 3-8|\n";
    assert_eq!(text(MinMin::Shortest), shortest);
    // t0 would end at 6 on either machine only after t2 is placed.
    let longest = "m0.0 |t1 0-5|t0 5-7|\nm1.0 |t3 0-4|t2 4-7|\n";
    assert_eq!(text(MinMin::Longest), longest);
}

#[test]
fn schedules_of_random_problems_are_valid() {
    for seed in 0..40 {
        let problem = random(seed, 40, 6);
        for rule in [MinMin::Shortest, MinMin::Longest] {
            check(&problem, &rule.schedule(&problem).unwrap()).unwrap();
        }
    }
}

#[test]
fn max_min_refuses_what_would_take_too_long() {
    let dag = Dag::new(&vec![task(1.0, 1); MAX_MIN_TASKS_MAX + 1], &[]).unwrap();
    let problem = Problem::new(dag, &platform(&[(1.0, 1)])).unwrap();
    let refused = MinMin::Longest.schedule(&problem);
    assert!(matches!(refused, Err(ScheduleError::TooLarge { .. })));
}
