//! Slots: offers come in, claims go out to each group that a plan needs, and grants are recorded by
//! group.

use std::collections::{BTreeMap, BTreeSet};

use machine::Context;
use minicbor::{Decode, Encode};
use model::{Epoch, GroupId, Now, Plan, ProcessId, ResourceId};
use wire::group::{FromGroup, Grant, Held, ToGroup, Want};

use crate::io::{Effect, Stream};
use crate::links::GroupLink;
use crate::manager::{ProcessManager, Stage, Timer, limits, process};
use crate::process::Process;
use crate::record::{self, Event};

/// What a process holds in one group.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub(crate) struct Holding {
    /// The number of its last claim that was answered.
    #[n(0)]
    pub(crate) number: u32,
    /// All that was granted to it.
    #[n(1)]
    pub(crate) grants: Vec<record::Grant>,
}

/// A claim that a group manager has not answered.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) number: u32,
    /// None where it only asks what was granted under its number.
    pub(crate) wants: Vec<Want>,
    n_repeats: u32,
}

impl Claim {
    fn new(number: u32) -> Claim {
        Claim {
            number,
            wants: Vec::new(),
            n_repeats: 0,
        }
    }

    /// Whether it was repeated already, so that others are planned without this group.
    pub(crate) fn is_overdue(&self) -> bool {
        self.n_repeats > 0
    }

    fn message(&self, process: ProcessId) -> ToGroup {
        ToGroup::Claim {
            number: self.number,
            process,
            wants: self.wants.clone(),
        }
    }
}

impl Process {
    /// All grants that it has, in the order of their groups.
    pub(crate) fn grants(&self) -> impl Iterator<Item = &record::Grant> {
        let holdings = self.course.holdings.values();
        holdings.flat_map(|holding| &holding.grants)
    }

    /// The number of its last claim that a group manager has answered; 0 where there was none.
    fn claim_number(&self, group: GroupId) -> u32 {
        let holding = self.course.holdings.get(&group);
        holding.map_or(0, |holding| holding.number)
    }
}

impl ProcessManager {
    pub(crate) fn on_group(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        group: GroupId,
        message: FromGroup,
    ) {
        match message {
            FromGroup::Offer(offer) => {
                if !self.groups.contains_key(&group) {
                    return;
                }
                self.stores.learn(&offer);
                let offered = offer.resources.iter().map(|offered| offered.resource);
                let fresh: BTreeSet<ResourceId> = offered.collect();
                for offered in &offer.resources {
                    self.register(cx, offered.resource, &offered.name);
                }
                let Some(link) = self.groups.get_mut(&group) else {
                    return;
                };
                let epoch = Some(offer.epoch);
                let was_told = std::mem::replace(&mut link.told, epoch) == epoch;
                link.offer = Some(offer);
                link.offered = now.mono;
                if !was_told {
                    self.tell_holdings(cx, group, epoch);
                }
                self.n_offers += 1;
                for resource in fresh {
                    self.expect(now, resource);
                }
                let offers = self.groups.values().flat_map(|link| &link.offer);
                let leaving = offers.flat_map(|offer| offer.leaving.iter().copied());
                let leaving: BTreeSet<ResourceId> = leaving.collect();
                if leaving != self.leaving {
                    self.set_leaving(cx, now, leaving);
                }
                self.arm(Timer::AttachGroup(group), now.mono + limits::SILENCE);
                self.plan_next(cx);
            }
            FromGroup::Granted {
                number,
                process,
                grants,
            } => self.on_granted(cx, now, group, (process, number), grants),
            FromGroup::Refused { number, process } => {
                self.on_refused(cx, now, group, (process, number));
            }
            FromGroup::Released(id) => self.on_released(cx, group, id),
        }
    }

    /// Claims what a plan needs beside what is held, or takes the plan where nothing is missing. Each
    /// group is asked for its own machines; the plan is taken when all of them have granted.
    pub(crate) fn claim_for(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        id: ProcessId,
        plan: Plan,
        is_estimate: bool,
    ) {
        let Some(known) = process(cx, id) else { return };
        let mut claims: BTreeMap<GroupId, Claim> = BTreeMap::new();
        for mut want in needs(known.definition(), &plan) {
            want.slots = want.slots.saturating_sub(known.granted(want.resource));
            if want.slots == 0 {
                continue;
            }
            let Some(group) = self.group_of(want.resource) else {
                // Its group has gone while the plan was made.
                return self.set_stage(id, Stage::Wanting);
            };
            let claim = || Claim::new(known.claim_number(group) + 1);
            claims.entry(group).or_insert_with(claim).wants.push(want);
        }
        if claims.is_empty() {
            return self.take_plan(cx, now, id, plan, is_estimate);
        }
        let Some(live) = self.live.get_mut(&id) else {
            return;
        };
        if claims.keys().any(|group| live.claims.contains_key(group)) {
            live.stage = Stage::Wanting;
            return;
        }
        live.asked.extend(claims.keys());
        live.stage = Stage::Claiming {
            plan: Box::new(plan),
            is_estimate,
            has_grants: false,
        };
        for (group, claim) in claims {
            cx.effect(Effect::ToGroup(group, claim.message(id)));
            live.claims.insert(group, claim);
        }
        self.arm(Timer::Claim(id), now.mono + limits::REPEAT);
    }

