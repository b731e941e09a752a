//! The journal of a process manager: events and snapshots as types of their own.
//!
//! None of them is a type of `wire`, so messages and journals change apart. A type here never changes
//! its meaning: a new fact gets a new variant or field, and an event of an old journal is read and
//! folded as it always was. `tests/journals` replays journals of every release.
//!
//! Events are facts. Every decision (control flow, judging outcomes, which files to make again) is
//! taken before its event is recorded, and the event holds the result.

mod convert;
mod v1;

pub use v1::*;

#[cfg(test)]
mod tests;
