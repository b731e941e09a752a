//! Slots are never oversubscribed: neither by what runs, nor by what is granted.

use std::collections::{BTreeMap, BTreeSet};

use group_core::Event;
use model::{ProcessId, ResourceId};
use simulator::Seen;

use super::Rule;
use crate::known::Known;

/// The slots of each machine.
#[derive(Debug, Default)]
pub(super) struct Slots {
    slots: BTreeMap<usize, u32>,
    numbers: BTreeMap<ResourceId, usize>,
    /// What is on the group manager's disk: slots granted, by process and machine.
    granted: BTreeMap<(ProcessId, ResourceId), u32>,
    /// Claims that were granted: process and number.
    claims: BTreeSet<(ProcessId, u32)>,
}

impl Slots {
    fn group(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Epoch(_) => {}
            Event::Named { resource, name } => {
                let machine = name.trim_start_matches('m').parse().unwrap_or_default();
                if self.numbers.values().any(|&other| other == machine) {
                    return Err(format!("machine {name} gets a second number, {resource}"));
                }
                if self.numbers.insert(*resource, machine).is_some() {
                    return Err(format!("a second machine gets the number {resource}"));
                }
            }
            Event::Granted {
                process,
                number,
                grants,
            } => {
                if !self.claims.insert((*process, *number)) {
                    return Err(format!(
                        "claim {number} of {process} is granted a second time"
                    ));
                }
                for grant in grants {
                    *self.granted.entry((*process, grant.resource)).or_default() += grant.slots;
                    let all = self
                        .granted
                        .iter()
                        .filter(|((_, at), _)| *at == grant.resource);
                    let n_granted: u32 = all.map(|(_, slots)| slots).sum();
                    let machine = self.numbers.get(&grant.resource);
                    let slots = machine.and_then(|machine| self.slots.get(machine));
                    if slots.is_none_or(|slots| n_granted > *slots) {
                        let at = grant.resource;
                        return Err(format!("{n_granted} slots of {at} granted, of {slots:?}"));
                    }
                }
            }
            Event::Released { process } => self.granted.retain(|(holder, _), _| holder != process),
            Event::Drained { .. } => {}
        }
        Ok(())
    }
}

impl Rule for Slots {
    fn see(&mut self, known: &Known, seen: &Seen<'_>) -> Result<(), String> {
        if let Seen::Machine { machine, slots } = seen {
            self.slots.insert(*machine, *slots);
        }
        if let Seen::GroupDurable(event) = seen {
            return self.group(event);
        }
        let Seen::Started(command) = seen else {
            return Ok(());
        };
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
        let granted = resource.and_then(|resource| durable.granted.get(resource));
        // What is granted is known to the machine before its process manager has recorded it.
        let held = resource.and_then(|resource| self.granted.get(&(process, *resource)));
        let granted = granted.max(held).copied().unwrap_or_default();
        if known.is_repeatable(command.attempt) {
            // One that nobody waits for any more may start after its process has ended.
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
