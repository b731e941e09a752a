//! The forecast of a process that would be submitted now.

use minicbor::{Decode, Encode};
use model::{ActivityId, AttemptId, Expansion, NodeId};

use super::Recall;

/// The activities of a process that would run, and those for which recorded outcomes stand. It takes for
/// granted that commands succeed and that files of recorded outcomes are where they are recorded to be.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Foresight {
    /// The forecast of each activity, in the order of the definition.
    #[n(0)]
    pub activities: Vec<(ActivityId, Forecast)>,
    /// What for-each controllers and loops become, as far as that is known: the activities above are those
    /// of the definition that has grown so.
    #[n(1)]
    pub expansions: Vec<Expansion>,
    /// The steps whose condition or list is not known before something has run.
    #[n(2)]
    pub undecided: Vec<NodeId>,
    /// The fault of an expression that would end the process.
    #[n(3)]
    pub fault: Option<String>,
    /// True if the process was too large to be followed to its end: what is left is unknown.
    #[n(4)]
    pub is_partial: bool,
}

/// The forecast of an activity.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Forecast {
    /// It does not run: the outcome of this attempt stands.
    #[n(0)]
    Stands(#[n(0)] AttemptId),
    /// It runs, because no recorded outcome stands, for this reason.
    #[n(1)]
    Runs(#[n(0)] Recall),
    /// It runs, because the files of its recorded outcome are gone.
    #[n(2)]
    Lost(#[n(0)] AttemptId),
    /// It reads what these make, which run or depend on others that do: it runs, unless they make again what
    /// they made before. At most [`super::REASONS_MAX`].
    #[n(3)]
    Depends(#[n(0)] Vec<ActivityId>),
    /// It is not known before something has run.
    #[n(4)]
    Unknown,
    /// It is skipped.
    #[n(5)]
    Skipped,
}
