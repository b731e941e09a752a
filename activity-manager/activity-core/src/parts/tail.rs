//! Requests for the output of running attempts that wait for the executor's answer.

use std::collections::{BTreeMap, BTreeSet};

use model::AttemptId;

/// Maximum number of attempts whose output is requested at once. People look at one or two; further
/// requests get no output and are repeated.
const TAILS_MAX: usize = 1_024;

/// The process managers that wait for the executor's answer, by attempt.
#[derive(Debug, Default)]
pub(crate) struct TailRequests(BTreeMap<AttemptId, BTreeSet<u32>>);

impl TailRequests {
    /// Waits for the executor's answer. Returns false if too many others wait.
    pub(crate) fn wait(&mut self, from: u32, id: AttemptId) -> bool {
        let has_room = self.0.contains_key(&id) || self.0.len() < TAILS_MAX;
        if has_room {
            self.0.entry(id).or_default().insert(from);
        }
        has_room
    }

    /// The process managers that wait for the output of an attempt. They do not any more.
    pub(crate) fn take(&mut self, id: AttemptId) -> BTreeSet<u32> {
        self.0.remove(&id).unwrap_or_default()
    }

    /// All attempts with the process managers that wait. They do not any more.
    pub(crate) fn take_all(&mut self) -> BTreeMap<AttemptId, BTreeSet<u32>> {
        std::mem::take(&mut self.0)
    }
}
