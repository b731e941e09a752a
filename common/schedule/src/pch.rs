//! PCH: the path clustering heuristic, exact and static.
//!
//! L. F. Bittencourt, E. R. M. Madeira, "A performance-oriented adaptive scheduler for dependent
//! tasks on grids", Concurrency and Computation: Practice and Experience 20(9), 2008, algorithms 2
//! to 4. Priorities, starts and finishes are estimated on a virtual machine of the best power and
//! link. A cluster is a path: the unplaced task of the highest priority, then at each step the
//! unplaced successor with the largest P + EST. It goes where the successor of its last task
//! starts first. Every machine runs its tasks by descending priority.
//!
//! Cost: O(k s (n + e)) for k clusters and s slots at worst; in practice a candidate visits only
//! what its change reaches, machines and slots that are still empty and alike are tried once, and
//! a slot is passed over where the path alone would take too long. Exact up to [`PCH_TASKS_MAX`].
//!
//! Choices that the paper leaves open: the tolerance of times A0, A3 to A8 of the digest. Differs
//! from the paper: the resource is one slot of a machine, with no cost between slots of one
//! machine, and a task of several cores holds neighbouring slots from that one on (or the machine's
//! last ones); a task joins a path only if one machine has what all of it needs; gates are tasks
//! that hold no slot; slots are free from their ready times on; started tasks keep their place and
//! finish and are in no path; where memory may run out, starts are put off when all is placed.

use crate::alike::alike;
use crate::memory::fit;
use crate::meter::Meter;
use crate::order::{TOLERANCE, less};
use crate::problem::Problem;
use crate::schedule::{Placement, Schedule, ScheduleError, Scheduler, holds_slots};

mod estimates;
mod fast;
pub(crate) mod virtual_system;

use estimates::Estimates;
pub use fast::PchFast;

/// The most tasks for which exact PCH is tried: its cost grows with their square.
pub const PCH_TASKS_MAX: usize = 5_000;
/// The most steps (tasks and messages looked at) of one schedule, some seconds of them: graphs
/// whose every change reaches far are given up rather than waited for.
pub const PCH_STEPS_MAX: u64 = 1_000_000_000;

/// Static PCH in direct mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pch {
    steps_max: u64,
}

/// A schedule of PCH with how it came about.
#[derive(Clone, Debug, PartialEq)]
pub struct PchRun {
    /// The schedule.
    pub schedule: Schedule,
    /// The paths in the order in which they were placed.
    pub clusters: Vec<Cluster>,
    /// The priority of each task, by position.
    pub priorities: Vec<f64>,
}

/// A path of tasks that were placed together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Each one waits for the one before.
    pub tasks: Vec<u32>,
    /// Their machine.
    pub host: u32,
    /// The slot of it that they were given.
    pub slot: u32,
}

impl Pch {
    /// PCH that gives up after [`PCH_STEPS_MAX`].
    pub const fn new() -> Pch {
        Pch::within(PCH_STEPS_MAX)
    }

    /// PCH that gives up after so many steps.
    pub const fn within(steps_max: u64) -> Pch {
        Pch { steps_max }
    }

    /// The schedule with its clusters and priorities.
    pub fn run(&self, problem: &Problem) -> Result<PchRun, ScheduleError> {
        self.run_within(problem, &Meter::unlimited())
    }

    fn run_within(&self, problem: &Problem, meter: &Meter) -> Result<PchRun, ScheduleError> {
        let own = Meter::of(meter.left().min(self.steps_max));
        let run = Pch::run_metered(problem, &own);
        meter.add(own.spent());
        run
    }

