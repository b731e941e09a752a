//! The durable state: the holdings of processes and the numbers of machines.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use model::{Epoch, GrantId, ProcessId};
use wire::group::owner_name;
use wire::resource::ProcessGrant;

use crate::record::{Event, Grant, Holding, MachineNumber, Snapshot, Used};
use crate::usage::Usage;

/// Released processes that are remembered, so that a late copy of a claim takes nothing. A process
/// claims nothing after its release, so only copies that are still on their way can come, and those
/// are long gone when this many others were released.
pub(crate) const RELEASED_MAX: usize = 16_384;

/// The fold of all events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    epoch: Epoch,
    names: BTreeMap<String, MachineNumber>,
    holdings: BTreeMap<ProcessId, Holding>,
    released: BTreeMap<ProcessId, u32>,
    released_order: VecDeque<ProcessId>,
    n_grants: u64,
    /// Machines that are offered no more.
    drained: BTreeSet<String>,
    /// Machines that did not come back, until they do.
    forgotten: BTreeSet<MachineNumber>,
    /// Processes whose holdings an administrator ends: each of them holds something.
    given_up: BTreeSet<ProcessId>,
    /// The usage of owners.
    usage: Usage,
    /// From `holdings`: the grants of each machine.
    grants: BTreeMap<MachineNumber, BTreeMap<GrantId, ProcessGrant>>,
    /// From `holdings`: the slots of each machine that are held, so that an offer counts no grants.
    held: BTreeMap<MachineNumber, Held>,
    /// From `holdings`: the slots that the processes of each owner hold, by its name.
    owners: BTreeMap<String, Held>,
}

/// Slots of a machine or an owner that are held: all of them, and those of each process manager's
/// processes.
#[derive(Clone, Debug, Default, PartialEq)]
struct Held {
    all: u64,
    by_manager: BTreeMap<Option<u32>, OfManager>,
}

/// Slots that processes of one process manager hold on a machine.
#[derive(Clone, Debug, Default, PartialEq)]
struct OfManager {
    slots: u64,
    /// Grants, those without slots included.
    n_grants: usize,
}

impl Held {
    fn add(&mut self, manager: Option<u32>, slots: u32) {
        self.all += u64::from(slots);
        let of_it = self.by_manager.entry(manager).or_default();
        of_it.slots += u64::from(slots);
        of_it.n_grants += 1;
    }

    fn take(&mut self, manager: Option<u32>, slots: u32) {
        self.all -= u64::from(slots);
        if let Some(of_it) = self.by_manager.get_mut(&manager) {
            of_it.slots -= u64::from(slots);
            of_it.n_grants -= 1;
            if of_it.n_grants == 0 {
                self.by_manager.remove(&manager);
            }
        }
    }
}

/// Who holds a grant beside its process: the process manager, and the owner by its name.
struct Holder {
    manager: Option<u32>,
    owner: String,
}

impl Holder {
    fn of(holding: &Holding) -> Holder {
        Holder {
            manager: holding.manager,
            owner: owner_name(holding.owner.as_deref()).to_owned(),
        }
    }
}

