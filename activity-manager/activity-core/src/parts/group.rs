//! The link to the group manager.

use std::collections::BTreeMap;

use model::{Mono, ProcessId, ResourceId};
use wire::resource::QuestionId;

/// The state of the link to the group manager.
#[derive(Debug, Default)]
pub(crate) struct GroupLink {
    pub(crate) is_up: bool,
    pub(crate) resource: Option<ResourceId>,
    pub(crate) is_registered: bool,
    /// True if grants have arrived since they were last requested.
    pub(crate) has_grants: bool,
    pub(crate) asked: Mono,
    /// The time of its last message.
    pub(crate) heard: Mono,
    /// The time of the next sign of life to it.
    pub(crate) alive: Mono,
    /// Its last question that is closed.
    pub(crate) closed: QuestionId,
    /// Processes that were told to be unused here, with the question, which is open.
    pub(crate) withdrawn: BTreeMap<ProcessId, QuestionId>,
}

impl GroupLink {
    /// Questions up to this one are closed. Returns the processes whose grants count again.
    pub(crate) fn close(&mut self, question: QuestionId) -> Vec<ProcessId> {
        self.closed = self.closed.max(question);
        let closed = self.closed;
        let lifted = self.withdrawn.extract_if(.., |_, asked| *asked <= closed);
        lifted.map(|(process, _)| process).collect()
    }

    /// Returns true if a process starts nothing here, whatever grants say.
    pub(crate) fn is_withdrawn(&self, process: ProcessId) -> bool {
        self.withdrawn.contains_key(&process)
    }

    /// Returns true if every answer has arrived.
    pub(crate) fn is_known(&self) -> bool {
        self.is_registered && self.has_grants
    }
}
