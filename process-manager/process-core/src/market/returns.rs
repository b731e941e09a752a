//! Slots that a process gives back before its end, since the rest of its plan does not need them, or has no
//! place at all and would only hold up others. A later plan that needs more claims them again.
//!
//! ```text
//!   an entry was the last one of its slot --> surplus --> recorded as not held --> Return --> Granted
//!                                                              ^                     |
//!                                                              +-- repeated, told ---+
//!                                                                  anew by Holdings
//! ```
//! What is given back is recorded first, so that no attempt goes there any more, and told then, under a
//! number of its own among those of claims. Of a group manager that has not taken a return, `Holdings`
//! tells more than is recorded under a lower number, and it is told again.

use std::collections::BTreeMap;

use model::{GroupId, Mono, ProcessId, ResourceId};
use wire::group::{ToGroup, Want};

use super::{GroupLink, Market, Stage};
use crate::io::Effect;
use crate::limits;
use crate::machines::Machines;
use crate::process::Process;
use crate::record::{Event, Grant, Holding, Phase};
use crate::step::Step;
use crate::stream::Stream;
use crate::timer::Timer;

/// Slots to be given back.
#[derive(Debug, Default)]
pub(super) struct Returns {
    /// Processes that may hold more than they need, since when, while nobody could use it.
    unwanted: BTreeMap<ProcessId, Mono>,
    /// The numbers of returns that group managers have not answered.
    open: BTreeMap<ProcessId, BTreeMap<GroupId, u32>>,
}

impl Returns {
    /// Others could use what is not needed.
    pub(super) fn hurry(&mut self, step: &mut Step<'_>) {
        for (id, since) in std::mem::take(&mut self.unwanted) {
            let due = since + limits::RETURN_AFTER;
            step.timers
                .set_by(Timer::Return(id), due.max(step.now.mono));
        }
    }

    /// A process has ended: it gives everything back.
    pub(super) fn forget(&mut self, id: ProcessId) {
        self.unwanted.remove(&id);
        self.open.remove(&id);
    }

    /// Closes the open return of a process in a group. Returns its number.
    pub(super) fn close(&mut self, id: ProcessId, group: GroupId) -> Option<u32> {
        let open = self.open.get_mut(&id)?;
        let number = open.remove(&group);
        if open.is_empty() {
            self.open.remove(&id);
        }
        number
    }

    fn number(&self, id: ProcessId, group: GroupId) -> Option<u32> {
        self.open.get(&id)?.get(&group).copied()
    }
}

impl Market {
    /// Notes that a process may hold more slots than the rest of its plan needs, where that has changed
    /// since it was seen last.
    pub(crate) fn note_surplus(&mut self, step: &mut Step<'_>, id: ProcessId) {
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let slots = &known.index.slots;
        let seen = Some((known.state.plan.generation, slots.all()));
        let Some(demand) = self.demands.get_mut(&id) else {
            return;
        };
        if known.state.plan.generation.0 == 0 || demand.seen_slots == seen {
            return;
        }
        demand.seen_slots = seen;
        let places = held(known.grants()).into_iter();
        let surplus = places.filter(|&(place, held)| held > slots.of(place));
        let groups: Vec<GroupId> = surplus.map(|(place, _)| place.group).collect();
        if groups.is_empty() {
            self.returns.unwanted.remove(&id);
            return;
        }
        let is_shared = |group| self.groups.get(group).is_some_and(GroupLink::is_shared);
        if groups.iter().any(is_shared) || !self.queue.is_empty() {
            let due = step.now.mono + limits::RETURN_AFTER;
            step.timers.set_by(Timer::Return(id), due);
        } else {
            let since = step.now.mono;
            self.returns.unwanted.entry(id).or_insert(since);
        }
    }

    /// A process has faulted, and what runs goes on to its end: it needs no other slots.
    pub(crate) fn note_finishing(&mut self, step: &mut Step<'_>, id: ProcessId) {
        if self.groups.values().any(GroupLink::is_shared) || !self.queue.is_empty() {
            let due = step.now.mono + limits::RETURN_AFTER;
            step.timers.set_once(Timer::Return(id), due);
        } else {
            let since = step.now.mono;
            self.returns.unwanted.entry(id).or_insert(since);
        }
    }

    /// A process waits for slots: those that others do not need are given back.
    pub(super) fn return_for_others(&mut self, step: &mut Step<'_>) {
        if !self.queue.is_empty() && !self.returns.unwanted.is_empty() {
            self.returns.hurry(step);
        }
    }

