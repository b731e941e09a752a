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

use model::{ActivityId, ProcessId, ResourceId};

use crate::parts::Parts;
use crate::record::{ActivityPhase, Event};
use crate::step::Step;
use crate::stream::{State, Stream};

impl Parts {
    /// A machine is lost, or has come back without its files.
    pub(crate) fn lose_files(&mut self, step: &mut Step<'_>, resource: ResourceId) {
        self.stores.lose(resource);
        let losing = step.cx.states().filter_map(|(_, state)| match state {
            State::Process(process) => Some(process),
            State::Held(_) | State::Empty | State::Manager { .. } => None,
        });
        let losing = losing.filter(|process| !process.under_replicated_by(resource).is_empty());
        let losing: Vec<ProcessId> = losing.map(|process| process.id()).collect();
        for id in losing {
            self.record_loss(step, id, resource);
        }
    }

    /// The holders of an activity's outputs were just recorded, and one of them may already be
    /// lost: then records the loss.
    pub(crate) fn miss_lost(&mut self, step: &mut Step<'_>, id: ProcessId, activity: ActivityId) {
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let holders = [Some(known.holder_of(activity)), known.copy_of(activity)];
        let mut lost = holders.into_iter().flatten();
        let lost = lost
            .find(|&one| self.stores.is_lost(one) && known.is_under_replicated_by(activity, one));
        if let Some(lost) = lost {
            self.record_loss(step, id, lost);
        }
    }

    /// After a restart: waits for the machines with files that processes may need. One that does
    /// not connect in time is lost.
    pub(crate) fn expect_holders(&mut self, step: &mut Step<'_>) {
        if step.config.lease.is_none() {
            return;
        }
        let mut holders: BTreeSet<ResourceId> = BTreeSet::new();
        for (_, state) in step.cx.states() {
            if let State::Process(process) = state {
                let has_made = |activity: &ActivityId| {
                    process.activity(*activity).phase == ActivityPhase::Completed
                };
                for activity in process.needed().into_iter().filter(has_made) {
                    holders.insert(process.holder_of(activity));
                    holders.extend(process.copy_of(activity));
                }
            }
        }
        for resource in holders {
            self.machines.expect_earlier(step, resource);
        }
    }

    fn record_loss(&mut self, step: &mut Step<'_>, id: ProcessId, resource: ResourceId) {
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let activities = known.under_replicated_by(resource);
        let lost = Event::MachineLost {
            resource,
            activities,
        };
        step.cx.record(Stream::Process(id), lost);
        self.touch(id);
        self.ask_for_copies(step, id);
    }
}
