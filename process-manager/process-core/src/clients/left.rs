//! About how long a process will still take.
//!
//! ```text
//!   plan       |aaaa|bbbbbbbb|        a took 6 s instead of 4: the work done so far is that of the first
//!              |cccccccc|             8 s of the plan where 10 s have passed, so the rest is taken to go
//!   now             ^                 on a little slower than planned
//! ```

use std::cmp::Reverse;
use std::collections::BTreeMap;

use history::Store;
use model::{ActivityGraph, ActivityId, Entry, Span, Wall};

use crate::dispatch::{Commands, command_of};
use crate::enact::lengths::{is_open_ended, lengths, more_activities};
use crate::enact::works::{Works, forecast};
use crate::process::Process;
use crate::process::index::has_ended;

/// Activities of a process whose plan is looked through: about a millisecond.
const LOOKED_THROUGH_MAX: usize = 4_096;

/// The time for which such a count serves, for each activity of the process.
const LOOKED_THROUGH_FOR: Span = Span::from_millis(1);

/// Activities of a draft that are looked up in the history, and nodes of a draft whose loops are: a fraction of a
/// millisecond each.
const LOOKED_UP_MAX: usize = 256;

/// The time for which such a count serves, for each activity that is looked up.
const LOOKED_UP_FOR: Span = Span::from_millis(10);

/// Halvings of the makespan in the search for the present place in the plan: to a millionth.
const HALVINGS: u32 = 20;

/// Bounds of the pace, real by planned time: what was recalled is done at once, and what waits says
/// little of the rest.
const PACE: std::ops::RangeInclusive<f64> = 0.5..=3.0;

/// The part of an attempt's expected time that counts as done at most while it runs.
const RUNNING_DONE_MAX: f64 = 0.95;

/// An attempt that takes longer than planned is taken to go on for this part of the time that it has run, as
/// in plans.
const OVERDUE: f64 = 0.25;

/// The part of the spread that all attempts share, such as a slow machine. The rest evens out.
const SHARED_SPREAD: f64 = 0.3;

/// The remaining time of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) median: Option<Span>,
    /// The time that nine in ten runs take at most, where attempts were seen from which that follows.
    pub(super) p90: Option<Span>,
}

impl Left {
    /// What is certain to be waited for takes as long in all runs; nine in ten take so much more of what follows, as a
    /// part of it.
    fn of(Waiting { before, after }: Waiting, more: Option<f64>) -> Left {
        let most = more.map(|more| before + after * (1.0 + more));
        Left {
            median: Some(Span::from_seconds_up(before + after)),
            p90: most.map(Span::from_seconds_up),
        }
    }

    /// The same after a while in which nothing was counted.
    pub(super) fn after(self, passed: Span) -> Left {
        let rest = |left: Span| left.saturating_sub(passed);
        Left {
            median: self.median.map(rest),
            p90: self.p90.map(rest),
        }
    }
}

/// Counts the remaining time: by the plan where that is short enough to be looked through, else by what is left of
/// each activity of the draft. O(activities log activities) for the first, with a look at the history for each, and
/// O(log store) for each looked up for the second.
pub(super) fn left(
    process: &Process,
    history: &Store,
    running: Option<&Commands>,
    now: Wall,
) -> Left {
    if process.phase().has_ended() || is_open_ended(process, history) {
        return Left::default();
    }
    if looks_through_plan(process) {
        let works = Works::new(process, history);
        let more = more(process, history, &works);
        return by_plan(process, &works, running, (now, more));
    }
    by_draft(process, history, now)
}

/// The time for which a count serves: what it costs grows with what it looks at, and so it is at most some 0.3 ms
/// a second for all watchers of a process together.
pub(super) fn serves_for(process: &Process) -> Span {
    let (each, n) = match looks_through_plan(process) {
        true => (LOOKED_THROUGH_FOR, process.definition().activities().len()),
        false => (
            LOOKED_UP_FOR,
            process.index.drafted.n_nodes().min(LOOKED_UP_MAX),
        ),
    };
    Span(each.0.saturating_mul(n as u64))
}

