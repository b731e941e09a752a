//! An immutable schedule of one process.

use minicbor::{Decode, Encode};

use crate::{ActivityId, Generation, ResourceId, Span};

/// The planned machine and time of each activity of a process. It never changes: another plan has
/// another generation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Plan {
    /// The generation of the plan in its process; larger is later.
    #[n(0)]
    pub generation: Generation,
    /// One entry an activity, in the order of the activities' ids.
    #[n(1)]
    pub entries: Vec<Entry>,
    /// No schedule of the same problem is shorter than this.
    #[n(2)]
    pub bound: Span,
}

/// One activity's place in a plan. Times of a scheduler's plan count from the moment that it is made
/// for; those of the plans of a process all count from when its first plan was put in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Entry {
    /// The activity.
    #[n(0)]
    pub activity: ActivityId,
    /// Its machine.
    #[n(1)]
    pub resource: ResourceId,
    /// On which of the machine's slots: the lowest one it holds.
    #[n(2)]
    pub slot: u32,
    /// Estimated start (EST).
    #[n(3)]
    pub start: Span,
    /// Estimated finish (EFT).
    #[n(4)]
    pub finish: Span,
}

impl Plan {
    /// The finish of the last entry, or zero for a plan without entries.
    pub fn makespan(&self) -> Span {
        self.entries
            .iter()
            .map(|entry| entry.finish)
            .max()
            .unwrap_or_default()
    }

    /// The entry of an activity, in O(log n).
    pub fn entry(&self, activity: ActivityId) -> Option<&Entry> {
        let index = self
            .entries
            .binary_search_by_key(&activity, |entry| entry.activity)
            .ok()?;
        Some(&self.entries[index])
    }
}
