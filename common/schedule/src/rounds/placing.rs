//! The choice of a place for a cluster: Algorithm 3 in the middle of an execution.
//!
//! Each place has a least cost that is cheap to work out. The promising ones come first, and as soon as no place that is
//! left can be better than the best one tried, the others are not looked at.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::estimates::Estimates;
use crate::order::{TOLERANCE, less};

/// Algorithm 3: the slot on which the successor of the cluster's last task starts first (A6), then
/// the one on which the last task ends first (A7), then the one of the lowest number.
pub(super) fn best_place(
    estimates: &mut Estimates<'_>,
    cluster: &[u32],
    places: &[(u32, u32)],
) -> Option<(u32, u32)> {
    let (&head, &last) = (cluster.first()?, cluster.last()?);
    let targets = Targets::new(estimates, last);
    estimates.settle(targets.until);
    let mut promises = Promises::new(estimates, cluster, &targets, places);
    let floor = targets.floor(estimates, cluster);
    let mut judged = Judged::new(floor.unwrap_or(0.0));
    while let Some(promise) = promises.next(estimates, judged.limit) {
        let (host, slot) = places[promise.number];
        if judged.is_beaten(promise.end) {
            continue;
        }
        if floor.is_some() {
            let end = promise.start + estimates.progress.duration(estimates.setting, head, host);
            let (place, limit) = ((head, host, slot), judged.limit);
            let way = |succ| targets.way(estimates, succ);
            if estimates.delays_beyond(place, end, targets.until, limit, way) {
                continue;
            }
        }
        let least = estimates.end_at_least(cluster, host, promise.start) + promise.after;
        if least > judged.limit {
            continue;
        }
        estimates.try_on(cluster, host, slot, targets.until);
        let eft = estimates.eft(last);
        let time = targets.start(estimates).unwrap_or(eft);
        estimates.take_back(cluster);
        judged.add(promise.number, time, eft);
    }
    judged.best().map(|number| places[number])
}

/// The times of places that were tried.
struct Judged {
    /// Each with its number, the start of the successor, and the end of the last task.
    places: Vec<(usize, f64, f64)>,
    /// No place of which the successor starts later can be the best.
    limit: f64,
    /// The successor starts no sooner, whatever the place.
    floor: f64,
    /// Of places that let the successor start no later than that, the least end of the last task.
    end: f64,
}

impl Judged {
    fn new(floor: f64) -> Judged {
        Judged {
            places: Vec::new(),
            limit: f64::INFINITY,
            floor,
            end: f64::INFINITY,
        }
    }

    fn add(&mut self, number: usize, time: f64, eft: f64) {
        self.places.push((number, time, eft));
        self.limit = self.limit.min(margin(time));
        if time <= self.floor {
            self.end = self.end.min(margin(eft));
        }
    }

    /// True if a place of which the last task ends no sooner is worse than one that was tried: the successor can
    /// start no sooner than there, and the last task ends later.
    fn is_beaten(&self, eft_least: f64) -> bool {
        eft_least > self.end
    }

    /// The choice of asking one place after the other.
    fn best(mut self) -> Option<usize> {
        self.places.sort_unstable_by_key(|&(number, ..)| number);
        let best = self.places.into_iter().reduce(|best, other| {
            let is_sooner = less(other.1, best.1);
            let is_even = !less(best.1, other.1);
            match is_sooner || (is_even && less(other.2, best.2)) {
                true => other,
                false => best,
            }
        });
        best.map(|(number, ..)| number)
    }
}

/// A time that is later than another by more than comparisons overlook.
fn margin(time: f64) -> f64 {
    time + 4.0 * TOLERANCE * time.max(1.0)
}

/// The least cost of a place for a cluster.
#[derive(Clone, Copy)]
struct Promise {
    /// The path without gaps, and the time after it.
    least: f64,
    /// The number of the place.
    number: usize,
    /// The time at which the first task starts.
    start: f64,
    /// The end of the path without gaps.
    end: f64,
    /// The longest way from the end of the cluster to the end of the process, at least.
    after: f64,
}

/// The places of a machine.
struct Machine {
    /// The least cost if the first task starts at this moment.
    least: f64,
    numbers: Range<usize>,
    path: f64,
    after: f64,
}

/// All places, the one of the least cost first. Those of a machine are looked at only when its path alone, from this
/// moment on, costs no more than the next place.
struct Promises<'a> {
    head: u32,
    places: &'a [(u32, u32)],
    /// Machines that were not looked at, the one of the least cost last.
    machines: Vec<Machine>,
    /// The places of the others.
    promises: BinaryHeap<Promise>,
}

