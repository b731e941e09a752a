//! Estimated starts and finishes of all tasks while some have ended, some run and some may move.
//!
//! The recompute pass of Bittencourt and Madeira in the middle of an execution (rules A12, A13 and
//! A17 of the digest): ended tasks count with their real finish, running ones end at their expected
//! finish or now, nothing else starts before now, and data leaves for a task when its parent has
//! ended and it has its machine.
//!
//! A change is pushed forward along the messages and slots that it reaches. What is placed for good is
//! counted only as far as somebody asks, so that placing one of ten thousand tasks before a join does
//! not count all that follows the join again. A trial is counted as far as its judgement reaches, and
//! taken back.

mod bounds;
mod detours;
mod room;
mod rows;

pub(super) use self::detours::Detours;
pub(super) use self::room::Room;
use self::room::{copied, filled};
pub(super) use self::rows::Row;
use super::progress::{Phase, Progress};
use super::question::first_slot;
use super::routes::Routes;
use super::setting::Setting;

pub(super) const NONE: u32 = u32::MAX;

pub(super) struct Estimates<'a> {
    pub(super) setting: &'a Setting,
    pub(super) progress: &'a Progress,
    /// By task: its start and end, if it was counted since the last change that reaches it.
    est: Vec<f64>,
    eft: Vec<f64>,
    /// By task: when all data is there.
    arrival: Vec<f64>,
    /// By task: its machine, or [`NONE`].
    pub(super) host: Vec<u32>,
    pub(super) slot: Vec<u32>,
    /// By task: when data may leave for it.
    since: Vec<f64>,
    routes: Routes,
    /// By task: its time on the machine that is known to be best for it (rule A3); for tasks that are
    /// on no machine.
    shortest: Vec<f64>,
    /// By slot: when it is free for the first task that waits.
    free: Vec<f64>,
    /// By link: the links before and after it on the same slot.
    prev: Vec<u32>,
    next: Vec<u32>,
    /// By slot: the ranks and links of waiting tasks, in order. Links on trial are not in them.
    lists: Vec<Vec<(u32, u32)>>,
    /// By slot of the machine of the trial: the last link that it added there.
    trial_last: Vec<u32>,
    /// Times to be counted again: for good, and on trial.
    pending: Marks,
    on_trial: Marks,
    /// By task: true if data has to be looked at again, from all its predecessors.
    is_open: Vec<bool>,
    /// By task: true if it was on no machine when it was last counted, and is on one.
    is_fresh: Vec<bool>,
    undo: Vec<(u32, [f64; 3])>,
}

/// Places in the order, as bits.
struct Marks(Vec<u64>);

/// The kind of a change: for good, or a trial, which is counted up to a place in the order and taken back.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    ForGood,
    Trial { until: u32 },
}

