//! The recorded outcomes among which one is looked up for an activity: for one that is ready in a run, and for one
//! whose run is foretold.

use std::collections::BTreeSet;

use model::{ActivityId, AttemptId, Caching, ProcessId};

use super::recorded::{BaseIndex, Recorded};
use super::shared::SharedOutcomes;
use crate::enact::reuse::{Decided, stands};
use crate::process::Process;
use crate::record::Reused;

/// Where outcomes are recorded that may stand for activities of a process.
pub(crate) struct Sources<'s, 'a> {
    /// The processes that it mends, the first one first.
    pub(crate) bases: &'s [(&'a Process, &'s BaseIndex)],
    /// Those of all processes.
    pub(crate) recorded: &'s Recorded,
    /// Those of earlier runs.
    pub(crate) shared: &'s SharedOutcomes,
    /// The outcomes that stand for activities of the process.
    pub(crate) taken: &'s BTreeSet<AttemptId>,
    pub(crate) known: &'s dyn Fn(ProcessId) -> Option<&'a Process>,
}

/// A recorded outcome that may stand for an activity.
#[derive(Debug)]
pub(crate) struct Hit {
    pub(crate) reused: Reused,
    /// True if the process that has it discards its files.
    pub(crate) is_discarded: bool,
}

impl Sources<'_, '_> {
    /// The recorded outcome that may stand for an activity: of a base, with `cache: true` of any process, or
    /// else of an earlier run.
    pub(crate) fn find(
        &self,
        (into, activity): (&Process, ActivityId),
        decided: &Decided,
    ) -> Option<Hit> {
        let cache_key = decided.cache_key;
        let cache = into.definition().activity_as_written(activity)?.cache;
        let is_for_all = cache == Caching::Always;
        let name = into.definition().name_of(activity.node());
        let mut bases = self.bases.iter();
        let of_base = bases.find_map(|(base, index)| {
            let mut sources = index.sources(&name, cache_key.key);
            sources.find_map(|source| {
                let reused = stands(base, source, into, activity, cache_key)?;
                let is_free = is_for_all || !self.taken.contains(&reused.of);
                is_free.then(|| Hit {
                    is_discarded: base.is_unneeded(source),
                    reused,
                })
            })
        });
        let of_any = || {
            let found = self.recorded.get(into, cache_key.key);
            let (id, source) = found.filter(|_| is_for_all)?;
            let from = (self.known)(id)?;
            Some(Hit {
                reused: stands(from, source, into, activity, cache_key)?,
                is_discarded: from.is_unneeded(source),
            })
        };
        let of_earlier = || {
            Some(Hit {
                reused: self.shared.find((into, activity), decided, self.taken)?,
                is_discarded: false,
            })
        };
        of_base.or_else(of_any).or_else(of_earlier)
    }
}
