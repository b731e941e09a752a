//! IPPTS: improved predict priority task scheduling.
//!
//! H. Djigal, J. Feng, J. Lu, J. Ge, "IPPTS: an efficient algorithm for scientific workflow
//! scheduling in heterogeneous computing systems", IEEE TPDS 32(5), 2021, in the reading taken
//! here, which was made without the paper's text: PCM(t, p) = w(t, p) + the largest, over
//! successors s, of the least, over machines q, of PCM(s, q) + w(s, q) + the mean message where q
//! is not p. Of the tasks whose predecessors are placed the one with the largest mean of its row
//! comes next, on the machine with the least finish + PCM - own time, in the first gap that is long
//! enough. Its schedules are as good as the published ones in the mean, not the same.
//!
//! Cost: O(e k + n p) for k kinds of machines; machines of several slots and tasks of several cores
//! as in HEFT here.

use crate::insertion::in_order;
use crate::meter::Meter;
use crate::order::by_rank;
use crate::outlook::Outlook;
use crate::problem::Problem;
use crate::rank::{MeanRule, Means};
use crate::schedule::{Schedule, ScheduleError, Scheduler};

/// IPPTS with insertion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ippts;

impl Scheduler for Ippts {
    fn name(&self) -> &'static str {
        "ippts"
    }

    fn schedule_within(&self, problem: &Problem, meter: &Meter) -> Result<Schedule, ScheduleError> {
        let dag = problem.dag();
        let means = Means::new(problem, MeanRule::Costs);
        // PCM - own time, so that the own time, which is in PCM, is there twice with w(s, q).
        let after = Outlook::new(problem, &means, meter, |succ, there, host| {
            there + 2.0 * problem.duration(succ, host)
        })?;
        let rank = |task| after.mean(task) + means.duration(problem, task);
        let ranks: Vec<f64> = dag.tasks().map(rank).collect();
        in_order(problem, meter, &by_rank(dag, &ranks), |insertion, task| {
            insertion.least(task, |found| found.finish + after.at(task, found.host))
        })
    }
}

#[cfg(test)]
mod tests;