    fn run_metered(problem: &Problem, meter: &Meter) -> Result<PchRun, ScheduleError> {
        let dag = problem.dag();
        if dag.n_tasks() > PCH_TASKS_MAX {
            return Err(ScheduleError::TooLarge {
                what: "activities for exact PCH",
                count: dag.n_tasks() as u64,
                max: PCH_TASKS_MAX as u64,
            });
        }
        let fits_nowhere = |task: &u32| problem.fitting(problem.demand_class(*task)).is_empty();
        let mut waiting = dag.tasks().filter(|&task| holds_slots(problem, task));
        if let Some(task) = waiting.find(fits_nowhere) {
            return Err(ScheduleError::NoHost { task });
        }
        let mut estimates = Estimates::new(problem, meter);
        let mut candidates = Candidates::new(problem);
        let end = dag.n_tasks().saturating_sub(1) as u32;
        let mut clusters = Vec::new();
        for place in 0..dag.n_tasks() {
            let head = estimates.order[place];
            if estimates.placed[head as usize] {
                continue;
            }
            let (tasks, hosts) = next_cluster(problem, &estimates, head);
            candidates.collect(problem, &estimates, &tasks, &hosts);
            let best = best_place(problem, &mut estimates, &tasks, &candidates.places);
            if meter.is_over() {
                return Err(ScheduleError::TooLarge {
                    what: "steps of exact PCH",
                    count: meter.spent(),
                    max: meter.most(),
                });
            }
            let Some((host, slot)) = best else {
                return Err(ScheduleError::NoHost { task: head });
            };
            estimates.try_on(&tasks, host, slot, end);
            estimates.keep(&tasks);
            candidates.touched[host as usize] = true;
            clusters.push(Cluster { tasks, host, slot });
        }
        Ok(PchRun {
            schedule: fit(problem, schedule(problem, &estimates)),
            clusters,
            priorities: estimates.priority,
        })
    }
}

impl Default for Pch {
    fn default() -> Pch {
        Pch::new()
    }
}

impl Scheduler for Pch {
    fn name(&self) -> &'static str {
        "pch"
    }

    fn schedule_within(&self, problem: &Problem, meter: &Meter) -> Result<Schedule, ScheduleError> {
        Ok(self.run_within(problem, meter)?.schedule)
    }
}

/// Algorithm 2: the path from a task on, and the machines that fit all of it, ascending.
fn next_cluster(problem: &Problem, estimates: &Estimates<'_>, head: u32) -> (Vec<u32>, Vec<u32>) {
    let mut cluster = vec![head];
    let mut classes = vec![problem.demand_class(head)];
    let mut hosts = problem.fitting(problem.demand_class(head)).to_vec();
    let mut last = head;
    loop {
        let mut open: Vec<u32> = problem
            .dag()
            .successors(last)
            .map(|(succ, _)| succ)
            .filter(|&succ| !estimates.placed[succ as usize])
            .collect();
        open.sort_unstable_by_key(|&succ| estimates.rank[succ as usize]);
        let mut best: Option<(f64, u32)> = None;
        for succ in open {
            let weight = estimates.priority[succ as usize] + estimates.est[succ as usize];
            if best.is_none_or(|(most, _)| less(most, weight)) {
                let class = problem.demand_class(succ);
                if classes.contains(&class) || !common(&hosts, problem.fitting(class)).is_empty() {
                    best = Some((weight, succ));
                }
            }
        }
        let Some((_, succ)) = best else {
            return (cluster, hosts);
        };
        let class = problem.demand_class(succ);
        if !classes.contains(&class) {
            classes.push(class);
            hosts = common(&hosts, problem.fitting(class));
        }
        cluster.push(succ);
        last = succ;
    }
}

/// Algorithm 3: the slot on which the successor of the cluster's last task starts first (A6), then
/// the one on which the last task ends first (A7), then the one of the lowest number.
fn best_place(
    problem: &Problem,
    estimates: &mut Estimates<'_>,
    cluster: &[u32],
    places: &[(u32, u32)],
) -> Option<(u32, u32)> {
    let (&head, &last) = (cluster.first()?, cluster.last()?);
    let targets: Vec<u32> = problem
        .dag()
        .successors(last)
        .map(|(succ, _)| succ)
        .filter(|&succ| problem.fixed(succ).is_none())
        .collect();
    let until = targets.iter().chain([&last]);
    let until = until
        .map(|&task| estimates.rank[task as usize])
        .fold(0, u32::max);
    let after = targets
        .iter()
        .map(|&succ| estimates.priority[succ as usize])
        .fold(0.0, f64::max);
    // The least cost of a place: the path without gaps, and the time after it.
    let at_least: Vec<f64> = places
        .iter()
        .map(|&(host, slot)| {
            let start = estimates.start_of_first(head, host, slot);
            let path: f64 = cluster
                .iter()
                .map(|&task| problem.duration(task, host))
                .sum();
            start + path + after
        })
        .collect();
    let meter = estimates.meter;
    let mut judge = |(host, slot): (u32, u32)| {
        estimates.try_on(cluster, host, slot, until);
        let eft = estimates.eft[last as usize];
        let start = |&succ: &u32| estimates.est[succ as usize] + estimates.priority[succ as usize];
        let judged = match targets.is_empty() {
            true => Judged { time: eft, eft },
            false => Judged {
                time: targets.iter().map(start).fold(0.0, f64::max),
                eft,
            },
        };
        estimates.take_back(cluster);
        judged
    };
    // The most promising place comes first only to know what others have to undercut; the choice
    // is that of asking one after the other.
    let first = (0..places.len()).min_by(|&a, &b| at_least[a].total_cmp(&at_least[b]))?;
    let promising = judge(places[first]);
    let margin = |time: f64| time + 4.0 * TOLERANCE * time.max(1.0);
    let mut best: Option<(Judged, (u32, u32))> = None;
    for (number, (&place, &least)) in places.iter().zip(&at_least).enumerate() {
        let limit = best.map_or(promising.time, |(best, _)| best.time.min(promising.time));
        if least > margin(limit) {
            continue;
        }
        // What is best does not matter any more.
        if meter.is_over() {
            break;
        }
        let judged = if number == first {
            promising
        } else {
            judge(place)
        };
        if best.is_none_or(|(best, _)| judged.is_better_than(best)) {
            best = Some((judged, place));
        }
    }
    best.map(|(_, place)| place)
}

