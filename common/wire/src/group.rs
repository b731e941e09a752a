//! Process manager and group manager: offers are pushed, slots are claimed, granted and released.
//!
//! The process manager repeats a claim or a release until it is answered; the group manager answers
//! repeats from what it has recorded.

use std::collections::{BTreeMap, BTreeSet};

use minicbor::{Decode, Encode};
use model::{Bytes, Epoch, GrantId, GroupId, Policy, ProcessId, ResourceId, Span, Tuning};

/// Machines of one offer at most.
pub const RESOURCES_MAX: usize = 100_000;

/// A message from a process manager.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum ToGroup {
    /// The first message of a connection. Answered by `Offer`.
    #[n(0)]
    Attach {
        /// The sender's epoch.
        #[n(0)]
        epoch: Epoch,
    },
    /// Slots that a process wants beside those it has. Answered by `Granted` or `Refused`.
    #[n(1)]
    Claim {
        /// Counts up for each process: a repeat has the same number and gets the same answer.
        #[n(0)]
        number: u32,
        /// The process that the slots are for.
        #[n(1)]
        process: ProcessId,
        /// The slots wanted.
        #[n(2)]
        wants: Vec<Want>,
        /// The sender's epoch: a claim of an earlier one that comes late takes nothing.
        #[cbor(n(3), default)]
        epoch: Epoch,
        /// The identity of the owner of the process, as in a certificate; none where it was submitted
        /// on the sender's own machine.
        #[n(4)]
        owner: Option<String>,
    },
    /// The process needs nothing any more. Answered by `Released`.
    #[n(2)]
    Release(#[n(0)] ProcessId),
    /// All processes of the sender that have not given back all their slots. It is sent at the
    /// beginning of a connection if both managers are one program with two journals, since the
    /// receiver's may have been lost.
    #[n(3)]
    Holds(#[n(0)] Vec<Held>),
    /// Asks what the receiver holds for the sender's processes, and gives back what it holds for
    /// any other: once in each connection and for each epoch of the receiver, repeated until
    /// answered by `Holdings`.
    #[n(4)]
    Confirm {
        /// The sender's epoch.
        #[n(0)]
        epoch: Epoch,
        /// The receiver's epoch, as it has offered: in another one the list may be out of date.
        #[n(1)]
        group: Epoch,
        /// The number of the question.
        #[n(2)]
        number: u32,
        /// All processes of the sender that have not given back all their slots.
        #[n(3)]
        processes: Vec<ProcessId>,
    },
    /// A process needs fewer slots from here on. Answered by `Granted`.
    #[n(5)]
    Return {
        /// One of the numbers that claims have: a claim that comes later has a higher one, and a
        /// return that comes after such a claim takes nothing.
        #[n(0)]
        number: u32,
        /// The process.
        #[n(1)]
        process: ProcessId,
        /// All that it keeps, by machine ([`keep`]).
        #[n(2)]
        keep: Vec<Want>,
        /// The sender's epoch: a return of an earlier one that comes late takes nothing.
        #[n(3)]
        epoch: Epoch,
    },
    /// The process whose turn it is at the sender fits on nothing that is free for so long that slots should
    /// be kept for it. Repeated while that is so, and not answered but by offers.
    #[n(6)]
    Waits {
        /// The sender's epoch.
        #[n(0)]
        epoch: Epoch,
        /// The process.
        #[n(1)]
        process: ProcessId,
        /// The identity of its owner, as in a claim.
        #[n(2)]
        owner: Option<String>,
        /// The time since which no process of the sender has got slots in its turn.
        #[n(3)]
        waited: Span,
        /// Each of these must fit on some machine, beside what the process holds already: at most
        /// [`NEEDS_MAX`], those that are hardest to fit first.
        #[n(4)]
        needs: Vec<Need>,
    },
    /// The powers that machines have shown to processes of the sender, beside those that they are offered with.
    /// Sent where the receiver takes it ([`Offer::takes_shown`]), as powers change, and not answered: offers have
    /// what follows.
    #[n(7)]
    Shown {
        /// The sender's epoch.
        #[n(0)]
        epoch: Epoch,
        /// Machines of the receiver's group, at most [`SHOWN_MAX`].
        #[n(1)]
        machines: Vec<Shown>,
    },
}

/// Machines of one [`ToGroup::Shown`]: some 20 KiB. Those beyond are told by the next one.
pub const SHOWN_MAX: usize = 1_024;

/// The least and the most that a machine has of its power, in thousandths, as anybody is told of it. One that stands
/// still has shown to be slow, and not that it stays so; one that is faster than measured was measured wrongly.
pub const SHOWN_RANGE: std::ops::RangeInclusive<u32> = 50..=2_000;

/// The power that a machine has shown to a process manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Shown {
    /// The machine.
    #[n(0)]
    pub resource: ResourceId,
    /// Thousandths of the power that it is offered with, within [`SHOWN_RANGE`].
    #[n(1)]
    pub per_mille: u32,
}