impl<'a> Promises<'a> {
    fn new(
        estimates: &Estimates<'_>,
        cluster: &[u32],
        targets: &Targets,
        places: &'a [(u32, u32)],
    ) -> Promises<'a> {
        let (setting, progress) = (estimates.setting, estimates.progress);
        let mut machines = Vec::new();
        let mut first = 0;
        for of_machine in places.chunk_by(|one, other| one.0 == other.0) {
            let host = of_machine[0].0;
            let durations = cluster.iter();
            let durations = durations.map(|&task| progress.duration(setting, task, host));
            let path: f64 = durations.sum();
            let after = targets.after(estimates, host);
            let numbers = first..first + of_machine.len();
            first = numbers.end;
            machines.push(Machine {
                least: progress.now + (path + after),
                numbers,
                path,
                after,
            });
        }
        machines.sort_unstable_by(|one, other| other.least.total_cmp(&one.least));
        Promises {
            head: cluster[0],
            places,
            machines,
            promises: BinaryHeap::new(),
        }
    }

    /// The next place, if any is left that costs no more than a limit.
    fn next(&mut self, estimates: &Estimates<'_>, limit: f64) -> Option<Promise> {
        loop {
            let least = self
                .promises
                .peek()
                .map_or(f64::INFINITY, |next| next.least);
            let is_nearer = |machine: &mut Machine| machine.least <= least.min(limit);
            let Some(machine) = self.machines.pop_if(is_nearer) else {
                return self.promises.pop().filter(|next| next.least <= limit);
            };
            let host = self.places[machine.numbers.start].0;
            let data = estimates.data_of_first(self.head, host);
            for number in machine.numbers {
                let slot = self.places[number].1;
                let start = estimates.start_of_first(self.head, host, slot, data);
                self.promises.push(Promise {
                    least: start + (machine.path + machine.after),
                    number,
                    start,
                    end: start + machine.path,
                    after: machine.after,
                });
            }
        }
    }
}

/// The larger one is the one of the lower cost, as a heap wants it, or of the lower number.
impl Ord for Promise {
    fn cmp(&self, other: &Promise) -> Ordering {
        let least = other.least.total_cmp(&self.least);
        least.then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Promise {
    fn partial_cmp(&self, other: &Promise) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Promise {
    fn eq(&self, other: &Promise) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Promise {}

/// The successors of a cluster, whose start says how good a place is.
struct Targets {
    /// Each with the message that it gets from the last task of the cluster.
    tasks: Vec<(u32, u32)>,
    /// The last place in the order that has to be counted for a judgement.
    until: u32,
}

impl Targets {
    fn new(estimates: &Estimates<'_>, last: u32) -> Targets {
        let setting = estimates.setting;
        let messages = setting.problem().dag().outgoing(last);
        let waiting = messages.filter(|&(succ, _)| estimates.progress.is_waiting(succ));
        let tasks: Vec<(u32, u32)> = waiting.collect();
        let ends = tasks.iter().map(|&(succ, _)| succ).chain([last]);
        let until = ends.map(|task| setting.rank(task)).fold(0, u32::max);
        Targets { tasks, until }
    }

    /// The longest way from the end of the cluster on a machine to the end of the process, at least.
    fn after(&self, estimates: &Estimates<'_>, host: u32) -> f64 {
        let ways = self.tasks.iter().map(|&(succ, edge)| {
            let priority = estimates.setting.priority[succ as usize];
            priority + estimates.message(edge, host, estimates.host[succ as usize])
        });
        ways.fold(0.0, f64::max)
    }

    /// The latest start of a successor, with its way to the end; none if there is no successor.
    fn start(&self, estimates: &Estimates<'_>) -> Option<f64> {
        let starts = self
            .tasks
            .iter()
            .map(|&(succ, _)| estimates.est(succ) + estimates.setting.priority[succ as usize]);
        starts.reduce(f64::max)
    }

    /// The way from the start of a task to the end of the process, if it is one of these.
    fn way(&self, estimates: &Estimates<'_>, task: u32) -> Option<f64> {
        let is_here = self.tasks.iter().any(|&(target, _)| target == task);
        is_here.then(|| estimates.setting.priority[task as usize])
    }

    /// The latest start with its way if nothing waited for the cluster: no place lets the successors start sooner. None
    /// where something else that is counted before them depends on the cluster: it may end sooner than is known, and
    /// so may what is behind it on its slot.
    fn floor(&self, estimates: &Estimates<'_>, cluster: &[u32]) -> Option<f64> {
        let setting = estimates.setting;
        let dag = setting.problem().dag();
        let is_here = |task: u32| {
            cluster.contains(&task) || self.tasks.iter().any(|&(target, _)| target == task)
        };
        let targets = self.tasks.iter().map(|&(target, _)| target);
        let is_apart = |task: u32| {
            let mut successors = dag.successors(task).map(|(succ, _)| succ);
            successors.all(|succ| setting.rank(succ) > self.until || is_here(succ))
        };
        if !cluster.iter().copied().chain(targets.clone()).all(is_apart) {
            return None;
        }
        let left_out: Vec<u32> = match self.tasks.len() {
            1 => cluster.to_vec(),
            _ => cluster.iter().copied().chain(targets.clone()).collect(),
        };
        let starts = targets.map(|target| {
            estimates.est_without(target, &left_out) + setting.priority[target as usize]
        });
        starts.reduce(f64::max)
    }
}

#[cfg(test)]
mod tests;
