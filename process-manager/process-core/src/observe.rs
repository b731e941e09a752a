//! Works of attempts, which plans of later runs rest on. They are volatile here and decide
//! nothing; the shell keeps it beside the journal, and no process depends on it.

use std::collections::BTreeMap;

use history::{Counted, Key, Observed, Record, Seen, SizeClass, controller_name};
use model::{FaultName, NodeId, NodeKind, ProcessId, ResourceId, Span, Work};
use wire::attempt::{End, Outcome};

use crate::enact::works::{owner, size_class};
use crate::io::{Effect, Remembered};
use crate::market::Market;
use crate::process::Process;
use crate::record::NodeState;
use crate::step::Step;

/// Controllers of a process whose bodies are remembered.
const CONTROLLERS_MAX: usize = 1_000;

/// Takes what a machine reports of attempts into the history, before it is recorded.
pub(crate) fn observe(
    step: &mut Step<'_>,
    market: &Market,
    resource: ResourceId,
    outcomes: &[Outcome],
) {
    for outcome in outcomes {
        let Some(power) = market.power_for(outcome.attempt.process, resource) else {
            return;
        };
        let known = step.cx.process(outcome.attempt.process);
        let Some(known) = known.filter(|known| known.is_out(outcome.attempt)) else {
            continue;
        };
        // Of a race, the result alone tells how long the activity takes.
        let is_result = outcome.end == End::Completed && !known.has_lost(outcome.attempt);
        if !is_result && (known.is_racing(outcome.attempt) || known.has_lost(outcome.attempt)) {
            continue;
        }
        let Some((key, seen)) = observed(known, power, outcome) else {
            continue;
        };
        keep(step, key, Seen::Attempt(seen));
    }
}

/// Takes into the history how many bodies the controllers of a process had that has completed.
pub(crate) fn count_bodies(step: &mut Step<'_>, id: ProcessId) {
    let Some(known) = step.cx.process(id) else {
        return;
    };
    let mut by_controller: BTreeMap<NodeId, (u64, u32)> = BTreeMap::new();
    for (controller, n_bodies) in controllers(known) {
        let (sum, n) = by_controller.entry(controller).or_default();
        *sum += u64::from(n_bodies);
        *n += 1;
    }
    let (run, at) = (run(id), step.now.wall);
    let seen = by_controller.into_iter().take(CONTROLLERS_MAX);
    let seen = seen.map(|(controller, (sum, n))| {
        let key = Key {
            owner: owner(known).to_owned(),
            definition: known.definition().name().to_owned(),
            activity: controller_name(known.definition(), controller),
            class: SizeClass::BODIES,
        };
        let n = (sum as f64 / f64::from(n)) as f32;
        (key, Seen::Bodies(Counted { run, at, n }))
    });
    let seen: Vec<(Key, Seen)> = seen.collect();
    seen.into_iter()
        .for_each(|(key, seen)| keep(step, key, seen));
}

/// The controllers that have run, as nodes of the draft, each with the number of its bodies as often as it ran.
fn controllers(process: &Process) -> impl Iterator<Item = (NodeId, u32)> {
    let definition = process.definition();
    let mut nodes: Vec<NodeId> = process.state.expanded.iter().map(|one| one.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let expanded = nodes.into_iter().filter_map(|node| {
        let n_bodies = definition.n_items(node)?;
        Some((definition.origin(node), n_bodies))
    });
    // A loop whose condition was false at once has none.
    let written = (0..).map(NodeId).zip(&definition.draft().nodes);
    let loops = written.filter(|(_, node)| matches!(node.kind, NodeKind::Repeat(_)));
    let without = loops.filter(|&(id, _)| {
        !definition.is_expanded(id) && process.state.frame.node(id) == NodeState::Done
    });
    expanded.chain(without.map(|(id, _)| (id, 0)))
}

fn keep(step: &mut Step<'_>, key: Key, seen: Seen) {
    // Names that are too long are not kept.
    if step.history.take(&key, &seen).0.is_none() {
        return;
    }
    let remembered = Remembered { key, seen };
    step.cx.effect_later(Effect::Keep(Box::new(remembered)));
}

/// Takes in the templates that earlier epochs have kept, as far as there is room.
pub(crate) fn know(step: &mut Step<'_>, known: Vec<(Key, Record)>) {
    for (key, record) in known {
        step.history.put(&key, record);
    }
}

/// The name and the facts of an attempt; none where it says nothing of the work: it failed by itself, never
/// ran, or nobody knows for how long.
fn observed(process: &Process, power: f64, outcome: &Outcome) -> Option<(Key, Observed)> {
    let is_killed = match &outcome.end {
        End::Completed => false,
        End::Failed(failure) => match failure.name {
            FaultName::Timeout | FaultName::OutOfMemory => true,
            FaultName::ExitCode
            | FaultName::Lost
            | FaultName::OutcomeUnknown
            | FaultName::NoResource
            | FaultName::MissingOutput
            | FaultName::Expression
            | FaultName::TooManyIterations
            | FaultName::TooLarge
            | FaultName::Cancelled
            | FaultName::NotStarted
            | FaultName::Staging
            | FaultName::DiskFull
            | FaultName::TooFewItems
            | FaultName::Thrown(_) => return None,
        },
        End::Stopped => true,
        End::Lost | End::Lacking(_) => return None,
    };
    if outcome.wall == Span::ZERO {
        return None;
    }
    let activity = outcome.attempt.activity;
    let key = Key {
        owner: owner(process).to_owned(),
        definition: process.definition().name().to_owned(),
        activity: process.definition().plain_name(activity.node()).to_owned(),
        class: size_class(process, activity).unwrap_or(SizeClass(0)),
    };
    let seen = Observed {
        run: run(process.id()),
        at: outcome.started + outcome.wall,
        work: Work((outcome.wall.0 as f64 * power).max(1.0) as u64),
        is_killed,
        cpu: outcome.cpu,
        wall: outcome.wall,
        peak_memory: outcome.peak_memory,
    };
    Some((key, seen))
}

/// A number that tells runs of a definition apart.
fn run(process: ProcessId) -> u32 {
    (process.0 ^ (process.0 >> 32)) as u32
}
