//! The least times of tasks that may move, machine by machine: how soon each can start on each machine, and how long the
//! process takes from there on.
//!
//! They know what the bound of paths does not: that a machine which is faster is elsewhere, so that the data has to go
//! there, and that what a task needs and what it leads to meet on one machine. They do not know that tasks wait for each
//! other's machines.

use super::messages::{Messages, Stop};
use crate::rounds::setting::Setting;

const NONE: u32 = u32::MAX;

/// The times by task and machine, with memory that is used again and again.
#[derive(Default)]
pub(super) struct Tails {
    machines: Machines,
    /// By task: its row, if it is looked at.
    row_of: Vec<u32>,
    /// By row and machine: the seconds of the task, and the least time after it.
    duration: Vec<f64>,
    after: Vec<f64>,
    /// From the start of a task to the end of the process, and from the beginning to its end.
    rest: Times,
    end: Times,
    /// By machine: when it is free, and the start of the task that is looked at.
    free: Vec<f64>,
    start: Vec<f64>,
}

/// The machines that are looked at, of which all others are no better than one.
#[derive(Default)]
struct Machines {
    /// Ascending.
    hosts: Vec<u32>,
    groups: Vec<u32>,
    /// By machine: its place among these; none if another one stands for it.
    place: Vec<u32>,
    /// By group: the least time of a row.
    of_group: Vec<f64>,
}

/// Times by row and machine, with the least of a group and of all.
#[derive(Default)]
struct Times {
    here: Vec<f64>,
    in_group: Vec<f64>,
    anywhere: Vec<f64>,
}

impl Tails {
    /// Nothing is known.
    pub(super) fn forget(&mut self) {
        self.row_of.clear();
    }

    /// The least time after a task that is on a machine; 0 if nothing is known.
    pub(super) fn after(&self, task: u32, host: u32) -> f64 {
        let row = self.row_of.get(task as usize).copied().unwrap_or(NONE);
        if row == NONE || self.machines.place[host as usize] == NONE {
            return 0.0;
        }
        let place = self.machines.place[host as usize] as usize;
        self.after[self.machines.row(row).start + place]
    }

    /// No places let these tasks, in order, lead to an end that is sooner. Machines that are not among these are no
    /// better than one that is. O((n + e) p).
    pub(super) fn makespan(
        &mut self,
        messages: &Messages<'_>,
        tasks: &[u32],
        hosts: &[u32],
        (eft, free): (&[f64], &[f64]),
    ) -> f64 {
        self.prepare(messages.setting, tasks, hosts, free);
        for &task in tasks.iter().rev() {
            self.count_rest(messages, task);
        }
        let mut least = 0.0f64;
        for &task in tasks {
            self.count_end(messages, task, eft);
            let row = self.machines.row(self.row_of[task as usize]);
            let times = self.start.iter().zip(&self.rest.here[row]);
            let end = times.map(|(start, rest)| start + rest);
            least = least.max(end.fold(f64::INFINITY, lower));
        }
        least
    }

    fn prepare(&mut self, setting: &Setting, tasks: &[u32], hosts: &[u32], free: &[f64]) {
        self.machines.become_these(setting, hosts);
        self.row_of.clear();
        self.row_of.resize(setting.order.len(), NONE);
        for (row, &task) in (0u32..).zip(tasks) {
            self.row_of[task as usize] = row;
        }
        let (n_rows, n) = (tasks.len(), tasks.len() * hosts.len());
        for times in [&mut self.duration, &mut self.after] {
            times.clear();
            times.resize(n, 0.0);
        }
        for times in [&mut self.rest, &mut self.end] {
            times.here.clear();
            times.here.resize(n, 0.0);
            times.in_group.clear();
            times.in_group.resize(n, 0.0);
            times.anywhere.clear();
            times.anywhere.resize(n_rows, 0.0);
        }
        self.free.clear();
        self.free.extend(hosts.iter().map(|&host| {
            let first = setting.list(host, 0);
            let slots = setting.problem().hosts()[host as usize].slots as usize;
            let slots = free[first..first + slots].iter().copied();
            slots.fold(f64::INFINITY, lower)
        }));
    }

    /// Counts how long the process takes from the start of a task on. What follows it is counted.
    fn count_rest(&mut self, messages: &Messages<'_>, task: u32) {
        let (setting, progress) = (messages.setting, messages.progress);
        let number = self.row_of[task as usize];
        let row = self.machines.row(number);
        let after = &mut self.after[row.clone()];
        for (succ, edge) in setting.problem().dag().outgoing(task) {
            let row = self.row_of[succ as usize];
            match messages.stops(edge) {
                _ if row == NONE => {}
                None => self
                    .rest
                    .leg(&self.machines, row, messages.legs(edge), after),
                Some((first, seconds, last)) => {
                    let ends = (last, first);
                    let legs = messages.legs(edge);
                    self.rest
                        .way(&self.machines, row, (ends, seconds, legs), after);
                }
            }
        }
        let durations = self.duration[row.clone()]
            .iter_mut()
            .zip(&self.machines.hosts);
        for (duration, &host) in durations {
            *duration = progress.duration(setting, task, host);
        }
        let times = self.duration[row.clone()].iter().zip(&self.after[row]);
        self.rest.set(
            &mut self.machines,
            number,
            times.map(|(one, other)| one + other),
        );
    }

