//! Estimated times of all tasks, kept nearly right at a cost that does not grow with the graph.

use super::slots::Slots;
use crate::meter::Meter;
use crate::pch::virtual_system::VirtualSystem;
use crate::problem::{OUTSIDE, Problem};

/// The estimates of PCH. Tasks are numbered by their place in the order of priorities, so that
/// every edge goes from a lower number to a higher one. All tasks before the first one that is not
/// placed are *settled*: their times are final. Behind it a change marks what it reaches first;
/// marks are worked off near the settled part, and far from it only now and then.
pub(super) struct Times<'a> {
    pub(super) problem: &'a Problem,
    pub(super) meter: &'a Meter,
    /// By number: the position in the graph.
    pub(super) order: Vec<u32>,
    pub(super) priority: Vec<f64>,
    pred_off: Vec<u32>,
    preds: Vec<Edge>,
    succ_off: Vec<u32>,
    succs: Vec<Edge>,
    pub(super) est: Vec<f64>,
    pub(super) eft: Vec<f64>,
    duration: Vec<f64>,
    /// The priority without the task itself.
    rest: Vec<f64>,
    pub(super) places: Vec<Assigned>,
    /// By task with many predecessors: its number in `latest`.
    latest_of: Vec<u32>,
    latest: Vec<Latest>,
    /// By task: its first link, one for each core.
    link_off: Vec<u32>,
    /// By link: the tasks before and after it on the slot.
    prev: Vec<u32>,
    next: Vec<u32>,
    pub(super) slots: Slots,
    n_settled: u32,
    marks: Vec<u64>,
}

/// One end of an edge, seen from the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) other: u32,
    pub(super) data: f64,
    /// The cost of the message while one of its ends is not placed.
    pub(super) virtual_seconds: f64,
}

/// The machine and slot of a task.
#[derive(Clone, Copy, Debug)]
pub(super) struct Assigned {
    pub(super) host: u32,
    /// The group of the machine, or [`NONE`] while the task is not placed.
    pub(super) group: u32,
    /// The lowest slot that it holds.
    pub(super) slot: u32,
}

/// The two latest arrivals of the messages for a task, so that it need not look at all of its
/// predecessors whenever one changes.
#[derive(Clone, Copy, Debug)]
struct Latest {
    first: f64,
    from: u32,
    second: f64,
}

pub(super) const NONE: u32 = u32::MAX;
/// Predecessors above which the latest arrivals are kept.
const PREDECESSORS_MANY: usize = 32;
/// Steps of planning for each task before the first cluster.
const STEPS_A_TASK: u64 = 20;
/// The same for each message.
const STEPS_A_MESSAGE: u64 = 9;
/// Steps of planning to count a task's times, beside its messages.
const STEPS_TO_COUNT: u64 = 3;
/// Successors above which the messages to them are not looked at one by one.
const SUCCESSORS_MANY: usize = 32;
/// The range behind the settled part in which marks are worked off after each cluster, in tasks.
const NEAR_TASKS: u32 = 2_048;
/// Edges looked at after each cluster at most.
const NEAR_EDGES: usize = 100;

