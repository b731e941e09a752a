//! The scheduling problem of a process.

use std::collections::BTreeMap;

use model::{ActivityId, Bytes, Fault, FaultName, Generation, Platform, Source, Span, Work};
use schedule::{Demand, Placed, Refusal, SchedulerKind};

use crate::process::Process;
use crate::process::index::has_ended;

/// The assumed work of an activity if nothing is known of any.
const WORK_UNKNOWN: Work = Work::from_secs(1);

pub(crate) fn knows_work(process: &Process) -> bool {
    process.state.n_seen > 0 || gives_work(process)
}

/// Returns true if the definition gives the work of any activity.
pub(crate) fn gives_work(process: &Process) -> bool {
    let graph = process.definition.graph();
    graph.nodes().any(|node| node.work > Work::ZERO)
}

/// The planning problem of the whole process. A work that is not given counts as the mean of the
/// run times seen, or else of the works given. Bytes count only if files cross between machines.
pub(crate) fn problem(
    process: &Process,
    platform: Platform,
    scheduler: SchedulerKind,
    files_cross: bool,
) -> schedule::Request {
    let all_bytes = sum(process.all_produced().map(|artifact| artifact.bytes.0));
    let mean_bytes = Bytes(all_bytes / process.index.n_produced.max(1) as u64);
    let graph = process.definition.graph();
    let given: Vec<Work> = graph
        .nodes()
        .map(|node| node.work)
        .filter(|work| work.0 > 0)
        .collect();
    let mean = if process.state.n_seen > 0 {
        Work(process.state.seen_wall.0 / u64::from(process.state.n_seen))
    } else if given.is_empty() {
        WORK_UNKNOWN
    } else {
        Work(sum(given.iter().map(|work| work.0)) / given.len() as u64)
    };
    let graph = graph.weighted(
        |node| match node.activity {
            Some(_) if node.work == Work::ZERO => mean,
            Some(_) | None => node.work,
        },
        |from, to, bytes| match (from.activity, to.activity) {
            (Some(from), Some(to)) if files_cross => bytes_given(process, from, to, mean_bytes),
            (Some(_) | None, _) => bytes,
        },
    );
    schedule::Request {
        graph,
        platform,
        demands: demands(process),
        ready: Vec::new(),
        placed: placed(process),
        generation: Generation(process.state.plan.generation.0 + 1),
        scheduler,
    }
}

/// The bytes that an activity is given of what another has produced; outputs that are not there yet
/// count as the mean of those that are.
fn bytes_given(process: &Process, from: ActivityId, to: ActivityId, mean: Bytes) -> Bytes {
    let declared = process.definition().activity(to);
    let inputs = declared.map_or(&[][..], |declared| &declared.inputs);
    let outputs = inputs.iter().filter_map(|input| match input.source {
        Source::Output { activity, output } if activity == from.node() => Some(output),
        Source::Output { .. } | Source::Input(_) => None,
    });
    let bytes = outputs.map(|output| {
        let produced = process.output_of(from, output);
        produced.map_or(mean.0, |artifact| artifact.bytes.0)
    });
    Bytes(sum(bytes))
}

/// Numbers from machines and users may add up to more than a `u64` holds.
fn sum(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0, u64::saturating_add)
}

/// Activities that have ended or are out, with the machines where their outputs lie or will lie.
fn placed(process: &Process) -> Vec<Placed> {
    let activities = process.definition().activities().iter();
    activities
        .filter_map(|&id| {
            let state = process.activity(id);
            let finish = match process.state.plan.entry(id) {
                Some(entry) if state.is_out() => Span(entry.finish.0.saturating_sub(entry.start.0)),
                Some(_) | None => Span::ZERO,
            };
            let placed = Placed {
                activity: id,
                resource: state.resource,
                finish,
            };
            (has_ended(state.phase) || state.is_out()).then_some(placed)
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
            let activity = definition.activity(id)?;
            let asks = activity.memory.is_some() || !activity.labels.is_empty();
            let memory = activity.memory.unwrap_or_default();
            let labels = activity.labels.clone();
            asks.then_some((id, Demand { memory, labels }))
        })
        .collect()
}

pub(crate) fn refusal_fault(process: &Process, refusal: &Refusal) -> Fault {
    match refusal {
        Refusal::NoResource { activity, misfit } => {
            let name = &process.definition().node(activity.node()).name;
            Fault::new(FaultName::NoResource, format!("{name} {misfit}")).of(*activity)
        }
        Refusal::Twice(_)
        | Refusal::Unknown(_)
        | Refusal::Graph(_)
        | Refusal::Problem(_)
        | Refusal::TooLong(_)
        | Refusal::Invalid { .. } => Fault::new(FaultName::NoResource, refusal.to_string()),
    }
}
