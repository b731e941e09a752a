//! One attempt, and its states:
//!
//! ```text
//!             grant has room          done              grant has room
//! Waiting ------------------> Staging -----> Staged ------------------> Queued
//!    |                           |             |                          | |
//!    |          stopped, or not staged         |             it runs      | | it ended
//!    |                           |             |        +-----------------+ |
//!    |                           |             |        v                   v
//!    |                           |             |     Running ----> (ended: outputs wanted?)
//!    |                           |             |        |               | yes         | no
//!    |                           |             |   executor gone        v             |
//!    |                           |             |        |          Collecting         |
//!    |                           |             |        |               | kept or not |
//!    v                           v             v        v               v             v
//!    +---------------------------+-------------+--------+---------------+---------> Ended
//!                                                                                     |
//!                                                                      acknowledged   v
//!                                                                                   (gone)
//! ```
//!
//! Attempts that have not started can be taken back: from `Waiting`, `Staging` and `Staged` at
//! once, from `Queued` when the executor confirms it. The attempt is removed then, without an
//! outcome.

use model::{AttemptId, Bytes, Mono, Produced, Wall};
use wire::attempt::{Dispatch, Outcome, Stdin};
use wire::executor::Start;

use crate::outcome;

/// A known attempt. Thousands may wait, so the data of a single state is boxed in it.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    /// Its name.
    pub(crate) id: AttemptId,
    /// The process manager that gets its reports: the last one that mentioned it.
    pub(crate) owner: u32,
    /// Slots that it holds.
    pub(crate) cores: u32,
    /// Memory that it may use; zero where nothing is said.
    pub(crate) memory: Bytes,
    /// Its position in the order of dispatch.
    pub(crate) order: u64,
    /// When it was last requested from the executor or a worker, or its outcome last sent.
    pub(crate) asked: Mono,
    /// True if its process manager wants it stopped.
    pub(crate) stopping: bool,
    /// True if its process manager wants it back. It is never sent to the executor again then,
    /// because the executor may have given it back already.
    pub(crate) retracting: bool,
    /// True if it must never run twice.
    pub(crate) is_once: bool,
    /// Its working directory, once it exists.
    pub(crate) directory: Option<Box<str>>,
    /// Its state.
    pub(crate) state: AttemptState,
}

/// The state of an attempt.
#[derive(Clone, Debug)]
pub(crate) enum AttemptState {
    /// It waits for a grant and for its turn.
    Waiting(Box<Dispatch>),
    /// Its directory is being made.
    Staging(Box<Dispatch>),
    /// Ready to be handed to the executor.
    Staged(Box<Start>),
    /// Sent to the executor, and not known to run. For an attempt of an earlier epoch, only the
    /// executor knows the command.
    Queued(Option<Box<Start>>),
    /// Its command runs.
    Running {
        /// The command's process id.
        pid: u32,
        /// When it was started.
        started: Wall,
    },
    /// Its command completed, and its outputs are being stored.
    Collecting(Box<Collecting>),
    /// Its outcome is sent until it is acknowledged.
    Ended(Box<Outcome>),
}

/// An attempt of which only the outputs are missing.
#[derive(Clone, Debug)]
pub(crate) struct Collecting {
    /// The outcome to report when they are stored.
    pub(crate) outcome: Outcome,
    /// The wanted outputs.
    pub(crate) outputs: Vec<Produced>,
    /// The user that its command ran as, if not the executor's own.
    pub(crate) user: Option<u32>,
    /// The end of stderr, for the report of a missing output.
    pub(crate) stderr_tail: String,
}

impl AttemptState {
    /// Returns true if it holds slots of its process's grant, as far as is known here.
    pub(crate) fn is_handed(&self) -> bool {
        match self {
            AttemptState::Queued(_) | AttemptState::Running { .. } => true,
            AttemptState::Waiting(_)
            | AttemptState::Staging(_)
            | AttemptState::Staged(_)
            | AttemptState::Collecting(_)
            | AttemptState::Ended(_) => false,
        }
    }

    /// Returns true from the start of its command to its end.
    pub(crate) fn has_started(&self) -> bool {
        match self {
            AttemptState::Running { .. } | AttemptState::Collecting(_) => true,
            AttemptState::Waiting(_)
            | AttemptState::Staging(_)
            | AttemptState::Staged(_)
            | AttemptState::Queued(_)
            | AttemptState::Ended(_) => false,
        }
    }

    /// Returns true between waiting and its end.
    pub(crate) fn is_ahead(&self) -> bool {
        match self {
            AttemptState::Waiting(_) | AttemptState::Ended(_) => false,
            AttemptState::Staging(_)
            | AttemptState::Staged(_)
            | AttemptState::Queued(_)
            | AttemptState::Running { .. }
            | AttemptState::Collecting(_) => true,
        }
    }

    /// Bytes that count towards [`crate::KNOWN_BYTES_MAX`]. Attempts at the executor are bounded by
    /// the slots instead.
    pub(crate) fn weight(&self) -> usize {
        match self {
            AttemptState::Waiting(dispatch) | AttemptState::Staging(dispatch) => {
                dispatch_bytes(dispatch)
            }
            AttemptState::Staged(_) | AttemptState::Queued(_) | AttemptState::Running { .. } => 0,
            AttemptState::Collecting(collecting) => outcome::weight(&collecting.outcome),
            AttemptState::Ended(outcome) => outcome::weight(outcome),
        }
    }
}

/// Overhead of a string, an artifact or a pair on the heap, in bytes.
const PIECE: usize = 64;

/// Approximate bytes of a dispatch.
pub(crate) fn dispatch_bytes(dispatch: &Dispatch) -> usize {
    let inputs: usize = dispatch
        .inputs
        .iter()
        .map(|(path, _)| path.len() + 2 * PIECE)
        .sum();
    let sources: usize = dispatch
        .sources
        .iter()
        .map(|sources| size_of_val(&sources.holders[..]) + PIECE)
        .sum();
    start_bytes(dispatch) + inputs + sources
}

/// Approximate bytes of the part of a dispatch that goes to the executor: inputs do not, since they lie
/// in the directory by then.
pub(crate) fn start_bytes(dispatch: &Dispatch) -> usize {
    let words: usize = dispatch.command.iter().map(|word| word.len() + PIECE).sum();
    let env: usize = dispatch
        .env
        .iter()
        .map(|(name, value)| name.len() + value.len() + PIECE)
        .sum();
    let outputs: usize = dispatch
        .outputs
        .iter()
        .map(|output| output.name.len() + output.path.len() + PIECE)
        .sum();
    let stdin = match &dispatch.stdin {
        Stdin::Empty => 0,
        Stdin::Text(text) | Stdin::File(text) => text.len(),
    };
    size_of::<Dispatch>() + words + env + outputs + stdin
}
