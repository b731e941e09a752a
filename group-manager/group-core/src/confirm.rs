//! Holdings that process managers confirm, so that nothing stays held for a process that nobody knows.

use std::collections::{BTreeMap, BTreeSet};

use machine::Context;
use model::{Epoch, GrantId, ProcessId};
use wire::group::{FromGroup, Held, RESOURCES_MAX};

use crate::claims::HOLDINGS_MAX;
use crate::io::{Effect, Stream};
use crate::manager::{GroupManager, state};
use crate::record::{Event, Grant, MachineNumber};
use crate::state::State;

impl GroupManager {
    /// A process manager lists all its processes that may hold something. What earlier epochs have
    /// granted to others is free again: either manager has lost what it knew of them. The answer
    /// tells what the listed ones hold.
    pub(crate) fn on_confirm(
        &mut self,
        cx: &mut Context<'_, Self>,
        from: u32,
        (epoch, number): (Epoch, u32),
        processes: &[ProcessId],
    ) {
        let listed: BTreeSet<ProcessId> = processes.iter().take(HOLDINGS_MAX).copied().collect();
        let holders = state(cx).holdings();
        let own = holders.filter(|(_, holding)| self.is_of(holding, from));
        let own = own.map(|(process, _)| process);
        let is_lost = |one: &ProcessId| !listed.contains(one) && !self.granted.contains(one);
        let lost: Vec<ProcessId> = own.filter(is_lost).collect();
        for process in lost {
            self.give_back(cx, process);
        }
        let mut held = Vec::new();
        for process in listed {
            self.adopt(cx, from, process);
            // It was over for a manager that is restored, and lives.
            if self.refused.get(&process) == Some(&u32::MAX) {
                self.refused.remove(&process);
            }
            held.extend(self.held(state(cx), from, process));
        }
        let holdings = FromGroup::Holdings {
            epoch,
            number,
            held,
            n_revoked: self.process_managers.n_revoked(from),
        };
        cx.effect(Effect::ToProcess(from, holdings));
    }

    /// A holding that an earlier version has recorded gets its process manager.
    fn adopt(&self, cx: &mut Context<'_, Self>, from: u32, process: ProcessId) {
        let holding = state(cx).holding(process);
        if let Some(holding) = holding.filter(|holding| holding.manager.is_none()) {
            let granted = Event::Granted {
                process,
                number: holding.number,
                grants: Vec::new(),
                manager: Some(from),
                owner: None,
            };
            cx.record(Stream::Manager, granted);
        }
    }

    /// The holding of a process of this process manager; none where nothing is remembered of it.
    fn held(&self, state: &State, from: u32, process: ProcessId) -> Option<Held> {
        let (number, grants) = match state.holding(process) {
            Some(holding) if self.is_of(holding, from) => {
                (holding.number, self.told(&holding.grants))
            }
            Some(_) => return None,
            None => {
                let refused = self.refused.get(&process).copied();
                // All claims of a process that is over are refused.
                let refused = refused.filter(|&number| number < u32::MAX);
                (state.released(process).max(refused)?, Vec::new())
            }
        };
        Some(Held {
            process,
            number,
            grants,
        })
    }

    /// Restores holdings that the process manager of this program has recorded: what is lacking here
    /// was lost with this manager's journal. In a grid it is not believed: machines would have other
    /// numbers.
    pub(crate) fn on_holds(&mut self, cx: &mut Context<'_, Self>, from: u32, held: &[Held]) {
        if self.config.lease.is_some() {
            return;
        }
        for one in held.iter().take(HOLDINGS_MAX) {
            if state(cx).released(one.process).is_some() {
                continue;
            }
            let last = state(cx).holding(one.process).map(|known| known.number);
            if last.is_some_and(|last| last > one.number) {
                // A late copy: what was given back since is not restored.
                continue;
            }
            let lacking = self.lacking(state(cx), one);
            if !lacking.is_empty() {
                let number = last.map_or(one.number, |last| last.max(one.number));
                self.grant(cx, from, (one.process, None, number), lacking);
            }
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
}
