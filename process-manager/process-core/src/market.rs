//! The market: offers of slots come in, plans are made on them, claims go out to each group that a plan
//! needs, and slots are given back.
//!
//! A part of the manager: its state is a [`Market`], its inputs are messages of group managers, plans and
//! ends of processes; it records grants and plans, and reads from other parts only which machines are
//! trusted.

mod ahead;
mod backfill;
mod chance;
mod claim;
mod claims;
mod declined;
mod growth;
mod holdings;
mod inquiry;
mod lacking;
mod late;
mod limit;
mod memory;
mod moving;
mod overdue;
mod owners;
mod planning;
mod portions;
mod probes;
mod queue;
mod races;
mod release;
mod replicas;
mod returns;
mod rounds;
mod rule;
mod silence;
mod slots;
mod staying;
mod telling;
#[cfg(test)]
mod tests;
mod unplanned;
mod ways;
mod width;

use std::collections::{BTreeMap, BTreeSet};

use model::{
    ActivityId, AttemptId, Bytes, Epoch, Generation, GroupId, Mono, Plan, ProcessId, ResourceId,
    Wall,
};
use wire::group::{Offer, Offered, ToGroup, Want, owner_name};

use crate::io::Effect;
use crate::limits;
use crate::process::Process;
use crate::record::Rescheduled;
use crate::step::Step;
use crate::tally::SeenMarket;
use crate::timer::Timer;

use backfill::Backfill;
use claim::Claims;
use growth::Growth;
pub(crate) use inquiry::Answered;
use inquiry::Inquiry;
use lacking::Lack;
use moving::Move;
use overdue::Overdue;
use owners::Owners;
use probes::Probes;
use queue::{Class, Queue, Turn};
use replicas::has_replicas;
use returns::Returns;
use rounds::Rounds;
use rule::Rules;
use silence::Silence;
use slots::Slots;
use staying::Moved;
use telling::Telling;
use unplanned::Misfit;
use ways::{Speeds, Ways};

/// Machines that take no work and are told to those who ask why a process waits, in one line.
const UNAVAILABLE_SHOWN_MAX: usize = 4;

/// Offers, and the processes that want slots or hold some.
#[derive(Debug, Default)]
pub(crate) struct Market {
    groups: BTreeMap<GroupId, GroupLink>,
    demands: BTreeMap<ProcessId, Demand>,
    /// Those without a plan of which no known machine fits an activity. An offer that comes late ends
    /// them: one between that is lost may have had a machine that fits.
    misfits: BTreeMap<ProcessId, Misfit>,
    /// The demands that want a plan, in the order in which they are planned.
    queue: Queue,
    /// The processes that a plan is being made for.
    planning: BTreeSet<ProcessId>,
    /// Claims that are not answered.
    claims: Claims,
    /// Slots that may be claimed.
    slots: Slots,
    /// The usage of owners, and the slots that they may claim.
    owners: Owners,
    /// Processes whose slots are given back, and the group managers that have said so.
    releasing: BTreeMap<ProcessId, BTreeSet<GroupId>>,
    /// Processes that were let past others.
    backfill: Backfill,
    growth: Growth,
    rounds: Rounds,
    rules: Rules,
    ways: Ways,
    probes: Probes,
    telling: Telling,
    overdue: Option<Overdue>,
    silence: Silence,
    /// Slots to be given back before the end of their processes.
    returns: Returns,
    /// Processes that were granted a part of their claims, to be planned on that alone.
    partly_granted: BTreeSet<ProcessId>,
    n_offers: u64,
    n_basis: u64,
    n_inquiries: u32,
}

/// The connection to a group manager, and its last offer.
#[derive(Debug, Default)]
struct GroupLink {
    is_up: bool,
    offer: Option<Offer>,
    /// When the offer came.
    offered: Mono,
    /// The epoch of its manager that has told what processes hold, and the number of grants that it
    /// had ended by then.
    confirmed: Option<(Epoch, u64)>,
    inquiry: Option<Inquiry>,
    /// Until when processes of earlier epochs wait for that.
    patient_until: Mono,
}

