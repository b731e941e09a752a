//! The boundary of the core: settings, inputs and effects.

use minicbor::{Decode, Encode};
use model::{Epoch, GroupId, ProcessId, ResourceId, Span, Wall};
use wire::admin::{Moment, Node};
use wire::group::{FromGroup, Owners, ToGroup};
use wire::resource::{FromResource, ToResource};

use crate::policy::Policy;
use crate::shown::Load;

/// The settings of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Which group.
    pub group: GroupId,
    /// The length of its members' leases ([`wire::lease`]): its machines are watched. None where all
    /// is one program.
    pub lease: Option<Span>,
    /// Time after which a process manager that is away loses what its processes hold and do not use.
    pub holdings_end_after: Span,
    /// How the owners of processes share it.
    pub policy: Policy,
    /// Time after which a silent machine that nobody holds anything of is forgotten; never where none is given.
    pub forget_machines: Option<Span>,
    /// The number that epochs are above, beside those of the journal: a restored journal has numbers that others have
    /// seen already.
    pub epochs_above: Epoch,
}

/// The usual time after which holdings of an absent process manager end: long against a restart of
/// its machine's network, short against the patience of those who wait for the slots.
pub const HOLDINGS_END_AFTER: Span = Span::from_secs(60);

/// The usual time after which a silent machine that nobody holds anything of is forgotten: long against a restart and
/// a repair on the same day, and short enough that machines which were taken away do not pile up. It takes
/// little to be forgotten: who comes back is what it was.
pub const FORGET_MACHINES_AFTER: Span = Span::from_secs(86_400);

impl Default for Config {
    fn default() -> Config {
        Config {
            group: GroupId::default(),
            lease: None,
            holdings_end_after: HOLDINGS_END_AFTER,
            policy: Policy::default(),
            forget_machines: None,
            epochs_above: Epoch(0),
        }
    }
}

/// Who is at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peer {
    /// An activity manager, by a number of its connection. It says itself which machine it is.
    Activity(u32),
    /// A process manager, by a number that stays with it from connection to connection and from
    /// epoch to epoch.
    Process(u32),
}

/// An input of a group manager.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A peer can be reached. It speaks first.
    Up(Peer),
    /// A peer cannot be reached.
    Down(Peer),
    /// A message of the activity manager of a connection.
    Activity(u32, FromResource),
    /// A message of a process manager.
    Process(u32, ToGroup),
    /// The records that [`Effect::Keep`] has kept in earlier epochs, in any order; once, at the start.
    Known(Vec<Record>),
    /// Whose connection an activity manager's is, before it is up: it registers under this name and
    /// no other. Where nobody says so, it is believed.
    Introduced(u32, String),
    /// The certificate of a process manager is revoked: its holdings end as soon as machines hold
    /// nothing of its processes, unless it connects again.
    Barred(u32),
    /// An administrator ends holdings, by a number of the question.
    GiveUp(u64, Holder),
    /// Somebody asks about all machines, by a number of the question; a user, named by its identity, is told of own
    /// processes alone.
    Survey(u64, Option<String>),
    /// A machine is to be empty, or is to be offered again, by a number of the question.
    Drain {
        /// The number.
        question: u64,
        /// The machine's name.
        name: String,
        /// True if it is to be empty.
        is_drained: bool,
    },
    /// The load of a machine, by its name.
    Load(String, Load),
    /// Somebody asks about the past of a machine, by a number of the question and its name.
    History(u64, String),
}

/// An effect of a group manager.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Send to the activity manager of a connection.
    ToActivity(u32, ToResource),
    /// Send to a process manager.
    ToProcess(u32, FromGroup),
    /// Keep this in the repository, without waiting. Losing it costs nothing but time.
    Keep(Record),
    /// Let go of what the repository has under this key, without waiting.
    Drop(Vec<u8>),
    /// Say that a machine is forgotten, which did not come back.
    Forgotten {
        /// Its name.
        name: String,
        /// When it was heard last.
        seen: Wall,
    },
    /// Answer a question about all machines.
    Surveyed(u64, Survey),
    /// Say that a machine is as it is to be, durably; or that there is none of this name.
    Drained(u64, bool),
    /// Answer a question about the past of a machine, oldest first; none where there is no such machine.
    History(u64, Option<Vec<Moment>>),
    /// Answer an administrator who ends holdings.
    GivenUp(u64, GivenUp),
    /// Log that a process manager names a machine of another group, which it is not granted here.
    Foreign(u32, ResourceId),
}

/// The machines of a group, and who holds their slots.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Survey {
    /// The machines by their names, each with some of its holders.
    pub nodes: Vec<Node>,
    /// The owners of processes, where the group has a rule for them.
    pub owners: Option<Owners>,
    /// The slots that the processes of each owner hold, by its name.
    pub slots_by_owner: Vec<(String, u64)>,
    /// The processes that hold something of a machine, counted once for each machine.
    pub n_grants: usize,
}

/// Who holds slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A process.
    Process(ProcessId),
    /// All processes of a process manager.
    Manager(u32),
}

/// The answer to an administrator who ends holdings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenUp {
    /// So many slots are free as soon as machines have nothing of their holders.
    Ends {
        /// The slots.
        slots: u64,
    },
    /// This process manager is there: only it may give back what its processes hold.
    Attached(u32),
}

/// Something that the repository keeps under a key. A later one replaces an earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its name.
    pub key: Vec<u8>,
    /// The kept bytes; key and value together have at most 4 KiB.
    pub value: Vec<u8>,
}

/// The manager's journal has one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Stream {
    /// The manager itself.
    #[n(0)]
    Manager,
}
