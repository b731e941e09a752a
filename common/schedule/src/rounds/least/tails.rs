//! The least time from a task on, which may move, to the end of the process, machine by machine.
//!
//! It knows what the bound of paths does not: that a machine which is faster is elsewhere, so that the data has to go
//! there, and that all that follows a task gets its data from one machine. It does not know that tasks wait for each
//! other's machines.

use super::messages::{Messages, Stop};
use crate::rounds::setting::Setting;

const NONE: u32 = u32::MAX;

/// The times by task and machine, with memory that is used again and again.
#[derive(Default)]
pub(super) struct Tails {
    /// The machines that are looked at, ascending, with their groups.
    hosts: Vec<u32>,
    groups: Vec<u32>,
    /// By machine: its place among these, if it is looked at.
    place: Vec<u32>,
    /// By task: its row, if it is looked at.
    row_of: Vec<u32>,
    /// By row and machine: the least time after the task, and from its start on.
    after: Vec<f64>,
    rest: Vec<f64>,
    /// The same from its start on any machine of the group; by row, on any machine.
    in_group: Vec<f64>,
    anywhere: Vec<f64>,
    /// By group: the least time of the task that is looked at. By machine: its start.
    of_group: Vec<f64>,
    start: Vec<f64>,
}

impl Tails {
    /// Nothing is known.
    pub(super) fn forget(&mut self) {
        self.row_of.clear();
    }

    /// The least time after a task that is on a machine; 0 if nothing is known.
    pub(super) fn after(&self, task: u32, host: u32) -> f64 {
        let row = self.row_of.get(task as usize).copied().unwrap_or(NONE);
        if row == NONE || self.place[host as usize] == NONE {
            return 0.0;
        }
        self.after[row as usize * self.hosts.len() + self.place[host as usize] as usize]
    }

    /// No places of these tasks, which are in order, let what they lead to among themselves end sooner. Machines that are
    /// not among these are no better than one that is. What has started ends at some times, and slots are free at some.
    /// O((n + e) p).
    pub(super) fn makespan(
        &mut self,
        messages: &Messages<'_>,
        (tasks, hosts): (&[u32], &[u32]),
        (eft, free): (&[f64], &[f64]),
    ) -> f64 {
        self.prepare(messages.setting, tasks, hosts);
        let mut least = 0.0f64;
        for &task in tasks.iter().rev() {
            self.count(messages, task);
            if self.find_starts(messages, task, (eft, free)) {
                let times = self.start.iter().zip(&self.rest[self.row(task)]);
                let ends = times.map(|(start, rest)| start + rest);
                least = least.max(ends.fold(f64::INFINITY, lower));
            }
        }
        least
    }

    fn prepare(&mut self, setting: &Setting, tasks: &[u32], hosts: &[u32]) {
        let problem = setting.problem();
        self.hosts.clear();
        self.hosts.extend_from_slice(hosts);
        self.groups.clear();
        let groups = hosts.iter().map(|&host| problem.group(host));
        self.groups.extend(groups);
        self.place.clear();
        self.place.resize(problem.hosts().len(), NONE);
        for (place, &host) in (0u32..).zip(hosts) {
            self.place[host as usize] = place;
        }
        self.row_of.clear();
        self.row_of.resize(setting.order.len(), NONE);
        for (row, &task) in (0u32..).zip(tasks) {
            self.row_of[task as usize] = row;
        }
        for times in [&mut self.after, &mut self.rest, &mut self.in_group] {
            times.clear();
            times.resize(tasks.len() * hosts.len(), 0.0);
        }
        self.anywhere.clear();
        self.anywhere.resize(tasks.len(), 0.0);
        self.of_group.clear();
        let n_groups = problem.links().n_groups() as usize;
        self.of_group.resize(n_groups, 0.0);
    }

    #[inline]
    fn row(&self, task: u32) -> std::ops::Range<usize> {
        let (row, width) = (self.row_of[task as usize] as usize, self.hosts.len());
        row * width..(row + 1) * width
    }

