//! CPOP: critical path on a processor.
//!
//! H. Topcuoglu, S. Hariri, M.-Y. Wu, "Performance-effective and low-complexity task scheduling
//! for heterogeneous computing", IEEE TPDS 13(3), 2002, section 4.2: of the tasks whose
//! predecessors are placed the one with the largest sum of upward and downward rank (equations 8
//! and 9) comes next. Critical tasks all go to the machine that runs them in the shortest time, the
//! others where they end first, both in the first gap that is long enough.
//!
//! Cost: O((n + e) log n) beside the search for machines, which is that of HEFT.
//!
//! Differs from the paper: times and sums of ranks are compared with a tolerance; a critical task
//! that does not fit the machine of the critical ones goes where it ends first; machines of several
//! slots and tasks of several cores as in HEFT here.

use crate::dag::Dag;
use crate::insertion::in_order;
use crate::meter::Meter;
use crate::order::{by_rank, less};
use crate::problem::Problem;
use crate::rank::{MeanRule, Means};
use crate::schedule::{Schedule, ScheduleError, Scheduler};

/// CPOP with insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpop {
    rule: MeanRule,
}

impl Cpop {
    /// CPOP whose ranks use this mean of messages.
    pub const fn new(rule: MeanRule) -> Cpop {
        Cpop { rule }
    }
}

impl Scheduler for Cpop {
    fn name(&self) -> &'static str {
        "cpop"
    }

    fn schedule_within(&self, problem: &Problem, meter: &Meter) -> Result<Schedule, ScheduleError> {
        let means = Means::new(problem, self.rule);
        let upward = means.upward(problem);
        let downward = means.downward(problem);
        let sums: Vec<f64> = upward
            .iter()
            .zip(&downward)
            .map(|(up, down)| up + down)
            .collect();
        let critical = critical_path(problem.dag(), &sums);
        let n_critical = critical.iter().filter(|&&is_critical| is_critical).count();
        meter.spend((n_critical * problem.hosts().len()) as u64)?;
        let host = critical_host(problem, &critical);
        let order = by_rank(problem.dag(), &sums);
        in_order(problem, meter, &order, |insertion, task| match host {
            Some(host) if critical[task as usize] && problem.fits(task, host) => {
                Some(insertion.on(task, host))
            }
            Some(_) | None => insertion.earliest(task),
        })
    }
}

/// From the entry with the largest sum of ranks on, at each step the first successor, in the order
/// of the input, with the same sum.
fn critical_path(dag: &Dag, sums: &[f64]) -> Vec<bool> {
    let longest = sums.iter().copied().fold(0.0, f64::max);
    let first = |tasks: &mut dyn Iterator<Item = u32>| {
        tasks
            .filter(|&task| !less(sums[task as usize], longest))
            .min_by_key(|&task| dag.given(task))
    };
    let mut entries = dag
        .tasks()
        .filter(|&task| dag.predecessors(task).len() == 0);
    let mut critical = vec![false; sums.len()];
    let mut next = first(&mut entries);
    while let Some(task) = next {
        critical[task as usize] = true;
        next = first(&mut dag.successors(task).map(|(succ, _)| succ));
    }
    critical
}

/// The machine on which the critical tasks take least time, of those that fit most of them.
fn critical_host(problem: &Problem, critical: &[bool]) -> Option<u32> {
    let dag = problem.dag();
    let tasks: Vec<u32> = dag
        .tasks()
        .filter(|&t| critical[t as usize] && problem.fixed(t).is_none() && !dag.is_gate(t))
        .collect();
    let mut best: Option<(usize, f64, u32)> = None;
    for host in 0..problem.hosts().len() as u32 {
        let fitting = tasks.iter().filter(|&&task| problem.fits(task, host));
        let n_fitting = fitting.clone().count();
        let seconds = fitting.map(|&task| problem.duration(task, host)).sum();
        let better = best.is_none_or(|(most, least, _)| {
            n_fitting > most || (n_fitting == most && less(seconds, least))
        });
        if better {
            best = Some((n_fitting, seconds, host));
        }
    }
    best.map(|(_, _, host)| host)
}

#[cfg(test)]
mod tests;
