//! Near-linear PCH.
//!
//! The rules of PCH with cheaper times (section 10.5 of the digest of Bittencourt and Madeira's
//! paper). What differs from the exact one:
//! - only the [`CANDIDATES`] places that look best by one line of arithmetic are timed, and those
//!   of the cluster's neighbours;
//! - a place is timed along the cluster and along what its slot runs in between, not in the whole
//!   graph;
//! - all other times are counted again only each time that the number of placed tasks has grown by
//!   a part of [`GROWTH`], so that a cluster may be chosen by times that are a little old.
//!
//! Cost: O((n + e) log n + k s log m) for k clusters, s slots and m tasks on a slot. No limit on
//! the number of tasks.

use super::{Candidates, Estimates, has_wide, next_cluster, schedule};
use crate::order::less;
use crate::problem::{OUTSIDE, Problem};
use crate::schedule::{Schedule, ScheduleError, Scheduler, holds_slots};

/// Places that are timed for each cluster, beside those of its neighbours.
const CANDIDATES: usize = 12;
/// Times are counted again when so many more tasks are placed than the last time.
const GROWTH: f64 = 0.05;
/// So many tasks fewer are enough: small graphs are counted after each cluster.
const GROWTH_LEAST: f64 = 4.0;
/// Places of neighbours that are timed at most.
const NEIGHBOURS: usize = 6;
/// Tasks that are followed on a slot behind the cluster in search of its successor.
const FOLLOWED_MAX: usize = 64;

/// PCH for graphs of any size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PchFast;

impl Scheduler for PchFast {
    fn name(&self) -> &'static str {
        "pch-fast"
    }

    fn schedule(&self, problem: &Problem) -> Result<Schedule, ScheduleError> {
        let dag = problem.dag();
        let fits_nowhere = |task: &u32| problem.fitting(problem.demand_class(*task)).is_empty();
        let mut waiting = dag.tasks().filter(|&task| holds_slots(problem, task));
        if let Some(task) = waiting.find(fits_nowhere) {
            return Err(ScheduleError::NoHost { task });
        }
        let mut estimates = Estimates::new(problem);
        let mut candidates = Candidates::new(problem);
        let mut judge = Judge::new(problem);
        for task in dag.tasks() {
            if let Some(fixed) = problem.fixed(task) {
                judge.group_of[task as usize] = problem.group(fixed.host);
            }
        }
        let last_place = dag.n_tasks().saturating_sub(1) as u32;
        let (mut n_placed, mut n_counted) = (0usize, 0usize);
        for place in 0..dag.n_tasks() {
            let head = estimates.order[place];
            if estimates.placed[head as usize] {
                continue;
            }
            let (tasks, hosts) = next_cluster(problem, &estimates, head);
            candidates.collect(problem, &estimates, &tasks, &hosts);
            let best = judge.best_place(problem, &estimates, &tasks, &candidates.places);
            let Some((host, slot)) = best else {
                return Err(ScheduleError::NoHost { task: head });
            };
            judge.time(problem, &estimates, &tasks, host, slot);
            for &task in &tasks {
                judge.group_of[task as usize] = problem.group(host);
            }
            estimates.put(&tasks, host, slot, &judge.times);
            candidates.touched[host as usize] = true;
            n_placed += tasks.len();
            if n_placed as f64 > n_counted as f64 * (1.0 + GROWTH) - GROWTH_LEAST {
                estimates.settle(0, last_place);
                n_counted = n_placed;
            }
        }
        estimates.settle(0, last_place);
        Ok(schedule(problem, &estimates))
    }
}

/// Times a cluster on a place without changing anything.
struct Judge {
    /// By task of the cluster: start and finish on the place timed last.
    times: Vec<(f64, f64)>,
    /// By task: its place in the cluster, if it is of the one numbered in `of`.
    member: Vec<u32>,
    of: Vec<u32>,
    n_clusters: u32,
    /// (what a place costs at least, place)
    promising: Vec<((f64, f64), (u32, u32))>,
    /// By group: when the cluster can start there at least, what follows its last task, and when
    /// what follows can be over at least.
    groups: Vec<(f64, f64, f64)>,
    power_max: Vec<f64>,
    /// By task: the group of its machine.
    group_of: Vec<u32>,
    /// Tasks that the cluster pushes back on the slot, with when they end then.
    pushed: Vec<(u32, f64)>,
}

