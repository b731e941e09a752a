//! Cache lookups: a ready activity reuses a recorded outcome of the base process, or, with `cache`,
//! of any process of the same owner.
//!
//! A cache hit copies the whole recorded outcome into this process, so the source process can be
//! deleted. The indexes here are volatile: an activity that they miss just runs again.

use model::{ActivityId, ProcessId, ResourceId};

use crate::budget::{ATTEMPT_STEPS, Slice};
use crate::enact::evaluate::Evaluator;
use crate::enact::reuse::{memo_of, stands};
use crate::files::Finding;
use crate::parts::Parts;
use crate::record::{ActivityPhase, Event, Phase, Reused};
use crate::step::Step;
use crate::stream::Stream;

/// The result of a cache lookup.
pub(crate) enum Lookup {
    /// A cache hit.
    Found(Box<Reused>),
    /// No recorded outcome fits the next activity.
    Missed,
    /// No activity is left to look up.
    Nothing,
}

impl Parts {
    /// Makes a cache lookup for the next activity that has become ready.
    pub(crate) fn recall(&mut self, step: &Step<'_>, id: ProcessId, slice: &mut Slice) -> Lookup {
        let (Some(known), Some(live)) = (step.cx.process(id), self.live.get_mut(&id)) else {
            return Lookup::Nothing;
        };
        if known.phase() != Phase::Running {
            return Lookup::Nothing;
        }
        let Some(&activity) = known.index.fresh.0.get(live.n_looked) else {
            return Lookup::Nothing;
        };
        live.n_looked += 1;
        self.look_for(step, id, activity, slice)
    }

    fn look_for(
        &mut self,
        step: &Step<'_>,
        id: ProcessId,
        activity: ActivityId,
        slice: &mut Slice,
    ) -> Lookup {
        let (Some(known), Some(live)) = (step.cx.process(id), self.live.get(&id)) else {
            return Lookup::Nothing;
        };
        let state = known.activity(activity);
        if state.phase != ActivityPhase::Ready || state.number > 0 {
            return Lookup::Missed;
        }
        let mut evaluator = Evaluator::new(&mut self.programs);
        let cache_key = memo_of(known, activity, &mut evaluator);
        slice.take(ATTEMPT_STEPS + evaluator.meter.steps());
        let Some(cache_key) = cache_key else {
            return Lookup::Missed;
        };
        let base = &live.base;
        let name = &known.definition().node(activity.node()).name;
        let based = known.base.and_then(|base| step.cx.process(base));
        let of_base = [base.by_name.get(name), base.by_key.get(&cache_key.key)]
            .into_iter()
            .flatten()
            .find_map(|&source| stands(based?, source, known, activity, cache_key));
        let found = of_base.or_else(|| {
            let asks = known.definition().activity(activity)?.cache;
            let (id, source) = self.recorded.get(known, cache_key.key).filter(|_| asks)?;
            stands(step.cx.process(id)?, source, known, activity, cache_key)
        });
        let Some(reused) = found else {
            return Lookup::Missed;
        };
        let holders = [&reused.holder, &reused.copy].into_iter().flatten();
        let mut holders: Vec<ResourceId> = holders.map(|(holder, _)| *holder).collect();
        if reused.holder.is_none() {
            holders.insert(0, reused.resource);
        }
        match self.files.finding(id, activity, &reused.outputs, &holders) {
            Finding::Sound => Lookup::Found(Box::new(reused)),
            // When a machine has answered the check, `look_again` repeats this lookup.
            Finding::Lost | Finding::Asked => Lookup::Missed,
        }
    }

    /// Repeats the cache lookup of an activity, once a machine has answered whether the files of
    /// the hit are sound.
    pub(crate) fn look_again(&mut self, step: &mut Step<'_>, id: ProcessId, activity: ActivityId) {
        let mut slice = self.slice(step, id);
        if let Lookup::Found(reused) = self.look_for(step, id, activity, &mut slice) {
            step.cx.record(Stream::Process(id), Event::Reused(reused));
            self.remember(step, id, activity);
            self.miss_lost(step, id, activity);
        }
        self.end_slice(step, id, &slice);
    }

    /// Sends the checks of a process, and repeats the cache lookups whose check is given up.
    pub(crate) fn ask_checks(&mut self, step: &mut Step<'_>, id: ProcessId) {
        for activity in self.files.ask_checks(step, &self.machines, id) {
            self.look_again(step, id, activity);
        }
    }

    /// The holders of an activity's outputs were just recorded, and one of them may already be lost.
    pub(crate) fn miss_lost(&mut self, step: &mut Step<'_>, id: ProcessId, activity: ActivityId) {
        if self.files.miss_lost(step, &self.machines, id, activity) {
            self.touch(id);
        }
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

    /// Adds the outcome of a completed activity to the cache index.
    pub(crate) fn remember(&mut self, step: &Step<'_>, id: ProcessId, activity: ActivityId) {
        if let Some(known) = step.cx.process(id)
            && let Some(cache_key) = known.details(activity).cache_key
        {
            self.recorded.insert(cache_key.key, known, activity);
        }
    }
}
