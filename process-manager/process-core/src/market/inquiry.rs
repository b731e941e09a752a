//! Open questions for holdings.

use std::collections::BTreeMap;

use model::{Epoch, ProcessId};

/// The beginning of an answer: to which question it is, and how many grants were ended by then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered {
    /// The epoch of the process manager that has asked.
    pub(crate) epoch: Epoch,
    pub(crate) number: u32,
    pub(crate) n_revoked: u64,
}

/// A question for all holdings in a group that is not answered. A group manager takes it that nothing is
/// needed of what it does not name.
#[derive(Debug)]
pub(super) struct Inquiry {
    pub(super) number: u32,
    /// The epoch of the group manager that is asked.
    pub(super) epoch: Epoch,
    /// The number of the last claim of each process that was answered when it was asked. A process
    /// with another one may have later news than the answer.
    pub(super) claims: BTreeMap<ProcessId, u32>,
}