    /// Sends again what has not been answered. A group that takes so long is left out of the plans of
    /// others from here on, so that they need not wait for it.
    pub(crate) fn repeat_claims(&mut self, cx: &mut Context<'_, Self>, now: Now, id: ProcessId) {
        let Some(live) = self.live.get_mut(&id) else {
            return;
        };
        if live.claims.is_empty() {
            return;
        }
        let mut silent = Vec::new();
        for (&group, claim) in &mut live.claims {
            claim.n_repeats = claim.n_repeats.saturating_add(1);
            if claim.n_repeats >= limits::CLAIM_REPEATS_MAX {
                silent.push(group);
            }
            if self.groups.get(&group).is_some_and(|link| link.is_up) {
                cx.effect(Effect::ToGroup(group, claim.message(id)));
            }
        }
        self.arm(Timer::Claim(id), now.mono + limits::REPEAT);
        for group in silent {
            self.withdraw(id, group);
        }
        self.plan_next(cx);
    }

    /// A group manager is there: asks what it has granted to processes of an earlier epoch that have no
    /// plan, and claims again what it has not answered.
    pub(crate) fn claim_again(&mut self, cx: &mut Context<'_, Self>, now: Now, of: GroupId) {
        for (&id, live) in &mut self.live {
            let inherits = live.is_inherited && !live.asked.contains(&of);
            if let Some(known) = process(cx, id)
                && inherits
                && known.course.plan.generation.0 == 0
                && matches!(live.stage, Stage::Wanting)
            {
                // A claim for nothing, with the number that a claim of that epoch would have.
                live.claims
                    .insert(of, Claim::new(known.claim_number(of) + 1));
                live.asked.insert(of);
            }
        }
        let open = self.live.iter();
        let open = open.filter_map(|(&id, live)| Some((id, live.claims.get(&of)?.message(id))));
        let open: Vec<(ProcessId, ToGroup)> = open.collect();
        for (id, message) in open {
            cx.effect(Effect::ToGroup(of, message));
            self.arm_once(Timer::Claim(id), now.mono + limits::REPEAT);
        }
    }

    /// The connection to a group manager is gone: nobody waits for its answers who can be planned on
    /// the machines of other groups.
    pub(crate) fn group_down(&mut self, cx: &mut Context<'_, Self>, group: GroupId) {
        self.groups.insert(group, GroupLink::default());
        let mut waiting = Vec::new();
        for (&id, live) in &mut self.live {
            if let Some(claim) = live.claims.get_mut(&group) {
                claim.n_repeats = limits::CLAIM_REPEATS_MAX;
                waiting.push(id);
            }
        }
        for &id in &waiting {
            self.withdraw(id, group);
        }
        if !waiting.is_empty() {
            self.plan_next(cx);
        }
    }

    /// Gives up a plan for which a group manager has not granted its machines, where other groups offer
    /// some. The claim becomes a question with the same number: what it was granted is recorded
    /// once the group manager tells of it, and if the claim comes late, nothing is granted.
    fn withdraw(&mut self, id: ProcessId, group: GroupId) {
        let silent = self.silent_groups();
        let others = self.offered().any(|(of, _)| !silent.contains(&of));
        if let Some(live) = self.live.get_mut(&id)
            && let Some(claim) = live.claims.get_mut(&group)
            && matches!(live.stage, Stage::Claiming { .. })
            && others
        {
            claim.wants.clear();
            live.stage = Stage::Wanting;
        }
    }

    /// The groups whose managers have left a claim without an answer for so long that nobody waits for
    /// them who can do without.
    pub(crate) fn silent_groups(&self) -> BTreeSet<GroupId> {
        let claims = self.live.values().flat_map(|live| &live.claims);
        let overdue = claims.filter(|(_, claim)| claim.is_overdue());
        overdue.map(|(&group, _)| group).collect()
    }

    /// Tells a group manager of the same program what its processes hold, since the journal of either
    /// may have been lost: at the beginning of a connection, so that claims add to what was held, and
    /// when the `life` of the group manager is known, so that it gives back what nobody has any more.
    /// Machines of another program may have other numbers by then.
    pub(crate) fn tell_holdings(
        &mut self,
        cx: &mut Context<'_, Self>,
        group: GroupId,
        epoch: Option<Epoch>,
    ) {
        if self.config.lease.is_some() {
            return;
        }
        let held = |&id: &ProcessId| {
            let holding = process(cx, id)?.course.holdings.get(&group);
            let Holding { number, grants } = holding.cloned().unwrap_or_default();
            Some(Held {
                process: id,
                number,
                grants: grants.iter().map(Into::into).collect(),
            })
        };
        let held = self.live.keys().filter_map(held).collect();
        cx.effect(Effect::ToGroup(group, ToGroup::Holds { held, epoch }));
    }

