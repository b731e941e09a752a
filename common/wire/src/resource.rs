//! Activity manager and group manager: a machine registers, and gets the grants for its slots.

use std::collections::BTreeMap;

use minicbor::{Decode, Encode};
use model::{Bytes, Epoch, GrantId, ProcessId, ResourceId};

/// From an activity manager.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum FromResource {
    /// The first message of a connection, repeated until answered. Answered by `Registered` and
    /// `Grants`.
    #[n(0)]
    Register {
        /// The sender's epoch.
        #[n(0)]
        epoch: Epoch,
        /// The properties of the machine.
        #[n(1)]
        facts: Facts,
    },
    /// The sender is alive. Repeated if machines are watched; not answered.
    #[n(1)]
    Alive,
    /// The answer to `Inquire`: nothing of these processes waits, is staged, runs or is collected,
    /// and nothing of them starts until later grants allow it.
    #[n(2)]
    Unused {
        /// The sender's epoch.
        #[n(0)]
        epoch: Epoch,
        /// The question.
        #[n(1)]
        question: QuestionId,
        /// The processes.
        #[n(2)]
        processes: Vec<ProcessId>,
    },
}

/// Processes of one question at most; there is another one after its answer.
pub const PROCESSES_ASKED_MAX: usize = 1_024;

/// The number of a question, which counts up over all epochs of its sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct QuestionId {
    /// The sender's epoch.
    #[n(0)]
    pub epoch: Epoch,
    /// The number in this epoch, from 1 on.
    #[n(1)]
    pub number: u64,
}

/// Bytes of a machine's labels, by [`labels_bytes`], so that what a group manager keeps of a machine
/// fits into a record of 4 KiB.
pub const LABELS_BYTES_MAX: usize = 3_072;

/// The labels that each machine tells of itself. Others are given by its administrator.
pub const OWN_LABELS: [&str; 3] = ["os", "arch", "hostname"];

/// Bytes of labels with what each takes beside its text.
pub fn labels_bytes(labels: &BTreeMap<String, String>) -> usize {
    let bytes = |(name, value): (&String, &String)| name.len() + value.len() + 8;
    labels.iter().map(bytes).sum()
}

/// The properties of a machine.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Facts {
    /// Its name, unique in its group: a machine that comes back under its name has its number.
    #[n(0)]
    pub name: String,
    /// Slots for activities.
    #[n(1)]
    pub slots: u32,
    /// Memory for activities.
    #[n(2)]
    pub memory: Bytes,
    /// Reference seconds of work that one core does in a second.
    #[n(3)]
    pub power: f64,
    /// Labels by name, such as `os: linux`.
    #[n(4)]
    pub labels: BTreeMap<String, String>,
    /// The address from which others of the grid fetch its files, as host and port; none if it
    /// serves none.
    #[n(5)]
    pub bulk: Option<String>,
    /// True if the machine only stores files and never has slots. A machine that has no slots for
    /// the moment keeps no files for others.
    #[cbor(n(6), default)]
    pub is_store: bool,
    /// The reason why it lends no slots at the moment, and until when if that is known, in words for people; none
    /// while it does.
    #[n(7)]
    pub closed: Option<String>,
}

/// Bytes of the reason why a machine is closed.
pub const CLOSED_BYTES_MAX: usize = 255;

/// From a group manager.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum ToResource {
    /// The machine's number.
    #[n(0)]
    Registered(#[n(0)] ResourceId),
    /// All grants on this machine; replaces the grants sent before. Sent again at each change and
    /// each registration.
    #[n(1)]
    Grants(
        #[n(0)] Vec<ProcessGrant>,
        /// The last question of the sender that is closed. Processes that the receiver has called
        /// unused in answer to a later one have no grant.
        #[cbor(n(1), default)]
        QuestionId,
    ),
    /// Asks which of these processes nothing is left of, since their process manager does not
    /// answer. Repeated until answered by `Unused`.
    #[n(2)]
    Inquire {
        /// The number of the question.
        #[n(0)]
        question: QuestionId,
        /// At most [`PROCESSES_ASKED_MAX`] processes.
        #[n(1)]
        processes: Vec<ProcessId>,
    },
}

/// A grant of a machine's slots to one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ProcessGrant {
    /// The grant.
    #[n(0)]
    pub id: GrantId,
    /// The process that holds it.
    #[n(1)]
    pub process: ProcessId,
    /// Slots that its attempts may hold together; 0 where the machine only keeps its files.
    #[n(2)]
    pub slots: u32,
}
