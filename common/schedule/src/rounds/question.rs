//! Planning again what has not started: PCH in the middle of an execution.
//!
//! Algorithms 2 and 3 of Bittencourt and Madeira over the tasks that may move, all others where they
//! are (rules A11 to A13 of the digest). It differs from [`crate::Pch`] in what [`Estimates`] says
//! of time; the rules of choice are the same.

use std::sync::Arc;

use super::candidates::Candidates;
use super::estimates::{Estimates, NONE, Room};
use super::least::Least;
use super::placing::{Memory, best_place};
use super::progress::{Phase, Progress};
use super::setting::{Messages, Setting};
use crate::controllers::{Bounds, Tree, places};
use crate::order::less;
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
    /// The tasks of the machine that was judged, in order.
    pub movable: Vec<u32>,
    /// The least part of the makespan that moving more has to save beyond moving these.
    pub gain_least: f64,
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

/// Answers questions, and keeps the memory that it needs for the next one.
#[derive(Default)]
pub struct Planner {
    room: Room,
    candidates: Candidates,
    choices: Memory,
    least: Least,
}

impl Planner {
    /// Plans as [`Question::answer`] does.
    pub fn answer(&mut self, question: &Question, setting: &Setting) -> Answer {
        question.answer_by(self, setting)
    }
}

impl Question {
    /// Plans. O(k s (n + e)) at worst for k clusters and s slots; in practice a candidate visits only
    /// what its change reaches, and most slots are passed over because the path alone would take too
    /// long there.
    ///
    /// A narrower plan, where there is one to compare with, is the answer unless the wider one is better
    /// by enough than that one and than no plan. Where overdue tasks may be stopped, such a plan is
    /// made too, and is the answer if it is better by enough when these tasks run on for long.
    pub fn answer(&self, setting: &Setting) -> Answer {
        Planner::default().answer(self, setting)
    }

    fn answer_by(&self, planner: &mut Planner, setting: &Setting) -> Answer {
        let before = makespan(setting, &self.progress, &[], planner);
        let most = self.gain_least.map(|least| (1.0 - least) * before);
        let Some(restarts) = &self.restarts else {
            return self.wide_or_narrow(setting, &self.progress, (before, most), planner);
        };
        let overdue_before = makespan(setting, &self.progress, self.stoppable(), planner);
        let restarted = self.restarted(restarts);
        let share = 1.0 - restarts.gain_least;
        let below = share * overdue_before;
        let movable = match restarts.alone {
            true => self.with_stopped(setting, &restarted, &[]),
            false => self.with_stopped(setting, &restarted, &self.movable),
        };
        let least = planner.least.makespan(setting, &restarted, &movable);
        if least >= below {
            // Stopping anything saves too little.
            return self.wide_or_narrow(setting, &self.progress, (before, most), planner);
        }
        let bounds = (overdue_before, Some(below));
        let restarting = match restarts.alone {
            true => self.plan(setting, &restarted, &[], overdue_before, planner),
            false => self.wide_or_narrow(setting, &restarted, bounds, planner),
        };
        if !less(restarting.after, below) || !restarting.stranded.is_empty() {
            return self.wide_or_narrow(setting, &self.progress, (before, most), planner);
        }
        // How good it is to stop nothing has to be known only where stopping something saves enough beside
        // what is planned.
        let staying = self.wide_or_narrow(setting, &self.progress, (before, None), planner);
        let staying_after = self.overdue_makespan(setting, &staying, planner);
        match less(restarting.after, share * staying_after) {
            true => restarting,
            false => staying,
        }
    }

    /// The tasks that run and may be stopped, in order.
    pub(super) fn stoppable(&self) -> &[(u32, f64)] {
        match &self.restarts {
            Some(restarts) => &restarts.stoppable,
            None => &[],
        }
    }

    /// The plan for all tasks that may move, or that for fewer of them; none is made that cannot be the answer. Where
    /// there is a time that a plan has to come below, and none can, everything stays.
    fn wide_or_narrow(
        &self,
        setting: &Setting,
        progress: &Progress,
        (before, most): (f64, Option<f64>),
        planner: &mut Planner,
    ) -> Answer {
        if most.is_none() && self.narrower.is_none() {
            return self.plan(setting, progress, &self.movable, before, planner);
        }
        let least_of = |planner: &mut Planner, movable: &[u32]| {
            let movable = self.with_stopped(setting, progress, movable);
            planner.least.makespan(setting, progress, &movable)
        };
        let least = least_of(planner, &self.movable);
        if most.is_some_and(|most| least >= most) {
            return self.as_it_is(progress, before);
        }
        let Some(narrower) = &self.narrower else {
            let below = most.unwrap_or(f64::INFINITY);
            let plan = self.plan_below(setting, progress, &self.movable, (before, below), planner);
            return plan.unwrap_or_else(|| self.as_it_is(progress, before));
        };
        let share = 1.0 - narrower.gain_least;
        let below = share * before;
        let wider = match least < below {
            true => self.plan_below(setting, progress, &self.movable, (before, below), planner),
            false => None,
        };
        let wider = wider.filter(|wider| less(wider.after, below));
        let least = least_of(planner, &narrower.movable);
        let below = match &wider {
            Some(wider) if less(wider.after, share * before.min(least)) => 0.0,
            Some(_) => f64::INFINITY,
            None => most.unwrap_or(f64::INFINITY),
        };
        let narrow = match below.is_infinite() || least < below {
            true => {
                let bounds = (before, below);
                self.plan_below(setting, progress, &narrower.movable, bounds, planner)
            }
            false => None,
        };
        let Some(narrow) = narrow else {
            return wider.unwrap_or_else(|| self.as_it_is(progress, before));
        };
        let to_beat = before.min(narrow.after);
        let wider = wider.filter(|wider| less(wider.after, share * to_beat));
        wider.unwrap_or(narrow)
    }

