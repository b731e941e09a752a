//! Inputs and outputs of the core: settings, inputs and effects.

use std::collections::BTreeMap;

use minicbor::{Decode, Encode};
use model::{Artifact, AttemptId, Bytes, FaultName, Mono, ProcessId, Produced, ResourceId, Span};
use wire::attempt::{
    Access, Checked, Copied, Discard, Fetched, FromActivity, Holder, ReadLog, ToActivity,
};
use wire::executor::{FromExecutor, ToExecutor, Written};
use wire::resource::{FromResource, ToResource};

/// Maximum number of known attempts in any state. More are refused as `Full`; their process manager
/// sends them again.
pub const ATTEMPTS_KNOWN_MAX: usize = 65_536;
/// Maximum bytes of waiting dispatches and unacknowledged outcomes together. Above it, dispatches
/// are refused as `Full` and nothing more is sent to the executor.
pub const KNOWN_BYTES_MAX: usize = 256 << 20;
/// Bytes of one dispatch without its inputs: half a frame of the executor's link, which adds the machine's
/// environment.
pub const DISPATCH_BYTES_MAX: usize = wire::executor::FRAME_BYTES_MAX / 2;

/// The properties and settings of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Its name, unique in its group.
    pub name: String,
    /// Slots: cores that attempts may use together. A machine without slots runs nothing, and keeps
    /// copies of files from others.
    pub slots: u32,
    /// Memory for activities, as reported to the group.
    pub memory: Bytes,
    /// Reference seconds of work that one core does in a second.
    pub power: f64,
    /// Labels, by name.
    pub labels: BTreeMap<String, String>,
    /// The address that serves its files: host and port. None if there is none.
    pub bulk: Option<String>,
    /// Environment variables of every command: `PATH`, `HOME`... A dispatch may replace them.
    pub environment: Vec<(String, String)>,
    /// Environment variables of a user's commands that replace or extend these, by user name.
    pub of_users: BTreeMap<String, Vec<(String, String)>>,
    /// The directory of the environments that are made of files, an absolute path.
    pub environments: String,
    /// Priority of commands, -20 to 19; none leaves the executor's.
    pub nice: Option<i32>,
    /// Cores of attempts that are staged, or queued at the executor, beyond the slots.
    pub prefetch: u32,
    /// Time for which commands go on without this daemon; none leaves the executor's setting.
    pub linger: Option<Span>,
    /// Time from TERM to KILL; none leaves the executor's setting.
    pub kill_grace: Option<Span>,
    /// The time from which the steps of the pace of commands count, as the executor's clock of leases has
    /// it; none where commands have no pace of their own.
    pub pace_since: Option<Mono>,
    /// The length of lease that sets the interval of signs of life to the group manager
    /// ([`wire::lease`]). The leases of attempts have the lengths that their process managers
    /// choose. None if attempts need no lease, because all managers are in one program.
    pub lease: Option<Span>,
    /// The beat of the signs of life to the group manager ([`wire::lease::next_alive`]), which is the same
    /// for several machines; none to count from the last sign.
    pub beat: Option<Span>,
    /// True if the executor is asked each second whether it answers; a silent one is not lent and
    /// then killed. False in one program, which a debugger may stop.
    pub asks_executor: bool,
    /// Time for which outcomes are kept for a process manager that stays away; none without an end.
    pub outcomes_kept: Option<Span>,
    /// True if the journal of earlier epochs was lost, and this epoch begins with an empty one.
    pub has_forgotten: bool,
}

/// A prefetch that keeps the cores busy: an ended attempt is followed by one that the executor has
/// already, and at some thousand ends a second some 30 of them cover this daemon's response time.
pub const fn prefetch_default(slots: u32) -> u32 {
    slots.saturating_mul(2).saturating_add(30)
}

/// The peer of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peer {
    /// The group manager.
    Group,
    /// A process manager, by a number that it keeps over connections and epochs.
    Process(u32),
}

/// An input of an activity manager.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A peer is connected.
    Up(Peer),
    /// A peer is disconnected.
    Down(Peer),
    /// A message of the group manager.
    Group(ToResource),
    /// A message of a process manager.
    Process(u32, ToActivity),
    /// A message of the executor, its hello included. This link loses messages only by closing, and
    /// keeps their order.
    Executor(FromExecutor),
    /// The link to the executor has closed.
    ExecutorDown,
    /// The number of slots that the group may grant from here on, at most the machine's. Running
    /// commands go on.
    Lend(u32, Option<String>),
    /// The power of a core was measured anew.
    Power(f64),
    /// Asks which of these processes are not served here: [`Effect::Unserved`].
    Served(Vec<ProcessId>),
    /// The daemon must end: nothing is lent or sent to the executor from here on, and
    /// [`Effect::Left`] reports that no attempt is left that has not started.
    Leave,
    /// The answer to [`Effect::Stage`].
    Staged {
        /// The attempt.
        attempt: AttemptId,
        /// Its directory, or the failure.
        result: Result<Workplace, Trouble>,
    },
    /// A file was fetched for this attempt, before the answer to [`Effect::Stage`].
    Fetched(AttemptId, Fetched),
    /// The answer to [`Effect::Stage`] if inputs are not here and could not be fetched.
    Lacking {
        /// The attempt.
        attempt: AttemptId,
        /// The missing inputs.
        inputs: Vec<u32>,
        /// Its directory, which is empty.
        workplace: Workplace,
    },
    /// The answer to [`Effect::Collect`].
    Collected {
        /// The attempt.
        attempt: AttemptId,
        /// The outputs in the order of the request, durably stored; or the failure.
        result: Result<Vec<Artifact>, Trouble>,
    },
    /// The answer to [`Effect::Copy`]: everything is here, durably. There is no answer if it could
    /// not be fetched.
    Copied {
        /// The process manager that asked.
        to: u32,
        /// The outputs.
        copied: Copied,
    },
    /// The answer to [`Effect::Probe`]: a machine has given the bytes. There is none if it has not.
    Probed {
        /// The process manager that asked.
        to: u32,
        /// The machine, and the time.
        fetched: Fetched,
    },
    /// The answer to [`Effect::Check`].
    Checked {
        /// The process manager that asked.
        to: u32,
        /// The result.
        checked: Checked,
    },
    /// The answer to [`Effect::Discard`]: nothing is left to delete.
    Discarded {
        /// The process manager that asked.
        to: u32,
        /// The attempt that it has named.
        made_by: AttemptId,
    },
    /// A user requests a file of a process; answered by [`Effect::Access`].
    Access {
        /// Repeated by the answer.
        number: u32,
        /// The user and the file.
        access: Access,
    },
}

