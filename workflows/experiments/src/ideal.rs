//! The ideal executor: a process runs by a policy on machines whose power varies, with exact times,
//! no overhead and no failure but machines that vanish.

mod executor;
mod machines;
mod power;

use std::sync::Arc;

use schedule::rounds::{Messages, Policy, PolicyError, Setting};
use schedule::{Cluster, Problem, ScheduleError};
use thiserror::Error;

pub use power::{PowerError, Powers, Steps};

/// The course of an execution.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    /// The time at which the last task ended.
    pub makespan: f64,
    /// The makespan that the first plan promised.
    pub planned: f64,
    /// By position of the task in the graph.
    pub ran: Vec<Ran>,
    /// Steps of the policy, in order.
    pub events: Vec<Event>,
}

/// The place and the times of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ran {
    /// The machine.
    pub host: u32,
    /// The time at which it started there, for the last time if its first machine vanished.
    pub start: f64,
    /// The time at which it ended.
    pub finish: f64,
}

/// A step of the policy.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Tasks were sent to a machine.
    Send {
        /// When.
        time: f64,
        /// The machine.
        host: u32,
        /// Its round, from 1.
        round: u32,
        /// The tasks, by position, in the order of the machine.
        tasks: Vec<u32>,
    },
    /// A machine was found slow.
    Loss {
        /// When.
        time: f64,
        /// The machine.
        host: u32,
        /// The factor of its known power: expected over real time.
        performance: f64,
    },
    /// Tasks of a machine were planned again, and the plan was kept.
    Reschedule {
        /// When.
        time: f64,
        /// The machine that was judged.
        host: u32,
        /// The tasks with their new machines.
        clusters: Vec<Cluster>,
    },
    /// A task was stopped while it ran, to start again elsewhere.
    Stop {
        /// When.
        time: f64,
        /// The machine that it ran on.
        host: u32,
        /// The task, by position.
        task: u32,
    },
    /// Tasks were planned again, and the old plan stayed because the other one did not pay.
    Declined {
        /// When.
        time: f64,
        /// The machine that was judged.
        host: u32,
    },
}

/// The reason why there is no execution.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Failure {
    /// Options that are no policy.
    #[error("could not follow the policy")]
    Policy(#[from] PolicyError),
    /// Powers that do not match the problem.
    #[error("could not read the powers")]
    Powers(#[from] PowerError),
    /// A horizon that is not a time.
    #[error("the horizon is {0} s; it is a finite number above 0")]
    Horizon(f64),
    /// No plan to begin with.
    #[error("could not plan")]
    Plan(#[from] ScheduleError),
    /// Tasks that did not end.
    #[error(transparent)]
    Unfinished(#[from] Verdict),
}

/// The tasks that did not end, with the reason of each.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{} activities cannot finish; the first of them {}", .tasks.len(), .tasks[0].1)]
pub struct Verdict {
    /// By position, at least one.
    pub tasks: Vec<(u32, Why)>,
}

/// The reason why a task did not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Why {
    /// Its machine has power 0 for ever.
    #[error("is on machine {host}, whose power is 0 for ever")]
    NoPower {
        /// The machine.
        host: u32,
    },
    /// Its machine has vanished.
    #[error("is on machine {host}, which has vanished")]
    Gone {
        /// The machine.
        host: u32,
    },
    /// It waits for another task, or behind one, that cannot end.
    #[error("waits for task {task}")]
    Waits {
        /// That task.
        task: u32,
    },
    /// It would end later than the horizon.
    #[error("ends after the horizon")]
    Late,
}

impl Execution {
    /// The number of times that tasks were planned again and the plan was kept.
    pub fn reschedules(&self) -> usize {
        let kept = |event: &&Event| match event {
            Event::Reschedule { .. } => true,
            Event::Send { .. }
            | Event::Loss { .. }
            | Event::Stop { .. }
            | Event::Declined { .. } => false,
        };
        self.events.iter().filter(kept).count()
    }
}

/// The conditions of an execution, which no plan knows.
#[derive(Clone, Copy, Debug)]
pub struct Conditions<'a> {
    /// The power that tasks get.
    pub powers: &'a Powers,
    /// By machine: the factor of its nominal power that it has itself; what tasks get less than
    /// that, others take. It says which CPU times tasks have. Where it is empty nobody tells of these.
    pub speeds: &'a [f64],
    /// By machine: the bandwidth of its links as a factor of that of the platform. A transfer is as
    /// fast as the slower of both ends. Where it is empty all are 1, and nobody tells of transfers.
    pub links: &'a [f64],
}

impl<'a> Conditions<'a> {
    /// Powers alone.
    pub fn of(powers: &'a Powers) -> Conditions<'a> {
        Conditions {
            powers,
            speeds: &[],
            links: &[],
        }
    }

    /// The first reason why these are not the conditions of so many tasks and machines.
    pub fn check(&self, tasks: usize, machines: usize) -> Result<(), PowerError> {
        self.powers.check(tasks, machines)?;
        for (what, factors) in [("speeds", self.speeds), ("links", self.links)] {
            if !factors.is_empty() && factors.len() != machines {
                return Err(PowerError::Count {
                    what,
                    given: factors.len(),
                    count: machines,
                });
            }
            let bad = |factor: &f64| !(factor.is_finite() && *factor > 0.0);
            if let Some(place) = factors.iter().position(bad) {
                let factor = factors[place];
                return Err(PowerError::Factor { place, factor });
            }
        }
        Ok(())
    }
}

/// Plans a problem and runs it. Where the same problem runs more than once, [`execute_setting`] plans
/// once.
pub fn execute(
    problem: &Problem,
    policy: &Policy,
    powers: &Powers,
    messages: &Messages,
    horizon: f64,
) -> Result<Execution, Failure> {
    let setting = Setting::new(problem.clone(), messages.clone())?;
    execute_setting(&Arc::new(setting), policy, powers, horizon)
}

/// Runs a problem from its first plan on machines of some powers.
pub fn execute_setting(
    setting: &Arc<Setting>,
    policy: &Policy,
    powers: &Powers,
    horizon: f64,
) -> Result<Execution, Failure> {
    execute_under(setting, policy, &Conditions::of(powers), horizon)
}

/// Runs a problem from its first plan.
pub fn execute_under(
    setting: &Arc<Setting>,
    policy: &Policy,
    conditions: &Conditions<'_>,
    horizon: f64,
) -> Result<Execution, Failure> {
    policy.check()?;
    let problem = setting.problem();
    conditions.check(problem.dag().n_tasks(), problem.hosts().len())?;
    if !(horizon.is_finite() && horizon > 0.0) {
        return Err(Failure::Horizon(horizon));
    }
    executor::run(setting, policy, conditions, horizon)
}
