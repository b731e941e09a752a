//! Near-linear PCH.
//!
//! The rules of PCH with cheaper times (section 10.5 of the digest of Bittencourt and Madeira's
//! paper). Differences from the exact one:
//! - only the places that look best by one line of arithmetic are timed, and those of the
//!   cluster's neighbours;
//! - a place is timed along the cluster and along what it pushes back on its slot, not in the whole
//!   graph. What follows is judged by its priority, for everything that waits for the cluster or
//!   for what it pushes back, and not by the start of the successor alone ([`judge`]);
//! - after each cluster times are counted again only near the first task that is not placed, as far
//!   as that is cheap; all others only each time that the number of placed tasks has grown by
//!   a part of [`GROWTH`], so that a cluster may be chosen by times that are a little old;
//! - a path is cut where its tables would grow too large ([`ENTRIES_MAX`]).
//!
//! Cost: O((n + e) log n + e g + k s) for k clusters, s slots and g groups. No limit on the number
//! of tasks.

use super::common;
use crate::memory::fit;
use crate::meter::Meter;
use crate::order::less;
use crate::problem::Problem;
use crate::schedule::{Placement, Schedule, ScheduleError, Scheduler, holds_slots};

mod judge;
mod slots;
mod times;

use judge::Judge;
use times::Times;

/// All times are counted again when so many more tasks are placed than the last time.
const GROWTH: f64 = 0.3;
/// So many tasks fewer are enough: small graphs are counted after each cluster.
const GROWTH_LEAST: f64 = 4.0;
/// Entries (tasks times groups) of a cluster's tables at most, 32 MB of both: a longer path is cut.
const ENTRIES_MAX: usize = 1_000_000;

/// PCH for graphs of any size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PchFast;

impl Scheduler for PchFast {
    fn name(&self) -> &'static str {
        "pch-fast"
    }

    fn schedule_within(&self, problem: &Problem, meter: &Meter) -> Result<Schedule, ScheduleError> {
        let dag = problem.dag();
        let fits_nowhere = |task: &u32| problem.fitting(problem.demand_class(*task)).is_empty();
        let mut waiting = dag.tasks().filter(|&task| holds_slots(problem, task));
        if let Some(task) = waiting.find(fits_nowhere) {
            return Err(ScheduleError::NoHost { task });
        }
        let mut times = Times::new(problem, meter);
        let mut judge = Judge::new(problem);
        let mut path = Path::default();
        let (mut n_placed, mut n_counted) = (0usize, 0usize);
        for head in dag.tasks() {
            if times.is_placed(head) {
                continue;
            }
            meter.check()?;
            times.settle(head);
            path.follow(&times, head);
            let Some((host, slot)) = judge.best_place(&times, &path) else {
                return Err(ScheduleError::NoHost {
                    task: times.order[head as usize],
                });
            };
            times.put(&path.tasks, host, slot, &judge.times);
            n_placed += path.tasks.len();
            if n_placed as f64 > n_counted as f64 * (1.0 + GROWTH) - GROWTH_LEAST {
                times.count_marked();
                n_counted = n_placed;
            }
        }
        times.settle(dag.n_tasks() as u32);
        Ok(fit(problem, schedule(&times)))
    }
}

/// Algorithm 2: the path from a task on.
#[derive(Default)]
struct Path {
    tasks: Vec<u32>,
    work: f64,
    /// True if a task of it holds more than one slot, so that the slot's neighbours matter.
    is_wide: bool,
    /// The classes of demands that occur.
    classes: Vec<u32>,
    /// The machines that fit all of it, ascending, if there is more than one class.
    hosts: Option<Vec<u32>>,
}

impl Path {
    fn follow(&mut self, times: &Times<'_>, head: u32) {
        let problem = times.problem;
        let class_of = |task: u32| problem.demand_class(times.order[task as usize]);
        let len_max = ENTRIES_MAX / (problem.links().n_groups() as usize).max(1);
        self.tasks.clear();
        (self.work, self.is_wide) = (0.0, false);
        self.classes.clear();
        self.classes.push(class_of(head));
        self.hosts = None;
        let mut next = Some(head);
        while let Some(task) = next {
            self.tasks.push(task);
            let position = times.order[task as usize];
            self.work += problem.dag().work(position);
            self.is_wide |= problem.dag().cores(position) > 1;
            let class = class_of(task);
            if !self.classes.contains(&class) {
                self.hosts = Some(self.common(problem, class));
                self.classes.push(class);
            }
            if self.tasks.len() >= len_max {
                return;
            }
            let mut best: Option<(f64, u32)> = None;
            for edge in times.successors(task) {
                let succ = edge.other;
                if times.is_placed(succ) {
                    continue;
                }
                let weight = times.priority[succ as usize] + times.est[succ as usize];
                if best.is_none_or(|(most, _)| less(most, weight)) {
                    let class = class_of(succ);
                    if self.classes.contains(&class) || !self.common(problem, class).is_empty() {
                        best = Some((weight, succ));
                    }
                }
            }
            next = best.map(|(_, succ)| succ);
        }
    }

    /// The time of the whole path on a slot without gaps.
    fn seconds(&self, times: &Times<'_>, slot: u32) -> f64 {
        let problem = times.problem;
        if !problem.has_costs() {
            return self.work / times.slots.power[slot as usize];
        }
        let (host, _) = times.slots.on_host(slot);
        let positions = self.tasks.iter().map(|&task| times.order[task as usize]);
        positions.map(|task| problem.duration(task, host)).sum()
    }

    /// The machines that fit all of it, ascending.
    fn hosts<'p>(&'p self, problem: &'p Problem) -> &'p [u32] {
        match &self.hosts {
            Some(hosts) => hosts,
            None => problem.fitting(self.classes[0]),
        }
    }

    fn common(&self, problem: &Problem, class: u32) -> Vec<u32> {
        common(self.hosts(problem), problem.fitting(class))
    }
}

fn schedule(times: &Times<'_>) -> Schedule {
    let problem = times.problem;
    let mut entries = vec![
        Placement {
            task: 0,
            host: 0,
            slot: 0,
            start: 0.0,
            finish: 0.0,
        };
        times.order.len()
    ];
    for (number, &task) in times.order.iter().enumerate() {
        let place = times.places[number];
        entries[task as usize] = Placement {
            task,
            host: place.host,
            slot: place.slot,
            start: times.est[number],
            finish: times.eft[number],
        };
    }
    let order = (0u32..).zip(problem.hosts()).map(|(number, host)| {
        let lists = (0..host.slots).map(|slot| {
            let tasks = &times.slots.tasks[times.slots.number(number, slot)];
            tasks
                .iter()
                .map(|&task| times.order[task as usize])
                .collect()
        });
        lists.collect()
    });
    Schedule {
        entries,
        order: order.collect(),
    }
}

#[cfg(test)]
mod tests;
