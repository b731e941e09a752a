//! Growth: a process that was planned on the slots that were free then is planned again when others are
//! free, where long activities of it wait for its own.
//!
//! ```text
//!   slot 0   others .....|1111|3333|      planned when slot 1 was free: 0, 1, 2 and 3 one after another
//!   slot 1   0000|1111|2222|2222|         slot 0 becomes free: what has not been sent moves there
//! ```
//! Processes grow in the order of their submission. While another waits for its first plan, they use slots that
//! it cannot use yet, if they are ready with these before it is expected to begin: one that has begun on few
//! slots would else keep it waiting for longer. Where other process managers may want a slot, it is left to them
//! for a moment.

use std::collections::{BTreeMap, BTreeSet};

use history::Store;
use model::{Entry, GroupId, Mono, Plan, ProcessId, Resource, ResourceId, Span};
use schedule::Refusal;
use wire::group::Offer;

use super::claims::needs;
use super::limit::{self, fits};
use super::planning::resource;
use super::queue::Turn;
use super::{Market, Stage};
use crate::enact::busy::Running;
use crate::enact::works::expected;
use crate::limits;
use crate::machines::Machines;
use crate::process::Process;
use crate::record::Phase;
use crate::step::Step;
use crate::timer::Timer;

/// Processes whose activities wait for their slots.
#[derive(Debug, Default)]
pub(super) struct Growth {
    crowded: BTreeSet<Turn>,
    /// The number of offers at which none of them was found to use more slots.
    done: Option<u64>,
    /// The slots that the first process which waits is expected to use, while a plan is made for one that
    /// grows.
    kept: Kept,
    /// Since when slots of machines have been offered that other process managers may claim too.
    offered: BTreeMap<GroupId, BTreeMap<ResourceId, Mono>>,
}

/// Slots that are kept for the first process which waits.
#[derive(Debug, Default)]
struct Kept {
    places: BTreeSet<ResourceId>,
    /// The time at which it is expected to begin there; none where nobody knows.
    until: Option<Mono>,
}

impl Kept {
    /// Returns true if an entry of a plan that is made at this moment keeps the first process waiting.
    fn delays(&self, now: Mono, entry: &Entry) -> bool {
        let is_late = self.until.is_none_or(|until| now + entry.finish > until);
        is_late && self.places.contains(&entry.resource)
    }
}

/// A process to be planned again.
struct Chosen {
    id: ProcessId,
    resources: Vec<Resource>,
    is_limited: bool,
}

impl Growth {
    /// A group offers its machines.
    pub(super) fn offer(&mut self, group: GroupId, offer: &Offer, now: Mono) {
        let before = self.offered.remove(&group).unwrap_or_default();
        if !offer.is_shared {
            return;
        }
        let free = offer.resources.iter().filter(|one| one.free > 0);
        let since = free.map(|one| {
            let since = before.get(&one.resource).copied();
            (one.resource, since.unwrap_or(now))
        });
        self.offered.insert(group, since.collect());
    }

    /// Processes may find slots that they did not find before.
    pub(super) fn retry(&mut self) {
        self.done = None;
    }

    /// The moment from which on a process of this manager may grow by slots of a machine.
    pub(super) fn usable_from(&self, resource: ResourceId) -> Mono {
        let since = self.offered.get(&resource.group);
        let since = since.and_then(|since| since.get(&resource));
        since.map_or(Mono(0), |&since| since + limits::GROW_SHARED_AFTER)
    }
}

impl Market {
    /// Notes whether long activities of a process wait for the slots that it holds.
    pub(crate) fn note_crowded(&mut self, step: &mut Step<'_>, id: ProcessId) {
        let (Some(known), Some(demand)) = (step.cx.process(id), self.demands.get_mut(&id)) else {
            return;
        };
        let turn = demand.turn_of(id);
        if !is_crowded(known, step.history) {
            self.growth.crowded.remove(&turn);
            return;
        }
        if self.growth.crowded.insert(turn) {
            demand.grown = None;
            self.growth.retry();
            if self.slots.open().next().is_some() {
                step.marks.want_plans();
            }
        }
    }

