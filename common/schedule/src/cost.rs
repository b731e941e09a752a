//! The cost of a schedule: the hours for which slots are held, money and energy.
//!
//! A machine that runs anything is held, with all its slots, from the start of its first activity to the end
//! of its last one, as those who rent machines pay for them. A machine that runs nothing is off.

use crate::problem::Problem;
use crate::schedule::{Schedule, holds_slots};

const HOUR: f64 = 3_600.0;

/// The costs of a machine; 0 where nobody told them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Money for each of its slots and hour, in any currency.
    pub price: f64,
    /// Watts that it draws while it is held and nothing runs.
    pub idle_watts: f64,
    /// Watts that it draws while all its slots are busy.
    pub busy_watts: f64,
}

/// The cost of a schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Machines that run something.
    pub machines: u32,
    /// Their slots.
    pub slots: u64,
    /// Slots times the hours for which they are held.
    pub slot_hours: f64,
    /// Their price.
    pub money: f64,
    /// The energy that the machines draw, in kilowatt hours: between idle and busy as many slots as run
    /// something.
    pub energy: f64,
}

impl Cost {
    /// The cost of a schedule; `rates` are by machine. O(n + machines).
    pub fn new(problem: &Problem, schedule: &Schedule, rates: &[Rates]) -> Cost {
        let mut held = vec![(f64::INFINITY, 0.0f64, 0.0f64); problem.hosts().len()];
        for entry in &schedule.entries {
            if holds_slots(problem, entry.task) {
                let (first, last, busy) = &mut held[entry.host as usize];
                *first = first.min(entry.start);
                *last = last.max(entry.finish);
                *busy += (entry.finish - entry.start) * f64::from(problem.dag().cores(entry.task));
            }
        }
        let mut cost = Cost::default();
        for ((host, (first, last, busy)), rates) in problem.hosts().iter().zip(held).zip(rates) {
            if first > last {
                continue;
            }
            let slots = f64::from(host.slots);
            let slot_hours = slots * (last - first) / HOUR;
            let busy_hours = busy / slots / HOUR;
            cost.machines += 1;
            cost.slots += u64::from(host.slots);
            cost.slot_hours += slot_hours;
            cost.money += slot_hours * rates.price;
            let idle = rates.idle_watts * (last - first) / HOUR;
            cost.energy += (idle + (rates.busy_watts - rates.idle_watts) * busy_hours) / 1_000.0;
        }
        cost
    }
}

#[cfg(test)]
mod tests;
