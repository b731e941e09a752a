//! The critical path of what really ran: from the attempt that ended last back to the beginning, each
//! time to what it had to wait for last.
//!
//! That is the activity before it that ended last, the attempt whose end made its slot free, or its own
//! attempt before. O(n + e) once slots are known.

use model::{ActivityGraph, Span};

use super::figures::Bar;

/// Why a step of the path began when it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Nothing came before.
    First,
    /// This bar's activity had to end before.
    After(usize),
    /// This bar held the slot.
    Slot(usize),
    /// This bar is the try before.
    Retry(usize),
}

/// A step of the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The index of the bar.
    pub(crate) bar: usize,
    /// The last condition that it waited for.
    pub(crate) reason: Reason,
    /// Microseconds between the end of that, or the beginning of all, and its own start.
    pub(crate) wait: u64,
}

/// The facts about each bar besides its times.
pub(crate) struct Known<'a> {
    /// The activities and what each waits for.
    pub(crate) graph: &'a ActivityGraph,
    /// The bars.
    pub(crate) bars: &'a [Bar],
    /// The place of each activity in the list that [`Bar::activity`] counts in, by its id.
    pub(crate) place_of: &'a dyn Fn(model::ActivityId) -> Option<usize>,
    /// Activities in that list.
    pub(crate) n_activities: usize,
    /// For each bar the one that made its last slot free.
    pub(crate) freed_by: &'a [Option<usize>],
}

/// The steps of the critical path, the first one first.
pub(crate) fn chain(known: &Known<'_>) -> Vec<Step> {
    let bars = known.bars;
    let waits_for = latest_before(known);
    let mut before = vec![None; bars.len()];
    let mut last_of: Vec<Option<usize>> = vec![None; known.n_activities];
    for (index, bar) in bars.iter().enumerate() {
        before[index] = last_of[bar.activity].replace(index);
    }
    let mut at = (0..bars.len()).max_by_key(|&index| (bars[index].end, bars[index].start));
    let mut steps = Vec::new();
    while let Some(bar) = at {
        // A bar cannot have waited for one that began later, whatever the clocks say; so this ends.
        let earlier = |other: usize| {
            (bars[other].start, other) < (bars[bar].start, bar)
                && bars[other].end <= bars[bar].start.saturating_add(CLOCKS_DIFFER)
        };
        let candidates = [
            known.freed_by[bar].map(Reason::Slot),
            waits_for[bars[bar].activity].map(Reason::After),
            before[bar].map(Reason::Retry),
        ];
        let reason = candidates
            .into_iter()
            .flatten()
            .filter(|reason| reason.bar().is_some_and(earlier))
            .max_by_key(|reason| reason.bar().map(|bar| bars[bar].end))
            .unwrap_or(Reason::First);
        let since = reason.bar().map_or(0, |bar| bars[bar].end);
        steps.push(Step {
            bar,
            reason,
            wait: bars[bar].start.saturating_sub(since),
        });
        at = reason.bar();
    }
    steps.reverse();
    steps
}

/// The longest chain of activities that depend on each other, by how long their attempts ran.
pub(crate) fn longest(known: &Known<'_>) -> Span {
    let mut ran = vec![0_u64; known.n_activities];
    for bar in known.bars {
        ran[bar.activity] += bar.length();
    }
    let mut until = vec![0_u64; known.graph.n_nodes()];
    let incoming = incoming(known.graph);
    for (place, node) in known.graph.nodes().enumerate() {
        let before = incoming[place].iter().map(|&from| until[from]).max();
        let own = node.activity.and_then(|id| (known.place_of)(id));
        until[place] = before.unwrap_or(0) + own.map_or(0, |activity| ran[activity]);
    }
    Span(until.into_iter().max().unwrap_or(0))
}

/// The tails of the edges to each node.
fn incoming(graph: &ActivityGraph) -> Vec<Vec<usize>> {
    let mut incoming = vec![Vec::new(); graph.n_nodes()];
    for (from, to, _) in graph.edges() {
        incoming[to].push(from);
    }
    incoming
}

/// Microseconds by which two readings of one moment may differ.
const CLOCKS_DIFFER: u64 = 5_000;

impl Reason {
    /// The bar that was waited for.
    pub(crate) fn bar(self) -> Option<usize> {
        match self {
            Reason::First => None,
            Reason::After(bar) | Reason::Slot(bar) | Reason::Retry(bar) => Some(bar),
        }
    }
}

/// For each activity the last bar of those before it; what has no bar of its own stands for what
/// comes before it in turn.
fn latest_before(known: &Known<'_>) -> Vec<Option<usize>> {
    let bars = known.bars;
    let mut last_of: Vec<Option<usize>> = vec![None; known.n_activities];
    for (index, bar) in bars.iter().enumerate() {
        last_of[bar.activity] = Some(index);
    }
    let incoming = incoming(known.graph);
    let mut latest: Vec<Option<usize>> = vec![None; known.n_activities];
    let mut ended_by: Vec<Option<usize>> = vec![None; known.graph.n_nodes()];
    for (place, node) in known.graph.nodes().enumerate() {
        let last = incoming[place]
            .iter()
            .filter_map(|&from| ended_by[from])
            .max_by_key(|&bar| bars[bar].end);
        let own = node.activity.and_then(|id| (known.place_of)(id));
        if let Some(activity) = own {
            latest[activity] = last;
        }
        ended_by[place] = own.and_then(|activity| last_of[activity]).or(last);
    }
    latest
}

#[cfg(test)]
mod tests;
