//! Steps of planning, counted instead of timed, so that the same problem gives the same plan on every
//! machine.

use std::cell::Cell;

use crate::schedule::ScheduleError;

/// The steps that algorithms may take: activities, messages, machines and slots that they look at, in units
/// of which [`crate::STEPS_PER_SECOND`] make a second.
#[derive(Debug)]
pub struct Meter {
    most: u64,
    spent: Cell<u64>,
}

impl Meter {
    /// So many steps.
    pub const fn of(most: u64) -> Meter {
        Meter {
            most,
            spent: Cell::new(0),
        }
    }

    /// As many as it takes.
    pub const fn unlimited() -> Meter {
        Meter::of(u64::MAX)
    }

    /// The steps that there were.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// The steps that were taken.
    pub fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// The steps that are left.
    pub fn left(&self) -> u64 {
        self.most.saturating_sub(self.spent.get())
    }

    /// Returns true if more steps were taken than there were.
    pub fn is_over(&self) -> bool {
        self.spent.get() > self.most
    }

    /// Counts steps.
    pub(crate) fn add(&self, steps: u64) {
        self.spent.set(self.spent.get().saturating_add(steps));
    }

    /// The error of an algorithm that has no steps left.
    pub(crate) fn check(&self) -> Result<(), ScheduleError> {
        match self.is_over() {
            true => Err(ScheduleError::TooLarge {
                what: "steps of planning",
                count: self.spent.get(),
                max: self.most,
            }),
            false => Ok(()),
        }
    }

    /// Counts steps, and checks.
    pub(crate) fn spend(&self, steps: u64) -> Result<(), ScheduleError> {
        self.add(steps);
        self.check()
    }
}
