//! Slots: offers come in, claims go out, grants are recorded, and at the end all is given back.

use std::collections::BTreeSet;

use machine::Context;
use model::{Epoch, GroupId, Now, Plan, ProcessId, ResourceId};
use wire::group::{FromGroup, Grant, Held, ToGroup, Want};

use crate::event::Event;
use crate::held::held;
use crate::io::{Effect, Stream};
use crate::manager::{Live, ProcessManager, Stage, Timer, limits, process};

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
            } => {
                self.on_granted(cx, now, process, number, grants);
            }
            FromGroup::Refused { number, process } => self.on_refused(cx, now, process, number),
            FromGroup::Released(id) => {
                let open = process(cx, id)
                    .is_some_and(|known| known.phase().has_ended() && !known.course.is_released)
                    || held(cx, id).is_some_and(|held| !held.is_released());
                if open {
                    cx.record(Stream::Process(id), Event::Released);
                    self.disarm(Timer::Release(id));
                    self.live.remove(&id);
                    self.unkeep(id);
                    self.plan_next(cx);
                }
            }
        }
    }

    /// Claims what a plan needs beside what is held, or takes the plan where nothing is missing.
    pub(crate) fn claim_for(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        id: ProcessId,
        plan: Plan,
        is_estimate: bool,
    ) {
        let Some(known) = process(cx, id) else { return };
        let mut wants: Vec<Want> = needs(known.definition(), &plan);
        for want in &mut wants {
            want.slots = want.slots.saturating_sub(known.granted(want.resource));
        }
        wants.retain(|want| want.slots > 0);
        if wants.is_empty() {
            return self.take_plan(cx, now, id, plan, is_estimate);
        }
        let number = known.course.claim_number + 1;
        let Some(group) = self.group_of(wants[0].resource) else {
            self.set_stage(id, Stage::Wanting);
            return;
        };
        let message = ToGroup::Claim {
            number,
            process: id,
            wants: wants.clone(),
        };
        cx.effect(Effect::ToGroup(group, message));
        if let Some(live) = self.live.get_mut(&id) {
            live.may_hold = true;
        }
        let plan = Box::new(plan);
        self.set_stage(
            id,
            Stage::Claiming {
                number,
                wants,
                group,
                plan,
                is_estimate,
            },
        );
        self.arm(Timer::Claim(id), now.mono + limits::REPEAT);
    }

    pub(crate) fn repeat_claim(&mut self, cx: &mut Context<'_, Self>, now: Now, id: ProcessId) {
        let Some(live) = self.live.get(&id) else {
            return;
        };
        match &live.stage {
            Stage::Claiming {
                number,
                wants,
                group,
                ..
            } => {
                let wants = wants.clone();
                let message = ToGroup::Claim {
                    number: *number,
                    process: id,
                    wants,
                };
                cx.effect(Effect::ToGroup(*group, message));
            }
            Stage::Asking { number } => {
                for (&group, _) in self.groups.iter().filter(|(_, link)| link.is_up) {
                    let message = ToGroup::Claim {
                        number: *number,
                        process: id,
                        wants: Vec::new(),
                    };
                    cx.effect(Effect::ToGroup(group, message));
                }
            }
            Stage::Settled | Stage::Wanting | Stage::Planning { .. } => return,
        }
        self.arm(Timer::Claim(id), now.mono + limits::REPEAT);
    }

    /// A group manager is there: asks what processes hold of which an earlier life may have claimed
    /// slots, and claims again what it has not answered.
    pub(crate) fn claim_again(&mut self, cx: &mut Context<'_, Self>, now: Now, of: GroupId) {
        let is_open = |live: &Live| match live.stage {
            Stage::Asking { .. } => true,
            Stage::Claiming { group, .. } => group == of,
            Stage::Settled | Stage::Wanting | Stage::Planning { .. } => false,
        };
        let open = self.live.iter().filter(|(_, live)| is_open(live));
        let open: Vec<ProcessId> = open.map(|(&id, _)| id).collect();
        for id in open {
            self.repeat_claim(cx, now, id);
        }
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
            let course = &process(cx, id)?.course;
            Some(Held {
                process: id,
                number: course.claim_number,
                grants: course.grants.clone(),
            })
        };
        let held = self.live.keys().filter_map(held).collect();
        cx.effect(Effect::ToGroup(group, ToGroup::Holds { held, epoch }));
    }

    fn on_granted(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        id: ProcessId,
        number: u32,
        grants: Vec<Grant>,
    ) {
        let Some(live) = self.live.get_mut(&id) else {
            // It ended meanwhile, and the release went before the grant: give it back again.
            if let Some(group) = grants
                .first()
                .and_then(|grant| self.group_of(grant.resource))
            {
                cx.effect(Effect::ToGroup(group, ToGroup::Release(id)));
            }
            return;
        };
        let claimed = match std::mem::take(&mut live.stage) {
            Stage::Claiming {
                number: asked,
                plan,
                is_estimate,
                ..
            } if asked == number => Some((plan, is_estimate)),
            Stage::Asking { number: asked } if asked == number => None,
            stage @ (Stage::Claiming { .. }
            | Stage::Asking { .. }
            | Stage::Settled
            | Stage::Wanting
            | Stage::Planning { .. }) => {
                live.stage = stage;
                return;
            }
        };
        self.disarm(Timer::Claim(id));
        cx.record(Stream::Process(id), Event::Granted { number, grants });
        let Some((plan, is_estimate)) = claimed else {
            self.set_stage(id, Stage::Wanting);
            return self.plan_next(cx);
        };
        let Some(known) = process(cx, id) else { return };
        let missing = needs(known.definition(), &plan)
            .iter()
            .any(|want| known.granted(want.resource) < want.slots);
        if !missing {
            return self.take_plan(cx, now, id, *plan, is_estimate);
        }
        let Some(live) = self.live.get_mut(&id) else {
            return;
        };
        live.stage = Stage::Wanting;
        live.n_replans += 1;
        if live.n_replans <= limits::REPLANS_MAX {
            self.plan_on_grants(cx, id);
        }
    }

    fn on_refused(&mut self, cx: &mut Context<'_, Self>, now: Now, id: ProcessId, number: u32) {
        let Some(live) = self.live.get_mut(&id) else {
            return;
        };
        let claimed_of = match &live.stage {
            Stage::Claiming {
                number: asked,
                group,
                ..
            } if *asked == number => Some(*group),
            Stage::Asking { number: asked } if *asked == number => None,
            Stage::Claiming { .. }
            | Stage::Asking { .. }
            | Stage::Settled
            | Stage::Wanting
            | Stage::Planning { .. } => return,
        };
        live.stage = Stage::Wanting;
        self.disarm(Timer::Claim(id));
        // The number is used up: a group manager answers a repeat of it as before.
        cx.record(
            Stream::Process(id),
            Event::Granted {
                number,
                grants: self.held(cx, id),
            },
        );
        if let Some(group) = claimed_of {
            // The offer was older than what others claimed: wait for the next one.
            if let Some(live) = self.live.get_mut(&id) {
                live.waiting_for = Some("the machines are held by other processes".to_owned());
            }
            if let Some(link) = self.groups.get_mut(&group) {
                link.offer = None;
            }
            self.arm(Timer::AttachGroup(group), now.mono + limits::REPEAT);
        } else {
            self.plan_next(cx);
        }
    }

    fn held(&self, cx: &Context<'_, Self>, id: ProcessId) -> Vec<Grant> {
        process(cx, id)
            .map(|known| known.course.grants.clone())
            .unwrap_or_default()
    }

    /// Gives all slots back, again and again until the group managers say so.
    pub(crate) fn release(&mut self, cx: &mut Context<'_, Self>, now: Now, id: ProcessId) {
        if held(cx, id).is_some_and(|held| !held.is_released()) {
            return self.ask_release(cx, now, id);
        }
        let Some(known) = process(cx, id) else { return };
        if known.course.is_released || !known.phase().has_ended() {
            return;
        }
        let may_hold = self.live.get(&id).is_none_or(|live| live.may_hold);
        let never_claimed = known.course.claim_number == 0
            && (!may_hold || known.definition.activities().is_empty());
        if never_claimed {
            cx.record(Stream::Process(id), Event::Released);
            self.live.remove(&id);
            self.unkeep(id);
            // Others may have waited while a plan was made for it.
            return self.plan_next(cx);
        }
        self.ask_release(cx, now, id);
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
