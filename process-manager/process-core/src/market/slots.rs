//! Slots that may be claimed: those that group managers have offered, less those that processes here
//! hold or have claimed since.
//!
//! An offer says of each machine how many slots are free and how many are this manager's already. Both
//! together are what its processes may have there, whatever they have claimed or given back while the
//! offer was on its way. So a claim does not wait for the offer that tells of the one before.

use std::collections::{BTreeMap, BTreeSet};

use model::{GroupId, ProcessId, ResourceId};
use wire::group::{Offer, Want};

/// The slots of all machines.
#[derive(Debug, Default)]
pub(super) struct Slots {
    machines: BTreeMap<ResourceId, OnMachine>,
    /// Machines with slots that may be claimed.
    open: BTreeSet<ResourceId>,
    /// The slots that a process holds or has claimed, by process.
    used_by: BTreeMap<ProcessId, Vec<Want>>,
    /// Slots given back that count as used until the next offer of their group.
    returned: BTreeMap<GroupId, Vec<Want>>,
}

/// The slots of one machine.
#[derive(Debug, Default)]
struct OnMachine {
    /// The place of the machine in the last offer of its group.
    index: Option<usize>,
    /// Slots that processes of this manager may have together.
    may_have: u64,
    /// Slots that they hold, or have claimed.
    used: u64,
}

impl Slots {
    /// A group offers its machines.
    pub(super) fn offer(&mut self, group: GroupId, offer: &Offer) {
        self.clear(group);
        for want in self.returned.remove(&group).unwrap_or_default() {
            self.change(want.resource, |on| on.give_back(want.slots));
        }
        for (index, one) in offer.resources.iter().enumerate() {
            self.change(one.resource, |on| {
                on.index = Some(index);
                on.may_have = u64::from(one.free) + u64::from(one.yours);
            });
        }
    }

    /// A group offers nothing any more.
    pub(super) fn clear(&mut self, group: GroupId) {
        let all = ResourceId::new(group, 0)..=ResourceId::new(group, u32::MAX);
        let known: Vec<ResourceId> = self.machines.range(all).map(|(&one, _)| one).collect();
        for resource in known {
            self.change(resource, |on| {
                on.index = None;
                on.may_have = 0;
            });
        }
    }

    /// A process holds these slots, or has claimed them, and no others.
    pub(super) fn set_used(&mut self, id: ProcessId, used: Vec<Want>) {
        for want in &used {
            self.change(want.resource, |on| on.used += u64::from(want.slots));
        }
        let before = match used.is_empty() {
            true => self.used_by.remove(&id),
            false => self.used_by.insert(id, used),
        };
        for want in before.unwrap_or_default() {
            self.change(want.resource, |on| on.give_back(want.slots));
        }
    }

    /// A process gives all its slots back. Where the group serves other process managers too, they are
    /// for whoever claims them first after its next offer. Returns true if any may be claimed at once.
    pub(super) fn give_back(&mut self, id: ProcessId, is_shared: impl Fn(GroupId) -> bool) -> bool {
        let mut may_claim = false;
        for want in self.used_by.remove(&id).unwrap_or_default() {
            let group = want.resource.group;
            if is_shared(group) {
                self.returned.entry(group).or_default().push(want);
            } else {
                self.change(want.resource, |on| on.give_back(want.slots));
                may_claim = true;
            }
        }
        may_claim
    }

    /// A process gives slots back and uses these from here on. Where the group serves other process managers
    /// too, the others are for whoever claims them first after its next offer. Returns true if any may be
    /// claimed at once.
    pub(super) fn give_back_some(
        &mut self,
        id: ProcessId,
        used: Vec<Want>,
        is_shared: impl Fn(GroupId) -> bool,
    ) -> bool {
        let mut left: BTreeMap<ResourceId, u32> = BTreeMap::new();
        for want in &used {
            let left = left.entry(want.resource).or_default();
            *left = left.saturating_add(want.slots);
        }
        let before = self.used_by.insert(id, used).unwrap_or_default();
        let mut may_claim = false;
        for Want { resource, slots } in before {
            let left = left.entry(resource).or_default();
            let stays = slots.min(*left);
            *left -= stays;
            let slots = slots - stays;
            if slots == 0 {
                continue;
            }
            if is_shared(resource.group) {
                let returned = self.returned.entry(resource.group).or_default();
                returned.push(Want { resource, slots });
            } else {
                self.change(resource, |on| on.give_back(slots));
                may_claim = true;
            }
        }
        may_claim
    }

    /// A group manager has granted less than was claimed on a machine: the rest is held by others.
    pub(super) fn exhaust(&mut self, resource: ResourceId) {
        self.change(resource, |on| on.may_have = on.may_have.min(on.used));
    }

    /// The processes that hold slots or have claimed some, with these.
    pub(super) fn users(&self) -> impl Iterator<Item = (ProcessId, &[Want])> {
        let used = self.used_by.iter();
        used.map(|(&id, used)| (id, used.as_slice()))
    }

    /// Returns true if a process holds slots or has claimed some.
    pub(super) fn is_user(&self, id: ProcessId) -> bool {
        let used = self.used_by.get(&id);
        used.is_some_and(|used| used.iter().any(|want| want.slots > 0))
    }

    /// Slots that may be claimed on a machine.
    pub(super) fn free(&self, resource: ResourceId) -> u32 {
        self.machines.get(&resource).map_or(0, OnMachine::free)
    }

    /// Slots that may be claimed on all machines, and those that processes hold or have claimed.
    pub(super) fn sums(&self) -> (u64, u64) {
        let free = self.machines.values().map(|on| u64::from(on.free())).sum();
        let used = self.machines.values().map(|on| on.used).sum();
        (free, used)
    }

    /// Machines with slots that may be claimed, in their order.
    pub(super) fn open(&self) -> impl Iterator<Item = ResourceId> {
        self.open.iter().copied()
    }

    /// The place of a machine in the last offer of its group.
    pub(super) fn index(&self, resource: ResourceId) -> Option<usize> {
        self.machines.get(&resource)?.index
    }

    fn change(&mut self, resource: ResourceId, change: impl FnOnce(&mut OnMachine)) {
        let on = self.machines.entry(resource).or_default();
        change(on);
        if on.free() > 0 {
            self.open.insert(resource);
        } else {
            self.open.remove(&resource);
        }
        if on.index.is_none() && on.used == 0 {
            self.machines.remove(&resource);
        }
    }
}

impl OnMachine {
    fn give_back(&mut self, slots: u32) {
        self.used = self.used.saturating_sub(u64::from(slots));
    }

    fn free(&self) -> u32 {
        let free = self.may_have.saturating_sub(self.used);
        u32::try_from(free).unwrap_or(u32::MAX)
    }
}
