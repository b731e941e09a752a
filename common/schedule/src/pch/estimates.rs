//! Estimated starts and finishes of all tasks while some are placed and others are not, kept up
//! to date by visiting only what a change can reach.

use super::virtual_system::{VirtualLink, VirtualSystem};
use crate::meter::Meter;
use crate::order::places;
use crate::problem::{OUTSIDE, Problem};

/// The estimates of Bittencourt and Madeira's recompute pass (rules A3 to A5). Tasks are walked in
/// `order`, by descending priority; a task's times depend on tasks before it only, so a change is
/// followed forward from the first task that it touches, and stops where no time changes.
///
/// The papers' resource is one slot of a machine. A task of several cores holds that many
/// neighbouring slots and has one *link* in the list of each.
pub(super) struct Estimates<'a> {
    pub(super) problem: &'a Problem,
    pub(super) priority: Vec<f64>,
    pub(super) order: Vec<u32>,
    /// The place of a task in `order`.
    pub(super) rank: Vec<u32>,
    pub(super) est: Vec<f64>,
    pub(super) eft: Vec<f64>,
    pub(super) placed: Vec<bool>,
    pub(super) host: Vec<u32>,
    /// The lowest slot that it holds.
    pub(super) slot: Vec<u32>,
    virtual_link: VirtualLink,
    shortest: Vec<f64>,
    /// By task: its first link.
    link_off: Vec<u32>,
    /// By link: its task, and the links before and after it on the same slot.
    pub(super) owner: Vec<u32>,
    prev: Vec<u32>,
    next: Vec<u32>,
    /// By machine: its first slot in the numbering of all slots.
    slot_off: Vec<u32>,
    /// By slot: its links, in order. Links on trial are not in them.
    pub(super) lists: Vec<Vec<u32>>,
    /// By slot of the machine of the trial: the last link that it added there.
    pub(super) trial_last: Vec<u32>,
    /// By place in the order: a bit that is set if the times have to be counted again.
    dirty: Vec<u64>,
    dirty_last: u32,
    undo: Vec<(u32, f64, f64)>,
    /// Counts tasks and messages.
    pub(super) meter: &'a Meter,
}

pub(super) const NONE: u32 = u32::MAX;

