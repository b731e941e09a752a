//! Slots are never oversubscribed: neither by what runs, nor by what is granted.

use std::collections::{BTreeMap, BTreeSet};

use group_core::Event;
use model::{GroupId, ProcessId, ResourceId};
use simulator::Seen;

use super::{Judged, Rule};
use crate::known::Known;

/// The slots of each machine.
#[derive(Debug, Default)]
pub(super) struct Slots {
    slots: BTreeMap<usize, u32>,
    numbers: BTreeMap<ResourceId, usize>,
    /// The machines that are forgotten, by the numbers that they have again when they come back.
    forgotten: BTreeMap<ResourceId, usize>,
    /// Claims that were granted: group, process and number.
    claims: BTreeSet<(GroupId, ProcessId, u32)>,
}

impl Slots {
    fn group(
        &mut self,
        known: &Known,
        group: GroupId,
        event: &Event,
        judged: &mut Judged,
    ) -> Result<(), String> {
        match event {
            Event::Epoch(_) => {}
            Event::Named { resource, name } => {
                let machine = name.trim_start_matches('m').parse().unwrap_or_default();
                let before = self.forgotten.remove(&resource.of(group));
                if before.is_some_and(|before| before != machine) {
                    return Err(format!("{name} gets the number of a forgotten machine"));
                }
                let mut others = self.numbers.values().chain(self.forgotten.values());
                if others.any(|&other| other == machine) {
                    return Err(format!("machine {name} gets a second number, {resource}"));
                }
                if self.numbers.insert(resource.of(group), machine).is_some() {
                    return Err(format!("a second machine gets the number {resource}"));
                }
            }
            Event::Forgotten { resource } => {
                let resource = resource.of(group);
                let machine = self.numbers.remove(&resource);
                self.forgotten
                    .extend(machine.map(|machine| (resource, machine)));
            }
            Event::Granted {
                process,
                number,
                grants,
                manager: _,
                owner: _,
            } => {
                if !self.claims.insert((group, *process, *number)) {
                    return Err(format!(
                        "claim {number} of {process} is granted a second time"
                    ));
                }
                let held = known.held.after(group, event);
                for grant in grants {
                    judged.count();
                    let at = grant.resource.of(group);
                    let n_granted: u32 = held.at(at).map(|(_, slots)| slots).sum();
                    let machine = self.numbers.get(&at);
                    let slots = machine.and_then(|machine| self.slots.get(machine));
                    if slots.is_none_or(|slots| n_granted > *slots) {
                        return Err(format!("{n_granted} slots of {at} granted, of {slots:?}"));
                    }
                }
            }
            Event::Returned {
                process,
                number,
                grants: _,
            } => {
                if !self.claims.insert((group, *process, *number)) {
                    return Err(format!("return {number} of {process} is taken twice"));
                }
                judged.count();
                let held = known.held.after(group, event);
                for (at, left) in held.of(*process, group) {
                    let slots = known.held.slots(*process, at);
                    if left > slots {
                        return Err(format!(
                            "{process} keeps {left} slots of {at}, and had {slots}"
                        ));
                    }
                }
            }
            Event::Released { .. }
            | Event::Revoked { .. }
            | Event::Drained { .. }
            | Event::GivenUp { .. }
            | Event::Charged { .. } => {}
        }
        Ok(())
    }
}

impl Rule for Slots {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        if let Seen::Machine { machine, slots } = seen {
            self.slots.insert(*machine, *slots);
        }
        if let Seen::GroupDurable(group, event) = seen {
            return self.group(known, *group, event, judged);
        }
        let Seen::Started(command) = seen else {
            return Ok(());
        };
        judged.count();
        let machine = command.machine;
        let here = known.running.iter().filter(|(_, (at, _))| *at == machine);
        let used: u32 = here.clone().map(|(_, (_, cores))| cores).sum();
        let slots = self.slots.get(&machine).copied().unwrap_or_default();
        if used + command.cores > slots {
            return Err(format!(
                "{} slots of {slots} used on machine {machine}",
                used + command.cores
            ));
        }
        let process = command.attempt.process;
        let own = here.filter(|(attempt, _)| attempt.process == process);
        let used: u32 = own.map(|(_, (_, cores))| cores).sum();
        let Some(durable) = known.processes.get(&process) else {
            return Ok(());
        };
        let resource = durable.sent.get(&command.attempt);
        let granted = resource.map(|resource| durable.granted(*resource));
        // The machine knows a grant before its process manager has recorded it.
        let held = resource.map(|resource| known.held.slots(process, *resource));
        let granted = granted.max(held).unwrap_or_default();
        if known.is_repeatable(command.attempt) {
            // An attempt that nobody waits for any more may start after its process has ended.
            return Ok(());
        }
        if used + command.cores > granted {
            return Err(format!(
                "{process} uses {} slots of machine {machine} and holds {granted}",
                used + command.cores
            ));
        }
        Ok(())
    }
}