    /// Has the first crowded process planned again that may use slots which are free.
    pub(super) fn grow(&mut self, step: &mut Step<'_>, machines: &Machines, running: &dyn Running) {
        let is_busy = !self.planning.is_empty() || self.claims.is_full();
        let is_vain = self.growth.done == Some(self.n_offers) || self.slots.open().next().is_none();
        if is_busy || is_vain || self.growth.crowded.is_empty() {
            return;
        }
        let Some(kept) = self.kept_for_first(step, machines, running) else {
            return;
        };
        self.growth.kept = kept;
        let Some(chosen) = self.next_to_grow(step, machines) else {
            self.growth.done = Some(self.n_offers);
            return;
        };
        let Chosen {
            id,
            resources,
            is_limited,
        } = chosen;
        if let Some(demand) = self.demands.get_mut(&id) {
            (demand.grows, demand.is_limited) = (true, is_limited);
        }
        if !self.request_plan(step, id, resources, running)
            && let Some(demand) = self.demands.get_mut(&id)
        {
            demand.grows = false;
        }
    }

    /// The slots that are kept for the first process which waits; none where it has not been tried yet on
    /// what is free.
    fn kept_for_first(
        &self,
        step: &Step<'_>,
        machines: &Machines,
        running: &dyn Running,
    ) -> Option<Kept> {
        let Some((_, first)) = self.queue.first() else {
            return Some(Kept::default());
        };
        let is_tried = self.demands.get(&first)?.tried == Some(self.n_offers);
        if !is_tried || self.claims.of(first).next().is_some() {
            return None;
        }
        let shadow = self.shadow(
            step,
            (machines, running),
            &limit::needs(step.cx.process(first)?),
        );
        Some(Kept {
            until: shadow.expected.map(|expected| step.now.mono + expected),
            places: shadow.places,
        })
    }

    fn next_to_grow(&mut self, step: &mut Step<'_>, machines: &Machines) -> Option<Chosen> {
        let first = self.queue.first();
        let crowded = self.growth.crowded.iter().copied();
        // A process that was let past the first one gets no more than that.
        let crowded = crowded.filter(|turn| first.is_none_or(|first| *turn < first));
        let crowded: Vec<Turn> = crowded.collect();
        let mut n_left = limits::BACKFILL_MAX;
        for (_, id) in crowded {
            let n_offers = self.n_offers;
            let Some(demand) = self.demands.get_mut(&id) else {
                continue;
            };
            let is_settled = matches!(demand.stage, Stage::Settled);
            if !is_settled || demand.grown == Some(n_offers) {
                continue;
            }
            if demand.grows_from > step.now.mono {
                step.timers.set(Timer::Plan(id), demand.grows_from);
                continue;
            }
            demand.grown = Some(n_offers);
            let is_chosen = self.places_to_grow(step, machines, id);
            if is_chosen.is_some() {
                return is_chosen;
            }
            n_left -= 1;
            if n_left == 0 {
                break;
            }
        }
        None
    }