impl Judge {
    fn new(problem: &Problem) -> Judge {
        Judge {
            times: Vec::new(),
            member: vec![0; problem.dag().n_tasks()],
            of: vec![0; problem.dag().n_tasks()],
            n_clusters: 0,
            promising: Vec::new(),
            groups: Vec::new(),
            power_max: power_max(problem),
            group_of: vec![problem.links().outside(); problem.dag().n_tasks()],
            pushed: Vec::new(),
        }
    }

    /// The place on which the cluster's successor starts first, then the one on which its last task
    /// ends first, then the lowest, of the promising ones.
    fn best_place(
        &mut self,
        problem: &Problem,
        estimates: &Estimates<'_>,
        cluster: &[u32],
        places: &[(u32, u32)],
    ) -> Option<(u32, u32)> {
        let &head = cluster.first()?;
        self.n_clusters += 1;
        for (number, &task) in (0u32..).zip(cluster) {
            self.member[task as usize] = number;
            self.of[task as usize] = self.n_clusters;
        }
        self.choose_promising(problem, estimates, cluster, head, places);
        let promising_end = self.promising.len() + NEIGHBOURS;
        'cluster: for &task in cluster {
            let dag = problem.dag();
            let before = dag.predecessors(task).map(|(pred, _)| pred);
            for other in before
                .chain(dag.successors(task).map(|(succ, _)| succ))
                .take(NEIGHBOURS)
            {
                if !estimates.placed[other as usize] || estimates.host[other as usize] == OUTSIDE {
                    continue;
                }
                let place = (
                    estimates.host[other as usize],
                    estimates.slot[other as usize],
                );
                let known = self.promising.iter().any(|promising| promising.1 == place);
                if !known && places.binary_search(&place).is_ok() {
                    self.promising.push(((0.0, 0.0), place));
                }
                if self.promising.len() >= promising_end {
                    break 'cluster;
                }
            }
        }
        self.promising.sort_unstable_by_key(|promising| promising.1);
        let mut best: Option<((f64, f64), (u32, u32))> = None;
        for number in 0..self.promising.len() {
            let (_, (host, slot)) = self.promising[number];
            let (time, eft) = self.time(problem, estimates, cluster, host, slot);
            let better = best.is_none_or(|((least, least_eft), _)| {
                less(time, least) || (!less(least, time) && less(eft, least_eft))
            });
            if better {
                best = Some(((time, eft), (host, slot)));
            }
        }
        best.map(|(_, place)| place)
    }

    /// Fills `promising` with the places that cost least if nothing delays the path.
    fn choose_promising(
        &mut self,
        problem: &Problem,
        estimates: &Estimates<'_>,
        cluster: &[u32],
        head: u32,
        places: &[(u32, u32)],
    ) {
        let dag = problem.dag();
        let links = problem.links();
        let last = cluster[cluster.len() - 1];
        let work: f64 = cluster.iter().map(|&task| dag.work(task)).sum();
        // By group: how late the path is there at least, its last task ended, on the fastest
        // machine, and what follows.
        self.groups.clear();
        for (group, &power) in (0u32..).zip(&self.power_max) {
            let mut eft = 0.0f64;
            for &task in cluster {
                for (pred, edge) in dag.predecessors(task) {
                    if self.of[pred as usize] == self.n_clusters {
                        continue;
                    }
                    let data = dag.data(edge);
                    let transfer = match estimates.placed[pred as usize] {
                        true => links.seconds(data, self.group_of[pred as usize], group),
                        false => estimates.virtual_seconds(data),
                    };
                    eft = eft.max(estimates.eft[pred as usize] + transfer);
                }
                eft += dag.work(task) / power;
            }
            let arrival = eft - work / power;
            self.groups.push((arrival, 0.0, 0.0));
            let mut after = (f64::NEG_INFINITY, 0.0f64);
            for (succ, data) in dag.successors(last) {
                if problem.fixed(succ).is_some() {
                    continue;
                }
                let seconds = match estimates.placed[succ as usize] {
                    true => links.seconds(data, group, self.group_of[succ as usize]),
                    false => estimates.virtual_seconds(data),
                };
                let rest = estimates.priority[succ as usize];
                after.0 = after.0.max(seconds + rest);
                after.1 = after.1.max(estimates.est[succ as usize] + rest);
            }
            if after.0 == f64::NEG_INFINITY {
                after.0 = 0.0;
            }
            if let Some(entry) = self.groups.last_mut() {
                (entry.1, entry.2) = after;
            }
        }
        self.promising.clear();
        let mut worst = (f64::INFINITY, f64::INFINITY);
        for &(host, slot) in places {
            let machine = &problem.hosts()[host as usize];
            let path = if problem.has_costs() {
                let durations = cluster.iter().map(|&task| problem.duration(task, host));
                durations.sum()
            } else {
                work / machine.power
            };
            let (arrival, after, at_least) = self.groups[machine.group as usize];
            let key = |eft: f64| (at_least.max(eft + after), eft);
            if key(arrival + path) >= worst {
                continue;
            }
            let least = key(estimates.free_before(head, host, slot).max(arrival) + path);
            if least >= worst {
                continue;
            }
            let at = self.promising.partition_point(|other| other.0 <= least);
            self.promising.insert(at, (least, (host, slot)));
            self.promising.truncate(CANDIDATES);
            if self.promising.len() == CANDIDATES {
                worst = self.promising[CANDIDATES - 1].0;
            }
        }
    }

    /// Times the cluster on a place: (start of its successor and what follows it, finish of its
    /// last task).
    fn time(
        &mut self,
        problem: &Problem,
        estimates: &Estimates<'_>,
        cluster: &[u32],
        host: u32,
        slot: u32,
    ) -> (f64, f64) {
        let dag = problem.dag();
        self.times.clear();
        // Neighbouring slots of tasks of several cores are not looked at: they are rare, and all
        // times are counted again later.
        let mut line = estimates.line(cluster[0], host, slot, !has_wide(problem, cluster));
        self.pushed.clear();
        for &task in cluster {
            let mut start = match dag.is_gate(task) {
                true => 0.0,
                false => line.pass(
                    estimates,
                    problem,
                    estimates.rank[task as usize],
                    &mut self.pushed,
                ),
            };
            for (pred, edge) in dag.predecessors(task) {
                let at = if self.of[pred as usize] == self.n_clusters {
                    self.times[self.member[pred as usize] as usize].1
                } else {
                    let from = estimates.host[pred as usize];
                    let placed = estimates.placed[pred as usize];
                    let transfer = match placed {
                        true => problem.transfer(edge, from, host),
                        false => estimates.virtual_seconds(dag.data(edge)),
                    };
                    estimates.eft[pred as usize] + transfer
                };
                start = start.max(at);
            }
            let finish = start + problem.duration(task, host);
            if !dag.is_gate(task) {
                line.free = line.free.max(finish);
            }
            self.times.push((start, finish));
        }
        let eft = self.times.last().map_or(0.0, |times| times.1);
        let last = cluster[cluster.len() - 1];
        // What the cluster pushes back may be what its successor waits for.
        let until = dag
            .successors(last)
            .map(|(succ, _)| estimates.rank[succ as usize])
            .max();
        if let Some(until) = until {
            line.pass(estimates, problem, until, &mut self.pushed);
        }
        let mut time: Option<f64> = None;
        for (succ, data) in dag.successors(last) {
            if problem.fixed(succ).is_some() {
                continue;
            }
            let start = self.arrival(problem, estimates, succ, (host, slot), (eft, data));
            let start = start + estimates.priority[succ as usize];
            time = Some(time.map_or(start, |time| time.max(start)));
        }
        for number in 0..self.pushed.len() {
            let (task, finish) = self.pushed[number];
            for (succ, data) in dag.successors(task) {
                if self.of[succ as usize] == self.n_clusters || problem.fixed(succ).is_some() {
                    continue;
                }
                if dag.successors(last).any(|(target, _)| target == succ) {
                    let start =
                        self.arrival(problem, estimates, succ, (host, slot), (finish, data));
                    let start = start + estimates.priority[succ as usize];
                    time = Some(time.map_or(start, |time| time.max(start)));
                }
            }
        }
        (time.unwrap_or(eft), eft)
    }

    /// When a task outside the cluster can start that waits for data that leaves a place at a time.
    fn arrival(
        &self,
        problem: &Problem,
        estimates: &Estimates<'_>,
        task: u32,
        (host, slot): (u32, u32),
        (at, data): (f64, f64),
    ) -> f64 {
        let there = estimates.host[task as usize];
        let seconds = if !estimates.placed[task as usize] {
            estimates.virtual_seconds(data)
        } else if there == host {
            0.0
        } else {
            let group = self.group_of[task as usize];
            problem.links().seconds(data, problem.group(host), group)
        };
        let mut start = estimates.est[task as usize].max(at + seconds);
        if there == host && estimates.slot[task as usize] == slot {
            // It runs behind what was pushed back last before it.
            let before = self.pushed.iter().rev().find(|&&(other, _)| {
                estimates.rank[other as usize] < estimates.rank[task as usize]
            });
            start = start.max(before.map_or(0.0, |&(_, finish)| finish));
        }
        start
    }
}

