//! The result of planning: the schedule, its figures, and the estimates of the algorithms.

use model::Span;
use schedule::{
    BestRun, Controlled, Cost, Estimate, Figures, Placing, Schedule, ScheduleError, SchedulerKind,
    Xavantes, XavantesThrough, check, check_through_controllers, through_controllers,
};

use super::goal::Reached;
use super::subject::Subject;
use crate::failure::{Failure, chain};

/// A plan.
pub(crate) struct PlanResult {
    /// The algorithm that the user chose.
    pub(crate) asked: &'static str,
    /// The algorithm whose plan it is: a member's where several ran.
    pub(crate) by: &'static str,
    /// The makespan by each algorithm, where several ran.
    pub(crate) estimates: Vec<Estimate>,
    /// Where and when each task runs.
    pub(crate) schedule: Schedule,
    /// The same with the machine of each controller, where data goes through them.
    controlled: Option<Controlled>,
    /// Its quality.
    pub(crate) figures: Figures,
    /// Its cost.
    pub(crate) cost: Cost,
    /// The goal that it reaches, where it has one.
    pub(crate) reached: Option<Reached>,
    /// Seconds that making it took, the graph built and the platform read.
    pub(crate) seconds: f64,
}

/// Why an algorithm gave no plan.
pub(crate) enum Refused {
    /// No machine fits a task.
    NoHost(String),
    /// It would take too long.
    TooLarge(String),
    /// Its plan breaks a rule: an error of this program.
    Invalid(String),
}

impl Refused {
    /// The failure of a command that asked this algorithm alone.
    pub(crate) fn failure(self) -> Failure {
        match self {
            Refused::NoHost(why) => Failure::refused(why),
            Refused::TooLarge(why) => {
                Failure::refused(why).help("another one may do: --scheduler heft")
            }
            Refused::Invalid(why) => Failure::new(why),
        }
    }
}

impl PlanResult {
    /// Has an algorithm make a plan, and checks it.
    pub(crate) fn new(
        subject: &Subject,
        kind: SchedulerKind,
        budget: Option<Span>,
    ) -> Result<PlanResult, Failure> {
        PlanResult::try_new(subject, kind, budget).map_err(Refused::failure)
    }

    /// The same, where others are asked too.
    pub(crate) fn try_new(
        subject: &Subject,
        kind: SchedulerKind,
        budget: Option<Span>,
    ) -> Result<PlanResult, Refused> {
        let begin = shell::clock::mono();
        let found = find(subject, kind, budget)
            .map_err(|error| PlanResult::refused(subject, kind, &error))?;
        let seconds = shell::clock::mono().since(begin).seconds();
        PlanResult::checked(subject, kind, found, seconds)
    }

    /// The reason why an algorithm gave no plan.
    pub(crate) fn refused(
        subject: &Subject,
        kind: SchedulerKind,
        error: &ScheduleError,
    ) -> Refused {
        match error {
            ScheduleError::NoHost { task } => Refused::NoHost(subject.misfit(*task)),
            ScheduleError::TooLarge { .. } => {
                let name = kind.scheduler().name();
                Refused::TooLarge(format!("{name} cannot plan this: {error}"))
            }
        }
    }

    /// Checks what an algorithm made.
    pub(crate) fn checked(
        subject: &Subject,
        kind: SchedulerKind,
        found: Solution,
        seconds: f64,
    ) -> Result<PlanResult, Refused> {
        let problem = &subject.problem;
        let name = kind.scheduler().name();
        let Solution {
            schedule,
            by,
            estimates,
            controlled,
        } = found;
        let checked = match (&controlled, &subject.tree) {
            (Some(controlled), Some(controllers)) => {
                check_through_controllers(problem, &controllers.tree, controlled)
            }
            (Some(_) | None, _) => check(problem, &schedule),
        };
        checked.map_err(|error| {
            let why = chain(&error);
            Refused::Invalid(format!("the plan of {name} breaks a rule: {why}"))
        })?;
        Ok(PlanResult {
            asked: name,
            by,
            // One alone says what the makespan says.
            estimates: if estimates.len() > 1 {
                estimates
            } else {
                Vec::new()
            },
            figures: Figures::new(problem, &schedule),
            cost: Cost::new(problem, &schedule, &subject.rates),
            reached: None,
            schedule,
            controlled,
            seconds,
        })
    }

