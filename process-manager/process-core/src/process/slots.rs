//! The slots that the rest of a plan needs: those of entries whose activities have not ended, or are
//! made again, by machine.

use std::collections::{BTreeMap, BTreeSet};

use model::{ActivityId, Entry, ResourceId, Span};

/// Slots by machine that entries are left for. It follows each end of an activity, so that nobody walks
/// the plan to see which slots are needed no more.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct NeededSlots {
    /// Entries left for each slot; a slot without any is not in it.
    entries: BTreeMap<(ResourceId, u32), u32>,
    /// The entries left, by slot and planned end.
    ends: BTreeSet<(ResourceId, u32, Span, ActivityId)>,
    /// Slots of each machine that are in `entries`.
    needed: BTreeMap<ResourceId, u32>,
    n_all: u32,
}

impl NeededSlots {
    pub(super) fn add(&mut self, entry: Entry, cores: u32) {
        for slot in entry.slot..entry.slot.saturating_add(cores) {
            let n_entries = self.entries.entry((entry.resource, slot)).or_default();
            *n_entries += 1;
            self.ends
                .insert((entry.resource, slot, entry.finish, entry.activity));
            if *n_entries == 1 {
                *self.needed.entry(entry.resource).or_default() += 1;
                self.n_all += 1;
            }
        }
    }

    pub(super) fn remove(&mut self, entry: Entry, cores: u32) {
        for slot in entry.slot..entry.slot.saturating_add(cores) {
            let Some(n_entries) = self.entries.get_mut(&(entry.resource, slot)) else {
                continue;
            };
            *n_entries -= 1;
            self.ends
                .remove(&(entry.resource, slot, entry.finish, entry.activity));
            if *n_entries > 0 {
                continue;
            }
            self.entries.remove(&(entry.resource, slot));
            self.n_all -= 1;
            if let Some(needed) = self.needed.get_mut(&entry.resource) {
                *needed -= 1;
                if *needed == 0 {
                    self.needed.remove(&entry.resource);
                }
            }
        }
    }

    /// The planned ends of the slots of a machine that entries are left for.
    pub(crate) fn ends(&self, resource: ResourceId) -> impl Iterator<Item = Span> {
        self.last(resource).map(|(finish, _)| finish)
    }

    /// The last entry of each of these slots: its planned end and its activity.
    pub(crate) fn last(&self, resource: ResourceId) -> impl Iterator<Item = (Span, ActivityId)> {
        let of_it = (resource, 0)..=(resource, u32::MAX);
        let slots = self.entries.range(of_it).map(|(&(_, slot), _)| slot);
        slots.filter_map(move |slot| {
            let first = (resource, slot, Span::ZERO, ActivityId(0));
            let last = (resource, slot, Span(u64::MAX), ActivityId(u32::MAX));
            let last = self.ends.range(first..=last).next_back();
            last.map(|&(_, _, finish, activity)| (finish, activity))
        })
    }

    /// Slots of a machine that entries are left for.
    pub(crate) fn of(&self, resource: ResourceId) -> u32 {
        self.needed.get(&resource).copied().unwrap_or_default()
    }

    /// The same of all machines together.
    pub(crate) fn all(&self) -> u32 {
        self.n_all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_free_after_the_last_entry_that_is_left_there() {
        let place = ResourceId::local(3);
        let entry = |activity, slot, finish| Entry {
            activity: ActivityId(activity),
            resource: place,
            slot,
            start: Span::ZERO,
            finish: Span(finish),
        };
        let mut slots = NeededSlots::default();
        slots.add(entry(1, 0, 5), 2);
        slots.add(entry(2, 1, 9), 1);
        assert_eq!(slots.ends(place).collect::<Vec<_>>(), [Span(5), Span(9)]);
        // It was skipped before the one that is planned before it.
        slots.remove(entry(2, 1, 9), 1);
        assert_eq!(slots.ends(place).collect::<Vec<_>>(), [Span(5), Span(5)]);
        slots.remove(entry(1, 0, 5), 2);
        assert_eq!(slots, NeededSlots::default());
    }
}
