//! Why an activity is where it is.

use minicbor::{Decode, Encode};
use model::{ActivityId, AttemptId, Bytes, Fault, NodeId, ResourceId, Span, Wall};

use super::{ActivityPhase, MovedBy, Phase};

/// The explanation of an activity's state.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Why {
    /// The activity.
    #[n(0)]
    pub activity: ActivityId,
    /// Its state.
    #[n(1)]
    pub phase: ActivityPhase,
    /// The reasons, the nearest first; at most [`REASONS_MAX`].
    #[n(2)]
    pub reasons: Vec<Reason>,
    /// The result of the search for a recorded outcome to reuse; none if it was not wanted or has
    /// not happened yet.
    #[n(3)]
    pub recall: Option<Recall>,
    /// The last moves of the activity to another machine because one is not as fast as was planned, the oldest first.
    #[cbor(n(4), default)]
    pub moves: Vec<MovedBy>,
    /// The number of all of them.
    #[cbor(n(5), default)]
    pub n_moves: u32,
}

/// Maximum number of reasons in one answer.
pub const REASONS_MAX: usize = 32;

/// A reason for an activity's state.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Reason {
    /// An earlier activity has not ended.
    #[n(0)]
    After {
        /// The earlier activity.
        #[n(0)]
        activity: ActivityId,
        /// Its state.
        #[n(1)]
        phase: ActivityPhase,
    },
    /// The process waits for machines.
    #[n(1)]
    Machines(#[n(0)] String),
    /// Others come first on the planned machine.
    #[n(2)]
    Queue {
        /// The planned machine.
        #[n(0)]
        resource: ResourceId,
        /// Ready activities of the process that come before it there.
        #[n(1)]
        n_before: u32,
        /// Activities of the process that are sent to it.
        #[n(2)]
        n_out: u32,
    },
    /// It failed and has another attempt later.
    #[n(3)]
    Backoff {
        /// The time of the next attempt.
        #[n(0)]
        until: Wall,
    },
    /// It failed.
    #[n(4)]
    Fault(#[n(0)] Box<Fault>),
    /// A link to it, or to a controller around it, is false.
    #[n(5)]
    Link {
        /// The source of the link.
        #[n(0)]
        from: NodeId,
        /// The target of the link.
        #[n(1)]
        to: NodeId,
    },
    /// Its join condition, or that of a controller around it, is false.
    #[n(6)]
    Join(#[n(0)] NodeId),
    /// It depends on a node that has faulted.
    #[n(7)]
    Broken(#[n(0)] NodeId),
    /// The process ended, or was being ended, before its turn.
    #[n(8)]
    Ended(#[n(0)] Phase),
    /// No other machine has a copy of its outputs yet, for this reason.
    #[n(9)]
    Uncopied(#[n(0)] String),
    /// It lies in a branch of an `if` that was not taken.
    #[n(10)]
    Branch {
        /// The `if`.
        #[n(0)]
        of: NodeId,
        /// The branch that ran or runs, if there is one.
        #[n(1)]
        taken: Option<NodeId>,
    },
    /// This for-each around it has completed with enough of its other items.
    #[n(11)]
    Enough(#[n(0)] NodeId),
    /// Others hold too much of a named limit that it takes of.
    #[n(12)]
    Limit {
        /// The name of the limit.
        #[n(0)]
        name: String,
        /// Units that it takes.
        #[n(1)]
        n_units: u32,
        /// Units that there are.
        #[n(2)]
        most: u32,
        /// Activities of the same process that hold some, at most [`REASONS_MAX`].
        #[n(3)]
        holders: Vec<ActivityId>,
        /// Activities of other processes that do.
        #[n(4)]
        n_others: u32,
    },
    /// The activity failed before and is tried again, or was until it had no more tries.
    #[n(13)]
    Tries {
        /// Tries that failed.
        #[n(0)]
        n_failed: u32,
        /// Tries that it has in all.
        #[n(1)]
        most: u32,
        /// The ends of the tries that are remembered, at most [`REASONS_MAX`], the first one first.
        #[n(2)]
        ends: Vec<String>,
        /// The memory of the next try, or of the one that is out, where it grows.
        #[n(3)]
        memory: Option<Bytes>,
    },
    /// Each `xav run` runs it, for this reason.
    #[n(14)]
    EachRun(#[n(0)] EachRun),
    /// It waits until files are at the machine of its controller, or of one on their way there.
    #[n(15)]
    Passing {
        /// The activity that made the files.
        #[n(0)]
        maker: ActivityId,
        /// The machine.
        #[n(1)]
        resource: ResourceId,
    },
    /// Several attempts at it run at the same time, or ran.
    #[n(16)]
    Race {
        /// Why there is more than one.
        #[n(0)]
        cause: RaceCause,
        /// The attempts, at most [`REASONS_MAX`], the first one first.
        #[n(1)]
        attempts: Vec<Raced>,
    },
    /// It is held back for a later round of its machine, of a process that has rounds.
    #[n(17)]
    Round(#[n(0)] Box<LaterRound>),
    /// It runs longer than expected.
    #[n(18)]
    Late(#[n(0)] Lateness),
    /// Its for-each does so many items at a time, and others come first.
    #[n(19)]
    Items(#[n(0)] ItemsAhead),
}

/// The items that an item of a for-each waits for, of which so many are done at a time.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ItemsAhead {
    /// The for-each.
    #[n(0)]
    pub each: NodeId,
    /// Items that it does at a time.
    #[n(1)]
    pub at_most: u32,
    /// The bodies of items that have begun and not ended, at most [`REASONS_MAX`], the first one first.
    #[n(2)]
    pub begun: Vec<NodeId>,
    /// Items that have not begun and come before.
    #[n(3)]
    pub n_before: u32,
}

/// A running attempt that takes longer than expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Lateness {
    /// The machine where it runs.
    #[n(0)]
    pub resource: ResourceId,
    /// The time for which it has run.
    #[n(1)]
    pub elapsed: Span,
    /// The time that it was expected to run for there.
    #[n(2)]
    pub expected: Span,
}

/// The round that a machine is in, for an activity that is held back there for a later one.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LaterRound {
    /// The machine where the activity is planned.
    #[n(0)]
    pub resource: ResourceId,
    /// The round that the machine is in, from 1.
    #[n(1)]
    pub round: u32,
    /// The number of rounds, where that is fixed.
    #[n(2)]
    pub n_rounds: Option<u32>,
    /// Activities of this round, or of those before, that have not ended: at most [`REASONS_MAX`].
    #[n(3)]
    pub left: Vec<ActivityId>,
    /// The number of all of these.
    #[n(4)]
    pub n_left: u32,
    /// Activities that are held back there as well and come before it.
    #[n(5)]
    pub n_before: u32,
    /// True if the round took too long, and the next one waits for the plan that is made for that reason.
    #[n(6)]
    pub awaits_plan: bool,
}

/// Why several attempts at an activity run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum RaceCause {
    /// The first one took far longer than runs of it take.
    #[n(0)]
    Straggler,
    /// The definition wants so many from the beginning.
    #[n(1)]
    Replicas(#[n(0)] u32),
}

/// An attempt that runs, or ran, beside others at the same activity.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Raced {
    /// Its number.
    #[n(0)]
    pub number: u32,
    /// Its machine.
    #[n(1)]
    pub resource: ResourceId,
    /// When its command started, by the clock of its machine, where that is known.
    #[n(2)]
    pub started: Option<Wall>,
    /// Its end, as in the status of an activity; none while it is out.
    #[n(3)]
    pub end: Option<String>,
    /// True if its result is that of the activity.
    #[n(4)]
    pub counts: bool,
}

/// Why an activity is run again where an outcome of an earlier run might stand for it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum EachRun {
    /// The definition says so: `cache: false`.
    #[n(0)]
    Said,
    /// It has no outputs and writes no stream into a variable.
    #[n(1)]
    MakesNothing,
    /// It runs at most once in a process.
    #[n(2)]
    AtMostOnce,
    /// Its command, stdin or environment names this, which lies outside of its directory.
    #[n(3)]
    NamesOutside(#[n(0)] String),
}

/// The result of the search for a recorded outcome.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Recall {
    /// This attempt's outcome is reused.
    #[n(0)]
    Stands(#[n(0)] AttemptId),
    /// The base process has no activity of that name.
    #[n(1)]
    Absent,
    /// The activity did not complete in the base process.
    #[n(2)]
    NotCompleted(#[n(0)] ActivityPhase),
    /// These properties have changed.
    #[n(3)]
    Changed(#[n(0)] Vec<Change>),
    /// No outcome is recorded: for an activity that may reuse outcomes across processes.
    #[n(4)]
    Nothing,
    /// Its output was too long to be stored.
    #[n(5)]
    TooLong,
}

/// A property that has changed since an outcome was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Change {
    /// The command line.
    #[n(0)]
    Command,
    /// The environment or stdin.
    #[n(1)]
    Environment,
    /// The inputs at these paths, at most [`REASONS_MAX`].
    #[n(2)]
    Inputs(#[n(0)] Vec<String>),
    /// The outputs, or the use of its streams.
    #[n(3)]
    Outputs,
}
