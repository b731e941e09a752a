//! The link to the group manager.

use model::{Mono, ResourceId};

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
}

impl GroupLink {
    /// Returns true if every answer has arrived.
    pub(crate) fn is_known(&self) -> bool {
        self.is_registered && self.has_grants
    }
}
