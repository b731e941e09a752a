//! A plan that is kept, on machines that are not as it expected: the makespan that another plan is compared
//! with, and the plan that moves nothing but the activities of some machines.

use std::collections::{BTreeMap, BTreeSet};

use model::{ActivityId, Entry, Plan, ResourceId, Span};

use crate::check::check_plan_by;
use crate::insertion::{Candidate, Insertion, in_order};
use crate::meter::Meter;
use crate::order::{in_ready_order, less};
use crate::problem::Problem;
use crate::request::{Refusal, Request, no_schedule, problem, way};
use crate::retime::{retime_by, up};
use crate::schedule::Schedule;
use crate::way::Way;

/// The time in which the rest of a process ends, counted as in the request, if each activity stays on the
/// machine of its entry and they begin in the order of the entries. One without an entry, or whose machine
/// the request does not have, goes where it ends first. O(n log n + e), beside the search for gaps.
pub fn kept(request: &Request, entries: &[Entry]) -> Result<Span, Refusal> {
    let problem = problem(request)?;
    let way = way(request, &problem)?;
    let schedule = staying((&problem, &way), entries, Order::Entries, |_| Stays::Always)?;
    up(schedule.makespan()).map_err(Refusal::TooLong)
}

/// The plan in which the activities of these machines go where each ends first, and all others stay as in
/// [`kept`], which says what it costs. Of two orders the one with the shorter plan: that of the entries, and that
/// in which what stays is placed before what moves, as far as it does not wait for that.
pub fn moved_from(
    request: &Request,
    entries: &[Entry],
    machines: &BTreeSet<ResourceId>,
) -> Result<Plan, Refusal> {
    let problem = problem(request)?;
    let stays = |one: &Entry| match machines.contains(&one.resource) {
        true => Stays::Never,
        false => Stays::Always,
    };
    let way = way(request, &problem)?;
    let schedule = staying((&problem, &way), entries, Order::Entries, stays)?;
    let other = staying((&problem, &way), entries, Order::StayingFirst, stays)?;
    let schedule = match less(other.makespan(), schedule.makespan()) {
        true => other,
        false => schedule,
    };
    checked("moved-from", request, (&problem, &way), &schedule)
}

/// The plan in which each activity goes where it ends first, in the order in which the entries begin, and stays where
/// it ends no later on the machine of its entry. Where slots were added, it fills them with as few moves as that order
/// leaves. It costs as much as [`kept`].
pub fn grown_from(request: &Request, entries: &[Entry]) -> Result<Plan, Refusal> {
    let problem = problem(request)?;
    let way = way(request, &problem)?;
    let schedule = staying((&problem, &way), entries, Order::Entries, |_| {
        Stays::IfAsSoon
    })?;
    checked("grown-from", request, (&problem, &way), &schedule)
}

fn checked(
    scheduler: &'static str,
    request: &Request,
    (problem, way): (&Problem, &Way),
    schedule: &Schedule,
) -> Result<Plan, Refusal> {
    let plan = retime_by(problem, way, schedule, request.generation);
    let plan = plan.map_err(Refusal::TooLong)?;
    check_plan_by(problem, way, &plan).map_err(|source| Refusal::Invalid { scheduler, source })?;
    Ok(plan)
}

/// Whether an activity stays on the machine of its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stays {
    /// Wherever it would end first.
    Always,
    /// Where it ends no later than on others.
    IfAsSoon,
    /// As on any other machine: where it ends first.
    Never,
}

/// The order in which activities are placed, as far as they do not wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// That in which the entries begin.
    Entries,
    /// First those that stay on their machines, each part in the order of the entries.
    StayingFirst,
}

/// Places activities, those that stay on the machines of their entries, each into the first gap from the time on at
/// which its data is there by this way.
fn staying(
    (problem, way): (&Problem, &Way),
    entries: &[Entry],
    by: Order,
    stays: impl Fn(&Entry) -> Stays,
) -> Result<Schedule, Refusal> {
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
    let is_to_move = |entry: &Entry| stays(entry) == Stays::Never;
    let moves = |task: u32| by == Order::StayingFirst && entry(task).is_some_and(is_to_move);
    order.sort_by_key(|&task| (moves(task), begins[task as usize]));
    let order = in_ready_order(dag, &order);
    let meter = Meter::unlimited();
    // By task: the machine on which it is, or stays unless another one is better.
    let mut places: Vec<Option<u32>> = dag
        .tasks()
        .map(|task| match problem.fixed(task) {
            Some(fixed) => Some(fixed.host),
            None => {
                let entry = entry(task).filter(|&entry| !is_to_move(entry))?;
                hosts.get(&entry.resource).copied()
            }
        })
        .collect();
    let schedule = in_order(problem, &meter, &order, |insertion, task| {
        let stays = entry(task).map_or(Stays::Never, &stays);
        let host = entry(task).and_then(|entry| hosts.get(&entry.resource).copied());
        let host = host.filter(|&host| problem.fits(task, host));
        let here = host.map(|host| by_way((problem, way), insertion, &places, (task, host)));
        if let (Stays::Always, Some(here)) = (stays, here) {
            return Some(here);
        }
        // The machine is chosen by direct messages: there is no quick search by the way through controllers.
        let first = insertion.earliest(task)?;
        let first = by_way((problem, way), insertion, &places, (task, first.host));
        let is_as_soon = |here: &Candidate| !less(first.finish, here.finish);
        let chosen = match stays {
            Stays::IfAsSoon => here.filter(is_as_soon).unwrap_or(first),
            Stays::Always | Stays::Never => first,
        };
        places[task as usize] = Some(chosen.host);
        Some(chosen)
    });
    let schedule = schedule.map_err(|error| no_schedule(problem, error))?;
    Ok(way.recounted(problem, schedule))
}

/// The earliest place of a task on a machine, whose data comes by this way. A controller beside an activity that has no
/// place yet counts as on that machine.
fn by_way(
    (problem, way): (&Problem, &Way),
    insertion: &Insertion<'_>,
    places: &[Option<u32>],
    (task, host): (u32, u32),
) -> Candidate {
    if matches!(way, Way::Direct) {
        return insertion.on(task, host);
    }
    let mut arrival = 0.0f64;
    for (pred, edge) in problem.dag().predecessors(task) {
        let (end, from) = insertion.end_of(pred);
        let host_of = |other: u32| match other {
            _ if other == task => host,
            _ if other == pred => from,
            _ => places[other as usize].unwrap_or(host),
        };
        let seconds = way.transfer(problem, host_of, (pred, task), edge);
        arrival = arrival.max(end + seconds);
    }
    insertion.on_from(task, host, arrival)
}

#[cfg(test)]
mod tests;
