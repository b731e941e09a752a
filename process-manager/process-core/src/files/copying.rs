//! Copies of files that machines were asked to make.

use std::collections::BTreeMap;

use model::{ActivityId, ResourceId};

/// Maximum number of requests for one copy in an epoch of the manager: ten minutes. The files may
/// be gone, or too large for every machine.
pub(super) const ASKED_MAX: u32 = 600;

/// The requested copies of a process that are not made yet.
#[derive(Debug, Default)]
pub(super) struct Copying(pub(super) BTreeMap<ActivityId, Asked>);

/// A request for a copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) keeper: ResourceId,
    pub(super) n_times: u32,
}

impl Asked {
    pub(super) fn is_given_up(self) -> bool {
        self.n_times >= ASKED_MAX
    }
}
