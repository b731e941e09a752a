//! The way of messages in a manager's request: from machine to machine, or through controllers that
//! each lie on the machine of one activity.
//!
//! A process manager keeps a controller's data beside an activity that it can name from the tree alone
//! (section 10.1 of the digest: a sequence with its first task, the others with the task in front of
//! them), so that it needs no record of where controllers are. Plans have to count on the same places.

use std::collections::BTreeMap;

use model::ActivityId;

use crate::controllers::{Tree, TreeError, again};
use crate::memory::fit_with;
use crate::order::less;
use crate::problem::Problem;
use crate::request::SchedulerKind;
use crate::schedule::Schedule;

/// The algorithms that are asked beside the wanted one where data passes controllers, since a schedule
/// that is the shortest without them seldom is with them: those with few messages among them.
const BESIDE: [SchedulerKind; 4] = [
    SchedulerKind::PchFast,
    SchedulerKind::Cpop,
    SchedulerKind::OneGroup,
    SchedulerKind::OneMachine,
];

/// Controllers that data passes, by their places in the lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Controllers {
    /// The controller above each; none for the root.
    pub parents: Vec<Option<u32>>,
    /// The activity on whose machine each is; where there is none, data passes by it.
    pub beside: Vec<Option<ActivityId>>,
    /// The controller of each activity.
    pub of: BTreeMap<ActivityId, u32>,
}

/// The way of messages.
#[derive(Clone, Debug)]
pub(crate) enum Way {
    Direct,
    Through {
        tree: Tree,
        /// By controller: the task on whose machine it is.
        beside: Vec<Option<u32>>,
    },
}

impl Way {
    /// The way through controllers, where there are some. Gates belong to the root.
    pub(crate) fn new(
        problem: &Problem,
        controllers: Option<&Controllers>,
    ) -> Result<Way, TreeError> {
        let Some(controllers) = controllers else {
            return Ok(Way::Direct);
        };
        let dag = problem.dag();
        let root = controllers.parents.iter().position(Option::is_none);
        let root = root.unwrap_or_default() as u32;
        let mut of_task = vec![root; dag.n_tasks()];
        let mut tasks = BTreeMap::new();
        for task in dag.tasks() {
            if let Some(activity) = dag.activity(task) {
                tasks.insert(activity, task);
                let own = controllers.of.get(&activity).copied();
                of_task[dag.given(task) as usize] = own.unwrap_or(root);
            }
        }
        let tree = Tree::new(problem, &controllers.parents, &of_task)?;
        let mut beside = vec![None; tree.n_controllers()];
        for (beside, activity) in beside.iter_mut().zip(&controllers.beside) {
            *beside = activity.and_then(|activity| tasks.get(&activity).copied());
        }
        Ok(Way::Through { tree, beside })
    }

    /// Seconds that the data of an edge takes from its task to the other.
    pub(crate) fn transfer(
        &self,
        problem: &Problem,
        host_of: impl Fn(u32) -> u32,
        (from, to): (u32, u32),
        edge: u32,
    ) -> f64 {
        let (mut here, last) = (host_of(from), host_of(to));
        let dag = problem.dag();
        match self {
            Way::Through { tree, beside } if !dag.is_gate(from) && !dag.is_gate(to) => {
                let stops = tree.stops(from, to).into_iter();
                let stops = stops.filter_map(|controller| beside[controller as usize]);
                let mut seconds = 0.0;
                for next in stops.map(&host_of).chain([last]) {
                    seconds += problem.transfer(edge, here, next);
                    here = next;
                }
                seconds
            }
            Way::Through { .. } | Way::Direct => problem.transfer(edge, here, last),
        }
    }

    /// A schedule made in direct mode with the times that it has by this way.
    pub(crate) fn recounted(&self, problem: &Problem, schedule: Schedule) -> Schedule {
        match self {
            Way::Direct => schedule,
            Way::Through { .. } => {
                let hosts: Vec<u32> = schedule.entries.iter().map(|entry| entry.host).collect();
                let host_of = |task: u32| hosts[task as usize];
                let counted = again(problem, &schedule, |pred, task, edge| {
                    self.transfer(problem, host_of, (pred, task), edge)
                });
                fit_with(problem, counted, |_, ends, edge| {
                    self.transfer(problem, host_of, ends, edge)
                })
            }
        }
    }

    /// The shortest by this way of a schedule and of those of some other algorithms, with the name of its
    /// algorithm.
    pub(crate) fn shortest(
        &self,
        problem: &Problem,
        (schedule, scheduler): (Schedule, &'static str),
    ) -> (Schedule, &'static str) {
        let mut best = (self.recounted(problem, schedule), scheduler);
        if matches!(self, Way::Direct) {
            return best;
        }
        for kind in BESIDE {
            let other = kind.scheduler();
            // One that has no schedule of so many tasks is left out.
            let Ok(schedule) = other.schedule(problem) else {
                continue;
            };
            let schedule = self.recounted(problem, schedule);
            if less(schedule.makespan(), best.0.makespan()) {
                best = (schedule, other.name());
            }
        }
        best
    }
}

#[cfg(test)]
mod tests;
