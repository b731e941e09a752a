//! What crosses the edge of the core: settings, inputs, effects, and what is durable.

use std::collections::BTreeMap;

use minicbor::{Decode, Encode};
use model::{Artifact, AttemptId, Bytes, Epoch, FaultName, ProcessId, Produced, ResourceId, Span};
use wire::attempt::{Access, Checked, Copied, FromActivity, Holder, ReadLog, ToActivity};
use wire::executor::{FromExecutor, ToExecutor, Written};
use wire::resource::{FromResource, ToResource};

/// Attempts known at once, whatever their state. More are refused as `Full`; their process manager
/// keeps them and sends them again.
pub const ATTEMPTS_KNOWN_MAX: usize = 65_536;
/// Bytes of dispatches that wait and of outcomes that nobody has acknowledged, together. Beyond it
/// dispatches are refused as `Full` and nothing more is handed to the executor.
pub const KNOWN_BYTES_MAX: usize = 256 << 20;
/// Bytes of one dispatch: half a frame of the executor's link, which adds the machine's environment.
pub const DISPATCH_BYTES_MAX: usize = wire::executor::FRAME_BYTES_MAX / 2;

/// What a machine is, and how it is to be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Its name, unique in its group.
    pub name: String,
    /// Slots: cores that attempts may hold together. A machine that has none runs nothing, and keeps
    /// copies of what others have made.
    pub slots: u32,
    /// Memory for activities, as told to the group.
    pub memory: Bytes,
    /// Reference seconds of work that one core does in a second.
    pub power: f64,
    /// What it is or has, by name.
    pub labels: BTreeMap<String, String>,
    /// Where others are given its files: host and port. None where nobody is.
    pub bulk: Option<String>,
    /// Environment variables of every command: `PATH`, `HOME`... A dispatch may replace them.
    pub environment: Vec<(String, String)>,
    /// What the commands of a user find instead or besides, by the user's name.
    pub of_users: BTreeMap<String, Vec<(String, String)>>,
    /// Priority of commands, -20 to 19; none leaves that of the executor.
    pub nice: Option<i32>,
    /// Cores of attempts that are made ready, or queued at the executor, beyond the slots.
    pub prefetch: u32,
    /// How long commands go on without this daemon; none leaves it to the executor.
    pub linger: Option<Span>,
    /// From TERM to KILL; none leaves it to the executor.
    pub kill_grace: Option<Span>,
    /// How often its group manager hears of this machine: as if its leases were of this length
    /// ([`wire::lease`]). How long attempts go on without a word from their process manager is said
    /// by that one. None where they need no lease, since all is one program.
    pub lease: Option<Span>,
    /// Whether the executor is asked each second whether it answers, and one that does not is not lent
    /// and then ended. Not where all is one program, which a debugger may stop.
    pub asks_executor: bool,
    /// Whether the journal of earlier lives was lost, and this life begins with an empty one.
    pub has_forgotten: bool,
}

/// A prefetch that keeps the cores busy: an attempt that ends is followed by one that the executor
/// has already, and at a few thousand ends a second some 30 of them cover this daemon's way round.
pub const fn prefetch_default(slots: u32) -> u32 {
    slots.saturating_mul(2).saturating_add(30)
}

/// Who is at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peer {
    /// The group manager.
    Group,
    /// A process manager, by a number that stays with it from connection to connection and from
    /// life to life.
    Process(u32),
}

/// What an activity manager is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A peer can be reached.
    Up(Peer),
    /// A peer cannot be reached.
    Down(Peer),
    /// A message of the group manager.
    Group(ToResource),
    /// A message of a process manager.
    Process(u32, ToActivity),
    /// A message of the executor, its hello included. This link loses messages only by closing,
    /// and keeps their order.
    Executor(FromExecutor),
    /// The link to the executor has closed.
    ExecutorDown,
    /// How many slots the group may give away from here on: not more than the machine has. What
    /// runs goes on.
    Lend(u32),
    /// Asks which of these processes are not served here: [`Effect::Unserved`].
    Served(Vec<ProcessId>),
    /// The daemon is to end: nothing is lent or handed to the executor from here on, and
    /// [`Effect::Left`] says when nothing is here that has not started.
    Leave,
    /// The answer to [`Effect::Stage`].
    Staged {
        /// Which attempt.
        attempt: AttemptId,
        /// Where it may run, or why it cannot.
        result: Result<Workplace, Trouble>,
    },
    /// The answer to [`Effect::Stage`] where inputs are not here and could not be had.
    Lacking {
        /// Which attempt.
        attempt: AttemptId,
        /// Which of its inputs.
        inputs: Vec<u32>,
        /// The directory that was made for it, and is empty.
        workplace: Workplace,
    },
    /// The answer to [`Effect::Collect`].
    Collected {
        /// Which attempt.
        attempt: AttemptId,
        /// The outputs, in the order in which they were asked for, durably kept; or what failed.
        result: Result<Vec<Artifact>, Trouble>,
    },
    /// The answer to [`Effect::Copy`]: all of it is here, durably. There is none where it could not
    /// be had.
    Copied {
        /// Which process manager wants to know.
        to: u32,
        /// What is here.
        copied: Copied,
    },
    /// The answer to [`Effect::Check`].
    Checked {
        /// Which process manager wants to know.
        to: u32,
        /// What was found.
        checked: Checked,
    },
    /// A user wants a file of a process; the answer is [`Effect::Access`].
    Access {
        /// Repeated by the answer.
        number: u32,
        /// Who wants what.
        access: Access,
    },
}

