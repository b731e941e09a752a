//! The shortest schedule of several algorithms.
//!
//! No heuristic is best everywhere: on forks and joins with heavy messages PCH is ahead of HEFT, on
//! wide graphs with light ones behind. So both are asked, and the shorter schedule is kept; it is
//! never longer than any member's.

use crate::bound::bound;
use crate::heft::Heft;
use crate::meter::Meter;
use crate::order::less;
use crate::pch::Pch;
use crate::problem::Problem;
use crate::rank::MeanRule;
use crate::schedule::{Schedule, ScheduleError, Scheduler};

/// HEFT-B and PCH, the shorter of the two; HEFT-B where they are equal.
///
/// PCH is left out where it cannot win (HEFT is at the bound) and given up where it would take
/// long: above [`crate::PCH_TASKS_MAX`] tasks or [`Best::PCH_STEPS_MAX`] steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Best;

/// The result of one algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Its name.
    pub scheduler: &'static str,
    /// When its schedule ends, in seconds; none if it was not asked or gave up.
    pub makespan: Option<f64>,
}

/// The schedule that was kept with what all members gave.
#[derive(Clone, Debug, PartialEq)]
pub struct BestRun {
    /// The shortest schedule.
    pub schedule: Schedule,
    /// The algorithm that made it.
    pub scheduler: &'static str,
    /// One entry a member, in the order in which they are asked.
    pub estimates: Vec<Estimate>,
}

impl Best {
    /// Steps of PCH after which it is given up, about a second of them: a process waits for its
    /// first plan.
    pub const PCH_STEPS_MAX: u64 = 100_000_000;

    /// The shortest schedule, and how it was found.
    pub fn run(&self, problem: &Problem) -> Result<BestRun, ScheduleError> {
        self.run_within(problem, &Meter::unlimited())
    }

    fn run_within(&self, problem: &Problem, meter: &Meter) -> Result<BestRun, ScheduleError> {
        let heft = Heft::new(MeanRule::Bandwidths);
        let pch = Pch::within(Best::PCH_STEPS_MAX);
        let schedule = heft.schedule_within(problem, meter)?;
        let makespan = schedule.makespan();
        let mut run = BestRun {
            schedule,
            scheduler: heft.name(),
            estimates: vec![Estimate {
                scheduler: heft.name(),
                makespan: Some(makespan),
            }],
        };
        let other = if less(bound(problem), makespan) {
            match pch.schedule_within(problem, meter) {
                Ok(schedule) => Some(schedule),
                Err(ScheduleError::TooLarge { .. }) => None,
                Err(error @ ScheduleError::NoHost { .. }) => return Err(error),
            }
        } else {
            None
        };
        run.estimates.push(Estimate {
            scheduler: pch.name(),
            makespan: other.as_ref().map(Schedule::makespan),
        });
        if let Some(schedule) = other
            && less(schedule.makespan(), makespan)
        {
            run.schedule = schedule;
            run.scheduler = pch.name();
        }
        Ok(run)
    }
}

impl Scheduler for Best {
    fn name(&self) -> &'static str {
        "best"
    }

    fn schedule_within(&self, problem: &Problem, meter: &Meter) -> Result<Schedule, ScheduleError> {
        Ok(self.run_within(problem, meter)?.schedule)
    }
}

#[cfg(test)]
mod tests;
