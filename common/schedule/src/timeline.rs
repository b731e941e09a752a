//! The use of a machine's slots over time, and the search for the first gap that is long enough.

use crate::meter::Meter;
use crate::order::less;

/// The slots of one machine over time. A task of `c` cores fits from `t` on for `d` if at every
/// moment between at least `c` slots are free; which ones is settled at the end, when all is known
/// (`slots.rs`): tasks that never exceed the number of slots can always be dealt out to them.
///
/// Steps are kept in chunks with a summary of their gaps each, so that a search passes over what
/// is full or too short in O(n / 64), and an insertion moves at most one chunk.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    slots: u32,
    /// True if some task takes no time. Such tasks hold no stretch of time but may not lie inside
    /// the run of another one on the same slot; that asks for every start and end to be kept, where
    /// otherwise neighbouring steps of the same height are merged.
    points: bool,
    chunks: Vec<Chunk>,
}

#[derive(Clone, Debug)]
struct Chunk {
    /// The time of the first step; it stays until the chunk is split.
    from: f64,
    /// Never empty, ascending; the last one lasts until the next chunk begins.
    steps: Vec<Step>,
    /// Slots free in the emptiest step.
    free_max: u32,
    /// True if a run of one core may go on from the chunk before into this one.
    joins: bool,
    /// Until when a run of one core can go on from the chunk's start.
    head_end: f64,
    /// From when on a run of one core can go on until the chunk's end.
    tail_start: f64,
    /// The longest run of one core.
    longest: f64,
}

/// From `at` until the next step `used` slots are taken.
#[derive(Clone, Copy, Debug)]
struct Step {
    at: f64,
    used: u32,
    /// Slots among those whose task starts here. Kept only with `points`.
    starts: u32,
    /// Slots that a task without duration holds at this very moment. Kept only with `points`.
    point: u32,
}

/// The end of a timeline, as far as it answers most questions of tasks of one core.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trail {
    /// From here on one slot at least is free for ever.
    pub(crate) free_from: f64,
    /// No gap before `free_from` ends later than this.
    pub(crate) gaps_until: f64,
}

impl Trail {
    /// When the first of several timelines has a slot free for ever, and until when any has gaps.
    pub(crate) fn of_all(trails: &[Trail]) -> Trail {
        let none = Trail {
            free_from: f64::INFINITY,
            gaps_until: 0.0,
        };
        trails.iter().fold(none, |all, trail| Trail {
            free_from: all.free_from.min(trail.free_from),
            gaps_until: all.gaps_until.max(trail.gaps_until),
        })
    }
}

/// The sum of what is held, each from a time until another one, from each time on at which it changes. The first
/// step is that of the time 0, and in the last one nothing is held. O(n log n).
pub(crate) fn profile(held: impl Iterator<Item = (u128, (f64, f64))>) -> Vec<(f64, u128)> {
    let mut changes: Vec<(f64, bool, u128)> = Vec::new();
    for (count, (from, until)) in held.filter(|&(count, (from, until))| count > 0 && until > from) {
        changes.push((from, true, count));
        changes.push((until, false, count));
    }
    changes.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let (mut begun, mut ended) = (0, 0);
    let mut steps = vec![(0.0, 0)];
    for (at, begins, count) in changes {
        match begins {
            true => begun += count,
            false => ended += count,
        }
        match steps.last_mut() {
            Some(last) if last.0 >= at => last.1 = begun.saturating_sub(ended),
            Some(_) | None => steps.push((at, begun.saturating_sub(ended))),
        }
    }
    steps
}

/// Steps back from the end of a timeline in search of its last gap; what is further back is left to
/// `earliest`.
const TRAIL_STEPS_MAX: usize = 16;

/// Steps of planning to pass over a chunk: it lies anywhere in memory.
const STEPS_A_CHUNK: u64 = 1;
/// Steps of planning to find where a search begins.
const STEPS_A_SEARCH: u64 = 2;

/// Steps of a chunk before it is split in two.
const STEPS_MAX: usize = 48;

impl Timeline {
    /// The slots that become free at `ready`; `points` if some task may take no time.
    pub(crate) fn new(ready: &[f64], points: bool) -> Timeline {
        let held: Vec<(u32, f64)> = ready.iter().map(|&at| (1, at)).collect();
        Timeline::held(ready.len() as u32, &held, points)
    }

