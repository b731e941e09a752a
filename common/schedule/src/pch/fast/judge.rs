//! The cost of putting a cluster on a slot, computed without changing anything.

use super::Path;
use super::times::{Assigned, NONE, Times};
use crate::order::less;
use crate::problem::{OUTSIDE, Problem};

/// Places that are timed for each cluster at most, beside those of its neighbours.
const CANDIDATES: usize = 12;
/// Places of neighbours that are timed at most.
const NEIGHBOURS: usize = 6;
/// Tasks of a cluster whose neighbours are looked at for that.
const NEIGHBOURS_OF: usize = 16;
/// Steps of planning to time a task of a cluster on a place, and to begin with that.
const STEPS_TO_TIME: u64 = 5;
/// Tasks that are pushed back on a slot at most, one after the other.
const PUSHED_MAX: usize = 64;

/// Times clusters on places.
///
/// The cost of a place is the time at which the process can be over because of it: start plus
/// priority of the successor of the cluster's last task (A6), but also of the successors of its
/// other tasks, and of the tasks that the cluster pushes back on the slot. The exact algorithm sees
/// the latter two in the start of the successor, as far as they reach it.
pub(super) struct Judge {
    /// By task of the cluster: start and finish on the place timed last.
    pub(super) times: Vec<(f64, f64)>,
    /// By task: the cluster that it was in, as `n_clusters` counts them.
    of: Vec<u32>,
    n_clusters: u32,
    n_groups: usize,
    /// By task of the cluster and group: what arrives from outside the cluster.
    arrivals: Vec<Latest>,
    /// The same for what is to do after the task: messages to others and their priorities.
    rests: Vec<Latest>,
    /// When the process can be over at least, wherever the cluster is.
    at_least: f64,
    /// By slot that is worth a look: what the cluster probably costs there, which sets the order of
    /// trying: beside what it waits for and what waits for it, all that the slot has yet to run.
    likely: Vec<Likely>,
    /// The likeliest ones, ascending: (cost, slot).
    promising: Vec<(Likely, u32)>,
    /// The best slot so far, and the one timed last.
    best: Option<(Cost, u32)>,
    timed: u32,
    /// By slot: the cluster for which it was tried last.
    tried: Vec<u32>,
    groups: Vec<Group>,
    power_max: Vec<f64>,
    /// By machine: whether it fits the cluster, where not all of them do.
    fits: Vec<bool>,
    /// Tasks that the cluster pushes back on the slot, with when they end then.
    pushed: Vec<(u32, f64)>,
}

/// When the process can be over, and when the cluster's last task ends.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Cost {
    over: f64,
    finish: f64,
}

/// Facts about a slot before the cluster is timed there.
#[derive(Clone, Copy)]
struct Likely {
    cost: Cost,
    /// When the process can be over at least, whatever else the slot has to run.
    over_least: f64,
}

/// The latest of several messages, between a task and each machine of a group.
#[derive(Clone, Copy)]
struct Latest {
    at: f64,
    /// The task at its other end, if that is placed, and that task's machine.
    other: u32,
    host: u32,
}

/// Estimates for all machines of a group before one of them is timed.
struct Group {
    /// When the cluster would end on the fastest machine, less its work there.
    arrival: f64,
    /// The least remaining time after its last task.
    rest: f64,
    /// When the process can be over at least.
    over: f64,
}

impl Judge {
    pub(super) fn new(problem: &Problem) -> Judge {
        let n_groups = problem.links().n_groups() as usize;
        let mut power_max = vec![0.0f64; n_groups];
        for host in problem.hosts() {
            let power = &mut power_max[host.group as usize];
            *power = power.max(host.power);
        }
        let n_slots = problem.hosts().iter().map(|host| host.slots as usize).sum();
        Judge {
            times: Vec::new(),
            of: vec![0; problem.dag().n_tasks()],
            n_clusters: 0,
            n_groups,
            arrivals: Vec::new(),
            rests: Vec::new(),
            at_least: 0.0,
            likely: Vec::new(),
            promising: Vec::new(),
            best: None,
            timed: NONE,
            tried: vec![0; n_slots],
            groups: Vec::new(),
            power_max,
            fits: Vec::new(),
            pushed: Vec::new(),
        }
    }

