//! Connections: under which name a machine is there, and in which epoch.

use std::collections::BTreeSet;

use model::{AttemptId, Epoch, ResourceId};
use wire::attempt::ToActivity;

use super::{Link, Machines};
use crate::io::Effect;
use crate::limits;
use crate::step::Step;
use crate::timer::Timer;

/// One of the messages in which a machine tells the attempts that it holds.
#[derive(Debug)]
pub(crate) struct Told {
    /// The epoch of its activity manager.
    pub(crate) epoch: Epoch,
    /// The number of the question.
    pub(crate) ask: u32,
    pub(crate) part: u32,
    pub(crate) n_parts: u32,
    pub(crate) attempts: Vec<AttemptId>,
}

impl Machines {
    /// A machine is connected.
    pub(crate) fn up(&mut self, step: &mut Step<'_>, resource: ResourceId) {
        self.hear(step, resource);
        let link = Link {
            is_up: true,
            ..Link::default()
        };
        self.links.insert(resource, link);
    }

    /// A machine is not connected any more.
    pub(crate) fn down(&mut self, step: &mut Step<'_>, resource: ResourceId) {
        self.links.insert(resource, Link::default());
        step.timers.cancel(Timer::AttachMachine(resource));
    }

    /// Asks a machine which attempts it holds, until it has told. One whose name is not believed is
    /// asked later.
    pub(crate) fn attach(&mut self, step: &mut Step<'_>, resource: ResourceId, is_believed: bool) {
        let next = step.now.mono + limits::REPEAT;
        if !is_believed {
            self.doubted.insert(resource);
            return step.timers.set(Timer::AttachMachine(resource), next);
        }
        self.n_asked = self.n_asked.wrapping_add(1);
        let (epoch, ask, lease) = (step.epoch, self.n_asked, step.config.lease);
        let Some(link) = self.links.get_mut(&resource) else {
            return;
        };
        if !link.is_up || link.epoch.is_some() {
            return;
        }
        *link = Link {
            is_up: true,
            ask,
            ..Link::default()
        };
        let attach = ToActivity::Attach { epoch, ask, lease };
        step.cx.effect(Effect::ToActivity(resource, attach));
        step.timers.set(Timer::AttachMachine(resource), next);
    }

    /// The machines whose names were not believed when they were to be asked: a group may have told
    /// their names since.
    pub(crate) fn take_doubted(&mut self) -> BTreeSet<ResourceId> {
        std::mem::take(&mut self.doubted)
    }

    /// A machine must tell its attempts anew.
    pub(crate) fn detach(&mut self, resource: ResourceId) {
        if let Some(link) = self.links.get_mut(&resource) {
            link.epoch = None;
        }
    }

    /// A machine has told attempts that it holds. Returns all of them with the last part.
    pub(crate) fn told(
        &mut self,
        step: &mut Step<'_>,
        resource: ResourceId,
        told: Told,
    ) -> Option<BTreeSet<AttemptId>> {
        let link = self.links.get_mut(&resource)?;
        let is_asked = link.is_up && link.epoch.is_none() && link.ask == told.ask;
        if !is_asked || told.part >= told.n_parts {
            return None;
        }
        link.parts.insert(told.part);
        link.held.extend(told.attempts);
        if link.parts.len() as u32 != told.n_parts {
            return None;
        }
        link.epoch = Some(told.epoch);
        step.timers.cancel(Timer::AttachMachine(resource));
        Some(std::mem::take(&mut link.held))
    }

    /// The certificate of the machine that is connected, or will be, has this name.
    pub(crate) fn name(&mut self, resource: ResourceId, name: String) {
        self.names.insert(resource, name);
    }

    /// The name in the certificate of a connected machine, where that was seen.
    pub(crate) fn certified_name(&self, resource: ResourceId) -> Option<&str> {
        self.names.get(&resource).map(String::as_str)
    }

    /// Tells the name of a machine where it was not told.
    pub(crate) fn register(&mut self, step: &mut Step<'_>, resource: ResourceId, name: &str) {
        let told = self.registered.get(&resource);
        if told.is_none_or(|told| told != name) {
            self.registered.insert(resource, name.to_owned());
            let registered = Effect::Registered(resource, name.to_owned());
            step.cx.effect(registered);
        }
    }
}