    /// Counts when a task can start on each machine, and end. What is before it is counted or has started.
    fn count_end(&mut self, messages: &Messages<'_>, task: u32, eft: &[f64]) {
        let (setting, progress) = (messages.setting, messages.progress);
        let dag = setting.problem().dag();
        self.start.clear();
        match dag.cores(task) {
            0 => self.start.resize(self.free.len(), progress.now),
            _ => self.start.extend_from_slice(&self.free),
        }
        let start = &mut self.start;
        for (pred, edge) in dag.predecessors(task) {
            let row = self.row_of[pred as usize];
            match (row, messages.stops(edge)) {
                (NONE, _) if progress.is_waiting(pred) => {}
                (NONE, _) => {
                    let (from, made) = (progress.host[pred as usize], eft[pred as usize]);
                    for (start, &host) in start.iter_mut().zip(&self.machines.hosts) {
                        let since = match progress.host[task as usize] == host {
                            true => progress.since[task as usize],
                            false => progress.now,
                        };
                        let left = higher(made, since);
                        *start = higher(*start, left + messages.between(edge, [from, host]));
                    }
                }
                (row, None) => self
                    .end
                    .leg(&self.machines, row, messages.legs(edge), start),
                (row, Some((first, seconds, last))) => {
                    let ends = (first, last);
                    let legs = messages.legs(edge);
                    self.end
                        .way(&self.machines, row, (ends, seconds, legs), start);
                }
            }
        }
        let number = self.row_of[task as usize];
        let durations = &self.duration[self.machines.row(number)];
        let times = self.start.iter().zip(durations);
        self.end.set(
            &mut self.machines,
            number,
            times.map(|(one, other)| one + other),
        );
    }
}

impl Machines {
    fn become_these(&mut self, setting: &Setting, hosts: &[u32]) {
        let problem = setting.problem();
        self.hosts.clear();
        self.hosts.extend_from_slice(hosts);
        self.groups.clear();
        self.groups
            .extend(hosts.iter().map(|&host| problem.group(host)));
        self.place.clear();
        self.place.resize(problem.hosts().len(), NONE);
        for (place, &host) in (0u32..).zip(hosts) {
            self.place[host as usize] = place;
        }
        self.of_group.clear();
        self.of_group
            .resize(problem.links().n_groups() as usize, 0.0);
    }

    #[inline]
    fn row(&self, number: u32) -> std::ops::Range<usize> {
        let width = self.hosts.len();
        number as usize * width..(number as usize + 1) * width
    }
}

impl Times {
    /// Sets the times of a row.
    fn set(&mut self, machines: &mut Machines, number: u32, times: impl Iterator<Item = f64>) {
        let row = machines.row(number);
        let of_group = &mut machines.of_group;
        of_group.fill(f64::INFINITY);
        let mut anywhere = f64::INFINITY;
        let places = self.here[row.clone()].iter_mut().zip(&machines.groups);
        for ((here, &group), time) in places.zip(times) {
            *here = time;
            let least = &mut of_group[group as usize];
            *least = lower(*least, time);
            anywhere = lower(anywhere, time);
        }
        for (in_group, &group) in self.in_group[row].iter_mut().zip(&machines.groups) {
            *in_group = of_group[group as usize];
        }
        self.anywhere[number as usize] = anywhere;
    }

    /// Raises times by machine to those of a row, as soon as a message can be there that goes straight: nowhere, inside
    /// the group, or to another one.
    fn leg(
        &self,
        machines: &Machines,
        number: u32,
        [inside, between]: [f64; 2],
        times: &mut [f64],
    ) {
        let row = machines.row(number);
        let elsewhere = self.anywhere[number as usize] + between;
        let rows = self.here[row.clone()].iter().zip(&self.in_group[row]);
        for (time, (&here, &in_group)) in times.iter_mut().zip(rows) {
            *time = higher(*time, lower(here, lower(in_group + inside, elsewhere)));
        }
    }

    /// The same for a message that goes by way of two machines, the near and the far one seen from the row.
    fn way(
        &self,
        machines: &Machines,
        number: u32,
        ((near, far), seconds, legs): ((Stop, Stop), f64, [f64; 2]),
        times: &mut [f64],
    ) {
        let places = || machines.hosts.iter().zip(&machines.groups);
        let row = self.here[machines.row(number)].iter().zip(places());
        let soonest = row.map(|(&here, (&host, &group))| here + near.to(host, group, legs));
        let soonest = seconds + soonest.fold(f64::INFINITY, lower);
        for (time, (&host, &group)) in times.iter_mut().zip(places()) {
            *time = higher(*time, soonest + far.to(host, group, legs));
        }
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
