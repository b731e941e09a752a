//! A user's client and a process manager.

use minicbor::{Decode, Encode};
use model::{
    ActivityId, Artifact, AttemptId, Bytes, Draft, Expansion, Fault, Generation, OnFault,
    ProcessId, ResourceId, Span, SubmitKey, Value, Wall,
};

use crate::attempt::{Log, LogPart, Stream, Tail};

mod foresight;
mod history;
mod pages;
mod progress;
mod published;
mod rescheduled;
mod turn;
mod values;
mod why;

pub use foresight::{Forecast, Foresight};
pub use history::{HISTORY_RECORDS_MAX, HistoryKey, HistoryPage, HistoryRecord};
pub use pages::{
    ActivitiesPage, ActivitiesWanted, ListedActivity, PAGE_BYTES_MAX, ProcessesPage,
    ProcessesWanted,
};
pub use progress::{
    CONTROLLERS_SHOWN_MAX, ControllerProgress, InBackoff, Progress, RUN_AGAIN_SHOWN_MAX,
    RUNNING_SHOWN_MAX, RunAgain, RunAgainCause, Running,
};
pub use published::{PublishedAt, PublishedFile, PublishedPage};
pub use rescheduled::{MovedBy, ROUTES_MAX, Rescheduled, Route};
pub use turn::{GroupShares, OWNERS_TOLD_MAX, OwnerShare, Turn, WHY_ACTIVITIES_MAX, WhyProcess};
pub use values::{
    ActivityValues, Rendered, TOLD_ACTIVITY_BYTES_MAX, TOLD_BYTES_MAX, TOLD_LISTED_MAX, ToldInput,
    VALUES_ACTIVITIES_MAX, ValuesPage, ValuesWanted,
};
pub use why::{
    Change, EachRun, ItemsAhead, Lateness, LaterRound, REASONS_MAX, RaceCause, Raced, Reason,
    Recall, Why,
};

