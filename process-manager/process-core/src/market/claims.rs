//! Slots: offers come in, claims go out to each group that a plan needs, and grants are recorded by
//! group.

use std::collections::{BTreeMap, BTreeSet};

use model::{Epoch, GroupId, Plan, ProcessId, ResourceId};
use wire::group::{FromGroup, Grant, Held, ToGroup, Want};

use super::claim::Claim;
use super::{GroupLink, Market, Stage};
use crate::io::Effect;
use crate::limits;
use crate::record::{Event, Holding};
use crate::step::Step;
use crate::stream::Stream;
use crate::timer::Timer;

impl Market {
    /// A group manager has answered a claim or a release. Returns the process that has given back all its
    /// slots with it.
    pub(crate) fn on_answer(
        &mut self,
        step: &mut Step<'_>,
        group: GroupId,
        answer: FromGroup,
    ) -> Option<ProcessId> {
        match answer {
            FromGroup::Granted {
                number,
                process,
                grants,
            } => self.on_granted(step, group, (process, number), grants),
            FromGroup::Refused { number, process } => {
                self.on_refused(step, group, (process, number));
            }
            FromGroup::Released(id) => return self.on_released(step, group, id).then_some(id),
            FromGroup::Offer(offer) => {
                self.on_offer(step, group, offer);
            }
        }
        None
    }

