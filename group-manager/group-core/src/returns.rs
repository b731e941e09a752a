//! Slots that a process gives back before its end, since the rest of its plan does not need them.

use std::collections::BTreeSet;

use machine::Context;
use model::ProcessId;
use wire::group::{FromGroup, RESOURCES_MAX, Want};

use crate::io::{Effect, Stream};
use crate::manager::{GroupManager, state};
use crate::record::{Event, Grant, MachineNumber};

impl GroupManager {
    /// A process keeps only these slots. Its number is one of those that claims have: a repeat finds
    /// its number recorded and takes nothing more, and a copy that comes after a later claim is
    /// ignored.
    pub(crate) fn on_return(
        &mut self,
        cx: &mut Context<'_, Self>,
        from: u32,
        (process, number): (ProcessId, u32),
        keep: &[Want],
    ) {
        let holding = state(cx).holding(process);
        let holding = holding.filter(|holding| self.is_of(holding, from));
        if let Some(holding) = holding {
            let refused = self.refused.get(&process).copied().unwrap_or_default();
            // An earlier epoch of the process manager may have claimed under the same number.
            if number < holding.number.max(refused) {
                return; // A late copy: there was a later claim since.
            }
            if number > holding.number {
                let keep = &keep[..keep.len().min(RESOURCES_MAX)];
                let left = wire::group::keep(&self.told(&holding.grants), keep);
                let left = left.iter().filter_map(|grant| {
                    Some(Grant {
                        id: grant.id,
                        resource: self.number(grant.resource)?,
                        slots: grant.slots,
                    })
                });
                let left = left.collect();
                self.take_back(cx, (process, number), left);
            }
        }
        // Whoever holds nothing here has nothing to give back.
        let held = state(cx).holding(process);
        let held = held.filter(|holding| self.is_of(holding, from));
        let grants = held.map_or_else(Vec::new, |holding| self.told(&holding.grants));
        let answer = FromGroup::Granted {
            number,
            process,
            grants,
            is_at_limit: false,
        };
        cx.effect(Effect::ToProcess(from, answer));
    }

    fn take_back(
        &mut self,
        cx: &mut Context<'_, Self>,
        (process, number): (ProcessId, u32),
        grants: Vec<Grant>,
    ) {
        let before = state(cx).holding(process);
        let before = before.map_or_else(Vec::new, |holding| holding.grants.clone());
        let is_other = |grant: &&Grant| !grants.contains(grant);
        let changed = before.iter().filter(is_other);
        let changed: BTreeSet<MachineNumber> = changed.map(|grant| grant.resource).collect();
        let returned = Event::Returned {
            process,
            number,
            grants,
        };
        self.charge(cx);
        cx.record(Stream::Manager, returned);
        self.refused.remove(&process);
        if changed.is_empty() {
            return;
        }
        self.has_changed = true;
        for resource in changed {
            self.push_grants(cx, resource);
        }
    }
}
