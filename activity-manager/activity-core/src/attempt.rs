//! One attempt, and its life:
//!
//! ```text
//!             leave has room          done              leave has room
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
//! What has not started may be taken back: from `Waiting`, `Staging` and `Staged` at once, from
//! `Queued` when the executor says so. It is gone then, without an outcome.

use model::{AttemptId, Mono, Produced, Wall};
use wire::attempt::{Dispatch, Outcome, Stdin};
use wire::executor::Start;

use crate::outcome;

/// An attempt that is known. Thousands may wait, so what only one state needs is boxed in it.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    /// Its name.
    pub(crate) id: AttemptId,
    /// The process manager that is told of it: the one that spoke of it last.
    pub(crate) owner: u32,
    /// Slots that it holds.
    pub(crate) cores: u32,
    /// Its place in the order of dispatch.
    pub(crate) order: u64,
    /// When what it waits for was asked for, or its outcome told.
    pub(crate) asked: Mono,
    /// Whether its process manager wants it stopped.
    pub(crate) stopping: bool,
    /// Whether its process manager wants it back. Then it is never handed to the executor again: that
    /// could have given it back before.
    pub(crate) retracting: bool,
    /// Whether it must never run twice.
    pub(crate) is_once: bool,
    /// Where it runs, once there is a directory.
    pub(crate) directory: Option<Box<str>>,
    /// How far it is.
    pub(crate) state: AttemptState,
}

/// How far an attempt is.
#[derive(Clone, Debug)]
pub(crate) enum AttemptState {
    /// For leave, and for its turn.
    Waiting(Box<Dispatch>),
    /// Its directory is being made.
    Staging(Box<Dispatch>),
    /// Ready to be handed to the executor.
    Staged(Box<Start>),
    /// Handed to the executor; not known to run. Of one that an earlier life has handed over only
    /// the executor knows the command.
    Queued(Option<Box<Start>>),
    /// Its command runs.
    Running {
        /// The command's process id.
        pid: u32,
        /// When it was started.
        started: Wall,
    },
    /// Its command ended well, and its outputs are being kept.
    Collecting(Box<Collecting>),
    /// What became of it is told until that is acknowledged.
    Ended(Box<Outcome>),
}

/// An attempt of which only the outputs are missing.
#[derive(Clone, Debug)]
pub(crate) struct Collecting {
    /// What will be told when they are kept.
    pub(crate) outcome: Outcome,
    /// What is wanted.
    pub(crate) outputs: Vec<Produced>,
    /// The user that its command ran as, where that is not the executor's own.
    pub(crate) user: Option<u32>,
    /// The end of stderr, should an output be missing.
    pub(crate) stderr_tail: String,
}

impl AttemptState {
    /// Whether it holds slots of its process's leave, as far as is known here.
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

    /// Whether it is beyond waiting and not at its end.
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

    /// Bytes that count towards [`crate::KNOWN_BYTES_MAX`]. What is handed over is bounded by the
    /// slots instead.
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

/// Bytes of a dispatch, about.
pub(crate) fn dispatch_bytes(dispatch: &Dispatch) -> usize {
    /// A string, an artifact or a pair on the heap beside its text.
    const PIECE: usize = 64;
    let words: usize = dispatch.command.iter().map(|word| word.len() + PIECE).sum();
    let env: usize = dispatch
        .env
        .iter()
        .map(|(name, value)| name.len() + value.len() + PIECE)
        .sum();
    let inputs: usize = dispatch
        .inputs
        .iter()
        .map(|(path, _)| path.len() + 2 * PIECE)
        .sum();
    let outputs: usize = dispatch
        .outputs
        .iter()
        .map(|output| output.name.len() + output.path.len() + PIECE)
        .sum();
    let sources: usize = dispatch
        .sources
        .iter()
        .map(|sources| size_of_val(&sources.holders[..]) + PIECE)
        .sum();
    let stdin = match &dispatch.stdin {
        Stdin::Empty => 0,
        Stdin::Text(text) | Stdin::File(text) => text.len(),
    };
    size_of::<Dispatch>() + words + env + inputs + outputs + sources + stdin
}
