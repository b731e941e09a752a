//! The rule by which a process is planned again while it runs.

use std::fmt;

use minicbor::{Decode, Encode};

/// The rule by which a process is planned again because machines are not as fast as expected. Machines that
/// come and go are another matter: the activities of a lost one are always planned again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Policy {
    /// Machines are judged by what activities took there, and what has not started moves where that pays.
    #[n(0)]
    #[default]
    Xavantes,
    /// Nothing moves.
    #[n(1)]
    Static,
}

impl Policy {
    /// All of them, in the order in which users are told them.
    pub const ALL: [Policy; 2] = [Policy::Xavantes, Policy::Static];

    /// Its name in definitions and options.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Xavantes => "xavantes",
            Policy::Static => "static",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Policy> {
        Policy::ALL.into_iter().find(|one| one.name() == name)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
