//! Faults, by name, in the form in which the user reads them.

use std::fmt;

use minicbor::{Decode, Encode};

use crate::{ActivityId, ResourceId};

/// The name by which a fault is told apart and caught.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum FaultName {
    /// The command ended with a status other than 0, or by a signal.
    #[n(0)]
    ExitCode,
    /// The command ran longer than its `timeout`.
    #[n(1)]
    Timeout,
    /// The attempts were lost with their machine more often than is allowed.
    #[n(2)]
    Lost,
    /// An `at-most-once` activity whose outcome nobody knows.
    #[n(3)]
    OutcomeUnknown,
    /// No machine has what the activity asks for.
    #[n(4)]
    NoResource,
    /// A declared output was not there.
    #[n(5)]
    MissingOutput,
    /// An expression could not be evaluated.
    #[n(6)]
    Expression,
    /// A loop ran longer than `max-iterations`.
    #[n(7)]
    TooManyIterations,
    /// A value or an output was larger than is allowed.
    #[n(8)]
    TooLarge,
    /// The process was cancelled.
    #[n(9)]
    Cancelled,
    /// The command used more than its `memory`.
    #[n(10)]
    OutOfMemory,
    /// The command could not be started at all.
    #[n(11)]
    NotStarted,
    /// The inputs could not be laid into the directory.
    #[n(12)]
    Staging,
    /// A name given by `throw`.
    #[n(13)]
    Thrown(#[n(0)] String),
    /// The machine's disk took no more, of the inputs or the outputs.
    #[n(14)]
    DiskFull,
    /// A for-each has fewer items than its `complete-when` waits for.
    #[n(15)]
    TooFewItems,
}

impl fmt::Display for FaultName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FaultName::ExitCode => "exit-code",
            FaultName::Timeout => "timeout",
            FaultName::Lost => "lost",
            FaultName::OutcomeUnknown => "outcome-unknown",
            FaultName::NoResource => "no-resource",
            FaultName::MissingOutput => "missing-output",
            FaultName::Expression => "expression",
            FaultName::TooManyIterations => "too-many-iterations",
            FaultName::TooLarge => "too-large",
            FaultName::Cancelled => "cancelled",
            FaultName::OutOfMemory => "out-of-memory",
            FaultName::NotStarted => "not-started",
            FaultName::Staging => "staging",
            FaultName::Thrown(name) => name,
            FaultName::DiskFull => "disk-full",
            FaultName::TooFewItems => "too-few-items",
        })
    }
}

/// A fault with all that its reader needs to repair it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Fault {
    /// Its name.
    #[n(0)]
    pub name: FaultName,
    /// The cause, in a sentence.
    #[n(1)]
    pub message: String,
    /// The activity that faulted.
    #[n(2)]
    pub activity: Option<ActivityId>,
    /// The number of the attempt.
    #[n(3)]
    pub attempt: u32,
    /// The machine of the attempt.
    #[n(4)]
    pub resource: Option<ResourceId>,
    /// The exit status, where there was one.
    #[n(5)]
    pub exit_code: Option<i32>,
    /// The directory in which it ran.
    #[n(6)]
    pub directory: Option<String>,
    /// The command as it was started.
    #[n(7)]
    pub command: Vec<String>,
    /// The end of what it wrote to stderr.
    #[n(8)]
    pub stderr_tail: String,
}

impl Fault {
    /// A fault that is not about an attempt.
    pub fn new(name: FaultName, message: impl Into<String>) -> Fault {
        Fault {
            name,
            message: message.into(),
            activity: None,
            attempt: 0,
            resource: None,
            exit_code: None,
            directory: None,
            command: Vec::new(),
            stderr_tail: String::new(),
        }
    }

    /// The same fault, said of an activity.
    pub fn of(mut self, activity: ActivityId) -> Fault {
        self.activity = Some(activity);
        self
    }
}