    /// So many slots, or parts of anything, of which some are held from the beginning until a time.
    pub(crate) fn held(slots: u32, held: &[(u32, f64)], points: bool) -> Timeline {
        let held = held.iter();
        let held = held.map(|&(count, until)| (count.into(), (0.0, until)));
        Timeline::of_profile(slots, &profile(held), points)
    }

    /// So many slots, or parts of anything, of which so many are in use from each of these times on, which
    /// ascend from 0; in the end none.
    pub(crate) fn of_profile(slots: u32, profile: &[(f64, u128)], points: bool) -> Timeline {
        let steps = profile.iter().map(|&(at, used)| Step {
            at,
            // More may be held than there is.
            used: used.min(slots.into()) as u32,
            starts: 0,
            point: 0,
        });
        let steps: Vec<Step> = steps.collect();
        let mut timeline = Timeline {
            slots,
            points,
            chunks: Vec::new(),
        };
        for steps in steps.chunks(STEPS_MAX / 2) {
            timeline.chunks.push(Chunk::new(steps.to_vec()));
        }
        for chunk in 0..timeline.chunks.len() {
            timeline.summarise(chunk);
        }
        timeline
    }

    /// What a copy costs, in steps of planning.
    pub(crate) fn size(&self) -> u64 {
        self.chunks.len() as u64 * (1 + STEPS_MAX as u64 / 4)
    }

    /// The earliest start from `ready` on of a task that takes `duration` on `cores` slots.
    pub(crate) fn earliest(&self, ready: f64, duration: f64, cores: u32) -> f64 {
        let start = self.search((ready, duration, cores), f64::INFINITY, &Meter::unlimited());
        // The last step lasts for ever and is free, so only a start at infinity is never found.
        start.unwrap_or(ready)
    }

    /// The same for (ready, duration, cores), with its steps counted; none if the task would end after
    /// `limit`.
    pub(crate) fn search(
        &self,
        (ready, duration, cores): (f64, f64, u32),
        limit: f64,
        meter: &Meter,
    ) -> Option<f64> {
        meter.add(STEPS_A_SEARCH);
        let latest = limit - duration;
        let full = self.slots.saturating_sub(cores);
        let (mut chunk, mut first) = self.locate(ready);
        let mut run = None;
        loop {
            let here = &self.chunks[chunk];
            let end = self.end_of(chunk);
            meter.add(STEPS_A_CHUNK);
            if run.is_none() && here.from > latest {
                return None;
            }
            let is_passed = self.passes_over(here, end, duration, cores);
            if is_passed && first > 0 {
                // All that begins here and may be long enough goes on behind it.
                let goes_on = here.free_max >= cores && here.tail_start < end;
                run = goes_on.then(|| here.tail_start.max(ready));
            } else if is_passed {
                if here.free_max < cores || !here.joins {
                    run = None;
                }
                if here.free_max < cores {
                    // Nothing to begin here.
                } else if here.head_end > here.from {
                    let start = *run.get_or_insert(here.from.max(ready));
                    if !less(here.head_end, start + duration) {
                        return Some(start).filter(|&start| start <= latest);
                    }
                    if here.head_end < end {
                        run = (here.tail_start < end).then_some(here.tail_start);
                    }
                } else {
                    run = (here.tail_start < end).then_some(here.tail_start);
                }
            } else {
                meter.add((here.steps.len() - first) as u64);
                for (place, step) in here.steps.iter().enumerate().skip(first) {
                    let until = here.steps.get(place + 1).map_or(end, |next| next.at);
                    let at = step.at.max(ready);
                    if run.is_none() && at > latest {
                        return None;
                    }
                    if self.points {
                        if duration <= 0.0 {
                            let starts = if at <= step.at { step.starts } else { 0 };
                            if step.used - starts <= full {
                                return Some(at).filter(|&at| at <= latest);
                            }
                        } else if step.bars(full) {
                            run = None;
                        }
                    }
                    if step.used > full {
                        run = None;
                    } else {
                        let start = *run.get_or_insert(at);
                        if !less(until, start + duration) {
                            return Some(start).filter(|&start| start <= latest);
                        }
                    }
                }
            }
            chunk += 1;
            first = 0;
            if chunk == self.chunks.len() {
                return None;
            }
        }
    }

