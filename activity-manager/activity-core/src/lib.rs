//! The logic of an activity manager: slots, the states of attempts, staging decisions, reports.
//!
//! It reacts to inputs with decisions; it starts no command, touches no file and has no clock. The
//! executor holds the commands, and their outcomes until the process manager has made them durable.
//! So little is stored here that a restart forgets nothing important: only the epoch and the
//! attempts that must never run twice are durable.
//!
//! Read [`ActivityManager`] and [`Input`] first, then the diagram in `attempt.rs`. `step.rs` passes
//! each input to the file that takes it; those files import `manager.rs`, and that the `parts`.

mod access;
mod advance;
mod attempt;
mod closed;
mod copies;
mod discards;
mod drain;
mod executor;
mod group;
mod holders;
mod io;
mod lease;
mod manager;
mod orphans;
mod outbox;
mod outcome;
mod parts;
mod process_links;
pub mod record;
mod repeat;
mod served;
mod start;
mod state;
mod step;
mod table;
mod tail;
#[cfg(test)]
mod tests;
mod watch;
mod workers;

pub use io::{ATTEMPTS_KNOWN_MAX, DISPATCH_BYTES_MAX, KNOWN_BYTES_MAX, prefetch_default};
pub use io::{Config, Effect, Input, Peer, Stream, Trouble, Workplace};
pub use manager::ActivityManager;
pub use record::{Event, Snapshot};
pub use state::State;
