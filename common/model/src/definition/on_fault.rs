//! The action of a process when one of its activities has faulted.

use std::fmt;

use minicbor::{Decode, Encode};

/// The action of a process when one of its activities has faulted. In each case it ends as faulted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum OnFault {
    /// Nothing more starts, and what runs goes on to its end, so that its outcome stands for a rerun.
    #[n(0)]
    #[default]
    Finish,
    /// Nothing more starts, and what runs is stopped.
    #[n(1)]
    Stop,
    /// Everything that does not depend on the fault runs.
    #[n(2)]
    Continue,
}

impl OnFault {
    /// All of them, in the order in which users are told them.
    pub const ALL: [OnFault; 3] = [OnFault::Finish, OnFault::Stop, OnFault::Continue];

    /// Its name in definitions and options.
    pub fn name(self) -> &'static str {
        match self {
            OnFault::Finish => "finish",
            OnFault::Stop => "stop",
            OnFault::Continue => "continue",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<OnFault> {
        OnFault::ALL.into_iter().find(|one| one.name() == name)
    }
}

impl fmt::Display for OnFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