    /// The place that costs least, of the promising ones: the lowest of those that are equal. `times`
    /// are those there afterwards. None if no machine fits.
    pub(super) fn best_place(&mut self, times: &Times<'_>, path: &Path) -> Option<(u32, u32)> {
        self.look_at(times, &path.tasks);
        let considered = self.appraise(times, path);
        self.best = None;
        let likely = (considered.iter().zip(&self.likely))
            .filter(|(_, likely)| likely.cost < Cost::NEVER)
            .min_by(|(_, one), (_, other)| one.cost.order(&other.cost));
        let (&slot, _) = likely?;
        self.try_slot(times, path, slot, Cost::NOTHING);
        self.try_neighbours(times, path);
        self.choose_promising(considered);
        for number in 0..self.promising.len() {
            let (likely, slot) = self.promising[number];
            self.try_slot(times, path, slot, likely.least());
        }
        let (_, slot) = self.best?;
        if self.timed != slot {
            self.time(times, path, slot, f64::INFINITY);
        }
        Some(times.slots.on_host(slot))
    }

    /// Times the cluster on a slot that costs at least so much, unless that has been done or would
    /// be in vain.
    fn try_slot(&mut self, times: &Times<'_>, path: &Path, slot: u32, least: Cost) {
        self.tried[slot as usize] = self.n_clusters;
        let mut limit = f64::INFINITY;
        if let Some((best, at)) = self.best {
            if !least.may_be_better_than(best, slot < at) {
                return;
            }
            limit = best.over;
        }
        self.timed = slot;
        if let Some(cost) = self.time(times, path, slot, limit) {
            let best = self.best;
            if best.is_none_or(|(best, at)| cost.may_be_better_than(best, slot < at)) {
                self.best = Some((cost, slot));
            }
        }
    }

    /// Collects what comes into the cluster and what waits for it.
    fn look_at(&mut self, times: &Times<'_>, cluster: &[u32]) {
        self.n_clusters += 1;
        for &task in cluster {
            self.of[task as usize] = self.n_clusters;
        }
        let (of, here) = (&self.of, self.n_clusters);
        let is_of_cluster = |task: u32| of[task as usize] == here;
        let links = times.problem.links();
        self.arrivals.clear();
        self.rests.clear();
        for &task in cluster {
            let first = self.arrivals.len();
            self.arrivals.resize(first + self.n_groups, Latest::NOTHING);
            self.rests.resize(first + self.n_groups, Latest::NOTHING);
            let n_edges = times.predecessors(task).len() + times.successors(task).len();
            let n_steps = (n_edges + 1) * (self.n_groups + 1);
            times.meter.add(n_steps as u64);
            for edge in times.predecessors(task) {
                if is_of_cluster(edge.other) {
                    continue;
                }
                let from = times.places[edge.other as usize];
                let finish = times.eft[edge.other as usize];
                for (group, arrival) in (0u32..).zip(&mut self.arrivals[first..]) {
                    let seconds = match from.group {
                        NONE => edge.virtual_seconds,
                        _ => links.seconds(edge.data, from.group, group),
                    };
                    arrival.update(finish + seconds, edge.other, from);
                }
            }
            for edge in times.successors(task) {
                if is_of_cluster(edge.other) {
                    continue;
                }
                let to = times.places[edge.other as usize];
                let priority = times.priority[edge.other as usize];
                for (group, rest) in (0u32..).zip(&mut self.rests[first..]) {
                    let seconds = match to.group {
                        NONE => edge.virtual_seconds,
                        _ => links.seconds(edge.data, group, to.group),
                    };
                    rest.update(seconds + priority, edge.other, to);
                }
            }
        }
        self.at_least = 0.0;
        for edge in times.successors(cluster[cluster.len() - 1]) {
            if !times.is_fixed(edge.other) {
                let start = times.start_without(edge.other, is_of_cluster);
                let over = start + times.priority[edge.other as usize];
                self.at_least = self.at_least.max(over);
            }
        }
    }

