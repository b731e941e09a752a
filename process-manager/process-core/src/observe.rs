//! Works of attempts, which plans of later runs rest on. They are volatile here and decide
//! nothing; the shell keeps it beside the journal, and no process depends on it.

use history::{Key, Observed, SizeClass, Template};
use model::{FaultName, ProcessId, ResourceId, Span, Work};
use wire::attempt::{End, Outcome};

use crate::enact::works::{owner, size_class};
use crate::io::{Effect, Remembered};
use crate::market::Market;
use crate::process::Process;
use crate::step::Step;

/// Takes what a machine reports of attempts into the history, before it is recorded.
pub(crate) fn observe(
    step: &mut Step<'_>,
    market: &Market,
    resource: ResourceId,
    outcomes: &[Outcome],
) {
    let Some(power) = market.power(resource) else {
        return;
    };
    for outcome in outcomes {
        let known = step.cx.process(outcome.attempt.process);
        let Some(known) = known.filter(|known| known.is_out(outcome.attempt)) else {
            continue;
        };
        let Some((key, seen)) = observed(known, power, outcome) else {
            continue;
        };
        let (template, gone) = step.history.observe(&key, &seen);
        let Some(template) = template.cloned() else {
            continue;
        };
        let remembered = Remembered {
            key,
            seen,
            template,
            gone,
        };
        step.cx.effect(Effect::Keep(Box::new(remembered)));
    }
}

/// Takes in the templates that earlier epochs have kept. Those that have no room are not kept any longer: what is
/// not known here could not be forgotten.
pub(crate) fn know(step: &mut Step<'_>, known: Vec<(Key, Template)>) {
    let known = known.into_iter();
    let gone: Vec<Key> = known
        .flat_map(|(key, template)| step.history.put(&key, template))
        .collect();
    if !gone.is_empty() {
        step.cx.effect(Effect::Forget(gone, None));
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