impl<'a> Estimates<'a> {
    /// Nothing placed but what has started. O((n + e) log n).
    pub(super) fn new(problem: &'a Problem, meter: &'a Meter) -> Estimates<'a> {
        let dag = problem.dag();
        let n = dag.n_tasks();
        let VirtualSystem {
            link: virtual_link,
            shortest,
            priority,
            order,
        } = VirtualSystem::new(problem);
        let rank = places(&order);
        let mut link_off = Vec::with_capacity(n + 1);
        let mut owner = Vec::new();
        for task in dag.tasks() {
            link_off.push(owner.len() as u32);
            // A task that fits no machine is refused before it is placed.
            if !problem.fitting(problem.demand_class(task)).is_empty() {
                owner.extend((0..dag.cores(task)).map(|_| task));
            }
        }
        link_off.push(owner.len() as u32);
        let mut slot_off = Vec::with_capacity(problem.hosts().len());
        let mut n_slots = 0;
        for host in problem.hosts() {
            slot_off.push(n_slots);
            n_slots += host.slots;
        }
        let slots_max = problem.hosts().iter().map(|host| host.slots).max();
        let mut estimates = Estimates {
            problem,
            priority,
            order,
            rank,
            est: vec![0.0; n],
            eft: vec![0.0; n],
            placed: vec![false; n],
            host: vec![OUTSIDE; n],
            slot: vec![0; n],
            virtual_link,
            shortest,
            prev: vec![NONE; owner.len()],
            next: vec![NONE; owner.len()],
            link_off,
            owner,
            slot_off,
            lists: vec![Vec::new(); n_slots as usize],
            trial_last: vec![NONE; slots_max.unwrap_or(0) as usize],
            dirty: vec![0; n / 64 + 1],
            dirty_last: 0,
            undo: Vec::new(),
            meter,
        };
        for task in dag.tasks() {
            if let Some(fixed) = problem.fixed(task) {
                estimates.placed[task as usize] = true;
                estimates.host[task as usize] = fixed.host;
                estimates.est[task as usize] = fixed.finish;
                estimates.eft[task as usize] = fixed.finish;
            } else {
                estimates.mark(task);
            }
        }
        estimates.settle(0, n.saturating_sub(1) as u32);
        estimates.undo.clear();
        estimates
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
            self.settle(self.rank[first as usize], until);
        }
    }

    pub(super) fn take_back(&mut self, tasks: &[u32]) {
        for &(task, est, eft) in self.undo.iter().rev() {
            self.est[task as usize] = est;
            self.eft[task as usize] = eft;
        }
        self.undo.clear();
        for &task in tasks.iter().rev() {
            self.placed[task as usize] = false;
            for link in self.links(task).rev() {
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
            let rank = self.rank[task as usize];
            for (link, slot) in self.links(task).zip(slot..) {
                let list = self.list(host, slot);
                let place = self.place_in(list, rank);
                self.lists[list].insert(place, link as u32);
            }
        }
        self.undo.clear();
    }

    /// When the first task of a cluster would start on a slot: all that is before it in the order
    /// is placed, so nothing of the cluster can change it.
    pub(super) fn start_of_first(&self, task: u32, host: u32, slot: u32) -> f64 {
        let rank = self.rank[task as usize];
        let first = self.first_slot(task, host, slot);
        let mut start = 0.0f64;
        for (_, slot) in self.links(task).zip(first..) {
            let list = self.list(host, slot);
            let free = match self.place_in(list, rank).checked_sub(1) {
                Some(before) => self.eft[self.owner[self.lists[list][before] as usize] as usize],
                None => self.problem.ready(host)[slot as usize],
            };
            start = start.max(free);
        }
        for (pred, edge) in self.problem.dag().predecessors(task) {
            let transfer = self.problem.transfer(edge, self.host[pred as usize], host);
            start = start.max(self.eft[pred as usize] + transfer);
        }
        start
    }

    /// The tasks of a slot, in order.
    pub(super) fn tasks_on(&self, host: u32, slot: u32) -> Vec<u32> {
        let links = &self.lists[self.list(host, slot)];
        links
            .iter()
            .map(|&link| self.owner[link as usize])
            .collect()
    }

    pub(super) fn is_empty(&self, host: u32, slot: u32) -> bool {
        self.lists[self.list(host, slot)].is_empty()
    }

    pub(super) fn insert(&mut self, task: u32, host: u32, slot: u32) {
        let rank = self.rank[task as usize];
        let first = self.first_slot(task, host, slot);
        self.placed[task as usize] = true;
        self.host[task as usize] = host;
        self.slot[task as usize] = first;
        self.mark(task);
        for (link, slot) in self.links(task).zip(first..) {
            let list = self.list(host, slot);
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
                self.mark(self.owner[next as usize]);
            }
            (self.prev[link], self.next[link]) = (prev, next);
            self.trial_last[slot as usize] = link as u32;
        }
        self.mark_successors(task);
    }

    /// Counts again what is marked, from a place in the order to another; marks beyond it are
    /// dropped, which is right for trials that are taken back.
    pub(super) fn settle(&mut self, first: u32, until: u32) {
        let mut word = first as usize / 64;
        'words: while word <= until as usize / 64 && word < self.dirty.len() {
            while self.dirty[word] != 0 {
                let place = word * 64 + self.dirty[word].trailing_zeros() as usize;
                if place > until as usize {
                    break 'words;
                }
                self.dirty[word] &= self.dirty[word] - 1;
                self.count(self.order[place]);
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
        let dag = self.problem.dag();
        let placed = self.placed[task as usize];
        let here = self.host[task as usize];
        let (mut est, mut duration) = (0.0f64, self.shortest[task as usize]);
        if placed {
            duration = self.problem.duration(task, here);
            for (link, slot) in self.links(task).zip(self.slot[task as usize]..) {
                let free = match self.prev[link] {
                    NONE => self.problem.ready(here)[slot as usize],
                    prev => self.eft[self.owner[prev as usize] as usize],
                };
                est = est.max(free);
            }
        }
        let preds = dag.predecessors(task);
        self.meter.add(1 + preds.len() as u64);
        for (pred, edge) in preds {
            let transfer = if placed && self.placed[pred as usize] {
                self.problem.transfer(edge, self.host[pred as usize], here)
            } else {
                self.virtual_link.seconds(dag.data(edge))
            };
            est = est.max(self.eft[pred as usize] + transfer);
        }
        let eft = est + duration;
        let (est_before, eft_before) = (self.est[task as usize], self.eft[task as usize]);
        if est.to_bits() == est_before.to_bits() && eft.to_bits() == eft_before.to_bits() {
            return;
        }
        self.undo.push((task, est_before, eft_before));
        self.est[task as usize] = est;
        self.eft[task as usize] = eft;
        if eft.to_bits() != eft_before.to_bits() {
            self.mark_successors(task);
            if placed {
                for link in self.links(task) {
                    if self.next[link] != NONE {
                        self.mark(self.owner[self.next[link] as usize]);
                    }
                }
            }
        }
    }

    fn mark_successors(&mut self, task: u32) {
        let dag = self.problem.dag();
        for (succ, _) in dag.successors(task) {
            self.mark(succ);
        }
    }

    fn mark(&mut self, task: u32) {
        if self.problem.fixed(task).is_some() {
            return;
        }
        let rank = self.rank[task as usize];
        self.dirty[rank as usize / 64] |= 1 << (rank % 64);
        self.dirty_last = self.dirty_last.max(rank);
    }

    fn links(&self, task: u32) -> std::ops::Range<usize> {
        self.link_off[task as usize] as usize..self.link_off[task as usize + 1] as usize
    }

    /// A task of several cores reaches to the machine's last slot at most.
    pub(super) fn first_slot(&self, task: u32, host: u32, slot: u32) -> u32 {
        let slots = self.problem.hosts()[host as usize].slots;
        slot.min(slots.saturating_sub(self.problem.dag().cores(task)))
    }

    pub(super) fn list(&self, host: u32, slot: u32) -> usize {
        (self.slot_off[host as usize] + slot) as usize
    }

    pub(super) fn rank_of(&self, link: u32) -> u32 {
        self.rank[self.owner[link as usize] as usize]
    }

    pub(super) fn place_in(&self, list: usize, rank: u32) -> usize {
        self.lists[list].partition_point(|&link| self.rank_of(link) < rank)
    }
}
