//! Schedules in which some tasks run more than once.
//!
//! If a task waits longest for the data of one predecessor from another machine, running that
//! predecessor again beside it may be faster than sending the data. Only activities that may be
//! repeated are ever copied. Plans for managers hold no copies.

use model::{Entry, Span};
use thiserror::Error;

use crate::check::{CheckError, check_entry};
use crate::order::less;
use crate::problem::Problem;
use crate::retime::{TooLong, sum, up};
use crate::schedule::{Placement, Schedule, holds_slots};

/// A schedule with copies of some of its tasks. A successor waits for the run of a task whose data
/// arrives first.
#[derive(Clone, Debug, PartialEq)]
pub struct Copied {
    /// The first run of each task. Taken by itself it breaks rules: data may come from a copy.
    pub schedule: Schedule,
    /// Further runs.
    pub copies: Vec<Placement>,
}

/// A schedule with copies in whole microseconds, for people: managers run plans without copies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopiedPlan {
    /// The first run of each activity, ascending.
    pub entries: Vec<Entry>,
    /// Further runs.
    pub copies: Vec<Entry>,
}

/// Why a schedule with copies is none.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum CopiedError {
    /// A run of a task by itself breaks a rule.
    #[error("a run breaks a rule")]
    Run(#[source] CheckError),
    /// A task without its first run, or with two.
    #[error("task {0} does not have one first run")]
    First(u32),
    /// A run that starts before the data of all it waits for can be there.
    #[error("a run of task {task} starts at {start} s; no data of {pred} is there by then")]
    Data {
        /// The task of the run.
        task: u32,
        /// The predecessor.
        pred: u32,
        /// When it starts.
        start: f64,
    },
    /// Two runs on one slot at the same time, or one before the slot is free.
    #[error("runs overlap on slot {slot} of machine {host}")]
    Overlap {
        /// The machine.
        host: u32,
        /// The slot.
        slot: u32,
    },
}

impl Copied {
    /// When the last task has run for the first time, or the last copy that something waits for.
    pub fn makespan(&self) -> f64 {
        self.schedule.makespan()
    }
}

/// Counts the times of a checked schedule with copies anew in whole microseconds, durations and
/// transfers rounded up. O((n + e) c log n).
pub(crate) fn retime_copied(problem: &Problem, copied: &Copied) -> Result<CopiedPlan, TooLong> {
    let dag = problem.dag();
    let n_tasks = dag.n_tasks();
    let runs: Vec<Placement> = (copied.schedule.entries.iter().chain(&copied.copies))
        .copied()
        .collect();
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by(|&one, &other| {
        let (a, b) = (runs[one], runs[other]);
        let starts = a.start.total_cmp(&b.start);
        starts
            .then(a.finish.total_cmp(&b.finish))
            .then(a.task.cmp(&b.task))
    });
    let slots_of = copied.schedule.slots_by_task();
    let mut free: Vec<Vec<Span>> = Vec::with_capacity(problem.hosts().len());
    for host in 0..problem.hosts().len() as u32 {
        let ready = problem.ready(host).iter().map(|&at| up(at));
        free.push(ready.collect::<Result<_, _>>()?);
    }
    // By task: the machine and finish of each run that has been counted.
    let mut ended: Vec<Vec<(u32, Span)>> = vec![Vec::new(); n_tasks];
    let mut plan = CopiedPlan::default();
    for number in order {
        let Placement {
            task, host, slot, ..
        } = runs[number];
        if let Some(fixed) = problem.fixed(task) {
            ended[task as usize].push((host, up(fixed.finish)?));
            continue;
        }
        let mut start = Span::ZERO;
        for (pred, edge) in dag.predecessors(task) {
            let mut first: Option<Span> = None;
            for &(from, finish) in &ended[pred as usize] {
                let at = sum(finish, up(problem.transfer(edge, from, host))?)?;
                first = Some(first.map_or(at, |first| first.min(at)));
            }
            start = start.max(first.unwrap_or(Span::ZERO));
        }
        let own = [slot];
        let slots = match number < n_tasks {
            true => slots_of.of(task),
            false => &own,
        };
        for &slot in slots {
            start = start.max(free[host as usize][slot as usize]);
        }
        let finish = sum(start, up(problem.duration(task, host))?)?;
        ended[task as usize].push((host, finish));
        for &slot in slots {
            free[host as usize][slot as usize] = finish;
        }
        if let (Some(activity), true) = (dag.activity(task), holds_slots(problem, task)) {
            let list = match number < n_tasks {
                true => &mut plan.entries,
                false => &mut plan.copies,
            };
            list.push(Entry {
                activity,
                resource: problem.hosts()[host as usize].id,
                slot,
                start,
                finish,
            });
        }
    }
    plan.entries.sort_unstable_by_key(|entry| entry.activity);
    plan.copies
        .sort_unstable_by_key(|entry| (entry.activity, entry.start));
    Ok(plan)
}

/// Refuses a schedule with copies that breaks a rule. O((n + e) c log n) where a task has at most c
/// runs.
pub fn check_copied(problem: &Problem, copied: &Copied) -> Result<(), CopiedError> {
    let dag = problem.dag();
    let mut runs: Vec<Vec<Placement>> = vec![Vec::new(); dag.n_tasks()];
    for (task, entry) in dag.tasks().zip(&copied.schedule.entries) {
        if entry.task != task {
            return Err(CopiedError::First(task));
        }
    }
    if copied.schedule.entries.len() != dag.n_tasks() {
        return Err(CopiedError::First(copied.schedule.entries.len() as u32));
    }
    for entry in copied.schedule.entries.iter().chain(&copied.copies) {
        let known = (entry.task as usize) < dag.n_tasks();
        if !known {
            return Err(CopiedError::First(entry.task));
        }
        check_entry(problem, entry).map_err(CopiedError::Run)?;
        runs[entry.task as usize].push(*entry);
    }
    for run in runs.iter().flatten() {
        if problem.fixed(run.task).is_some() {
            continue;
        }
        for (pred, edge) in dag.predecessors(run.task) {
            let arrival =
                |from: &Placement| from.finish + problem.transfer(edge, from.host, run.host);
            let first = runs[pred as usize].iter().map(arrival);
            let first = first.fold(f64::INFINITY, f64::min);
            if less(run.start, first) {
                let (task, start) = (run.task, run.start);
                return Err(CopiedError::Data { task, pred, start });
            }
        }
    }
    let mut held: Vec<Vec<Vec<Placement>>> = (problem.hosts().iter())
        .map(|host| vec![Vec::new(); host.slots as usize])
        .collect();
    for (host, slots) in copied.schedule.order.iter().enumerate() {
        for (slot, tasks) in slots.iter().enumerate() {
            for &task in tasks {
                let entry = copied.schedule.entries[task as usize];
                let place = held.get_mut(host).and_then(|slots| slots.get_mut(slot));
                match place {
                    Some(place) if entry.host as usize == host => place.push(entry),
                    Some(_) | None => return Err(CopiedError::First(task)),
                }
            }
        }
    }
    for copy in &copied.copies {
        held[copy.host as usize][copy.slot as usize].push(*copy);
    }
    for (host, slots) in (0u32..).zip(&mut held) {
        for (slot, runs) in (0u32..).zip(slots) {
            runs.sort_by(|one, other| {
                let starts = one.start.total_cmp(&other.start);
                starts.then(one.finish.total_cmp(&other.finish))
            });
            let mut free = problem.ready(host)[slot as usize];
            for run in runs {
                if less(run.start, free) {
                    return Err(CopiedError::Overlap { host, slot });
                }
                free = run.finish;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
