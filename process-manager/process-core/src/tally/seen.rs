//! The state of a manager at a moment, for metrics.

use wire::client::Totals;

use crate::tally::Tally;

/// The labels of the phases of processes. One that is held is kept and not understood.
pub const PROCESS_PHASES: [&str; 7] = [
    "running",
    "faulting",
    "cancelling",
    "completed",
    "faulted",
    "cancelled",
    "held",
];

/// The figures that a process manager tells of itself.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The events since the start.
    pub tally: Tally,
    /// Processes, in the order of [`PROCESS_PHASES`].
    pub processes: [u64; PROCESS_PHASES.len()],
    /// Activities of the processes that have not ended.
    pub totals: Totals,
    /// Attempts that are out at machines.
    pub n_out: u64,
    /// Processes and slots.
    pub market: SeenMarket,
    /// Machines that take work.
    pub n_trusted: u64,
    /// Machines that were silent for too long.
    pub n_suspect: u64,
    /// Machines that their groups want emptied.
    pub n_leaving: u64,
    /// Clients that watch processes.
    pub n_watchers: u64,
    /// Templates of the history.
    pub n_templates: u64,
}

/// Processes on their way to a plan, and slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeenMarket {
    /// Processes that want their first plan.
    pub n_waiting: u64,
    /// Processes that want another plan.
    pub n_waiting_again: u64,
    /// Processes that a plan is being made for.
    pub n_planning: u64,
    /// Processes that have claimed slots and wait for the answer.
    pub n_claiming: u64,
    /// Processes that have ended and whose slots are not given back yet.
    pub n_releasing: u64,
    /// Slots that processes of this manager may claim.
    pub slots_free: u64,
    /// Slots that they hold or have claimed.
    pub slots_used: u64,
}
