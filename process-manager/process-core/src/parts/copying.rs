//! Copies of files that machines were asked to make.

use std::collections::BTreeMap;

use model::{ActivityId, ResourceId};

/// Maximum number of requests for one copy in an epoch of the manager: ten minutes. The files may
/// be gone, or too large for every machine.
pub(crate) const ASKED_MAX: u32 = 600;

/// The requested copies of a process that are not made yet.
#[derive(Debug, Default)]
pub(crate) struct Copying(pub(crate) BTreeMap<ActivityId, Asked>);

/// A request for a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) keeper: ResourceId,
    pub(crate) n_times: u32,
}

impl Asked {
    pub(crate) fn is_given_up(self) -> bool {
        self.n_times >= ASKED_MAX
    }
}
