//! A user's client and a process manager.

use minicbor::{Decode, Encode};
use model::{
    ActivityId, Artifact, AttemptId, Bytes, Draft, Fault, Generation, NodeId, ProcessId,
    ResourceId, Span, SubmitKey, Value, Wall,
};

use crate::attempt::Log;

/// Controllers whose totals go with one progress message.
pub const CONTROLLERS_SHOWN_MAX: usize = 32;
/// Running activities that go with one progress message.
pub const RUNNING_SHOWN_MAX: usize = 64;

/// From a client. Each carries a number in its envelope, and so does its answer.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Request {
    /// Run a process. Answered by `Submitted` once that is durable, or by `Refused`.
    #[n(0)]
    Submit(#[n(0)] Box<Submit>),
    /// All processes. Answered by `Processes`.
    #[n(1)]
    List,
    /// Everything about one process. Answered by `Status` or `Unknown`.
    #[n(2)]
    Status(#[n(0)] ProcessId),
    /// Stop a process. Answered by `Cancelling` once that is durable, by `Status` where it has
    /// ended, or by `Unknown`.
    #[n(3)]
    Cancel(#[n(0)] ProcessId),
    /// Tell of a process's progress whenever there is some, at most ten times a second, until it
    /// has ended. Answered by `Progress` again and again, or by `Unknown`.
    #[n(4)]
    Watch(#[n(0)] ProcessId),
    /// What the process is a run of. Answered by `Definition` or `Unknown`.
    #[n(5)]
    Definition(#[n(0)] ProcessId),
}

/// A process to run.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Submit {
    /// Drawn by the client: the same key is the same process, however often it is sent.
    #[n(0)]
    pub key: SubmitKey,
    /// What to run.
    #[n(1)]
    pub draft: Draft,
    /// The inputs that were given, by name.
    #[n(2)]
    pub inputs: Vec<(String, Value)>,
    /// The files beside the definition, in the order of [`Draft::files`].
    #[n(3)]
    pub files: Vec<Artifact>,
    /// The file that the definition was read from, for people.
    #[n(4)]
    pub origin: String,
}

/// To a client.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Answer {
    /// The process is durable and will run.
    #[n(0)]
    Submitted(#[n(0)] ProcessId),
    /// The request changed nothing, for these reasons.
    #[n(1)]
    Refused(#[n(0)] Vec<String>),
    /// All processes, the newest first.
    #[n(2)]
    Processes(#[n(0)] Vec<Summary>),
    /// Everything about one process.
    #[n(3)]
    Status(#[n(0)] Box<Status>),
    /// There is no such process here.
    #[n(4)]
    Unknown(#[n(0)] ProcessId),
    /// The process will be cancelled, whatever happens from here on.
    #[n(5)]
    Cancelling(#[n(0)] ProcessId),
    /// How far the process is.
    #[n(6)]
    Progress(#[n(0)] Box<Progress>),
    /// What the process is a run of.
    #[n(7)]
    Definition(#[n(0)] Box<Draft>),
}

/// Where a process is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(index_only)]
pub enum Phase {
    /// It runs, or waits for machines.
    #[n(0)]
    #[default]
    Running,
    /// A fault ends it: what still runs is being stopped.
    #[n(1)]
    Faulting,
    /// It is being cancelled.
    #[n(2)]
    Cancelling,
    /// It did what it should.
    #[n(3)]
    Completed,
    /// A fault ended it.
    #[n(4)]
    Faulted,
    /// It was cancelled.
    #[n(5)]
    Cancelled,
}

impl Phase {
    /// Whether nothing will happen any more.
    pub fn has_ended(self) -> bool {
        match self {
            Phase::Completed | Phase::Faulted | Phase::Cancelled => true,
            Phase::Running | Phase::Faulting | Phase::Cancelling => false,
        }
    }

    /// The word for people and scripts.
    pub fn word(self) -> &'static str {
        match self {
            Phase::Running => "running",
            Phase::Faulting => "faulting",
            Phase::Cancelling => "cancelling",
            Phase::Completed => "completed",
            Phase::Faulted => "faulted",
            Phase::Cancelled => "cancelled",
        }
    }
}

/// A process in a line.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Summary {
    /// Its name.
    #[n(0)]
    pub process: ProcessId,
    /// Its definition's name.
    #[n(1)]
    pub name: String,
    /// The file that the definition was read from.
    #[n(2)]
    pub origin: String,
    /// Where it is in its life.
    #[n(3)]
    pub phase: Phase,
    /// When it was submitted.
    #[n(4)]
    pub submitted: Wall,
    /// When it ended.
    #[n(5)]
    pub ended: Option<Wall>,
    /// How many activities are where.
    #[n(6)]
    pub totals: Totals,
}

/// How many activities are where in their lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Totals {
    /// Something that must come before has not ended.
    #[n(0)]
    pub waiting: u32,
    /// Could run, and was not sent to a machine.
    #[n(1)]
    pub ready: u32,
    /// Sent to a machine, or running there.
    #[n(2)]
    pub running: u32,
    /// Ended well.
    #[n(3)]
    pub completed: u32,
    /// Ended with a fault.
    #[n(4)]
    pub faulted: u32,
    /// Will not run: their links say so, or the process ended before.
    #[n(5)]
    pub skipped: u32,
}

impl Totals {
    /// All activities.
    pub fn all(&self) -> u32 {
        let Totals {
            waiting,
            ready,
            running,
            completed,
            faulted,
            skipped,
        } = self;
        waiting + ready + running + completed + faulted + skipped
    }
}

/// Everything about one process.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Status {
    /// The line of it.
    #[n(0)]
    pub summary: Summary,
    /// What was given, defaults included.
    #[n(1)]
    pub inputs: Vec<(String, Value)>,
    /// What the process gave, once it has completed.
    #[n(2)]
    pub outputs: Vec<(String, Value)>,
    /// The process's variables.
    #[n(3)]
    pub variables: Vec<(String, Value)>,
    /// What went wrong, the cause first.
    #[n(4)]
    pub faults: Vec<Fault>,
    /// One entry an activity, in the order of their ids.
    #[n(5)]
    pub activities: Vec<ActivityStatus>,
    /// Which plan is in force.
    #[n(6)]
    pub generation: Generation,
    /// How long the first plan thought that the process takes; none where no work is known.
    #[n(7)]
    pub planned: Option<Span>,
    /// The machines that the process has used or may use.
    #[n(8)]
    pub machines: Vec<(ResourceId, String)>,
    /// Why nothing runs at the moment, where that needs a reason.
    #[n(9)]
    pub waiting_for: Option<String>,
}

/// Where an activity is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(index_only)]
pub enum ActivityPhase {
    /// Something that must come before has not ended.
    #[n(0)]
    #[default]
    Waiting,
    /// Could run, and was not sent to a machine.
    #[n(1)]
    Ready,
    /// Sent to a machine.
    #[n(2)]
    Sent,
    /// Running there, as far as is known.
    #[n(3)]
    Running,
    /// Waits before it is tried again.
    #[n(4)]
    Backoff,
    /// Ended well.
    #[n(5)]
    Completed,
    /// Ended with a fault.
    #[n(6)]
    Faulted,
    /// Will not run.
    #[n(7)]
    Skipped,
    /// Stopped because the process ended.
    #[n(8)]
    Stopped,
}

impl ActivityPhase {
    /// The word for people and scripts.
    pub fn word(self) -> &'static str {
        match self {
            ActivityPhase::Waiting => "waiting",
            ActivityPhase::Ready => "ready",
            ActivityPhase::Sent => "sent",
            ActivityPhase::Running => "running",
            ActivityPhase::Backoff => "backoff",
            ActivityPhase::Completed => "completed",
            ActivityPhase::Faulted => "faulted",
            ActivityPhase::Skipped => "skipped",
            ActivityPhase::Stopped => "stopped",
        }
    }
}

/// One activity of a process.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct ActivityStatus {
    /// Which.
    #[n(0)]
    pub activity: ActivityId,
    /// Where it is in its life.
    #[n(1)]
    pub phase: ActivityPhase,
    /// Where and when it is planned, from the plan's origin.
    #[n(2)]
    pub planned: Option<Planned>,
    /// Its tries, the last one last.
    #[n(3)]
    pub attempts: Vec<AttemptStatus>,
    /// What it produced, by name.
    #[n(4)]
    pub outputs: Vec<(String, Artifact)>,
}

/// A place in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Planned {
    /// On which machine.
    #[n(0)]
    pub resource: ResourceId,
    /// On which slot.
    #[n(1)]
    pub slot: u32,
    /// Estimated start.
    #[n(2)]
    pub start: Span,
    /// Estimated finish.
    #[n(3)]
    pub finish: Span,
}

/// One try at an activity.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct AttemptStatus {
    /// Which.
    #[n(0)]
    pub attempt: AttemptId,
    /// On which machine.
    #[n(1)]
    pub resource: ResourceId,
    /// How it ended, or none while it has not: `completed`, `stopped`, `lost`, or a fault's name.
    #[n(2)]
    pub end: Option<String>,
    /// The command's process id, once known.
    #[n(3)]
    pub pid: u32,
    /// When it started, once known.
    #[n(4)]
    pub started: Option<Wall>,
    /// How long it ran.
    #[n(5)]
    pub wall: Span,
    /// CPU time that it used.
    #[n(6)]
    pub cpu: Span,
    /// The most memory that it used.
    #[n(7)]
    pub peak_memory: Bytes,
    /// Its exit status, where it exited.
    #[n(8)]
    pub exit_code: Option<i32>,
    /// Where what it wrote is kept on its machine.
    #[n(9)]
    pub log: Option<Log>,
}

/// How far a process is.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Progress {
    /// Whose.
    #[n(0)]
    pub process: ProcessId,
    /// Counts up; a watcher that has seen this one has seen all of it.
    #[n(1)]
    pub revision: u64,
    /// Where it is in its life.
    #[n(2)]
    pub phase: Phase,
    /// How many activities are where.
    #[n(3)]
    pub totals: Totals,
    /// For the controllers nearest the root: activities below that have ended, and all of them.
    #[n(4)]
    pub controllers: Vec<ControllerProgress>,
    /// Some of what runs.
    #[n(5)]
    pub running: Vec<Running>,
    /// About how long it will still take, where that can be said.
    #[n(6)]
    pub left: Option<Span>,
    /// Why nothing runs at the moment, where that needs a reason.
    #[n(7)]
    pub waiting_for: Option<String>,
}

/// How far a controller is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ControllerProgress {
    /// Which.
    #[n(0)]
    pub node: NodeId,
    /// Activities below it that have ended.
    #[n(1)]
    pub n_ended: u32,
    /// Activities below it.
    #[n(2)]
    pub n_all: u32,
}

/// Something that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Running {
    /// Which activity.
    #[n(0)]
    pub activity: ActivityId,
    /// Which try.
    #[n(1)]
    pub number: u32,
    /// Where.
    #[n(2)]
    pub resource: ResourceId,
    /// Since when.
    #[n(3)]
    pub since: Wall,
}