fn looks_through_plan(process: &Process) -> bool {
    process.state.planned.is_some()
        && process.definition().activities().len() <= LOOKED_THROUGH_MAX
        && !process.state.plan.entries.is_empty()
}

/// By what its activities took so far and what the others are expected to take beside them, else by the time
/// since its plan was made.
fn by_draft(process: &Process, history: &Store, now: Wall) -> Left {
    let totals = process.totals();
    let n_known = f64::from(totals.waiting + totals.ready + totals.running);
    // Controllers of a larger draft are not looked up: each is a look into the history.
    let n_left = n_known + more_activities(process, history, LOOKED_UP_MAX);
    let slots = n_slots_of(process);
    let used = f64::from(slots).clamp(1.0, n_left.max(1.0));
    let rest = Rest::of(process, history);
    let seen = process
        .state
        .seen_wall
        .0
        .checked_div(u64::from(process.state.n_seen));
    let working = match seen {
        Some(mean) if slots > 0 => Some(Span(mean).seconds() * rest.relative * n_left / used),
        Some(_) | None => process.state.planned.map(|planned| {
            let passed = now.since(process.submitted);
            planned.saturating_sub(passed).seconds()
        }),
    };
    // The last one to be tried again takes at least no time.
    let last = process.index.backoffs.last();
    let waiting = last.map(|&(until, _)| Waiting {
        before: until.since(now).seconds(),
        after: 0.0,
    });
    let Some(working) = working else {
        return Left::default();
    };
    let more = rest.spread.map(|spread| spread * part(n_left, slots));
    Left::of(Waiting::or_working(waiting, working), more)
}

/// The rest of a process, by the activities of its draft.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rest {
    /// The mean work of what is left by that of what has ended.
    relative: f64,
    /// The excess of nine in ten attempts at what is left over what is expected, at most, as a part of that; none
    /// where nobody has seen any.
    spread: Option<f64>,
}

impl Rest {
    /// Of a draft of many activities, some are looked up: a part that lies from its beginning to its end.
    fn of(process: &Process, history: &Store) -> Rest {
        let drafted = &process.index.drafted;
        let stride = drafted.n_nodes().div_ceil(LOOKED_UP_MAX);
        let looked_up = drafted.every(stride).map(|(node, counts)| {
            let (work, spread) = forecast(process, history, ActivityId(node.0));
            Kind {
                n_left: f64::from(counts.n_all - counts.n_ended),
                n_ended: f64::from(counts.n_ended),
                work,
                spread,
            }
        });
        Rest::of_kinds(&looked_up.collect::<Vec<_>>())
    }

    /// Those whose work nobody knows count as the mean of the others.
    fn of_kinds(kinds: &[Kind]) -> Rest {
        let known = || kinds.iter().filter_map(|kind| Some((kind, kind.work?)));
        let n_known: f64 = known().map(|(kind, _)| kind.n_left + kind.n_ended).sum();
        let all_known = known().map(|(kind, work)| (kind.n_left + kind.n_ended) * work);
        let mean = all_known.sum::<f64>() / n_known.max(1.0);
        let work = |kind: &Kind| kind.work.unwrap_or(mean);
        let (mut left, mut n_left, mut ended, mut n_ended) = (0.0, 0.0, 0.0, 0.0);
        let (mut spread, mut weight) = (0.0, 0.0);
        for kind in kinds {
            left += kind.n_left * work(kind);
            n_left += kind.n_left;
            ended += kind.n_ended * work(kind);
            n_ended += kind.n_ended;
            if let Some(more) = kind.spread {
                spread += kind.n_left * work(kind) * (more - 1.0);
                weight += kind.n_left * work(kind);
            }
        }
        let is_known = left > 0.0 && ended > 0.0;
        Rest {
            relative: match is_known {
                true => (left / n_left) / (ended / n_ended),
                false => 1.0,
            },
            spread: (weight > 0.0).then(|| spread / weight),
        }
    }
}