#[derive(Clone, Copy)]
struct Judged {
    time: f64,
    eft: f64,
}

impl Judged {
    fn is_better_than(self, other: Judged) -> bool {
        less(self.time, other.time) || (!less(other.time, self.time) && less(self.eft, other.eft))
    }
}

/// The slots to try for a cluster. Among equal empty machines only the first one is tried, and so
/// with the slots of a machine: ties would go to it anyway.
struct Candidates {
    /// By machine: the lowest one that is like it.
    like: Vec<u32>,
    /// True if a machine holds anything.
    touched: Vec<bool>,
    places: Vec<(u32, u32)>,
    /// By machine: the cluster, counted from 1, for which one like it was tried.
    tried_for: Vec<u32>,
    n_clusters: u32,
}

impl Candidates {
    fn new(problem: &Problem) -> Candidates {
        let n_hosts = problem.hosts().len();
        let mut touched = vec![false; n_hosts];
        for task in problem.dag().tasks() {
            if let Some(fixed) = problem.fixed(task)
                && let Some(touched) = touched.get_mut(fixed.host as usize)
            {
                *touched = true;
            }
        }
        Candidates {
            like: alike(problem),
            touched,
            places: Vec::new(),
            tried_for: vec![0; n_hosts],
            n_clusters: 0,
        }
    }

    fn collect(
        &mut self,
        problem: &Problem,
        estimates: &Estimates<'_>,
        cluster: &[u32],
        hosts: &[u32],
    ) {
        self.n_clusters += 1;
        self.places.clear();
        let only_gates = cluster.iter().all(|&task| problem.dag().is_gate(task));
        for &host in hosts {
            if !self.touched[host as usize] {
                let tried_for = &mut self.tried_for[self.like[host as usize] as usize];
                if std::mem::replace(tried_for, self.n_clusters) == self.n_clusters {
                    continue;
                }
            }
            let ready = problem.ready(host);
            let mut empty_seen: Option<f64> = None;
            for (slot, &at) in (0u32..).zip(ready) {
                if estimates.is_empty(host, slot) && !has_wide(problem, cluster) {
                    // Slots with other ready times in between are rare enough to be tried again.
                    if empty_seen.is_some_and(|seen| seen.to_bits() == at.to_bits()) {
                        continue;
                    }
                    empty_seen = Some(at);
                }
                self.places.push((host, slot));
                if only_gates {
                    break;
                }
            }
        }
    }
}

/// True if some task holds more than one slot, so that the slot's neighbours matter.
fn has_wide(problem: &Problem, cluster: &[u32]) -> bool {
    cluster.iter().any(|&task| problem.dag().cores(task) > 1)
}

/// The common items of two ascending lists.
fn common(one: &[u32], other: &[u32]) -> Vec<u32> {
    one.iter()
        .copied()
        .filter(|host| other.binary_search(host).is_ok())
        .collect()
}

fn schedule(problem: &Problem, estimates: &Estimates<'_>) -> Schedule {
    let entries = problem.dag().tasks().map(|task| Placement {
        task,
        host: estimates.host[task as usize],
        slot: estimates.slot[task as usize],
        start: estimates.est[task as usize],
        finish: estimates.eft[task as usize],
    });
    let order = (0u32..).zip(problem.hosts()).map(|(number, host)| {
        (0..host.slots)
            .map(|slot| estimates.tasks_on(number, slot))
            .collect()
    });
    Schedule {
        entries: entries.collect(),
        order: order.collect(),
    }
}

#[cfg(test)]
mod tests;
