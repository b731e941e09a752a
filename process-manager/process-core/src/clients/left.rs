//! About how long a process will still take.
//!
//! ```text
//!   plan       |aaaa|bbbbbbbb|        a took 6 s instead of 4: the work done so far is that of the first
//!              |cccccccc|             8 s of the plan where 10 s have passed, so the rest is taken to go
//!   now             ^                 on a little slower than planned
//! ```

use history::Store;
use model::{Entry, Span, Wall};

use crate::dispatch::Commands;
use crate::enact::works::Works;
use crate::process::Process;
use crate::process::index::has_ended;

/// Activities of a process whose plan is looked through: about a millisecond.
const LOOKED_THROUGH_MAX: usize = 4_096;

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
    /// The same after a while in which nothing was counted.
    pub(super) fn after(self, passed: Span) -> Left {
        let rest = |left: Span| left.saturating_sub(passed);
        Left {
            median: self.median.map(rest),
            p90: self.p90.map(rest),
        }
    }
}

/// Counts the remaining time. O(activities log activities), with a look at the history for each.
pub(super) fn left(
    process: &Process,
    history: &Store,
    running: Option<&Commands>,
    now: Wall,
) -> Left {
    if process.phase().has_ended() {
        return Left::default();
    }
    let is_looked_through = process.definition().activities().len() <= LOOKED_THROUGH_MAX;
    if process.state.planned.is_some()
        && is_looked_through
        && !process.state.plan.entries.is_empty()
    {
        let works = Works::new(process, history);
        return by_plan(process, &works, running, now);
    }
    Left {
        median: by_mean(process, now),
        p90: None,
    }
}

/// By what its activities took so far, else by its plan.
fn by_mean(process: &Process, now: Wall) -> Option<Span> {
    let totals = process.totals();
    let n_left = u64::from(totals.waiting + totals.ready + totals.running);
    let n_slots: u64 = process.grants().map(|grant| u64::from(grant.slots)).sum();
    if process.state.n_seen > 0 && n_slots > 0 {
        let mean = process.state.seen_wall.0 / u64::from(process.state.n_seen);
        return Some(Span(
            mean.saturating_mul(n_left) / n_slots.min(n_left.max(1)),
        ));
    }
    process
        .state
        .planned
        .map(|planned| planned.saturating_sub(now.since(process.submitted)))
}

/// An entry of the plan in seconds, with the part of it that is done.
struct Planned {
    start: f64,
    length: f64,
    done: f64,
}

fn by_plan(process: &Process, works: &Works, running: Option<&Commands>, now: Wall) -> Left {
    let done = |entry: &Entry, length: f64| {
        if has_ended(process.activity(entry.activity).phase) {
            return 1.0;
        }
        let since = running.and_then(|running| running.get(&entry.activity));
        let elapsed = since.map_or(0.0, |&(at, _)| now.since(at).seconds());
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
    let slots: u32 = process.grants().map(|grant| grant.slots).sum();
    let slots = f64::from(slots.max(1));
    let (mut unplanned, mut spread, mut weight, mut n_left) = (0.0, 0.0, 0.0, 0.0);
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
    let median = rest(&planned, passed).max(overdue(process, running, now)) + unplanned;
    let in_a_row = f64::max(n_left / slots, 1.0);
    let part = SHARED_SPREAD + (1.0 - SHARED_SPREAD) / in_a_row.sqrt();
    let most = (weight > 0.0).then(|| median * (1.0 + spread / weight * part));
    Left {
        median: Some(Span::from_seconds_up(median)),
        p90: most.map(Span::from_seconds_up),
    }
}

/// The time that an activity takes by the plan.
fn length(entry: &Entry) -> Span {
    entry.finish.saturating_sub(entry.start)
}

/// The seconds that what runs is taken to go on at least, where it takes longer than planned.
fn overdue(process: &Process, running: Option<&Commands>, now: Wall) -> f64 {
    let running = running.into_iter().flatten();
    let overdue = running.filter_map(|(&activity, &(since, _))| {
        let entry = process.state.plan.entry(activity)?;
        let elapsed = now.since(since);
        let is_late = elapsed > length(entry);
        is_late.then(|| elapsed.seconds() * OVERDUE)
    });
    overdue.fold(0.0, f64::max)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(entries: &[(f64, f64, f64)]) -> Vec<Planned> {
        let planned = entries.iter().map(|&(start, length, done)| Planned {
            start,
            length,
            done,
        });
        planned.collect()
    }

    #[test]
    fn time_that_passes_is_left_no_more() {
        let left = Left {
            median: Some(Span::from_secs(2)),
            p90: Some(Span::from_secs(5)),
        };
        let later = left.after(Span::from_secs(3));
        assert_eq!(
            (later.median, later.p90),
            (Some(Span::ZERO), Some(Span::from_secs(2)))
        );
        assert_eq!(Left::default().after(Span::from_secs(3)), Left::default());
    }

    #[test]
    fn what_goes_as_planned_is_left_as_planned() {
        let begun = plan(&[(0.0, 4.0, 1.0), (4.0, 6.0, 0.5)]);
        assert!((rest(&begun, 7.0) - 3.0).abs() < 0.01);
        assert!((rest(&plan(&[(0.0, 4.0, 0.0), (4.0, 6.0, 0.0)]), 0.0) - 10.0).abs() < 0.01);
        assert_eq!(rest(&plan(&[(0.0, 4.0, 1.0)]), 9.0), 0.0);
        assert_eq!(rest(&[], 1.0), 0.0);
    }

    #[test]
    fn what_goes_slower_than_planned_takes_longer_the_more_of_it_is_known() {
        let early = rest(&plan(&[(0.0, 1.0, 1.0), (1.0, 9.0, 0.0)]), 2.0);
        let late = rest(&plan(&[(0.0, 9.0, 1.0), (9.0, 9.0, 0.0)]), 18.0);
        assert!((9.0..11.0).contains(&early), "{early}");
        assert!((13.0..14.0).contains(&late), "{late}");
    }
}