/// Activities of a process that are the same one of its draft.
#[derive(Clone, Copy, Debug)]
struct Kind {
    n_left: f64,
    n_ended: f64,
    work: Option<f64>,
    spread: Option<f64>,
}

/// The part of the spread of single attempts that so many together have on so many slots.
fn part(n_left: f64, slots: u32) -> f64 {
    let in_a_row = f64::max(n_left / f64::from(slots.max(1)), 1.0);
    SHARED_SPREAD + (1.0 - SHARED_SPREAD) / in_a_row.sqrt()
}

/// An entry of the plan in seconds, with the part of it that is done.
struct Planned {
    start: f64,
    length: f64,
    done: f64,
}

/// The seconds that bodies take which are expected beyond those in the plan, at the power of the machines in it.
fn more(process: &Process, history: &Store, works: &Works) -> f64 {
    let slots = n_slots_of(process);
    let lengths = lengths(process, history, works, f64::from(slots.max(1)));
    if lengths.expected <= lengths.planned {
        return 0.0;
    }
    let entries = || process.state.plan.entries.iter();
    let planned: f64 = entries().map(|entry| length(entry).seconds()).sum();
    let work = |entry: &Entry| works.of(process, entry.activity).reference_seconds();
    let reference: f64 = entries().map(work).sum();
    let by_work = planned / reference.max(f64::MIN_POSITIVE);
    (lengths.expected - lengths.planned) * by_work
}

fn by_plan(
    process: &Process,
    works: &Works,
    running: Option<&Commands>,
    (now, more): (Wall, f64),
) -> Left {
    let done = |entry: &Entry, length: f64| {
        if has_ended(process.activity(entry.activity).phase) {
            return 1.0;
        }
        let since = command_of(running, process, entry.activity);
        let elapsed = since.map_or(0.0, |(at, _)| now.since(at).seconds());
        (elapsed / length.max(1e-6)).min(RUNNING_DONE_MAX)
    };
    let entries = &process.state.plan.entries;
    let planned: Vec<Planned> = entries
        .iter()
        .map(|entry| {
            let length = length(entry).seconds();
            Planned {
                start: entry.start.seconds(),
                length,
                done: done(entry, length),
            }
        })
        .collect();
    let n_slots = n_slots_of(process);
    let slots = f64::from(n_slots.max(1));
    let (mut unplanned, mut spread, mut weight, mut n_left) = (more, 0.0, 0.0, 0.0);
    for &activity in process.definition().activities() {
        if has_ended(process.activity(activity).phase) {
            continue;
        }
        let planned = process.state.plan.entry(activity).map(length);
        let length = planned.map_or_else(
            || {
                let work = works.of(process, activity).reference_seconds();
                unplanned += work / slots;
                work
            },
            Span::seconds,
        );
        n_left += 1.0;
        if let Some(more) = works.spread(process, activity) {
            spread += length * (more - 1.0);
            weight += length;
        }
    }
    let from = process.state.planned_from.unwrap_or(process.submitted);
    let passed = now.since(from).seconds();
    let working = rest(&planned, passed).max(overdue(process, running, now));
    let mut longest = Waiting::or_working(waiting(process, now), working);
    longest.after += unplanned;
    let more = (weight > 0.0).then(|| spread / weight * part(n_left, n_slots));
    Left::of(longest, more)
}

/// The time that an activity takes by the plan.
fn length(entry: &Entry) -> Span {
    entry.finish.saturating_sub(entry.start)
}