/// Needs of one process that slots are kept for: few processes have activities of so many kinds, and all
/// machines are looked at for each.
pub const NEEDS_MAX: usize = 8;

/// The time for which slots are kept for a process after its process manager has said that it waits, which it
/// repeats three times meanwhile.
pub const WAITS_FOR: Span = Span::from_secs(3);

/// The need of an activity for a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Need {
    /// Slots of one machine.
    #[n(0)]
    pub cores: u32,
    /// The memory that the machine must have.
    #[n(1)]
    pub memory: Option<Bytes>,
    /// Properties that it must have, by name.
    #[n(2)]
    pub labels: BTreeMap<String, String>,
}

/// The grants that are left of these if so many slots are kept on each machine, and nothing on one that
/// is not named. A grant without slots is left where none are kept, so that the machine keeps the files
/// of the process.
pub fn keep(grants: &[Grant], kept: &[Want]) -> Vec<Grant> {
    let mut room: BTreeMap<ResourceId, u32> = BTreeMap::new();
    for want in kept {
        room.insert(want.resource, want.slots);
    }
    let mut named = BTreeSet::new();
    let mut left = Vec::new();
    for grant in grants {
        let Some(room) = room.get_mut(&grant.resource) else {
            continue;
        };
        let slots = grant.slots.min(*room);
        *room -= slots;
        if named.insert(grant.resource) || slots > 0 {
            left.push(Grant { slots, ..*grant });
        }
    }
    left
}

impl ToGroup {
    /// The first machine named that is not in the receiver's group; no receiver grants it.
    pub fn foreign(&self, group: GroupId) -> Option<ResourceId> {
        let named: Vec<ResourceId> = match self {
            ToGroup::Claim { wants, .. } | ToGroup::Return { keep: wants, .. } => {
                wants.iter().map(|want| want.resource).collect()
            }
            ToGroup::Holds(held) => {
                let grants = held.iter().flat_map(|held| &held.grants);
                grants.map(|grant| grant.resource).collect()
            }
            ToGroup::Shown { machines, .. } => machines.iter().map(|one| one.resource).collect(),
            ToGroup::Attach { .. }
            | ToGroup::Release(_)
            | ToGroup::Confirm { .. }
            | ToGroup::Waits { .. } => Vec::new(),
        };
        named.into_iter().find(|machine| machine.group != group)
    }
}

/// The grants that a process holds in a group.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Held {
    /// The process.
    #[n(0)]
    pub process: ProcessId,
    /// The number of its last claim or return that was answered.
    #[n(1)]
    pub number: u32,
    /// All that it holds.
    #[n(2)]
    pub grants: Vec<Grant>,
}

/// Slots of one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Want {
    /// The machine.
    #[n(0)]
    pub resource: ResourceId,
    /// The number of slots.
    #[n(1)]
    pub slots: u32,
}

