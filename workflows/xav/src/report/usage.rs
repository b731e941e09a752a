//! The use of a machine over time.

use model::{Bytes, Span};

use super::figures::Bar;

/// Points of the line over time: 12,000 attempts on one machine, a quarter of a megabyte. With more it
/// becomes means of as many equal lengths of time.
const POINTS_MAX: usize = 24_000;

/// The use of a machine.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Usage {
    /// Attempts that started there.
    pub(crate) n_attempts: usize,
    /// Time in which at least one ran.
    pub(crate) busy: Span,
    /// Time that its slots were held, added up.
    pub(crate) held: Span,
    /// That, as a part of all time of its slots.
    pub(crate) utilisation: f64,
    /// CPU time.
    pub(crate) cpu: Span,
    /// The most memory of one attempt.
    pub(crate) peak_memory: Bytes,
    /// Held slots from each of these times on, in microseconds; the first is 0.
    pub(crate) line: Vec<(u64, f64)>,
}

/// Adds up what ran on a machine of so many slots, until a moment.
pub(crate) fn usage<'a>(bars: impl Iterator<Item = &'a Bar>, n_slots: u32, until: u64) -> Usage {
    let mut used = Usage::default();
    let mut changes: Vec<(u64, i64)> = Vec::new();
    for bar in bars {
        let n_held = bar.slots.len() as i64;
        used.n_attempts += 1;
        used.cpu = used.cpu + bar.cpu;
        used.peak_memory = used.peak_memory.max(bar.peak_memory);
        used.held = used.held + Span(bar.length().saturating_mul(bar.slots.len() as u64));
        changes.push((bar.start, n_held));
        changes.push((bar.end, -n_held));
    }
    let steps = steps(changes);
    used.busy = Span(
        lengths(&steps, until)
            .filter(|(_, _, n)| *n > 0)
            .map(|(from, to, _)| to - from)
            .sum(),
    );
    let all = f64::from(n_slots) * until as f64;
    if all > 0.0 {
        used.utilisation = used.held.0 as f64 / all;
    }
    used.line = line(&steps, until, POINTS_MAX);
    used
}

/// Slots that attempts hold from each time on, in at most so many points.
pub(crate) fn slots_held<'a>(
    bars: impl Iterator<Item = &'a Bar>,
    until: u64,
    n_points_max: usize,
) -> Vec<(u64, f64)> {
    let changes = bars.flat_map(|bar| {
        let n_held = bar.slots.len() as i64;
        [(bar.start, n_held), (bar.end, -n_held)]
    });
    line(&steps(changes.collect()), until, n_points_max)
}

/// The steps as they are, or, where they are too many, means of as many equal lengths of time.
fn line(steps: &[(u64, i64)], until: u64, n_points_max: usize) -> Vec<(u64, f64)> {
    if steps.len() <= n_points_max {
        steps.iter().map(|&(at, n)| (at, n as f64)).collect()
    } else {
        means(steps, until, n_points_max)
    }
}

/// Held slots from each time on at which they change.
fn steps(mut changes: Vec<(u64, i64)>) -> Vec<(u64, i64)> {
    changes.sort_unstable();
    let mut steps = vec![(0, 0)];
    let mut n_held = 0;
    for (at, change) in changes {
        n_held += change;
        match steps.last_mut() {
            Some(last) if last.0 == at => last.1 = n_held,
            Some(_) | None => steps.push((at, n_held)),
        }
    }
    steps.dedup_by_key(|step| step.1);
    steps
}

/// From, until, held slots.
fn lengths(steps: &[(u64, i64)], until: u64) -> impl Iterator<Item = (u64, u64, i64)> {
    let ends = steps.iter().skip(1).map(|step| step.0).chain([u64::MAX]);
    steps.iter().zip(ends).filter_map(move |(&(from, n), to)| {
        let to = to.min(until.max(from));
        (to > from).then_some((from, to, n))
    })
}

/// The mean of each of so many equal lengths of time.
fn means(steps: &[(u64, i64)], until: u64, n_means: usize) -> Vec<(u64, f64)> {
    let width = (until as f64 / n_means as f64).max(1.0);
    let mut sums = vec![0.0; n_means];
    for (from, to, n) in lengths(steps, until) {
        let (mut at, to) = (from as f64, to as f64);
        while at < to {
            let place = ((at / width) as usize).min(n_means - 1);
            let end = if place == n_means - 1 {
                to
            } else {
                ((place + 1) as f64 * width).min(to)
            };
            // A border that rounds to where it begins is passed by one.
            let end = if end > at { end } else { (at + 1.0).min(to) };
            sums[place] += (end - at) * n as f64;
            at = end;
        }
    }
    let mean = |(place, sum): (usize, f64)| ((place as f64 * width) as u64, sum / width);
    sums.into_iter().enumerate().map(mean).collect()
}

#[cfg(test)]
mod tests;