/// A directory that is ready for a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workplace {
    /// Its absolute path.
    pub directory: String,
}

/// A failure to stage inputs or to store outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The fault that the user sees.
    pub name: FaultName,
    /// The error, in a sentence.
    pub message: String,
}

/// An effect of an activity manager.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Send to the group manager.
    ToGroup(FromResource),
    /// Send to a process manager.
    ToProcess(u32, FromActivity),
    /// Send to the executor; dropped without one.
    Execute(ToExecutor),
    /// Fetch missing inputs, make the directory of an attempt and place its inputs. Repeated after
    /// a long silence: a worker that is still at it ignores the repeat, one that has finished
    /// answers again.
    Stage {
        /// The attempt.
        attempt: AttemptId,
        /// The inputs in the directory, by path; a directory's path ends with `/`.
        inputs: Vec<(String, Artifact)>,
        /// Sources of inputs that may be missing, by the inputs' index.
        sources: Vec<(u32, Vec<Holder>)>,
        /// The user whose process it is, if known.
        user: Option<String>,
        /// True if its process discards files that nobody needs any more.
        discards: bool,
    },
    /// Store the outputs in a directory durably. Repeated like `Stage`.
    Collect {
        /// The attempt.
        attempt: AttemptId,
        /// Its directory.
        directory: String,
        /// The wanted outputs.
        outputs: Vec<Produced>,
        /// The user that its command ran as, if not the executor's own: files of other users are
        /// refused.
        user: Option<u32>,
    },
    /// Remove the directory of an attempt. That of a failed attempt is never named here: it stays
    /// until its process is forgotten.
    Clear {
        /// Which attempt.
        attempt: AttemptId,
        /// Where it ran, or would have run.
        directory: String,
    },
    /// Read the end of what an attempt has written so far, as the executor reported it, and send it
    /// to a process manager as [`FromActivity::Tail`].
    Tail {
        /// The process manager.
        to: u32,
        /// The attempt.
        attempt: AttemptId,
        /// The part in memory, and the place of the rest.
        written: Box<Written>,
    },
    /// Read a part of an attempt's log, and send it to this process manager as
    /// [`FromActivity::LogPart`].
    ReadLog(u32, Box<ReadLog>),
    /// Fetch the outputs of an activity and store them durably; answered by [`Input::Copied`].
    /// Repeated without an answer: a worker that is still at it ignores the repeat.
    Copy {
        /// The process manager that asked.
        to: u32,
        /// The outputs.
        copied: Copied,
        /// Their sources.
        sources: Vec<Holder>,
        /// True if they must not be evicted until [`Effect::Unneeded`].
        stays: bool,
        /// The number of the attempt that made them, where its process discards files that nobody needs
        /// any more.
        number: Option<u32>,
    },
    /// Fetch a few bytes that mean nothing from these machines, to learn how fast the ways to them are; each answered
    /// by [`Input::Probed`].
    Probe {
        /// The process manager that asked.
        to: u32,
        /// The machines.
        machines: Vec<Holder>,
    },
    /// Delete files, unless somebody else has them; each answered by [`Input::Discarded`]. What is used
    /// after this effect stays.
    Discard {
        /// The process manager that asked.
        to: u32,
        /// The files.
        discards: Vec<Discard>,
    },
    /// Check that outputs are here unchanged, and fetch missing ones; answered by
    /// [`Input::Checked`]. Repeated without an answer: a worker that is still at it ignores the
    /// repeat.
    Check {
        /// The process manager that asked.
        to: u32,
        /// The outputs.
        copied: Copied,
        /// Their other sources.
        sources: Vec<Holder>,
    },
    /// The answer to [`Input::Access`]. There is none if a process manager does not answer.
    Access {
        /// The number of the request.
        number: u32,
        /// True if a process manager permits the file to the user.
        is_allowed: bool,
    },
    /// The group manager has assigned this machine's number.
    Numbered(ResourceId),
    /// A process has no grant here any more and needs no copies here: its files may be evicted.
    Unneeded(ProcessId),
    /// The answer to [`Input::Served`]: these have no grant here and no known attempt.
    Unserved(Vec<ProcessId>),
    /// The answer to [`Input::Leave`].
    Left,
    /// The executor has stopped answering, or answers again.
    ExecutorSilent(bool),
    /// Kill the executor, which does not answer.
    EndExecutor,
}

/// The manager's journal has one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Stream {
    /// The manager itself.
    #[n(0)]
    Manager,
}
