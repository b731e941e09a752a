//! Open claims for slots.

use model::ProcessId;
use wire::group::{ToGroup, Want};

/// A claim that a group manager has not answered.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) number: u32,
    /// None where it only asks what was granted under its number.
    pub(crate) wants: Vec<Want>,
    pub(crate) n_repeats: u32,
}

impl Claim {
    pub(crate) fn new(number: u32) -> Claim {
        Claim {
            number,
            wants: Vec::new(),
            n_repeats: 0,
        }
    }

    /// Returns true if the claim was repeated already, so that others are planned without this
    /// group.
    pub(crate) fn is_overdue(&self) -> bool {
        self.n_repeats > 0
    }

    pub(crate) fn message(&self, process: ProcessId) -> ToGroup {
        ToGroup::Claim {
            number: self.number,
            process,
            wants: self.wants.clone(),
        }
    }
}