/// A client's request. It has a number in its envelope, which the answer repeats.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Request {
    /// Run a process. Answered by `Submitted` once it is durable, or by `Refused`.
    #[n(0)]
    Submit(#[n(0)] Box<Submit>),
    /// List all processes. Answered by `Processes`.
    #[n(1)]
    List,
    /// Describe one process. Answered by `Status` or `Unknown`.
    #[n(2)]
    Status(#[n(0)] ProcessId),
    /// Cancel a process. Answered by `Cancelling` once that is durable, by `Status` if it has
    /// ended, or by `Unknown`.
    #[n(3)]
    Cancel(#[n(0)] ProcessId),
    /// Report a process's progress whenever it changes, at most ten times a second, until it has
    /// ended. Answered by a sequence of `Progress`, or by `Unknown`.
    #[n(4)]
    Watch(#[n(0)] ProcessId),
    /// Return what was submitted. Answered by `Submission` or `Unknown`.
    #[n(5)]
    Submission(#[n(0)] ProcessId),
    /// Forget a process that has ended. Answered by `Forgotten` once that is durable, by `Refused`
    /// if it has not ended, or by `Unknown`.
    #[n(6)]
    Forget(#[n(0)] ProcessId),
    /// Explain an activity's state. Answered by `Why`, `Refused` or `Unknown`.
    #[n(7)]
    Why {
        /// The process.
        #[n(0)]
        process: ProcessId,
        /// The activity.
        #[n(1)]
        activity: ActivityId,
    },
    /// Return what a running attempt has written so far. Answered by `Tail`, by `Refused` if it
    /// does not run, or by `Unknown`.
    #[n(8)]
    Tail(#[n(0)] AttemptId),
    /// Return a part of an ended attempt's log. Answered by `LogPart`, by `Refused` if it is not
    /// available, or by `Unknown`.
    #[n(9)]
    Log {
        /// The process.
        #[n(0)]
        process: ProcessId,
        /// Its activity.
        #[n(1)]
        activity: ActivityId,
        /// An attempt at it, or the one whose outcome was reused for it.
        #[n(2)]
        attempt: AttemptId,
        /// The stream.
        #[n(3)]
        stream: Stream,
        /// The offset of the first byte.
        #[n(4)]
        offset: u64,
    },
    /// List the machines that processes may use at the moment. Answered by `Machines`, or by `NoRoom` where no machine
    /// works for the process manager.
    #[n(10)]
    Machines,
    /// Explain the state of a process as a whole. Answered by `WhyProcess`, `Refused` or `Unknown`.
    #[n(11)]
    WhyProcess(#[n(0)] ProcessId),
    /// Return what activities took in earlier runs of the caller. Answered by `History`, a page at a time.
    #[n(12)]
    History {
        /// The name of the definition; all where left out.
        #[n(0)]
        definition: Option<String>,
        /// The last record that the caller has.
        #[n(1)]
        after: Option<HistoryKey>,
    },
    /// Forget it: of one definition, or of all. Answered by `HistoryForgotten` once that is durable, or by
    /// `Refused`.
    #[n(13)]
    ForgetHistory(#[n(0)] Option<String>),
    /// Tell what would run if this process was submitted, and change nothing. Answered by `Foreseen` or by
    /// `Refused`.
    #[n(14)]
    Foresee(#[n(0)] Box<Submit>),
    /// Return the paths of what a completed process publishes. Answered by `Published`, a page at a time, by
    /// `Refused` if it has not completed, or by `Unknown`.
    #[n(15)]
    Published {
        /// The process.
        #[n(0)]
        process: ProcessId,
        /// The first one of the page.
        #[n(1)]
        from: PublishedAt,
    },
    /// List some processes. Answered by `ProcessesPage`.
    #[n(16)]
    Processes(#[n(0)] Box<ProcessesWanted>),
    /// Describe some activities of a process. Answered by `Activities`, `Refused` or `Unknown`.
    #[n(17)]
    Activities(#[n(0)] Box<ActivitiesWanted>),
    /// Return the values of some activities. Answered by `Values`, `Refused` or `Unknown`.
    #[n(18)]
    Values(#[n(0)] Box<ValuesWanted>),
}

/// A process to run.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Submit {
    /// Drawn by the client: submissions with the same key are one process, however often they are
    /// sent.
    #[n(0)]
    pub key: SubmitKey,
    /// The definition.
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
    /// An ended process whose recorded outcomes are reused where command, environment and inputs
    /// are the same.
    #[n(5)]
    pub base: Option<ProcessId>,
    /// Its action when an activity has faulted, in place of that of its definition.
    #[n(6)]
    pub on_fault: Option<OnFault>,
    /// Time for which the process is kept after its end; if none, until it is forgotten by hand.
    #[n(7)]
    pub keep: Option<Span>,
    /// The machine to which the client has uploaded the files; none if each machine has them.
    #[n(8)]
    pub store: Option<ResourceId>,
    /// Variables of the environment of all its commands, as the client has found them: those that the
    /// definition passes on, and those of its file of variables. Nothing is said where there are none.
    #[n(9)]
    pub environment: Option<Vec<(String, String)>>,
}

impl Submit {
    /// A submission without inputs and files, of which nothing else is said.
    pub fn new(key: SubmitKey, draft: Draft, origin: impl Into<String>) -> Submit {
        Submit {
            key,
            draft,
            inputs: Vec::new(),
            files: Vec::new(),
            origin: origin.into(),
            base: None,
            on_fault: None,
            keep: None,
            store: None,
            environment: None,
        }
    }
}

/// An answer to a client.
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
    /// The description of one process.
    #[n(3)]
    Status(#[n(0)] Box<Status>),
    /// There is no such process here.
    #[n(4)]
    Unknown(#[n(0)] ProcessId),
    /// The process will be cancelled in any case.
    #[n(5)]
    Cancelling(#[n(0)] ProcessId),
    /// The progress of the process.
    #[n(6)]
    Progress(#[n(0)] Box<Progress>),
    /// The submission: inputs with their defaults filled in.
    #[n(7)]
    Submission(
        #[n(0)] Box<Submit>,
        /// What its for-each controllers have become, in order.
        #[cbor(n(1), default)]
        Vec<Expansion>,
    ),
    /// The process is forgotten.
    #[n(8)]
    Forgotten(#[n(0)] ProcessId),
    /// The explanation of an activity's state.
    #[n(9)]
    Why(#[n(0)] Box<Why>),
    /// The output so far of an attempt, or its end.
    #[n(10)]
    Tail(#[n(0)] Box<Tail>),
    /// A part of an attempt's log.
    #[n(11)]
    LogPart(#[n(0)] Box<LogPart>),
    /// The machines that processes may use at the moment.
    #[n(12)]
    Machines(#[n(0)] Vec<Machine>),
    /// Answers no request, and has number 0: so many clients, this one included, wait for a place at
    /// the manager's socket. With 0 this one has its place.
    #[n(13)]
    Queued(#[n(0)] u32),
    /// The explanation of a process's state.
    #[n(14)]
    WhyProcess(#[n(0)] Box<WhyProcess>),
    /// The process manager takes no process at the moment, for this reason: another one may take it.
    #[n(15)]
    NoRoom(#[n(0)] String),
    /// A page of what activities took.
    #[n(16)]
    History(#[n(0)] Box<HistoryPage>),
    /// So many records of what activities took are forgotten.
    #[n(17)]
    HistoryForgotten(#[n(0)] u64),
    /// The forecast of a process.
    #[n(18)]
    Foreseen(#[n(0)] Box<Foresight>),
    /// A page of what a process publishes.
    #[n(19)]
    Published(#[n(0)] Box<PublishedPage>),
    /// Some processes.
    #[n(20)]
    ProcessesPage(#[n(0)] Box<ProcessesPage>),
    /// Some activities of a process.
    #[n(21)]
    Activities(#[n(0)] Box<ActivitiesPage>),
    /// The values of some activities.
    #[n(22)]
    Values(#[n(0)] Box<ValuesPage>),
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
    /// The address that serves and receives files of users: host and port. None if there is none.
    #[n(3)]
    pub bulk: Option<String>,
}

/// The state of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(index_only)]
pub enum Phase {
    /// It runs, or waits for machines.
    #[n(0)]
    #[default]
    Running,
    /// A fault ends it: running activities are being stopped.
    #[n(1)]
    Faulting,
    /// It is being cancelled.
    #[n(2)]
    Cancelling,
    /// It completed.
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
    /// Returns true if nothing happens any more.
    pub fn has_ended(self) -> bool {
        match self {
            Phase::Completed | Phase::Faulted | Phase::Cancelled => true,
            Phase::Running | Phase::Faulting | Phase::Cancelling => false,
        }
    }

    /// The word for users and scripts.
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
    /// Its state.
    #[n(3)]
    pub phase: Phase,
    /// When it was submitted.
    #[n(4)]
    pub submitted: Wall,
    /// When it ended.
    #[n(5)]
    pub ended: Option<Wall>,
    /// Its activities by state.
    #[n(6)]
    pub totals: Totals,
    /// The process whose recorded outcomes are reused here.
    #[n(7)]
    pub base: Option<ProcessId>,
    /// Time for which it is kept after its end.
    #[n(8)]
    pub keep: Option<Span>,
    /// The owner's identity, from the certificate: `xav://grid/group/role/name`; none if it was
    /// submitted on the manager's own machine.
    #[n(9)]
    pub owner: Option<String>,
    /// The reason why this version of the program cannot continue it, if so: another version
    /// accepted it. Nothing of it is run, and its results can be read.
    #[n(10)]
    pub held: Option<String>,
}

/// Numbers of activities by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Totals {
    /// Wait for others to end.
    #[n(0)]
    pub waiting: u32,
    /// Could run, and are not sent to a machine.
    #[n(1)]
    pub ready: u32,
    /// Sent to a machine, or running there.
    #[n(2)]
    pub running: u32,
    /// Completed.
    #[n(3)]
    pub completed: u32,
    /// Faulted.
    #[n(4)]
    pub faulted: u32,
    /// Will not run, because of their links or the end of the process, and those that were stopped.
    #[n(5)]
    pub skipped: u32,
    /// Completed activities that did not run because they reused a recorded outcome.
    #[cbor(n(6), default)]
    pub reused: u32,
    /// Those of the skipped that had been started, and were stopped.
    #[cbor(n(7), default)]
    pub stopped: u32,
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
            // They are among the skipped.
            stopped: _,
        } = self;
        waiting + ready + running + completed + faulted + skipped
    }

    /// Those that will not run and did not.
    pub fn not_run(&self) -> u32 {
        self.skipped.saturating_sub(self.stopped)
    }
}

/// The description of one process.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Status {
    /// Its summary.
    #[n(0)]
    pub summary: Summary,
    /// Its inputs, defaults included.
    #[n(1)]
    pub inputs: Vec<(String, Value)>,
    /// Its outputs, once it has completed.
    #[n(2)]
    pub outputs: Vec<(String, Value)>,
    /// The process's variables.
    #[n(3)]
    pub variables: Vec<(String, Value)>,
    /// Its faults, the cause first.
    #[n(4)]
    pub faults: Vec<Fault>,
    /// One entry for each activity, by id.
    #[n(5)]
    pub activities: Vec<ActivityStatus>,
    /// The number of the plan in force.
    #[n(6)]
    pub generation: Generation,
    /// The duration of the first plan; none if no work is known.
    #[n(7)]
    pub planned: Option<Span>,
    /// The machines that the process has used or may use.
    #[n(8)]
    pub machines: Vec<(ResourceId, String)>,
    /// The reason why nothing runs at the moment, if it needs one.
    #[n(9)]
    pub waiting_for: Option<String>,
    /// Its action when an activity has faulted.
    #[cbor(n(10), default)]
    pub on_fault: OnFault,
    /// The outputs that cannot be copied at the moment and the reason, if copies are wanted.
    #[n(11)]
    pub copies: Option<String>,
    /// When the first plan was put in force: planned times count from here.
    #[n(12)]
    pub planned_from: Option<Wall>,
    /// Its place in the order, if it waits for its first plan.
    #[n(13)]
    pub turn: Option<Turn>,
    /// The estimated remaining time, if it can be estimated.
    #[n(14)]
    pub left: Option<Span>,
    /// The remaining time that nine in ten runs take at most, where enough is known of earlier ones.
    #[n(15)]
    pub left_p90: Option<Span>,
    /// The last plans that moved activities because of slow machines, the oldest first.
    #[cbor(n(16), default)]
    pub rescheduled: Vec<Rescheduled>,
    /// The number of all such plans.
    #[cbor(n(17), default)]
    pub n_rescheduled: u32,
    /// The slots of its machines, as they were offered when a plan first named them; a machine that no plan has
    /// named is left out.
    #[cbor(n(18), default)]
    pub slots: Vec<(ResourceId, u32)>,
}

/// The state of an activity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(index_only)]
pub enum ActivityPhase {
    /// Waits for others to end.
    #[n(0)]
    #[default]
    Waiting,
    /// Could run, and is not sent to a machine.
    #[n(1)]
    Ready,
    /// Sent to a machine.
    #[n(2)]
    Sent,
    /// Running there, as far as is known.
    #[n(3)]
    Running,
    /// Waits before its next attempt.
    #[n(4)]
    Backoff,
    /// Completed.
    #[n(5)]
    Completed,
    /// Faulted.
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
    /// The word for users and scripts.
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
    /// The activity.
    #[n(0)]
    pub activity: ActivityId,
    /// Its state.
    #[n(1)]
    pub phase: ActivityPhase,
    /// Its place in the plan in force, with times since the first plan: see [`Status::planned_from`].
    #[n(2)]
    pub planned: Option<Planned>,
    /// Its attempts, the last one last.
    #[n(3)]
    pub attempts: Vec<AttemptStatus>,
    /// Its outputs, by name.
    #[n(4)]
    pub outputs: Vec<(String, Artifact)>,
    /// The attempt whose outcome is reused, if it was not run here; it names process, activity and
    /// number.
    #[n(5)]
    pub reused: Option<AttemptStatus>,
    /// The machine that keeps a copy of its outputs.
    #[n(6)]
    pub copy: Option<ResourceId>,
}

impl ActivityStatus {
    /// Returns true if it has completed in an iteration of which no more is kept than that: whatever completes has
    /// an attempt, or stands for one.
    pub fn is_folded(&self) -> bool {
        self.phase == ActivityPhase::Completed && self.attempts.is_empty() && self.reused.is_none()
    }
}

/// A place in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Planned {
    /// The machine.
    #[n(0)]
    pub resource: ResourceId,
    /// The slot.
    #[n(1)]
    pub slot: u32,
    /// Estimated start.
    #[n(2)]
    pub start: Span,
    /// Estimated finish.
    #[n(3)]
    pub finish: Span,
}

/// An attempt at an activity.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct AttemptStatus {
    /// The attempt.
    #[n(0)]
    pub attempt: AttemptId,
    /// The machine.
    #[n(1)]
    pub resource: ResourceId,
    /// The kind of its end: `completed`, `stopped`, `lost`, or a fault's name; none before its end.
    #[n(2)]
    pub end: Option<String>,
    /// The command's process id, once known.
    #[n(3)]
    pub pid: u32,
    /// When it started, once known.
    #[n(4)]
    pub started: Option<Wall>,
    /// Its run time.
    #[n(5)]
    pub wall: Span,
    /// CPU time that it used.
    #[n(6)]
    pub cpu: Span,
    /// Its peak memory.
    #[n(7)]
    pub peak_memory: Bytes,
    /// Its exit status, if it exited.
    #[n(8)]
    pub exit_code: Option<i32>,
    /// The place of its log on its machine.
    #[n(9)]
    pub log: Option<Log>,
    /// Slots that it held.
    #[cbor(n(10), default)]
    pub slots: u32,
}
