//! Machines that are lost with the files that they had: those that are silent for longer than their
//! lease, and those that come back without what they had. Of what another machine has as well a copy is
//! wanted once more, as long as an activity that has not ended or the outputs of the process may need
//! it.
//!
//! ```text
//!   m1 made it, copy m2  --m1 is lost-->  uncopied  --m3 has copied m2-->  m2 has it, copy m3
//! ```
//! That is recorded, so that a restart goes on with it. Both machines count as having it until then:
//! the lost one may return. What nobody has is made again once it is lacked.

use std::collections::BTreeSet;

use machine::Context;
use model::{ActivityId, Now, OutputSource, ProcessId, ResourceId, Source};

use crate::index::has_ended;
use crate::io::Stream;
use crate::manager::{ProcessManager, State, Timer, process};
use crate::process::Process;
use crate::record::{ActivityPhase, Event};

impl ProcessManager {
    /// A machine is lost, or there without what it had.
    pub(crate) fn lose_files(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        resource: ResourceId,
    ) {
        self.stores.lose(resource);
        let losing = cx.states().iter().filter_map(|(_, state)| match state {
            State::Process(process) => Some(process),
            State::Held(_) | State::Empty | State::Manager { .. } => None,
        });
        let losing = losing.filter(|process| !process.bereaved_by(resource).is_empty());
        let losing: Vec<ProcessId> = losing.map(|process| process.id()).collect();
        for id in losing {
            self.record_loss(cx, now, id, resource);
        }
    }

    /// Who has what an activity has produced is recorded: a machine of those may be lost already.
    pub(crate) fn miss_lost(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        id: ProcessId,
        activity: ActivityId,
    ) {
        let Some(known) = process(cx, id) else { return };
        let holders = [Some(known.holder_of(activity)), known.copy_of(activity)];
        let mut lost = holders.into_iter().flatten();
        let lost =
            lost.find(|&one| self.stores.is_lost(one) && known.is_bereaved_by(activity, one));
        if let Some(lost) = lost {
            self.record_loss(cx, now, id, lost);
        }
    }

    /// After a restart: waits for those who have what processes may need. Who does not come is lost.
    pub(crate) fn expect_holders(&mut self, cx: &Context<'_, Self>, now: Now) {
        if self.config.lease.is_none() {
            return;
        }
        let mut holders: BTreeSet<ResourceId> = BTreeSet::new();
        for (_, state) in cx.states().iter() {
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
            self.expect(now, resource);
            self.arm(Timer::Lost(resource), self.outlived);
        }
    }

    fn record_loss(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        id: ProcessId,
        resource: ResourceId,
    ) {
        let Some(known) = process(cx, id) else { return };
        let activities = known.bereaved_by(resource);
        let lost = Event::MachineLost {
            resource,
            activities,
        };
        cx.record(Stream::Process(id), lost);
        self.touch(id);
        self.ask_for_copies(cx, now, id);
    }
}

impl Process {
    /// What a machine has had that another one has as well, where that may still be needed and nobody
    /// was lost of those two before.
    fn bereaved_by(&self, lost: ResourceId) -> Vec<ActivityId> {
        // Most processes want no copies, and most machines keep none.
        if self.course.copies.is_empty() {
            return Vec::new();
        }
        let needed = self.needed().into_iter();
        let bereaved = needed.filter(|&activity| self.has_pair_with(activity, lost));
        bereaved.collect()
    }

    fn is_bereaved_by(&self, activity: ActivityId, lost: ResourceId) -> bool {
        self.has_pair_with(activity, lost) && self.needed().contains(&activity)
    }

    fn has_pair_with(&self, activity: ActivityId, lost: ResourceId) -> bool {
        let (holder, copy) = (self.holder_of(activity), self.copy_of(activity));
        let is_new = !self.course.bereft.contains_key(&activity);
        is_new && copy.is_some_and(|copy| [holder, copy].contains(&lost))
    }

    /// Activities whose files somebody may still ask for: one that has not ended or is made again, or
    /// whoever fetches the outputs of the process.
    fn needed(&self) -> BTreeSet<ActivityId> {
        let mut needed = BTreeSet::new();
        if self.definition.draft().copies == 0 {
            return needed;
        }
        for &consumer in self.definition.activities() {
            if !has_ended(self.activity(consumer).phase) || self.is_to_be_remade(consumer) {
                needed.extend(self.makers(consumer));
            }
        }
        for output in &self.definition.draft().outputs {
            if let OutputSource::Produced(Source::Output { activity, .. }) = output.source {
                needed.insert(ActivityId(activity.0));
            }
        }
        needed
    }

    /// A machine is lost.
    pub(crate) fn lose_machine(&mut self, lost: ResourceId, activities: &[ActivityId]) {
        for &activity in activities {
            self.course.bereft.insert(activity, lost);
            self.note_uncopied(activity);
        }
    }

    /// The machines that have what an activity has produced, the better one first: of two of which one
    /// was lost, that is the other one, unless that is lost as well.
    pub(crate) fn sources_of(
        &self,
        activity: ActivityId,
        is_lost: impl Fn(ResourceId) -> bool,
    ) -> Vec<ResourceId> {
        let bereft_of = self.course.bereft.get(&activity);
        let mut sources = vec![self.holder_of(activity)];
        sources.extend(self.copy_of(activity));
        sources.sort_by_key(|one| (is_lost(*one), Some(one) == bereft_of));
        sources
    }
}