    /// Gives back what a process does not need, and repeats what was not answered.
    pub(crate) fn return_slots(&mut self, step: &mut Step<'_>, machines: &Machines, id: ProcessId) {
        let Some(demand) = self.demands.get(&id) else {
            return;
        };
        // A plan that is being made counts on what is held.
        let is_settled = matches!(demand.stage, Stage::Settled | Stage::Wanting);
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let has_plan = demand.has_plan;
        let goes_on = known.phase() == Phase::Running || known.finishes();
        if !goes_on || !has_plan && demand.stalled.is_none() {
            return;
        }
        let open = self.returns.open.get(&id);
        for group in open.into_iter().flat_map(BTreeMap::keys) {
            self.send_return(step, *group, id);
        }
        let is_stalled = self.is_stalled(step, id);
        let mut is_left = self.returns.open.contains_key(&id);
        let Some(known) = step.cx.process(id) else {
            return;
        };
        // Before a process has a plan, all that it holds may be needed.
        let groups = known
            .state
            .holdings
            .keys()
            .filter(|_| has_plan || is_stalled);
        let groups: Vec<GroupId> = groups.copied().collect();
        for group in groups {
            let Some(known) = step.cx.process(id) else {
                return;
            };
            let Some(kept) = kept(known, machines, group, is_stalled) else {
                continue;
            };
            // What an open claim adds is not known.
            let is_asked = self.claims.get(id, group).is_some();
            let is_open = self.returns.number(id, group).is_some();
            let link = self.groups.get(&group);
            let is_confirmed = link.is_some_and(|link| link.confirmed.is_some());
            if kept.is_held_back || !is_settled || is_asked || is_open || !is_confirmed {
                is_left = true;
            }
            if is_settled && !is_asked && !is_open && is_confirmed && kept.grants.is_some() {
                is_left = true;
                self.tell_return(step, group, id, kept.grants.unwrap_or_default());
            }
        }
        let stalled = self.demands.get(&id).and_then(|demand| demand.stalled);
        let is_holding = step.cx.process(id).is_some_and(|known| {
            let mut grants = known.grants();
            grants.any(|grant| grant.slots > 0)
        });
        let next = match stalled.filter(|_| is_holding) {
            _ if is_left => limits::REPEAT,
            Some(_) => limits::STALLED_AFTER,
            None => return,
        };
        step.timers.set(Timer::Return(id), step.now.mono + next);
    }

    /// Returns true if the rest of a process has fitted nowhere for long, nothing of it runs, and others
    /// could use what it holds.
    fn is_stalled(&self, step: &Step<'_>, id: ProcessId) -> bool {
        let since = self.demands.get(&id).and_then(|demand| demand.stalled);
        let is_long = since.is_some_and(|since| since + limits::STALLED_AFTER <= step.now.mono);
        let known = step.cx.process(id);
        let is_idle = known.is_some_and(|known| known.out().next().is_none());
        let is_shared = self.groups.values().any(GroupLink::is_shared);
        is_long && is_idle && (is_shared || self.queue.has_others(id))
    }

    /// Records that a process holds only these slots of a group from here on, and tells its manager.
    pub(super) fn tell_return(
        &mut self,
        step: &mut Step<'_>,
        group: GroupId,
        id: ProcessId,
        grants: Vec<Grant>,
    ) {
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let number = known.next_claim_number(group);
        let holding = Holding { number, grants };
        let granted = Event::Granted { group, holding };
        step.cx.record(Stream::Process(id), granted);
        self.give_back_some(step, id);
        self.return_again(step, group, id);
    }

    /// Tells what is recorded to be held, until a group manager has answered. One that holds more under an
    /// earlier number has not taken a return.
    pub(super) fn return_again(&mut self, step: &mut Step<'_>, group: GroupId, id: ProcessId) {
        let known = step.cx.process(id);
        let number = known.map_or(0, |known| known.claim_number(group));
        self.returns
            .open
            .entry(id)
            .or_default()
            .insert(group, number);
        self.send_return(step, group, id);
        let next = step.now.mono + limits::REPEAT;
        step.timers.set(Timer::Return(id), next);
    }

