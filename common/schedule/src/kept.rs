//! The makespan of a plan that is kept, on machines that are not as it expected: what another plan is
//! compared with.

use std::collections::BTreeMap;

use model::{ActivityId, Entry, ResourceId, Span};

use crate::insertion::in_order;
use crate::meter::Meter;
use crate::order::in_ready_order;
use crate::request::{Refusal, Request, no_schedule, problem};
use crate::retime::up;

/// The time in which the rest of a process ends, counted as in the request, if each activity stays on the
/// machine of its entry and they begin in the order of the entries. One without an entry, or whose machine
/// the request does not have, goes where it ends first. O(n log n + e), beside the search for gaps.
pub fn kept(request: &Request, entries: &[Entry]) -> Result<Span, Refusal> {
    let problem = problem(request)?;
    let hosts = problem.hosts().iter().zip(0u32..);
    let hosts: BTreeMap<ResourceId, u32> = hosts.map(|(host, n)| (host.id, n)).collect();
    let entries: BTreeMap<ActivityId, &Entry> = entries
        .iter()
        .map(|entry| (entry.activity, entry))
        .collect();
    let dag = problem.dag();
    let entry = |task: u32| Some(*entries.get(&dag.activity(task)?)?);
    // Gates and activities without an entry begin with the last one that they wait for.
    let mut begins = vec![Span::ZERO; dag.n_tasks()];
    for task in dag.tasks() {
        let before = dag
            .predecessors(task)
            .map(|(pred, _)| begins[pred as usize]);
        let last = before.max().unwrap_or_default();
        begins[task as usize] = entry(task).map_or(last, |entry| entry.start);
    }
    let mut order: Vec<u32> = dag.tasks().collect();
    order.sort_by_key(|&task| begins[task as usize]);
    let order = in_ready_order(dag, &order);
    let meter = Meter::unlimited();
    let schedule = in_order(&problem, &meter, &order, |insertion, task| {
        let host = entry(task).and_then(|entry| hosts.get(&entry.resource).copied());
        match host.filter(|&host| problem.fits(task, host)) {
            Some(host) => Some(insertion.on(task, host)),
            None => insertion.earliest(task),
        }
    });
    let schedule = schedule.map_err(|error| no_schedule(&problem, error))?;
    up(schedule.makespan()).map_err(Refusal::TooLong)
}

#[cfg(test)]
mod tests;
