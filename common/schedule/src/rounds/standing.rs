//! The times of a process with everything where it is: what a plan has to be better than.

use super::estimates::NONE;
use super::progress::{Phase, Progress};
use super::routes::Routes;
use super::setting::Setting;

/// The times, in memory that is used again and again.
#[derive(Default)]
pub(super) struct Standing {
    /// By task: its end.
    pub(super) eft: Vec<f64>,
    /// By task that waits: the predecessor whose data comes last, and the task that it waits for, this one or the one
    /// before it on a slot; none if there is none.
    latest: Vec<u32>,
    cause: Vec<u32>,
    /// By slot: when it is free for the first task that waits; and for the next one of the order, with the task that it
    /// is free after.
    pub(super) free: Vec<f64>,
    next: Vec<(f64, u32)>,
    /// The task that ends last.
    last: u32,
}

impl Standing {
    /// Counts what has started, where tasks that run end at these times at the soonest: the time at which the last of it
    /// ends, and which that is. O(n + p).
    pub(super) fn begin(
        &mut self,
        setting: &Setting,
        progress: &Progress,
        overdue: &[(u32, f64)],
    ) -> (f64, u32) {
        let problem = setting.problem();
        self.free.clear();
        for host in 0..problem.hosts().len() as u32 {
            let ready = problem.ready(host).iter();
            self.free.extend(ready.map(|at| at.max(progress.now)));
        }
        self.eft.clear();
        self.eft.resize(progress.phase.len(), 0.0);
        let mut last = (0.0, NONE);
        for task in problem.dag().tasks() {
            let finish = match progress.phase[task as usize] {
                Phase::Waiting => continue,
                Phase::Ended(finish) => finish,
                Phase::Running(start) => {
                    let least = overdue.iter().find(|&&(other, _)| other == task);
                    let finish = progress.end_of(setting, task, start);
                    let finish = finish.max(least.map_or(0.0, |&(_, end)| end));
                    let free = &mut self.free[setting.slots(progress, task)];
                    free.iter_mut().for_each(|free| *free = free.max(finish));
                    finish
                }
            };
            self.eft[task as usize] = finish;
            if finish >= last.0 {
                last = (finish, task);
            }
        }
        last
    }

    /// The time at which the last task ends. As all places are known, each slot runs its tasks in the order, and one
    /// pass counts them. O(n + e).
    pub(super) fn makespan(
        &mut self,
        setting: &Setting,
        progress: &Progress,
        routes: &Routes,
        overdue: &[(u32, f64)],
    ) -> f64 {
        let (mut end, mut last) = self.begin(setting, progress, overdue);
        let dag = setting.problem().dag();
        self.next.clear();
        self.next.extend(self.free.iter().map(|&free| (free, NONE)));
        for task in dag.tasks().filter(|&task| progress.is_running(task)) {
            let slots = &mut self.next[setting.slots(progress, task)];
            slots.iter_mut().for_each(|(_, holder)| *holder = task);
        }
        for causes in [&mut self.latest, &mut self.cause] {
            causes.clear();
            causes.resize(progress.phase.len(), NONE);
        }
        for &task in &setting.order {
            if !progress.is_waiting(task) {
                continue;
            }
            let (host, since) = (progress.host[task as usize], progress.since[task as usize]);
            let (mut start, mut cause) = (0.0, NONE);
            for (pred, edge) in dag.predecessors(task) {
                let left = self.eft[pred as usize].max(since);
                let from = progress.host[pred as usize];
                let arrival = left + routes.seconds(setting, edge, from, host);
                if arrival > start {
                    (start, cause) = (arrival, pred);
                }
            }
            self.latest[task as usize] = cause;
            if progress.now >= start {
                (start, cause) = (progress.now, NONE);
            }
            let slots = &mut self.next[setting.slots(progress, task)];
            for &(free, holder) in &*slots {
                if free > start {
                    (start, cause) = (free, holder);
                }
            }
            let finish = start + progress.duration(setting, task, host);
            slots.fill((finish, task));
            self.cause[task as usize] = cause;
            self.eft[task as usize] = finish;
            if finish >= end {
                (end, last) = (finish, task);
            }
        }
        self.last = last;
        end
    }

    /// The tasks that lead to the end each by the data that comes last, in order, as far as they wait in these facts,
    /// which may be others.
    pub(super) fn chain(&self, progress: &Progress, chain: &mut Vec<u32>) {
        chain.clear();
        let mut task = self.last;
        while task != NONE && progress.is_waiting(task) {
            chain.push(task);
            task = self.latest[task as usize];
        }
        chain.reverse();
    }

    /// True if the end may be sooner where these tasks are elsewhere, and messages take the same times: one of them is
    /// among those of which each waits for the other, from the last one on.
    pub(super) fn rests_on(&self, tasks: &[u32]) -> bool {
        let mut task = self.last;
        while task != NONE {
            if tasks.contains(&task) {
                return true;
            }
            task = self.cause[task as usize];
        }
        false
    }
}
