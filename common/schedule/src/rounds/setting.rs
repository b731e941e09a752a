//! A process as rounds see it: what is to run where, and in which order, before anything has started.

use crate::controllers::{Placing, Tree, through_controllers};
use crate::pch::{PCH_TASKS_MAX, Pch, PchFast};
use crate::problem::Problem;
use crate::schedule::{Schedule, ScheduleError, Scheduler};

/// The way that data takes between two activities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Messages {
    /// From machine to machine.
    Direct,
    /// Through the controllers of both, which the rule places.
    Controllers(Tree, Placing),
}

/// A problem with its first plan. It is worked out once and shared by all executions of it.
#[derive(Clone, Debug)]
pub struct Setting {
    problem: Problem,
    messages: Messages,
    plan: Schedule,
    controllers: Vec<u32>,
}

impl Setting {
    /// Plans with PCH: exactly, or nearly so where the graph is too large for that.
    pub fn new(problem: Problem, messages: Messages) -> Result<Setting, ScheduleError> {
        let plan = match problem.dag().n_tasks() > PCH_TASKS_MAX {
            true => PchFast.schedule(&problem)?,
            false => Pch::new().schedule(&problem)?,
        };
        let (plan, controllers) = match &messages {
            Messages::Direct => (plan, Vec::new()),
            Messages::Controllers(tree, placing) => {
                let controlled = through_controllers(&problem, tree, &plan, *placing);
                (controlled.schedule, controlled.controllers)
            }
        };
        Ok(Setting {
            problem,
            messages,
            plan,
            controllers,
        })
    }

    /// The problem.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The way of data.
    pub fn messages(&self) -> &Messages {
        &self.messages
    }

    /// The first plan.
    pub fn plan(&self) -> &Schedule {
        &self.plan
    }

    /// The machines of the controllers in the first plan; none in direct mode.
    pub fn controllers(&self) -> &[u32] {
        &self.controllers
    }
}
