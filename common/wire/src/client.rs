//! A user's client and a process manager.

use minicbor::{Decode, Encode};
use model::{
    ActivityId, Artifact, AttemptId, Bytes, Draft, Fault, Generation, NodeId, ProcessId,
    ResourceId, Span, SubmitKey, Value, Wall,
};

use crate::attempt::{Log, LogPart, Stream, Tail};

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
    /// What was submitted. Answered by `Submission` or `Unknown`.
    #[n(5)]
    Submission(#[n(0)] ProcessId),
    /// Forget a process that has ended. Answered by `Forgotten` once that is durable, by `Refused`
    /// where it has not ended, or by `Unknown`.
    #[n(6)]
    Forget(#[n(0)] ProcessId),
    /// Why an activity is where it is. Answered by `Why`, `Refused` or `Unknown`.
    #[n(7)]
    Why {
        /// Of which process.
        #[n(0)]
        process: ProcessId,
        /// Which activity.
        #[n(1)]
        activity: ActivityId,
    },
    /// What an attempt that still runs has written so far. Answered by `Tail`, by `Refused` where
    /// it does not run, or by `Unknown`.
    #[n(8)]
    Tail(#[n(0)] AttemptId),
    /// A part of what an attempt wrote that has ended. Answered by `LogPart`, by `Refused` where it
    /// cannot be had, or by `Unknown`.
    #[n(9)]
    Log {
        /// The process that asks.
        #[n(0)]
        process: ProcessId,
        /// Its activity.
        #[n(1)]
        activity: ActivityId,
        /// An attempt at it, or the one whose outcome stands for it.
        #[n(2)]
        attempt: AttemptId,
        /// Which stream.
        #[n(3)]
        stream: Stream,
        /// From which byte on.
        #[n(4)]
        offset: u64,
    },
    /// The machines that processes may use at the moment. Answered by `Machines`.
    #[n(10)]
    Machines,
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
    /// A process that has ended and whose recorded outcomes stand here too, wherever command,
    /// environment and inputs are the same.
    #[n(5)]
    pub base: Option<ProcessId>,
    /// Whether a fault ends only what depends on it, and the process at the end.
    #[cbor(n(6), default)]
    pub keep_going: bool,
    /// How long the process is kept after its end; until it is forgotten by hand where not given.
    #[n(7)]
    pub keep: Option<Span>,
    /// The machine to which the client has given the files, by its number; none where each machine
    /// has them.
    #[n(8)]
    pub store: Option<ResourceId>,
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
    /// What was submitted: inputs with their defaults filled in.
    #[n(7)]
    Submission(#[n(0)] Box<Submit>),
    /// Nothing is known of the process any more.
    #[n(8)]
    Forgotten(#[n(0)] ProcessId),
    /// Why an activity is where it is.
    #[n(9)]
    Why(#[n(0)] Box<Why>),
    /// What an attempt has written so far, or the end of it.
    #[n(10)]
    Tail(#[n(0)] Box<Tail>),
    /// A part of what an attempt wrote.
    #[n(11)]
    LogPart(#[n(0)] Box<LogPart>),
    /// The machines that processes may use at the moment.
    #[n(12)]
    Machines(#[n(0)] Vec<Machine>),
}

/// A machine that processes may use.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Machine {
    /// Its number.
    #[n(0)]
    pub resource: ResourceId,
    /// Its name, as in its certificate.
    #[n(1)]
    pub name: String,
    /// Slots it has.
    #[n(2)]
    pub slots: u32,
    /// Where users give files to it and fetch them: host and port. None where nobody does.
    #[n(3)]
    pub bulk: Option<String>,
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
    /// The process whose recorded outcomes stand here too.
    #[n(7)]
    pub base: Option<ProcessId>,
    /// How long it is kept after its end.
    #[n(8)]
    pub keep: Option<Span>,
    /// Whose it is, as the certificate says: `xav://grid/group/role/name`; none where it was
    /// submitted on the manager's own machine.
    #[n(9)]
    pub owner: Option<String>,
    /// Why this version of the program cannot go on with it, where that is so: another one has
    /// accepted it. Nothing of it is run, and what it gave can be read.
    #[n(10)]
    pub held: Option<String>,
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
    /// Of those that ended well, the ones that were not run: a recorded outcome stands for them.
    #[cbor(n(6), default)]
    pub reused: u32,
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
            // They are among the completed.
            reused: _,
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
    /// Whether a fault ends only what depends on it.
    #[cbor(n(10), default)]
    pub keep_going: bool,
    /// Of what no copy can be made at the moment and why, where copies are wanted.
    #[n(11)]
    pub copies: Option<String>,
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
    /// The attempt whose outcome stands, where it was not run here; it names process, activity and
    /// number.
    #[n(5)]
    pub reused: Option<AttemptStatus>,
    /// The machine that keeps a copy of what it produced.
    #[n(6)]
    pub copy: Option<ResourceId>,
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
    /// Slots that it held.
    #[cbor(n(10), default)]
    pub slots: u32,
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

/// Why an activity is where it is.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Why {
    /// Which.
    #[n(0)]
    pub activity: ActivityId,
    /// Where it is in its life.
    #[n(1)]
    pub phase: ActivityPhase,
    /// The reasons, the nearest first; at most [`REASONS_MAX`].
    #[n(2)]
    pub reasons: Vec<Reason>,
    /// Whether a recorded outcome could stand for it, and why not; none where nobody asked for that
    /// or it has not come to it.
    #[n(3)]
    pub recall: Option<Recall>,
}

/// Reasons that one answer names.
pub const REASONS_MAX: usize = 32;

/// One reason for where an activity is.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Reason {
    /// An activity that comes before has not ended.
    #[n(0)]
    After {
        /// Which.
        #[n(0)]
        activity: ActivityId,
        /// Where that one is.
        #[n(1)]
        phase: ActivityPhase,
    },
    /// The process waits for machines.
    #[n(1)]
    Machines(#[n(0)] String),
    /// Others come first on the machine that the plan names.
    #[n(2)]
    Queue {
        /// That machine.
        #[n(0)]
        resource: ResourceId,
        /// Activities of the process that are ready and come before it there.
        #[n(1)]
        n_before: u32,
        /// Activities of the process that are out there.
        #[n(2)]
        n_out: u32,
    },
    /// It failed and is tried again later.
    #[n(3)]
    Backoff {
        /// When.
        #[n(0)]
        until: Wall,
    },
    /// It failed.
    #[n(4)]
    Fault(#[n(0)] Box<Fault>),
    /// A link to it, or to a controller around it, is false.
    #[n(5)]
    Link {
        /// Where the link comes from.
        #[n(0)]
        from: NodeId,
        /// Where it goes.
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
    /// No other machine keeps a copy of what it has made yet, and this is why.
    #[n(9)]
    Uncopied(#[n(0)] String),
}

/// What became of the search for a recorded outcome.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Recall {
    /// This one stands.
    #[n(0)]
    Stands(#[n(0)] AttemptId),
    /// The process that this one mends has no activity of that name.
    #[n(1)]
    Absent,
    /// There it did not end well.
    #[n(2)]
    NotCompleted(#[n(0)] ActivityPhase),
    /// These are not what they were.
    #[n(3)]
    Changed(#[n(0)] Vec<Change>),
    /// Nothing like it is recorded: for an activity that may be recalled across processes.
    #[n(4)]
    Nothing,
    /// What it wrote was too long to be kept.
    #[n(5)]
    TooLong,
}

/// What is not as it was when an outcome was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Change {
    /// The command line.
    #[n(0)]
    Command,
    /// The environment or what it reads from stdin.
    #[n(1)]
    Environment,
    /// What is laid into its directory: these paths, at most [`REASONS_MAX`].
    #[n(2)]
    Inputs(#[n(0)] Vec<String>),
    /// What is taken out of its directory, or how its streams are read.
    #[n(3)]
    Outputs,
}
