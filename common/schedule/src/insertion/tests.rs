use super::{Candidate, in_order};
use crate::check;
use crate::dag::Dag;
use crate::fixtures::{grouped, random, task};
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

/// Machines that are alike lie in blocks here, most of which are passed over.
#[test]
fn of_many_machines_it_is_that_of_searching_all_of_them() {
    for seed in 0..40u64 {
        let n_hosts = 20 + 7 * (seed as u32 % 12);
        let drawn = random(seed, 150, 1);
        let dag = drawn.dag();
        // Equal works, some of them nothing, so that ties are frequent.
        let work =
            |n: u32| f64::from(u64::from(n) % (2 + seed % 3) != 0) * (2.0 + f64::from(n % 2));
        let tasks: Vec<_> = dag.tasks().map(|n| task(work(n), 1)).collect();
        let edges = dag.tasks().flat_map(|to| {
            let preds = dag.predecessors(to);
            preds.map(move |(from, edge)| (from, to, dag.data(edge)))
        });
        let dag = Dag::new(&tasks, &edges.collect::<Vec<_>>()).unwrap();
        let machines = (0..n_hosts).map(|n| (f64::from(1 + n / 35), 1, n / 50));
        let platform = grouped(&machines.collect::<Vec<_>>(), 100.0, 10.0);
        let problem = alike(Problem::new(dag, &platform).unwrap(), seed);
        let rank = Means::new(&problem, MeanRule::Costs).upward(&problem);
        let order = by_rank(problem.dag(), &rank);
        let schedule = in_order(&problem, &Meter::unlimited(), &order, |insertion, task| {
            let mut slow: Option<Candidate> = None;
            for host in 0..n_hosts {
                let arrival = insertion.arrivals.at(host, insertion.groups[host as usize]);
                let duration = problem.duration(task, host);
                let start = insertion.machines[host as usize].earliest(arrival, duration, 1);
                let finish = start + duration;
                let found = Candidate {
                    host,
                    start,
                    finish,
                };
                let on = insertion.on(task, host);
                assert_eq!(
                    (on.start, on.finish),
                    (start, finish),
                    "seed {seed}, task {task}"
                );
                if slow.is_none_or(|slow| less(finish, slow.finish)) {
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
