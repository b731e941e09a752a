//! Checks that a schedule or plan keeps every rule, by other code than made it.

use thiserror::Error;

use self::memory::{Holder, check_memory};
use crate::order::{Seconds, less};
use crate::problem::{Demand, OUTSIDE, Problem};
use crate::schedule::{Placement, Schedule, holds_slots};

mod memory;
mod plan;

pub use plan::check_plan;
pub(crate) use plan::check_plan_by;

/// The first rule that a schedule or plan breaks. Tasks are named by position, slots of machines
/// by number.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum CheckError {
    /// A task without an entry.
    #[error("task {task} is missing")]
    Missing {
        /// The task.
        task: u32,
    },
    /// A task with two entries, or twice on a slot.
    #[error("task {task} is placed twice")]
    Doubled {
        /// The task.
        task: u32,
    },
    /// An entry that stands for nothing that is to be placed.
    #[error("entry {entry} stands for no task that is to be placed")]
    Unknown {
        /// The place of the entry.
        entry: usize,
    },
    /// A machine or slot that is not there, or fewer slots than the task's cores.
    #[error("task {task} is on slot {slot} of machine {host}, which cannot hold it")]
    Place {
        /// The task.
        task: u32,
        /// The machine.
        host: u32,
        /// The slot.
        slot: u32,
    },
    /// A task that had started and is planned elsewhere or at another time.
    #[error("task {task} has started and is not where it runs")]
    Moved {
        /// The task.
        task: u32,
    },
    /// A machine without the cores, memory or labels that a task needs.
    #[error("machine {host} does not have what task {task} needs: {demand:?}")]
    Constraint {
        /// The task.
        task: u32,
        /// The machine.
        host: u32,
        /// Its demand beside its cores.
        demand: Demand,
    },
    /// A task that takes less time than it needs there, or whose times are no times.
    #[error("task {task} takes {given} s and needs {needed} s")]
    Duration {
        /// The task.
        task: u32,
        /// Finish less start.
        given: f64,
        /// Its duration on that machine.
        needed: f64,
    },
    /// A task that starts before one that it waits for has ended.
    #[error("task {task} starts before its predecessor {pred} has ended")]
    Order {
        /// The task.
        task: u32,
        /// The task that it waits for.
        pred: u32,
    },
    /// A task that starts before its data can have arrived.
    #[error("task {task} starts at {start} s; the data of {pred} arrives at {arrival} s")]
    Transfer {
        /// The task.
        task: u32,
        /// The task that the data comes from.
        pred: u32,
        /// When it starts.
        start: f64,
        /// When the data is there.
        arrival: f64,
    },
    /// Two tasks on one slot at the same time, or more cores than a machine has.
    #[error("task {task} overlaps with others on machine {host}")]
    Overlap {
        /// The later one.
        task: u32,
        /// The machine.
        host: u32,
    },
    /// Tasks on a machine that declare more memory together than it has.
    #[error("the memory of machine {host} does not hold task {task} beside others")]
    Memory {
        /// The latest of them to start.
        task: u32,
        /// The machine.
        host: u32,
    },
    /// A task that starts before its slot is free.
    #[error("task {task} starts before slot {slot} of machine {host} is free")]
    Ready {
        /// The task.
        task: u32,
        /// The machine.
        host: u32,
        /// The slot.
        slot: u32,
    },
}

/// Refuses a schedule that breaks a rule: each task once, on a machine that fits it, as long as it
/// takes there, after its predecessors and their data, never two tasks on a slot, and never more
/// memory on a machine than it has. Times are
/// compared with the tolerance of [`less`]. O(n log n + e).
pub fn check(problem: &Problem, schedule: &Schedule) -> Result<(), CheckError> {
    check_with(problem, schedule, |_, [from, to], edge| {
        problem.transfer(edge, from, to)
    })
}

/// The same where messages take another way. `transfer` is told the two tasks, their machines and
/// the edge.
pub(crate) fn check_with(
    problem: &Problem,
    schedule: &Schedule,
    transfer: impl Fn((u32, u32), [u32; 2], u32) -> f64,
) -> Result<(), CheckError> {
    let dag = problem.dag();
    let mut entries: Vec<Option<&Placement>> = vec![None; dag.n_tasks()];
    for (place, entry) in schedule.entries.iter().enumerate() {
        let known = entries.get_mut(entry.task as usize);
        let slot = known.ok_or(CheckError::Unknown { entry: place })?;
        if slot.replace(entry).is_some() {
            return Err(CheckError::Doubled { task: entry.task });
        }
    }
    let mut placed: Vec<Placement> = Vec::with_capacity(entries.len());
    for (task, entry) in dag.tasks().zip(entries) {
        let entry = entry.ok_or(CheckError::Missing { task })?;
        check_entry(problem, entry)?;
        placed.push(*entry);
    }
    for task in dag.tasks().filter(|&task| problem.fixed(task).is_none()) {
        let Placement { host, start, .. } = placed[task as usize];
        for (pred, edge) in dag.predecessors(task) {
            let before = placed[pred as usize];
            if less(start, before.finish) {
                return Err(CheckError::Order { task, pred });
            }
            let arrival = before.finish + transfer((pred, task), [before.host, host], edge);
            if less(start, arrival) {
                return Err(CheckError::Transfer {
                    task,
                    pred,
                    start,
                    arrival,
                });
            }
        }
    }
    check_slots(problem, schedule, &placed)?;
    check_all_memory(problem, &placed)
}

