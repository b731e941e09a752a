//! The same rules for a plan: whole microseconds, no tolerance.

use std::collections::BTreeMap;

use model::{Entry, Plan, ResourceId, Span};

use super::memory::{Holder, check_memory};
use super::{CheckError, others};
use crate::problem::{OUTSIDE, Problem};
use crate::retime::up;
use crate::schedule::holds_slots;
use crate::way::Way;

/// Refuses a plan that breaks a rule of the problem: each activity that has not started exactly
/// once, entries in the order of ids, on a machine that fits, at least as long as it takes there,
/// after its predecessors and their data, and at no moment more cores or memory than the machine
/// has.
///
/// A plan does not say where gates lie, so data that passes one is taken to cost nothing from there
/// on; and of the slots of an activity it names the lowest only, so that one is checked for itself
/// and the others are counted. O(n log n + e).
pub fn check_plan(problem: &Problem, plan: &Plan) -> Result<(), CheckError> {
    check_plan_by(problem, &Way::Direct, plan)
}

/// The same where messages take this way.
pub(crate) fn check_plan_by(problem: &Problem, way: &Way, plan: &Plan) -> Result<(), CheckError> {
    let placed = placements(problem, plan)?;
    let dag = problem.dag();
    let mut finish = vec![Span::ZERO; dag.n_tasks()];
    for task in dag.tasks() {
        let here = placed[task as usize];
        if let Some(fixed) = problem.fixed(task) {
            finish[task as usize] = span(task, fixed.finish)?;
            continue;
        }
        for (pred, edge) in dag.predecessors(task) {
            let before = finish[pred as usize];
            let Some((_, entry)) = here else {
                finish[task as usize] = finish[task as usize].max(before);
                continue;
            };
            if entry.start < before {
                return Err(CheckError::Order { task, pred });
            }
            // Nobody says where gates lie.
            if problem.fixed(pred).is_none() && placed[pred as usize].is_none() {
                continue;
            }
            let host_of = |other: u32| match (problem.fixed(other), placed[other as usize]) {
                (Some(fixed), _) => fixed.host,
                (None, Some((there, _))) => there,
                (None, None) => OUTSIDE,
            };
            let seconds = way.transfer(problem, host_of, (pred, task), edge);
            let arrival = before + span(task, seconds)?;
            if entry.start < arrival {
                let (start, arrival) = (entry.start.seconds(), arrival.seconds());
                return Err(CheckError::Transfer {
                    task,
                    pred,
                    start,
                    arrival,
                });
            }
        }
        if let Some((_, entry)) = here {
            finish[task as usize] = entry.finish;
        }
    }
    check_machines(problem, &placed)?;
    check_all_memory(problem, &placed)
}

type Placed<'a> = Vec<Option<(u32, &'a Entry)>>;

/// The entry of each task with the number of its machine; none for gates and what has started.
fn placements<'a>(problem: &Problem, plan: &'a Plan) -> Result<Placed<'a>, CheckError> {
    let dag = problem.dag();
    let hosts: BTreeMap<ResourceId, u32> = problem
        .hosts()
        .iter()
        .zip(0u32..)
        .map(|(host, number)| (host.id, number))
        .collect();
    let waiting = dag.tasks().filter(|&task| holds_slots(problem, task));
    let mut tasks: Vec<_> = waiting
        .filter_map(|task| dag.activity(task).map(|activity| (activity, task)))
        .collect();
    tasks.sort_unstable();
    let mut placed: Placed<'a> = vec![None; dag.n_tasks()];
    for (place, entry) in plan.entries.iter().enumerate() {
        let Ok(found) = tasks.binary_search_by_key(&entry.activity, |&(activity, _)| activity)
        else {
            return Err(CheckError::Unknown { entry: place });
        };
        let task = tasks[found].1;
        if place > 0 && plan.entries[place - 1].activity >= entry.activity {
            return Err(CheckError::Doubled { task });
        }
        let host = hosts.get(&entry.resource).copied();
        let host = host.ok_or(CheckError::Place {
            task,
            host: OUTSIDE,
            slot: entry.slot,
        })?;
        check_entry(problem, task, host, entry)?;
        placed[task as usize] = Some((host, entry));
    }
    match tasks
        .iter()
        .find(|&&(_, task)| placed[task as usize].is_none())
    {
        Some(&(_, task)) => Err(CheckError::Missing { task }),
        None => Ok(placed),
    }
}

