//! The logic of an activity manager: slots, attempts and their lives, staging decisions, reports.
//!
//! It is told what arrives and decides what is to be done; it starts no command, touches no file
//! and has no clock. The executor holds the commands themselves, and holds their outcomes until the
//! process manager has made them durable: so little is kept here that a restart forgets nothing
//! that matters. Only the number of the manager's life is durable.
//!
//! Read [`ActivityManager`] and [`Input`] first, then the drawing in `attempt.rs`.

mod access;
mod attempt;
mod closed;
mod copies;
mod drain;
mod executor;
mod group;
mod holders;
mod io;
mod lease;
mod manager;
mod note;
mod outbox;
mod outcome;
mod process;
mod repeat;
mod served;
mod start;
mod table;
mod tail;
#[cfg(test)]
mod tests;
mod watch;
mod workers;

pub use io::{ATTEMPTS_KNOWN_MAX, DISPATCH_BYTES_MAX, KNOWN_BYTES_MAX, prefetch_default};
pub use io::{Config, Effect, Event, Input, Peer, State, Stream, Trouble, Workplace};
pub use manager::ActivityManager;
