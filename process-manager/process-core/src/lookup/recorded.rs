//! Indexes of recorded outcomes, by name and by cache key.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use model::{ActivityId, AttemptId, Hash, ProcessId};

use crate::enact::reuse::stands;
use crate::limits;
use crate::process::Process;
use crate::record::{ActivityPhase, CacheKey, Reused};

/// The completed activities of a process whose outcomes stand for nothing yet in another one, by name and by
/// cache key.
#[derive(Debug, Default)]
pub(crate) struct BaseIndex {
    by_name: BTreeMap<String, ActivityId>,
    by_key: BTreeSet<(Hash, ActivityId)>,
}

/// Outcomes of all processes, by owner and cache key.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) by_key: BTreeMap<RecordedKey, (ProcessId, ActivityId)>,
    /// The keys in the order in which they came.
    pub(crate) order: VecDeque<RecordedKey>,
    /// The numbers of owners in the keys.
    pub(crate) owners: BTreeMap<Option<String>, u32>,
}

/// The number of the owner, and the cache key. Owners do not see each other's outcomes.
type RecordedKey = (u32, Hash);

impl BaseIndex {
    /// The index of a process.
    pub(crate) fn of(base: &Process) -> BaseIndex {
        let mut index = BaseIndex::default();
        for (activity, cache_key) in base.cache_keys() {
            if base.activity(activity).phase == ActivityPhase::Completed {
                let name = base.definition().name_of(activity.node());
                index.by_name.insert(name, activity);
                index.by_key.insert((cache_key.key, activity));
            }
        }
        index
    }

    /// The outcome of a base that may stand for an activity, with the activity that had it: that of the same
    /// name where its key is the same too, or else one of the same key.
    pub(crate) fn find(
        &self,
        base: &Process,
        (into, activity): (&Process, ActivityId),
        cache_key: CacheKey,
    ) -> Option<(Reused, ActivityId)> {
        let key = cache_key.key;
        let name = into.definition().name_of(activity.node());
        let named = self.by_name.get(&name).copied();
        let named = named.filter(|&source| self.by_key.contains(&(key, source)));
        let same = (key, ActivityId(0))..=(key, ActivityId(u32::MAX));
        let same = self.by_key.range(same).map(|&(_, source)| source);
        let same = same.take(limits::SAME_KEY_MAX);
        let mut sources = named.into_iter().chain(same);
        sources.find_map(|source| {
            let reused = stands(base, source, into, activity, cache_key)?;
            Some((reused, source))
        })
    }

    /// The outcome of an activity stands for one of another process, and for no other one of it.
    pub(crate) fn take(&mut self, key: Hash, source: ActivityId) {
        self.by_key.remove(&(key, source));
    }

    /// After a restart: an outcome that stands for an activity of another process.
    pub(crate) fn take_again(&mut self, base: &Process, (name, key): (&str, Hash), of: AttemptId) {
        let named = self.by_name.get(name).copied();
        let same = (key, ActivityId(0))..=(key, ActivityId(u32::MAX));
        let same = self.by_key.range(same).map(|&(_, source)| source);
        let same = same.take(limits::SAME_KEY_MAX);
        let is_it = |&source: &ActivityId| {
            self.by_key.contains(&(key, source)) && outcome_of(base, source) == of
        };
        if let Some(source) = named.into_iter().chain(same).find(is_it) {
            self.take(key, source);
        }
    }
}

/// The attempt that the outcome of a completed activity is of.
fn outcome_of(process: &Process, activity: ActivityId) -> AttemptId {
    let own = AttemptId {
        process: process.id(),
        activity,
        number: process.activity(activity).number,
    };
    let recalled = process.details(activity).reused;
    recalled.map_or(own, |recalled| recalled.of)
}

impl Recorded {
    /// The outcomes of all processes, those of processes submitted first first.
    pub(crate) fn of<'a>(processes: impl Iterator<Item = &'a Process>) -> Recorded {
        let mut processes: Vec<&Process> = processes.collect();
        processes.sort_by_key(|process| (process.submitted, process.id()));
        let mut recorded = Recorded::default();
        for process in processes {
            for (activity, cache_key) in process.cache_keys() {
                if process.activity(activity).phase == ActivityPhase::Completed {
                    recorded.insert(cache_key.key, process, activity);
                }
            }
        }
        recorded
    }

    /// Looks up a cache key among the processes of the same owner.
    pub(crate) fn get(&self, of: &Process, key: Hash) -> Option<(ProcessId, ActivityId)> {
        let owner = *self.owners.get(&of.owner)?;
        self.by_key.get(&(owner, key)).copied()
    }

    pub(crate) fn insert(&mut self, key: Hash, process: &Process, activity: ActivityId) {
        let n_owners = u32::try_from(self.owners.len()).expect("each has a process in memory");
        let owner = match self.owners.get(&process.owner) {
            Some(&owner) => owner,
            None => *self.owners.entry(process.owner.clone()).or_insert(n_owners),
        };
        let key = (owner, key);
        if self.by_key.insert(key, (process.id(), activity)).is_none() {
            self.order.push_back(key);
        }
        if self.by_key.len() > limits::RECORDED_MAX
            && let Some(first) = self.order.pop_front()
        {
            self.by_key.remove(&first);
        }
    }

    /// Removes all outcomes of these processes, in one walk over all.
    pub(crate) fn forget(&mut self, processes: &BTreeSet<ProcessId>) {
        let by_key = &mut self.by_key;
        let n_before = by_key.len();
        by_key.retain(|_, (of, _)| !processes.contains(of));
        if by_key.len() < n_before {
            self.order.retain(|key| by_key.contains_key(key));
        }
    }
}