    /// Counts the times of a task. What follows it is counted.
    fn count(&mut self, messages: &Messages<'_>, task: u32) {
        let (setting, progress) = (messages.setting, messages.progress);
        let row = self.row(task);
        let after = &mut self.after[row.clone()];
        for (succ, edge) in setting.problem().dag().outgoing(task) {
            let next = self.row_of[succ as usize];
            if next == NONE {
                continue;
            }
            let width = self.hosts.len();
            let next_row = next as usize * width..(next as usize + 1) * width;
            let rest = &self.rest[next_row.clone()];
            let legs = messages.legs(edge);
            if let Some((first, seconds, last)) = messages.stops(edge) {
                // The message goes by way of two machines that are known.
                let places = || self.hosts.iter().zip(&self.groups);
                let to = |stop: Stop, (&host, &group)| stop.to(host, group, legs);
                let soonest = rest.iter().zip(places());
                let soonest = soonest.map(|(rest, place)| rest + to(last, place));
                let soonest = seconds + soonest.fold(f64::INFINITY, lower);
                for (after, place) in after.iter_mut().zip(places()) {
                    *after = higher(*after, soonest + to(first, place));
                }
                continue;
            }
            let [inside, between] = legs;
            let elsewhere = self.anywhere[next as usize] + between;
            let rests = rest.iter().zip(&self.in_group[next_row]);
            for (after, (&rest, &in_group)) in after.iter_mut().zip(rests) {
                let there = lower(rest, lower(in_group + inside, elsewhere));
                *after = higher(*after, there);
            }
        }
        let mut anywhere = f64::INFINITY;
        self.of_group.fill(f64::INFINITY);
        let places = self.hosts.iter().zip(&self.groups).zip(&*after);
        for (rest, ((&host, &group), &after)) in self.rest[row.clone()].iter_mut().zip(places) {
            *rest = progress.duration(setting, task, host) + after;
            let of_group = &mut self.of_group[group as usize];
            *of_group = lower(*of_group, *rest);
            anywhere = lower(anywhere, *rest);
        }
        for (in_group, &group) in self.in_group[row].iter_mut().zip(&self.groups) {
            *in_group = self.of_group[group as usize];
        }
        self.anywhere[self.row_of[task as usize] as usize] = anywhere;
    }

    /// By machine: the least start of a task there by what has started before it; false if nothing has.
    fn find_starts(
        &mut self,
        messages: &Messages<'_>,
        task: u32,
        (eft, free): (&[f64], &[f64]),
    ) -> bool {
        let (setting, progress) = (messages.setting, messages.progress);
        let problem = setting.problem();
        let preds = || problem.dag().predecessors(task);
        let has_started = |&(pred, _): &(u32, u32)| !progress.is_waiting(pred);
        if preds().len() > 0 && !preds().any(|pred| has_started(&pred)) {
            return false;
        }
        self.start.clear();
        self.start.extend(self.hosts.iter().map(|&host| {
            let slots = problem.hosts()[host as usize].slots as usize;
            let first = setting.list(host, 0);
            match problem.dag().cores(task) {
                0 => progress.now,
                _ => free[first..first + slots]
                    .iter()
                    .copied()
                    .fold(f64::INFINITY, lower),
            }
        }));
        for (pred, edge) in preds().filter(has_started) {
            let (from, made) = (progress.host[pred as usize], eft[pred as usize]);
            for (start, &host) in self.start.iter_mut().zip(&self.hosts) {
                let since = match progress.host[task as usize] == host {
                    true => progress.since[task as usize],
                    false => progress.now,
                };
                let left = higher(made, since);
                *start = higher(*start, left + messages.between(edge, [from, host]));
            }
        }
        true
    }
}

#[inline]
fn lower(one: f64, other: f64) -> f64 {
    if one < other { one } else { other }
}

#[inline]
fn higher(one: f64, other: f64) -> f64 {
    if one > other { one } else { other }
}
