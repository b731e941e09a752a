//! Machines that are lost with their files: those that are silent for longer than their lease, and
//! those that come back with an empty disk. If another machine has the same files, they are copied
//! again, as long as an unfinished activity or a process output may still need them.
//!
//! ```text
//!   m1 made it, copy m2  --m1 is lost-->  uncopied  --m3 has copied m2-->  m2 has it, copy m3
//! ```
//! The loss is recorded, so that a restart goes on with it. Both machines count as holders until
//! the new copy is recorded: the lost one may return. Files that no machine has are recomputed once
//! an activity lacks them.

use std::collections::BTreeSet;

use model::{ActivityId, Epoch, ProcessId, ResourceId};

use super::Files;
use crate::machines::Machines;
use crate::record::{ActivityPhase, Event};
use crate::step::Step;
use crate::stream::Stream;

impl Files {
    /// A machine has told its attempts, in this epoch of its own: at its beginning, or after its
    /// connection was down. Returns the processes that lose files, where it has come back with an empty
    /// disk.
    pub(crate) fn found(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        resource: ResourceId,
        epoch: Epoch,
    ) -> Vec<ProcessId> {
        let mut losing = Vec::new();
        if self.stores.is_emptied(resource, epoch) {
            losing = self.lose(step, machines, resource);
        }
        self.stores.find(resource);
        losing
    }

    /// A machine is lost, or has come back without its files. Returns the processes that lose some.
    pub(crate) fn lose(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        resource: ResourceId,
    ) -> Vec<ProcessId> {
        self.stores.lose(resource);
        let using = self
            .open
            .iter_mut()
            .filter(|(_, open)| open.passing.is_used());
        for (&id, open) in using {
            open.passing.lose(resource);
            step.marks.mark(id);
        }
        let losing = step.cx.processes_with_copies();
        let losing = losing.filter(|process| !process.under_replicated_by(resource).is_empty());
        let losing: Vec<ProcessId> = losing.map(|process| process.id()).collect();
        for &id in &losing {
            self.record_loss(step, machines, id, resource);
        }
        losing
    }

    /// The holders of an activity's outputs were just recorded, and one of them may already be
    /// lost: then records the loss and returns true.
    pub(crate) fn miss_lost(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        id: ProcessId,
        activity: ActivityId,
    ) -> bool {
        let Some(known) = step.cx.process(id) else {
            return false;
        };
        let holders = [Some(known.holder_of(activity)), known.copy_of(activity)];
        let mut lost = holders.into_iter().flatten();
        let lost = lost
            .find(|&one| self.stores.is_lost(one) && known.is_under_replicated_by(activity, one));
        if let Some(lost) = lost {
            self.record_loss(step, machines, id, lost);
        }
        lost.is_some()
    }

    /// After a restart: the machines with files that processes may need. One that does not connect in
    /// time is lost.
    pub(crate) fn needed_holders(&self, step: &Step<'_>) -> BTreeSet<ResourceId> {
        let mut holders: BTreeSet<ResourceId> = BTreeSet::new();
        for process in step.cx.processes() {
            let has_made = |activity: &ActivityId| {
                process.activity(*activity).phase == ActivityPhase::Completed
            };
            for activity in process.needed().into_iter().filter(has_made) {
                holders.insert(process.holder_of(activity));
                holders.extend(process.copy_of(activity));
            }
        }
        holders
    }

    fn record_loss(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        id: ProcessId,
        resource: ResourceId,
    ) {
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let activities = known.under_replicated_by(resource);
        let lost = Event::MachineLost {
            resource,
            activities,
        };
        step.cx.record(Stream::Process(id), lost);
        self.ask_for_copies(step, machines, id);
    }
}
