//! Processes whose copies must stay here.

use std::collections::{BTreeMap, BTreeSet};

use model::ProcessId;
use wire::attempt::KEPT_MAX;

/// Processes whose copies stay here even without a grant, by their process managers.
#[derive(Debug, Default)]
pub(crate) struct Kept(BTreeMap<u32, BTreeSet<ProcessId>>);

impl Kept {
    /// Remembers a process. Returns false if its process manager has too many.
    pub(crate) fn note(&mut self, from: u32, process: ProcessId) -> bool {
        let kept = self.0.entry(from).or_default();
        if kept.len() >= KEPT_MAX {
            return kept.contains(&process);
        }
        kept.insert(process);
        true
    }

    /// Keeps only the processes whose copies a process manager still wants, and returns the others.
    pub(crate) fn retain(&mut self, from: u32, wanted: &[ProcessId]) -> Vec<ProcessId> {
        let Some(kept) = self.0.get_mut(&from) else {
            return Vec::new();
        };
        let wanted: BTreeSet<ProcessId> = wanted.iter().copied().collect();
        let gone: Vec<ProcessId> = kept.difference(&wanted).copied().collect();
        kept.retain(|process| wanted.contains(process));
        if kept.is_empty() {
            self.0.remove(&from);
        }
        gone
    }

    /// Returns true if copies of a process must stay for any process manager.
    pub(crate) fn has(&self, process: ProcessId) -> bool {
        self.0.values().any(|kept| kept.contains(&process))
    }
}
