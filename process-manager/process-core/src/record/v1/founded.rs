//! The founding event of a process: its submission.

use minicbor::{Decode, Encode};
use model::{
    Artifact, Definition, Draft, OnFault, ProcessId, ResourceId, Span, SubmitKey, Value, Wall,
};

use super::flow::Flow;

/// A submission.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Founded {
    /// The client's key.
    #[n(0)]
    pub key: SubmitKey,
    /// The definition.
    #[n(1)]
    pub draft: Accepted,
    /// Values of its inputs in the order of the draft's, defaults filled in.
    #[n(2)]
    pub inputs: Vec<Value>,
    /// Its files in the order of the draft's.
    #[n(3)]
    pub files: Vec<Artifact>,
    /// The file that the definition was read from.
    #[n(4)]
    pub origin: String,
    /// When it was submitted.
    #[n(5)]
    pub at: Wall,
    /// The process whose recorded outcomes stand here too.
    #[n(6)]
    pub base: Option<ProcessId>,
    /// Its action when an activity has faulted.
    #[cbor(n(7), with = "super::on_fault")]
    pub on_fault: OnFault,
    /// The time for which it is kept after its end.
    #[n(8)]
    pub keep: Option<Span>,
    /// The machine that has its files; none if they lie on each machine.
    #[n(9)]
    pub store: Option<ResourceId>,
    /// The identity in the submitter's certificate; none where the process came from the manager's own
    /// machine.
    #[n(10)]
    pub owner: Option<String>,
    /// The controllers' moves at the start.
    #[n(11)]
    pub flow: Flow,
    /// The number of the semantics that it was accepted under, see [`SEMANTICS`].
    #[n(12)]
    pub semantics: u32,
    /// Variables of the environment of its commands that came with the submission, by name; nothing is said
    /// where there are none.
    #[n(13)]
    pub environment: Option<Vec<(String, String)>>,
}

/// The number of the semantics of definitions and events in this version of the program. It is raised
/// with each change by which a recorded process would run otherwise than it was accepted; a version
/// goes on with processes accepted under its own number and under smaller ones.
pub const SEMANTICS: u32 = 1;

/// The definition of a process that was accepted, which is never checked again.
#[derive(Clone, Debug)]
pub enum Accepted {
    /// It was checked in this epoch.
    Checked(Definition),
    /// It was read from a journal.
    Read(Box<Draft>),
}

impl Accepted {
    /// As it was submitted.
    pub fn draft(&self) -> &Draft {
        match self {
            Accepted::Checked(definition) => definition.draft(),
            Accepted::Read(draft) => draft,
        }
    }

    /// The definition; the error says why it is not understood.
    pub(crate) fn definition(&self) -> Result<Definition, String> {
        match self {
            Accepted::Checked(definition) => Ok(definition.clone()),
            Accepted::Read(draft) => {
                let definition = Draft::recorded((**draft).clone());
                definition.map_err(|problems| match problems.first() {
                    Some(first) => first.to_string(),
                    None => "its definition is not understood".to_owned(),
                })
            }
        }
    }
}

impl PartialEq for Accepted {
    fn eq(&self, other: &Accepted) -> bool {
        self.draft() == other.draft()
    }
}

impl<C> Encode<C> for Accepted {
    fn encode<W: minicbor::encode::Write>(
        &self,
        encoder: &mut minicbor::Encoder<W>,
        cx: &mut C,
    ) -> Result<(), minicbor::encode::Error<W::Error>> {
        self.draft().encode(encoder, cx)
    }
}

impl<'b, C> Decode<'b, C> for Accepted {
    fn decode(
        decoder: &mut minicbor::Decoder<'b>,
        cx: &mut C,
    ) -> Result<Accepted, minicbor::decode::Error> {
        Ok(Accepted::Read(Box::new(Draft::decode(decoder, cx)?)))
    }
}