fn check_all_memory(problem: &Problem, placed: &[Placement]) -> Result<(), CheckError> {
    if !problem.asks_memory() {
        return Ok(());
    }
    let time = Seconds;
    let mut holders = others(problem, time);
    let asks = |task: &u32| holds_slots(problem, *task) && problem.demand(*task).memory.0 > 0;
    for task in problem.dag().tasks().filter(asks) {
        let Placement {
            host,
            start,
            finish,
            ..
        } = placed[task as usize];
        holders[host as usize].push(Holder {
            start: time(start),
            lasts: finish > start,
            finish: time(finish),
            bytes: problem.demand(task).memory.0,
            task: Some(task),
        });
    }
    for (host, holders) in (0u32..).zip(holders) {
        check_memory(problem, host, holders, |finish, start| {
            !less(start.0, finish.0)
        })?;
    }
    Ok(())
}

/// By machine: what runs already or belongs to others.
fn others<T>(problem: &Problem, time: impl Fn(f64) -> T) -> Vec<Vec<Holder<T>>> {
    let mut holders: Vec<Vec<Holder<T>>> = Vec::new();
    holders.resize_with(problem.hosts().len(), Vec::new);
    for (host, bytes, (from, until)) in problem.all_held() {
        if let Some(holders) = holders.get_mut(host as usize).filter(|_| until > from) {
            holders.push(Holder {
                start: time(from),
                lasts: true,
                finish: time(until),
                bytes,
                task: None,
            });
        }
    }
    holders
}

pub(crate) fn check_entry(problem: &Problem, entry: &Placement) -> Result<(), CheckError> {
    let Placement {
        task,
        host,
        slot,
        start,
        finish,
    } = *entry;
    let given = finish - start;
    if let Some(fixed) = problem.fixed(task) {
        let same = host == fixed.host && !less(finish, fixed.finish) && !less(fixed.finish, finish);
        return if same {
            Ok(())
        } else {
            Err(CheckError::Moved { task })
        };
    }
    let machine = problem
        .hosts()
        .get(host as usize)
        .filter(|_| host != OUTSIDE);
    let gate = problem.dag().is_gate(task);
    let machine = machine
        .filter(|machine| gate || slot < machine.slots)
        .ok_or(CheckError::Place { task, host, slot })?;
    let fits = problem
        .fitting(problem.demand_class(task))
        .binary_search(&host)
        .is_ok();
    if !fits && !gate {
        let enough = problem.dag().cores(task) <= machine.slots;
        let demand = problem.demand(task).clone();
        return Err(match enough {
            true => CheckError::Constraint { task, host, demand },
            false => CheckError::Place { task, host, slot },
        });
    }
    let needed = problem.duration(task, host);
    // Written so that a time that is no number is refused.
    let sound = start >= 0.0 && finish.is_finite() && !less(finish, start + needed);
    if !sound || less(start + needed, finish) {
        return Err(CheckError::Duration {
            task,
            given,
            needed,
        });
    }
    Ok(())
}

fn check_slots(
    problem: &Problem,
    schedule: &Schedule,
    placed: &[Placement],
) -> Result<(), CheckError> {
    let dag = problem.dag();
    let mut held = vec![0u32; dag.n_tasks()];
    // The number, from 1, of the list in which a task was seen last.
    let mut seen_in = vec![0u32; dag.n_tasks()];
    let mut list = 0;
    for (host, order) in (0u32..).zip(&schedule.order) {
        let ready = problem
            .hosts()
            .get(host as usize)
            .map_or(&[][..], |_| problem.ready(host));
        for (slot, tasks) in (0u32..).zip(order) {
            let mut free = ready.get(slot as usize).copied();
            let mut first = true;
            list += 1;
            for (place, &task) in tasks.iter().enumerate() {
                let entry = placed
                    .get(task as usize)
                    .ok_or(CheckError::Unknown { entry: place })?;
                if std::mem::replace(&mut seen_in[task as usize], list) == list {
                    return Err(CheckError::Doubled { task });
                }
                let lowest = held[task as usize] == 0;
                if entry.host != host || lowest != (entry.slot == slot) {
                    return Err(CheckError::Place { task, host, slot });
                }
                let at = free.ok_or(CheckError::Place { task, host, slot })?;
                if less(entry.start, at) {
                    return Err(match first {
                        true => CheckError::Ready { task, host, slot },
                        false => CheckError::Overlap { task, host },
                    });
                }
                free = Some(entry.finish);
                first = false;
                held[task as usize] += 1;
            }
        }
    }
    for task in dag.tasks() {
        let needed = if holds_slots(problem, task) {
            dag.cores(task)
        } else {
            0
        };
        let Placement { host, slot, .. } = placed[task as usize];
        match held[task as usize] {
            held if held == needed => {}
            0 => return Err(CheckError::Missing { task }),
            _ => return Err(CheckError::Place { task, host, slot }),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