    /// A group manager has granted all or a part of a claim.
    fn on_granted(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        group: GroupId,
        (id, number): (ProcessId, u32),
        grants: Vec<Grant>,
    ) {
        if !self.live.contains_key(&id) {
            // It ended meanwhile, and the release went before the grant: give it back again.
            return cx.effect(Effect::ToGroup(group, ToGroup::Release(id)));
        }
        if self.answered(group, id, number).is_none() {
            return;
        }
        let granted = Event::Granted {
            group,
            number,
            grants: grants.iter().map(Into::into).collect(),
        };
        cx.record(Stream::Process(id), granted);
        if let Some(live) = self.live.get_mut(&id)
            && let Stage::Claiming { has_grants, .. } = &mut live.stage
        {
            *has_grants = true;
        }
        self.on_answers(cx, now, id);
    }

    /// A group manager has granted nothing of a claim.
    fn on_refused(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        group: GroupId,
        (id, number): (ProcessId, u32),
    ) {
        let Some(claim) = self.answered(group, id, number) else {
            return;
        };
        let held = process(cx, id).and_then(|known| known.course.holdings.get(&group));
        let grants = held.map_or_else(Vec::new, |held| held.grants.clone());
        // The number is used up: a group manager answers a repeat of it as before.
        let granted = Event::Granted {
            group,
            number,
            grants,
        };
        cx.record(Stream::Process(id), granted);
        if !claim.wants.is_empty() {
            // The offer was older than what others claimed: wait for the next one.
            if let Some(link) = self.groups.get_mut(&group) {
                link.offer = None;
            }
            self.arm(Timer::AttachGroup(group), now.mono + limits::REPEAT);
        }
        self.on_answers(cx, now, id);
    }

    /// The open claim that an answer is for, which is open no more; none where the answer comes late
    /// or twice.
    fn answered(&mut self, group: GroupId, id: ProcessId, number: u32) -> Option<Claim> {
        let live = self.live.get_mut(&id)?;
        let is_open = |claim: &Claim| claim.number == number;
        live.claims.get(&group).filter(|claim| is_open(claim))?;
        let claim = live.claims.remove(&group)?;
        if live.claims.is_empty() {
            self.disarm(Timer::Claim(id));
        }
        if claim.is_overdue() {
            // Processes may be planned on the machines of this group again.
            self.n_offers += 1;
        }
        Some(claim)
    }

    /// Goes on with a process of which a claim was answered, once all of them are.
    fn on_answers(&mut self, cx: &mut Context<'_, Self>, now: Now, id: ProcessId) {
        let Some(live) = self.live.get_mut(&id) else {
            return;
        };
        let is_claiming = matches!(live.stage, Stage::Claiming { .. });
        if !is_claiming {
            return self.plan_next(cx);
        }
        if live.claims.values().any(|claim| !claim.wants.is_empty()) {
            return;
        }
        let Stage::Claiming {
            plan,
            is_estimate,
            has_grants,
        } = std::mem::replace(&mut live.stage, Stage::Wanting)
        else {
            return;
        };
        let Some(known) = process(cx, id) else { return };
        let missing = needs(known.definition(), &plan)
            .iter()
            .any(|want| known.granted(want.resource) < want.slots);
        if !missing {
            return self.take_plan(cx, now, id, *plan, is_estimate);
        }
        if has_grants {
            // What was granted is kept, and the process planned on that alone.
            live.n_replans += 1;
            if live.n_replans <= limits::REPLANS_MAX {
                self.plan_on_grants(cx, id);
            }
            return;
        }
        live.waiting_for = Some("the machines are held by other processes".to_owned());
        if self.offered().next().is_some() {
            self.plan_next(cx);
        }
    }

    fn group_of(&self, resource: ResourceId) -> Option<GroupId> {
        self.groups
            .iter()
            .find(|(_, link)| {
                link.offer.as_ref().is_some_and(|offer| {
                    offer
                        .resources
                        .iter()
                        .any(|offered| offered.resource == resource)
                })
            })
            .map(|(&group, _)| group)
    }

    pub(crate) fn set_stage(&mut self, id: ProcessId, stage: Stage) {
        if let Some(live) = self.live.get_mut(&id) {
            live.stage = stage;
        }
    }
}

/// The slots of each machine that a plan uses.
fn needs(definition: &model::Definition, plan: &Plan) -> Vec<Want> {
    let mut wants: std::collections::BTreeMap<ResourceId, u32> = std::collections::BTreeMap::new();
    for entry in &plan.entries {
        let cores = definition
            .activity(entry.activity)
            .map_or(1, |activity| activity.cores);
        let slots = wants.entry(entry.resource).or_default();
        *slots = (*slots).max(entry.slot + cores);
    }
    wants
        .into_iter()
        .map(|(resource, slots)| Want { resource, slots })
        .collect()
}
