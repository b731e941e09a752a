//! The progress of a process, as its watchers are told.

use minicbor::{Decode, Encode};
use model::{ActivityId, NodeId, ProcessId, ResourceId, Span, Wall};

use super::{Phase, Rescheduled, Totals};

/// Maximum number of controllers in one progress message.
pub const CONTROLLERS_SHOWN_MAX: usize = 32;
/// Maximum number of running activities in one progress message.
pub const RUNNING_SHOWN_MAX: usize = 64;
/// Maximum number of activities that run again in one progress message: people read no more lines at once.
pub const RUN_AGAIN_SHOWN_MAX: usize = 16;

/// The progress of a process.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Progress {
    /// The process.
    #[n(0)]
    pub process: ProcessId,
    /// Increases with each change; a watcher that has seen this one has seen all of it.
    #[n(1)]
    pub revision: u64,
    /// Its state.
    #[n(2)]
    pub phase: Phase,
    /// Its activities by state.
    #[n(3)]
    pub totals: Totals,
    /// The controllers nearest the root, with the numbers of ended activities and of all activities
    /// below.
    #[n(4)]
    pub controllers: Vec<ControllerProgress>,
    /// Some of the running activities.
    #[n(5)]
    pub running: Vec<Running>,
    /// The estimated remaining time, if it can be estimated.
    #[n(6)]
    pub left: Option<Span>,
    /// The reason why nothing runs at the moment, if it needs one.
    #[n(7)]
    pub waiting_for: Option<String>,
    /// The remaining time that nine in ten runs take at most, where enough is known of earlier ones.
    #[n(8)]
    pub left_p90: Option<Span>,
    /// The last plan that moved activities because of slow machines.
    #[n(9)]
    pub rescheduled: Option<Rescheduled>,
    /// The number of all such plans.
    #[cbor(n(10), default)]
    pub n_rescheduled: u32,
    /// The last activities that run again, the oldest first; at most [`RUN_AGAIN_SHOWN_MAX`].
    #[cbor(n(11), default)]
    pub run_again: Vec<RunAgain>,
    /// The number of all of them since the manager started, so that a watcher knows which it has seen.
    #[cbor(n(12), default)]
    pub n_run_again: u64,
    /// Activities that wait before another attempt; none if there are none.
    #[n(13)]
    pub backoff: Option<InBackoff>,
    /// The names of the machines that `rescheduled` names.
    #[cbor(n(14), default)]
    pub machines: Vec<(ResourceId, String)>,
}

/// An activity that runs again.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RunAgain {
    /// The activity.
    #[n(0)]
    pub activity: ActivityId,
    /// Its name, where the definition as it was submitted has none.
    #[n(1)]
    pub name: Option<String>,
    /// The reason.
    #[n(2)]
    pub cause: RunAgainCause,
}

/// The reason why an activity runs again.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum RunAgainCause {
    /// An attempt failed, and there is another one.
    #[n(0)]
    Failed {
        /// The fault's name.
        #[n(0)]
        fault: String,
        /// The exit status, if it exited.
        #[n(1)]
        exit_code: Option<i32>,
        /// Attempts that failed.
        #[n(2)]
        n_failed: u32,
        /// Attempts that may fail in all.
        #[n(3)]
        most: u32,
        /// The time of the next attempt.
        #[n(4)]
        next: Wall,
    },
    /// An attempt was lost while it ran, with its machine or the executor there.
    #[n(1)]
    Lost {
        /// The machine's name.
        #[n(0)]
        machine: String,
    },
    /// It has completed, and files that it made are gone.
    #[n(2)]
    FilesGone {
        /// The machine that lacks them.
        #[n(0)]
        machine: String,
    },
}

/// Activities that wait before another attempt.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct InBackoff {
    /// The number of them.
    #[n(0)]
    pub n: u64,
    /// The one whose attempt is the next.
    #[n(1)]
    pub activity: ActivityId,
    /// Its name, where the definition as it was submitted has none.
    #[n(2)]
    pub name: Option<String>,
    /// The time of that attempt.
    #[n(3)]
    pub until: Wall,
}

/// The progress of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ControllerProgress {
    /// The controller.
    #[n(0)]
    pub node: NodeId,
    /// Activities below it that have ended.
    #[n(1)]
    pub n_ended: u32,
    /// Activities below it.
    #[n(2)]
    pub n_all: u32,
}

/// A running activity.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Running {
    /// The activity.
    #[n(0)]
    pub activity: ActivityId,
    /// The number of the attempt.
    #[n(1)]
    pub number: u32,
    /// The machine.
    #[n(2)]
    pub resource: ResourceId,
    /// The start.
    #[n(3)]
    pub since: Wall,
    /// The name of the activity, where the definition as it was submitted has none: it runs for an
    /// item.
    #[n(4)]
    pub name: Option<String>,
}