    /// Seconds that the data of an edge takes from a task to another.
    pub(crate) fn transfer(&self, subject: &Subject, from: u32, to: u32, edge: u32) -> f64 {
        match (&self.controlled, &subject.tree) {
            (Some(controlled), Some(controllers)) => {
                controlled.transfer(&subject.problem, &controllers.tree, (from, to), edge)
            }
            (Some(_) | None, _) => {
                let entries = &self.schedule.entries;
                let hosts = [from, to].map(|task| entries[task as usize].host);
                subject.problem.transfer(edge, hosts[0], hosts[1])
            }
        }
    }

    /// The machine of each controller; none where data does not go through them.
    pub(crate) fn controllers(&self) -> &[u32] {
        self.controlled
            .as_ref()
            .map_or(&[], |controlled| &controlled.controllers)
    }

    /// Tasks that hold slots, in the order in which they start.
    pub(crate) fn in_order(&self, subject: &Subject) -> Vec<u32> {
        let dag = subject.problem.dag();
        let mut tasks: Vec<u32> = dag.tasks().filter(|&task| !dag.is_gate(task)).collect();
        tasks.sort_by(|&one, &other| {
            let (one, other) = (
                &self.schedule.entries[one as usize],
                &self.schedule.entries[other as usize],
            );
            let starts = one.start.total_cmp(&other.start);
            starts.then(one.finish.total_cmp(&other.finish))
        });
        tasks
    }
}

/// An algorithm's schedule in the mode that will run.
pub(crate) struct Solution {
    schedule: Schedule,
    by: &'static str,
    /// In the same mode; empty where that is not known.
    estimates: Vec<Estimate>,
    controlled: Option<Controlled>,
}

impl Solution {
    /// A schedule in direct mode.
    pub(crate) fn direct(schedule: Schedule, by: &'static str) -> Solution {
        Solution {
            schedule,
            by,
            estimates: Vec::new(),
            controlled: None,
        }
    }
}

/// `xavantes` searches in the mode that will run, within its budget. The others plan in direct mode,
/// and controllers are placed afterwards.
fn find(
    subject: &Subject,
    kind: SchedulerKind,
    budget: Option<Span>,
) -> Result<Solution, ScheduleError> {
    let problem = &subject.problem;
    let xavantes = budget.map_or(Xavantes::new(), |budget| Xavantes::within(budget.seconds()));
    let searches = kind == SchedulerKind::Xavantes;
    if let Some(controllers) = subject.tree.as_ref().filter(|_| searches) {
        let XavantesThrough {
            controlled,
            estimates,
        } = xavantes.run_through(problem, &controllers.tree)?;
        return Ok(Solution {
            schedule: controlled.schedule.clone(),
            by: kind.scheduler().name(),
            estimates,
            controlled: Some(controlled),
        });
    }
    let BestRun {
        schedule,
        scheduler,
        estimates,
    } = if searches {
        xavantes.run(problem)?
    } else {
        kind.run(problem)?
    };
    let Some(controllers) = &subject.tree else {
        return Ok(Solution {
            schedule,
            by: scheduler,
            estimates,
            controlled: None,
        });
    };
    let controlled = through_controllers(problem, &controllers.tree, &schedule, Placing::default());
    Ok(Solution {
        schedule: controlled.schedule.clone(),
        by: scheduler,
        estimates: Vec::new(),
        controlled: Some(controlled),
    })
}
