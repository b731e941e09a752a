//! The power of machines as it really is while a process runs.

use model::{Platform, PowerSteps, PowerStepsError, Resource};
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
    factors: PowerSteps,
    gone_at: f64,
}

/// The reason why numbers are not the powers of machines.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PowerError {
    /// Factors that are no steps.
    #[error("could not read the steps of a machine")]
    Steps(#[from] PowerStepsError),
    /// A factor of a task that is not a number above 0.
    #[error(
        "factor {place} is {factor}; factors of tasks, speeds and links are finite and above 0"
    )]
    Factor {
        /// The number of the machine.
        place: usize,
        /// The value given.
        factor: f64,
    },
    /// Not one number, row or list for each task or machine.
    #[error("powers are given for {given} {what}; there are {count}")]
    Count {
        /// Tasks, machines, or what machines have.
        what: &'static str,
        /// The number given.
        given: usize,
        /// The number that there is.
        count: usize,
    },
}

impl Steps {
    /// Factors from times on, the first of which is 0; the last one holds for ever.
    pub fn new(steps: impl IntoIterator<Item = (f64, f64)>) -> Result<Steps, PowerError> {
        Ok(Steps::from(PowerSteps::new(steps)?))
    }

    /// One factor for ever.
    pub fn constant(factor: f64) -> Result<Steps, PowerError> {
        Ok(Steps::from(PowerSteps::constant(factor)?))
    }

    /// The same machine, which vanishes at a time with all that runs on it. Files that it has made
    /// are kept elsewhere: they can be read as if it were there.
    pub fn gone_at(mut self, seconds: f64) -> Steps {
        self.gone_at = seconds;
        self
    }

    /// The same times with all factors multiplied by a number above 0.
    pub fn scaled(&self, by: f64) -> Result<Steps, PowerError> {
        Ok(Steps::from(self.factors.scaled(by)?).gone_at(self.gone_at))
    }

    /// The time at which the machine vanishes; infinity if it never does.
    pub fn gone(&self) -> f64 {
        self.gone_at
    }

    /// The factor at a time.
    pub fn factor(&self, seconds: f64) -> f64 {
        self.factors.at(seconds)
    }

    /// The time at which something that needs so many seconds at factor 1 ends, if it starts at a time; infinity
    /// if it never does.
    pub fn end(&self, start: f64, seconds: f64) -> f64 {
        self.factors.end(start, seconds)
    }

    /// The seconds at factor 1 that are worked between two times.
    pub fn worked(&self, start: f64, end: f64) -> f64 {
        self.factors.worked(start, end)
    }
}

impl From<PowerSteps> for Steps {
    fn from(factors: PowerSteps) -> Steps {
        Steps {
            factors,
            gone_at: f64::INFINITY,
        }
    }
}

impl Powers {
    /// The nominal power of so many machines, always.
    pub fn nominal(machines: usize) -> Powers {
        Powers::Steps(vec![Steps::from(PowerSteps::default()); machines])
    }

    /// The powers that the machines of a platform have over time, such as those of a platform file. A
    /// plan knows their powers at the start, of which these are factors.
    pub fn of(platform: &Platform) -> Result<Powers, PowerError> {
        let machine = |machine: &Resource| match platform.power_steps(machine.id) {
            Some(steps) => Ok(Steps::from(steps.scaled(1.0 / machine.power)?)),
            None => Ok(Steps::from(PowerSteps::default())),
        };
        let machines: Result<Vec<Steps>, PowerError> =
            platform.resources().iter().map(machine).collect();
        machines.map(Powers::Steps)
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

#[cfg(test)]
mod tests;
