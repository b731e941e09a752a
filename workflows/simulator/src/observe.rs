//! The observable events of a run: writes on disks, messages sent and received, commands that run,
//! answers to users. Nothing here is a core's own bookkeeping.

use model::{ActivityId, AttemptId, Epoch, GroupId, Mono, Plan, ProcessId, Span};
use wire::attempt::ToActivity;
use wire::client::{Answer, Submit};
use wire::group::{FromGroup, Need};

/// Something that was seen.
#[derive(Debug)]
pub enum Seen<'a> {
    /// A machine's activity manager starts.
    Machine {
        /// Which one, counted from 0; its name is `m` and this number.
        machine: usize,
        /// Its slots.
        slots: u32,
    },
    /// A client begins to submit.
    Submits(&'a Submit),
    /// A client begins to ask that a process be cancelled.
    Cancels(ProcessId),
    /// The process manager has made an event durable.
    ProcessDurable(process_core::Stream, &'a process_core::Event),
    /// The manager of a group has made an event durable.
    GroupDurable(GroupId, &'a group_core::Event),
    /// The process manager sends to the activity manager of a machine.
    ToActivity(usize, &'a ToActivity),
    /// The group manager sends to the process manager.
    FromGroup(&'a FromGroup),
    /// A process manager claims slots for a process, or repeats that.
    Claims(ProcessId),
    /// A process manager tells a group that a process waits, for how long none has got slots there in its turn,
    /// and what it needs.
    Waits(ProcessId, Span, &'a [Need]),
    /// A process manager, counted from 0, answers a client.
    Answers(usize, &'a Answer),
    /// A client has received an answer.
    Told(usize, &'a Answer),
    /// A machine has learned its number.
    Numbered(usize, model::ResourceId),
    /// An executor has started a command.
    Started(&'a Command),
    /// A command has ended, by itself or by being killed.
    Ended(&'a Command),
    /// A worker begins to plan a process...
    Plans(ProcessId),
    /// ...and has done so, in no simulated time: whoever has a clock may look at it at both.
    HasPlanned(&'a MadePlan<'a>),
    /// Inputs are laid out for an attempt.
    Stages(AttemptId, &'a [(String, model::Artifact)]),
    /// A worker could not lay out an attempt's inputs, or keep its outputs.
    Troubled(AttemptId),
    /// A process manager, counted from 0, begins a life with leases of this length.
    Leases(usize, Span),
    /// At a process manager has arrived a message of a machine's activity manager.
    Heard(usize, usize),
    /// At a process manager has arrived a machine's request for its lease...
    Renews {
        /// Which process manager, counted from 0.
        manager: usize,
        /// Which machine, counted from 0.
        machine: usize,
        /// The epoch of its activity manager.
        epoch: Epoch,
        /// The number of the request in that epoch.
        number: u32,
    },
    /// ...and the process manager answers it.
    Renewed {
        /// Which process manager, counted from 0.
        manager: usize,
        /// Which machine, counted from 0.
        machine: usize,
        /// The epoch of its activity manager.
        epoch: Epoch,
        /// The number of the request in that epoch.
        number: u32,
    },
    /// A process manager and the group managers run, or no longer.
    Managers {
        /// Which process manager, counted from 0.
        manager: usize,
        /// True if the process manager does, and is not stopped.
        process: bool,
        /// True if all group managers do too, and it and they reach each other.
        both: bool,
    },
    /// A machine can be reached, or no longer: whether its activity manager, the manager of its group
    /// and a process manager run, and their connections carry.
    Reached {
        /// By which process manager, counted from 0.
        manager: usize,
        /// Which one, counted from 0.
        machine: usize,
        /// True if it can.
        is_reached: bool,
    },
    /// A process manager, counted from 0, is lost for good.
    ManagerLost(usize),
    /// A machine and the manager of its group run and reach each other, or no longer.
    Joined {
        /// Which machine, counted from 0.
        machine: usize,
        /// True if they do.
        is_joined: bool,
    },
    /// From here on nothing goes wrong.
    Healed,
    /// Sizes of all kept data once everything is at rest; just before `AtRest`.
    Sizes(&'a Sizes),
    /// Outputs of an activity are recorded at a machine that has lost them, for longer than it takes
    /// to notice that.
    Bereft(ProcessId, ActivityId),
    /// A process discards what this attempt has made, on some machine.
    Discards(AttemptId),
    /// Files of an activity of a process that discards files are left on some disk, at the end, and only
    /// that process has them.
    Left(ProcessId, ActivityId),
    /// Everything is at rest: all clients know the end, and nobody holds anything.
    AtRest,
}

/// Sizes of kept data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Attempts that activity managers know.
    pub n_attempts: usize,
    /// Attempts on their disks that may have been started and must not run twice.
    pub n_starting: usize,
    /// Processes of which the process manager holds more than what is durable.
    pub n_live: usize,
    /// A stream with too many events after its snapshot.
    pub long_tail: Option<LongTail>,
}

/// Events of a stream that no snapshot stands for, more than the driver leaves there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongTail {
    /// Their weight.
    pub weight: usize,
    /// The most that there may be ([`machine::tail_max`]).
    pub most: usize,
}

/// A plan that a worker has made.
#[derive(Clone, Copy, Debug)]
pub struct MadePlan<'a> {
    /// The process.
    pub process: ProcessId,
    /// The problem.
    pub request: &'a schedule::Request,
    /// The plan; none where there is none.
    pub plan: Option<&'a Plan>,
}

/// A command at an executor.
#[derive(Clone, Debug)]
pub struct Command {
    /// On which machine, counted from 0.
    pub machine: usize,
    /// Which attempt.
    pub attempt: AttemptId,
    /// Cores it holds.
    pub cores: u32,
    /// Its command line.
    pub program: Vec<String>,
}

/// Watches a run and says which rule was broken.
pub trait Observer {
    /// Something was seen. The error is the rule that it breaks, and how.
    fn see(&mut self, at: Mono, seen: &Seen<'_>) -> Result<(), String>;
}

/// Nobody watches.
impl Observer for () {
    fn see(&mut self, _: Mono, _: &Seen<'_>) -> Result<(), String> {
        Ok(())
    }
}