/// A process that has not given back all its slots.
#[derive(Debug, Default)]
struct Demand {
    stage: Stage,
    /// When it was submitted, or a process of its owner with which it has exchanged its turn.
    turn: Wall,
    class: Class,
    has_plan: bool,
    /// True if it was planned first in its turn.
    is_in_turn: bool,
    /// True if it holds slots.
    is_holding: bool,
    n_replans: u32,
    /// True if an earlier epoch has taken it up, and may have claimed slots for it in any group.
    is_inherited: bool,
    /// The group managers that this epoch has asked for slots.
    asked: BTreeSet<GroupId>,
    /// True if its last plan failed because a fitting machine can only be in a group that does not
    /// answer.
    wants_absent: bool,
    /// True if it needs more slots than its owner may ever hold, so that no slots that become free help it.
    is_beyond_limit: bool,
    /// The number of offers when it was last tried in vain to plan it, or the rest of it again.
    tried: Option<u64>,
    /// Since when it fits nowhere with the slots that it holds, or the rest of it does.
    stalled: Option<Mono>,
    /// True if it was last to be planned on fewer slots than are free, for the limit of its owner.
    is_limited: bool,
    waiting_for: Option<String>,
    /// The try that left it without a plan.
    lacks: Lack,
    /// The number of offers when it was last looked at to be let past the first one.
    passed_over: Option<u64>,
    /// When it must be over if it is let past the first one by the plan that is being made.
    until: Option<Mono>,
    /// True if the plan that is being made is to use more slots than it holds.
    grows: bool,
    /// The number of offers when it was last looked at to use more slots.
    grown: Option<u64>,
    /// The same, where it may only use more slots of machines that are not kept for the first one.
    grows_aside: Option<u64>,
    /// From when on it may be planned again for more slots.
    grows_from: Mono,
    /// From when on it may be planned again for items that no plan has, while others of it run.
    again_from: Mono,
    /// The move that the plan which is being made is for.
    moves: Option<Move>,
    /// True if several attempts at some of its activities are started at once.
    has_replicas: bool,
    /// The machines and slots that its last plan was asked for with, where it has such activities.
    spare: BTreeMap<ResourceId, u32>,
    /// The parts of their powers that machines count with which something of it has started on.
    shown_parts: BTreeMap<ResourceId, f64>,
    /// The speeds of links that its last plan counts on.
    ways: Speeds,
    /// The reason of the plan that slots are claimed for, if it moves activities.
    rescheduled: Option<Box<Rescheduled>>,
    /// The last plan that was to move activities, and does not pay.
    declined: Option<Box<Rescheduled>>,
    /// Its activities that other plans have moved.
    moved: BTreeMap<ActivityId, Moved>,
    /// The plan and the slots that its rest needed when it was last seen whether more is held; none
    /// where other slots are held since.
    seen_slots: Option<(Generation, u32)>,
}

/// The way of a process to a plan.
#[derive(Debug, Default)]
enum Stage {
    /// It needs none: it has one, or nothing to plan.
    #[default]
    Settled,
    /// It needs one, and machines.
    Wanting,
    /// One is being made.
    Planning {
        basis: u64,
        /// The number of offers when it was asked for.
        n_offers: u64,
        /// True if it may use every slot of every known machine.
        is_whole: bool,
    },
    /// A plan is made, and attempts that it moves are to be given back.
    Retracting {
        plan: Box<Plan>,
        is_estimate: bool,
        /// Attempts that have neither started nor been given back.
        awaited: BTreeSet<AttemptId>,
        /// True if their machines were asked.
        is_asked: bool,
        /// The moment at which the plan is given up.
        until: Mono,
        why: Box<Rescheduled>,
    },
    /// Slots for it are claimed.
    Claiming {
        plan: Box<Plan>,
        is_estimate: bool,
        /// True if any group manager has granted some.
        has_grants: bool,
    },
}

impl Market {
    /// Takes up a process that was founded in this epoch or an earlier one.
    pub(crate) fn begin(&mut self, process: &Process, is_new: bool) {
        let wants_plan =
            process.state.plan.generation.0 == 0 && !process.definition.activities().is_empty();
        let stage = match wants_plan {
            false => Stage::Settled,
            true => Stage::Wanting,
        };
        let demand = Demand {
            turn: process.submitted,
            class: Class {
                owner: process.owner.clone(),
                priority: process.definition.priority(),
            },
            has_plan: process.state.plan.generation.0 > 0,
            is_inherited: !is_new,
            has_replicas: has_replicas(&process.definition),
            ..Demand::default()
        };
        self.demands.insert(process.id(), demand);
        self.backfill.retry();
        self.set_stage(process.id(), stage);
        self.count_slots(process);
    }

    /// The connection to a group manager is there.
    pub(crate) fn group_up(&mut self, step: &mut Step<'_>, group: GroupId) {
        let link = GroupLink {
            is_up: true,
            patient_until: step.now.mono + limits::REPEAT,
            ..GroupLink::default()
        };
        self.groups.insert(group, link);
        self.forget_offer(group);
        self.tell_holdings(step, group);
        self.release_again(step, group);
        self.attach_group(step, group);
        self.claim_again(step, group);
        self.expect_offer(step);
    }

