//! Process manager and group manager: offers are pushed, slots are claimed, granted and released.
//!
//! The process manager repeats a claim or a release until it is answered; the group manager answers
//! repeats from what it has recorded.

use std::collections::BTreeMap;

use minicbor::{Decode, Encode};
use model::{Bytes, Epoch, GrantId, GroupId, ProcessId, ResourceId};

/// Machines of one offer at most.
pub const RESOURCES_MAX: usize = 100_000;

/// From a process manager.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum ToGroup {
    /// The first message of a connection. Answered by `Offer`.
    #[n(0)]
    Attach {
        /// The sender's life.
        #[n(0)]
        epoch: Epoch,
    },
    /// Slots that a process wants beside those it has. Answered by `Granted` or `Refused`.
    #[n(1)]
    Claim {
        /// Counts up for each process: a repeat has the same number and gets the same answer.
        #[n(0)]
        number: u32,
        /// For whom.
        #[n(1)]
        process: ProcessId,
        /// What.
        #[n(2)]
        wants: Vec<Want>,
    },
    /// The process needs nothing any more. Answered by `Released`.
    #[n(2)]
    Release(#[n(0)] ProcessId),
    /// All processes of the sender that have not given back what they hold. It is sent where both are
    /// one program, which keeps a journal of each, and one of the two may have been lost: at the
    /// beginning of a connection, and again when the receiver has told its life.
    #[n(3)]
    Holds {
        /// The processes.
        #[n(0)]
        held: Vec<Held>,
        /// The receiver's life, where the sender knew it. Then what an earlier life has granted to
        /// others is held by nobody.
        #[n(1)]
        epoch: Option<Epoch>,
    },
}

/// What a process holds in a group.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Held {
    /// Which process.
    #[n(0)]
    pub process: ProcessId,
    /// The number of its last claim that was answered.
    #[n(1)]
    pub number: u32,
    /// All that was granted to it.
    #[n(2)]
    pub grants: Vec<Grant>,
}

/// Slots of one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Want {
    /// Which machine.
    #[n(0)]
    pub resource: ResourceId,
    /// How many slots.
    #[n(1)]
    pub slots: u32,
}

/// From a group manager.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum FromGroup {
    /// The group's machines and what of them is free. A later one replaces an earlier one.
    #[n(0)]
    Offer(#[n(0)] Offer),
    /// The claim is granted, whole or in part.
    #[n(1)]
    Granted {
        /// Which claim.
        #[n(0)]
        number: u32,
        /// Whose.
        #[n(1)]
        process: ProcessId,
        /// All that the process holds in this group with this claim, earlier ones included.
        #[n(2)]
        grants: Vec<Grant>,
    },
    /// Nothing of the claim is granted.
    #[n(2)]
    Refused {
        /// Which claim.
        #[n(0)]
        number: u32,
        /// Whose.
        #[n(1)]
        process: ProcessId,
    },
    /// The process holds nothing here.
    #[n(3)]
    Released(#[n(0)] ProcessId),
}

/// What a group tells of its machines.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Offer {
    /// The sender's life.
    #[n(0)]
    pub epoch: Epoch,
    /// Which group.
    #[n(1)]
    pub group: GroupId,
    /// Its machines, those that are suspect or drained left out.
    #[n(2)]
    pub resources: Vec<Offered>,
    /// Machines that take nothing more, as when they are drained: what has not started there is to
    /// go elsewhere. One that the group alone cannot reach is not named here.
    #[cbor(n(3), default)]
    pub leaving: Vec<ResourceId>,
}

/// One machine of an offer.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Offered {
    /// Its number.
    #[n(0)]
    pub resource: ResourceId,
    /// Its name.
    #[n(1)]
    pub name: String,
    /// Reference seconds of work that one core does in a second.
    #[n(2)]
    pub power: f64,
    /// Slots it has.
    #[n(3)]
    pub slots: u32,
    /// Slots that nobody holds.
    #[n(4)]
    pub free: u32,
    /// Memory for activities.
    #[n(5)]
    pub memory: Bytes,
    /// What it is or has.
    #[n(6)]
    pub labels: BTreeMap<String, String>,
    /// Where others of the grid are given its files: host and port. None where nobody is.
    #[n(7)]
    pub bulk: Option<String>,
}

/// Leave to use slots of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Grant {
    /// Its number.
    #[n(0)]
    pub id: GrantId,
    /// Which machine.
    #[n(1)]
    pub resource: ResourceId,
    /// How many slots.
    #[n(2)]
    pub slots: u32,
}
