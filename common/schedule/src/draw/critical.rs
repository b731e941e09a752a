//! The critical chain: the tasks and messages that decide the makespan.

use crate::order::less;
use crate::problem::Problem;
use crate::schedule::{Placement, Schedule};

/// A chain of tasks, from the first to the last, of which each starts when the one before it lets
/// it: because its data has arrived, or because a slot or memory has become free. The last one ends
/// last. `transfer` tells the seconds that data takes: tail, head, edge. O(n + e), and O(n) for each
/// task that waits for memory.
pub fn critical_path(
    problem: &Problem,
    schedule: &Schedule,
    transfer: &dyn Fn(u32, u32, u32) -> f64,
) -> Vec<u32> {
    let entries = &schedule.entries;
    let mut last: Option<u32> = None;
    for task in problem.dag().tasks() {
        let entry = &entries[task as usize];
        let ends_later = |known: u32| less(entries[known as usize].finish, entry.finish);
        if last.is_none_or(ends_later) {
            last = Some(task);
        }
    }
    // The task before each task on one of its slots: the one that ended last.
    let mut before: Vec<Option<u32>> = vec![None; entries.len()];
    for tasks in schedule.order.iter().flatten() {
        for pair in tasks.windows(2) {
            let &[first, second] = pair else { continue };
            let known = &mut before[second as usize];
            let ends_later =
                |known: u32| entries[known as usize].finish < entries[first as usize].finish;
            if known.is_none_or(ends_later) {
                *known = Some(first);
            }
        }
    }
    let mut path = Vec::new();
    let mut at = last;
    while let Some(task) = at {
        path.push(task);
        let start = entries[task as usize].start;
        let lets = |arrival: f64| !less(arrival, start);
        // Data first: a task that waits for both is better told by what it needs.
        let data = problem.dag().predecessors(task).filter_map(|(pred, edge)| {
            let arrival = entries[pred as usize].finish + transfer(pred, task, edge);
            lets(arrival).then_some((arrival, pred))
        });
        let data = data.max_by(|one, other| one.0.total_cmp(&other.0));
        let slot = before[task as usize].filter(|&one| lets(entries[one as usize].finish));
        // Nothing that takes no time can lead back to itself: positions of preds are lower, and
        // on a slot tasks are in the order of their starts. A chain has at most all tasks.
        at = (data.map(|(_, pred)| pred).or(slot)).or_else(|| memory_of(problem, schedule, task));
        if path.len() > entries.len() {
            break;
        }
    }
    path.reverse();
    path
}

/// The first task that gives memory back at the moment at which a task starts that asks for some.
fn memory_of(problem: &Problem, schedule: &Schedule, task: u32) -> Option<u32> {
    let scarce = problem.memory()?;
    let Placement { host, start, .. } = schedule.entries[task as usize];
    if scarce.parts(problem, task, host) == 0 {
        return None;
    }
    let mut entries = schedule.entries.iter();
    let before = entries.find(|one| {
        let ends_there = !less(one.finish, start) && !less(start, one.finish);
        // What takes no time gives nothing back.
        one.host == host
            && ends_there
            && less(one.start, start)
            && scarce.parts(problem, one.task, host) > 0
    });
    before.map(|one| one.task)
}
