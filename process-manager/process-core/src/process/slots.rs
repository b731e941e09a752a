//! The slots that the rest of a plan needs: those of entries whose activities have not ended, or are
//! made again, by machine.

use std::collections::BTreeMap;

use model::{Entry, ResourceId, Span};

/// Slots by machine that entries are left for. It follows each end of an activity, so that nobody walks
/// the plan to see which slots are needed no more.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct NeededSlots {
    /// Entries left for each slot; a slot without any is not in it.
    entries: BTreeMap<(ResourceId, u32), u32>,
    /// The end of the last entry of each slot, in the plan, whether it is left or not.
    last: BTreeMap<(ResourceId, u32), Span>,
    /// Slots of each machine that are in `entries`.
    needed: BTreeMap<ResourceId, u32>,
    n_all: u32,
}

impl NeededSlots {
    pub(super) fn add(&mut self, entry: Entry, cores: u32) {
        for slot in entry.slot..entry.slot.saturating_add(cores) {
            let n_entries = self.entries.entry((entry.resource, slot)).or_default();
            *n_entries += 1;
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

    /// Takes in until when an entry has its slots.
    pub(super) fn note_end(&mut self, entry: Entry, cores: u32) {
        for slot in entry.slot..entry.slot.saturating_add(cores) {
            let last = self.last.entry((entry.resource, slot)).or_default();
            *last = entry.finish.max(*last);
        }
    }

    /// The planned ends of the slots of a machine that entries are left for.
    pub(crate) fn ends(&self, resource: ResourceId) -> impl Iterator<Item = Span> {
        let of_it = (resource, 0)..=(resource, u32::MAX);
        let slots = self.entries.range(of_it).map(|(slot, _)| slot);
        slots.map(|slot| self.last.get(slot).copied().unwrap_or_default())
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
