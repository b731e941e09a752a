//! Events, snapshots and notes of the first release, in the form in which they are stored.

use std::collections::{BTreeMap, BTreeSet};

use machine::Codec;
use minicbor::{Decode, Encode};
use model::{AttemptId, Bytes, Epoch, Produced};

/// A durable fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Event {
    /// An epoch has begun, or a process manager has asked for the attempts here.
    #[n(0)]
    Epoch(#[n(0)] Epoch),
    /// An attempt that must never run twice is sent to the executor.
    #[n(1)]
    Starting {
        /// The attempt.
        #[n(0)]
        attempt: AttemptId,
        /// The process manager that gets its outcome.
        #[n(1)]
        owner: u32,
    },
    /// Its outcome is durable elsewhere, or it has not started after all.
    #[n(2)]
    Settled(#[n(0)] AttemptId),
    /// The journal of the earlier epochs was lost.
    #[n(3)]
    Forgot,
    /// A process manager has recorded the consequences of that for its processes.
    #[n(4)]
    Resolved(#[n(0)] u32),
}

/// The state that stands for all events so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Snapshot {
    /// The present epoch.
    #[n(0)]
    pub epoch: Epoch,
    /// Attempts that must never run twice and may have been started, with their process managers.
    #[cbor(n(1), default)]
    pub starting: BTreeMap<AttemptId, u32>,
    /// True if attempts may be missing there, because the journal of earlier epochs was lost.
    #[cbor(n(2), default)]
    pub has_forgotten: bool,
    /// Process managers that have recorded the consequences.
    #[cbor(n(3), default)]
    pub resolved: BTreeSet<u32>,
}

/// Everything needed to finish an attempt whose command was started in an earlier epoch.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Note {
    /// The process manager that dispatched it.
    #[n(0)]
    pub owner: u32,
    /// Slots that it holds.
    #[n(1)]
    pub cores: u32,
    /// Its directory.
    #[n(2)]
    pub directory: String,
    /// Its wanted outputs.
    #[n(3)]
    pub outputs: Vec<Produced>,
    /// True if all of stdout is wanted.
    #[n(4)]
    pub wants_stdout: bool,
    /// True if all of stderr is wanted.
    #[n(5)]
    pub wants_stderr: bool,
    /// Memory that it may use.
    #[n(6)]
    pub memory: Option<Bytes>,
}

impl Note {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        Codec::encode(self, &mut bytes);
        bytes
    }

    /// None if the bytes are no note: another version wrote it, or it was damaged.
    pub(crate) fn read(bytes: &[u8]) -> Option<Note> {
        <Note as Codec>::decode(bytes).ok()
    }
}
