//! When slots become free that attempts hold: expected from the works of their activities and from
//! when they started.

use std::collections::{BTreeMap, BTreeSet};

use model::{ActivityId, AttemptId, Platform, ProcessId, ResourceId, Span, Wall};

use crate::enact::works::Works;
use crate::process::Process;

/// What takes longer than expected is taken to go on for this part of the time that it has run. A
/// fixed time would be too long for what takes seconds and nothing for what takes days; with a part
/// of the elapsed time, the slot of an activity that takes ten times as long as expected is awaited
/// again eleven times, and no plan counts on a slot that is not free.
const OVERDUE: f64 = 0.25;

/// The least time that an attempt is expected to go on, so that a slot that is held is never free.
const LEAST: Span = Span::from_millis(1);

/// What is known of attempts that are out.
pub(crate) trait Running {
    /// When an attempt started, by the clock of its machine; none where nobody knows that it has.
    fn started(&self, attempt: AttemptId) -> Option<Wall>;
    /// The processes that may have attempts at a machine.
    fn processes_at(&self, resource: ResourceId) -> Vec<ProcessId>;
}

/// Expected ends of what a process has out, counted from a moment.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Busy {
    /// By activity: when its attempt ends.
    pub(crate) ends: BTreeMap<ActivityId, Span>,
    /// For each machine of the platform, in its order: when each slot becomes free. Empty where
    /// nothing is out.
    pub(crate) ready: Vec<Vec<Span>>,
}

/// An attempt that is out.
struct Out {
    activity: ActivityId,
    /// Its planned start and its first slot.
    planned: Option<(Span, u32)>,
    cores: usize,
    /// The time that it takes from now on or from when it starts.
    left: Span,
}

impl Busy {
    /// The ends of what is out now. What has not started runs after what has, in the order of the
    /// plan, but for `movable`.
    pub(crate) fn new(
        process: &Process,
        platform: &Platform,
        works: &Works,
        (running, now): (&dyn Running, Wall),
        movable: &BTreeSet<ActivityId>,
    ) -> Busy {
        let machines = platform.resources().iter().enumerate();
        let places: BTreeMap<ResourceId, usize> = machines
            .map(|(index, machine)| (machine.id, index))
            .collect();
        let mut busy = Busy::default();
        for resource in process.busy_machines() {
            let place = places.get(&resource).copied();
            let machine = place.map(|place| &platform.resources()[place]);
            let power = machine.map_or(1.0, |machine| machine.power);
            let mut slots = vec![Span::ZERO; machine.map_or(0, |machine| machine.slots as usize)];
            let (mut running_there, mut waiting) = (Vec::new(), Vec::new());
            let out = process.out_at(resource);
            for attempt in out.filter(|one| !movable.contains(&one.activity)) {
                let work = works.of(process, attempt.activity).reference_seconds();
                let started = running.started(attempt);
                let elapsed = started.map_or(Span::ZERO, |at| now.since(at));
                let out = Out::new(process, attempt.activity, left(work / power, elapsed));
                if process.has_lost(attempt) {
                    // It is being stopped, and its activity has ended.
                    hold(&mut slots, &Out { left: LEAST, ..out });
                    continue;
                }
                match started {
                    Some(_) => running_there.push(out),
                    None => waiting.push(out),
                }
            }
            for out in running_there {
                busy.note_end(out.activity, out.left);
                hold(&mut slots, &out);
            }
            waiting.sort_by_key(|out| (out.planned, out.activity));
            for out in waiting {
                let end = follow(&mut slots, &out);
                busy.note_end(out.activity, end);
            }
            if let Some(place) = place {
                busy.ready.resize(platform.resources().len(), Vec::new());
                busy.ready[place] = slots;
            }
        }
        busy
    }

    /// An attempt is expected to end then; of several at an activity, the first counts.
    fn note_end(&mut self, activity: ActivityId, end: Span) {
        let first = self.ends.entry(activity).or_insert(end);
        *first = (*first).min(end);
    }
}

impl Out {
    fn new(process: &Process, activity: ActivityId, left: Span) -> Out {
        let entry = process.state.plan.entry(activity);
        let declared = process.definition().activity_as_written(activity);
        Out {
            activity,
            planned: entry.map(|entry| (entry.start, entry.slot)),
            cores: declared.map_or(1, |declared| declared.cores) as usize,
            left,
        }
    }
}

/// The time that is left of one that takes so many seconds, after some have passed.
fn left(seconds: f64, elapsed: Span) -> Span {
    let expected = Span::from_seconds_up(seconds);
    let left = match elapsed < expected {
        true => expected - elapsed,
        false => Span::from_seconds_up(elapsed.seconds() * OVERDUE),
    };
    left.max(LEAST)
}

/// What runs holds its planned slots where these are not held, else those that are free first.
fn hold(slots: &mut [Span], out: &Out) {
    let first = out.planned.map_or(0, |(_, slot)| slot as usize);
    let own = first..first + out.cores;
    let is_free = |slots: &[Span]| slots.iter().all(|&at| at == Span::ZERO);
    if let Some(own) = slots.get_mut(own).filter(|own| is_free(own)) {
        return own.fill(out.left);
    }
    for slot in soonest(slots, out.cores) {
        slots[slot] = slots[slot].max(out.left);
    }
}

/// What has not started takes the slots that are free first. Returns when it ends.
fn follow(slots: &mut [Span], out: &Out) -> Span {
    let taken = soonest(slots, out.cores);
    let start = taken.iter().map(|&slot| slots[slot]).max();
    let end = start.unwrap_or_default() + out.left;
    for slot in taken {
        slots[slot] = end;
    }
    end
}

/// So many slots that become free before all others, or all slots where there are fewer.
fn soonest(slots: &[Span], cores: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..slots.len()).collect();
    order.sort_by_key(|&slot| slots[slot]);
    order.truncate(cores);
    order
}

#[cfg(test)]
mod tests;
