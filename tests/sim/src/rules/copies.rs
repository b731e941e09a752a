//! Files with a copy are not made again: in the simulation nothing else is ever lost, so
//! nothing is. A copy is kept by another machine than the one that has it, and what is lost with a
//! machine for good is copied again.

use std::collections::{BTreeMap, BTreeSet};

use model::{ActivityId, ProcessId, ResourceId};
use process_core::{Event, Stream};
use simulator::Seen;

use super::{Judged, Rule};
use crate::known::Known;

/// Remembers who has what was copied, where that is not the one that made it.
#[derive(Debug, Default)]
pub(super) struct Copies {
    holders: BTreeMap<(ProcessId, ActivityId), ResourceId>,
    /// Processes for which outcomes stand of one that discards its files.
    may_lack: BTreeSet<ProcessId>,
}

impl Copies {
    fn holder(&self, known: &Known, id: ProcessId, activity: ActivityId) -> Option<ResourceId> {
        if let Some(holder) = self.holders.get(&(id, activity)) {
            return Some(*holder);
        }
        let durable = known.processes.get(&id)?;
        let ended = durable.ended.keys();
        let ended = ended.filter(|attempt| !durable.dropped.contains(attempt));
        let last = ended.filter(|attempt| attempt.activity == activity).max()?;
        durable.sent.get(last).copied()
    }
}

impl Rule for Copies {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        if let Seen::Bereft(id, activity) = seen {
            return Err(format!(
                "what {activity} of {id} has made is lost with a machine, and was not copied again"
            ));
        }
        let Seen::ProcessDurable(Stream::Process(id), event) = seen else {
            return Ok(());
        };
        // Whoever reuses an outcome has its files made again that were discarded, where it needs them.
        if let Event::Reused(reused) = event
            && known.discards(reused.of.process)
        {
            self.may_lack.insert(*id);
        }
        if let Event::Recomputing(again) = event
            && !self.may_lack.contains(id)
        {
            return Err(format!(
                "{again:?} of {id} are made again, and nothing is gone"
            ));
        }
        if let Event::Copied {
            activity,
            resource,
            machine: _,
            beside,
        } = event
        {
            judged.count();
            if let Some(beside) = beside {
                self.holders.insert((*id, *activity), *beside);
            }
            if self.holder(known, *id, *activity) == Some(*resource) {
                return Err(format!("{activity} of {id} has its copy where it was made"));
            }
        }
        Ok(())
    }
}