fn check_entry(problem: &Problem, task: u32, host: u32, entry: &Entry) -> Result<(), CheckError> {
    let cores = u64::from(problem.dag().cores(task));
    let slots = problem.hosts()[host as usize].slots;
    if u64::from(entry.slot) + cores > u64::from(slots) {
        return Err(CheckError::Place {
            task,
            host,
            slot: entry.slot,
        });
    }
    if problem
        .fitting(problem.demand_class(task))
        .binary_search(&host)
        .is_err()
    {
        let demand = problem.demand(task).clone();
        return Err(CheckError::Constraint { task, host, demand });
    }
    let needed = problem.duration(task, host);
    if entry.finish < entry.start || entry.finish - entry.start < span(task, needed)? {
        let given = entry.finish.seconds() - entry.start.seconds();
        return Err(CheckError::Duration {
            task,
            given,
            needed,
        });
    }
    Ok(())
}

/// The changes at one moment, in this order: tasks give slots back, tasks without duration find
/// room beside running ones, tasks take slots.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    GiveBack,
    Pass,
    Take,
}

fn check_machines(problem: &Problem, placed: &Placed<'_>) -> Result<(), CheckError> {
    let n_hosts = problem.hosts().len();
    let mut changes: Vec<Vec<(Span, Change, u32)>> = vec![Vec::new(); n_hosts];
    let mut by_slot: Vec<Vec<(u32, Span, Span, u32)>> = vec![Vec::new(); n_hosts];
    for (task, &here) in (0u32..).zip(placed) {
        let Some((host, entry)) = here else { continue };
        let changes = &mut changes[host as usize];
        if entry.start == entry.finish {
            changes.push((entry.start, Change::Pass, task));
        } else {
            changes.push((entry.start, Change::Take, task));
            changes.push((entry.finish, Change::GiveBack, task));
        }
        by_slot[host as usize].push((entry.slot, entry.start, entry.finish, task));
    }
    for (host, (mut changes, mut by_slot)) in (0u32..).zip(changes.into_iter().zip(by_slot)) {
        let ready: Vec<Span> = problem
            .ready(host)
            .iter()
            .map(|&at| span(OUTSIDE, at))
            .collect::<Result<_, _>>()?;
        by_slot.sort_unstable();
        for (place, &(slot, start, _, task)) in by_slot.iter().enumerate() {
            if start < ready[slot as usize] {
                return Err(CheckError::Ready { task, host, slot });
            }
            let before = place.checked_sub(1).map(|before| by_slot[before]);
            if before.is_some_and(|(same, _, finish, _)| same == slot && start < finish) {
                return Err(CheckError::Overlap { task, host });
            }
        }
        let mut used = 0;
        for at in ready.into_iter().filter(|&at| at > Span::ZERO) {
            used += 1;
            changes.push((at, Change::GiveBack, OUTSIDE));
        }
        changes.sort_unstable();
        let slots = u64::from(problem.hosts()[host as usize].slots);
        for (_, change, task) in changes {
            let cores = if task == OUTSIDE {
                1
            } else {
                u64::from(problem.dag().cores(task))
            };
            match change {
                Change::GiveBack => used -= cores,
                Change::Pass => {}
                Change::Take => used += cores,
            }
            if used > slots || (change == Change::Pass && used + cores > slots) {
                return Err(CheckError::Overlap { task, host });
            }
        }
    }
    Ok(())
}

fn check_all_memory(problem: &Problem, placed: &Placed<'_>) -> Result<(), CheckError> {
    if !problem.asks_memory() {
        return Ok(());
    }
    let holders = others(problem, |at| span(OUTSIDE, at));
    let mut holders = (holders.into_iter())
        .map(|holders| holders.into_iter().map(Holder::sound).collect())
        .collect::<Result<Vec<Vec<_>>, _>>()?;
    for (task, &here) in (0u32..).zip(placed) {
        let Some((host, entry)) = here else { continue };
        if problem.demand(task).memory.0 == 0 {
            continue;
        }
        holders[host as usize].push(Holder {
            start: entry.start,
            lasts: entry.finish > entry.start,
            finish: entry.finish,
            bytes: problem.demand(task).memory.0,
            task: Some(task),
        });
    }
    for (host, holders) in (0u32..).zip(holders) {
        check_memory(problem, host, holders, |finish, start| finish <= start)?;
    }
    Ok(())
}

fn span(task: u32, seconds: f64) -> Result<Span, CheckError> {
    up(seconds).map_err(|_| CheckError::Duration {
        task,
        given: 0.0,
        needed: seconds,
    })
}
