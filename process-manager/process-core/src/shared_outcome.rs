//! Outcomes that outlive the state directory of their run, so that the next run of a definition may recall them.
//!
//! The shell keeps them where all runs of a user find them ([`Effect::Share`](crate::Effect::Share)), and gives
//! those of earlier runs back at a start ([`Input::Recalled`](crate::Input::Recalled)). Nothing depends on
//! them: one that is missing lets its activity run, and one that stands is recorded in full.

use minicbor::{Decode, Encode};
use model::{Artifact, AttemptId, Bytes, Hash, ProcessId, Span, Value, Wall};

use crate::record::Log;

/// The outcome of a completed activity, for later runs.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct SharedOutcome {
    /// The hash of all that decides it: its cache key.
    #[n(0)]
    pub key: Hash,
    /// The attempt that ran.
    #[n(1)]
    pub of: AttemptId,
    /// The process whose state directory has its files.
    #[n(2)]
    pub holder: ProcessId,
    /// The name of the machine on which it ran.
    #[n(3)]
    pub machine: String,
    /// When it started.
    #[n(4)]
    pub started: Wall,
    /// Its run time.
    #[n(5)]
    pub wall: Span,
    /// CPU time that it used.
    #[n(6)]
    pub cpu: Span,
    /// The most memory that it used.
    #[n(7)]
    pub peak_memory: Bytes,
    /// Its exit status.
    #[n(8)]
    pub exit_code: Option<i32>,
    /// Its process id on its machine.
    #[n(9)]
    pub pid: u32,
    /// Slots that it held.
    #[n(10)]
    pub slots: u32,
    /// The place of its streams, in the state directory of the process that ran it.
    #[n(11)]
    pub log: Option<Log>,
    /// Its outputs.
    #[n(12)]
    pub outputs: Vec<Artifact>,
    /// Values read from its streams: stdout before stderr.
    #[n(13)]
    pub captured: Vec<Value>,
    /// True if an activity of another definition may recall it: `cache: true`.
    #[n(14)]
    pub is_for_all: bool,
    /// The programs that its command names, as they were. The shell, which finds them, puts them in.
    #[n(15)]
    pub programs: Vec<Program>,
}

/// A program that a command names, by which it is known later to be the same.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Program {
    /// Its name or path, as the command has it.
    #[n(0)]
    pub name: String,
    /// The number of its file, which another one that takes its place does not have.
    #[n(1)]
    pub inode: u64,
    /// Its size.
    #[n(2)]
    pub bytes: u64,
    /// When it was written to, in nanoseconds since 1970.
    #[n(3)]
    pub written: i64,
}

/// An outcome that is to be kept for later runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ToShare {
    /// The name of the definition.
    pub definition: String,
    /// The outcome, without the programs of its command.
    pub outcome: SharedOutcome,
    /// Words of the command, some of which may name programs.
    pub words: Vec<String>,
}

impl SharedOutcome {
    /// Its bytes, with their length before them.
    pub fn encode(&self) -> Vec<u8> {
        let own = minicbor::to_vec(self).expect("a Vec takes every byte");
        let n_bytes = u32::try_from(own.len()).expect("an activity has less than 4 GiB of text");
        [&n_bytes.to_le_bytes(), own.as_slice()].concat()
    }

    /// The outcomes in these bytes, one after another. What cannot be read is passed over.
    pub fn decode_all(mut bytes: &[u8]) -> Vec<SharedOutcome> {
        let mut outcomes = Vec::new();
        while let Some((n_bytes, rest)) = bytes.split_first_chunk() {
            let n_bytes = u32::from_le_bytes(*n_bytes) as usize;
            let Some((own, rest)) = rest.split_at_checked(n_bytes) else {
                break;
            };
            outcomes.extend(minicbor::decode::<SharedOutcome>(own).ok());
            bytes = rest;
        }
        outcomes
    }
}
