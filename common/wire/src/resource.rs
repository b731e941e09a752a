//! Activity manager and group manager: a machine registers, and is told who may use it.

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
        /// The sender's life.
        #[n(0)]
        epoch: Epoch,
        /// What the machine is.
        #[n(1)]
        facts: Facts,
    },
    /// The sender is there. Said again and again where machines are watched; not answered.
    #[n(1)]
    Alive,
}

/// What a machine is.
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
    /// What it is or has, by name: `os: linux`.
    #[n(4)]
    pub labels: BTreeMap<String, String>,
    /// Where others of the grid are given its files: host and port. None where nobody is.
    #[n(5)]
    pub bulk: Option<String>,
    /// Whether it is there to keep files and never has slots: one that has none for the moment keeps
    /// nothing for others.
    #[cbor(n(6), default)]
    pub is_store: bool,
}

/// From a group manager.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum ToResource {
    /// The machine's number.
    #[n(0)]
    Registered(#[n(0)] ResourceId),
    /// All leaves to use this machine; replaces what was told before. Sent again at each change
    /// and each registration.
    #[n(1)]
    Grants(#[n(0)] Vec<ProcessGrant>),
}

/// Whom a machine serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ProcessGrant {
    /// The grant.
    #[n(0)]
    pub id: GrantId,
    /// For whom.
    #[n(1)]
    pub process: ProcessId,
    /// Slots that its attempts may hold together.
    #[n(2)]
    pub slots: u32,
}
