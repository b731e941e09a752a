//! What is remembered of one activity: as little as can be, since there may be a million.

use minicbor::{Decode, Encode};
use model::{Bytes, ResourceId, Span, Wall};
use wire::client::ActivityPhase;

/// The durable state of one activity: its phase and its last attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct ActivityState {
    /// When the last attempt started; zero while unknown.
    #[n(0)]
    pub started: Wall,
    /// How long it ran.
    #[n(1)]
    pub wall: Span,
    /// CPU time that it used.
    #[n(2)]
    pub cpu: Span,
    /// The most memory that it used.
    #[n(3)]
    pub peak_memory: Bytes,
    /// The number of the last attempt; 0 before the first.
    #[n(4)]
    pub number: u32,
    /// The machine of the last attempt.
    #[n(5)]
    pub resource: ResourceId,
    /// The command's process id on its machine.
    #[n(6)]
    pub pid: u32,
    /// Its exit status, where `has_exit_code`.
    #[n(7)]
    pub exit_code: i32,
    /// Attempts that failed by themselves: what `retry: attempts` bounds.
    #[n(8)]
    pub n_failed: u16,
    /// Attempts that were lost while they ran.
    #[n(9)]
    pub n_lost: u16,
    /// Where the activity is in its life.
    #[n(10)]
    pub phase: ActivityPhase,
    /// Whether the last attempt exited by itself.
    #[n(11)]
    pub has_exit_code: bool,
}

// A budget for big processes: what one activity costs beside its definition and its plan entry.
const _: () = assert!(size_of::<ActivityState>() <= 64);

impl ActivityState {
    /// Whether an attempt is out: sent to a machine, and its end not recorded.
    pub fn is_out(&self) -> bool {
        matches!(self.phase, ActivityPhase::Sent | ActivityPhase::Running)
    }
}