fn power_max(problem: &Problem) -> Vec<f64> {
    let mut powers = vec![0.0f64; problem.links().n_groups() as usize];
    for host in problem.hosts() {
        let power = &mut powers[host.group as usize];
        *power = power.max(host.power);
    }
    powers
}

/// What a slot runs, walked along while a cluster is laid between it.
#[derive(Clone)]
pub(super) struct Line {
    list: usize,
    /// The next one in the list.
    next: usize,
    /// When the slot is free after all that has been passed.
    free: f64,
    follows: bool,
}

impl Line {
    /// Goes past what comes before a place in the order; when the slot is free then.
    fn pass(
        &mut self,
        estimates: &Estimates<'_>,
        problem: &Problem,
        rank: u32,
        pushed: &mut Vec<(u32, f64)>,
    ) -> f64 {
        let list = &estimates.lists[self.list];
        let mut n_followed = 0;
        while self.follows
            && self.next < list.len()
            && n_followed < FOLLOWED_MAX
            && estimates.rank_of(list[self.next]) < rank
        {
            let task = estimates.owner[list[self.next] as usize];
            let duration = problem.duration(task, estimates.host[task as usize]);
            self.free = self.free.max(estimates.est[task as usize]) + duration;
            if self.free > estimates.eft[task as usize] {
                pushed.push((task, self.free));
            }
            self.next += 1;
            n_followed += 1;
        }
        self.free
    }
}

