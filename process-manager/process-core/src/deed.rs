//! A change that a client asks for, as the audit log tells it.

use model::ProcessId;

use crate::submission::{Caller, ClientId};

/// A change that a client has asked for. Told once what it has changed is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    /// The client.
    pub client: ClientId,
    /// On whose behalf it asks.
    pub by: Caller,
    /// The change.
    pub action: Action,
    /// The process, where it is about one.
    pub process: Option<ProcessId>,
    /// The recorded owner of that process, where there is one.
    pub owner: Option<String>,
    /// The reason why nothing has changed; none where it was done.
    pub refusal: Option<String>,
}

/// A kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A process is submitted.
    Submit,
    /// The same, with the outcomes of this one: it is resumed, or run again.
    SubmitFrom(ProcessId),
    /// A process is cancelled.
    Cancel,
    /// A process that has ended is forgotten.
    Forget,
    /// The history of activities is forgotten.
    ForgetHistory,
}

impl Action {
    /// Its name in the log.
    pub const fn word(self) -> &'static str {
        match self {
            Action::Submit => "submit",
            Action::SubmitFrom(_) => "submit-from",
            Action::Cancel => "cancel",
            Action::Forget => "forget",
            Action::ForgetHistory => "forget-history",
        }
    }
}