    /// Takes `cores` slots from a start that `earliest` gave to a finish. Returns until when: what
    /// lies beyond the gap by less than rounding can explain is not taken. No task that comes later
    /// takes less than `shortest`, so what is left of a gap may be forgotten where it is shorter.
    pub(crate) fn reserve(&mut self, start: f64, finish: f64, cores: u32, shortest: f64) -> f64 {
        let end = self.gap_end(start, finish, cores);
        if end <= start {
            if self.points {
                let (chunk, step) = self.cut(start);
                let step = &mut self.chunks[chunk].steps[step];
                step.point = step.point.max(cores);
                self.summarise(chunk);
                self.split(chunk);
            }
            return start;
        }
        self.cut(end);
        let (first, mut step) = self.cut(start);
        self.chunks[first].steps[step].starts += cores;
        let mut last = first;
        loop {
            let chunk = &mut self.chunks[last];
            while step < chunk.steps.len() && chunk.steps[step].at < end {
                chunk.steps[step].used += cores;
                step += 1;
            }
            if step < chunk.steps.len() || last + 1 == self.chunks.len() {
                break;
            }
            last += 1;
            step = 0;
        }
        if !self.points {
            self.forget_before(start, shortest);
            self.forget_after(end, shortest);
        }
        for chunk in (first..=last).rev() {
            self.merge(chunk);
            self.summarise(chunk);
            self.split(chunk);
        }
        end
    }

    /// The end of the timeline, from which `earliest` follows for tasks of one core that would end
    /// after all gaps.
    pub(crate) fn trail(&self) -> Trail {
        let mut free_from = f64::INFINITY;
        let mut full_from = f64::INFINITY;
        let steps = self.chunks.iter().rev().flat_map(|c| c.steps.iter().rev());
        for (n_seen, step) in steps.enumerate() {
            if n_seen >= TRAIL_STEPS_MAX {
                // What was seen is full from here on, if anything is, so gaps end earlier.
                return Trail {
                    free_from,
                    gaps_until: full_from,
                };
            }
            if step.used >= self.slots {
                full_from = step.at;
            } else if full_from.is_finite() {
                return Trail {
                    free_from,
                    gaps_until: full_from,
                };
            } else {
                free_from = step.at;
                if self.points && step.bars(self.slots - 1) {
                    full_from = step.at;
                }
            }
        }
        Trail {
            free_from,
            gaps_until: 0.0,
        }
    }

    /// Fills the gap that ends at a moment if it is too short for all that comes, as far as it lies
    /// in one chunk.
    fn forget_before(&mut self, end: f64, shortest: f64) {
        let slots = self.slots;
        let (chunk, step) = self.locate(end);
        let steps = &mut self.chunks[chunk].steps;
        if steps[step].used < slots {
            return;
        }
        let mut first = step;
        while first > 0 && steps[first - 1].used < slots {
            first -= 1;
            if end - steps[first].at >= shortest {
                return;
            }
        }
        // Without the step before, where the gap begins is not known.
        if first > 0 && too_short(end - steps[first].at, end, shortest) {
            steps[first..step]
                .iter_mut()
                .for_each(|step| step.used = slots);
        }
    }

    /// The same for the gap that begins at a moment.
    fn forget_after(&mut self, start: f64, shortest: f64) {
        let slots = self.slots;
        let (chunk, step) = self.locate(start);
        let steps = &mut self.chunks[chunk].steps;
        if step == 0 || steps[step - 1].used < slots {
            return;
        }
        let mut end = step;
        while end < steps.len() && steps[end].used < slots {
            end += 1;
            if end < steps.len() && steps[end].at - start >= shortest {
                return;
            }
        }
        if end < steps.len() && too_short(steps[end].at - start, steps[end].at, shortest) {
            steps[step..end]
                .iter_mut()
                .for_each(|step| step.used = slots);
        }
    }

