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
    /// The slots granted on the group managers' disks, by process and machine.
    granted: BTreeMap<(ProcessId, ResourceId), u32>,
    /// Claims that were granted: group, process and number.
    claims: BTreeSet<(GroupId, ProcessId, u32)>,
}

impl Slots {
    fn group(&mut self, group: GroupId, event: &Event, judged: &mut Judged) -> Result<(), String> {
        match event {
            Event::Epoch(_) => {}
            Event::Named { resource, name } => {
                let machine = name.trim_start_matches('m').parse().unwrap_or_default();
                if self.numbers.values().any(|&other| other == machine) {
                    return Err(format!("machine {name} gets a second number, {resource}"));
                }
                if self.numbers.insert(resource.of(group), machine).is_some() {
                    return Err(format!("a second machine gets the number {resource}"));
                }
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
                for grant in grants {
                    judged.count();

                    let at = grant.resource.of(group);
                    *self.granted.entry((*process, at)).or_default() += grant.slots;
                    let all = self.granted.iter().filter(|((_, of), _)| *of == at);
                    let n_granted: u32 = all.map(|(_, slots)| slots).sum();
                    let machine = self.numbers.get(&at);
                    let slots = machine.and_then(|machine| self.slots.get(machine));
                    if slots.is_none_or(|slots| n_granted > *slots) {
                        return Err(format!("{n_granted} slots of {at} granted, of {slots:?}"));
                    }
                }
            }
            Event::Released { process, .. } => {
                let is_other =
                    |holder: &ProcessId, at: &ResourceId| holder != process || at.group != group;
                self.granted.retain(|(holder, at), _| is_other(holder, at));
            }
            Event::Revoked {
                process, resource, ..
            } => {
                self.granted.remove(&(*process, resource.of(group)));
            }
            Event::Returned {
                process,
                number,
                grants,
            } => {
                if !self.claims.insert((group, *process, *number)) {
                    return Err(format!("return {number} of {process} is taken twice"));
                }
                judged.count();
                let mut left: BTreeMap<ResourceId, u32> = BTreeMap::new();
                for grant in grants {
                    *left.entry(grant.resource.of(group)).or_default() += grant.slots;
                }
                for ((holder, at), slots) in &mut self.granted {
                    if holder != process || at.group != group {
                        continue;
                    }
                    let left = left.remove(at).unwrap_or_default();
                    if left > *slots {
                        return Err(format!(
                            "{process} keeps {left} slots of {at}, and had {slots}"
                        ));
                    }
                    *slots = left;
                }
                if let Some((at, slots)) = left.into_iter().find(|(_, slots)| *slots > 0) {
                    return Err(format!(
                        "{process} keeps {slots} slots of {at}, and had none"
                    ));
                }
            }
            Event::Drained { .. } | Event::Charged { .. } => {}
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
            return self.group(*group, event, judged);
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
        let held = resource.and_then(|resource| self.granted.get(&(process, *resource)));
        let granted = granted.max(held.copied()).unwrap_or_default();
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
