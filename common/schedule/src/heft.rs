//! HEFT: heterogeneous earliest finish time.
//!
//! H. Topcuoglu, S. Hariri, M.-Y. Wu, "Performance-effective and low-complexity task scheduling
//! for heterogeneous computing", IEEE TPDS 13(3), 2002: tasks by descending upward rank
//! (equation 8), each on the machine where it ends first (equations 5 and 6), in the first gap
//! that is long enough.
//!
//! Cost: O(n log n + e g + n p log m) for n tasks, e edges, g groups, p machines and m tasks on a
//! machine, with the search for a gap close to O(log m). The factor p is small: machines of one
//! group and power are passed over together where they could not end the task earlier even if they
//! were idle, and a machine whose gaps have passed answers from two numbers.
//!
//! Differs from the paper: machines of several slots and tasks of several cores; times compared
//! with a tolerance (`order.rs`); equal ranks in the order of the input, equal finishes on the machine
//! of the lowest number. Gates hold no slot and lie where their data is complete first.

use crate::insertion::{Insertion, in_order};
use crate::meter::Meter;
use crate::order::by_rank;
use crate::problem::Problem;
use crate::rank::{MeanRule, Means};
use crate::schedule::{Schedule, ScheduleError, Scheduler};

/// HEFT with insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heft {
    rule: MeanRule,
}

impl Heft {
    /// HEFT whose ranks use this mean of messages.
    pub const fn new(rule: MeanRule) -> Heft {
        Heft { rule }
    }
}

impl Scheduler for Heft {
    fn name(&self) -> &'static str {
        match self.rule {
            MeanRule::Costs => "heft",
            MeanRule::Bandwidths => "heft-b",
        }
    }

    fn schedule_within(&self, problem: &Problem, meter: &Meter) -> Result<Schedule, ScheduleError> {
        let rank = Means::new(problem, self.rule).upward(problem);
        let order = by_rank(problem.dag(), &rank);
        in_order(problem, meter, &order, Insertion::earliest)
    }
}

#[cfg(test)]
mod tests;