/// A message from a group manager.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum FromGroup {
    /// The group's machines and their free slots. A later offer replaces an earlier one.
    #[n(0)]
    Offer(#[n(0)] Offer),
    /// The claim is granted, whole or in part; or the return is taken.
    #[n(1)]
    Granted {
        /// The number of the claim.
        #[n(0)]
        number: u32,
        /// The process.
        #[n(1)]
        process: ProcessId,
        /// All that the process holds in this group by now.
        #[n(2)]
        grants: Vec<Grant>,
        /// True if its owner holds as many slots as it may: what is lacking may be free.
        #[cbor(n(3), default)]
        is_at_limit: bool,
    },
    /// Nothing of the claim is granted.
    #[n(2)]
    Refused {
        /// The number of the claim.
        #[n(0)]
        number: u32,
        /// The process.
        #[n(1)]
        process: ProcessId,
        /// True if its owner holds as many slots as it may: what was claimed may be free.
        #[cbor(n(2), default)]
        is_at_limit: bool,
    },
    /// The process holds nothing here.
    #[n(3)]
    Released(#[n(0)] ProcessId),
    /// What the sender holds for the processes of a `Confirm`.
    #[n(4)]
    Holdings {
        /// The epoch of the receiver that has asked.
        #[n(0)]
        epoch: Epoch,
        /// The number of the question.
        #[n(1)]
        number: u32,
        /// The processes that hold slots, and those without any whose last claim is remembered.
        /// All others have nothing.
        #[n(2)]
        held: Vec<Held>,
        /// Grants of the receiver's processes that the sender has ended in its epoch.
        #[cbor(n(3), default)]
        n_revoked: u64,
    },
}

impl FromGroup {
    /// A machine of another group than the sender's that is named: a group manager speaks for its
    /// own machines alone.
    pub fn foreign(&self, group: GroupId) -> Option<ResourceId> {
        let is_foreign = |machine: &ResourceId| machine.group != group;
        match self {
            FromGroup::Offer(Offer {
                resources, leaving, ..
            }) => {
                let offered = resources.iter().map(|one| one.resource);
                offered.chain(leaving.iter().copied()).find(is_foreign)
            }
            FromGroup::Granted { grants, .. } => {
                grants.iter().map(|grant| grant.resource).find(is_foreign)
            }
            FromGroup::Holdings { held, .. } => {
                let grants = held.iter().flat_map(|held| &held.grants);
                grants.map(|grant| grant.resource).find(is_foreign)
            }
            FromGroup::Refused { .. } | FromGroup::Released(_) => None,
        }
    }
}

/// The machines of a group and their free slots.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Offer {
    /// The sender's epoch.
    #[n(0)]
    pub epoch: Epoch,
    /// The group's machines, those that are suspect or drained left out.
    #[n(1)]
    pub resources: Vec<Offered>,
    /// Machines that take no more work, as when they are drained: attempts that have not started
    /// there go elsewhere. A machine that only the group cannot reach is not named here.
    #[cbor(n(2), default)]
    pub leaving: Vec<ResourceId>,
    /// True if other process managers are connected: slots that the receiver gives back are for whoever
    /// claims them first after the next offer.
    #[cbor(n(3), default)]
    pub is_shared: bool,
    /// Grants of the receiver's processes that the sender has ended in its epoch. With another
    /// number than in the last `Holdings`, the receiver asks again.
    #[cbor(n(4), default)]
    pub n_revoked: u64,
    /// How the owners of processes share the group; none where it has no rule for that.
    #[n(5)]
    pub owners: Option<Owners>,
    /// Some of the machines that take no work, with the reasons, for people: at most [`UNAVAILABLE_MAX`].
    #[cbor(n(6), default)]
    pub unavailable: Vec<Unavailable>,
    /// True if the sender takes [`ToGroup::Shown`]; one of an earlier version cannot read it.
    #[cbor(n(7), default)]
    pub takes_shown: bool,
    /// The rule by which processes that name none are planned again while they run; none where the group has none
    /// of its own.
    #[n(8)]
    pub policy: Option<Policy>,
    /// The parameters of the published rules, for processes that name none; none where the group has none of its own.
    #[n(9)]
    pub tuning: Option<Tuning>,
}

/// Machines of an offer that are told with the reason why they take no work: people read no more of them.
pub const UNAVAILABLE_MAX: usize = 16;

/// A machine that takes no work.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Unavailable {
    /// The machine.
    #[n(0)]
    pub resource: ResourceId,
    /// The reason and its end, to be read after the machine's name: `am1 is closed until 20:00`.
    #[n(1)]
    pub why: String,
}

/// How the owners of processes share a group. An owner that is not named has used nothing, holds
/// nothing, and has a share of 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Owners {
    /// True if the owner who has used least for its share is next; else the first process is.
    #[n(0)]
    pub is_fair: bool,
    /// Slots that the processes of an owner may hold at once, where it has no limit of its own.
    #[n(1)]
    pub slots_max: Option<u32>,
    /// The owners that hold or have used something, or have a limit of their own, by their names.
    #[n(2)]
    pub owners: Vec<OwnerUsage>,
}

