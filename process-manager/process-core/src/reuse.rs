//! Recorded outcomes that stand for activities: looked up in the cache, their files checked by
//! machines, recorded.

use model::{ActivityId, ProcessId};

use crate::budget::Slice;
use crate::files::Finding;
use crate::lookup::holders;
use crate::parts::Parts;
use crate::record::{Event, Reused};
use crate::step::Step;
use crate::stream::Stream;

impl Parts {
    /// Makes a cache lookup for the next activity that has become ready. Returns false if no activity
    /// is left to look up.
    pub(crate) fn reuse_next(
        &mut self,
        step: &mut Step<'_>,
        id: ProcessId,
        slice: &mut Slice,
    ) -> bool {
        let Some(activity) = self.cache.next(step, id) else {
            return false;
        };
        self.reuse(step, id, activity, slice);
        true
    }

    /// Records that an outcome stands for an activity, if there is one with sound files.
    fn reuse(
        &mut self,
        step: &mut Step<'_>,
        id: ProcessId,
        activity: ActivityId,
        slice: &mut Slice,
    ) {
        let found = self.cache.look_up(step, id, activity, slice);
        let Some(hit) = found else {
            return;
        };
        let known = step.cx.process(id);
        // Whoever needs files that were discarded has them made again.
        let may_lack = hit.is_discarded && known.is_some_and(|known| known.may_lack(activity));
        if !may_lack && !self.is_sound(id, &hit.reused) {
            return;
        }
        self.cache.take(id, hit.reused.of);
        let reused = Event::Reused(Box::new(hit.reused));
        step.cx.record(Stream::Process(id), reused);
        self.cache.remember(step, id, activity);
        // One of the machines that have its files may be lost already.
        if self.files.miss_lost(step, &self.machines, id, activity) {
            self.clients.touch(id);
        }
    }

    fn is_sound(&mut self, id: ProcessId, reused: &Reused) -> bool {
        let (activity, holders) = (reused.activity, holders(reused));
        match self.files.finding(id, activity, &reused.outputs, &holders) {
            Finding::Sound => true,
            // When a machine has answered the check, `look_again` repeats this lookup.
            Finding::Lost | Finding::Asked => false,
        }
    }

    /// Repeats the cache lookup of an activity, once a machine has answered whether the files of
    /// the hit are sound.
    pub(crate) fn look_again(&mut self, step: &mut Step<'_>, id: ProcessId, activity: ActivityId) {
        let mut slice = self.slice(step, id);
        self.reuse(step, id, activity, &mut slice);
        self.end_slice(step, id, &slice);
    }

    /// Sends the checks of a process, and repeats the cache lookups whose check is given up. Returns true if
    /// there are any of these.
    pub(crate) fn ask_checks(&mut self, step: &mut Step<'_>, id: ProcessId) -> bool {
        let given_up = self.files.ask_checks(step, &self.machines, id);
        let is_any = !given_up.is_empty();
        for activity in given_up {
            self.look_again(step, id, activity);
        }
        is_any
    }

    /// Returns true if a process must not be planned yet, because cache hits are still being
    /// checked: an activity with a cache hit needs no machine.
    pub(crate) fn awaits_recall(&self, step: &Step<'_>, id: ProcessId) -> bool {
        let is_planned = step
            .cx
            .process(id)
            .is_none_or(|known| known.state.plan.generation.0 > 0);
        !is_planned && self.files.checks_recalled(id)
    }
}