impl<'a> Estimates<'a> {
    /// Puts tasks on a place for good, with times that hold until all are counted again.
    fn put(&mut self, tasks: &[u32], host: u32, slot: u32, times: &[(f64, f64)]) {
        self.trial_last.fill(super::estimates::NONE);
        for (&task, &(start, finish)) in tasks.iter().zip(times) {
            self.insert(task, host, slot);
            self.est[task as usize] = start;
            self.eft[task as usize] = finish;
        }
        self.keep(tasks);
    }

    /// When a slot is free for a task, after what comes before it in the order.
    fn free_before(&self, task: u32, host: u32, slot: u32) -> f64 {
        let first = self.first_slot(task, host, slot);
        let mut free = 0.0f64;
        for slot in first..first + self.problem.dag().cores(task) {
            let list = self.list(host, slot);
            let before = match self.lists[list].last() {
                None => None,
                // Most clusters come after all that a slot has.
                Some(&link) if self.rank_of(link) < self.rank[task as usize] => Some(link),
                Some(_) => {
                    let place = self.place_in(list, self.rank[task as usize]);
                    place.checked_sub(1).map(|place| self.lists[list][place])
                }
            };
            free = free.max(match before {
                Some(link) => self.eft[self.owner[link as usize] as usize],
                None => self.problem.ready(host)[slot as usize],
            });
        }
        free
    }

    /// The slot's tasks from a cluster's first task on.
    fn line(&self, head: u32, host: u32, slot: u32, follows: bool) -> Line {
        let slot = self.first_slot(head, host, slot);
        let list = self.list(host, slot);
        Line {
            list,
            next: self.place_in(list, self.rank[head as usize]),
            free: self.free_before(head, host, slot),
            follows,
        }
    }
}

#[cfg(test)]
mod tests;
