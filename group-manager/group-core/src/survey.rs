//! Requests of people about machines: list them, drain one, use it again.

use std::collections::BTreeMap;

use machine::Context;
use model::{Now, ProcessId};
use wire::admin::{HOLDERS_MAX, Holder, NODES_MAX, Node};

use crate::io::{Effect, Stream, Survey};
use crate::manager::{GroupManager, state};
use crate::powers::Powers;
use crate::record::{Event, MachineNumber};
use crate::state::State;

impl GroupManager {
    /// Tells all machines, by their names; a user of own processes alone.
    pub(crate) fn on_survey(
        &self,
        cx: &mut Context<'_, Self>,
        now: Now,
        question: u64,
        user: Option<&str>,
    ) {
        let state = state(cx);
        let mut n_grants = 0;
        let mut powers = Powers::default();
        let nodes = self.machines().take(NODES_MAX).map(|(resource, machine)| {
            let facts = &machine.facts;
            let is_away = machine.connection.is_none();
            let holders = holders(state, resource);
            n_grants += holders.len();
            let told = holders.into_iter().filter(|holder| {
                // Before they are cut: those of others must not hide a user's own.
                user.is_none_or(|user| holder.owner.as_deref() == Some(user))
            });
            Node {
                name: facts.name.clone(),
                resource: self.id(resource),
                slots: facts.slots,
                held: u32::try_from(state.held(resource)).unwrap_or(u32::MAX),
                memory: facts.memory,
                power: powers.told(facts.power),
                labels: facts.labels.clone(),
                seen: machine.seen,
                is_drained: state.is_drained(&facts.name),
                suspect: is_away.then(|| "its manager cannot be reached".to_owned()),
                program: None,
                load: None,
                certificate_until: None,
                holders: told.take(HOLDERS_MAX).collect(),
                shown: self.histories.shown(resource, facts.slots, now.wall),
                forgotten_in: self.forgotten_in(state, (resource, machine), now),
            }
        });
        let mut nodes: Vec<Node> = nodes.collect();
        nodes.sort_by(|a, b| a.name.cmp(&b.name));
        let slots_by_owner = state.owners().map(|(name, slots)| (name.to_owned(), slots));
        let survey = Survey {
            nodes,
            owners: self.owners(state),
            slots_by_owner: slots_by_owner.collect(),
            n_grants,
        };
        cx.effect(Effect::Surveyed(question, survey));
    }

    /// Offers a machine no more, or again. Whoever holds some of it keeps that.
    pub(crate) fn on_drain(
        &mut self,
        cx: &mut Context<'_, Self>,
        question: u64,
        name: String,
        is_drained: bool,
    ) {
        let is_known = state(cx).resource(&name).is_some();
        if is_known && state(cx).is_drained(&name) != is_drained {
            cx.record(Stream::Manager, Event::Drained { name, is_drained });
            self.has_changed = true;
        }
        cx.effect(Effect::Drained(question, is_known));
    }
}

/// The processes that hold slots of a machine.
fn holders(state: &State, machine: MachineNumber) -> Vec<Holder> {
    let mut slots: BTreeMap<ProcessId, u32> = BTreeMap::new();
    for grant in state.grants(machine) {
        let held = slots.entry(grant.process).or_default();
        *held = held.saturating_add(grant.slots);
    }
    let holder = |(process, slots)| {
        let holding = state.holding(process);
        Holder {
            process,
            owner: holding.and_then(|holding| holding.owner.clone()),
            slots,
        }
    };
    slots.into_iter().map(holder).collect()
}