    /// Asks a group manager for its offer, until it has made one.
    pub(crate) fn attach_group(&mut self, step: &mut Step<'_>, group: GroupId) {
        let epoch = step.epoch;
        if self.groups.get(&group).is_some_and(|link| link.is_up) {
            let attach = ToGroup::Attach { epoch };
            step.cx.effect(Effect::ToGroup(group, attach));
            let next = step.now.mono + limits::REPEAT;
            step.timers.set(Timer::AttachGroup(group), next);
            step.marks.want_plans();
        }
    }

    /// Returns true if this group manager was ever connected: an offer of any other is ignored.
    pub(crate) fn is_connected(&self, group: GroupId) -> bool {
        self.groups.contains_key(&group)
    }

    /// A group offers its machines.
    pub(crate) fn on_offer(&mut self, step: &mut Step<'_>, group: GroupId, offer: Offer) {
        let Some(link) = self.groups.get_mut(&group) else {
            return;
        };
        let told = (offer.epoch, offer.n_revoked);
        self.slots.offer(group, &offer);
        let has_other_limits = self.owners.offer(group, &offer);
        self.growth.offer(group, &offer, step.now.mono);
        self.rules.tell(group, offer.policy, offer.tuning);
        let before = link.offer.replace(offer);
        let is_late = step.now.mono.since(link.offered) > limits::OFFER_FRESH;
        link.offered = step.now.mono;
        let was_shared = before.as_ref().is_some_and(|before| before.is_shared);
        let is_alike = before.is_some_and(|before| has_machines_of(link, &before));
        if link.is_shared() && !was_shared {
            self.returns.hurry(step);
        }
        self.end_silence(step);
        self.inquire(step, group, told);
        if is_late {
            self.misfits.clear();
        } else if !is_alike {
            self.end_misfits(step);
        }
        self.retry(!is_alike || has_other_limits);
        let next = step.now.mono + limits::SILENCE;
        step.timers.set(Timer::AttachGroup(group), next);
        step.marks.want_plans();
    }

    /// Slots may be used that could not before: processes are tried again that were tried in vain.
    pub(crate) fn try_all(&mut self, step: &mut Step<'_>) {
        self.retry(true);
        step.marks.want_plans();
    }

    /// Processes that have not given back all their slots.
    pub(crate) fn n_demands(&self) -> usize {
        self.demands.len()
    }

    /// Processes on their way to a plan, and slots, for metrics.
    pub(crate) fn seen(&self) -> SeenMarket {
        let (n_waiting, n_waiting_again) = self.queue.n_waiting();
        let (slots_free, slots_used) = self.slots.sums();
        SeenMarket {
            n_waiting: n_waiting as u64,
            n_waiting_again: n_waiting_again as u64,
            n_planning: self.planning.len() as u64,
            n_claiming: self.claims.n_processes() as u64,
            n_releasing: self.releasing.len() as u64,
            slots_free,
            slots_used,
        }
    }

    /// A process needs no plan any more.
    pub(crate) fn settle(&mut self, step: &mut Step<'_>, id: ProcessId) {
        step.timers.cancel(Timer::Claim(id));
        self.forget_crowded(id);
        self.forget_course(step, id);
        self.set_stage(id, Stage::Settled);
    }

    /// Returns true if a process waits for a plan.
    pub(crate) fn wants_plan(&self, id: ProcessId) -> bool {
        let demand = self.demands.get(&id);
        demand.is_some_and(|demand| matches!(demand.stage, Stage::Wanting))
    }

    /// The last offers of all groups that are connected.
    pub(crate) fn offers(&self) -> impl Iterator<Item = &Offer> {
        self.groups.values().filter_map(|link| link.offer.as_ref())
    }

    /// The reason why a machine takes no work, where its group tells one.
    pub(crate) fn unavailable(&self, resource: ResourceId) -> Option<&str> {
        let mut all = self.offers().flat_map(|offer| &offer.unavailable);
        let one = all.find(|one| one.resource == resource)?;
        Some(&one.why)
    }

    /// The reasons why machines take no work, in a line of which people may still read all; none where all do.
    pub(crate) fn all_unavailable(&self) -> Option<String> {
        let mut all = self.offers().flat_map(|offer| &offer.unavailable);
        let told = all.by_ref().take(UNAVAILABLE_SHOWN_MAX);
        let mut told: Vec<String> = told.map(|one| one.why.clone()).collect();
        let n_more = all.count();
        if n_more > 0 {
            told.push(format!("and {n_more} other machines take no work"));
        }
        (!told.is_empty()).then(|| told.join("; "))
    }

    /// The memory of a machine, where it is offered.
    pub(crate) fn memory_of(&self, resource: ResourceId) -> Option<Bytes> {
        let mut offered = self.offers().flat_map(|offer| &offer.resources);
        let machine = offered.find(|one| one.resource == resource);
        machine
            .map(|one| one.memory)
            .filter(|memory| *memory > Bytes::ZERO)
    }

