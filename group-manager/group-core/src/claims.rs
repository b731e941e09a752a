//! Claims and releases of process managers.

use std::collections::{BTreeMap, BTreeSet};

use machine::Context;
use model::{GrantId, Identity, Mono, ProcessId};
use wire::group::{FromGroup, RESOURCES_MAX, Want, owner_name};

use crate::io::{Effect, Stream};
use crate::link::Presence;
use crate::manager::{GroupManager, state};
use crate::record::{Event, Grant, MachineNumber};
use crate::waiting::Rival;

/// Processes that hold something. The claims of others are refused.
pub(crate) const HOLDINGS_MAX: usize = 100_000;
/// Refusals remembered, so that a repeat of a claim is refused too. A forgotten one may be granted
/// to a repeat that comes very late; its process then holds it until its end.
const REFUSED_MAX: usize = 16_384;

impl GroupManager {
    pub(crate) fn on_claim(
        &mut self,
        cx: &mut Context<'_, Self>,
        from: u32,
        (process, owner, number): (ProcessId, Option<String>, u32),
        wants: &[Want],
    ) {
        let owner = owner.filter(|owner| owner.parse::<Identity>().is_ok());
        let name = owner_name(owner.as_deref()).to_owned();
        let holding = state(cx).holding(process);
        if holding.is_some_and(|holding| holding.manager.is_some_and(|of| of != from)) {
            let refused = FromGroup::Refused {
                number,
                process,
                is_at_limit: false,
            };
            return cx.effect(Effect::ToProcess(from, refused));
        }
        let granted = state(cx).holding(process).map(|holding| holding.number);
        let released = state(cx).released(process);
        if granted.is_none() && released.is_some_and(|last| number <= last) {
            return cx.effect(Effect::ToProcess(from, FromGroup::Released(process)));
        }
        let granted = granted.unwrap_or_default();
        let refused = self.refused.get(&process).copied().unwrap_or_default();
        if number < granted.max(refused) {
            return; // A late copy: there was a later claim since.
        }
        if number > granted && number > refused {
            let grants = self.grants_for(cx, from, (process, &name), wants);
            if grants.is_empty() {
                self.remember_refused(process, number);
                // A process manager that knew of the limit would not have claimed.
                self.has_changed |= self.is_at_limit(state(cx), &name);
            } else {
                self.grant(cx, from, (process, owner, number), grants);
            }
        }
        let is_at_limit = self.is_at_limit(state(cx), &name);
        let holding = state(cx)
            .holding(process)
            .filter(|holding| holding.number == number);
        let answer = match holding {
            Some(holding) => FromGroup::Granted {
                number,
                process,
                grants: self.told(&holding.grants),
                is_at_limit,
            },
            None => FromGroup::Refused {
                number,
                process,
                is_at_limit,
            },
        };
        cx.effect(Effect::ToProcess(from, answer));
    }

    /// The free part of the wanted slots, first come, first served, as far as the limit of the
    /// process's owner allows, and but for what is kept for others.
    fn grants_for(
        &self,
        cx: &Context<'_, Self>,
        from: u32,
        (process, owner): (ProcessId, &str),
        wants: &[Want],
    ) -> Vec<Grant> {
        let state = state(cx);
        if state.holding(process).is_none() && state.n_holdings() >= HOLDINGS_MAX {
            return Vec::new();
        }
        let mut wanted: BTreeMap<MachineNumber, u32> = BTreeMap::new();
        for want in wants.iter().take(RESOURCES_MAX) {
            let Some(number) = self.number(want.resource) else {
                continue;
            };
            let slots = wanted.entry(number).or_default();
            *slots = slots.saturating_add(want.slots);
        }
        let used = self.used_for_share(state, owner);
        let kept = self.kept_from(
            state,
            Rival {
                manager: from,
                used,
            },
        );
        let GrantId(mut last) = state.last_grant();
        let mut grants = Vec::new();
        let mut left = self.left_for(state, owner).unwrap_or(u32::MAX);
        for (resource, slots) in wanted {
            let kept = kept.get(&resource).copied().unwrap_or_default();
            let free = self.free(state, resource).saturating_sub(kept);
            let slots = slots.min(free).min(left);
            left -= slots;
            if slots > 0 {
                last += 1;
                grants.push(Grant {
                    id: GrantId(last),
                    resource,
                    slots,
                });
            }
        }
        grants
    }

    pub(crate) fn grant(
        &mut self,
        cx: &mut Context<'_, Self>,
        from: u32,
        (process, owner, number): (ProcessId, Option<String>, u32),
        grants: Vec<Grant>,
    ) {
        self.charge(cx);
        let is_first = state(cx).holding(process).is_none();
        let resources: Vec<MachineNumber> = grants.iter().map(|grant| grant.resource).collect();
        cx.record(
            Stream::Manager,
            Event::Granted {
                process,
                number,
                grants,
                manager: Some(from),
                owner: owner.filter(|_| is_first),
            },
        );
        self.granted.insert(process);
        self.waiters.granted(process);
        self.refused.remove(&process);
        if self.process_managers.presence(from) != Presence::Attached {
            // A late claim of one that is away: what it is granted ends as well.
            self.endings.look_at(Mono(0));
        }
        self.has_changed = true;
        for resource in resources {
            self.push_grants(cx, resource);
        }
    }

    fn remember_refused(&mut self, process: ProcessId, number: u32) {
        self.refused.insert(process, number);
        if self.refused.len() > REFUSED_MAX {
            self.refused.pop_first();
        }
    }

    pub(crate) fn on_release(&mut self, cx: &mut Context<'_, Self>, from: u32, process: ProcessId) {
        let holding = state(cx).holding(process);
        if let Some(holding) = holding {
            // Nobody gives back what processes of another process manager hold.
            if holding.manager.is_none_or(|of| of == from) {
                self.give_back(cx, process);
            }
        } else if state(cx).released(process).is_none() {
            // Whatever of its claims is still on its way comes too late.
            self.remember_refused(process, u32::MAX);
        }
        cx.effect(Effect::ToProcess(from, FromGroup::Released(process)));
    }

    /// All that a process holds is free again.
    pub(crate) fn give_back(&mut self, cx: &mut Context<'_, Self>, process: ProcessId) {
        let holding = state(cx).holding(process);
        let grants = holding.iter().flat_map(|holding| &holding.grants);
        let resources: BTreeSet<MachineNumber> = grants.map(|grant| grant.resource).collect();
        let forgets = state(cx).forgotten_by(process);
        self.charge(cx);
        cx.record(Stream::Manager, Event::Released { process, forgets });
        self.granted.remove(&process);
        self.refused.remove(&process);
        self.has_changed = true;
        for resource in resources {
            self.push_grants(cx, resource);
        }
    }

    /// Grants as process managers are told of them.
    pub(crate) fn told(&self, grants: &[Grant]) -> Vec<wire::group::Grant> {
        let group = self.config.group;
        grants.iter().map(|grant| grant.of(group)).collect()
    }
}