impl<'a> Estimates<'a> {
    /// The estimates while these tasks, which wait, are on no machine. O(n + e).
    pub(super) fn new(
        setting: &'a Setting,
        progress: &'a Progress,
        unplaced: &[u32],
    ) -> Estimates<'a> {
        Estimates::within(Room::default(), setting, progress, unplaced)
    }

    /// The same in the room of others.
    pub(super) fn within(
        room: Room,
        setting: &'a Setting,
        progress: &'a Progress,
        unplaced: &[u32],
    ) -> Estimates<'a> {
        let problem = setting.problem();
        let n = progress.phase.len();
        let n_links = setting.owner.len();
        let slots_max = problem.hosts().iter().map(|host| host.slots).max();
        let Room {
            floats: [est, eft, arrival, since, shortest, free],
            numbers: [host, slot, prev, next, trial_last],
            marks: [pending, on_trial],
            flags: [is_open, is_fresh],
            mut lists,
            mut undo,
            mut routes,
        } = room;
        routes.find(setting, &progress.controllers, &progress.links);
        lists.iter_mut().for_each(Vec::clear);
        lists.resize_with(setting.n_slots(), Vec::new);
        undo.clear();
        let mut estimates = Estimates {
            setting,
            progress,
            est: filled(est, n, 0.0),
            eft: filled(eft, n, 0.0),
            arrival: filled(arrival, n, 0.0),
            host: copied(host, &progress.host),
            slot: copied(slot, &progress.slot),
            since: copied(since, &progress.since),
            routes,
            shortest: filled(shortest, if unplaced.is_empty() { 0 } else { n }, 0.0),
            free: filled(free, 0, 0.0),
            prev: filled(prev, n_links, NONE),
            next: filled(next, n_links, NONE),
            lists,
            trial_last: filled(trial_last, slots_max.unwrap_or(0) as usize, NONE),
            pending: Marks(filled(pending, n / 64 + 1, 0)),
            on_trial: Marks(filled(on_trial, n / 64 + 1, 0)),
            is_open: filled(is_open, n, false),
            is_fresh: filled(is_fresh, n, false),
            undo,
        };
        if !unplaced.is_empty() {
            let powers = best_powers(setting, progress);
            for &task in unplaced {
                estimates.host[task as usize] = NONE;
                estimates.shortest[task as usize] = shortest_of(setting, progress, &powers, task);
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
                    let finish = progress.end_of(setting, task, start);
                    (estimates.est[task as usize], estimates.eft[task as usize]) = (start, finish);
                    let free = &mut estimates.free[setting.slots(progress, task)];
                    free.iter_mut().for_each(|free| *free = free.max(finish));
                }
            }
        }
        for &task in &setting.order {
            if progress.is_waiting(task) {
                let host = estimates.host[task as usize];
                if host != NONE {
                    estimates.append(task, host);
                }
                estimates.count_whole(task);
            }
        }
        estimates
    }

    /// The time at which the last task ends.
    pub(super) fn makespan(&mut self) -> f64 {
        self.settle(u32::MAX);
        self.eft.iter().copied().fold(0.0, f64::max)
    }

    /// The time at which a task starts; only after [`Estimates::settle`] to its place in the order.
    #[inline]
    pub(super) fn est(&self, task: u32) -> f64 {
        self.est[task as usize]
    }

    /// The time at which a task ends; only after [`Estimates::settle`] to its place in the order.
    #[inline]
    pub(super) fn eft(&self, task: u32) -> f64 {
        self.eft[task as usize]
    }

    /// Puts controllers on other machines and counts all times again. O(n + e).
    pub(super) fn with_controllers(&mut self, controllers: &[u32]) {
        self.settle(u32::MAX);
        let links = &self.progress.links;
        self.routes.find(self.setting, controllers, links);
        for &task in &self.setting.order {
            if self.progress.is_waiting(task) {
                self.count_whole(task);
            }
        }
    }

    /// Puts tasks, ascending in the order, on a machine from a slot on, and counts again what that
    /// reaches, up to a place in the order to which all is settled. `take_back` undoes it.
    pub(super) fn try_on(&mut self, tasks: &[u32], host: u32, slot: u32, until: u32) {
        let mode = Mode::Trial { until };
        self.undo.clear();
        self.trial_last.fill(NONE);
        for &task in tasks {
            self.insert(task, host, slot, mode);
        }
        let first = tasks.first().map_or(0, |&task| self.setting.rank(task));
        let mut from = first;
        while let Some(place) = self.on_trial.take_next(from, until) {
            self.count(self.setting.order[place as usize], mode);
            from = place;
        }
    }

    pub(super) fn take_back(&mut self, tasks: &[u32]) {
        for &(task, [est, eft, arrival]) in self.undo.iter().rev() {
            self.est[task as usize] = est;
            self.eft[task as usize] = eft;
            self.arrival[task as usize] = arrival;
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

    /// Puts tasks on a machine for good.
    pub(super) fn place(&mut self, tasks: &[u32], host: u32, slot: u32) {
        self.trial_last.fill(NONE);
        for &task in tasks {
            self.insert(task, host, slot, Mode::ForGood);
            let rank = self.setting.rank(task);
            for (link, slot) in self.setting.links(task).zip(self.slot[task as usize]..) {
                let list = self.setting.list(host, slot);
                let place = self.place_in(list, rank);
                self.lists[list].insert(place, (rank, link as u32));
            }
        }
        self.trial_last.fill(NONE);
    }

    /// Counts what has to be counted again up to a place in the order.
    pub(super) fn settle(&mut self, until: u32) {
        let mut from = 0;
        while let Some(place) = self.pending.take_next(from, until) {
            self.count(self.setting.order[place as usize], Mode::ForGood);
            from = place;
        }
    }

    /// Seconds of a message between two machines, either of which may be none yet.
    #[inline]
    pub(super) fn message(&self, edge: u32, from: u32, to: u32) -> f64 {
        if from == NONE || to == NONE {
            self.setting.virtual_seconds[edge as usize]
        } else {
            self.transfer(edge, from, to)
        }
    }

    #[inline]
    pub(super) fn is_empty(&self, host: u32, slot: u32) -> bool {
        self.lists[self.setting.list(host, slot)].is_empty()
    }

    /// The time at which the slot is free for the first task that waits.
    #[inline]
    pub(super) fn free(&self, host: u32, slot: u32) -> f64 {
        self.free[self.setting.list(host, slot)]
    }

    /// The time at which data may leave for a task if it is put on a machine: it may be there already.
    #[inline]
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
            if let Some(&(_, last)) = list.last() {
                self.prev[link] = last;
                self.next[last as usize] = link as u32;
            }
            list.push((self.setting.rank(task), link as u32));
        }
    }

    fn insert(&mut self, task: u32, host: u32, slot: u32, mode: Mode) {
        let rank = self.setting.rank(task);
        let first = first_slot(self.setting, task, host, slot);
        self.host[task as usize] = host;
        self.slot[task as usize] = first;
        self.since[task as usize] = self.since_on(task, host);
        self.is_fresh[task as usize] = true;
        self.is_open[task as usize] = true;
        self.mark(task, mode);
        for (link, slot) in self.setting.links(task).zip(first..) {
            let list = self.setting.list(host, slot);
            let before = self.place_in(list, rank).checked_sub(1);
            let listed = before.map_or(NONE, |place| self.lists[list][place].1);
            let tried = self.trial_last[slot as usize];
            let prev = match (listed, tried) {
                (NONE, other) | (other, NONE) => other,
                (one, other) if self.rank_of(one) > self.rank_of(other) => one,
                (_, other) => other,
            };
            let next = match prev {
                NONE => self.lists[list].first().map_or(NONE, |&(_, link)| link),
                prev => std::mem::replace(&mut self.next[prev as usize], link as u32),
            };
            if next != NONE {
                self.prev[next as usize] = link as u32;
                self.mark(self.setting.owner[next as usize], mode);
            }
            (self.prev[link], self.next[link]) = (prev, next);
            if mode != Mode::ForGood {
                self.trial_last[slot as usize] = link as u32;
            }
        }
    }

    /// Counts a task again, and pushes what has changed to those that follow it.
    fn count(&mut self, task: u32, mode: Mode) {
        let place = task as usize;
        let was_fresh = std::mem::take(&mut self.is_fresh[place]);
        let before = [self.est[place], self.eft[place], self.arrival[place]];
        if std::mem::take(&mut self.is_open[place]) {
            self.arrival[place] = self.arrival_of_all(task);
        }
        let (est, eft) = self.times(task);
        (self.est[place], self.eft[place]) = (est, eft);
        let [est_before, eft_before, arrival_before] = before;
        let same = |one: f64, other: f64| one.to_bits() == other.to_bits();
        let is_same = same(est, est_before) && same(eft, eft_before);
        if mode != Mode::ForGood && !(is_same && same(self.arrival[place], arrival_before)) {
            self.undo.push((task, before));
        }
        if was_fresh || !same(eft, eft_before) {
            self.push(task, eft_before, was_fresh, mode);
        }
    }

    /// Tells those that follow a task of its end, which was another before.
    fn push(&mut self, task: u32, eft_before: f64, was_fresh: bool, mode: Mode) {
        let until = match mode {
            Mode::ForGood => u32::MAX,
            Mode::Trial { until } => until,
        };
        if self.setting.rank(task) >= until {
            return;
        }
        let (setting, here) = (self.setting, self.host[task as usize]);
        let dag = setting.problem().dag();
        let was_here = if was_fresh { NONE } else { here };
        for (succ, edge) in dag.outgoing(task) {
            let is_reached = setting.rank(succ) <= until && self.progress.is_waiting(succ);
            if !is_reached || self.is_open[succ as usize] {
                continue;
            }
            let to = (succ, self.host[succ as usize]);
            let old = self.arrival_of(edge, (was_here, eft_before), to);
            let new = self.arrival_of(edge, (here, self.eft[task as usize]), to);
            let arrival = self.arrival[succ as usize];
            if new > arrival {
                if mode != Mode::ForGood {
                    let place = succ as usize;
                    let before = [self.est[place], self.eft[place], arrival];
                    self.undo.push((succ, before));
                }
                self.arrival[succ as usize] = new;
                self.mark(succ, mode);
            } else if new < arrival && old >= arrival {
                self.is_open[succ as usize] = true;
                self.mark(succ, mode);
            }
        }
        if here != NONE {
            for link in setting.links(task) {
                if self.next[link] != NONE {
                    self.mark(setting.owner[self.next[link] as usize], mode);
                }
            }
        }
    }

    /// Counts a task from all its predecessors, and tells nobody.
    fn count_whole(&mut self, task: u32) {
        self.arrival[task as usize] = self.arrival_of_all(task);
        let (est, eft) = self.times(task);
        (self.est[task as usize], self.eft[task as usize]) = (est, eft);
    }

    /// The start and end of a waiting task, as its data arrives and its slots become free.
    #[inline]
    fn times(&self, task: u32) -> (f64, f64) {
        let here = self.host[task as usize];
        let mut est = self.progress.now.max(self.arrival[task as usize]);
        if here == NONE {
            return (est, est + self.shortest[task as usize]);
        }
        let links = self.setting.links(task);
        let first = self.setting.list(here, self.slot[task as usize]);
        for (number, &prev) in self.prev[links].iter().enumerate() {
            let free = match prev {
                NONE => self.free[first + number],
                prev => self.eft[self.owner(prev)],
            };
            est = est.max(free);
        }
        (est, est + self.progress.duration(self.setting, task, here))
    }

    fn arrival_of_all(&self, task: u32) -> f64 {
        let to = (task, self.host[task as usize]);
        let preds = self.setting.problem().dag().predecessors(task);
        let arrivals = preds.map(|(pred, edge)| {
            let from = (self.host[pred as usize], self.eft[pred as usize]);
            self.arrival_of(edge, from, to)
        });
        arrivals.fold(0.0, f64::max)
    }

    /// The time at which the data of an edge, made on a machine until a time, is where a task is.
    #[inline]
    fn arrival_of(&self, edge: u32, (there, made): (u32, f64), (task, here): (u32, u32)) -> f64 {
        match here == NONE || there == NONE {
            true => made + self.message(edge, there, here),
            false => made.max(self.since[task as usize]) + self.transfer(edge, there, here),
        }
    }

    #[inline]
    fn transfer(&self, edge: u32, from: u32, to: u32) -> f64 {
        self.routes.seconds(self.setting, edge, from, to)
    }

    #[inline]
    fn mark(&mut self, task: u32, mode: Mode) {
        if self.progress.is_waiting(task) {
            let rank = self.setting.rank(task);
            match mode {
                Mode::ForGood => self.pending.set(rank),
                Mode::Trial { until } if rank <= until => self.on_trial.set(rank),
                Mode::Trial { .. } => {}
            }
        }
    }

    #[inline]
    fn owner(&self, link: u32) -> usize {
        self.setting.owner[link as usize] as usize
    }

    #[inline]
    fn rank_of(&self, link: u32) -> u32 {
        self.setting.rank[self.owner(link)]
    }

    #[inline]
    fn place_in(&self, list: usize, rank: u32) -> usize {
        self.lists[list].partition_point(|&(other, _)| other < rank)
    }
}

impl Marks {
    #[inline]
    fn set(&mut self, place: u32) {
        self.0[place as usize / 64] |= 1 << (place % 64);
    }

    /// Clears and returns the first mark from a place to another.
    #[inline]
    fn take_next(&mut self, from: u32, until: u32) -> Option<u32> {
        let mut word = from as usize / 64;
        while word < self.0.len() && word <= until as usize / 64 {
            let marks = &mut self.0[word];
            if *marks != 0 {
                let place = word as u32 * 64 + marks.trailing_zeros();
                if place > until {
                    return None;
                }
                *marks &= *marks - 1;
                return Some(place);
            }
            word += 1;
        }
        None
    }
}

/// By class of demands: the highest known power of the machines that fit and are there.
pub(super) fn best_powers(setting: &Setting, progress: &Progress) -> Vec<f64> {
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
pub(super) fn shortest_of(
    setting: &Setting,
    progress: &Progress,
    powers: &[f64],
    task: u32,
) -> f64 {
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
