//! The power of a machine over time.

use std::sync::Arc;

use thiserror::Error;

/// A power that changes at some times and stays in between: that of a machine on which others
/// compete for the cores, or the part of its power that is left. Clones share one list.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerSteps(Arc<[PowerStep]>);

/// A power from some time on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerStep {
    /// Seconds from the start.
    pub from: f64,
    /// The power: a number from 0 up. At 0 the machine stands still.
    pub power: f64,
}

/// The reason why times and powers are no steps.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum PowerStepsError {
    /// No power at all.
    #[error("there is no power; there is at least the one at the start")]
    Empty,
    /// A first time that is not 0, or one that is not after the one before.
    #[error("power {step} begins at {from}; the first begins at 0, each other one later")]
    Time {
        /// The place of the step.
        step: usize,
        /// The time given.
        from: f64,
    },
    /// A power that is not a number from 0 up.
    #[error("power {step} is {power}; a power is a finite number not below 0")]
    Power {
        /// The place of the step.
        step: usize,
        /// The power given.
        power: f64,
    },
}

impl PowerSteps {
    /// Powers from times on, the first of which is 0; the last one holds for ever.
    pub fn new(steps: impl IntoIterator<Item = (f64, f64)>) -> Result<PowerSteps, PowerStepsError> {
        let steps = steps.into_iter();
        let steps: Arc<[PowerStep]> = steps
            .map(|(from, power)| PowerStep { from, power })
            .collect();
        if steps.is_empty() {
            return Err(PowerStepsError::Empty);
        }
        for (step, &PowerStep { from, power }) in steps.iter().enumerate() {
            let is_in_order = match step.checked_sub(1) {
                None => from == 0.0,
                Some(before) => from.is_finite() && from > steps[before].from,
            };
            if !is_in_order {
                return Err(PowerStepsError::Time { step, from });
            }
            if !(power.is_finite() && power >= 0.0) {
                return Err(PowerStepsError::Power { step, power });
            }
        }
        Ok(PowerSteps(steps))
    }

    /// One power for ever.
    pub fn constant(power: f64) -> Result<PowerSteps, PowerStepsError> {
        PowerSteps::new([(0.0, power)])
    }

    /// The same times with all powers multiplied by a number.
    pub fn scaled(&self, by: f64) -> Result<PowerSteps, PowerStepsError> {
        PowerSteps::new(self.0.iter().map(|step| (step.from, step.power * by)))
    }

    /// The steps, the first one from 0 on.
    pub fn steps(&self) -> &[PowerStep] {
        &self.0
    }

    /// The power at the start.
    pub fn at_start(&self) -> f64 {
        self.0[0].power
    }

    /// The time from which the machine stands still for ever; none if it does not.
    pub fn stands_still_from(&self) -> Option<f64> {
        let PowerStep { from, power } = self.0[self.0.len() - 1];
        (power == 0.0).then_some(from)
    }

    /// The power at a time. O(log steps).
    pub fn at(&self, seconds: f64) -> f64 {
        self.0[self.step(seconds)].power
    }

    /// The highest power.
    pub fn most(&self) -> f64 {
        self.0.iter().fold(0.0, |most, step| most.max(step.power))
    }

    /// True if there is more than one step.
    pub fn changes(&self) -> bool {
        self.0.len() > 1
    }

    /// The time of the next change after a time, if there is one. O(log steps).
    pub fn next_change(&self, seconds: f64) -> Option<f64> {
        let next = self.0.get(self.step(seconds) + 1)?;
        Some(next.from)
    }

    /// The time at which work ends that takes so many seconds at power 1 and starts at a time;
    /// infinity if it never does. O(log steps + steps passed).
    pub fn end(&self, start: f64, seconds: f64) -> f64 {
        let (mut step, mut now, mut left) = (self.step(start), start, seconds);
        if left <= 0.0 {
            return start;
        }
        loop {
            let power = self.0[step].power;
            let Some(&PowerStep { from: next, .. }) = self.0.get(step + 1) else {
                return match power > 0.0 {
                    true => now + left / power,
                    false => f64::INFINITY,
                };
            };
            let done = (next - now) * power;
            if done >= left {
                return now + left / power;
            }
            left -= done;
            (now, step) = (next, step + 1);
        }
    }

    /// The seconds at power 1 that are worked between two times. O(log steps + steps passed).
    pub fn worked(&self, start: f64, end: f64) -> f64 {
        let (mut step, mut now, mut sum) = (self.step(start), start, 0.0);
        loop {
            let next = self.0.get(step + 1);
            let next = next.map_or(f64::INFINITY, |next| next.from);
            let until = next.min(end);
            sum += (until - now).max(0.0) * self.0[step].power;
            if next >= end {
                return sum;
            }
            (now, step) = (next, step + 1);
        }
    }

    fn step(&self, seconds: f64) -> usize {
        let after = self.0.partition_point(|step| step.from <= seconds);
        after.saturating_sub(1)
    }
}

impl Default for PowerSteps {
    /// The power of the reference, for ever.
    fn default() -> PowerSteps {
        PowerSteps(Arc::new([PowerStep {
            from: 0.0,
            power: 1.0,
        }]))
    }
}

#[cfg(test)]
mod tests;
