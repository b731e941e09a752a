//! Planning again what has not started: PCH in the middle of an execution.
//!
//! Algorithms 2 and 3 of Bittencourt and Madeira over the tasks that may move, all others where they
//! are (rules A11 to A13 of the digest). It differs from [`crate::Pch`] in what [`Estimates`] says
//! of time; the rules of choice are the same.

use super::estimates::{Estimates, NONE, Room};
use super::placing::best_place;
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
    /// The facts: tasks that have started, the places of all others, and the known powers of the machines.
    pub progress: Progress,
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

impl Question {
    /// Plans. O(k s (n + e)) at worst for k clusters and s slots; in practice a candidate visits only
    /// what its change reaches, and most slots are passed over because the path alone would take too
    /// long there.
    ///
    /// A narrower plan, where there is one to compare with, is the answer unless the wider one is better
    /// by enough than that one and than no plan. Where overdue tasks may be stopped, such a plan is
    /// made too, and is the answer if it is better by enough when these tasks run on for long.
    pub fn answer(&self, setting: &Setting) -> Answer {
        let mut estimates = Estimates::new(setting, &self.progress, &[]);
        let before = estimates.makespan();
        let mut room = estimates.into_room();
        let staying = self.wide_or_narrow(setting, &self.progress, before, &mut room);
        let Some(restarts) = &self.restarts else {
            return staying;
        };
        let staying_after = self.overdue_makespan(setting, Some(&staying), &mut room);
        let before = self.overdue_makespan(setting, None, &mut room);
        let restarting = self.with_restarts(setting, restarts.alone, before, &mut room);
        let to_beat = before.min(staying_after);
        let is_better = less(restarting.after, (1.0 - restarts.gain_least) * to_beat);
        match is_better && restarting.stranded.is_empty() {
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

    /// The plan for all tasks that may move, or that for fewer of them.
    fn wide_or_narrow(
        &self,
        setting: &Setting,
        progress: &Progress,
        before: f64,
        room: &mut Room,
    ) -> Answer {
        let wider = self.plan(setting, progress, &self.movable, before, room);
        let Some(narrower) = &self.narrower else {
            return wider;
        };
        let narrow = self.plan(setting, progress, &narrower.movable, before, room);
        let to_beat = before.min(narrow.after);
        match less(wider.after, (1.0 - narrower.gain_least) * to_beat) {
            true => wider,
            false => narrow,
        }
    }

    /// Plans with the tasks that may be stopped as if they had not started, on other machines.
    fn with_restarts(
        &self,
        setting: &Setting,
        alone: bool,
        before: f64,
        room: &mut Room,
    ) -> Answer {
        let mut progress = self.progress.clone();
        for &(task, _) in self.stoppable() {
            progress.phase[task as usize] = Phase::Waiting;
        }
        match alone {
            true => self.plan(setting, &progress, &[], before, room),
            false => self.wide_or_narrow(setting, &progress, before, room),
        }
    }

    /// The makespan of new places, or of those that all tasks have, if overdue tasks run on for as
    /// long as is believed.
    fn overdue_makespan(&self, setting: &Setting, answer: Option<&Answer>, room: &mut Room) -> f64 {
        let mut progress = self.progress.clone();
        if let Some(answer) = answer {
            for (task, host, slot) in answer.moves(setting) {
                let place = task as usize;
                if progress.host[place] != host {
                    progress.since[place] = progress.now;
                }
                (progress.host[place], progress.slot[place]) = (host, slot);
            }
            progress.controllers.clone_from(&answer.controllers);
        }
        let taken = std::mem::take(room);
        let mut estimates = Estimates::within(taken, setting, &progress, &[], self.stoppable());
        let makespan = estimates.makespan();
        *room = estimates.into_room();
        makespan
    }

    /// Plans these tasks, which may move, and those that may be stopped if they do not run in this
    /// progress; all others stay where they are.
    fn plan(
        &self,
        setting: &Setting,
        progress: &Progress,
        movable: &[u32],
        before: f64,
        room: &mut Room,
    ) -> Answer {
        let stoppable = self.stoppable().iter().map(|&(task, _)| task);
        let stopped: Vec<u32> = stoppable
            .filter(|&task| progress.is_waiting(task))
            .collect();
        let mut movable = [movable, &stopped].concat();
        if !stopped.is_empty() {
            movable.sort_unstable_by_key(|&task| setting.rank(task));
        }
        let taken = std::mem::take(room);
        let mut estimates = Estimates::within(taken, setting, progress, &movable, &[]);
        let mut candidates = Candidates::new(setting, progress);
        candidates.leaves = self.stoppable();
        let mut answer = Answer {
            number: self.number,
            clusters: Vec::new(),
            stranded: Vec::new(),
            controllers: progress.controllers.clone(),
            before,
            after: before,
        };
        let mut stranded = vec![false; setting.order.len()];
        for &head in &movable {
            if estimates.host[head as usize] != NONE || stranded[head as usize] {
                continue;
            }
            let (tasks, hosts) = candidates.next_cluster(&mut estimates, &stranded, head);
            candidates.collect(&estimates, &tasks, &hosts);
            match best_place(&mut estimates, &tasks, &candidates.places) {
                Some((host, slot)) => {
                    estimates.place(&tasks, host, slot);
                    candidates.touched[host as usize] = true;
                    answer.clusters.push(Cluster { tasks, host, slot });
                }
                None => {
                    stranded[head as usize] = true;
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
            estimates.with_controllers(&answer.controllers);
        }
        answer.after = estimates.makespan();
        *room = estimates.into_room();
        answer
    }
}

/// Controllers stay with tasks below them that have started, as long as their machine is there.
fn bounds(progress: &Progress, tree: &Tree) -> Bounds {
    let tasks = 0..progress.phase.len() as u32;
    let started = tree.above(tasks.filter(|&task| !progress.is_waiting(task)));
    let stays = started.iter().zip(&progress.controllers);
    let stays =
        stays.map(|(&started, &host)| (started && !progress.gone[host as usize]).then_some(host));
    Bounds {
        stays: stays.collect(),
        gone: progress.gone.clone(),
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
pub(super) fn first_slot(setting: &Setting, task: u32, host: u32, slot: u32) -> u32 {
    let slots = setting.problem().hosts()[host as usize].slots;
    slot.min(slots.saturating_sub(setting.problem().dag().cores(task)))
}

/// The slots to try for a cluster. Among equal machines that nothing was ever placed on only the
/// first one is tried, and so with the empty slots of a machine: ties would go to it anyway.
struct Candidates<'a> {
    setting: &'a Setting,
    progress: &'a Progress,
    /// True if a machine has or had anything, or is known to be slower or faster than nominal.
    touched: Vec<bool>,
    places: Vec<(u32, u32)>,
    /// Tasks that run, and start again on other machines only.
    leaves: &'a [(u32, f64)],
    /// By machine: the cluster, counted from 1, for which one like it was tried.
    tried_for: Vec<u32>,
    n_clusters: u32,
}

impl<'a> Candidates<'a> {
    fn new(setting: &'a Setting, progress: &'a Progress) -> Candidates<'a> {
        let is_other = |factor: f64| factor.to_bits() != 1f64.to_bits();
        let factors = progress.factor.iter().zip(&progress.links);
        let mut touched: Vec<bool> = factors
            .map(|(&power, &links)| is_other(power) || is_other(links))
            .collect();
        for &host in progress.host.iter().chain(&progress.controllers) {
            touched[host as usize] = true;
        }
        Candidates {
            setting,
            progress,
            tried_for: vec![0; touched.len()],
            touched,
            places: Vec::new(),
            leaves: &[],
            n_clusters: 0,
        }
    }

    /// Algorithm 2: the path from a task on, and the machines that fit all of it, ascending.
    fn next_cluster(
        &self,
        estimates: &mut Estimates<'_>,
        stranded: &[bool],
        head: u32,
    ) -> (Vec<u32>, Vec<u32>) {
        let problem = self.setting.problem();
        let mut cluster = vec![head];
        let mut classes = vec![problem.demand_class(head)];
        let mut hosts = self.usable(classes[0]);
        if self.leaves.iter().any(|&(task, _)| task == head) {
            let here = self.progress.host[head as usize];
            hosts.retain(|&host| host != here);
        }
        let mut last = head;
        loop {
            let successors = problem.dag().successors(last).map(|(succ, _)| succ);
            let open = successors.filter(|&succ| {
                let is_open = estimates.host[succ as usize] == NONE;
                is_open && !stranded[succ as usize]
            });
            let mut open: Vec<u32> = open.collect();
            open.sort_unstable_by_key(|&succ| self.setting.rank[succ as usize]);
            if let Some(&succ) = open.last() {
                estimates.settle(self.setting.rank(succ));
            }
            let mut best: Option<(f64, u32)> = None;
            for succ in open {
                let weight = self.setting.priority[succ as usize] + estimates.est(succ);
                if best.is_none_or(|(most, _)| less(most, weight)) {
                    let class = problem.demand_class(succ);
                    let fits = |host: &u32| problem.fitting(class).binary_search(host).is_ok();
                    if classes.contains(&class) || hosts.iter().any(fits) {
                        best = Some((weight, succ));
                    }
                }
            }
            let Some((_, succ)) = best else {
                return (cluster, hosts);
            };
            let class = problem.demand_class(succ);
            if !classes.contains(&class) {
                classes.push(class);
                hosts.retain(|host| problem.fitting(class).binary_search(host).is_ok());
            }
            cluster.push(succ);
            last = succ;
        }
    }

    /// The machines that fit a class of demands and are there, with some power.
    fn usable(&self, class: u32) -> Vec<u32> {
        let fitting = self.setting.problem().fitting(class).iter().copied();
        let usable = |host: &u32| {
            !self.progress.gone[*host as usize] && self.progress.factor[*host as usize] > 0.0
        };
        fitting.filter(usable).collect()
    }

    fn collect(&mut self, estimates: &Estimates<'_>, cluster: &[u32], hosts: &[u32]) {
        let problem = self.setting.problem();
        let cores = cluster.iter().map(|&task| problem.dag().cores(task));
        let (most, only_gates) = cores.fold((0, true), |(most, only), cores| {
            (cores.max(most), only && cores == 0)
        });
        self.n_clusters += 1;
        self.places.clear();
        for &host in hosts {
            if !self.touched[host as usize] {
                let tried_for = &mut self.tried_for[self.setting.like[host as usize] as usize];
                if std::mem::replace(tried_for, self.n_clusters) == self.n_clusters {
                    continue;
                }
            }
            let mut empty_seen: Option<f64> = None;
            for slot in 0..problem.hosts()[host as usize].slots {
                if most <= 1 && estimates.is_empty(host, slot) {
                    let free = estimates.free(host, slot);
                    if empty_seen.is_some_and(|seen| seen.to_bits() == free.to_bits()) {
                        continue;
                    }
                    empty_seen = Some(free);
                }
                self.places.push((host, slot));
                if only_gates {
                    break;
                }
            }
        }
    }
}
