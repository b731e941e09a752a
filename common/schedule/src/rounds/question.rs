//! Requests for plans, and the answers to them.

use std::sync::Arc;

use super::planner::Planner;
use super::progress::Progress;
use super::setting::Setting;
use crate::pch::Cluster;

/// A request for a plan, with all that the planner has to know beside the [`Setting`].
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Its number, which the answer repeats.
    pub number: u64,
    /// The tasks that may move, in order; none of them has started.
    pub movable: Vec<u32>,
    /// The narrower plan that a plan for all of them is compared with, if it is with any.
    pub narrower: Option<Narrower>,
    /// Tasks that run and may be stopped to start again elsewhere, if there are any.
    pub restarts: Option<Restart>,
    /// The least part of the makespan that a plan has to save, if it has to save any. Where none can, the
    /// answer moves nothing.
    pub gain_least: Option<f64>,
    /// The facts: tasks that have started, the places of all others, and the known powers of the machines.
    pub progress: Arc<Progress>,
}

/// A plan that moves fewer tasks, and is taken unless moving all of them saves more. What is known of
/// the machine that was judged is sure, and what is known of others seldom is: each task that moves
/// between these may run into a load that nobody has met.
#[derive(Clone, Debug, PartialEq)]
pub struct Narrower {
    /// The tasks of the machine that was judged, in order: all of them are among those that may move at all.
    pub movable: Vec<u32>,
    /// The least part of the makespan that moving more has to save beyond moving these.
    pub gain_least: f64,
    /// A plan that stops nothing moves these tasks alone where the process ends no later than this as it is,
    /// and only if its end rests on one of them.
    pub alone_until: Option<f64>,
}

/// Overdue tasks, which a plan may stop. What they have done is lost then, so that such a plan is
/// taken only if it saves enough beyond one that stops none.
#[derive(Clone, Debug, PartialEq)]
pub struct Restart {
    /// The tasks, in order, with the times before which nobody believes that they end; all of them
    /// run.
    pub stoppable: Vec<(u32, f64)>,
    /// True if nothing that waits moves along with them, because too many tasks wait.
    pub alone: bool,
    /// The least part of the makespan that stopping them has to save beyond not doing so.
    pub gain_least: f64,
    /// The least part of the makespan by which they have to make the process later.
    pub later_least: f64,
}

/// New places for the tasks of a [`Question`].
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The number of the question.
    pub number: u64,
    /// The paths that were placed together, in the order in which they were placed.
    pub clusters: Vec<Cluster>,
    /// Tasks that fit no machine that is left; they stay where they were.
    pub stranded: Vec<u32>,
    /// By controller: its machine, as the new places want it; none in direct mode.
    pub controllers: Vec<u32>,
    /// The makespan with everything where it was, by what is known at the time of the question.
    pub before: f64,
    /// The makespan with the new places, likewise.
    pub after: f64,
}

impl Question {
    /// Plans as [`Planner`] does.
    pub fn answer(&self, setting: &Setting) -> Answer {
        Planner::new(setting).answer(self)
    }

    /// The tasks that run and may be stopped, in order.
    pub(super) fn stoppable(&self) -> &[(u32, f64)] {
        match &self.restarts {
            Some(restarts) => &restarts.stoppable,
            None => &[],
        }
    }

    /// These tasks with those that may be stopped, as far as they do not run in this progress, in order.
    pub(super) fn with_stopped(
        &self,
        setting: &Setting,
        progress: &Progress,
        movable: &[u32],
    ) -> Vec<u32> {
        let stoppable = self.stoppable().iter().map(|&(task, _)| task);
        let stopped = stoppable.filter(|&task| progress.is_waiting(task));
        let n_movable = movable.len();
        let mut movable = movable.to_vec();
        movable.extend(stopped);
        if movable.len() > n_movable {
            movable.sort_unstable_by_key(|&task| setting.rank(task));
        }
        movable
    }
}

impl Answer {
    /// The tasks with their machines and lowest slots.
    pub(super) fn moves(&self, setting: &Setting) -> impl Iterator<Item = (u32, u32, u32)> {
        self.clusters.iter().flat_map(|cluster| {
            let tasks = cluster.tasks.iter();
            tasks.map(|&task| {
                let slot = first_slot(setting, task, cluster.host, cluster.slot);
                (task, cluster.host, slot)
            })
        })
    }

    /// True if it speaks of tasks and machines that are there.
    pub(super) fn fits(&self, setting: &Setting) -> bool {
        let n_hosts = setting.problem().hosts().len();
        let dag = setting.problem().dag();
        let fits = |cluster: &Cluster| {
            let slots = match setting.problem().hosts().get(cluster.host as usize) {
                Some(host) => host.slots,
                None => return false,
            };
            let mut tasks = cluster.tasks.iter();
            cluster.slot < slots
                && tasks.all(|&t| (t as usize) < dag.n_tasks() && dag.cores(t) <= slots)
        };
        self.clusters.iter().all(fits)
            && self.controllers.len() == setting.controllers().len()
            && self
                .controllers
                .iter()
                .all(|&host| (host as usize) < n_hosts)
    }
}

/// The lowest slot of a task from a slot on: one of several cores reaches to the machine's last slot
/// at most.
#[inline]
pub(super) fn first_slot(setting: &Setting, task: u32, host: u32, slot: u32) -> u32 {
    let slots = setting.problem().hosts()[host as usize].slots;
    slot.min(slots.saturating_sub(setting.problem().dag().cores(task)))
}
