//! The manager: its parts, and what they all read.

use std::collections::{BTreeMap, BTreeSet};

use machine::Context;
use model::{Epoch, Mono, ProcessId, ResourceId};
use wire::lease;
use wire::resource::ToResource;

use crate::charging::Charging;
use crate::histories::Histories;
use crate::io::{Config, Effect, Stream};
use crate::link::{Met, ProcessLinks};
use crate::machines::{Forgetting, Machine, Machines, Standing};
use crate::questions::Endings;
use crate::record::{Holding, MachineNumber};
use crate::state::State;
use crate::waiters::Waiters;

/// The logic of one group manager.
///
/// ```text
/// activity managers --> Register        <-- Registered, Grants (all grants of the machine)
///                   --> Unused          <-- Inquire (about processes whose manager is away)
/// process managers  --> Attach          <-- Offer, and again at each change
///                   --> Claim, Release  <-- Granted or Refused, Released
///                   --> Return          <-- Granted (what is left)
///                   --> Confirm         <-- Holdings (of all its processes)
///                   --> Waits           <-- Offer, of slots that are kept for it
///                   --> Shown           <-- Offer, with the powers that follow
///                   --> Holds           (where both are one program)
/// ```
///
/// It repeats offers and nothing else: who misses an answer asks again, and gets it from the state.
#[derive(Debug, Default)]
pub struct GroupManager {
    pub(crate) config: Config,
    pub(crate) machines: Machines,
    /// The machine of each connection, where that is known.
    pub(crate) introduced: BTreeMap<u32, String>,
    pub(crate) process_managers: ProcessLinks,
    pub(crate) endings: Endings,
    pub(crate) charging: Charging,
    pub(crate) forgetting: Forgetting,
    pub(crate) histories: Histories,
    /// The numbers of the last claims that were refused.
    pub(crate) refused: BTreeMap<ProcessId, u32>,
    /// Processes that were granted something in this epoch and in the present one of their process
    /// manager, and hold it: a list of its processes may have been sent before.
    pub(crate) granted: BTreeSet<ProcessId>,
    pub(crate) waiters: Waiters,
    pub(crate) has_changed: bool,
    pub(crate) offered: Option<Mono>,
}

impl GroupManager {
    /// A manager that knows nobody yet.
    pub fn new(config: Config) -> GroupManager {
        GroupManager {
            config,
            ..GroupManager::default()
        }
    }

    /// All machines that are known, in the order of their numbers.
    pub fn machines(&self) -> impl Iterator<Item = (MachineNumber, &Machine)> {
        self.machines.iter()
    }

    /// The id of a machine of this group.
    pub fn id(&self, number: MachineNumber) -> ResourceId {
        number.of(self.config.group)
    }

    /// The number of a machine, if it is of this group.
    pub(crate) fn number(&self, machine: ResourceId) -> Option<MachineNumber> {
        (machine.group == self.config.group).then_some(MachineNumber(machine.number))
    }

    /// The state of a machine; none where nobody knows it.
    pub fn standing(&self, resource: MachineNumber, now: Mono) -> Option<Standing> {
        let length = self.config.lease.unwrap_or(lease::LENGTH);
        self.machines.standing(resource, now, length)
    }

    /// True if a message is of the sender's present epoch, or begins a later one.
    pub(crate) fn is_present(&mut self, cx: &Context<'_, Self>, from: u32, epoch: Epoch) -> bool {
        match self.process_managers.meet(from, epoch) {
            Met::Ignored => false,
            Met::Present => true,
            Met::Later => {
                let state = state(cx);
                // Of a restored one, which has the numbers of its claims from its backup.
                self.refused.retain(|&process, _| {
                    let holding = state.holding(process);
                    holding.is_none_or(|holding| holding.manager != Some(from))
                });
                self.granted.retain(|&process| {
                    let holding = state.holding(process);
                    holding.is_some_and(|holding| holding.manager != Some(from))
                });
                true
            }
        }
    }

    /// True if a holding is of a process of this process manager.
    pub(crate) fn is_of(&self, holding: &Holding, from: u32) -> bool {
        match holding.manager {
            Some(manager) => manager == from,
            // In one program there is one process manager. In a grid, the next claim tells.
            None => !self.is_watching(),
        }
    }

    /// True if machines are watched.
    pub(crate) fn is_watching(&self) -> bool {
        self.config.lease.is_some()
    }

    /// Slots of a machine that nobody holds; none of one that cannot be reached or is to be empty. A
    /// machine with fewer slots than before may be held beyond them: what is granted is honoured.
    pub(crate) fn free(&self, state: &State, resource: MachineNumber) -> u32 {
        let machine = self.machines.get(resource);
        match machine.filter(|machine| machine.is_there()) {
            Some(machine) if state.is_drained(&machine.facts.name) => 0,
            Some(machine) => {
                let held = u32::try_from(state.held(resource)).unwrap_or(u32::MAX);
                machine.facts.slots.saturating_sub(held)
            }
            None => 0,
        }
    }

    /// Tells a machine all grants to use it, where it can be reached.
    pub(crate) fn push_grants(&self, cx: &mut Context<'_, Self>, resource: MachineNumber) {
        let machine = self.machines.get(resource);
        let connection = machine.and_then(|machine| machine.connection);
        if let Some(connection) = connection {
            let grants = state(cx).grants(resource);
            let closed = self.endings.closed(state(cx).epoch(), resource);
            let grants = ToResource::Grants(grants, closed);
            cx.effect(Effect::ToActivity(connection, grants));
        }
    }
}

/// The durable state, which is there from `resume` on.
pub(crate) fn state<'a>(cx: &'a Context<'_, GroupManager>) -> &'a State {
    cx.state(Stream::Manager)
        .expect("resume records the first event")
}
