//! HEFT with lookahead.
//!
//! L. F. Bittencourt, R. Sakellariou, E. R. M. Madeira, "DAG scheduling using a lookahead variant
//! of the heterogeneous earliest finish time algorithm", PDP 2010: HEFT's order, but a task goes
//! where its successors, placed after it for trial one after the other by descending rank, end
//! first; then where it ends first itself.
//!
//! Cost: O(e p) searches of HEFT, so it is given up above [`LOOKAHEAD_SEARCHES_MAX`].
//!
//! Differs from the paper: of a successor's predecessors only those that are placed count.

use crate::insertion::{Candidate, Insertion, in_order};
use crate::meter::Meter;
use crate::order::{by_rank, less, places};
use crate::problem::Problem;
use crate::rank::{MeanRule, Means};
use crate::schedule::{Schedule, ScheduleError, Scheduler};

/// The most searches for a machine of one schedule, up to some ten seconds of them.
pub const LOOKAHEAD_SEARCHES_MAX: u64 = 5_000_000;

/// HEFT that looks at the successors of a task before it is placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lookahead;

impl Scheduler for Lookahead {
    fn name(&self) -> &'static str {
        "lookahead"
    }

    fn schedule_within(&self, problem: &Problem, meter: &Meter) -> Result<Schedule, ScheduleError> {
        let dag = problem.dag();
        let searches = dag.n_edges() as u64 * problem.hosts().len() as u64;
        if searches > LOOKAHEAD_SEARCHES_MAX {
            return Err(ScheduleError::TooLarge {
                what: "edges times machines for lookahead",
                count: searches,
                max: LOOKAHEAD_SEARCHES_MAX,
            });
        }
        let rank = Means::new(problem, MeanRule::Costs).upward(problem);
        let order = by_rank(dag, &rank);
        let place = places(&order);
        let mut children = Vec::new();
        in_order(problem, meter, &order, |insertion, task| {
            children.clear();
            let waiting = dag.successors(task).map(|(succ, _)| succ);
            children.extend(waiting.filter(|&succ| problem.fixed(succ).is_none()));
            children.sort_unstable_by_key(|&succ| place[succ as usize]);
            choose((problem, meter), insertion, task, &children)
        })
    }
}

fn choose(
    (problem, meter): (&Problem, &Meter),
    insertion: &mut Insertion<'_>,
    task: u32,
    children: &[u32],
) -> Option<Candidate> {
    if children.is_empty() {
        return insertion.earliest(task);
    }
    let candidates: Vec<Candidate> = problem
        .fitting(problem.demand_class(task))
        .iter()
        .map(|&host| insertion.on(task, host))
        .collect();
    let mut best: Option<(f64, Candidate)> = None;
    for found in candidates {
        if meter.is_over() {
            return None;
        }
        let mut last = 0.0f64;
        insertion.try_place(task, found);
        for &child in children {
            insertion.arrive_from_placed(child);
            let there = if problem.dag().is_gate(child) {
                insertion.gate(child)
            } else {
                insertion.earliest(child)
            };
            // A task that fits no machine is refused when it is placed.
            if let Some(there) = there {
                last = last.max(there.finish);
                insertion.try_place(child, there);
            }
        }
        insertion.take_back();
        let better = best.is_none_or(|(other, place)| {
            less(last, other) || (!less(other, last) && less(found.finish, place.finish))
        });
        if better {
            best = Some((last, found));
        }
    }
    best.map(|(_, found)| found)
}

#[cfg(test)]
mod tests;
