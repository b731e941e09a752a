//! Claims and releases of process managers.

use std::collections::{BTreeMap, BTreeSet};

use machine::Context;
use model::{Epoch, GrantId, ProcessId};
use wire::group::{FromGroup, Held, RESOURCES_MAX, Want};

use crate::io::{Effect, Stream};
use crate::manager::{GroupManager, state};
use crate::record::{Event, Grant, MachineNumber};
use crate::state::State;

/// Processes that hold something. The claims of others are refused.
const HOLDINGS_MAX: usize = 100_000;
/// Refusals remembered, so that a repeat of a claim is refused too. A forgotten one may be granted
/// to a repeat that comes very late; its process then holds it until its end.
const REFUSED_MAX: usize = 16_384;

impl GroupManager {
    pub(crate) fn on_claim(
        &mut self,
        cx: &mut Context<'_, Self>,
        from: u32,
        number: u32,
        process: ProcessId,
        wants: &[Want],
    ) {
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
            let grants = self.grants_for(cx, process, wants);
            if grants.is_empty() {
                self.remember_refused(process, number);
            } else {
                self.grant(cx, from, (process, number), grants);
            }
        }
        let holding = state(cx)
            .holding(process)
            .filter(|holding| holding.number == number);
        let answer = match holding {
            Some(holding) => FromGroup::Granted {
                number,
                process,
                grants: self.told(&holding.grants),
            },
            None => FromGroup::Refused { number, process },
        };
        cx.effect(Effect::ToProcess(from, answer));
    }

    /// Restores holdings that the process manager of this program has recorded: what is
    /// lacking here was lost with this manager's journal; what an earlier epoch of this manager has
    /// granted to others was lost with that one's. In a grid neither is believed: machines would have
    /// other numbers.
    pub(crate) fn on_holds(
        &mut self,
        cx: &mut Context<'_, Self>,
        from: u32,
        held: &[Held],
        epoch: Option<Epoch>,
    ) {
        if self.config.lease.is_some() {
            return;
        }
        // A copy that comes late does not know of what was claimed since.
        if epoch == Some(state(cx).epoch()) {
            let known: BTreeSet<ProcessId> = held.iter().map(|one| one.process).collect();
            let holders = state(cx).holdings().map(|(process, _)| process);
            let is_lost = |one: &ProcessId| !known.contains(one) && !self.granted.contains(one);
            let lost: Vec<ProcessId> = holders.filter(is_lost).collect();
            for process in lost {
                self.give_back(cx, process);
            }
        }
        for one in held.iter().take(HOLDINGS_MAX) {
            if state(cx).released(one.process).is_some() {
                continue;
            }
            let lacking = self.lacking(state(cx), one);
            if !lacking.is_empty() {
                let last = state(cx).holding(one.process).map(|known| known.number);
                let number = last.map_or(one.number, |last| last.max(one.number));
                self.grant(cx, from, (one.process, number), lacking);
            }
        }
    }

    /// The free part of the wanted slots, first come, first served.
    fn grants_for(&self, cx: &Context<'_, Self>, process: ProcessId, wants: &[Want]) -> Vec<Grant> {
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
        let GrantId(mut last) = state.last_grant();
        let mut grants = Vec::new();
        for (resource, slots) in wanted {
            let slots = slots.min(self.free(state, resource));
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

    fn grant(
        &mut self,
        cx: &mut Context<'_, Self>,
        from: u32,
        (process, number): (ProcessId, u32),
        grants: Vec<Grant>,
    ) {
        let resources: Vec<MachineNumber> = grants.iter().map(|grant| grant.resource).collect();
        cx.record(
            Stream::Manager,
            Event::Granted {
                process,
                number,
                grants,
                manager: Some(from),
            },
        );
        self.granted.insert(process);
        self.refused.remove(&process);
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
        if state(cx).holding(process).is_some() {
            self.give_back(cx, process);
        } else if state(cx).released(process).is_none() {
            // Whatever of its claims is still on its way comes too late.
            self.remember_refused(process, u32::MAX);
        }
        cx.effect(Effect::ToProcess(from, FromGroup::Released(process)));
    }

    /// All that a process holds is free again.
    fn give_back(&mut self, cx: &mut Context<'_, Self>, process: ProcessId) {
        let holding = state(cx).holding(process);
        let grants = holding.iter().flat_map(|holding| &holding.grants);
        let resources: BTreeSet<MachineNumber> = grants.map(|grant| grant.resource).collect();
        let forgets = state(cx).forgotten_by(process);
        cx.record(Stream::Manager, Event::Released { process, forgets });
        self.granted.remove(&process);
        self.refused.remove(&process);
        self.has_changed = true;
        for resource in resources {
            self.push_grants(cx, resource);
        }
    }

    /// The slots that a process was granted and does not hold here, as grants with unused numbers.
    fn lacking(&self, state: &State, held: &Held) -> Vec<Grant> {
        let mut slots: BTreeMap<MachineNumber, u32> = BTreeMap::new();
        for grant in held.grants.iter().take(RESOURCES_MAX) {
            let Some(number) = self.number(grant.resource) else {
                continue;
            };
            let slots = slots.entry(number).or_default();
            *slots = slots.saturating_add(grant.slots);
        }
        for grant in state
            .holding(held.process)
            .iter()
            .flat_map(|one| &one.grants)
        {
            if let Some(slots) = slots.get_mut(&grant.resource) {
                *slots = slots.saturating_sub(grant.slots);
            }
        }
        let GrantId(last) = state.last_grant();
        let lacking = slots.into_iter().filter(|&(_, slots)| slots > 0);
        (last + 1..)
            .zip(lacking)
            .map(|(id, (resource, slots))| Grant {
                id: GrantId(id),
                resource,
                slots,
            })
            .collect()
    }

    /// Grants as process managers are told of them.
    fn told(&self, grants: &[Grant]) -> Vec<wire::group::Grant> {
        let group = self.config.group;
        grants.iter().map(|grant| grant.of(group)).collect()
    }
}
