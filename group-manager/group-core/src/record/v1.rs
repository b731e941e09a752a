//! Events, snapshots and repository records of the first release, in the form in which they are
//! stored.

use std::collections::BTreeMap;

use minicbor::{Decode, Encode};
use model::{Bytes, Epoch, GrantId, ProcessId, Span, Wall};

/// A durable fact.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Event {
    /// An epoch has begun.
    #[n(0)]
    Epoch(#[n(0)] Epoch),
    /// A machine has a number, for ever.
    #[n(1)]
    Named {
        /// The number.
        #[n(0)]
        resource: MachineNumber,
        /// The machine.
        #[n(1)]
        name: String,
    },
    /// A claim was granted.
    #[n(2)]
    Granted {
        /// The process that claimed.
        #[n(0)]
        process: ProcessId,
        /// The number of the claim.
        #[n(1)]
        number: u32,
        /// The grants that this claim has added.
        #[n(2)]
        grants: Vec<Grant>,
        /// The process manager that has claimed, by its number; none in a record that does not
        /// know it.
        #[cbor(n(3), default)]
        manager: Option<u32>,
        /// The identity of the owner of the process, where this is all that it holds; none where it
        /// has no owner, or the record does not know it.
        #[cbor(n(4), default)]
        owner: Option<String>,
    },
    /// A process holds nothing any more.
    #[n(3)]
    Released {
        /// The process.
        #[n(0)]
        process: ProcessId,
        /// The earlier release that is remembered no longer because of this one.
        #[n(1)]
        forgets: Option<ProcessId>,
    },
    /// A machine is offered no more, or again.
    #[n(4)]
    Drained {
        /// The machine.
        #[n(0)]
        name: String,
        /// True if it is to be empty.
        #[n(1)]
        is_drained: bool,
    },
    /// What a process held on a machine has ended: its process manager was away, and the machine had
    /// nothing of it.
    #[n(5)]
    Revoked {
        /// The process.
        #[n(0)]
        process: ProcessId,
        /// The machine.
        #[n(1)]
        resource: MachineNumber,
        /// If this was all that it held: the earlier release that is remembered no longer because of
        /// this one.
        #[n(2)]
        forgets: Option<ProcessId>,
    },
    /// Some time has passed in which nobody got or gave back slots: the owners of processes are charged
    /// for it.
    #[n(6)]
    Charged {
        /// The time.
        #[n(0)]
        elapsed: Span,
        /// The time in which what an owner has used counts half.
        #[n(1)]
        half_life: Span,
        /// Its end, by the calendar.
        #[n(2)]
        at: Wall,
    },
    /// A process has given some of its slots back.
    #[n(7)]
    Returned {
        /// The process.
        #[n(0)]
        process: ProcessId,
        /// The number of the return, one of those that claims have.
        #[n(1)]
        number: u32,
        /// All that it holds from here on.
        #[n(2)]
        grants: Vec<Grant>,
    },
    /// A machine did not come back, and nobody is told of it any more. It has its number again once it has
    /// registered: that is another [`Event::Named`].
    #[n(8)]
    Forgotten {
        /// The number.
        #[n(0)]
        resource: MachineNumber,
    },
    /// An administrator ends what processes hold whose process manager is away, or they keep it since that one
    /// has returned. What a process no longer holds needs neither.
    #[n(9)]
    GivenUp {
        /// The processes.
        #[n(0)]
        processes: Vec<ProcessId>,
        /// True if their holdings are to end.
        #[n(1)]
        is_given_up: bool,
    },
}

/// The number of a machine in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct MachineNumber(#[n(0)] pub u32);

/// Leave to use slots of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Grant {
    /// Its number.
    #[n(0)]
    pub id: GrantId,
    /// The machine.
    #[n(1)]
    pub resource: MachineNumber,
    /// The number of slots; 0 where only files of the process stay there.
    #[n(2)]
    pub slots: u32,
}

/// The grants of a process.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Holding {
    /// The number of its last claim that was granted, or return that was taken.
    #[n(0)]
    pub number: u32,
    /// All that it holds, in the order of the grants.
    #[n(1)]
    pub grants: Vec<Grant>,
    /// The process manager that claims for it; none where no record knows it.
    #[cbor(n(2), default)]
    pub manager: Option<u32>,
    /// The identity of the process's owner; none where it has none, or no record knows it.
    #[cbor(n(3), default)]
    pub owner: Option<String>,
}

/// The state that stands for all events so far.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Snapshot {
    /// The present epoch.
    #[n(0)]
    pub epoch: Epoch,
    /// The number of each machine, by its name.
    #[n(1)]
    pub names: BTreeMap<String, MachineNumber>,
    /// All processes that hold something.
    #[n(2)]
    pub holdings: BTreeMap<ProcessId, Holding>,
    /// Released processes with the numbers of their last claims, in the order of release.
    #[n(3)]
    pub released: Vec<(ProcessId, u32)>,
    /// The highest number of a grant so far.
    #[n(4)]
    pub n_grants: u64,
    /// Machines that are offered no more.
    #[cbor(n(5), default)]
    pub drained: Vec<String>,
    /// The usage of owners; none where they were never charged.
    #[cbor(n(6), default)]
    pub used: Option<Used>,
    /// Machines that did not come back; none where there are none.
    #[n(7)]
    pub forgotten: Option<Vec<MachineNumber>>,
    /// Processes whose holdings an administrator ends; none where there are none.
    #[n(8)]
    pub given_up: Option<Vec<ProcessId>>,
}

/// What the owners of processes have used.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Used {
    /// When they were charged last, by the calendar.
    #[n(0)]
    pub at: Wall,
    /// Slot seconds as they counted then, by the owner's name.
    #[n(1)]
    pub owners: Vec<(String, f64)>,
}

/// A machine as it was seen last: a record of the repository, which may be lost.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Seen {
    /// The machine.
    #[n(0)]
    pub facts: Facts,
    /// When it spoke.
    #[n(1)]
    pub seen: Wall,
}

/// A machine's description of itself.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Facts {
    /// Its name, unique in its group.
    #[n(0)]
    pub name: String,
    /// Slots for activities.
    #[n(1)]
    pub slots: u32,
    /// Memory for activities.
    #[n(2)]
    pub memory: Bytes,
    /// Reference seconds of work that one core does in a second.
    #[n(3)]
    pub power: f64,
    /// Labels, by name.
    #[n(4)]
    pub labels: BTreeMap<String, String>,
    /// The address that serves its files: host and port. None if there is none.
    #[n(5)]
    pub bulk: Option<String>,
    /// True if it keeps files and never has slots.
    #[cbor(n(6), default)]
    pub is_store: bool,
}

/// The past of a machine: a record of the repository, which may be lost.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct History {
    /// Its name.
    #[n(0)]
    pub name: String,
    /// The moments that are kept, oldest first.
    #[n(1)]
    pub moments: Vec<Moment>,
}

/// The power and the load of a machine at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Encode, Decode)]
pub struct Moment {
    /// The moment.
    #[n(0)]
    pub at: Wall,
    /// Reference seconds of work that one core does in a second, as measured.
    #[n(1)]
    pub power: f32,
    /// Thousandths of it that it had by what it has shown; none where that is as measured.
    #[n(2)]
    pub shown: Option<u32>,
    /// Cores that others used; none if unknown.
    #[n(3)]
    pub others: Option<f32>,
    /// The same as it was expected.
    #[n(4)]
    pub others_expected: Option<f32>,
}
