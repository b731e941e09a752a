//! The powers that machines have shown to processes, told to the groups of these machines: the first plans of other
//! processes, of whatever manager, count on them ([`Offered::shown_part`]).
//!
//! Only the powers of a process's machines beside each other are known, since its estimates may be wrong for all of
//! them. So the median machine is told as it was offered, and the others beside it. A machine that is tried for the
//! first time by a process counts as it is offered, and from then on with that as its power: what follows from this
//! process's own evidence is not counted twice.
//!
//! [`Offered::shown_part`]: wire::group::Offered::shown_part

use std::collections::BTreeMap;

use model::{GroupId, Mono, ProcessId, ResourceId};
use wire::group::{Offered, SHOWN_MAX, SHOWN_RANGE, Shown, ToGroup};

use super::Market;
use crate::io::Effect;
use crate::limits;
use crate::step::Step;
use crate::timer::Timer;

/// The words on machines that were told, and those that are to be told.
#[derive(Debug, Default)]
pub(super) struct Telling {
    told: BTreeMap<ResourceId, (u32, Mono)>,
    wanted: BTreeMap<ResourceId, u32>,
    /// The time from which on the next message may be sent.
    from: Mono,
}

impl Telling {
    /// Takes the part of its power that a machine has. Returns true if that is to be told.
    fn note(&mut self, resource: ResourceId, part: f64, now: Mono) -> bool {
        let (least, most) = (*SHOWN_RANGE.start(), *SHOWN_RANGE.end());
        let per_mille = (part * 1e3).clamp(f64::from(least), f64::from(most)) as u32;
        let is_told = |&(told, at): &(u32, Mono)| {
            let ratio = f64::from(per_mille) / f64::from(told);
            ratio.ln().abs() < limits::SHOWN_CHANGES_FROM && now.since(at) < limits::SHOWN_AGAIN
        };
        match self.told.get(&resource).is_some_and(is_told) {
            true => self.wanted.remove(&resource),
            false => self.wanted.insert(resource, per_mille),
        };
        !self.wanted.is_empty()
    }

    /// The next messages, by group.
    fn take(&mut self, now: Mono) -> BTreeMap<GroupId, Vec<Shown>> {
        // Older words are told again anyway.
        self.told
            .retain(|_, (_, at)| now.since(*at) < limits::SHOWN_AGAIN);
        let mut messages: BTreeMap<GroupId, Vec<Shown>> = BTreeMap::new();
        for (&resource, &per_mille) in &self.wanted {
            let message = messages.entry(resource.group).or_default();
            if message.len() < SHOWN_MAX {
                message.push(Shown {
                    resource,
                    per_mille,
                });
            }
        }
        for one in messages.values().flatten() {
            self.wanted.remove(&one.resource);
            self.told.insert(one.resource, (one.per_mille, now));
        }
        self.from = now + limits::SHOWN_EACH;
        messages
    }
}

impl Market {
    /// The part of its power that a machine has for a process: as it was offered when something of that started
    /// there first, and before as it is offered.
    pub(super) fn shown_part(&self, id: ProcessId, resource: ResourceId) -> f64 {
        let demand = self.demands.get(&id);
        let kept = demand.and_then(|demand| demand.shown_parts.get(&resource).copied());
        kept.or_else(|| self.offered_at(resource).map(Offered::shown_part))
            .unwrap_or(1.0)
    }

    /// The same from here on, whatever is offered.
    pub(super) fn keep_shown_part(&mut self, id: ProcessId, resource: ResourceId) -> f64 {
        let part = self.shown_part(id, resource);
        if let Some(demand) = self.demands.get_mut(&id) {
            demand.shown_parts.insert(resource, part);
        }
        part
    }

    /// The power that a machine has for a process, by what it had shown before.
    pub(crate) fn power_for(&self, id: ProcessId, resource: ResourceId) -> Option<f64> {
        Some(self.power(resource)? * self.shown_part(id, resource))
    }

    /// Notes what machines have shown to a process, to be told soon.
    pub(super) fn note_shown(&mut self, step: &mut Step<'_>, id: ProcessId) {
        let factors = self.rounds.sure_factors(id);
        let shown = factors.into_iter().map(|(resource, factor)| {
            let before = self.shown_part(id, resource);
            (resource, before, before * factor)
        });
        let shown: Vec<(ResourceId, f64, f64)> = shown.collect();
        if shown.len() < 2 {
            return;
        }
        // In doubt, it is the faster ones that are as offered.
        let median = |of: &dyn Fn(&(ResourceId, f64, f64)) -> f64| {
            let mut all: Vec<f64> = shown.iter().map(of).collect();
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        };
        let scale = median(&|one| one.1) / median(&|one| one.2);
        let mut is_wanted = false;
        for &(resource, _, part) in &shown {
            let group = self.groups.get(&resource.group);
            let offer = group.and_then(|group| group.offer.as_ref());
            if offer.is_some_and(|offer| offer.takes_shown) {
                is_wanted |= self.telling.note(resource, part * scale, step.now.mono);
            }
        }
        if is_wanted {
            let at = self.telling.from.max(step.now.mono);
            step.timers.set_by(Timer::Shown, at);
        }
    }

    /// Tells groups what their machines have shown.
    pub(crate) fn tell_shown(&mut self, step: &mut Step<'_>) {
        let epoch = step.epoch;
        for (group, machines) in self.telling.take(step.now.mono) {
            // A lost word is told again, since a group that comes back may have lost it too.
            if self.groups.get(&group).is_some_and(|link| link.is_up) {
                let shown = ToGroup::Shown { epoch, machines };
                step.cx.effect(Effect::ToGroup(group, shown));
            }
        }
        if !self.telling.wanted.is_empty() {
            step.timers.set_by(Timer::Shown, self.telling.from);
        }
    }
}

#[cfg(test)]
mod tests;