impl State {
    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::Epoch(epoch) => self.epoch = *epoch,
            Event::Named { resource, name } => {
                self.forgotten.remove(resource);
                self.names.insert(name.clone(), *resource);
            }
            Event::Granted {
                process,
                number,
                grants,
                manager,
                owner,
            } => {
                if let Some(manager) = manager {
                    self.assign(*process, *manager);
                }
                let holding = self.holdings.entry(*process).or_default();
                holding.number = *number;
                if owner.is_some() && holding.grants.is_empty() {
                    holding.owner.clone_from(owner);
                }
                holding.grants.extend(grants);
                let holder = Holder::of(holding);
                for grant in grants {
                    self.add_grant(*process, &holder, *grant);
                    self.n_grants = self.n_grants.max(grant.id.0);
                }
            }
            Event::Released { process, forgets } => self.release(*process, *forgets),
            Event::Revoked {
                process,
                resource,
                forgets,
            } => self.revoke(*process, *resource, *forgets),
            Event::Returned {
                process,
                number,
                grants,
            } => self.take_back(*process, *number, grants),
            Event::Drained { name, is_drained } => {
                if *is_drained {
                    self.drained.insert(name.clone());
                } else {
                    self.drained.remove(name);
                }
            }
            Event::Forgotten { resource } => {
                self.forgotten.insert(*resource);
            }
            Event::GivenUp {
                processes,
                is_given_up: true,
            } => self.given_up.extend(processes),
            Event::GivenUp {
                processes,
                is_given_up: false,
            } => {
                for process in processes {
                    self.given_up.remove(process);
                }
            }
            Event::Charged {
                elapsed,
                half_life,
                at,
            } => {
                let held = self.owners.iter();
                let held = held.map(|(owner, held)| (owner.as_str(), held.all));
                self.usage.charge((*elapsed, *half_life), *at, held);
            }
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let number = |process: &ProcessId| self.released.get(process).copied().unwrap_or_default();
        Snapshot {
            epoch: self.epoch,
            names: self.names.clone(),
            holdings: self.holdings.clone(),
            released: self
                .released_order
                .iter()
                .map(|id| (*id, number(id)))
                .collect(),
            n_grants: self.n_grants,
            drained: self.drained.iter().cloned().collect(),
            forgotten: (!self.forgotten.is_empty())
                .then(|| self.forgotten.iter().copied().collect()),
            given_up: (!self.given_up.is_empty()).then(|| self.given_up.iter().copied().collect()),
            used: self.usage.charged().map(|at| Used {
                at,
                owners: self
                    .usage
                    .used()
                    .map(|(owner, used)| (owner.to_owned(), used))
                    .collect(),
            }),
        }
    }

    pub(crate) fn restore(snapshot: Snapshot) -> State {
        let Snapshot {
            epoch,
            names,
            holdings,
            released,
            n_grants,
            drained,
            used,
            forgotten,
            given_up,
        } = snapshot;
        let mut state = State {
            epoch,
            names,
            n_grants,
            drained: drained.into_iter().collect(),
            forgotten: forgotten.into_iter().flatten().collect(),
            given_up: given_up.into_iter().flatten().collect(),
            usage: used.map_or_else(Usage::default, |used| {
                Usage::restore(used.owners, Some(used.at))
            }),
            ..State::default()
        };
        for (&process, holding) in &holdings {
            let holder = Holder::of(holding);
            for grant in &holding.grants {
                state.add_grant(process, &holder, *grant);
            }
        }
        state.holdings = holdings;
        state.released_order = released.iter().map(|&(process, _)| process).collect();
        state.released = released.into_iter().collect();
        state
    }

    pub(crate) fn weight(&self) -> usize {
        let n_grants: usize = self.grants.values().map(BTreeMap::len).sum();
        1 + self.names.len()
            + self.drained.len()
            + self.forgotten.len()
            + self.given_up.len()
            + self.holdings.len()
            + n_grants
            + self.released.len()
            + self.usage.used().count()
    }

    /// The present epoch, counted from 1.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The number of a machine, once it has registered.
    pub fn resource(&self, name: &str) -> Option<MachineNumber> {
        self.names.get(name).copied()
    }

    /// True if a machine is offered no more.
    pub fn is_drained(&self, name: &str) -> bool {
        self.drained.contains(name)
    }

    /// True if a machine did not come back, and nobody is told of it any more.
    pub fn is_forgotten(&self, resource: MachineNumber) -> bool {
        self.forgotten.contains(&resource)
    }

    /// True if an administrator ends what a process holds.
    pub fn is_given_up(&self, process: ProcessId) -> bool {
        self.given_up.contains(&process)
    }

    /// The processes whose holdings an administrator ends.
    pub(crate) fn given_up(&self) -> impl Iterator<Item = ProcessId> {
        self.given_up.iter().copied()
    }

    /// True if a process holds slots of a machine, or has files there.
    pub fn is_held(&self, resource: MachineNumber) -> bool {
        self.grants.contains_key(&resource)
    }

    /// The holding of a process; none where it holds nothing.
    pub fn holding(&self, process: ProcessId) -> Option<&Holding> {
        self.holdings.get(&process)
    }

    /// All that hold something, in the order of their ids.
    pub fn holdings(&self) -> impl Iterator<Item = (ProcessId, &Holding)> {
        self.holdings
            .iter()
            .map(|(&process, holding)| (process, holding))
    }

    /// All grants to use a machine, in the order in which they were granted.
    pub fn grants(&self, resource: MachineNumber) -> Vec<ProcessGrant> {
        self.grants
            .get(&resource)
            .map_or_else(Vec::new, |all| all.values().copied().collect())
    }

    /// Slots of a machine that are held.
    pub fn held(&self, resource: MachineNumber) -> u64 {
        self.held.get(&resource).map_or(0, |held| held.all)
    }

    /// Slots of a machine that processes of this process manager hold.
    pub fn held_by(&self, resource: MachineNumber, manager: u32) -> u64 {
        let held = self.held.get(&resource);
        let of_it = held.and_then(|held| held.by_manager.get(&Some(manager)));
        of_it.map_or(0, |of_it| of_it.slots)
    }

    /// Slots that the processes of an owner of this name hold.
    pub fn held_by_owner(&self, name: &str) -> u64 {
        self.owners.get(name).map_or(0, |held| held.all)
    }

    /// Those of them that processes of this process manager hold.
    pub(crate) fn held_by_owner_at(&self, name: &str, manager: u32) -> u64 {
        let held = self.owners.get(name);
        let of_it = held.and_then(|held| held.by_manager.get(&Some(manager)));
        of_it.map_or(0, |of_it| of_it.slots)
    }

    /// The owners whose processes hold something, by their names, with their slots.
    pub(crate) fn owners(&self) -> impl Iterator<Item = (&str, u64)> {
        let owners = self.owners.iter().filter(|(_, held)| held.all > 0);
        owners.map(|(name, held)| (name.as_str(), held.all))
    }

    /// The usage of owners.
    pub(crate) fn usage(&self) -> &Usage {
        &self.usage
    }

    /// The machines with grants, and the process managers of the holders.
    pub(crate) fn holders(
        &self,
    ) -> impl Iterator<Item = (MachineNumber, impl Iterator<Item = Option<u32>>)> {
        let of = |(&machine, held): (&MachineNumber, &'_ Held)| {
            let managers: Vec<Option<u32>> = held.by_manager.keys().copied().collect();
            (machine, managers.into_iter())
        };
        self.held.iter().map(of)
    }

    pub(crate) fn n_resources(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn n_holdings(&self) -> usize {
        self.holdings.len()
    }

    pub(crate) fn last_grant(&self) -> GrantId {
        GrantId(self.n_grants)
    }

    /// The number of a process's last claim before it was released.
    pub(crate) fn released(&self, process: ProcessId) -> Option<u32> {
        self.released.get(&process).copied()
    }

    /// The oldest release, where no room is left to remember that of this process.
    pub(crate) fn forgotten_by(&self, process: ProcessId) -> Option<ProcessId> {
        let is_full = self.released_order.len() >= RELEASED_MAX;
        let oldest = self.released_order.front().copied();
        oldest.filter(|_| is_full && !self.released.contains_key(&process))
    }

    /// A process manager claims for a process.
    fn assign(&mut self, process: ProcessId, manager: u32) {
        let holding = self.holdings.entry(process).or_default();
        let before = holding.manager.replace(manager);
        if before == Some(manager) {
            return;
        }
        for grant in &holding.grants {
            let owner = owner_name(holding.owner.as_deref()).to_owned();
            let of_machine = self.held.entry(grant.resource).or_default();
            for held in [of_machine, self.owners.entry(owner).or_default()] {
                held.take(before, grant.slots);
                held.add(Some(manager), grant.slots);
            }
        }
    }

    fn add_grant(&mut self, process: ProcessId, holder: &Holder, grant: Grant) {
        let Grant {
            id,
            resource,
            slots,
        } = grant;
        self.grants
            .entry(resource)
            .or_default()
            .insert(id, ProcessGrant { id, process, slots });
        let of_machine = self.held.entry(resource).or_default();
        of_machine.add(holder.manager, slots);
        let of_owner = self.owners.entry(holder.owner.clone()).or_default();
        of_owner.add(holder.manager, slots);
    }

    fn remove_grant(&mut self, holder: &Holder, grant: Grant) {
        let Grant {
            id,
            resource,
            slots,
        } = grant;
        if let Some(grants) = self.grants.get_mut(&resource) {
            grants.remove(&id);
            if grants.is_empty() {
                self.grants.remove(&resource);
            }
        }
        if let Some(held) = self.held.get_mut(&resource) {
            held.take(holder.manager, slots);
            if held.by_manager.is_empty() {
                self.held.remove(&resource);
            }
        }
        if let Some(held) = self.owners.get_mut(&holder.owner) {
            held.take(holder.manager, slots);
            if held.by_manager.is_empty() {
                self.owners.remove(&holder.owner);
            }
        }
    }

    /// A process keeps only these of its slots.
    fn take_back(&mut self, process: ProcessId, number: u32, grants: &[Grant]) {
        let Some(holding) = self.holdings.get_mut(&process) else {
            return;
        };
        holding.number = number;
        let holder = Holder::of(holding);
        let before = std::mem::replace(&mut holding.grants, grants.to_vec());
        for grant in before {
            self.remove_grant(&holder, grant);
        }
        for grant in grants {
            self.add_grant(process, &holder, *grant);
        }
    }

    /// A process holds nothing on a machine any more.
    fn revoke(&mut self, process: ProcessId, resource: MachineNumber, forgets: Option<ProcessId>) {
        let Some(holding) = self.holdings.get_mut(&process) else {
            return;
        };
        let holder = Holder::of(holding);
        let is_there = |grant: &mut Grant| grant.resource == resource;
        let ended: Vec<Grant> = holding.grants.extract_if(.., is_there).collect();
        let is_empty = holding.grants.is_empty();
        for grant in ended {
            self.remove_grant(&holder, grant);
        }
        if is_empty {
            self.release(process, forgets);
        }
    }

    fn release(&mut self, process: ProcessId, forgets: Option<ProcessId>) {
        let Some(holding) = self.holdings.remove(&process) else {
            return;
        };
        self.given_up.remove(&process);
        let holder = Holder::of(&holding);
        let Holding { number, grants, .. } = holding;
        for grant in grants {
            self.remove_grant(&holder, grant);
        }
        if self.released.insert(process, number).is_none() {
            self.released_order.push_back(process);
        }
        if let Some(forgotten) = forgets {
            self.released.remove(&forgotten);
            // It is the oldest one in every journal that this version writes.
            if self.released_order.front() == Some(&forgotten) {
                self.released_order.pop_front();
            } else {
                self.released_order.retain(|&one| one != forgotten);
            }
        }
    }
}
