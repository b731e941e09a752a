//! Indexes of recorded outcomes, by name and by cache key.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use model::{ActivityId, Hash, ProcessId};

use crate::limits;
use crate::process::Process;
use crate::record::ActivityPhase;

/// The completed activities of a process, by name and by cache key.
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

    /// The activities of a base whose outcome may stand for an activity of this name: that of the same name first,
    /// and then others of the same key.
    pub(crate) fn sources(&self, name: &str, key: Hash) -> impl Iterator<Item = ActivityId> {
        let named = self.by_name.get(name).copied();
        let named = named.filter(|&source| self.by_key.contains(&(key, source)));
        let same = (key, ActivityId(0))..=(key, ActivityId(u32::MAX));
        let same = self.by_key.range(same).map(|&(_, source)| source);
        named.into_iter().chain(same.take(limits::SAME_KEY_MAX))
    }
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
