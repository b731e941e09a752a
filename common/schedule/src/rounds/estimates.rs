//! Estimated starts and finishes of all tasks while some have ended, some run and some may move.
//!
//! The recompute pass of Bittencourt and Madeira in the middle of an execution (rules A12, A13 and
//! A17 of the digest): ended tasks count with their real finish, running ones end at their expected
//! finish or now, nothing else starts before now, and data leaves for a task when its parent has
//! ended and it has its machine. A change is followed forward from the first task that it touches,
//! as in [`crate::Pch`].

use super::progress::{Phase, Progress};
use super::question::first_slot;
use super::setting::Setting;

pub(super) const NONE: u32 = u32::MAX;

pub(super) struct Estimates<'a> {
    pub(super) setting: &'a Setting,
    pub(super) progress: &'a Progress,
    pub(super) est: Vec<f64>,
    pub(super) eft: Vec<f64>,
    /// By task: its machine, or [`NONE`].
    pub(super) host: Vec<u32>,
    pub(super) slot: Vec<u32>,
    /// By task: when data may leave for it.
    since: Vec<f64>,
    controllers: Vec<u32>,
    /// By task: its time on the machine that is known to be best for it (rule A3); for tasks that are
    /// on no machine.
    shortest: Vec<f64>,
    /// By slot: when it is free for the first task that waits.
    free: Vec<f64>,
    /// By link: the links before and after it on the same slot.
    prev: Vec<u32>,
    next: Vec<u32>,
    /// By slot: the links of waiting tasks, in order. Links on trial are not in them.
    lists: Vec<Vec<u32>>,
    /// By slot of the machine of the trial: the last link that it added there.
    trial_last: Vec<u32>,
    /// By place in the order: a bit that is set if the times have to be counted again.
    dirty: Vec<u64>,
    dirty_last: u32,
    undo: Vec<(u32, f64, f64)>,
}