    /// The slots that a process holds with those that are free; none where it cannot use these.
    fn places_to_grow(
        &self,
        step: &mut Step<'_>,
        machines: &Machines,
        id: ProcessId,
    ) -> Option<Chosen> {
        let known = step.cx.process(id)?;
        if known.phase() != Phase::Running || self.claims.of(id).next().is_some() {
            return None;
        }
        let kept = &self.growth.kept;
        let demand = self.demands.get(&id)?;
        let is_aside = kept.until.is_none() || demand.grows_aside == Some(self.n_offers);
        let open = self.slots.open();
        let open = open.filter(|place| !is_aside || !kept.places.contains(place));
        let (now, later): (Vec<ResourceId>, Vec<ResourceId>) =
            open.partition(|&place| self.growth.usable_from(place) <= step.now.mono);
        let later = later
            .into_iter()
            .map(|place| self.growth.usable_from(place));
        if let Some(from) = later.min() {
            step.timers.set(Timer::Plan(id), from);
        }
        let free = now.into_iter().map(|place| (place, self.slots.free(place)));
        let mut free: BTreeMap<ResourceId, u32> = free.collect();
        let is_limited = self.limit(machines, known, &mut free);
        self.narrow(step, machines, known, &mut free);
        let waiting =
            waiting(known).find_map(|activity| known.definition().activity_as_written(activity))?;
        let is_of_use = |(&place, &slots): (&ResourceId, &u32)| {
            let fitting = self.answering(machines, place);
            let fitting = fitting.is_some_and(|one| fits(one, waiting));
            fitting && slots > 0 && slots.saturating_add(known.granted(place)) >= waiting.cores
        };
        if !free.iter().any(is_of_use) {
            return None;
        }
        for grant in known.grants() {
            free.entry(grant.resource).or_default();
        }
        let resources = free.into_iter().filter_map(|(place, slots)| {
            let slots = slots.saturating_add(known.granted(place));
            resource(self.answering(machines, place)?, slots)
        });
        Some(Chosen {
            id,
            resources: resources.collect(),
            is_limited,
        })
    }

    /// A plan was made for a process that was to grow. Returns true if it needs no more slots by that, or
    /// would keep the first process waiting with them.
    pub(super) fn grows_in_vain(
        &mut self,
        now: Mono,
        known: &Process,
        made: &Result<Plan, Refusal>,
    ) -> bool {
        let n_activities = known.definition().activities().len() as u64;
        if let Some(demand) = self.demands.get_mut(&known.id()) {
            demand.grows_from = now + Span(limits::GROW_EACH.0.saturating_mul(n_activities));
        }
        let Ok(plan) = made else {
            return true;
        };
        let grown = needs(known.definition(), plan);
        let grown = grown
            .into_iter()
            .filter(|want| want.slots > known.granted(want.resource));
        let grown: BTreeSet<ResourceId> = grown.map(|want| want.resource).collect();
        let delays = plan
            .entries
            .iter()
            .any(|entry| grown.contains(&entry.resource) && self.growth.kept.delays(now, entry));
        if delays && let Some(demand) = self.demands.get_mut(&known.id()) {
            // There may still be slots for it elsewhere.
            demand.grows_aside = Some(self.n_offers);
            demand.grown = None;
        }
        delays || grown.is_empty()
    }

    /// A process that has ended grows no more.
    pub(super) fn forget_crowded(&mut self, id: ProcessId) {
        if let Some(demand) = self.demands.get(&id) {
            self.growth.crowded.remove(&demand.turn_of(id));
        }
    }
}

/// Activities that are ready and not sent, on machines of the plan.
fn waiting(known: &Process) -> impl Iterator<Item = model::ActivityId> {
    let queues = known.index.ready.iter();
    let planned = queues.filter(|(place, _)| place.is_some());
    planned.flat_map(|(_, queue)| queue.activities())
}

/// Returns true if activities that are ready keep the slots of their process busy for long.
fn is_crowded(known: &Process, history: &Store) -> bool {
    if known.state.plan.generation.0 == 0 || known.phase() != Phase::Running {
        return false;
    }
    let Some(work) = waiting(known).find_map(|activity| expected(known, history, activity)) else {
        return false;
    };
    let queues = known.index.ready.iter();
    let planned = queues.filter(|(place, _)| place.is_some());
    let n_waiting: u64 = planned.map(|(_, queue)| queue.len() as u64).sum();
    let slots: u64 = known.grants().map(|grant| u64::from(grant.slots)).sum();
    let left = work.0.saturating_mul(n_waiting) / slots.max(1);
    Span(left) >= limits::GROW_GAIN
}