    /// A group manager has answered the open return of this number. Returns true if there is one.
    pub(super) fn on_returned(
        &mut self,
        step: &mut Step<'_>,
        group: GroupId,
        (id, number): (ProcessId, u32),
        grants: &[wire::group::Grant],
    ) -> bool {
        if self.returns.number(id, group) != Some(number) {
            return false;
        }
        self.returns.close(id, group);
        let Some(known) = step.cx.process(id) else {
            return true;
        };
        let grants = grants.iter().map(Into::into).collect();
        let holding = Holding { number, grants };
        if known.state.holdings.get(&group) != Some(&holding) {
            let granted = Event::Granted { group, holding };
            step.cx.record(Stream::Process(id), granted);
            if let Some(known) = step.cx.process(id) {
                self.count_slots(known);
            }
            step.marks.mark(id);
        }
        true
    }

    /// A later claim was refused before a return was answered: that comes too late, and is told anew.
    pub(super) fn return_anew(&mut self, step: &mut Step<'_>, group: GroupId, id: ProcessId) {
        if self.returns.close(id, group).is_none() {
            return;
        }
        let holding = step.cx.process(id);
        let holding = holding.and_then(|known| known.state.holdings.get(&group));
        let grants = holding.map_or_else(Vec::new, |holding| holding.grants.clone());
        self.tell_return(step, group, id, grants);
    }

    fn send_return(&self, step: &mut Step<'_>, group: GroupId, id: ProcessId) {
        let is_up = self.groups.get(&group).is_some_and(|link| link.is_up);
        let Some(number) = self.returns.number(id, group).filter(|_| is_up) else {
            return;
        };
        let holding = step.cx.process(id);
        let holding = holding.and_then(|known| known.state.holdings.get(&group));
        let held = held(holding.into_iter().flat_map(|holding| &holding.grants));
        let keep = held
            .into_iter()
            .map(|(resource, slots)| Want { resource, slots });
        let message = ToGroup::Return {
            number,
            process: id,
            keep: keep.collect(),
            epoch: step.epoch,
        };
        step.cx.effect(Effect::ToGroup(group, message));
    }

    /// Counts the slots of a process that has given some back.
    fn give_back_some(&mut self, step: &mut Step<'_>, id: ProcessId) {
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let used = self.used(known);
        self.note_used(id, known.owner.as_deref(), &used);
        let groups = &self.groups;
        let is_shared = |group| groups.get(&group).is_some_and(GroupLink::is_shared);
        if self.slots.give_back_some(id, used, is_shared) {
            self.retry(false);
            step.marks.want_plans();
        }
    }
}

/// The grants that a process keeps.
struct Kept {
    /// None where it needs all of them.
    grants: Option<Vec<Grant>>,
    /// True if more slots are kept than the plan has for the rest: attempts may use them.
    is_held_back: bool,
}

/// The grants of a group that the rest of a plan needs; none where the process holds no more than that. Of
/// one that stalls, nothing is needed, and of one that finishes after a fault, what runs.
fn kept(known: &Process, machines: &Machines, group: GroupId, is_stalled: bool) -> Option<Kept> {
    let holding = known.state.holdings.get(&group)?;
    let mut keep = Vec::new();
    let (mut is_more, mut is_held_back) = (false, false);
    for (resource, slots) in held(&holding.grants) {
        let planned = match is_stalled || known.finishes() {
            true => 0,
            false => known.index.slots.of(resource),
        };
        let mut kept = slots;
        if planned < slots {
            // A machine that is away may run attempts that nobody waits for.
            if machines.is_trusted(resource) && machines.is_reachable(resource) {
                let unwanted = machines.unwanted(resource, known.id());
                let needed = if is_stalled {
                    known.all_cores(unwanted)
                } else if known.finishes() {
                    // Nothing more starts.
                    known.all_cores(unwanted.chain(known.out_at(resource)))
                } else {
                    known.slots_needed(resource, unwanted)
                };
                kept = slots.min(needed);
            }
            is_held_back |= kept > planned;
            is_more |= kept < slots;
        }
        let slots = kept;
        keep.push(Want { resource, slots });
    }
    let wire: Vec<wire::group::Grant> = holding.grants.iter().map(Into::into).collect();
    let left = wire::group::keep(&wire, &keep);
    let grants = is_more.then(|| left.iter().map(Into::into).collect());
    (is_more || is_held_back).then_some(Kept {
        grants,
        is_held_back,
    })
}

/// Slots by machine.
fn held<'a>(grants: impl IntoIterator<Item = &'a Grant>) -> BTreeMap<ResourceId, u32> {
    let mut held: BTreeMap<ResourceId, u32> = BTreeMap::new();
    for grant in grants {
        let slots = held.entry(grant.resource).or_default();
        *slots = slots.saturating_add(grant.slots);
    }
    held
}
