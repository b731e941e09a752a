//! The events and snapshots in an activity manager's journal, and the notes that the executor keeps
//! for it, as types of their own.
//!
//! None of them is a type of `wire`, so messages and records change apart. A type here never changes
//! its meaning: a new fact gets a new variant or field. `tests/journals` has journals of every
//! release.
//!
//! Events are facts: whatever decides runs before an event is recorded, and applying one only
//! writes.

mod v1;

pub use v1::{Event, Note, Snapshot};

#[cfg(test)]
mod tests;
