//! The slots that the rest of a plan needs: those of entries whose activities have not ended, or are
//! made again, by machine.

use std::collections::BTreeMap;

use model::{Entry, ResourceId};

/// Slots by machine that entries are left for. It follows each end of an activity, so that nobody walks
/// the plan to see which slots are needed no more.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct NeededSlots {
    /// Entries left for each slot; a slot without any is not in it.
    entries: BTreeMap<(ResourceId, u32), u32>,
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

    /// Slots of a machine that entries are left for.
    pub(crate) fn of(&self, resource: ResourceId) -> u32 {
        self.needed.get(&resource).copied().unwrap_or_default()
    }

    /// The same of all machines together.
    pub(crate) fn all(&self) -> u32 {
        self.n_all
    }
}
