//! Events of the first release, in the form in which they are journalled.

mod attempt;
mod cache_key;
mod expanded;
mod flow;
mod founded;
mod on_fault;
mod phase;
mod plan;
mod reused;

use minicbor::{Decode, Encode};
use model::{ActivityId, Epoch, Fault, GroupId, NodeId, ResourceId, Span, Value, Wall};

pub use attempt::{End, Ended, Grant, Holding, Kept, Log, Outcome, PastAttempt, Verdict};
pub use cache_key::CacheKey;
pub use expanded::{Expanded, Iterations};
pub use flow::{Flow, LinkState, NodeState};
pub use founded::{Accepted, Founded, SEMANTICS};
pub use phase::{ActivityPhase, Phase};
pub use plan::{Cause, Planned, Replanned, Rescheduled, Route};
pub use reused::Reused;

/// Bytes of values that count as one entry of a journal.
pub(crate) const ENTRY_BYTES: usize = 256;

/// A durable fact.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Event {
    /// The manager begins another epoch. In its own stream.
    #[n(0)]
    Epoch(#[n(0)] Epoch),
    /// No lease that any epoch up to this one has granted lasts longer than this from here on. In the
    /// manager's own stream.
    #[n(1)]
    Leased(#[n(0)] Span),
    /// A process was submitted: the founding event of its stream.
    #[n(2)]
    Founded(#[n(0)] Box<Founded>),
    /// The first plan is in force.
    #[n(3)]
    Planned(#[n(0)] Box<Planned>),
    /// Another plan is in force.
    #[n(4)]
    Replanned(#[n(0)] Box<Replanned>),
    /// A group manager has answered a claim, or slots are to be given back.
    #[n(5)]
    Granted {
        /// The group.
        #[n(0)]
        group: GroupId,
        /// All slots held there, in place of those recorded before.
        #[n(1)]
        holding: Holding,
    },
    /// Attempts were sent to machines: activity, number of the attempt, machine.
    #[n(6)]
    Sent(
        #[n(0)] Vec<(ActivityId, u32, ResourceId)>,
        /// The cache key of each.
        #[n(1)]
        Vec<CacheKey>,
    ),
    /// An attempt ended.
    #[n(7)]
    Ended(#[n(0)] Box<Ended>),
    /// An outcome recorded earlier stands for an activity.
    #[n(8)]
    Reused(#[n(0)] Box<Reused>),
    /// Activities that waited before another try may run.
    #[n(9)]
    Readied(#[n(0)] Vec<ActivityId>),
    /// The condition of a link or the join of a node was evaluated: controllers moved on.
    #[n(10)]
    Decided(#[n(0)] Flow),
    /// An `assign` wrote variables.
    #[n(11)]
    Assigned {
        /// Variable and value.
        #[n(0)]
        writes: Vec<(u32, Value)>,
        /// The controllers' moves.
        #[n(1)]
        flow: Flow,
        /// The `assign`, where it writes variables of a body.
        #[n(2)]
        node: Option<NodeId>,
    },
    /// A fault that no attempt reported ends the process.
    #[n(12)]
    Faulted(#[n(0)] Box<Fault>),
    /// A fault that no attempt reported breaks only what depends on it.
    #[n(13)]
    Broke {
        /// The fault.
        #[n(0)]
        fault: Box<Fault>,
        /// The controllers' moves.
        #[n(1)]
        flow: Flow,
    },
    /// A user wants the process stopped.
    #[n(14)]
    CancelAsked,
    /// The process has ended.
    #[n(15)]
    Closed {
        /// The final phase.
        #[n(0)]
        phase: Phase,
        /// When.
        #[n(1)]
        at: Wall,
        /// Its outputs, by name.
        #[n(2)]
        outputs: Vec<(String, Value)>,
    },
    /// No group manager holds slots for the process any more.
    #[n(16)]
    Released,
    /// Attempts to make files again were sent to machines: activity, number of the attempt, machine.
    #[n(17)]
    Recomputing(#[n(0)] Vec<(ActivityId, u32, ResourceId)>),
    /// A machine keeps a copy of an activity's files.
    #[n(18)]
    Copied {
        /// The activity.
        #[n(0)]
        activity: ActivityId,
        /// The machine.
        #[n(1)]
        resource: ResourceId,
        /// That machine's name.
        #[n(2)]
        machine: String,
        /// The other holder; none where that is the machine that made the files.
        #[n(3)]
        beside: Option<ResourceId>,
    },
    /// A machine is lost with its files.
    #[n(19)]
    MachineLost {
        /// The machine.
        #[n(0)]
        resource: ResourceId,
        /// Activities whose files were there and on one other machine: another copy is wanted.
        #[n(1)]
        activities: Vec<ActivityId>,
    },
    /// This machine says that files of these activities are damaged or gone. Outputs of the process
    /// need them, so the activities make them again.
    #[n(20)]
    FilesLost(#[n(0)] Vec<ActivityId>, #[n(1)] ResourceId),
    /// The items of a for-each are known, or another iteration of a loop: there is a copy of the body for each.
    #[n(21)]
    Expanded(#[n(0)] Box<Expanded>),
    /// Attempts were sent to machines beside those that are out at the same activities: activity, number of the
    /// attempt, machine.
    #[n(22)]
    Racing(
        #[n(0)] Vec<(ActivityId, u32, ResourceId)>,
        /// The cache key of each.
        #[n(1)]
        Vec<CacheKey>,
    ),
}

impl Event {
    /// Entries that it takes in a journal, about: values of many bytes count for more than one.
    pub(crate) fn weight(&self) -> usize {
        let writes = match self {
            Event::Expanded(expanded) => {
                let n_listed = expanded.items.len() + expanded.folded().len();
                return 1 + n_listed / 4 + expanded.size() / ENTRY_BYTES;
            }
            Event::Planned(planned) => return 1 + planned.weight(),
            Event::Replanned(replanned) => return 1 + replanned.weight(),
            Event::Assigned { writes, .. } => writes,
            Event::Ended(ended) => &ended.writes,
            Event::Epoch(_)
            | Event::Leased(_)
            | Event::Founded(_)
            | Event::Granted { .. }
            | Event::Sent(..)
            | Event::Reused(_)
            | Event::Readied(_)
            | Event::Decided(_)
            | Event::Faulted(_)
            | Event::Broke { .. }
            | Event::CancelAsked
            | Event::Closed { .. }
            | Event::Released
            | Event::Recomputing(_)
            | Event::Copied { .. }
            | Event::MachineLost { .. }
            | Event::FilesLost(..)
            | Event::Racing(..) => return 1,
        };
        let bytes: usize = writes.iter().map(|(_, value)| value.size()).sum();
        1 + bytes / ENTRY_BYTES
    }
}
