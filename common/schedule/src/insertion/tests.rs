use super::{Candidate, in_order};
use crate::check;
use crate::fixtures::random;
use crate::meter::Meter;
use crate::order::{by_rank, less};
use crate::problem::Problem;
use crate::rank::{MeanRule, Means};

#[test]
fn the_machine_is_that_of_asking_all_of_them() {
    for seed in 0..150 {
        let n_hosts = 1 + seed as usize % 12;
        let problem = alike(random(seed, 10 + seed as u32 % 50, n_hosts), seed);
        let rank = Means::new(&problem, MeanRule::Costs).upward(&problem);
        let order = by_rank(problem.dag(), &rank);
        let schedule = in_order(&problem, &Meter::unlimited(), &order, |insertion, task| {
            let mut slow: Option<Candidate> = None;
            for host in 0..n_hosts as u32 {
                let found = insertion.on(task, host);
                if slow.is_none_or(|slow| less(found.finish, slow.finish)) {
                    slow = Some(found);
                }
            }
            let found = insertion.earliest(task);
            let place = |found: Option<Candidate>| found.map(|f| (f.host, f.start, f.finish));
            assert_eq!(place(found), place(slow), "seed {seed}, task {task}");
            found
        });
        check(&problem, &schedule.unwrap()).unwrap();
    }
}

/// Some slots taken for a while, so that machines do not all start alike.
fn alike(problem: Problem, seed: u64) -> Problem {
    let ready: Vec<Vec<f64>> = (0..problem.hosts().len() as u64)
        .map(|host| match (host + seed) % 3 {
            0 => vec![(seed % 7) as f64],
            _ => Vec::new(),
        })
        .collect();
    problem.with_ready(&ready).unwrap()
}