impl<'a> Times<'a> {
    /// Nothing placed but what has started. O((n + e) log n).
    pub(super) fn new(problem: &'a Problem, meter: &'a Meter) -> Times<'a> {
        let dag = problem.dag();
        let n = dag.n_tasks();
        meter.add(STEPS_A_TASK * n as u64 + STEPS_A_MESSAGE * dag.n_edges() as u64);
        let system = VirtualSystem::new(problem);
        let order = system.order;
        let number = crate::order::places(&order);
        // Each side is filled by walking the other one in order, so that both ascend.
        let mut pred_off = offsets(&order, |task| dag.predecessors(task).len());
        let mut preds = vec![Edge::NOTHING; dag.n_edges()];
        for (tail, &task) in (0u32..).zip(&order) {
            for (succ, data) in dag.successors(task) {
                let place = &mut pred_off[number[succ as usize] as usize];
                preds[*place as usize] = Edge {
                    other: tail,
                    data,
                    virtual_seconds: system.link.seconds(data),
                };
                *place += 1;
            }
        }
        rewind(&mut pred_off);
        let mut succ_off = offsets(&order, |task| dag.successors(task).len());
        let mut succs = vec![Edge::NOTHING; dag.n_edges()];
        for head in 0..n {
            for edge in &preds[pred_off[head] as usize..pred_off[head + 1] as usize] {
                let place = &mut succ_off[edge.other as usize];
                succs[*place as usize] = Edge {
                    other: head as u32,
                    ..*edge
                };
                *place += 1;
            }
        }
        rewind(&mut succ_off);
        let mut latest = Vec::new();
        let latest_of = (0..n)
            .map(|task| {
                if pred_off[task + 1] - pred_off[task] <= PREDECESSORS_MANY as u32 {
                    return NONE;
                }
                latest.push(Latest::NOTHING);
                latest.len() as u32 - 1
            })
            .collect();
        let link_off = offsets(&order, |task| {
            // A task that fits no machine is refused before it is placed.
            match problem.fitting(problem.demand_class(task)).is_empty() {
                true => 0,
                false => dag.cores(task) as usize,
            }
        });
        let n_links = link_off[n] as usize;
        let mut times = Times {
            problem,
            meter,
            priority: order.iter().map(|&t| system.priority[t as usize]).collect(),
            duration: order.iter().map(|&t| system.shortest[t as usize]).collect(),
            rest: order
                .iter()
                .map(|&t| system.priority[t as usize] - system.shortest[t as usize])
                .collect(),
            order,
            pred_off,
            preds,
            succ_off,
            succs,
            est: vec![0.0; n],
            eft: vec![0.0; n],
            places: vec![Assigned::NOWHERE; n],
            latest_of,
            latest,
            link_off,
            prev: vec![NONE; n_links],
            next: vec![NONE; n_links],
            slots: Slots::new(problem),
            n_settled: 0,
            marks: vec![0; n / 64 + 1],
        };
        for task in 0..n as u32 {
            if let Some(fixed) = problem.fixed(times.order[task as usize]) {
                times.places[task as usize] = Assigned {
                    host: fixed.host,
                    group: problem.group(fixed.host),
                    slot: 0,
                };
                times.est[task as usize] = fixed.finish;
                times.eft[task as usize] = fixed.finish;
            } else {
                times.mark(task);
            }
        }
        times.count_marked();
        times
    }

    /// The remaining time of the process after a task ends at a place; a lower bound if many tasks
    /// wait for it.
    pub(super) fn rest_at(&self, task: u32, here: Assigned) -> f64 {
        let succs = self.successors(task);
        if succs.len() > SUCCESSORS_MANY {
            return self.rest[task as usize];
        }
        let rest = succs.iter().map(|edge| {
            let to = self.places[edge.other as usize];
            self.seconds(edge, here, to) + self.priority[edge.other as usize]
        });
        rest.fold(0.0, f64::max)
    }

    pub(super) fn is_fixed(&self, task: u32) -> bool {
        self.problem.fixed(self.order[task as usize]).is_some()
    }

    pub(super) fn is_placed(&self, task: u32) -> bool {
        self.places[task as usize].group != NONE
    }

    pub(super) fn predecessors(&self, task: u32) -> &[Edge] {
        let task = task as usize;
        &self.preds[self.pred_off[task] as usize..self.pred_off[task + 1] as usize]
    }

    pub(super) fn successors(&self, task: u32) -> &[Edge] {
        let task = task as usize;
        &self.succs[self.succ_off[task] as usize..self.succ_off[task + 1] as usize]
    }

    /// A task of several cores reaches to the machine's last slot at most.
    pub(super) fn first_slot(&self, task: u32, host: u32, slot: u32) -> u32 {
        let slots = self.problem.hosts()[host as usize].slots;
        let cores = self.problem.dag().cores(self.order[task as usize]);
        slot.min(slots.saturating_sub(cores))
    }

    /// When a message is there, its tail where it is and its head at a place.
    pub(super) fn arrival(&self, edge: &Edge, to: Assigned) -> f64 {
        let from = self.places[edge.other as usize];
        self.eft[edge.other as usize] + self.seconds(edge, from, to)
    }

    /// The cost of a message between two machines.
    pub(super) fn seconds(&self, edge: &Edge, from: Assigned, to: Assigned) -> f64 {
        if from.group == NONE || to.group == NONE {
            edge.virtual_seconds
        } else if from.host == to.host && from.host != OUTSIDE {
            0.0
        } else {
            self.problem
                .links()
                .seconds(edge.data, from.group, to.group)
        }
    }

    /// When a task could start as far as it does not wait for the tasks of a cluster.
    pub(super) fn start_without(&self, task: u32, is_of_cluster: impl Fn(u32) -> bool) -> f64 {
        let here = self.places[task as usize];
        let mut start = self.free_before(task, |prev| !is_of_cluster(prev));
        match self.latest_of[task as usize] {
            NONE => {
                for edge in self.predecessors(task) {
                    if !is_of_cluster(edge.other) {
                        start = start.max(self.arrival(edge, here));
                    }
                }
            }
            number => {
                let latest = self.latest[number as usize];
                let of_cluster = latest.from != NONE && is_of_cluster(latest.from);
                start = start.max(if of_cluster {
                    latest.second
                } else {
                    latest.first
                });
            }
        }
        start
    }

    /// Puts tasks on a place, with times that hold until they are counted again.
    pub(super) fn put(&mut self, cluster: &[u32], host: u32, slot: u32, times: &[(f64, f64)]) {
        let group = self.problem.group(host);
        for (&task, &(start, finish)) in cluster.iter().zip(times) {
            let slot = self.first_slot(task, host, slot);
            self.places[task as usize] = Assigned { host, group, slot };
            let duration = self.problem.duration(self.order[task as usize], host);
            self.duration[task as usize] = duration;
            self.est[task as usize] = start;
            self.eft[task as usize] = finish;
        }
        for &task in cluster {
            self.insert(task);
            self.mark(task);
            self.look_at_all(task);
            self.spread(task);
        }
    }

    /// Settles everything before a task, and works off marks behind it as far as that is cheap.
    pub(super) fn settle(&mut self, until: u32) {
        for task in self.n_settled..until {
            if self.take_mark(task) {
                self.look_at_all(task);
                self.count(task);
            }
            let place = self.places[task as usize];
            for link in self.links(task) {
                if self.problem.fixed(self.order[task as usize]).is_some() {
                    break;
                }
                let slot = place.slot + (link as u32 - self.link_off[task as usize]);
                let number = self.slots.number(place.host, slot);
                self.slots.n_settled[number] += 1;
                self.slots.load[number] -= self.duration[task as usize];
                self.slots.free[number] = self.eft[task as usize];
            }
        }
        self.n_settled = until;
        let (mut edges, end) = (NEAR_EDGES, until.saturating_add(NEAR_TASKS));
        let words = until as usize / 64..(end as usize / 64).min(self.marks.len());
        for word in words {
            while self.marks[word] != 0 {
                let task = word as u32 * 64 + self.marks[word].trailing_zeros();
                let mut cost = 1 + self.successors(task).len();
                if self.latest_of[task as usize] == NONE {
                    cost += self.predecessors(task).len();
                }
                if cost > edges {
                    return;
                }
                edges -= cost;
                self.marks[word] &= self.marks[word] - 1;
                self.count(task);
            }
        }
    }

    /// Counts all that is marked.
    pub(super) fn count_marked(&mut self) {
        for word in self.n_settled as usize / 64..self.marks.len() {
            while self.marks[word] != 0 {
                let task = word as u32 * 64 + self.marks[word].trailing_zeros();
                self.marks[word] &= self.marks[word] - 1;
                self.look_at_all(task);
                self.count(task);
            }
        }
    }

    fn count(&mut self, task: u32) {
        let here = self.places[task as usize];
        self.meter.add(STEPS_TO_COUNT);
        let mut start = self.free_before(task, |_| true);
        match self.latest_of[task as usize] {
            NONE => {
                self.meter.add(self.predecessors(task).len() as u64);
                for edge in self.predecessors(task) {
                    start = start.max(self.arrival(edge, here));
                }
            }
            number => start = start.max(self.latest[number as usize].first),
        }
        let finish = start + self.duration[task as usize];
        self.est[task as usize] = start;
        if finish.to_bits() == self.eft[task as usize].to_bits() {
            return;
        }
        self.eft[task as usize] = finish;
        self.spread(task);
    }

    /// When the slots of a task are free for it.
    fn free_before(&self, task: u32, counts: impl Fn(u32) -> bool) -> f64 {
        let here = self.places[task as usize];
        if here.group == NONE {
            return 0.0;
        }
        let mut free = 0.0f64;
        for (link, slot) in self.links(task).zip(here.slot..) {
            free = free.max(match self.prev[link] {
                NONE => self.problem.ready(here.host)[slot as usize],
                prev if counts(prev) => self.eft[prev as usize],
                _ => 0.0,
            });
        }
        free
    }

    /// Tells those that come after a task that its finish or place has changed.
    fn spread(&mut self, task: u32) {
        let from = self.places[task as usize];
        let finish = self.eft[task as usize];
        self.meter.add(self.successors(task).len() as u64);
        for number in self.succ_off[task as usize]..self.succ_off[task as usize + 1] {
            let edge = self.succs[number as usize];
            self.mark(edge.other);
            let latest = self.latest_of[edge.other as usize];
            if latest != NONE {
                let at = finish + self.seconds(&edge, from, self.places[edge.other as usize]);
                self.latest[latest as usize].update(task, at);
            }
        }
        for link in self.links(task) {
            if self.next[link] != NONE {
                self.mark(self.next[link]);
            }
        }
    }

    /// Finds the latest arrivals of a task of many predecessors anew.
    fn look_at_all(&mut self, task: u32) {
        let number = self.latest_of[task as usize];
        if number != NONE {
            let here = self.places[task as usize];
            self.meter.add(self.predecessors(task).len() as u64);
            let mut latest = Latest::NOTHING;
            for edge in self.predecessors(task) {
                latest.update(edge.other, self.arrival(edge, here));
            }
            self.latest[number as usize] = latest;
        }
    }

    fn insert(&mut self, task: u32) {
        let place = self.places[task as usize];
        for (link, slot) in self.links(task).zip(place.slot..) {
            let number = self.slots.number(place.host, slot);
            self.slots.touch(self.problem, place.host, number);
            self.slots.load[number] += self.duration[task as usize];
            let settled = self.slots.n_settled[number] as usize;
            let list = &mut self.slots.tasks[number];
            let at = settled + list[settled..].partition_point(|&other| other < task);
            let prev = at.checked_sub(1).map_or(NONE, |at| list[at]);
            let next = list.get(at).copied().unwrap_or(NONE);
            list.insert(at, task);
            (self.prev[link], self.next[link]) = (prev, next);
            if prev != NONE {
                let link = self.link(prev, slot);
                self.next[link] = task;
            }
            if next != NONE {
                let link = self.link(next, slot);
                self.prev[link] = task;
                self.mark(next);
            }
        }
    }

    fn mark(&mut self, task: u32) {
        if self.problem.fixed(self.order[task as usize]).is_none() {
            self.marks[task as usize / 64] |= 1 << (task % 64);
        }
    }

    fn take_mark(&mut self, task: u32) -> bool {
        let (word, bit) = (task as usize / 64, 1 << (task % 64));
        let marked = self.marks[word] & bit != 0;
        self.marks[word] &= !bit;
        marked
    }

    fn links(&self, task: u32) -> std::ops::Range<usize> {
        self.link_off[task as usize] as usize..self.link_off[task as usize + 1] as usize
    }

    /// The link of a task on a slot that it holds.
    fn link(&self, task: u32, slot: u32) -> usize {
        (self.link_off[task as usize] + slot - self.places[task as usize].slot) as usize
    }
}

