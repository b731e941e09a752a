//! The link to the executor.

use std::collections::BTreeSet;

use model::AttemptId;

/// The state of the link to the executor.
#[derive(Debug, Default)]
pub(crate) struct ExecutorLink {
    /// The last connected executor.
    pub(crate) instance: Option<u64>,
    /// Present while the executor lists its attempts.
    pub(crate) listing: Option<Listing>,
    /// True if it can be given work.
    pub(crate) is_ready: bool,
    /// True once any executor has listed all its attempts in this epoch: from then on, an attempt
    /// outside the table is not at the executor.
    pub(crate) is_known: bool,
}

/// The executor's list of its attempts, as far as it has arrived.
#[derive(Debug)]
pub(crate) struct Listing {
    /// True if it is the executor of the previous connection.
    pub(crate) is_same: bool,
    /// Known attempts that it has listed.
    pub(crate) named: BTreeSet<AttemptId>,
}

impl ExecutorLink {
    pub(crate) fn reach(&self) -> Reach {
        match &self.listing {
            _ if self.is_ready => Reach::Ready,
            Some(_) => Reach::Telling,
            None => Reach::Away,
        }
    }

    pub(crate) fn close(&mut self) {
        self.listing = None;
        self.is_ready = false;
    }
}

/// The state of the connection to the executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Not connected.
    Away,
    /// It lists its attempts.
    Telling,
    /// It takes work.
    Ready,
}
