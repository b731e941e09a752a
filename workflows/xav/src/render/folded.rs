//! The activities of a status, where there are many: those of a body, which runs for each item or
//! iteration, are told by how many are where, and one by one only where they run or failed.

use std::collections::BTreeMap;

use model::{Definition, NodeId};
use wire::client::{ActivityPhase, ActivityStatus};

use super::{ACTIVITIES_MAX, shown};
use crate::text;

/// Items of one body from which on they are folded: fewer are soon read.
pub(crate) const FOLDED_FROM: usize = 10;

/// Items of one body that are told one by one, those that failed first: what more would say is in the
/// counts.
const ITEMS_SHOWN_MAX: usize = 20;

/// The activities that a status shows, and those that it tells by their counts.
pub(super) struct Folded<'a> {
    /// A row each, in the order of the status.
    pub(super) shown: Vec<&'a ActivityStatus>,
    /// A line for each activity of a body with many items.
    pub(super) lines: Vec<String>,
    /// Activities that are in no row and in no line.
    pub(super) n_hidden: usize,
}

/// Folds the activities of a process; nothing is folded where all are wanted, or there are few.
pub(super) fn fold<'a>(
    activities: &'a [ActivityStatus],
    definition: &Definition,
    all: bool,
) -> Folded<'a> {
    if all || activities.len() <= ACTIVITIES_MAX {
        return Folded {
            shown: activities.iter().collect(),
            lines: Vec::new(),
            n_hidden: 0,
        };
    }
    let mut by_origin: BTreeMap<NodeId, Vec<&ActivityStatus>> = BTreeMap::new();
    for activity in activities {
        let origin = definition.origin(activity.activity.node());
        by_origin.entry(origin).or_default().push(activity);
    }
    let is_folded = |activity: &ActivityStatus| {
        let origin = definition.origin(activity.activity.node());
        by_origin[&origin].len() >= FOLDED_FROM
    };
    let apart = activities.iter().filter(|one| !is_folded(one));
    let apart: Vec<&ActivityStatus> = apart.collect();
    let n_apart = apart.len();
    let mut rows = shown(&apart);
    let n_hidden = n_apart - rows.len();
    let mut lines = Vec::new();
    for (origin, items) in &by_origin {
        if items.len() < FOLDED_FROM {
            continue;
        }
        rows.extend(first(items));
        lines.push(format!(
            "{}: {}\n",
            definition.plain_name(*origin),
            counts(items)
        ));
    }
    rows.sort_by_key(|one| one.activity);
    Folded {
        shown: rows,
        lines,
        n_hidden,
    }
}

/// The items that failed, and then those that run.
fn first<'a>(items: &[&'a ActivityStatus]) -> Vec<&'a ActivityStatus> {
    let is_failed = |one: &&&ActivityStatus| one.phase == ActivityPhase::Faulted;
    let runs = |one: &&&ActivityStatus| {
        matches!(
            one.phase,
            ActivityPhase::Running | ActivityPhase::Sent | ActivityPhase::Backoff
        )
    };
    let failed = items.iter().filter(is_failed);
    let running = items.iter().filter(runs);
    failed
        .chain(running)
        .take(ITEMS_SHOWN_MAX)
        .copied()
        .collect()
}

/// `2000 items: 1999 completed, 1 faulted`.
pub(crate) fn counts(items: &[&ActivityStatus]) -> String {
    let mut n_in: BTreeMap<&'static str, usize> = BTreeMap::new();
    for one in items {
        let word = match one.reused {
            Some(_) => "stand",
            None => one.phase.word(),
        };
        *n_in.entry(word).or_default() += 1;
    }
    let mut counts: Vec<(&'static str, usize)> = n_in.into_iter().collect();
    // The most first; words in their order where there are as many.
    counts.sort_by_key(|&(_, n)| std::cmp::Reverse(n));
    let counts = counts.iter().map(|(word, n)| format!("{n} {word}"));
    let counts: Vec<String> = counts.collect();
    let all = text::count(items.len() as u64, "item", "items");
    format!("{all}: {}", counts.join(", "))
}

#[cfg(test)]
mod tests;