/// The seconds that what runs is taken to go on at least, where it takes longer than planned.
fn overdue(process: &Process, running: Option<&Commands>, now: Wall) -> f64 {
    let running = running.into_iter().flatten();
    let overdue = running.filter_map(|(&(activity, _), &(since, _))| {
        let entry = process.state.plan.entry(activity)?;
        let elapsed = now.since(since);
        let is_late = elapsed > length(entry);
        is_late.then(|| elapsed.seconds() * OVERDUE)
    });
    overdue.fold(0.0, f64::max)
}

/// Seconds that pass before something begins, and those that follow.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Waiting {
    before: f64,
    after: f64,
}

impl Waiting {
    /// Whatever takes longer: what waits, or work that begins at once.
    fn or_working(waiting: Option<Waiting>, working: f64) -> Waiting {
        let begun = Waiting {
            before: 0.0,
            after: working,
        };
        let longer = waiting.filter(|one| one.before + one.after > working);
        longer.unwrap_or(begun)
    }
}

/// The activity that waits before another attempt and ends last, with what comes after it: that begins no earlier.
/// O(nodes and edges of the graph), where one waits.
fn waiting(process: &Process, now: Wall) -> Option<Waiting> {
    let backoffs = &process.index.backoffs;
    if backoffs.is_empty() {
        return None;
    }
    let planned = |activity: ActivityId| process.state.plan.entry(activity).map(length);
    let chains = chains(process.definition().graph(), |activity| {
        planned(activity).map_or(0.0, Span::seconds)
    });
    let waiting = backoffs.iter().map(|&(until, activity)| Waiting {
        before: until.since(now).seconds(),
        after: chains.get(&activity).copied().unwrap_or(0.0),
    });
    waiting.max_by(|one, other| (one.before + one.after).total_cmp(&(other.before + other.after)))
}

/// The length of the longest chain of activities that begins with each.
fn chains(graph: &ActivityGraph, length: impl Fn(ActivityId) -> f64) -> BTreeMap<ActivityId, f64> {
    let own: Vec<f64> = graph
        .nodes()
        .map(|node| node.activity.map_or(0.0, &length))
        .collect();
    let mut chains = own.clone();
    let mut edges: Vec<(usize, usize)> = graph.edges().map(|(from, to, _)| (from, to)).collect();
    // An edge goes from a lower place to a higher one, so the chain of its head is known before that of its tail.
    edges.sort_unstable_by_key(|&(from, _)| Reverse(from));
    for (from, to) in edges {
        chains[from] = chains[from].max(own[from] + chains[to]);
    }
    let by_place = graph.nodes().zip(chains);
    by_place
        .filter_map(|(node, chain)| Some((node.activity?, chain)))
        .collect()
}

/// The seconds from the place in the plan that the work done so far has reached until its end, at the pace
/// so far as much as that is known.
fn rest(planned: &[Planned], passed: f64) -> f64 {
    let all: f64 = planned.iter().map(|one| one.length).sum();
    let done: f64 = planned.iter().map(|one| one.length * one.done).sum();
    let makespan = planned.iter().map(|one| one.start + one.length);
    let makespan = makespan.fold(0.0, f64::max);
    if all <= 0.0 || done >= all {
        return 0.0;
    }
    let by = |time: f64| -> f64 {
        let parts = planned.iter();
        parts
            .map(|one| (time - one.start).clamp(0.0, one.length))
            .sum()
    };
    let (mut least, mut most) = (0.0, makespan);
    for _ in 0..HALVINGS {
        let middle = (least + most) / 2.0;
        match by(middle) < done {
            true => least = middle,
            false => most = middle,
        }
    }
    let place = least;
    let pace = match place > 0.0 {
        true => 1.0 + done / all * (passed / place - 1.0),
        false => 1.0,
    };
    (makespan - place) * pace.clamp(*PACE.start(), *PACE.end())
}

/// The slots that a process holds; as many as there may be, where its group managers tell more than can be.
fn n_slots_of(process: &Process) -> u32 {
    let slots = process.grants().map(|grant| grant.slots);
    slots.fold(0, u32::saturating_add)
}

#[cfg(test)]
mod tests;