    /// Estimates the cost of the cluster on each slot worth considering, into `likely`.
    fn appraise<'t>(&mut self, times: &'t Times<'_>, path: &Path) -> &'t [u32] {
        let problem = times.problem;
        let work_of = |task: u32| problem.dag().work(times.order[task as usize]);
        self.groups.clear();
        for (group, &power) in self.power_max.iter().enumerate() {
            let (mut finish, mut over, mut rest) = (0.0f64, self.at_least, 0.0);
            for (member, &task) in path.tasks.iter().enumerate() {
                let entry = member * self.n_groups + group;
                finish = finish.max(self.arrivals[entry].at) + work_of(task) / power;
                rest = self.rests[entry].at;
                over = over.max(finish + rest);
            }
            self.groups.push(Group {
                arrival: finish - path.work / power,
                rest,
                over,
            });
        }
        let hosts = path.hosts(problem);
        let all_fit = hosts.len() == problem.hosts().len();
        if !all_fit {
            self.fits.clear();
            self.fits.resize(problem.hosts().len(), false);
            hosts
                .iter()
                .for_each(|&host| self.fits[host as usize] = true);
        }
        let considered = match path.is_wide {
            true => times.slots.all(),
            false => times.slots.open(),
        };
        let plain = all_fit && !path.is_wide && !problem.has_costs();
        let slots = &times.slots;
        self.likely.clear();
        let n_steps = self.n_groups * path.tasks.len() + 2 * considered.len();
        times.meter.add(n_steps as u64);
        for &slot in considered {
            let number = slot as usize;
            let (free, seconds) = if plain {
                (slots.free[number], path.work / slots.power[number])
            } else if all_fit || self.fits[slots.host[number] as usize] {
                (free_for(times, path, slot), path.seconds(times, slot))
            } else {
                self.likely.push(Likely::NEVER);
                continue;
            };
            let group = &self.groups[slots.group[number] as usize];
            let finish = free.max(group.arrival) + seconds;
            let loaded = free + seconds + slots.load[number];
            let over_least = group.over.max(finish + group.rest);
            let over = over_least.max(loaded);
            let cost = Cost { over, finish };
            self.likely.push(Likely { cost, over_least });
        }
        considered
    }

    /// Fills `promising` with the likeliest slots of those that may be better than the best one so
    /// far.
    fn choose_promising(&mut self, considered: &[u32]) {
        self.promising.clear();
        let mut worst = Cost::NEVER;
        for (&slot, likely) in considered.iter().zip(&self.likely) {
            let in_vain = |(best, at)| !likely.least().may_be_better_than(best, slot < at);
            let tried = self.tried[slot as usize] == self.n_clusters;
            if likely.cost >= worst || tried || self.best.is_some_and(in_vain) {
                continue;
            }
            let at = self
                .promising
                .partition_point(|(other, _)| other.cost <= likely.cost);
            self.promising.truncate(CANDIDATES - 1);
            self.promising.insert(at, (*likely, slot));
            if self.promising.len() == CANDIDATES {
                worst = self.promising[CANDIDATES - 1].0.cost;
            }
        }
    }

    /// Tries the places of what the cluster waits for and of what waits for it.
    fn try_neighbours(&mut self, times: &Times<'_>, path: &Path) {
        let mut left = NEIGHBOURS;
        let last = path.tasks[path.tasks.len() - 1];
        for edge in times.successors(last).iter().take(NEIGHBOURS / 2) {
            self.try_place_of(times, path, edge.other, &mut left);
        }
        for (member, &task) in path.tasks.iter().enumerate().take(NEIGHBOURS_OF) {
            let first = member * self.n_groups;
            for entry in first..first + self.n_groups {
                let from = self.arrivals[entry].other;
                if from != NONE {
                    self.try_place_of(times, path, from, &mut left);
                }
            }
            for edge in times.successors(task).iter().take(NEIGHBOURS) {
                if self.of[edge.other as usize] != self.n_clusters {
                    self.try_place_of(times, path, edge.other, &mut left);
                }
            }
        }
    }

