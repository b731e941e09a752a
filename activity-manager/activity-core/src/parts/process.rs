//! The link to one process manager.

use model::{AttemptId, Epoch, Mono};

use super::lease::ProcessLease;

/// One process manager.
#[derive(Debug, Default)]
pub(crate) struct ProcessLink {
    /// The latest of its epochs that has attached.
    pub(crate) epoch: Epoch,
    /// The number of its last request.
    pub(crate) ask: u32,
    /// The epoch that was announced to it. Messages that it sent before have another epoch and are
    /// refused: it counts those attempts as lost, and they must not start beside their successors.
    pub(crate) own_epoch: Epoch,
    /// When this epoch was first announced to it.
    pub(crate) told: Mono,
    /// True if that epoch is over and no other one was announced yet.
    pub(crate) is_void: bool,
    pub(crate) lease: ProcessLease,
    /// True if it got its attempts on the present connection, so that it gets further reports.
    pub(crate) is_attached: bool,
    /// When it was lost last.
    pub(crate) away_since: Mono,
    /// True if it waits for `Holding`.
    pub(crate) wants_holding: bool,
    /// New attempts of the present step, so that those that do not advance at once can be accepted.
    pub(crate) fresh: Vec<AttemptId>,
}

impl ProcessLink {
    /// Refuses the process manager's messages for the announced epoch from here on, with the number
    /// of this one, so that it attaches again.
    pub(crate) fn void(&mut self, now: Mono, epoch: Epoch) {
        if self.own_epoch != Epoch::default() {
            self.own_epoch = epoch;
            self.is_void = true;
            self.lease.ask_anew(now);
        }
    }
}
