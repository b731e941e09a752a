//! The choice of a place for a cluster: Algorithm 3 in the middle of an execution.
//!
//! Each place has a least cost that is cheap to work out. The best promise is tried first, and of the others only those
//! that can be better than the best one tried.

use std::cmp::Ordering;

use super::estimates::{Detours, Estimates, Row};
use crate::order::{TOLERANCE, less};

/// The memory of choices, which a plan makes several of, one after the other.
#[derive(Default)]
pub(super) struct Memory {
    row: Row,
    detours: Detours,
    /// The machines of the places.
    hosts: Vec<u32>,
    /// By machine: when the first task has its data there, the seconds of the path, and the longest
    /// way after it.
    data: Vec<f64>,
    path: Vec<f64>,
    after: Vec<f64>,
    promises: Vec<Promise>,
    tried: Vec<(usize, f64, f64)>,
}

/// The place of a cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Choice {
    /// A slot of a machine.
    At(u32, u32),
    /// There is none to choose from.
    Nowhere,
    /// None is of any use.
    Useless,
}

/// Algorithm 3: the slot on which the successor of the cluster's last task starts first (A6), then
/// the one on which the last task ends first (A7), then the one of the lowest number. Nothing is tried where the cluster
/// is of use on no machine if it starts there as soon as it can.
pub(super) fn best_place(
    estimates: &mut Estimates<'_>,
    cluster: &[u32],
    places: &[(u32, u32)],
    is_of_use: impl Fn(&Estimates<'_>, u32, f64) -> bool,
    memory: &mut Memory,
) -> Choice {
    let (Some(&head), Some(&last)) = (cluster.first(), cluster.last()) else {
        return Choice::Nowhere;
    };
    let targets = Targets::new(estimates, last);
    estimates.settle(targets.until);
    let floor = targets.floor(estimates, cluster);
    memory.promise(estimates, cluster, &targets, places, floor.unwrap_or(0.0));
    let mut promises = memory.promises.iter();
    if !places.is_empty()
        && !promises.any(|promise| is_of_use(estimates, places[promise.number].0, promise.start))
    {
        return Choice::Useless;
    }
    let mut judged = Judged::new(floor, std::mem::take(&mut memory.tried));
    let mut promises = std::mem::take(&mut memory.promises);
    let nearest = promises.iter().enumerate();
    let nearest = nearest.min_by(|(_, one), (_, other)| one.order(other));
    let nearest = nearest.map(|(place, _)| place);
    let mut next = nearest.map(|place| promises.swap_remove(place));
    let mut is_sorted = false;
    while let Some(promise) = next {
        if promise.least <= judged.limit && !judged.is_beaten(promise.end) {
            let (host, slot) = places[promise.number];
            if let Some((time, eft)) = judged_place(
                estimates,
                cluster,
                (head, host, slot),
                &targets,
                &promise,
                &judged,
            ) {
                judged.add(promise.number, time, eft);
            }
        }
        if !is_sorted {
            // The best promise is tried first, and most of the others cannot be better than that.
            promises.retain(|other| other.least <= judged.limit && !judged.is_beaten(other.end));
            promises.sort_unstable_by(|one, other| other.order(one));
            is_sorted = true;
        }
        next = promises.pop();
    }
    let best = judged.best().map(|number| places[number]);
    memory.promises = promises;
    memory.tried = judged.places;
    match best {
        Some((host, slot)) => Choice::At(host, slot),
        None => Choice::Nowhere,
    }
}

/// Tries a place: the start of the successor with its way, and the end of the last task. None if the place is known
/// to be worse than one that was tried.
fn judged_place(
    estimates: &mut Estimates<'_>,
    cluster: &[u32],
    (head, host, slot): (u32, u32, u32),
    targets: &Targets,
    promise: &Promise,
    judged: &Judged,
) -> Option<(f64, f64)> {
    if judged.has_floor {
        let end = promise.start + estimates.progress.duration(estimates.setting, head, host);
        let (place, limit) = ((head, host, slot), judged.limit);
        let way = |succ| targets.way(estimates, succ);
        if estimates.delays_beyond(place, end, targets.until, limit, way) {
            return None;
        }
    }
    let least = estimates.end_at_least(cluster, host, promise.start) + promise.after;
    if least > judged.limit {
        return None;
    }
    let last = cluster.last().copied().unwrap_or(head);
    estimates.try_on(cluster, host, slot, targets.until);
    let eft = estimates.eft(last);
    let time = targets.start(estimates).unwrap_or(eft);
    estimates.take_back(cluster);
    Some((time, eft))
}

/// The times of places that were tried.
struct Judged {
    /// Each with its number, the start of the successor, and the end of the last task.
    places: Vec<(usize, f64, f64)>,
    /// No place of which the successor starts later can be the best.
    limit: f64,
    /// The successor starts no sooner, whatever the place; 0 if nothing is known.
    floor: f64,
    has_floor: bool,
    /// Of places that let the successor start no later than that, the least end of the last task.
    end: f64,
}

impl Judged {
    fn new(floor: Option<f64>, mut places: Vec<(usize, f64, f64)>) -> Judged {
        places.clear();
        Judged {
            places,
            limit: f64::INFINITY,
            has_floor: floor.is_some(),
            floor: floor.unwrap_or(0.0),
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
    fn best(&mut self) -> Option<usize> {
        self.places.sort_unstable_by_key(|&(number, ..)| number);
        let best = self.places.iter().copied().reduce(|best, other| {
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
    /// The end of the path, and the time after it.
    least: f64,
    /// The same, and no less than what holds of all places.
    from_floor: f64,
    /// The number of the place.
    number: usize,
    /// The time at which the first task starts.
    start: f64,
    /// The end of the path without other gaps than those of ways beside it.
    end: f64,
    /// The longest way from the end of the cluster to the end of the process, at least.
    after: f64,
}

impl Memory {
    /// The promises of all places.
    fn promise(
        &mut self,
        estimates: &Estimates<'_>,
        cluster: &[u32],
        targets: &Targets,
        places: &[(u32, u32)],
        floor: f64,
    ) {
        let (setting, progress) = (estimates.setting, estimates.progress);
        let (hosts, head) = (&mut self.hosts, cluster[0]);
        hosts.clear();
        hosts.extend(places.iter().map(|&(host, _)| host));
        hosts.dedup();
        estimates.data_of_first(head, hosts, &mut self.row, &mut self.data);
        targets.after(estimates, hosts, &mut self.row, &mut self.after);
        self.path.clear();
        self.path.resize(hosts.len(), 0.0);
        for &task in cluster {
            for (path, &host) in self.path.iter_mut().zip(&*hosts) {
                *path += progress.duration(setting, task, host);
            }
        }
        self.detours.find(estimates, cluster);
        self.promises.clear();
        let mut machine = 0;
        for (number, &(host, slot)) in places.iter().enumerate() {
            if hosts[machine] != host {
                machine += 1;
            }
            let (path, after) = (self.path[machine], self.after[machine]);
            let start = estimates.start_of_first(head, host, slot, self.data[machine]);
            let end = match self.detours.is_empty() {
                true => start + path,
                false => self.detours.end(estimates, cluster, (host, start)),
            };
            let least = end + after;
            self.promises.push(Promise {
                least,
                from_floor: least.max(floor),
                number,
                start,
                end,
                after,
            });
        }
    }
}

impl Promise {
    /// The best promise first: of several that let the successor start as soon as it can, the one of which the
    /// last task ends first.
    fn order(&self, other: &Promise) -> Ordering {
        let least = self.from_floor.total_cmp(&other.from_floor);
        let end = least.then(self.end.total_cmp(&other.end));
        end.then(self.number.cmp(&other.number))
    }
}

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

    /// By machine: the longest way from the end of the cluster there to the end of the process, at least.
    fn after(&self, estimates: &Estimates<'_>, hosts: &[u32], row: &mut Row, after: &mut Vec<f64>) {
        after.clear();
        after.resize(hosts.len(), 0.0);
        for &(succ, edge) in &self.tasks {
            let priority = estimates.setting.priority[succ as usize];
            let to = estimates.host[succ as usize];
            estimates.messages_to(edge, to, hosts, row, |place, seconds| {
                after[place] = after[place].max(priority + seconds);
            });
        }
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
