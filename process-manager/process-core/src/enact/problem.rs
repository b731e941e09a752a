//! The scheduling problem of a process.

use std::collections::{BTreeMap, BTreeSet};

use history::Store;
use model::{ActivityId, Bytes, Fault, FaultName, Generation, Platform, Source, Span, Wall};
use schedule::{Demand, Placed, Refusal, SchedulerKind};

use crate::enact::busy::{Busy, Running};
use crate::enact::works::{Works, sum};
use crate::process::Process;
use crate::process::index::has_ended;

/// The planning problem of the whole process. Bytes count only if files cross between machines. `movable` was
/// sent and has not started, and is planned as what was not sent.
pub(crate) fn problem(
    process: &Process,
    platform: Platform,
    scheduler: SchedulerKind,
    files_cross: bool,
    (out, history): ((&dyn Running, Wall), &Store),
    movable: &BTreeSet<ActivityId>,
) -> schedule::Request {
    let all_bytes = sum(process.all_produced().map(|artifact| artifact.bytes.0));
    let mean_bytes = Bytes(all_bytes / process.index.n_produced.max(1) as u64);
    let works = Works::new(process, history);
    let graph = process.definition.graph().weighted(
        |node| match node.activity {
            Some(activity) => works.of(process, activity),
            None => node.work,
        },
        |from, to, bytes| match (from.activity, to.activity) {
            (Some(from), Some(to)) if files_cross => bytes_given(process, from, to, mean_bytes),
            (Some(_) | None, _) => bytes,
        },
    );
    let busy = Busy::new(process, &platform, &works, out, movable);
    schedule::Request {
        graph,
        platform,
        demands: demands(process),
        placed: placed(process, &busy.ends, movable),
        ready: busy.ready,
        held: Vec::new(),
        generation: Generation(process.state.plan.generation.0 + 1),
        scheduler,
        controllers: process.planned_controllers().filter(|_| files_cross),
    }
}

/// The bytes that an activity is given of what another has produced; outputs that are not there yet
/// count as the mean of those that are.
fn bytes_given(process: &Process, from: ActivityId, to: ActivityId, mean: Bytes) -> Bytes {
    let declared = process.definition().activity(to);
    let inputs = declared.map_or(&[][..], |declared| &declared.inputs);
    let outputs = inputs.iter().filter_map(|input| match input.source {
        Source::Output { activity, output } if activity == from.node() => Some(output),
        Source::Output { .. } | Source::Input(_) | Source::Item(_) | Source::Pick(_) => None,
    });
    let bytes = outputs.map(|output| {
        let produced = process.output_of(from, output);
        produced.map_or(mean.0, |artifact| artifact.bytes.0)
    });
    Bytes(sum(bytes))
}

/// Activities that have ended or are out, with the machines where their outputs lie or will lie. One that
/// is to make its files again has to find a place for that.
fn placed(
    process: &Process,
    ends: &BTreeMap<ActivityId, Span>,
    movable: &BTreeSet<ActivityId>,
) -> Vec<Placed> {
    let activities = process.definition().activities().iter();
    activities
        .filter_map(|&id| {
            let state = process.activity(id);
            let placed = Placed {
                activity: id,
                resource: state.resource,
                // What has ended and is made again is there once that has ended.
                finish: ends.get(&id).copied().unwrap_or_default(),
            };
            let is_fixed = has_ended(state.phase) || state.is_out() && !movable.contains(&id);
            (is_fixed && !process.wants_recomputation(id)).then_some(placed)
        })
        .collect()
}

/// The memory and labels that activities demand of a machine.
fn demands(process: &Process) -> BTreeMap<ActivityId, Demand> {
    let definition = process.definition();
    definition
        .activities()
        .iter()
        .filter_map(|&id| {
            let activity = definition.activity_as_written(id)?;
            let asks = activity.memory.is_some() || !activity.labels.is_empty();
            let memory = activity.memory.unwrap_or_default();
            let labels = activity.labels.clone();
            asks.then_some((
                id,
                Demand {
                    memory,
                    labels,
                    ..Demand::default()
                },
            ))
        })
        .collect()
}

pub(crate) fn refusal_fault(process: &Process, refusal: &Refusal) -> Fault {
    match refusal {
        Refusal::NoResource { activity, misfit } => {
            let name = process.definition().name_of(activity.node());
            Fault::new(FaultName::NoResource, format!("{name} {misfit}")).of(*activity)
        }
        Refusal::Twice(_)
        | Refusal::Unknown(_)
        | Refusal::Graph(_)
        | Refusal::Problem(_)
        | Refusal::Controllers(_)
        | Refusal::TooLong(_)
        | Refusal::Invalid { .. } => Fault::new(FaultName::NoResource, refusal.to_string()),
    }
}
