//! The commands of the simulation: their output and files follow from their command line
//! and their inputs alone, so that a run can be compared with what should have come out.

use std::collections::BTreeMap;

use model::{ActivityId, Artifact, ArtifactKind, Bytes, Hash, ProcessId};
use wire::executor::Exit;

use crate::random::splitmix;

/// Numbers that commands print are below this.
pub const PRINTED_MAX: i64 = 1_000;

/// The ends of the command of an activity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Behaviour {
    /// Runs that fail before one ends well; `u32::MAX` is all of them.
    pub n_failing: u32,
    /// The end of a failing run.
    pub failure: Failure,
}

/// The end of a failing run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Failure {
    /// With exit status 1.
    #[default]
    Exit,
    /// With an exit status of its own.
    ExitWith(u8),
    /// By a signal.
    Signal,
    /// By its time limit.
    Timeout,
}

impl Failure {
    /// The exit that an executor reports.
    pub fn exit(self) -> Exit {
        match self {
            Failure::Exit => Exit::Exited { code: 1 },
            Failure::ExitWith(code) => Exit::Exited { code },
            Failure::Signal => Exit::Signaled { signal: 11 },
            Failure::Timeout => Exit::TimedOut,
        }
    }
}

/// The behaviour of all activities that do not simply end well.
pub type Behaviours = BTreeMap<(ProcessId, ActivityId), Behaviour>;

/// The number that a command prints.
pub fn printed(program: &[String]) -> i64 {
    let mut state = 1;
    for word in program {
        mix(&mut state, word.as_bytes());
    }
    (state % PRINTED_MAX as u64) as i64
}

/// The file that a command writes to a path in its directory. `inputs` are the staged files.
pub fn produced(program: &[String], inputs: &[(String, Artifact)], path: &str) -> Artifact {
    let mut sorted: Vec<_> = inputs.iter().collect();
    sorted.sort_unstable();
    let mut state = 2;
    for word in program {
        mix(&mut state, word.as_bytes());
    }
    for (path, artifact) in sorted {
        mix(&mut state, path.as_bytes());
        mix(&mut state, &artifact.hash.0);
    }
    mix(&mut state, path.as_bytes());
    named(state)
}

/// A file with contents of its own.
pub fn named(number: u64) -> Artifact {
    let mut state = number;
    let mut hash = [0; 32];
    for part in hash.chunks_mut(8) {
        part.copy_from_slice(&splitmix(&mut state).to_le_bytes());
    }
    let bytes = Bytes(splitmix(&mut state) % 1_000_000);
    Artifact {
        hash: Hash(hash),
        bytes,
        kind: ArtifactKind::File,
    }
}

fn mix(state: &mut u64, bytes: &[u8]) {
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        *state ^= u64::from_le_bytes(word);
        splitmix(state);
        *state = splitmix(state);
    }
    *state ^= bytes.len() as u64;
    *state = splitmix(state);
}
