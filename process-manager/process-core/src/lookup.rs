//! Cache lookups: a ready activity reuses a recorded outcome of the base process, or, with `cache`,
//! of any process of the same owner.
//!
//! A cache hit copies the whole recorded outcome into this process, so the source process can be
//! deleted. The indexes here are volatile: an activity that they miss just runs again.
//!
//! A part of the manager: its state is a [`Cache`]. It records nothing and sends nothing; its caller has
//! the files of a hit checked, and records that its outcome stands.

pub(crate) mod recorded;
pub(crate) mod shared;
mod sources;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use model::{ActivityId, AttemptId, Caching, ProcessId, ResourceId};

use crate::budget::{ATTEMPT_STEPS, Slice};
use crate::enact::evaluate::Evaluator;
use crate::enact::reuse::decided;
use crate::io::Effect;
use crate::process::Process;
use crate::record::{ActivityPhase, Phase, Reused};
use crate::shared_outcome::{SharedOutcome, ToShare};
use crate::step::Step;

use self::recorded::{BaseIndex, Recorded};
use self::shared::SharedOutcomes;
pub(crate) use self::sources::{Hit, Sources};

/// Recorded outcomes that may stand for activities.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    recorded: Recorded,
    /// Those of earlier runs, which are in other state directories.
    shared: SharedOutcomes,
    /// Processes that have not given back all their slots.
    open: BTreeMap<ProcessId, Open>,
}

/// The cache lookups of a process that has not given back all its slots.
#[derive(Debug, Default)]
struct Open {
    /// Index of the recorded outcomes of the base: the process that this one resumes.
    base: BaseIndex,
    /// The outcomes that stand for activities of this process.
    taken: BTreeSet<AttemptId>,
    /// Number of entries of `Index::fresh` for which a cache lookup was made.
    n_looked: usize,
}

impl Cache {
    /// After a restart: the outcomes of all processes that are understood.
    pub(crate) fn resume(&mut self, step: &Step<'_>) {
        self.recorded = Recorded::of(step.cx.processes());
    }

    /// The recorded outcomes of all processes.
    pub(crate) fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    /// The outcomes of earlier runs.
    pub(crate) fn shared(&self) -> &SharedOutcomes {
        &self.shared
    }

    /// Takes in the outcomes of earlier runs.
    pub(crate) fn recall(&mut self, outcomes: Vec<SharedOutcome>) {
        self.shared.take(outcomes);
    }

    /// Takes up a process that was founded in this epoch or an earlier one.
    pub(crate) fn begin(&mut self, step: &Step<'_>, id: ProcessId) {
        let known = step.cx.process(id);
        let running = known.filter(|known| known.phase() == Phase::Running);
        let base = running.and_then(|known| step.cx.process(known.base?));
        let reuses = running.filter(|known| known.index.totals.reused > 0);
        let open = Open {
            base: base.map(BaseIndex::of).unwrap_or_default(),
            taken: reuses.map(stand_already).unwrap_or_default(),
            n_looked: 0,
        };
        self.open.insert(id, open);
    }

    /// An outcome stands for an activity: for no other one of its process, but for those with `cache: true`.
    pub(crate) fn take(&mut self, id: ProcessId, of: AttemptId) {
        if let Some(open) = self.open.get_mut(&id) {
            open.taken.insert(of);
        }
    }

    /// Nothing is held for a process any more.
    pub(crate) fn end(&mut self, id: ProcessId) {
        self.open.remove(&id);
    }

    /// Processes are forgotten, and their outcomes with them.
    pub(crate) fn forget(&mut self, ids: &BTreeSet<ProcessId>) {
        self.recorded.forget(ids);
    }

    /// Adds the outcome of a completed activity to the cache index, and has it kept for later runs where
    /// that is wanted.
    pub(crate) fn remember(&mut self, step: &mut Step<'_>, id: ProcessId, activity: ActivityId) {
        let Some(known) = step.cx.process(id) else {
            return;
        };
        if let Some(cache_key) = known.details(activity).cache_key {
            self.recorded.insert(cache_key.key, known, activity);
        }
        let shares = step.config.shares_outcomes;
        if let Some(shared) = shares.then(|| ToShare::of(known, activity)).flatten() {
            step.cx.effect(Effect::Share(Box::new(shared)));
        }
    }

    /// The next activity that has become ready; none if no activity is left to look up.
    pub(crate) fn next(&mut self, step: &Step<'_>, id: ProcessId) -> Option<ActivityId> {
        let (known, open) = (step.cx.process(id)?, self.open.get_mut(&id)?);
        if known.phase() != Phase::Running {
            return None;
        }
        let activity = *known.index.fresh.0.get(open.n_looked)?;
        open.n_looked += 1;
        Some(activity)
    }

    /// Makes the cache lookup for an activity. Returns the recorded outcome that may stand for it, if
    /// there is one. Each stands for one activity of a process, whose command may be that of others too: it may
    /// rest on what no key tells, as time and chance. With `cache: true` it stands for all of them.
    pub(crate) fn look_up(
        &self,
        step: &mut Step<'_>,
        id: ProcessId,
        activity: ActivityId,
        slice: &mut Slice,
    ) -> Option<Hit> {
        let (known, open) = (step.cx.process(id)?, self.open.get(&id)?);
        let state = known.activity(activity);
        if state.phase != ActivityPhase::Ready || state.number > 0 {
            return None;
        }
        let cache = known.definition().activity_as_written(activity)?.cache;
        let may_be_found =
            known.base.is_some() || cache == Caching::Always || !self.shared.is_empty();
        if !may_be_found {
            return None;
        }
        let mut evaluator = Evaluator::new(step.programs);
        let decided = decided(known, activity, &mut evaluator);
        slice.take(ATTEMPT_STEPS + evaluator.meter.steps());
        let decided = decided?;
        let base = known.base.and_then(|base| step.cx.process(base));
        let bases = base.map(|base| (base, &open.base));
        let sources = Sources {
            bases: bases.as_slice(),
            recorded: &self.recorded,
            shared: &self.shared,
            taken: &open.taken,
            known: &|id| step.cx.process(id),
        };
        sources.find((known, activity), &decided)
    }
}

/// The outcomes that stand for activities of a process.
fn stand_already(known: &Process) -> BTreeSet<AttemptId> {
    let activities = known.definition().activities().iter();
    let reused = activities.filter_map(|&activity| known.details(activity).reused);
    reused.map(|reused| reused.of).collect()
}

/// The machines that have the files of a cache hit, as far as they are recorded.
pub(crate) fn holders(reused: &Reused) -> Vec<ResourceId> {
    let holders = [&reused.holder, &reused.copy].into_iter().flatten();
    let mut holders: Vec<ResourceId> = holders.map(|(holder, _)| *holder).collect();
    if reused.holder.is_none() {
        holders.insert(0, reused.resource);
    }
    holders
}