    /// Claims what a plan needs beside what is held, or takes the plan where nothing is missing. Each
    /// group is asked for its own machines; the plan is taken when all of them have granted.
    pub(crate) fn claim_for(
        &mut self,
        step: &mut Step<'_>,
        id: ProcessId,
        plan: Plan,
        is_estimate: bool,
    ) {
        let Some(known) = step.cx.process(id) else {
            return;
        };
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
            return self.take_plan(step, id, plan, is_estimate);
        }
        let Some(demand) = self.demands.get_mut(&id) else {
            return;
        };
        if claims.keys().any(|group| demand.claims.contains_key(group)) {
            demand.stage = Stage::Wanting;
            return;
        }
        demand.asked.extend(claims.keys());
        demand.stage = Stage::Claiming {
            plan: Box::new(plan),
            is_estimate,
            has_grants: false,
        };
        for (group, claim) in claims {
            step.cx.effect(Effect::ToGroup(group, claim.message(id)));
            demand.claims.insert(group, claim);
        }
        step.timers
            .set(Timer::Claim(id), step.now.mono + limits::REPEAT);
    }

    /// Sends again what has not been answered. A group that takes so long is left out of the plans of
    /// others from here on, so that they need not wait for it.
    pub(crate) fn repeat_claims(&mut self, step: &mut Step<'_>, id: ProcessId) {
        let Some(demand) = self.demands.get_mut(&id) else {
            return;
        };
        if demand.claims.is_empty() {
            return;
        }
        let mut silent = Vec::new();
        for (&group, claim) in &mut demand.claims {
            claim.n_repeats = claim.n_repeats.saturating_add(1);
            if claim.n_repeats >= limits::CLAIM_REPEATS_MAX {
                silent.push(group);
            }
            if self.groups.get(&group).is_some_and(|link| link.is_up) {
                step.cx.effect(Effect::ToGroup(group, claim.message(id)));
            }
        }
        step.timers
            .set(Timer::Claim(id), step.now.mono + limits::REPEAT);
        for group in silent {
            self.withdraw(id, group);
        }
        step.marks.want_plans();
    }

    /// A group manager is there: asks what it has granted to processes of an earlier epoch that have no
    /// plan, and claims again what it has not answered.
    pub(crate) fn claim_again(&mut self, step: &mut Step<'_>, of: GroupId) {
        for (&id, demand) in &mut self.demands {
            let inherits = demand.is_inherited && !demand.asked.contains(&of);
            if let Some(known) = step.cx.process(id)
                && inherits
                && known.state.plan.generation.0 == 0
                && matches!(demand.stage, Stage::Wanting)
            {
                // A claim for nothing, with the number that a claim of that epoch would have.
                demand
                    .claims
                    .insert(of, Claim::new(known.claim_number(of) + 1));
                demand.asked.insert(of);
            }
        }
        let open = self.demands.iter();
        let open = open.filter_map(|(&id, demand)| Some((id, demand.claims.get(&of)?.message(id))));
        let open: Vec<(ProcessId, ToGroup)> = open.collect();
        for (id, message) in open {
            step.cx.effect(Effect::ToGroup(of, message));
            step.timers
                .set_once(Timer::Claim(id), step.now.mono + limits::REPEAT);
        }
    }

    /// The connection to a group manager is gone: nobody waits for its answers who can be planned on
    /// the machines of other groups.
    pub(crate) fn group_down(&mut self, step: &mut Step<'_>, group: GroupId) {
        self.groups.insert(group, GroupLink::default());
        let mut waiting = Vec::new();
        for (&id, demand) in &mut self.demands {
            if let Some(claim) = demand.claims.get_mut(&group) {
                claim.n_repeats = limits::CLAIM_REPEATS_MAX;
                waiting.push(id);
            }
        }
        for &id in &waiting {
            self.withdraw(id, group);
        }
        if !waiting.is_empty() {
            step.marks.want_plans();
        }
    }

    /// Gives up a plan for which a group manager has not granted its machines, where other groups offer
    /// some. The claim becomes a question with the same number: what it was granted is recorded
    /// once the group manager tells of it, and if the claim comes late, nothing is granted.
    fn withdraw(&mut self, id: ProcessId, group: GroupId) {
        let silent = self.silent_groups();
        let others = self.offered().any(|(of, _)| !silent.contains(&of));
        if let Some(demand) = self.demands.get_mut(&id)
            && let Some(claim) = demand.claims.get_mut(&group)
            && matches!(demand.stage, Stage::Claiming { .. })
            && others
        {
            claim.wants.clear();
            demand.stage = Stage::Wanting;
        }
    }

    /// The groups with an overdue claim: a process that can do without their machines does not wait
    /// for them.
    pub(crate) fn silent_groups(&self) -> BTreeSet<GroupId> {
        let claims = self.demands.values().flat_map(|demand| &demand.claims);
        let overdue = claims.filter(|(_, claim)| claim.is_overdue());
        overdue.map(|(&group, _)| group).collect()
    }

    /// Tells a group manager of the same program which slots the processes hold there, since either
    /// journal may have been lost: at the beginning of a connection, so that claims add to these
    /// slots, and when the `epoch` of the group manager is known, so that it frees slots that no
    /// process holds any more. Machines of another program may have other numbers by then.
    pub(crate) fn tell_holdings(
        &mut self,
        step: &mut Step<'_>,
        group: GroupId,
        epoch: Option<Epoch>,
    ) {
        if step.config.lease.is_some() {
            return;
        }
        let held = |&id: &ProcessId| {
            let holding = step.cx.process(id)?.state.holdings.get(&group);
            let Holding { number, grants } = holding.cloned().unwrap_or_default();
            Some(Held {
                process: id,
                number,
                grants: grants.iter().map(Into::into).collect(),
            })
        };
        let held = self.demands.keys().filter_map(held).collect();
        step.cx
            .effect(Effect::ToGroup(group, ToGroup::Holds { held, epoch }));
    }

    /// A group manager has granted all or a part of a claim.
    fn on_granted(
        &mut self,
        step: &mut Step<'_>,
        group: GroupId,
        (id, number): (ProcessId, u32),
        grants: Vec<Grant>,
    ) {
        if !self.demands.contains_key(&id) {
            // It ended meanwhile, and the release went before the grant: give it back again.
            return step.cx.effect(Effect::ToGroup(group, ToGroup::Release(id)));
        }
        if self.answered(step, group, id, number).is_none() {
            return;
        }
        let grants = grants.iter().map(Into::into).collect();
        let holding = Holding { number, grants };
        let granted = Event::Granted { group, holding };
        step.cx.record(Stream::Process(id), granted);
        if let Some(demand) = self.demands.get_mut(&id)
            && let Stage::Claiming { has_grants, .. } = &mut demand.stage
        {
            *has_grants = true;
        }
        self.on_answers(step, id);
    }

    /// A group manager has granted nothing of a claim.
    fn on_refused(&mut self, step: &mut Step<'_>, group: GroupId, (id, number): (ProcessId, u32)) {
        let Some(claim) = self.answered(step, group, id, number) else {
            return;
        };
        let held = step
            .cx
            .process(id)
            .and_then(|known| known.state.holdings.get(&group));
        let grants = held.map_or_else(Vec::new, |held| held.grants.clone());
        // The number is used up: a group manager answers a repeat of it as before.
        let holding = Holding { number, grants };
        let granted = Event::Granted { group, holding };
        step.cx.record(Stream::Process(id), granted);
        if !claim.wants.is_empty() {
            // The offer was older than what others claimed: wait for the next one.
            if let Some(link) = self.groups.get_mut(&group) {
                link.offer = None;
            }
            step.timers
                .set(Timer::AttachGroup(group), step.now.mono + limits::REPEAT);
        }
        self.on_answers(step, id);
    }

    /// The open claim that an answer is for, which is open no more; none where the answer comes late
    /// or twice.
    fn answered(
        &mut self,
        step: &mut Step<'_>,
        group: GroupId,
        id: ProcessId,
        number: u32,
    ) -> Option<Claim> {
        let demand = self.demands.get_mut(&id)?;
        let is_open = |claim: &Claim| claim.number == number;
        demand.claims.get(&group).filter(|claim| is_open(claim))?;
        let claim = demand.claims.remove(&group)?;
        if demand.claims.is_empty() {
            step.timers.cancel(Timer::Claim(id));
        }
        if claim.is_overdue() {
            // Processes may be planned on the machines of this group again.
            self.n_offers += 1;
        }
        Some(claim)
    }

    /// Goes on with a process of which a claim was answered, once all of them are.
    fn on_answers(&mut self, step: &mut Step<'_>, id: ProcessId) {
        let Some(demand) = self.demands.get_mut(&id) else {
            return;
        };
        let is_claiming = matches!(demand.stage, Stage::Claiming { .. });
        if !is_claiming {
            return step.marks.want_plans();
        }
        if demand.claims.values().any(|claim| !claim.wants.is_empty()) {
            return;
        }
        let Stage::Claiming {
            plan,
            is_estimate,
            has_grants,
        } = std::mem::replace(&mut demand.stage, Stage::Wanting)
        else {
            return;
        };
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let missing = needs(known.definition(), &plan)
            .iter()
            .any(|want| known.granted(want.resource) < want.slots);
        if !missing {
            return self.take_plan(step, id, *plan, is_estimate);
        }
        if has_grants {
            // The process keeps the granted slots and is planned on them alone.
            demand.n_replans += 1;
            if demand.n_replans <= limits::REPLANS_MAX {
                self.partly_granted.insert(id);
                step.marks.want_plans();
            }
            return;
        }
        demand.waiting_for = Some("the machines are held by other processes".to_owned());
        if self.offered().next().is_some() {
            step.marks.want_plans();
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
