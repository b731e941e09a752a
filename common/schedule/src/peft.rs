//! PEFT: predict earliest finish time.
//!
//! H. Arabnejad, J. G. Barbosa, "List scheduling algorithm for heterogeneous systems by an
//! optimistic cost table", IEEE TPDS 25(3), 2014: the table OCT(t, p) (equation 3) is what must
//! still follow t if it is on p and every later task has the machine it likes best. Of the tasks
//! whose predecessors are placed the one with the largest mean of its row comes next, on the
//! machine with the least finish + OCT (equation 7), in the first gap that is long enough.
//!
//! Cost: O(e k + n p) for k kinds of machines; differs from the paper as HEFT does here.

use crate::insertion::in_order;
use crate::meter::Meter;
use crate::order::by_rank;
use crate::outlook::Outlook;
use crate::problem::Problem;
use crate::rank::{MeanRule, Means};
use crate::schedule::{Schedule, ScheduleError, Scheduler};

/// PEFT with insertion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peft;

impl Scheduler for Peft {
    fn name(&self) -> &'static str {
        "peft"
    }

    fn schedule_within(&self, problem: &Problem, meter: &Meter) -> Result<Schedule, ScheduleError> {
        let means = Means::new(problem, MeanRule::Costs);
        let optimistic = Outlook::new(problem, &means, meter, |succ, there, host| {
            there + problem.duration(succ, host)
        })?;
        let ranks: Vec<f64> = problem
            .dag()
            .tasks()
            .map(|task| optimistic.mean(task))
            .collect();
        let order = by_rank(problem.dag(), &ranks);
        in_order(problem, meter, &order, |insertion, task| {
            insertion.least(task, |found| found.finish + optimistic.at(task, found.host))
        })
    }
}

#[cfg(test)]
mod tests;