/// A directory that is ready for a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workplace {
    /// Its absolute path.
    pub directory: String,
}

/// Why inputs could not be laid out, or outputs not be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The fault it is for the user.
    pub name: FaultName,
    /// What happened, in a sentence.
    pub message: String,
}

/// What an activity manager wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Send to the group manager.
    ToGroup(FromResource),
    /// Send to a process manager.
    ToProcess(u32, FromActivity),
    /// Send to the executor; dropped where there is none.
    Execute(ToExecutor),
    /// Fetch what is not here, make the directory of an attempt and lay its inputs into it. Repeated when there is no answer
    /// for long: whoever is at it ignores that, whoever has done it answers again.
    Stage {
        /// Which attempt.
        attempt: AttemptId,
        /// What is laid into the directory, by path; a directory's path ends with `/`.
        inputs: Vec<(String, Artifact)>,
        /// Who has inputs that may not be here, by their place.
        sources: Vec<(u32, Vec<Holder>)>,
        /// The user whose process it is, where that is known.
        user: Option<String>,
    },
    /// Take outputs out of a directory and keep them durably. Repeated like `Stage`.
    Collect {
        /// Which attempt.
        attempt: AttemptId,
        /// Where it ran.
        directory: String,
        /// What is wanted.
        outputs: Vec<Produced>,
        /// The user that its command ran as, where that is not the executor's own: nobody else's
        /// files are taken.
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
    /// Read the end of what an attempt has written so far, as the executor has told it, and send it
    /// to a process manager as [`FromActivity::Tail`].
    Tail {
        /// To which one.
        to: u32,
        /// Which attempt.
        attempt: AttemptId,
        /// What is in memory, and where the rest is.
        written: Box<Written>,
    },
    /// Read a part of what an attempt wrote, and send it to this process manager as
    /// [`FromActivity::LogPart`].
    ReadLog(u32, Box<ReadLog>),
    /// Fetch what an activity has produced elsewhere, and keep it durably; the answer is
    /// [`Input::Copied`]. Repeated when there is no answer: whoever is at it ignores that.
    Copy {
        /// For which process manager.
        to: u32,
        /// What.
        copied: Copied,
        /// Who has it.
        sources: Vec<Holder>,
        /// Whether it is not to be evicted until [`Effect::Unneeded`].
        stays: bool,
    },
    /// See whether all of this is here as it was made, and fetch what is not; the answer is
    /// [`Input::Checked`]. Repeated when there is no answer: whoever is at it ignores that.
    Check {
        /// For which process manager.
        to: u32,
        /// What.
        copied: Copied,
        /// Who else has it.
        sources: Vec<Holder>,
    },
    /// The answer to [`Input::Access`]. There is none where a process manager does not answer.
    Access {
        /// Which question this answers.
        number: u32,
        /// Whether a process manager says that the user may have the file.
        is_allowed: bool,
    },
    /// The group manager has told this machine's number.
    Numbered(ResourceId),
    /// A process has no leave here any more, and needs no copies here: its files may go.
    Unneeded(ProcessId),
    /// The answer to [`Input::Served`]: these have no leave here, and nothing is known of them.
    Unserved(Vec<ProcessId>),
    /// The answer to [`Input::Leave`].
    Left,
    /// The executor does not answer, or does again.
    ExecutorSilent(bool),
    /// Kill the executor, which does not answer, whatever it does.
    EndExecutor,
}

/// The manager's journal has one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Stream {
    /// The manager itself.
    #[n(0)]
    Manager,
}

/// A durable fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Event {
    /// A life has begun, or a process manager has asked what is held here.
    #[n(0)]
    Epoch(#[n(0)] Epoch),
    /// An attempt that must never run twice is handed to the executor.
    #[n(1)]
    Starting {
        /// Which.
        #[n(0)]
        attempt: AttemptId,
        /// The process manager that is told what becomes of it.
        #[n(1)]
        owner: u32,
    },
    /// What became of it is durable elsewhere, or it has not started after all.
    #[n(2)]
    Settled(#[n(0)] AttemptId),
    /// The journal of the lives before was lost.
    #[n(3)]
    Forgot,
    /// The process manager has recorded what follows from that.
    #[n(4)]
    Resolved,
}

/// What is durable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct State {
    /// Counts lives and attachments from 1, so that what was meant for an earlier one is refused.
    #[n(0)]
    pub epoch: Epoch,
    /// Attempts that must never run twice and may have been started, with their process managers.
    #[cbor(n(1), default)]
    pub starting: BTreeMap<AttemptId, u32>,
    /// Whether attempts may be missing there, since the journal of earlier lives was lost.
    #[cbor(n(2), default)]
    pub has_forgotten: bool,
}
