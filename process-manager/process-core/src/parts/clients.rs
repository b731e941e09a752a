//! Clients that wait: watchers of processes, readers of the streams of attempts.

use model::{AttemptId, Mono, ProcessId};
use wire::attempt::Stream;

/// A client that watches a process.
#[derive(Debug)]
pub(crate) struct Watcher {
    pub(crate) process: ProcessId,
    pub(crate) seen: u64,
    pub(crate) told: Mono,
}

/// The output of an attempt that a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// Both streams of this attempt, as far as they are written.
    SoFar(AttemptId),
    /// One stream of this attempt, from this byte on.
    From(AttemptId, Stream, u64),
}

impl Question {
    pub(crate) fn attempt(self) -> AttemptId {
        match self {
            Question::SoFar(attempt) | Question::From(attempt, ..) => attempt,
        }
    }
}
