//! Comparison of an activity with one of an earlier process: why the recorded outcome does not stand.

use std::collections::BTreeSet;

use model::{ActivityId, Artifact};
use wire::client::{Change, REASONS_MAX, Recall};

use crate::enact::cache_key::taken;
use crate::enact::message::staged;
use crate::enact::reuse::captured_is_missing;
use crate::process::Process;
use crate::record::{ActivityPhase, CacheKey};

/// The reason why the outcome of an activity of the base does not stand for another one with this cache
/// key.
pub(crate) fn compared(
    (base, source): (&Process, ActivityId),
    (process, activity): (&Process, ActivityId),
    cache_key: &CacheKey,
) -> Recall {
    let there = base.activity(source).phase;
    if there != ActivityPhase::Completed {
        return Recall::NotCompleted(there.into());
    }
    let Some(before) = base.details(source).cache_key else {
        return Recall::Nothing;
    };
    if before.key == cache_key.key && captured_is_missing(base, source) {
        return Recall::TooLong;
    }
    let changes = changes((base, source, &before), (process, activity, cache_key));
    Recall::Changed(changes)
}

/// An activity of a process, with its cache key: one side of a comparison.
type Decided<'a> = (&'a Process, ActivityId, &'a CacheKey);

fn changes(before: Decided<'_>, after: Decided<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    if before.2.command != after.2.command {
        changes.push(Change::Command);
    }
    if before.2.environment != after.2.environment {
        changes.push(Change::Environment);
    }
    let laid = |(process, id, _): Decided<'_>| -> Vec<(String, Artifact)> {
        let activity = process.definition().activity(id);
        let staged = activity.and_then(|activity| staged(process, id, activity).ok());
        staged.unwrap_or_default()
    };
    let (old, new) = (laid(before), laid(after));
    let gone = old.iter().filter(|one| !new.contains(one));
    let come = new.iter().filter(|one| !old.contains(one));
    let paths: BTreeSet<&String> = gone.chain(come).map(|(path, _)| path).collect();
    if !paths.is_empty() {
        let paths = paths.into_iter().take(REASONS_MAX).cloned();
        changes.push(Change::Inputs(paths.collect()));
    }
    let of = |(process, id, _): Decided<'_>| {
        let activity = process.definition().activity_as_written(id);
        activity.map(|activity| {
            let (outputs, stdout, stderr) = taken(activity);
            (outputs.to_vec(), stdout, stderr)
        })
    };
    if of(before) != of(after) || changes.is_empty() {
        changes.push(Change::Outputs);
    }
    changes
}
