use super::Repeats;
use crate::fixtures::random;
use crate::heft::Heft;
use crate::problem::Problem;
use crate::rank::MeanRule;
use crate::{Scheduler, check_copied};

/// Makes random moves and takes back every second one, as a search does, and gives how many made copies.
fn counts_like_all_at_once(problem: &Problem, seed: u64) -> usize {
    let schedule = Heft::new(MeanRule::Costs).schedule(problem).unwrap();
    let n_tasks = problem.dag().n_tasks();
    let repeatable = vec![true; n_tasks];
    let mut repeats = Repeats::new(problem, &schedule, &repeatable);
    let mut n_copied = 0;
    for number in 0..200 {
        let task = repeats.random.below(n_tasks) as u32;
        let before = (
            repeats.state.host[task as usize],
            repeats.state.place[task as usize],
        );
        let (host, place) = repeats.draw(task);
        let allowed = repeats.makespan() * [0.98, 1.0, 1.1, f64::INFINITY][number % 4];
        repeats.change(task, host, place);
        let is_allowed = repeats.count(allowed);
        let mut fresh = Repeats::new(problem, &schedule, &repeatable);
        fresh.restart_from(&repeats.state);
        assert_eq!(
            is_allowed,
            fresh.makespan() <= allowed,
            "seed {seed}, move {number}"
        );
        if is_allowed {
            assert_eq!(
                repeats.makespan(),
                fresh.makespan(),
                "seed {seed}, move {number}"
            );
            let (copied, whole) = (repeats.copied(), fresh.copied());
            assert_eq!(copied, whole, "seed {seed}, move {number}");
            check_copied(problem, &copied).unwrap();
            n_copied += usize::from(!copied.copies.is_empty());
        }
        if !is_allowed || number % 2 == 0 {
            repeats.change(task, before.0, before.1);
            assert!(repeats.count(f64::INFINITY));
        }
    }
    n_copied
}

#[test]
fn what_a_move_changes_is_counted_as_all_at_once_would_be() {
    let mut n_copied = 0;
    for seed in 0..20 {
        let problem = random(seed, 8 + (seed as u32 % 20), 2 + (seed as usize % 4));
        n_copied += counts_like_all_at_once(&problem, seed);
    }
    assert!(n_copied > 100, "only {n_copied} schedules had copies");
}