impl Latest {
    const NOTHING: Latest = Latest {
        first: 0.0,
        from: NONE,
        second: 0.0,
    };

    /// A message arrives at another time than before. If the latest one has become earlier than
    /// others that were not kept, the error lasts until all are counted again.
    fn update(&mut self, from: u32, at: f64) {
        if from == self.from {
            self.first = at;
            if at < self.second {
                (self.first, self.from) = (self.second, NONE);
            }
        } else if at > self.first {
            (self.second, self.first, self.from) = (self.first, at, from);
        } else {
            self.second = self.second.max(at);
        }
    }
}

impl Edge {
    const NOTHING: Edge = Edge {
        other: 0,
        data: 0.0,
        virtual_seconds: 0.0,
    };
}

impl Assigned {
    pub(super) const NOWHERE: Assigned = Assigned {
        host: OUTSIDE,
        group: NONE,
        slot: 0,
    };
}

/// The start of each task's entries, and the end of all.
fn offsets(order: &[u32], count: impl Fn(u32) -> usize) -> Vec<u32> {
    let mut off = Vec::with_capacity(order.len() + 1);
    let mut end = 0;
    for &task in order {
        off.push(end);
        end += count(task) as u32;
    }
    off.push(end);
    off
}

/// Offsets that were moved on to the end of each task's entries, back to their beginning.
fn rewind(off: &mut [u32]) {
    off.rotate_right(1);
    // The end of all was not moved, so it is twice there.
    if let Some(first) = off.first_mut() {
        *first = 0;
    }
}