impl<'a> Estimates<'a> {
    /// The estimates while these tasks, which wait, are on no machine. O(n + e).
    pub(super) fn new(
        setting: &'a Setting,
        progress: &'a Progress,
        unplaced: &[u32],
    ) -> Estimates<'a> {
        let problem = setting.problem();
        let n = progress.phase.len();
        let n_links = setting.owner.len();
        let slots_max = problem.hosts().iter().map(|host| host.slots).max();
        let mut estimates = Estimates {
            setting,
            progress,
            est: vec![0.0; n],
            eft: vec![0.0; n],
            host: progress.host.clone(),
            slot: progress.slot.clone(),
            since: progress.since.clone(),
            controllers: progress.controllers.clone(),
            shortest: Vec::new(),
            free: Vec::with_capacity(setting.n_slots()),
            prev: vec![NONE; n_links],
            next: vec![NONE; n_links],
            lists: vec![Vec::new(); setting.n_slots()],
            trial_last: vec![NONE; slots_max.unwrap_or(0) as usize],
            dirty: vec![0; n / 64 + 1],
            dirty_last: 0,
            undo: Vec::new(),
        };
        if !unplaced.is_empty() {
            estimates.shortest = vec![0.0; n];
            let powers = best_powers(setting, progress);
            for &task in unplaced {
                estimates.host[task as usize] = NONE;
                estimates.shortest[task as usize] = shortest(setting, progress, &powers, task);
            }
        }
        for host in 0..problem.hosts().len() as u32 {
            let ready = problem.ready(host).iter();
            estimates.free.extend(ready.map(|at| at.max(progress.now)));
        }
        for task in problem.dag().tasks() {
            match progress.phase[task as usize] {
                Phase::Waiting => {}
                Phase::Ended(finish) => {
                    (estimates.est[task as usize], estimates.eft[task as usize]) = (finish, finish);
                }
                Phase::Running(start) => {
                    let host = progress.host[task as usize];
                    let finish = start + progress.duration(setting, task, host);
                    let finish = finish.max(progress.now);
                    (estimates.est[task as usize], estimates.eft[task as usize]) = (start, finish);
                    for (_, slot) in setting.links(task).zip(progress.slot[task as usize]..) {
                        let free = &mut estimates.free[setting.list(host, slot)];
                        *free = free.max(finish);
                    }
                }
            }
        }
        for &task in &setting.order {
            if progress.is_waiting(task) {
                let host = estimates.host[task as usize];
                if host != NONE {
                    estimates.append(task, host);
                }
                let (est, eft) = estimates.times(task);
                (estimates.est[task as usize], estimates.eft[task as usize]) = (est, eft);
            }
        }
        estimates
    }

    /// When the last task ends.
    pub(super) fn makespan(&self) -> f64 {
        self.eft.iter().copied().fold(0.0, f64::max)
    }

    /// Puts controllers on other machines and counts all times again. O(n + e).
    pub(super) fn with_controllers(&mut self, controllers: &[u32]) {
        self.controllers.clear();
        self.controllers.extend_from_slice(controllers);
        for &task in &self.setting.order {
            if self.progress.is_waiting(task) {
                let (est, eft) = self.times(task);
                (self.est[task as usize], self.eft[task as usize]) = (est, eft);
            }
        }
    }

    /// Puts tasks, ascending in the order, on a machine from a slot on, and counts again what that
    /// reaches, up to a place in the order. `take_back` undoes it, `keep` makes it last.
    pub(super) fn try_on(&mut self, tasks: &[u32], host: u32, slot: u32, until: u32) {
        self.undo.clear();
        self.trial_last.fill(NONE);
        for &task in tasks {
            self.insert(task, host, slot);
        }
        if let Some(&first) = tasks.first() {
            self.settle(self.setting.rank[first as usize], until);
        }
    }

    pub(super) fn take_back(&mut self, tasks: &[u32]) {
        for &(task, est, eft) in self.undo.iter().rev() {
            self.est[task as usize] = est;
            self.eft[task as usize] = eft;
        }
        self.undo.clear();
        for &task in tasks.iter().rev() {
            self.host[task as usize] = NONE;
            for link in self.setting.links(task).rev() {
                let (prev, next) = (self.prev[link], self.next[link]);
                if prev != NONE {
                    self.next[prev as usize] = next;
                }
                if next != NONE {
                    self.prev[next as usize] = prev;
                }
            }
        }
    }

    /// Only after a trial that was counted to the end of the order.
    pub(super) fn keep(&mut self, tasks: &[u32]) {
        for &task in tasks {
            let (host, slot) = (self.host[task as usize], self.slot[task as usize]);
            let rank = self.setting.rank[task as usize];
            for (link, slot) in self.setting.links(task).zip(slot..) {
                let list = self.setting.list(host, slot);
                let place = self.place_in(list, rank);
                self.lists[list].insert(place, link as u32);
            }
        }
        self.undo.clear();
    }

    /// When the first task of a cluster would start on a slot: all that is before it in the order
    /// is placed, so nothing of the cluster can change it.
    pub(super) fn start_of_first(&self, task: u32, host: u32, slot: u32) -> f64 {
        let rank = self.setting.rank[task as usize];
        let first = first_slot(self.setting, task, host, slot);
        let mut start = self.progress.now;
        for (_, slot) in self.setting.links(task).zip(first..) {
            let list = self.setting.list(host, slot);
            let free = match self.place_in(list, rank).checked_sub(1) {
                Some(before) => self.eft[self.owner(self.lists[list][before])],
                None => self.free[list],
            };
            start = start.max(free);
        }
        for (pred, edge) in self.setting.problem().dag().predecessors(task) {
            let transfer = self.transfer(edge, self.host[pred as usize], host);
            let left = self.eft[pred as usize].max(self.since_on(task, host));
            start = start.max(left + transfer);
        }
        start
    }

    pub(super) fn is_empty(&self, host: u32, slot: u32) -> bool {
        self.lists[self.setting.list(host, slot)].is_empty()
    }

    /// When the slot is free for the first task that waits.
    pub(super) fn free(&self, host: u32, slot: u32) -> f64 {
        self.free[self.setting.list(host, slot)]
    }

    /// When data may leave for a task if it is put on a machine: it may be there already.
    fn since_on(&self, task: u32, host: u32) -> f64 {
        match self.progress.host[task as usize] == host {
            true => self.progress.since[task as usize],
            false => self.progress.now,
        }
    }

    /// Adds a task that is placed behind all that its slots have.
    fn append(&mut self, task: u32, host: u32) {
        for (link, slot) in self.setting.links(task).zip(self.slot[task as usize]..) {
            let list = &mut self.lists[self.setting.list(host, slot)];
            if let Some(&last) = list.last() {
                self.prev[link] = last;
                self.next[last as usize] = link as u32;
            }
            list.push(link as u32);
        }
    }

    fn insert(&mut self, task: u32, host: u32, slot: u32) {
        let rank = self.setting.rank[task as usize];
        let first = first_slot(self.setting, task, host, slot);
        self.host[task as usize] = host;
        self.slot[task as usize] = first;
        self.since[task as usize] = self.since_on(task, host);
        self.mark(task);
        for (link, slot) in self.setting.links(task).zip(first..) {
            let list = self.setting.list(host, slot);
            let before = self.place_in(list, rank).checked_sub(1);
            let listed = before.map_or(NONE, |place| self.lists[list][place]);
            let tried = self.trial_last[slot as usize];
            let prev = match (listed, tried) {
                (NONE, other) | (other, NONE) => other,
                (one, other) if self.rank_of(one) > self.rank_of(other) => one,
                (_, other) => other,
            };
            let next = match prev {
                NONE => self.lists[list].first().copied().unwrap_or(NONE),
                prev => std::mem::replace(&mut self.next[prev as usize], link as u32),
            };
            if next != NONE {
                self.prev[next as usize] = link as u32;
                self.mark(self.setting.owner[next as usize]);
            }
            (self.prev[link], self.next[link]) = (prev, next);
            self.trial_last[slot as usize] = link as u32;
        }
        self.mark_successors(task);
    }

    /// Counts again what is marked, from a place in the order to another; marks beyond it are
    /// dropped, which is right for trials that are taken back.
    fn settle(&mut self, first: u32, until: u32) {
        let mut word = first as usize / 64;
        'words: while word <= until as usize / 64 && word < self.dirty.len() {
            while self.dirty[word] != 0 {
                let place = word * 64 + self.dirty[word].trailing_zeros() as usize;
                if place > until as usize {
                    break 'words;
                }
                self.dirty[word] &= self.dirty[word] - 1;
                self.count(self.setting.order[place]);
            }
            word += 1;
        }
        let last = self.dirty_last as usize / 64;
        if word <= last {
            self.dirty[word..=last].fill(0);
        }
        self.dirty_last = 0;
    }

    fn count(&mut self, task: u32) {
        let (est, eft) = self.times(task);
        let (est_before, eft_before) = (self.est[task as usize], self.eft[task as usize]);
        if est.to_bits() == est_before.to_bits() && eft.to_bits() == eft_before.to_bits() {
            return;
        }
        self.undo.push((task, est_before, eft_before));
        self.est[task as usize] = est;
        self.eft[task as usize] = eft;
        if eft.to_bits() != eft_before.to_bits() {
            self.mark_successors(task);
            if self.host[task as usize] != NONE {
                for link in self.setting.links(task) {
                    if self.next[link] != NONE {
                        self.mark(self.setting.owner[self.next[link] as usize]);
                    }
                }
            }
        }
    }

    /// The start and finish of a waiting task, as those before it in the order are estimated.
    fn times(&self, task: u32) -> (f64, f64) {
        let here = self.host[task as usize];
        let mut est = self.progress.now;
        let duration = if here == NONE {
            self.shortest[task as usize]
        } else {
            for (link, slot) in self.setting.links(task).zip(self.slot[task as usize]..) {
                let free = match self.prev[link] {
                    NONE => self.free(here, slot),
                    prev => self.eft[self.owner(prev)],
                };
                est = est.max(free);
            }
            self.progress.duration(self.setting, task, here)
        };
        let dag = self.setting.problem().dag();
        for (pred, edge) in dag.predecessors(task) {
            let there = self.host[pred as usize];
            let left = self.eft[pred as usize];
            let arrival = if here == NONE || there == NONE {
                left + self.setting.virtual_link.seconds(dag.data(edge))
            } else {
                left.max(self.since[task as usize]) + self.transfer(edge, there, here)
            };
            est = est.max(arrival);
        }
        (est, est + duration)
    }

    fn transfer(&self, edge: u32, from: u32, to: u32) -> f64 {
        self.setting.transfer(edge, [from, to], &self.controllers)
    }

    fn mark_successors(&mut self, task: u32) {
        for (succ, _) in self.setting.problem().dag().successors(task) {
            self.mark(succ);
        }
    }

    fn mark(&mut self, task: u32) {
        if self.progress.is_waiting(task) {
            let rank = self.setting.rank[task as usize];
            self.dirty[rank as usize / 64] |= 1 << (rank % 64);
            self.dirty_last = self.dirty_last.max(rank);
        }
    }

    fn owner(&self, link: u32) -> usize {
        self.setting.owner[link as usize] as usize
    }

    fn rank_of(&self, link: u32) -> u32 {
        self.setting.rank[self.owner(link)]
    }

    fn place_in(&self, list: usize, rank: u32) -> usize {
        self.lists[list].partition_point(|&link| self.rank_of(link) < rank)
    }
}

/// By class of demands: the highest known power of the machines that fit and are there.
fn best_powers(setting: &Setting, progress: &Progress) -> Vec<f64> {
    let problem = setting.problem();
    let power = |&host: &u32| match progress.gone[host as usize] {
        true => 0.0,
        false => problem.hosts()[host as usize].power * progress.factor[host as usize],
    };
    let classes = 0..problem.n_demand_classes();
    let best = classes.map(|class| problem.fitting(class).iter().map(power).fold(0.0, f64::max));
    best.collect()
}

/// The time of a task on the best machine that fits and is there; nominally on the best of all if there
/// is none.
fn shortest(setting: &Setting, progress: &Progress, powers: &[f64], task: u32) -> f64 {
    let problem = setting.problem();
    let class = problem.demand_class(task);
    let power = powers[class as usize];
    if power <= 0.0 {
        return setting.shortest[task as usize];
    }
    if !problem.has_costs() {
        return problem.dag().work(task) / power;
    }
    let hosts = problem.fitting(class).iter();
    let there = hosts.filter(|&&host| !progress.gone[host as usize]);
    let durations = there.map(|&host| progress.duration(setting, task, host));
    durations.fold(f64::INFINITY, f64::min)
}