    fn try_place_of(&mut self, times: &Times<'_>, path: &Path, task: u32, left: &mut usize) {
        let Assigned { host, group, slot } = times.places[task as usize];
        if *left == 0 || group == NONE || host == OUTSIDE {
            return;
        }
        let number = times.slots.number(host, slot);
        let open = path.is_wide || times.slots.is_open(number);
        if !open || !self.fits_host(times, path, host) || self.tried[number] == self.n_clusters {
            return;
        }
        *left -= 1;
        // Messages inside the machine cost nothing, which the group's figures do not know.
        let slot = number as u32;
        let least = Cost {
            over: self.at_least,
            finish: free_for(times, path, slot) + path.seconds(times, slot),
        };
        self.try_slot(times, path, slot, least);
    }

    fn fits_host(&self, times: &Times<'_>, path: &Path, host: u32) -> bool {
        let hosts = path.hosts(times.problem);
        hosts.len() == times.problem.hosts().len() || self.fits[host as usize]
    }

    /// The cost of the cluster on a slot; none if that is more than a limit.
    fn time(&mut self, times: &Times<'_>, path: &Path, slot: u32, limit: f64) -> Option<Cost> {
        let problem = times.problem;
        let dag = problem.dag();
        self.times.clear();
        self.pushed.clear();
        times
            .meter
            .add(STEPS_TO_TIME * (1 + path.tasks.len()) as u64);
        let (host, slot) = times.slots.on_host(slot);
        let here = Assigned {
            host,
            group: problem.group(host),
            slot: times.first_slot(path.tasks[0], host, slot),
        };
        let mut line = Line::new(times, path, here);
        let (mut finish, mut over) = (0.0f64, self.at_least);
        for (member, &task) in path.tasks.iter().enumerate() {
            let position = times.order[task as usize];
            let mut start = finish;
            if !dag.is_gate(position) {
                start = start.max(line.pass(times, task, &mut self.pushed));
            }
            let entry = member * self.n_groups + here.group as usize;
            start = start.max(self.arrival(times, task, &self.arrivals[entry], here));
            finish = start + problem.duration(position, host);
            if !dag.is_gate(position) {
                line.free = line.free.max(finish);
            }
            self.times.push((start, finish));
            over = over.max(finish + self.rest(times, task, &self.rests[entry], here));
            if less(limit, over) {
                return None;
            }
        }
        line.pass(times, u32::MAX, &mut self.pushed);
        for &(task, finish) in &self.pushed {
            over = over.max(finish + times.rest_at(task, here));
            if less(limit, over) {
                return None;
            }
        }
        Some(Cost { over, finish })
    }

    /// When all that a task of the cluster waits for is at a place.
    fn arrival(&self, times: &Times<'_>, task: u32, latest: &Latest, here: Assigned) -> f64 {
        if latest.host != here.host {
            return latest.at;
        }
        // Data from the machine itself crosses no link.
        let preds = times.predecessors(task).iter();
        times.meter.add(preds.len() as u64);
        preds
            .filter(|edge| self.of[edge.other as usize] != self.n_clusters)
            .map(|edge| times.arrival(edge, here))
            .fold(0.0, f64::max)
    }

    /// The remaining time of the process after a task of the cluster ends at a place.
    fn rest(&self, times: &Times<'_>, task: u32, latest: &Latest, here: Assigned) -> f64 {
        if latest.host != here.host {
            return latest.at;
        }
        let succs = times.successors(task).iter();
        times.meter.add(succs.len() as u64);
        succs
            .filter(|edge| self.of[edge.other as usize] != self.n_clusters)
            .map(|edge| {
                let to = times.places[edge.other as usize];
                times.seconds(edge, here, to) + times.priority[edge.other as usize]
            })
            .fold(0.0, f64::max)
    }
}