    /// The chunk and step in which a moment lies.
    fn locate(&self, at: f64) -> (usize, usize) {
        let chunk = self
            .chunks
            .partition_point(|chunk| chunk.from <= at)
            .saturating_sub(1);
        let steps = &self.chunks[chunk].steps;
        (
            chunk,
            steps
                .partition_point(|step| step.at <= at)
                .saturating_sub(1),
        )
    }

    fn end_of(&self, chunk: usize) -> f64 {
        self.chunks
            .get(chunk + 1)
            .map_or(f64::INFINITY, |next| next.from)
    }

    /// True if the summary alone tells what a chunk has for a task.
    fn passes_over(&self, chunk: &Chunk, end: f64, duration: f64, cores: u32) -> bool {
        if duration <= 0.0 && self.points {
            return false;
        }
        if chunk.free_max < cores {
            return true;
        }
        // A gap that is nearly long enough is looked at step by step.
        cores == 1 && chunk.longest + 1e-6 * end.max(1.0) < duration
    }

    /// `end`, or the end of the gap around `start` if that comes first.
    fn gap_end(&self, start: f64, end: f64, cores: u32) -> f64 {
        let limit = self.slots.saturating_sub(cores);
        let (chunk, mut first) = self.locate(start);
        for chunk in &self.chunks[chunk..] {
            for step in &chunk.steps[first..] {
                if step.at >= end {
                    return end;
                }
                if step.used > limit {
                    return step.at.max(start);
                }
            }
            first = 0;
        }
        end
    }

    /// Makes a step begin at a moment.
    fn cut(&mut self, at: f64) -> (usize, usize) {
        let (chunk, step) = self.locate(at);
        let steps = &mut self.chunks[chunk].steps;
        if steps[step].at >= at {
            return (chunk, step);
        }
        steps.insert(
            step + 1,
            Step {
                at,
                starts: 0,
                point: 0,
                ..steps[step]
            },
        );
        (chunk, step + 1)
    }

    /// Joins neighbours of the same height, where nothing is lost with the moment between them.
    fn merge(&mut self, chunk: usize) {
        if !self.points {
            self.chunks[chunk].steps.dedup_by_key(|step| step.used);
        }
    }

    fn split(&mut self, chunk: usize) {
        if self.chunks[chunk].steps.len() > STEPS_MAX {
            let second = self.chunks[chunk].steps.split_off(STEPS_MAX / 2);
            self.chunks.insert(chunk + 1, Chunk::new(second));
            self.summarise(chunk);
            self.summarise(chunk + 1);
        }
    }

    fn summarise(&mut self, chunk: usize) {
        let (slots, end) = (self.slots, self.end_of(chunk));
        let chunk = &mut self.chunks[chunk];
        let mut used_min = slots;
        let mut run = None;
        (chunk.head_end, chunk.longest) = (chunk.from, 0.0);
        chunk.joins = !chunk.steps[0].bars(slots - 1);
        for (place, step) in chunk.steps.iter().enumerate() {
            used_min = used_min.min(step.used);
            if step.bars(slots - 1) {
                run = None;
            }
            if step.used < slots {
                let start = *run.get_or_insert(step.at);
                let until = chunk.steps.get(place + 1).map_or(end, |next| next.at);
                chunk.longest = chunk.longest.max(until - start);
                if start <= chunk.from {
                    chunk.head_end = until;
                }
            } else {
                run = None;
            }
        }
        chunk.free_max = slots - used_min;
        chunk.tail_start = run.unwrap_or(end);
    }
}

/// True if no task fits a gap, rounding included.
fn too_short(gap: f64, end: f64, shortest: f64) -> bool {
    gap + 1e-6 * end.max(1.0) < shortest
}

impl Step {
    /// True if a run cannot go on across the beginning of the step beside a task without duration
    /// there and what goes on across it itself, where all may hold no more than `limit`.
    fn bars(&self, limit: u32) -> bool {
        self.point > 0 && self.used - self.starts + self.point > limit
    }
}

impl Chunk {
    fn new(steps: Vec<Step>) -> Chunk {
        let from = steps[0].at;
        Chunk {
            from,
            steps,
            free_max: 0,
            joins: true,
            head_end: from,
            tail_start: from,
            longest: 0.0,
        }
    }
}

#[cfg(test)]
mod tests;
