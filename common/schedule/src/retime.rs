//! From a schedule in seconds to a plan in microseconds.

use model::{Entry, Generation, Plan, Span};
use thiserror::Error;

use crate::bound::bound;
use crate::memory::Ledger;
use crate::problem::Problem;
use crate::schedule::{Schedule, holds_slots};
use crate::way::Way;

/// A schedule whose times do not fit a plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the schedule is longer than {} years, which is all a plan can hold", SECONDS_MAX / 31_557_600)]
pub struct TooLong;

/// The last second that a plan may name. A sum of two such times in microseconds is still exact.
pub const SECONDS_MAX: u64 = i64::MAX as u64 / 2_000_000;

/// Keeps the machines, slots and order of a checked schedule and counts its times anew in whole
/// microseconds, durations and transfers rounded up, so that nothing in the plan is shorter than
/// it can be. Gates and what has started are not in the plan. O(n log n + e).
pub fn retime(
    problem: &Problem,
    schedule: &Schedule,
    generation: Generation,
) -> Result<Plan, TooLong> {
    retime_by(problem, &Way::Direct, schedule, generation)
}

/// The same where messages take this way.
pub(crate) fn retime_by(
    problem: &Problem,
    way: &Way,
    schedule: &Schedule,
    generation: Generation,
) -> Result<Plan, TooLong> {
    let dag = problem.dag();
    let mut finish = vec![Span::ZERO; dag.n_tasks()];
    let mut free: Vec<Vec<Span>> = Vec::with_capacity(problem.hosts().len());
    for host in 0..problem.hosts().len() as u32 {
        free.push(
            problem
                .ready(host)
                .iter()
                .map(|&at| up(at))
                .collect::<Result<_, _>>()?,
        );
    }
    let slots_of = schedule.slots_by_task();
    let mut memory = Ledger::new(problem, up)?;
    let mut entries = Vec::with_capacity(dag.n_tasks());
    for task in schedule.by_start() {
        if let Some(fixed) = problem.fixed(task) {
            finish[task as usize] = up(fixed.finish)?;
            continue;
        }
        let placement = schedule.entries[task as usize];
        let host = placement.host;
        let mut start = Span::ZERO;
        for (pred, edge) in dag.predecessors(task) {
            let host_of = |task: u32| schedule.entries[task as usize].host;
            let transfer = up(way.transfer(problem, host_of, (pred, task), edge))?;
            start = start.max(sum(finish[pred as usize], transfer)?);
        }
        let slots = slots_of.of(task);
        for &slot in slots {
            start = start.max(free[host as usize][slot as usize]);
        }
        let duration = up(problem.duration(task, host))?;
        if let Some(memory) = &mut memory {
            start = memory.start(task, host, start, |start| start + duration);
        }
        let end = sum(start, duration)?;
        if let Some(memory) = &mut memory {
            memory.hold(task, host, end);
        }
        finish[task as usize] = end;
        for &slot in slots {
            free[host as usize][slot as usize] = end;
        }
        if let (Some(activity), true) = (dag.activity(task), holds_slots(problem, task)) {
            let (resource, slot) = (problem.hosts()[host as usize].id, placement.slot);
            entries.push(Entry {
                activity,
                resource,
                slot,
                start,
                finish: end,
            });
        }
    }
    entries.sort_unstable_by_key(|entry| entry.activity);
    Ok(Plan {
        generation,
        entries,
        bound: bound_span(problem),
    })
}

/// The problem's bound in whole microseconds, rounded down beyond what summing up in another order
/// could add.
pub(crate) fn bound_span(problem: &Problem) -> Span {
    Span((bound(problem) * (1.0 - 1e-12) * 1e6).floor().max(0.0) as u64)
}

/// Seconds rounded up to the microsecond.
pub(crate) fn up(seconds: f64) -> Result<Span, TooLong> {
    // Written so that what is not a number is refused.
    if seconds < SECONDS_MAX as f64 {
        Ok(Span::from_seconds_up(seconds))
    } else {
        Err(TooLong)
    }
}

pub(crate) fn sum(one: Span, other: Span) -> Result<Span, TooLong> {
    let sum = one + other;
    if sum.0 / 1_000_000 < SECONDS_MAX {
        Ok(sum)
    } else {
        Err(TooLong)
    }
}

#[cfg(test)]
mod tests;
