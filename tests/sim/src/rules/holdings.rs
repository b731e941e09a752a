//! Slots of a process manager that is lost for good come back in time, and nothing ends that its process
//! manager is there for or that a command uses.

use std::collections::BTreeMap;

use group_core::Event;
use model::{Mono, ProcessId, ResourceId, Span};
use simulator::Seen;

use super::{Judged, Rule};
use crate::known::Known;

/// Time for which a group manager and a machine reach each other before slots of a lost process manager
/// are free there: a minute of absence, a lease, and the rest for questions and flushes.
const FREE_AFTER: Span = Span::from_secs(75);
/// Time of absence without which nothing ends, by a clock that may go a little faster.
const KEPT_FOR: Span = Span::from_secs(59);
/// Time for which a process manager reaches the group manager before that knows it.
const KNOWN_AFTER: Span = Span::from_secs(6);

/// The holdings of all processes, and when who reached whom.
#[derive(Debug, Default)]
pub(super) struct Holdings {
    /// When each process manager was lost.
    lost: BTreeMap<usize, Mono>,
    /// The end of the last time that each process manager and the group manager reached each other for so long that the group manager knew it.
    parted: BTreeMap<usize, Mono>,
}

impl Holdings {
    /// The holding of a process on a machine ends.
    fn may_end(
        &self,
        known: &Known,
        process: ProcessId,
        resource: ResourceId,
    ) -> Result<(), String> {
        let manager = known.manager_of(process);
        let together = known.together.get(&manager);
        let is_there = together.is_some_and(|&since| known.at.since(since) > KNOWN_AFTER);
        let parted = self.parted.get(&manager);
        let was_there = parted.is_some_and(|&until| known.at.since(until) < KEPT_FOR);
        if is_there || was_there {
            return Err(format!(
                "{process} loses its slots of {resource}, and its process manager was there"
            ));
        }
        let machine = known.machines.get(&resource);
        let mut running = known.running.iter();
        let used = running.find(|(attempt, (at, _))| {
            attempt.process == process && Some(at) == machine && !known.is_repeatable(**attempt)
        });
        match used {
            Some((attempt, _)) => Err(format!(
                "{process} loses its slots of {resource}, where {attempt} runs"
            )),
            None => Ok(()),
        }
    }

    /// Slots of lost process managers that are held for too long.
    fn overdue(&self, known: &Known) -> Result<(), String> {
        for (process, resource, _) in known.held.all() {
            let lost = self.lost.get(&known.manager_of(process));
            let machine = known.machines.get(&resource);
            let joined = machine.and_then(|machine| known.joined.get(machine));
            let (Some(&lost), Some(&joined)) = (lost, joined) else {
                continue;
            };
            if known.at.since(joined.max(lost)) > FREE_AFTER {
                return Err(format!(
                    "{process} holds slots of {resource}, and its process manager is lost"
                ));
            }
        }
        Ok(())
    }
}

impl Rule for Holdings {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        if !self.lost.is_empty() {
            self.overdue(known)?;
        }
        match seen {
            Seen::ManagerLost(manager) => {
                self.lost.insert(*manager, known.at);
            }
            Seen::Managers { manager, .. } => {
                if let Some(since) = known.together.get(manager)
                    && known.at.since(*since) > KNOWN_AFTER
                {
                    self.parted.insert(*manager, known.at);
                }
            }
            Seen::GroupDurable(
                group,
                Event::Revoked {
                    process, resource, ..
                },
            ) => {
                judged.count_if(known.is_lost(*process));
                self.may_end(known, *process, resource.of(*group))?;
            }
            _ => {}
        }
        Ok(())
    }
}
