//! Values of activities: the command with its values filled in, and what it reads and has written.

use minicbor::{Decode, Encode};
use model::{ActivityId, Artifact, ProcessId, Value};

/// Activities of one request, so that its message has less than 10 kB: a page has no more than some hundred.
pub const VALUES_ACTIVITIES_MAX: usize = 1_000;

/// Bytes of one text or value of an activity that are told; more is for the log, or for a file.
pub const TOLD_BYTES_MAX: usize = 2_000;

/// Bytes of all texts of one activity, so that the largest one fits a page.
pub const TOLD_ACTIVITY_BYTES_MAX: usize = 32 << 10;

/// Words, variables of the environment, items or inputs of one activity that are told: each takes some tens of
/// bytes beside its text.
pub const TOLD_LISTED_MAX: usize = 200;

/// Activities whose values a client wants.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ValuesWanted {
    /// Their process.
    #[n(0)]
    pub process: ProcessId,
    /// At most [`VALUES_ACTIVITIES_MAX`].
    #[n(1)]
    pub activities: Vec<ActivityId>,
}

/// The values of activities: of the first ones of those that were wanted, at least of one, as many as fit a page.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct ValuesPage {
    /// In the order in which they were wanted.
    #[n(0)]
    pub activities: Vec<ActivityValues>,
}

/// The values of an activity. A text or list that is too long has its beginning here.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct ActivityValues {
    /// The activity.
    #[n(0)]
    pub activity: ActivityId,
    /// The items, indexes and own variables of the bodies around it, as they are now.
    #[n(1)]
    pub items: Vec<(String, Value)>,
    /// The words of its command with the values in them; none before they are known.
    #[n(2)]
    pub command: Vec<String>,
    /// The relation of the command and the environment to what was sent.
    #[n(3)]
    pub rendered: Rendered,
    /// Its environment, beside what its machine adds. No value of a variable that came from the environment of
    /// whoever submitted the process: it may be secret.
    #[n(4)]
    pub environment: Vec<(String, Option<String>)>,
    /// The text on its stdin, if the definition says one.
    #[n(5)]
    pub stdin: Option<String>,
    /// Files and directories in its directory at its start.
    #[n(6)]
    pub inputs: Vec<ToldInput>,
    /// The number of all of these.
    #[n(7)]
    pub n_inputs: u32,
    /// The values that were read from its streams, by the names of the variables.
    #[n(8)]
    pub captured: Vec<(String, Value)>,
    /// True if some text or list is told in part.
    #[n(9)]
    pub is_cut: bool,
    /// The reason why the command cannot be told, if so.
    #[n(10)]
    pub wrong: Option<String>,
}

/// The relation of a command with its values to the command that was sent. It is made again of what is recorded, and
/// compared by the recorded hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Rendered {
    /// Its values are not known yet, or it will not run.
    #[n(0)]
    #[default]
    Nothing,
    /// It was not sent: these are the values of now.
    #[n(1)]
    Now,
    /// It was sent so.
    #[n(2)]
    AsSent,
    /// A variable has been written since it was sent: these are the values of now.
    #[n(3)]
    Changed,
}

/// A file or directory in the directory of an activity.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ToldInput {
    /// The path in the directory.
    #[n(0)]
    pub path: String,
    /// Its content.
    #[n(1)]
    pub artifact: Artifact,
    /// The name that it had where a user gave it.
    #[n(2)]
    pub name: Option<String>,
}
