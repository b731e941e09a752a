//! Judging where files are gone: which activities make them again, or which fault says that none can.

use std::collections::BTreeSet;

use model::{ActivityId, Fault, FaultName, NodeId, Source};
use wire::attempt::{End, Outcome};

use crate::enact::message::laid;
use crate::process::Process;
use crate::process::folding::NOT_KEPT;
use crate::record::{Ended, Flow, Phase, Verdict};

/// Maximum number of recomputations of one activity, however its files were lost: they may be too
/// large for every machine.
const RECOMPUTATIONS_MAX: u16 = 10;

/// The consequence if an attempt could not begin for want of inputs.
pub(crate) fn lacking(process: &Process, outcome: &Outcome, inputs: &[u32]) -> Verdict {
    let consumer = outcome.attempt.activity;
    let definition = process.definition();
    let laid = definition
        .activity(consumer)
        .and_then(|activity| laid(process, consumer, activity).ok())
        .unwrap_or_default();
    let mut makers = BTreeSet::new();
    for &input in inputs {
        let Some(one) = laid.get(input as usize) else {
            continue;
        };
        let Some(Source::Output { activity, .. }) = one.source else {
            let name = definition.name_of(consumer.node());
            let what = match one.source {
                Some(Source::Input(input)) => {
                    let input = &definition.draft().inputs[input as usize].name;
                    format!("the input `{input}` of the process")
                }
                Some(Source::Item(_)) => format!("the item `{}`", one.path),
                Some(Source::Output { .. } | Source::Pick(_)) | None => {
                    format!("the file `{}` that was given with the process", one.path)
                }
            };
            let what = format!(
                "{name}: {what} is damaged or gone on every machine that had it, and nothing can \
                 make it again: submit the process again with it"
            );
            let fault = Fault::new(FaultName::Staging, what).of(consumer);
            return Verdict::Faulted(Box::new(fault));
        };
        let maker = ActivityId(activity.0);
        // The fault is of the activity that lacks them: it is what cannot run.
        let none = |why| {
            let fault = gone(process, activity, why).of(consumer);
            Verdict::Faulted(Box::new(fault))
        };
        if definition
            .activity_as_written(maker)
            .is_some_and(|activity| activity.at_most_once)
        {
            return none("it must not run twice");
        }
        if process.is_folded(maker) {
            return none(NOT_KEPT);
        }
        let recomputation = process.recomputation(maker);
        // Files that have been made again since it was sent are what it lacks no more.
        if recomputation.is_some_and(|recomputation| {
            recomputation.state.is_pending() || recomputation.before.contains(&consumer)
        }) {
            continue;
        }
        if recomputation.is_some_and(|recomputation| recomputation.n_wanted >= RECOMPUTATIONS_MAX) {
            return none("was lost too often");
        }
        makers.insert(maker);
    }
    Verdict::Lacking(makers.into_iter().collect())
}

/// The fault of a process that cannot go on without files that are gone.
pub(crate) fn gone(process: &Process, maker: NodeId, why: &str) -> Fault {
    let name = process.definition().name_of(maker);
    let what = format!("what `{name}` had produced is damaged or gone, and {why}");
    Fault::new(FaultName::Lost, what).of(ActivityId(maker.0))
}

/// The consequence of the end of a recomputation attempt.
pub(crate) fn judge_recomputation(process: &Process, outcome: Outcome) -> Ended {
    let activity = outcome.attempt.activity;
    let n_failed = process
        .recomputation(activity)
        .map_or(0, |recomputation| u32::from(recomputation.n_failed) + 1);
    let tries = process
        .definition()
        .activity_as_written(activity)
        .map_or(1, |declared| declared.retry.attempts);
    let verdict = match &outcome.end {
        End::Completed => Verdict::Completed,
        End::Failed(_) | End::Stopped | End::Lost | End::Lacking(_)
            if process.phase() != Phase::Running || process.is_only_to_close() =>
        {
            Verdict::Stopped
        }
        End::Failed(_) if n_failed < tries => Verdict::Again,
        End::Failed(failure) => {
            let why = format!("making it again failed: {}", failure.message);
            let mut fault = gone(process, activity.node(), &why);
            fault.attempt = outcome.attempt.number;
            fault.exit_code = outcome.exit_code;
            fault.stderr_tail.clone_from(&failure.stderr_tail);
            Verdict::Faulted(Box::new(fault))
        }
        End::Stopped | End::Lost => Verdict::Again,
        End::Lacking(inputs) => lacking(process, &outcome, inputs),
    };
    let (verdict, flow) = match verdict {
        // Activities that wait for the files cannot run.
        Verdict::Faulted(fault) if process.goes_on() => {
            let waiting = process.waiting_for(activity).into_iter();
            let nodes = waiting.map(ActivityId::node);
            let flow = process.transition().break_nodes(nodes);
            (Verdict::Broke(fault), flow)
        }
        verdict @ (Verdict::Completed
        | Verdict::Retry { .. }
        | Verdict::Again
        | Verdict::Moved
        | Verdict::Faulted(_)
        | Verdict::Broke(_)
        | Verdict::Stopped
        | Verdict::Lacking(_)
        | Verdict::Dropped(_)) => (verdict, Flow::default()),
    };
    Ended {
        outcome: outcome.into(),
        verdict,
        writes: Vec::new(),
        flow,
    }
}