/// What an owner of processes has used of a group and may use.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct OwnerUsage {
    /// Its name: see [`owner_name`].
    #[n(0)]
    pub name: String,
    /// Its share, which means something beside those of others alone.
    #[n(1)]
    pub share: u32,
    /// The slot time that it has used, each second of a slot counted for less the longer it is ago.
    #[n(2)]
    pub usage: Span,
    /// Slots of the offered machines that its processes hold.
    #[n(3)]
    pub held: u32,
    /// Of these, the slots that processes of the receiver hold.
    #[n(4)]
    pub yours: u32,
    /// Slots that its processes may hold at once.
    #[n(5)]
    pub slots_max: Option<u32>,
}

/// A slot that is held counts as used for so much time ahead. Slots that become free at once are divided
/// by the shares then, before any of them has been used for a moment.
const USED_AHEAD: Span = Span::from_secs(10);

/// What an owner who holds so many slots has used for its share, in microseconds of a slot: the one with
/// least is next.
pub fn used_for_share(usage: Span, held: u64, share: u32) -> u64 {
    let ahead = held.saturating_mul(USED_AHEAD.0);
    usage.0.saturating_add(ahead) / u64::from(share.max(1))
}

/// The name under which shares and limits know the owner of a process: that of its certificate, and
/// `-` for all processes without an owner together.
pub fn owner_name(identity: Option<&str>) -> &str {
    identity.map_or("-", |identity| {
        identity.rsplit('/').next().unwrap_or(identity)
    })
}

/// One machine of an offer.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Offered {
    /// Its number.
    #[n(0)]
    pub resource: ResourceId,
    /// Its name.
    #[n(1)]
    pub name: String,
    /// Reference seconds of work that one core does in a second.
    #[n(2)]
    pub power: f64,
    /// Slots it has.
    #[n(3)]
    pub slots: u32,
    /// Slots that nobody holds, less those that are kept for other process managers which wait.
    #[n(4)]
    pub free: u32,
    /// Memory for activities.
    #[n(5)]
    pub memory: Bytes,
    /// Properties of the machine, by name.
    #[n(6)]
    pub labels: BTreeMap<String, String>,
    /// The address from which others of the grid fetch its files, as host and port; none if it
    /// serves none.
    #[n(7)]
    pub bulk: Option<String>,
    /// Slots that processes of the receiver hold, as the sender knows it: what is free for the
    /// receiver are these and the free ones, less the slots that its processes hold or claim by now.
    #[cbor(n(8), default)]
    pub yours: u32,
    /// Thousandths of its power that it has by what it has shown to processes of all process managers, within
    /// [`SHOWN_RANGE`]; none where that is as measured, or nothing is known.
    #[n(9)]
    pub shown: Option<u32>,
}

impl Offered {
    /// The part of its power that it has by what it has shown.
    pub fn shown_part(&self) -> f64 {
        let believed = self
            .shown
            .map(|shown| shown.clamp(*SHOWN_RANGE.start(), *SHOWN_RANGE.end()));
        believed.map_or(1.0, |per_mille| f64::from(per_mille) / 1e3)
    }
}

/// A grant of slots of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Grant {
    /// Its number.
    #[n(0)]
    pub id: GrantId,
    /// The machine.
    #[n(1)]
    pub resource: ResourceId,
    /// The number of slots; 0 where only files of the process stay there.
    #[n(2)]
    pub slots: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(id: u64, machine: u32, slots: u32) -> Grant {
        Grant {
            id: GrantId(id),
            resource: ResourceId::local(machine),
            slots,
        }
    }

    fn kept(machine: u32, slots: u32) -> Want {
        Want {
            resource: ResourceId::local(machine),
            slots,
        }
    }

    #[test]
    fn earlier_grants_are_kept_first_and_one_stays_where_files_do() {
        let held = [
            grant(1, 0, 2),
            grant(2, 1, 1),
            grant(3, 0, 3),
            grant(4, 2, 1),
        ];
        let left = keep(&held, &[kept(0, 1), kept(1, 0)]);
        assert_eq!(left, [grant(1, 0, 1), grant(2, 1, 0)]);
        let left = keep(&held, &[kept(0, 4), kept(2, 9), kept(3, 1)]);
        assert_eq!(left, [grant(1, 0, 2), grant(3, 0, 2), grant(4, 2, 1)]);
        assert_eq!(keep(&held, &[]), []);
    }
}