    /// The answer that moves nothing.
    fn as_it_is(&self, progress: &Progress, before: f64) -> Answer {
        Answer {
            number: self.number,
            clusters: Vec::new(),
            stranded: Vec::new(),
            controllers: progress.controllers.clone(),
            before,
            after: before,
        }
    }

    /// The facts with the tasks that may be stopped as if they had not started.
    fn restarted(&self, restarts: &Restart) -> Progress {
        let mut progress = Progress::clone(&self.progress);
        for &(task, _) in &restarts.stoppable {
            progress.phase[task as usize] = Phase::Waiting;
        }
        progress
    }

    /// These tasks with those that may be stopped, as far as they do not run in this progress, in order.
    fn with_stopped(&self, setting: &Setting, progress: &Progress, movable: &[u32]) -> Vec<u32> {
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

    /// The makespan of new places, if overdue tasks run on for as long as is believed.
    fn overdue_makespan(&self, setting: &Setting, answer: &Answer, planner: &mut Planner) -> f64 {
        let mut progress = Progress::clone(&self.progress);
        for (task, host, slot) in answer.moves(setting) {
            let place = task as usize;
            if progress.host[place] != host {
                progress.since[place] = progress.now;
            }
            (progress.host[place], progress.slot[place]) = (host, slot);
        }
        progress.controllers.clone_from(&answer.controllers);
        makespan(setting, &progress, self.stoppable(), planner)
    }

    /// Plans these tasks, which may move, and those that may be stopped if they do not run in this
    /// progress; all others stay where they are.
    fn plan(
        &self,
        setting: &Setting,
        progress: &Progress,
        movable: &[u32],
        before: f64,
        planner: &mut Planner,
    ) -> Answer {
        let bounds = (before, f64::INFINITY);
        let plan = self.plan_below(setting, progress, movable, bounds, planner);
        plan.expect("no time is beyond infinity")
    }

    /// Plans as long as the process can end before a time. Unless that is infinity, the bound of the planner is
    /// that of the same tasks.
    fn plan_below(
        &self,
        setting: &Setting,
        progress: &Progress,
        movable: &[u32],
        (before, below): (f64, f64),
        planner: &mut Planner,
    ) -> Option<Answer> {
        let movable = self.with_stopped(setting, progress, movable);
        let Planner {
            room,
            candidates,
            choices,
            least,
        } = planner;
        let taken = std::mem::take(room);
        let mut estimates = Estimates::within(taken, setting, progress, &movable, &[]);
        candidates.begin(progress, self.stoppable());
        let mut answer = self.as_it_is(progress, before);
        for &head in &movable {
            if estimates.host[head as usize] != NONE {
                continue;
            }
            let tasks = candidates.next_cluster(&mut estimates, head);
            match best_place(&mut estimates, &tasks, &candidates.places, choices) {
                Some((host, slot)) => {
                    estimates.place(&tasks, host, slot);
                    if below.is_finite() {
                        let start = match setting.traffic() {
                            // What is before it in the order is placed, so that it starts no sooner.
                            None => {
                                estimates.settle(setting.rank(head));
                                estimates.est(head)
                            }
                            // Controllers are placed at the end, and could let it.
                            Some(_) => {
                                let host_of = |task: u32| estimates.host[task as usize];
                                least.start(setting, progress, (head, host), host_of)
                            }
                        };
                        if least.end(setting, progress, &tasks, (host, start)) >= below {
                            *room = estimates.into_room();
                            return None;
                        }
                    }
                    candidates.touch(host);
                    answer.clusters.push(Cluster { tasks, host, slot });
                }
                None => {
                    candidates.strand(head);
                    answer.stranded.push(head);
                }
            }
        }
        if let (Messages::Controllers(tree, placing), Some(traffic)) =
            (setting.messages(), setting.traffic())
        {
            let host = |task: u32| match estimates.host[task as usize] {
                NONE => progress.host[task as usize],
                host => host,
            };
            let bounds = bounds(progress, tree);
            let problem = setting.problem();
            answer.controllers = places(problem, tree, *placing, traffic, host, &bounds);
            if answer.controllers != progress.controllers {
                estimates.with_controllers(&answer.controllers);
            }
        }
        answer.after = estimates.makespan();
        *room = estimates.into_room();
        Some(answer)
    }
}

/// The makespan with everything where it is, where tasks that run end at these times at the soonest.
fn makespan(
    setting: &Setting,
    progress: &Progress,
    overdue: &[(u32, f64)],
    planner: &mut Planner,
) -> f64 {
    let taken = std::mem::take(&mut planner.room);
    let mut estimates = Estimates::within(taken, setting, progress, &[], overdue);
    let makespan = estimates.makespan();
    planner.room = estimates.into_room();
    makespan
}

fn bounds(progress: &Progress, tree: &Tree) -> Bounds {
    Bounds {
        stays: stays(progress, tree),
        gone: progress.gone.clone(),
    }
}

/// By controller: the machine that it stays on. Controllers stay with tasks below them that have started, as long as
/// their machine is there.
pub(super) fn stays(progress: &Progress, tree: &Tree) -> Vec<Option<u32>> {
    let tasks = 0..progress.phase.len() as u32;
    let started = tree.above(tasks.filter(|&task| !progress.is_waiting(task)));
    let stays = started.iter().zip(&progress.controllers);
    let stays =
        stays.map(|(&started, &host)| (started && !progress.gone[host as usize]).then_some(host));
    stays.collect()
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