impl Cost {
    const NOTHING: Cost = Cost {
        over: 0.0,
        finish: 0.0,
    };
    const NEVER: Cost = Cost {
        over: f64::INFINITY,
        finish: f64::INFINITY,
    };

    fn order(&self, other: &Cost) -> std::cmp::Ordering {
        let over = self.over.total_cmp(&other.over);
        over.then(self.finish.total_cmp(&other.finish))
    }

    /// True if it is less than another one, or equal and on a slot that is preferred.
    fn may_be_better_than(self, other: Cost, preferred: bool) -> bool {
        if less(self.over, other.over) || less(other.over, self.over) {
            return less(self.over, other.over);
        }
        less(self.finish, other.finish) || (preferred && !less(other.finish, self.finish))
    }
}

impl Likely {
    const NEVER: Likely = Likely {
        cost: Cost::NEVER,
        over_least: f64::INFINITY,
    };

    fn least(&self) -> Cost {
        Cost {
            over: self.over_least,
            finish: self.cost.finish,
        }
    }
}

impl Latest {
    const NOTHING: Latest = Latest {
        at: 0.0,
        other: NONE,
        host: OUTSIDE,
    };

    fn update(&mut self, at: f64, other: u32, place: Assigned) {
        if at > self.at {
            let (other, host) = match place.group {
                NONE => (NONE, OUTSIDE),
                _ => (other, place.host),
            };
            *self = Latest { at, other, host };
        }
    }
}

/// When all slots are free that the first task of a path would hold.
fn free_for(times: &Times<'_>, path: &Path, slot: u32) -> f64 {
    if !path.is_wide {
        return times.slots.free[slot as usize];
    }
    let (host, slot) = times.slots.on_host(slot);
    let head = path.tasks[0];
    let first = times.slots.number(host, times.first_slot(head, host, slot));
    let cores = times.problem.dag().cores(times.order[head as usize]) as usize;
    let free = &times.slots.free[first..first + cores];
    free.iter().copied().fold(0.0, f64::max)
}

/// The tasks of a slot, traversed while a cluster is put between them.
struct Line<'t> {
    list: &'t [u32],
    /// The next one in the list.
    next: usize,
    /// When the slot is free after all that has been passed.
    free: f64,
    /// Neighbouring slots of tasks of several cores are not looked at: they are rare, and all times
    /// are counted again later.
    follows: bool,
}

impl<'t> Line<'t> {
    fn new(times: &'t Times<'_>, path: &Path, here: Assigned) -> Line<'t> {
        let number = times.slots.number(here.host, here.slot);
        Line {
            list: &times.slots.tasks[number],
            next: times.slots.n_settled[number] as usize,
            free: free_for(times, path, number as u32),
            follows: !path.is_wide,
        }
    }

    /// Goes past what comes before a task in the order; when the slot is free then.
    fn pass(&mut self, times: &Times<'_>, before: u32, pushed: &mut Vec<(u32, f64)>) -> f64 {
        while let Some(&task) = self.list.get(self.next) {
            if task >= before || !self.follows {
                break;
            }
            let (est, eft) = (times.est[task as usize], times.eft[task as usize]);
            if self.free <= est || pushed.len() >= PUSHED_MAX {
                // From here on everything runs as it did.
                let rest = &self.list[self.next..];
                self.next += match rest.last() {
                    Some(&last) if last >= before => rest.partition_point(|&task| task < before),
                    Some(_) | None => rest.len(),
                };
                let last = self.list[self.next - 1];
                self.free = self.free.max(times.eft[last as usize]);
                break;
            }
            self.free += eft - est;
            pushed.push((task, self.free));
            self.next += 1;
        }
        self.free
    }
}
