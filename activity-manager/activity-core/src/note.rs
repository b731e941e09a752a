//! The data that the executor keeps for a later epoch of this daemon.

use machine::Codec;
use minicbor::{Decode, Encode};
use model::Produced;

/// Everything needed to finish an attempt whose command was started in an earlier epoch.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub(crate) struct Note {
    /// The process manager that dispatched it.
    #[n(0)]
    pub(crate) owner: u32,
    /// Slots that it holds.
    #[n(1)]
    pub(crate) cores: u32,
    /// Its directory.
    #[n(2)]
    pub(crate) directory: String,
    /// Its wanted outputs.
    #[n(3)]
    pub(crate) outputs: Vec<Produced>,
    /// True if all of stdout is wanted.
    #[n(4)]
    pub(crate) wants_stdout: bool,
    /// True if all of stderr is wanted.
    #[n(5)]
    pub(crate) wants_stderr: bool,
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
