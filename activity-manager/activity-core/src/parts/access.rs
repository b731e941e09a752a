//! Requests of users for files that wait for the answers of process managers.

use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of requests that wait for answers; users give up within seconds. The oldest is
/// dropped first.
const ASKED_MAX: usize = 1_024;

/// For each request, the process managers that have not answered.
#[derive(Debug, Default)]
pub(crate) struct Asked(BTreeMap<u32, BTreeSet<u32>>);

impl Asked {
    /// Waits for the answers of these process managers, if there are any.
    pub(crate) fn wait(&mut self, number: u32, process_managers: BTreeSet<u32>) {
        if process_managers.is_empty() {
            return;
        }
        if self.0.len() >= ASKED_MAX {
            self.0.pop_first();
        }
        self.0.insert(number, process_managers);
    }

    /// Takes an answer. Returns true if it decides the request: one approval is enough, and the
    /// request is refused when all have refused it.
    pub(crate) fn answer(&mut self, from: u32, number: u32, is_allowed: bool) -> bool {
        let Some(unanswered) = self.0.get_mut(&number) else {
            return false;
        };
        let decides = unanswered.remove(&from) && (is_allowed || unanswered.is_empty());
        if decides {
            self.0.remove(&number);
        }
        decides
    }
}
