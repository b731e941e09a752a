//! Events of the first release, in the form in which they are journalled.

mod attempt;
mod cache_key;
mod flow;
mod phase;

use minicbor::{Decode, Encode};
use model::{
    ActivityId, Artifact, AttemptId, Bytes, Definition, Draft, Epoch, Fault, GroupId, NodeId, Plan,
    ProcessId, ResourceId, Span, SubmitKey, Value, Wall,
};

pub use attempt::{End, Grant, Kept, Log, Outcome, PastAttempt};
pub use cache_key::CacheKey;
pub use flow::{Flow, LinkState, NodeState};
pub use phase::{ActivityPhase, Phase};

/// A durable fact.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Event {
    /// The manager begins another life. In its own stream.
    #[n(0)]
    Epoch(#[n(0)] Epoch),
    /// A process was submitted: the founding event of its stream.
    #[n(1)]
    Founded(#[n(0)] Box<Founded>),
    /// A plan is in force, with the machines it may use.
    #[n(2)]
    Planned {
        /// The plan.
        #[n(0)]
        plan: Plan,
        /// The machines known when it was made, with their names.
        #[n(1)]
        machines: Vec<(ResourceId, String)>,
        /// Whether its times rest on works that were given or learned.
        #[n(2)]
        is_estimate: bool,
    },
    /// A group manager has answered a claim.
    #[n(3)]
    Granted {
        /// Which group.
        #[n(2)]
        group: GroupId,
        /// The claim that this answers.
        #[n(0)]
        number: u32,
        /// All slots held in that group.
        #[n(1)]
        grants: Vec<Grant>,
    },
    /// Attempts were sent to machines: activity, number of the attempt, machine.
    #[n(4)]
    Sent(
        #[n(0)] Vec<(ActivityId, u32, ResourceId)>,
        /// What decides the outcome of each.
        #[cbor(n(1), default)]
        Vec<CacheKey>,
    ),
    /// Attempts ended.
    #[n(5)]
    Ended(#[n(0)] Box<Ended>),
    /// The condition of a link or the join of a node was evaluated: what controllers did by it.
    #[n(6)]
    Decided(#[n(0)] Flow),
    /// An `assign` wrote variables.
    #[n(8)]
    Assigned {
        /// Which node.
        #[n(0)]
        node: NodeId,
        /// Variable and value.
        #[n(1)]
        writes: Vec<(u32, Value)>,
        /// What controllers did by it.
        #[n(2)]
        flow: Flow,
    },
    /// A fault that no attempt reported: it ends the process.
    #[n(9)]
    Faulted(#[n(0)] Box<Fault>),
    /// A user wants the process stopped.
    #[n(10)]
    CancelAsked,
    /// The process has ended.
    #[n(11)]
    Closed {
        /// How.
        #[n(0)]
        phase: Phase,
        /// When.
        #[n(1)]
        at: Wall,
        /// What it gives.
        #[n(2)]
        outputs: Vec<(String, Value)>,
    },
    /// No group manager holds anything for the process any more.
    #[n(12)]
    Released,
    /// Activities that waited before another try may run.
    #[n(13)]
    Readied(#[n(0)] Vec<ActivityId>),
    /// A recorded outcome stands for an activity.
    #[n(14)]
    Reused(#[n(0)] Box<Reused>),
    /// A fault that no attempt reported, in a process that goes on without what depends on it.
    #[n(15)]
    Broke {
        /// Where.
        #[n(0)]
        at: Spot,
        /// What went wrong.
        #[n(1)]
        fault: Box<Fault>,
        /// What controllers did by it.
        #[n(2)]
        flow: Flow,
    },
    /// Attempts to make files again were sent to machines: activity, number of the attempt, machine.
    #[n(20)]
    Remaking(#[n(0)] Vec<(ActivityId, u32, ResourceId)>),
    /// From here on no machine was told of a longer lease than this that has not ended for certain,
    /// by this life of the manager or an earlier one. In its own stream.
    #[n(25)]
    Leased(#[n(0)] Span),
    /// A machine keeps a copy of what an activity has produced.
    #[n(21)]
    Copied {
        /// Which activity.
        #[n(0)]
        activity: ActivityId,
        /// Which machine.
        #[n(1)]
        resource: ResourceId,
        /// That machine's name.
        #[n(2)]
        machine: String,
        /// The machine that has it beside that one; none where it is the one that made it.
        #[n(3)]
        beside: Option<ResourceId>,
    },
    /// A machine is lost with its files: what these have produced was there and on one other machine,
    /// and another copy is wanted.
    #[n(22)]
    MachineLost {
        /// The machine.
        #[n(0)]
        resource: ResourceId,
        /// The activities.
        #[n(1)]
        activities: Vec<ActivityId>,
    },
    /// What these have produced is damaged or gone, as this machine says, and goes to whoever wants
    /// the outputs of the process: they make it again.
    #[n(30)]
    FilesLost(#[n(0)] Vec<ActivityId>, #[n(1)] ResourceId),
}

/// A submission.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Founded {
    /// The client's key.
    #[n(0)]
    pub key: SubmitKey,
    /// What is run.
    #[n(1)]
    pub draft: Accepted,
    /// Its inputs in the order of the draft's, defaults filled in.
    #[n(2)]
    pub inputs: Vec<Value>,
    /// Its files in the order of the draft's.
    #[n(3)]
    pub files: Vec<Artifact>,
    /// The file that the definition was read from.
    #[n(4)]
    pub origin: String,
    /// When.
    #[n(5)]
    pub at: Wall,
    /// The process whose recorded outcomes stand here too.
    #[n(6)]
    pub base: Option<ProcessId>,
    /// Whether a fault ends only what depends on it.
    #[cbor(n(7), default)]
    pub keep_going: bool,
    /// How long it is kept after its end.
    #[n(8)]
    pub keep: Option<Span>,
    /// Whose it is, by the certificate of the one who submitted it; where there is none, it came
    /// from the manager's own machine.
    #[n(10)]
    pub owner: Option<String>,
    /// The machine that has its files, where they do not lie on each.
    #[n(9)]
    pub store: Option<ResourceId>,
    /// What controllers did at the start.
    #[n(11)]
    pub flow: Flow,
    /// The number of the semantics that it was accepted under, see [`SEMANTICS`].
    #[n(12)]
    pub semantics: u32,
}

/// The number of what definitions and events mean in this version of the program. It is raised with
/// each change by which a recorded process would run otherwise than it was accepted; a version goes
/// on with what was accepted under its own number and under smaller ones. Nothing was recorded of it
/// before number 1.
pub const SEMANTICS: u32 = 1;

/// The definition of a process that was accepted, which is never checked again.
#[derive(Clone, Debug)]
pub enum Accepted {
    /// It was checked in this life.
    Checked(Definition),
    /// It was read from a journal.
    Read(Box<Draft>),
}

impl Accepted {
    /// As it was submitted.
    pub fn draft(&self) -> &Draft {
        match self {
            Accepted::Checked(definition) => definition.draft(),
            Accepted::Read(draft) => draft,
        }
    }

    /// The definition; the error says why it is not understood.
    pub(crate) fn definition(&self) -> Result<Definition, String> {
        match self {
            Accepted::Checked(definition) => Ok(definition.clone()),
            Accepted::Read(draft) => {
                let definition = Draft::recorded((**draft).clone());
                definition.map_err(|problems| match problems.first() {
                    Some(first) => first.to_string(),
                    None => "its definition is not understood".to_owned(),
                })
            }
        }
    }
}

impl PartialEq for Accepted {
    fn eq(&self, other: &Accepted) -> bool {
        self.draft() == other.draft()
    }
}

impl<C> Encode<C> for Accepted {
    fn encode<W: minicbor::encode::Write>(
        &self,
        encoder: &mut minicbor::Encoder<W>,
        cx: &mut C,
    ) -> Result<(), minicbor::encode::Error<W::Error>> {
        self.draft().encode(encoder, cx)
    }
}

impl<'b, C> Decode<'b, C> for Accepted {
    fn decode(
        decoder: &mut minicbor::Decoder<'b>,
        cx: &mut C,
    ) -> Result<Accepted, minicbor::decode::Error> {
        Ok(Accepted::Read(Box::new(Draft::decode(decoder, cx)?)))
    }
}

/// A recorded outcome that stands for an activity, with all that is to be known of it: whoever
/// recorded it first may be forgotten.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Reused {
    /// For which activity it stands.
    #[n(0)]
    pub activity: ActivityId,
    /// What decided it.
    #[n(1)]
    pub cache_key: CacheKey,
    /// The attempt that ran.
    #[n(2)]
    pub of: AttemptId,
    /// The machine on which it ran.
    #[n(3)]
    pub resource: ResourceId,
    /// That machine's name.
    #[n(4)]
    pub machine: String,
    /// When it started.
    #[n(5)]
    pub started: Wall,
    /// How long it ran.
    #[n(6)]
    pub wall: Span,
    /// CPU time that it used.
    #[n(7)]
    pub cpu: Span,
    /// The most memory that it used.
    #[n(8)]
    pub peak_memory: Bytes,
    /// Its exit status.
    #[n(9)]
    pub exit_code: Option<i32>,
    /// Its process id on its machine.
    #[n(10)]
    pub pid: u32,
    /// Slots that it held.
    #[n(11)]
    pub slots: u32,
    /// Where what it wrote is kept on its machine.
    #[n(12)]
    pub log: Option<Log>,
    /// What it produced.
    #[n(13)]
    pub outputs: Vec<Artifact>,
    /// Variables that its streams are written to: stdout before stderr.
    #[n(14)]
    pub writes: Vec<(u32, Value)>,
    /// The machine that keeps a copy of what it produced, and its name.
    #[n(15)]
    pub copy: Option<(ResourceId, String)>,
    /// The machine that has it, and its name, where that is not the one on which it ran.
    #[n(16)]
    pub holder: Option<(ResourceId, String)>,
    /// What controllers did by it.
    #[n(17)]
    pub flow: Flow,
}

impl Event {
    /// Entries that it takes in a journal, about: values of many bytes count for more than one.
    pub(crate) fn weight(&self) -> usize {
        let writes = match self {
            Event::Assigned { writes, .. } => writes,
            Event::Ended(ended) => &ended.writes,
            Event::Epoch(_)
            | Event::Founded(_)
            | Event::Planned { .. }
            | Event::Granted { .. }
            | Event::Sent(..)
            | Event::Decided(_)
            | Event::Faulted(_)
            | Event::CancelAsked
            | Event::Closed { .. }
            | Event::Released
            | Event::Readied(_)
            | Event::Reused(_)
            | Event::Broke { .. }
            | Event::Copied { .. }
            | Event::MachineLost { .. }
            | Event::FilesLost(..)
            | Event::Remaking(_)
            | Event::Leased(_) => return 1,
        };
        let bytes: usize = writes.iter().map(|(_, value)| value.size()).sum();
        1 + bytes / ENTRY_BYTES
    }
}

/// Bytes of values that count as one entry.
pub(crate) const ENTRY_BYTES: usize = 256;

/// What a fault breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Spot {
    /// A node.
    #[n(0)]
    Node(#[n(0)] NodeId),
    /// A link, by its number.
    #[n(1)]
    Link(#[n(0)] u32),
}

/// The end of an attempt, and what follows from it.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Ended {
    /// What was reported, without the streams that went into variables.
    #[n(0)]
    pub outcome: Outcome,
    /// What follows.
    #[n(1)]
    pub verdict: Verdict,
    /// Variables that its streams were written to: stdout before stderr.
    #[n(2)]
    pub writes: Vec<(u32, Value)>,
    /// What controllers did by it.
    #[n(3)]
    pub flow: Flow,
}

/// What follows from the end of an attempt.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Verdict {
    /// The activity is done.
    #[n(0)]
    Completed,
    /// It is tried again, not before this time.
    #[n(1)]
    Retry {
        /// When.
        #[n(0)]
        at: Wall,
        /// What went wrong.
        #[n(1)]
        fault: Box<Fault>,
    },
    /// The attempt was lost; it is tried again at once.
    #[n(2)]
    Again,
    /// The attempt was taken back before it started; it is sent elsewhere.
    #[n(7)]
    Moved,
    /// The activity is at an end with this fault, and the process with it.
    #[n(3)]
    Faulted(#[n(0)] Box<Fault>),
    /// The activity is at an end with this fault; only what depends on it does not run.
    #[n(6)]
    Broke(#[n(0)] Box<Fault>),
    /// It was stopped because the process ends.
    #[n(4)]
    Stopped,
    /// It could not begin, for want of what these have produced: they make it again first.
    #[n(5)]
    Lacking(#[n(0)] Vec<ActivityId>),
}

impl Verdict {
    /// The fault that the activity is at an end with.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Verdict::Faulted(fault) | Verdict::Broke(fault) => Some(fault),
            Verdict::Completed
            | Verdict::Retry { .. }
            | Verdict::Again
            | Verdict::Moved
            | Verdict::Stopped
            | Verdict::Lacking(_) => None,
        }
    }
}
