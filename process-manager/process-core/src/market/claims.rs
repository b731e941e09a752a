//! Slots: offers come in, claims go out to each group that a plan needs, and grants are recorded by
//! group.

use std::collections::{BTreeMap, BTreeSet};

use model::{Entry, GroupId, Plan, ProcessId, ResourceId};
use wire::group::{FromGroup, Grant, ToGroup, Want};

use super::claim::Claim;
use super::lacking::Lack;
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
                is_at_limit,
            } => self.on_granted(step, group, (process, number), (grants, is_at_limit)),
            FromGroup::Refused {
                number,
                process,
                is_at_limit,
            } => {
                self.on_refused(step, group, (process, number), is_at_limit);
            }
            FromGroup::Released(id) => return self.on_released(step, group, id).then_some(id),
            FromGroup::Offer(offer) => {
                self.on_offer(step, group, offer);
            }
            FromGroup::Holdings { .. } => {}
        }
        None
    }

    /// Claims what a plan needs beside what is held, or takes the plan where nothing is missing. Each
    /// group is asked for its own machines; the plan is taken when all have granted that it needs. Slots
    /// for replicas are waited for only where they are claimed along with others.
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
        let mut wants = needs(known.definition(), &plan);
        let missing = wants
            .iter()
            .filter(|want| want.slots > known.granted(want.resource));
        let needed: BTreeSet<GroupId> = missing.map(|want| want.resource.group).collect();
        self.add_for_replicas(known, &plan, &mut wants);
        for mut want in wants {
            want.slots = want.slots.saturating_sub(known.granted(want.resource));
            if want.slots == 0 {
                continue;
            }
            if self.slots.free(want.resource) < want.slots {
                // Others have taken the slots, or its group has gone, while the plan was made.
                self.set_stage(id, Stage::Wanting);
                return step.marks.want_plans();
            }
            let group = want.resource.group;
            let claim = || {
                let (number, owner) = (known.next_claim_number(group), known.owner.clone());
                match needed.contains(&group) {
                    true => Claim::new(number, owner),
                    false => Claim::spare(number, owner),
                }
            };
            claims.entry(group).or_insert_with(claim).wants.push(want);
        }
        let is_open = |group: GroupId| self.claims.get(id, group).is_some();
        // An earlier claim for replicas may still be open.
        claims.retain(|&group, _| needed.contains(&group) || !is_open(group));
        if needed.iter().any(|&group| is_open(group)) {
            return self.set_stage(id, Stage::Wanting);
        }
        self.claim(step, id, claims);
        if needed.is_empty() {
            return self.take_plan(step, id, plan, is_estimate);
        }
        let claiming = Stage::Claiming {
            plan: Box::new(plan),
            is_estimate,
            has_grants: false,
        };
        self.set_stage(id, claiming);
    }

    /// Sends claims to their groups.
    pub(super) fn claim(
        &mut self,
        step: &mut Step<'_>,
        id: ProcessId,
        claims: BTreeMap<GroupId, Claim>,
    ) {
        if claims.is_empty() {
            return;
        }
        if let Some(demand) = self.demands.get_mut(&id) {
            demand.asked.extend(claims.keys());
        }
        for (group, claim) in claims {
            let message = claim.message(id, step.epoch);
            step.cx.effect(Effect::ToGroup(group, message));
            self.claims.add(id, group, claim);
        }
        if let Some(known) = step.cx.process(id) {
            self.count_slots(known);
        }
        step.timers
            .set(Timer::Claim(id), step.now.mono + limits::REPEAT);
    }

    /// Sends again what has not been answered. A group that takes so long is left out of the plans of
    /// others from here on, so that they need not wait for it.
    pub(crate) fn repeat_claims(&mut self, step: &mut Step<'_>, id: ProcessId) {
        if self.claims.of(id).next().is_none() {
            return;
        }
        self.claims.repeat(id);
        for (group, claim) in self.claims.of(id) {
            if self.groups.get(&group).is_some_and(|link| link.is_up) {
                let message = claim.message(id, step.epoch);
                step.cx.effect(Effect::ToGroup(group, message));
            }
        }
        step.timers
            .set(Timer::Claim(id), step.now.mono + limits::REPEAT);
        for group in self.claims.in_vain(id) {
            self.withdraw(step, id, group);
        }
        step.marks.want_plans();
    }

    /// A group manager is there: claims again what it has not answered.
    pub(crate) fn claim_again(&mut self, step: &mut Step<'_>, of: GroupId) {
        for (id, claim) in self.claims.to(of) {
            let message = claim.message(id, step.epoch);
            step.cx.effect(Effect::ToGroup(of, message));
            step.timers
                .set_once(Timer::Claim(id), step.now.mono + limits::REPEAT);
        }
    }

    /// The connection to a group manager is gone: nobody waits for its answers who can be planned on
    /// the machines of other groups.
    pub(crate) fn group_down(&mut self, step: &mut Step<'_>, group: GroupId) {
        self.groups.insert(group, GroupLink::default());
        self.forget_offer(group);
        self.expect_offer(step);
        self.claims.give_up(group);
        let waiting: Vec<ProcessId> = self.claims.to(group).map(|(id, _)| id).collect();
        for &id in &waiting {
            self.withdraw(step, id, group);
        }
        if !waiting.is_empty() {
            step.marks.want_plans();
        }
    }

    /// Gives up a claim which a group manager has not answered, and the plan that needs it, where other
    /// groups offer machines. The claim becomes a question with the same number: what it was granted is
    /// recorded once the group manager tells of it, and if the claim comes late, nothing is granted.
    fn withdraw(&mut self, step: &Step<'_>, id: ProcessId, group: GroupId) {
        let others = self.offered().any(|(of, _)| !self.claims.is_silent(of));
        let demand = self.demands.get(&id);
        let is_claiming =
            demand.is_some_and(|demand| matches!(demand.stage, Stage::Claiming { .. }));
        let Some(claim) = self.claims.get(id, group) else {
            return;
        };
        let is_needed = claim.is_needed();
        let gives_up_plan = is_needed && is_claiming && others;
        if claim.wants.is_empty() || is_needed && !gives_up_plan {
            return;
        }
        self.claims.withdraw(id, group);
        if gives_up_plan {
            self.set_stage(id, Stage::Wanting);
        }
        if let Some(known) = step.cx.process(id) {
            self.count_slots(known);
        }
    }

    /// A group manager has granted all or a part of a claim.
    pub(super) fn on_granted(
        &mut self,
        step: &mut Step<'_>,
        group: GroupId,
        (id, number): (ProcessId, u32),
        (grants, is_at_limit): (Vec<Grant>, bool),
    ) {
        if !self.demands.contains_key(&id) {
            // It ended meanwhile, and the release went before the grant: give it back again.
            return step.cx.effect(Effect::ToGroup(group, ToGroup::Release(id)));
        }
        if self.on_returned(step, group, (id, number), &grants) {
            return;
        }
        let Some(claim) = self.answered(step, group, id, number) else {
            return;
        };
        // All that is held is told with it, whatever was given back before.
        self.returns.close(id, group);
        let holds = |step: &Step<'_>, resource: ResourceId| {
            let known = step.cx.process(id);
            known.map_or(0, |known| known.granted(resource))
        };
        let wants = claim.wants.iter();
        let wants = wants.map(|want| (want.resource, want.slots + holds(step, want.resource)));
        let wants: Vec<(ResourceId, u32)> = wants.collect();
        let grants = grants.iter().map(Into::into).collect();
        let holding = Holding { number, grants };
        let granted = Event::Granted { group, holding };
        step.cx.record(Stream::Process(id), granted);
        if let Some(known) = step.cx.process(id) {
            self.count_slots(known);
        }
        let lacking = wants
            .iter()
            .filter(|(resource, slots)| holds(step, *resource) < *slots);
        let lacking: Vec<ResourceId> = lacking.map(|&(resource, _)| resource).collect();
        self.note_lacking(step, id, &lacking, is_at_limit);
        if let Some(demand) = self.demands.get_mut(&id)
            && let Stage::Claiming { has_grants, .. } = &mut demand.stage
        {
            *has_grants = true;
        }
        self.on_answers(step, id);
    }

    /// A group manager has granted nothing of a claim.
    fn on_refused(
        &mut self,
        step: &mut Step<'_>,
        group: GroupId,
        (id, number): (ProcessId, u32),
        is_at_limit: bool,
    ) {
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
        if let Some(known) = step.cx.process(id) {
            self.count_slots(known);
        }
        self.return_anew(step, group, id);
        let lacking: Vec<ResourceId> = claim.wants.iter().map(|want| want.resource).collect();
        self.note_lacking(step, id, &lacking, is_at_limit);
        if !claim.wants.is_empty() {
            step.timers
                .set(Timer::AttachGroup(group), step.now.mono + limits::REPEAT);
        }
        self.on_answers(step, id);
    }

    /// Slots of these machines were claimed and not granted: the next offer tells what is left.
    fn note_lacking(
        &mut self,
        step: &Step<'_>,
        id: ProcessId,
        lacking: &[ResourceId],
        is_at_limit: bool,
    ) {
        if is_at_limit && !lacking.is_empty() {
            // They may be free, and another process manager's processes have the same owner.
            let owner = step.cx.process(id).and_then(|known| known.owner.as_deref());
            return self.bar(owner);
        }
        for &resource in lacking {
            self.slots.exhaust(resource);
        }
    }

    /// The open claim that an answer is for, which is open no more; none where the answer comes late
    /// or twice.
    pub(super) fn answered(
        &mut self,
        step: &mut Step<'_>,
        group: GroupId,
        id: ProcessId,
        number: u32,
    ) -> Option<Claim> {
        self.demands.get(&id)?;
        let is_open = |claim: &&Claim| claim.number == number;
        self.claims.get(id, group).filter(is_open)?;
        let claim = self.claims.remove(id, group)?;
        // What it has claimed is for others again, unless it was granted.
        if let Some(known) = step.cx.process(id) {
            self.count_slots(known);
        }
        if self.claims.of(id).next().is_none() {
            step.timers.cancel(Timer::Claim(id));
        }
        if claim.is_overdue() {
            // Processes may be planned on the machines of this group again.
            self.retry(true);
        }
        Some(claim)
    }

    /// Goes on with a process of which a claim was answered, once all of them are.
    pub(super) fn on_answers(&mut self, step: &mut Step<'_>, id: ProcessId) {
        let Some(demand) = self.demands.get_mut(&id) else {
            return;
        };
        if !matches!(demand.stage, Stage::Claiming { .. }) {
            // Attempts may be started beside others on what was granted.
            step.marks.mark(id);
            self.look_at_races(step, id);
            return step.marks.want_plans();
        }
        if self.claims.of(id).any(|(_, claim)| claim.is_needed()) {
            return;
        }
        let Stage::Claiming {
            plan,
            is_estimate,
            has_grants,
        } = std::mem::take(&mut demand.stage)
        else {
            return;
        };
        self.set_stage(id, Stage::Wanting);
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let missing = needs(known.definition(), &plan)
            .iter()
            .any(|want| known.granted(want.resource) < want.slots);
        if !missing {
            return self.take_plan(step, id, *plan, is_estimate);
        }
        let Some(demand) = self.demands.get_mut(&id) else {
            return;
        };
        if has_grants {
            // The process keeps the granted slots and is planned on them alone.
            demand.n_replans += 1;
            if demand.n_replans <= limits::REPLANS_MAX {
                self.partly_granted.insert(id);
            }
        } else {
            demand.waiting_for = Some("machines that others hold".to_owned());
            demand.lacks = Lack::Nothing;
        }
        step.marks.want_plans();
    }
}

/// The slots of each machine that a plan uses.
pub(super) fn needs(definition: &model::Definition, plan: &Plan) -> Vec<Want> {
    let mut wants: std::collections::BTreeMap<ResourceId, u32> = std::collections::BTreeMap::new();
    for entry in &plan.entries {
        let slots = wants.entry(entry.resource).or_default();
        *slots = (*slots).max(last_slot(definition, entry));
    }
    wants
        .into_iter()
        .map(|(resource, slots)| Want { resource, slots })
        .collect()
}

/// The slots of its machine that must be held for an entry: it uses the last of them.
fn last_slot(definition: &model::Definition, entry: &Entry) -> u32 {
    let activity = definition.activity_as_written(entry.activity);
    entry.slot + activity.map_or(1, |activity| activity.cores)
}
