//! What the executor carries for a later life of this daemon.

use machine::Codec;
use minicbor::{Decode, Encode};
use model::Produced;

/// All that is needed to finish an attempt whose command was started in an earlier life.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub(crate) struct Note {
    /// The process manager that dispatched it.
    #[n(0)]
    pub(crate) owner: u32,
    /// Slots that it holds.
    #[n(1)]
    pub(crate) cores: u32,
    /// Where it runs.
    #[n(2)]
    pub(crate) directory: String,
    /// What is taken out of there.
    #[n(3)]
    pub(crate) outputs: Vec<Produced>,
    /// Whether the whole of stdout is wanted.
    #[n(4)]
    pub(crate) wants_stdout: bool,
    /// Whether the whole of stderr is wanted.
    #[n(5)]
    pub(crate) wants_stderr: bool,
}

impl Note {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        Codec::encode(self, &mut bytes);
        bytes
    }

    /// None where the bytes are not a note: another version wrote it, or it was damaged.
    pub(crate) fn read(bytes: &[u8]) -> Option<Note> {
        <Note as Codec>::decode(bytes).ok()
    }
}
