//! Round robin: the tasks in topological order, each on the next machine in turn that fits it.
//!
//! A yardstick, not a plan: it looks at no time. O(n p) at worst, O(n) where all fit everywhere,
//! beside the search for a gap.

use crate::insertion::in_order;
use crate::meter::Meter;
use crate::problem::Problem;
use crate::schedule::{Schedule, ScheduleError, Scheduler};

/// Each machine in turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundRobin;

impl Scheduler for RoundRobin {
    fn name(&self) -> &'static str {
        "round-robin"
    }

    fn schedule_within(&self, problem: &Problem, meter: &Meter) -> Result<Schedule, ScheduleError> {
        let order: Vec<u32> = problem.dag().tasks().collect();
        let mut turn = 0;
        in_order(problem, meter, &order, |insertion, task| {
            let fitting = problem.fitting(problem.demand_class(task));
            let next = fitting.partition_point(|&host| host < turn);
            let host = *fitting.get(next).or(fitting.first())?;
            turn = host + 1;
            Some(insertion.on(task, host))
        })
    }
}

#[cfg(test)]
mod tests;
