//! Activities that stay: what has been moved [`limits::MOVES_MAX`] times has its machine from then on, in whatever plan
//! is made for whatever reason, as long as that machine takes it.
//!
//! ```text
//!   planned on m0 --grown--> m1 --m1 is slow--> m2 --m2 is slow--> m2        unless m2 is lost, or stands still
//! ```
//! Each plan takes machines for as fast as they were up to then, and two process managers on the same machines, or a
//! load that comes and goes, change that again and again: an activity would be sent after what has passed, and taken
//! back, without an end. Two moves are one to the slots that have become free since the first plan, and one away from a
//! slow machine. A move is forgotten after [`limits::MOVED_FOR`], so that a process of days may answer to a load of each
//! hour. Nothing stays on a machine where an attempt of the process takes [`limits::STANDS_STILL`] times as long as
//! expected: it may never end.
//!
//! It is volatile, as what machines have shown is: a restart begins again. The published policies, which are there to
//! be compared with, move as often as they say.

use std::collections::BTreeMap;

use model::{ActivityId, Mono, Plan, Platform, ProcessId, ResourceId};

use super::Market;
use super::limit::fits;
use crate::limits;
use crate::process::Process;
use crate::process::index::has_ended;
use crate::step::Step;

/// The moves of an activity, and the last of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moved {
    n: u32,
    last: Mono,
}

impl Moved {
    fn is_forgotten(&self, now: Mono) -> bool {
        self.last + limits::MOVED_FOR <= now
    }
}

impl Market {
    /// A plan takes the place of another one: notes the activities that get another machine.
    pub(super) fn note_moved(&mut self, id: ProcessId, now: Mono, (before, after): (&Plan, &Plan)) {
        let Some(demand) = self.demands.get_mut(&id) else {
            return;
        };
        demand.moved.retain(|_, moved| !moved.is_forgotten(now));
        for entry in &after.entries {
            let place = before.entry(entry.activity).map(|entry| entry.resource);
            if place.is_some_and(|place| place != entry.resource) {
                let moved = Moved { n: 0, last: now };
                let moved = demand.moved.entry(entry.activity).or_insert(moved);
                *moved = Moved {
                    n: moved.n + 1,
                    last: now,
                };
            }
        }
    }

    /// The activities that are planned on the machines where they are, of those that have none of their attempts out.
    pub(super) fn staying(
        &self,
        step: &Step<'_>,
        known: &Process,
        platform: &Platform,
    ) -> BTreeMap<ActivityId, ResourceId> {
        let now = step.now.mono;
        let demand = self.demands.get(&known.id());
        let moved = demand.map(|demand| &demand.moved);
        if self.sizing(known).is_some() || moved.is_none_or(BTreeMap::is_empty) {
            return BTreeMap::new();
        }
        let machines = platform.resources().iter();
        let machines = machines.filter(|one| !self.stands_still(known.id(), one.id, now));
        let slots: BTreeMap<ResourceId, u32> = machines.map(|one| (one.id, one.slots)).collect();
        let staying = moved
            .into_iter()
            .flatten()
            .filter(|(_, moved)| moved.n >= limits::MOVES_MAX && !moved.is_forgotten(now));
        let staying = staying.filter_map(|(&activity, _)| {
            let place = known.state.plan.entry(activity)?.resource;
            let declared = known.definition().activity_as_written(activity)?;
            let offered = self.offered_at(place)?;
            let takes_it = declared.cores <= *slots.get(&place)? && fits(offered, declared);
            let is_open =
                !has_ended(known.activity(activity).phase) && !known.wants_recomputation(activity);
            (takes_it && is_open).then_some((activity, place))
        });
        staying.collect()
    }
}
