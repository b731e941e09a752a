//! Connections to group managers and machines: who is there, under which name, and in which life.

use std::collections::BTreeSet;

use machine::Context;
use model::{AttemptId, Epoch, GroupId, Mono, Now, ResourceId};
use wire::attempt::ToActivity;
use wire::group::{Offer, ToGroup};

use crate::io::Effect;
use crate::manager::{ProcessManager, Timer, limits, process};

/// What is known of a group.
#[derive(Debug, Default)]
pub(crate) struct GroupLink {
    pub(crate) is_up: bool,
    pub(crate) offer: Option<Offer>,
    /// When the offer came.
    pub(crate) offered: Mono,
    /// The life of its manager that was told what processes hold.
    pub(crate) told: Option<Epoch>,
}

/// What is known of the way to a machine.
#[derive(Debug, Default)]
pub(crate) struct MachineLink {
    pub(crate) is_up: bool,
    /// The life of the activity manager, once it has told what it holds.
    pub(crate) epoch: Option<Epoch>,
    pub(crate) ask: u32,
    pub(crate) parts: BTreeSet<u32>,
    pub(crate) held: BTreeSet<AttemptId>,
}

impl ProcessManager {
    pub(crate) fn attach_group(&mut self, cx: &mut Context<'_, Self>, now: Now, group: GroupId) {
        let epoch = self.epoch;
        if self.groups.get(&group).is_some_and(|link| link.is_up) {
            cx.effect(Effect::ToGroup(group, ToGroup::Attach { epoch }));
            self.arm(Timer::AttachGroup(group), now.mono + limits::REPEAT);
        }
    }

    pub(crate) fn attach_machine(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        resource: ResourceId,
    ) {
        let epoch = self.epoch;
        if !self.is_believed(cx, resource) {
            return self.arm(Timer::AttachMachine(resource), now.mono + limits::REPEAT);
        }
        let ask = self.next_ask();
        let lease = self.config.lease;
        let Some(link) = self.machines.get_mut(&resource) else {
            return;
        };
        if !link.is_up || link.epoch.is_some() {
            return;
        }
        *link = MachineLink {
            is_up: true,
            ask,
            ..MachineLink::default()
        };
        cx.effect(Effect::ToActivity(
            resource,
            ToActivity::Attach { epoch, ask, lease },
        ));
        self.arm(Timer::AttachMachine(resource), now.mono + limits::REPEAT);
    }

    /// Whether who is connected as a machine has its name: by an offer, or by what a process has
    /// recorded of the machines it was planned on, since its group may be away.
    pub(crate) fn is_believed(&self, cx: &Context<'_, Self>, resource: ResourceId) -> bool {
        let Some(name) = self.names.get(&resource) else {
            return true;
        };
        let mut offers = self.groups.values().flat_map(|link| &link.offer);
        let is_offered = offers.any(|offer| {
            let mut resources = offer.resources.iter();
            resources.any(|one| one.resource == resource && one.name == *name)
        });
        is_offered
            || self.live.keys().any(|&id| {
                let known = process(cx, id);
                let mut machines = known.iter().flat_map(|known| &known.course.machines);
                machines.any(|(one, recorded)| *one == resource && recorded == name)
            })
    }

    /// Tells the name of a machine where it was not told.
    pub(crate) fn register(
        &mut self,
        cx: &mut Context<'_, Self>,
        resource: ResourceId,
        name: &str,
    ) {
        if self
            .registered
            .get(&resource)
            .is_none_or(|told| told != name)
        {
            self.registered.insert(resource, name.to_owned());
            cx.effect(Effect::Registered(resource, name.to_owned()));
        }
    }

    /// The machine must say anew what it holds.
    pub(crate) fn reattach(&mut self, cx: &mut Context<'_, Self>, now: Now, resource: ResourceId) {
        if let Some(link) = self.machines.get_mut(&resource) {
            link.epoch = None;
        }
        self.attach_machine(cx, now, resource);
    }
}