    /// Machines with slots that are offered, with their groups.
    fn offered(&self) -> impl Iterator<Item = (GroupId, &Offered)> {
        let all = self.groups.iter().flat_map(|(&group, link)| {
            let resources = link.offer.iter().flat_map(|offer| &offer.resources);
            resources.map(move |one| (group, one))
        });
        // The others only keep files.
        all.filter(|(_, one)| one.slots > 0)
    }

    /// The power of an offered machine.
    pub(crate) fn power(&self, resource: ResourceId) -> Option<f64> {
        self.offered_at(resource).map(|offered| offered.power)
    }

    /// A machine as its group has offered it last.
    fn offered_at(&self, resource: ResourceId) -> Option<&Offered> {
        let offer = self.groups.get(&resource.group)?.offer.as_ref()?;
        offer.resources.get(self.slots.index(resource)?)
    }

    fn set_stage(&mut self, id: ProcessId, stage: Stage) {
        let Some(demand) = self.demands.get_mut(&id) else {
            return;
        };
        let turn = demand.turn_of(id);
        self.queue.remove(turn);
        self.planning.remove(&id);
        match &stage {
            Stage::Wanting if demand.has_plan => self.queue.want_again(turn),
            Stage::Wanting => {
                self.queue.want_first(turn, demand.class.clone());
                self.queue.set_holds(turn, demand.is_holding);
            }
            Stage::Planning { .. } => {
                self.planning.insert(id);
            }
            Stage::Settled => demand.stalled = None,
            Stage::Retracting { .. } | Stage::Claiming { .. } => {}
        }
        demand.stage = stage;
    }

    /// Slots that a process holds or has claimed.
    fn used(&self, process: &Process) -> Vec<Want> {
        let id = process.id();
        let held = process.grants().map(|grant| Want {
            resource: grant.resource,
            slots: grant.slots,
        });
        let claims = self.claims.of(id);
        let claimed = claims.flat_map(|(_, claim)| claim.wants.iter().copied());
        held.chain(claimed).collect()
    }

    /// Counts the slots that a process holds or has claimed.
    fn count_slots(&mut self, process: &Process) {
        let id = process.id();
        let used = self.used(process);
        if let Some(demand) = self.demands.get_mut(&id) {
            demand.is_holding = process.grants().any(|grant| grant.slots > 0);
            if matches!(demand.stage, Stage::Wanting) && !demand.has_plan {
                self.queue.set_holds(demand.turn_of(id), demand.is_holding);
            }
        }
        self.note_used(id, process.owner.as_deref(), &used);
        self.slots.set_used(id, used);
        if let Some(demand) = self.demands.get_mut(&id) {
            demand.seen_slots = None;
        }
    }

    /// The processes of an owner hold or claim other slots than before.
    fn note_used(&mut self, id: ProcessId, owner: Option<&str>, used: &[Want]) {
        self.owners.set_used(id, owner, used);
        let name = owner_name(owner);
        self.queue.rank_one(name, self.owners.standing(name));
    }

    /// No process of an owner gets a machine within its limit, until slots become free.
    fn bar(&mut self, owner: Option<&str>) {
        let name = owner_name(owner);
        self.owners.bar(name);
        self.queue.rank_one(name, self.owners.standing(name));
    }

    /// A group offers nothing any more.
    fn forget_offer(&mut self, group: GroupId) {
        self.slots.clear(group);
        self.owners.clear(group);
        self.queue.rank(self.owners.standings());
    }

    /// Processes that were tried in vain are tried again, since slots may be free that were not; where
    /// other machines are there than before, or other limits, also those that were set aside.
    fn retry(&mut self, has_others: bool) {
        self.n_offers += 1;
        self.owners.retry();
        self.queue.rank(self.owners.standings());
        self.queue.retry();
        if has_others {
            self.queue.retry_aside();
        }
    }

    fn next_basis(&mut self) -> u64 {
        self.n_basis += 1;
        self.n_basis
    }
}

impl GroupLink {
    /// Returns true if the group serves other process managers too.
    fn is_shared(&self) -> bool {
        self.offer.as_ref().is_some_and(|offer| offer.is_shared)
    }
}

impl Demand {
    fn turn_of(&self, id: ProcessId) -> Turn {
        (self.turn, id)
    }
}

/// Returns true if a group offers the same machines as before, whatever is free of them.
fn has_machines_of(link: &GroupLink, before: &Offer) -> bool {
    let present = link.offer.iter().flat_map(|offer| &offer.resources);
    let is_same = |(one, other): (&Offered, &Offered)| {
        one.resource == other.resource
            && one.slots == other.slots
            && one.memory == other.memory
            && one.labels == other.labels
    };
    let n_present = link.offer.iter().map(|offer| offer.resources.len());
    n_present.sum::<usize>() == before.resources.len()
        && present.zip(&before.resources).all(is_same)
}
