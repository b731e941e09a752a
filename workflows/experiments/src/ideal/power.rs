//! The power of machines as it really is while a process runs.

use thiserror::Error;

/// The real power of machines, as factors of the nominal one.
#[derive(Clone, Debug, PartialEq)]
pub enum Powers {
    /// A task runs at one factor from start to end: a row of one factor above 0 for each machine,
    /// for each task in the order of the input of the graph.
    PerTask(Vec<Vec<f64>>),
    /// By machine: a factor that changes with time, whatever runs.
    Steps(Vec<Steps>),
}

/// A factor of power that changes at some times.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    times: Vec<f64>,
    factors: Vec<f64>,
    gone_at: f64,
}

/// The reason why numbers are not the powers of machines.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PowerError {
    /// No step, or not one factor for each time.
    #[error("{factors} factors are given for {times} times; there is one each, and at least one")]
    Lengths {
        /// The number of times given.
        times: usize,
        /// The number of factors given.
        factors: usize,
    },
    /// A first time that is not 0, or one that is not after the one before.
    #[error("step {step} begins at {seconds}; the first begins at 0, each other one later")]
    Time {
        /// The number of the step.
        step: usize,
        /// The time given.
        seconds: f64,
    },
    /// A factor that is not a number from 0 up (above 0 for tasks).
    #[error("factor {place} is {factor}; factors are finite and not below 0, of tasks above 0")]
    Factor {
        /// The number of the step or machine.
        place: usize,
        /// The value given.
        factor: f64,
    },
    /// Not one row or list for each task or machine.
    #[error("powers are given for {given} {what}; there are {count}")]
    Count {
        /// Tasks or machines.
        what: &'static str,
        /// The number given.
        given: usize,
        /// The number that there is.
        count: usize,
    },
}

impl Steps {
    /// Factors from times on, the first of which is 0; the last one holds for ever.
    pub fn new(times: Vec<f64>, factors: Vec<f64>) -> Result<Steps, PowerError> {
        if times.is_empty() || times.len() != factors.len() {
            return Err(PowerError::Lengths {
                times: times.len(),
                factors: factors.len(),
            });
        }
        for (step, &seconds) in times.iter().enumerate() {
            let sound = match step {
                0 => seconds == 0.0,
                _ => seconds.is_finite() && seconds > times[step - 1],
            };
            if !sound {
                return Err(PowerError::Time { step, seconds });
            }
        }
        let bad = |factor: &f64| !(factor.is_finite() && *factor >= 0.0);
        if let Some(place) = factors.iter().position(bad) {
            let factor = factors[place];
            return Err(PowerError::Factor { place, factor });
        }
        Ok(Steps {
            times,
            factors,
            gone_at: f64::INFINITY,
        })
    }

    /// One factor for ever.
    pub fn constant(factor: f64) -> Result<Steps, PowerError> {
        Steps::new(vec![0.0], vec![factor])
    }

    /// The same machine, which vanishes at a time with all that runs on it. Files that it has made
    /// are kept elsewhere: they can be read as if it were there.
    pub fn gone_at(mut self, seconds: f64) -> Steps {
        self.gone_at = seconds;
        self
    }

    /// The same times with all factors multiplied by a number above 0.
    pub fn scaled(&self, by: f64) -> Result<Steps, PowerError> {
        let factors = self.factors.iter().map(|factor| factor * by).collect();
        let scaled = Steps::new(self.times.clone(), factors)?;
        Ok(scaled.gone_at(self.gone_at))
    }

    /// The time at which the machine vanishes; infinity if it never does.
    pub fn gone(&self) -> f64 {
        self.gone_at
    }

    /// The factor at a time.
    pub fn factor(&self, seconds: f64) -> f64 {
        self.factors[self.step(seconds)]
    }

    /// The time at which something that needs so many seconds at factor 1 ends, if it starts at a time; infinity
    /// if it never does. O(log steps + steps passed).
    pub fn end(&self, start: f64, seconds: f64) -> f64 {
        let (mut step, mut now, mut left) = (self.step(start), start, seconds);
        if left <= 0.0 {
            return start;
        }
        loop {
            let factor = self.factors[step];
            let Some(&next) = self.times.get(step + 1) else {
                return match factor > 0.0 {
                    true => now + left / factor,
                    false => f64::INFINITY,
                };
            };
            let done = (next - now) * factor;
            if done >= left {
                return now + left / factor;
            }
            left -= done;
            (now, step) = (next, step + 1);
        }
    }

    /// The seconds at factor 1 that are worked between two times.
    pub fn worked(&self, start: f64, end: f64) -> f64 {
        let (mut step, mut now, mut sum) = (self.step(start), start, 0.0);
        loop {
            let next = self.times.get(step + 1).copied().unwrap_or(f64::INFINITY);
            let until = next.min(end);
            sum += (until - now).max(0.0) * self.factors[step];
            if next >= end {
                return sum;
            }
            (now, step) = (next, step + 1);
        }
    }

    fn step(&self, seconds: f64) -> usize {
        let after = self.times.partition_point(|&time| time <= seconds);
        after.saturating_sub(1)
    }
}

impl Powers {
    /// The nominal power of so many machines, always.
    pub fn nominal(machines: usize) -> Powers {
        let steps = Steps {
            times: vec![0.0],
            factors: vec![1.0],
            gone_at: f64::INFINITY,
        };
        Powers::Steps(vec![steps; machines])
    }

    /// The first reason why these are not the powers of so many tasks and machines.
    pub fn check(&self, tasks: usize, machines: usize) -> Result<(), PowerError> {
        let count = |what, given, count| match given == count {
            true => Ok(()),
            false => Err(PowerError::Count { what, given, count }),
        };
        match self {
            Powers::Steps(steps) => count("machines", steps.len(), machines),
            Powers::PerTask(rows) => {
                count("tasks", rows.len(), tasks)?;
                for row in rows {
                    count("machines", row.len(), machines)?;
                    let bad = |factor: &f64| !(factor.is_finite() && *factor > 0.0);
                    if let Some(place) = row.iter().position(bad) {
                        let factor = row[place];
                        return Err(PowerError::Factor { place, factor });
                    }
                }
                Ok(())
            }
        }
    }
}
