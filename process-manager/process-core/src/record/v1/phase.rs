//! Phases of processes and activities.

use minicbor::{Decode, Encode};

/// The phase of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(index_only)]
pub enum Phase {
    /// It runs, or waits for machines.
    #[n(0)]
    #[default]
    Running,
    /// A fault ends it: commands that still run are being stopped.
    #[n(1)]
    Faulting,
    /// It is being cancelled.
    #[n(2)]
    Cancelling,
    /// It ended without a fault.
    #[n(3)]
    Completed,
    /// A fault ended it.
    #[n(4)]
    Faulted,
    /// It was cancelled.
    #[n(5)]
    Cancelled,
}

impl Phase {
    /// Returns true if the process has ended: this phase is final.
    pub fn has_ended(self) -> bool {
        match self {
            Phase::Completed | Phase::Faulted | Phase::Cancelled => true,
            Phase::Running | Phase::Faulting | Phase::Cancelling => false,
        }
    }
}

/// The phase of an activity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(index_only)]
pub enum ActivityPhase {
    /// Its controller has not come to it.
    #[n(0)]
    #[default]
    Waiting,
    /// It could run, and was not sent to a machine.
    #[n(1)]
    Ready,
    /// It was sent to a machine.
    #[n(2)]
    Sent,
    /// It waits before it is tried again.
    #[n(4)]
    Backoff,
    /// It ended well.
    #[n(5)]
    Completed,
    /// It ended with a fault.
    #[n(6)]
    Faulted,
    /// It will not run.
    #[n(7)]
    Skipped,
    /// It was stopped because the process ended.
    #[n(8)]
    Stopped,
}
