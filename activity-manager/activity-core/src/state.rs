//! The durable state: the epoch, and the attempts that must never run twice.

use std::collections::{BTreeMap, BTreeSet};

use model::{AttemptId, Epoch};

use crate::record::{Event, Snapshot};

/// The fold of all events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Counts epochs and attachments from 1, so that messages for an earlier one are refused.
    pub epoch: Epoch,
    /// Attempts that must never run twice and may have been started, with their process managers.
    pub starting: BTreeMap<AttemptId, u32>,
    /// True if attempts may be missing there, because the journal of earlier epochs was lost.
    pub has_forgotten: bool,
    /// Process managers that have recorded the consequences of that.
    pub resolved: BTreeSet<u32>,
}

impl State {
    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::Epoch(epoch) => self.epoch = *epoch,
            Event::Starting { attempt, owner } => {
                self.starting.insert(*attempt, *owner);
            }
            Event::Settled(attempt) => {
                self.starting.remove(attempt);
            }
            Event::Forgot => {
                self.has_forgotten = true;
                self.resolved.clear();
            }
            Event::Resolved(process_manager) => {
                self.resolved.insert(*process_manager);
            }
        }
    }

    pub(crate) fn weight(&self) -> usize {
        1 + self.starting.len()
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let State {
            epoch,
            starting,
            has_forgotten,
            resolved,
        } = self.clone();
        Snapshot {
            epoch,
            starting,
            has_forgotten,
            resolved,
        }
    }

    pub(crate) fn restore(snapshot: Snapshot) -> State {
        let Snapshot {
            epoch,
            starting,
            has_forgotten,
            resolved,
        } = snapshot;
        State {
            epoch,
            starting,
            has_forgotten,
            resolved,
        }
    }
}
