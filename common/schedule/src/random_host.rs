//! Random: the tasks in topological order, each on a machine drawn from those that fit it.
//!
//! A yardstick, not a plan. The numbers come from a seed, so that the same problem gives the same
//! schedule. O(n) beside the search for a gap.

use crate::insertion::in_order;
use crate::meter::Meter;
use crate::problem::Problem;
use crate::random::Random;
use crate::schedule::{Schedule, ScheduleError, Scheduler};

/// A machine drawn for each task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RandomHost {
    seed: u64,
}

impl RandomHost {
    /// Draws that a seed determines.
    pub const fn new(seed: u64) -> RandomHost {
        RandomHost { seed }
    }
}

impl Scheduler for RandomHost {
    fn name(&self) -> &'static str {
        "random"
    }

    fn schedule_within(&self, problem: &Problem, meter: &Meter) -> Result<Schedule, ScheduleError> {
        let order: Vec<u32> = problem.dag().tasks().collect();
        let mut random = Random::new(self.seed);
        in_order(problem, meter, &order, |insertion, task| {
            let fitting = problem.fitting(problem.demand_class(task));
            if fitting.is_empty() {
                return None;
            }
            Some(insertion.on(task, fitting[random.below(fitting.len())]))
        })
    }
}

#[cfg(test)]
mod tests;
