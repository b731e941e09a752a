//! What is durable: who holds what, and how machines are numbered.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use minicbor::{Decode, Encode};
use model::{Epoch, GrantId, ProcessId, ResourceId};
use wire::group::Grant;
use wire::resource::ProcessGrant;

/// Released processes that are remembered, so that a late copy of a claim takes nothing. A process
/// claims nothing after its release, so only copies that are still on their way can come, and those
/// are long gone when this many others were released.
const RELEASED_MAX: usize = 16_384;

/// A durable fact.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Event {
    /// A life has begun.
    #[n(0)]
    Epoch(#[n(0)] Epoch),
    /// A machine has a number, for ever.
    #[n(1)]
    Named {
        /// The number.
        #[n(0)]
        resource: ResourceId,
        /// The machine.
        #[n(1)]
        name: String,
    },
    /// A claim was granted.
    #[n(2)]
    Granted {
        /// For whom.
        #[n(0)]
        process: ProcessId,
        /// Which claim.
        #[n(1)]
        number: u32,
        /// What this claim has added.
        #[n(2)]
        grants: Vec<Grant>,
    },
    /// A process holds nothing any more.
    #[n(3)]
    Released {
        /// Which one.
        #[n(0)]
        process: ProcessId,
    },
    /// A machine is offered no more, or again.
    #[n(4)]
    Drained {
        /// The machine.
        #[n(0)]
        name: String,
        /// Whether it is to be empty.
        #[n(1)]
        is_drained: bool,
    },
}

/// The fold of all events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    epoch: Epoch,
    names: BTreeMap<String, ResourceId>,
    holdings: BTreeMap<ProcessId, Holding>,
    released: BTreeMap<ProcessId, u32>,
    released_order: VecDeque<ProcessId>,
    n_grants: u64,
    /// Machines that are offered no more.
    drained: BTreeSet<String>,
    /// From `holdings`: the grants of each machine.
    grants: BTreeMap<ResourceId, BTreeMap<GrantId, ProcessGrant>>,
}

/// What a process holds.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Holding {
    /// The number of its last claim that was granted.
    #[n(0)]
    pub number: u32,
    /// All that was granted to it, in the order of the grants.
    #[n(1)]
    pub grants: Vec<Grant>,
}

/// What stands for the events.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Snapshot {
    #[n(0)]
    epoch: Epoch,
    #[n(1)]
    names: BTreeMap<String, ResourceId>,
    #[n(2)]
    holdings: BTreeMap<ProcessId, Holding>,
    /// In the order of release.
    #[n(3)]
    released: Vec<(ProcessId, u32)>,
    #[n(4)]
    n_grants: u64,
    #[cbor(n(5), default)]
    drained: Vec<String>,
}

impl State {
    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::Epoch(epoch) => self.epoch = *epoch,
            Event::Named { resource, name } => {
                self.names.insert(name.clone(), *resource);
            }
            Event::Granted {
                process,
                number,
                grants,
            } => {
                for grant in grants {
                    self.add_grant(*process, *grant);
                    self.n_grants = self.n_grants.max(grant.id.0);
                }
                let holding = self.holdings.entry(*process).or_default();
                holding.number = *number;
                holding.grants.extend(grants);
            }
            Event::Released { process } => self.release(*process),
            Event::Drained { name, is_drained } => {
                if *is_drained {
                    self.drained.insert(name.clone());
                } else {
                    self.drained.remove(name);
                }
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
        } = snapshot;
        let mut state = State {
            epoch,
            names,
            n_grants,
            drained: drained.into_iter().collect(),
            ..State::default()
        };
        for (&process, holding) in &holdings {
            for grant in &holding.grants {
                state.add_grant(process, *grant);
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
            + self.holdings.len()
            + n_grants
            + self.released.len()
    }

    /// The present life, counted from 1.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The number of a machine, once it has registered.
    pub fn resource(&self, name: &str) -> Option<ResourceId> {
        self.names.get(name).copied()
    }

    /// Whether a machine is offered no more.
    pub fn is_drained(&self, name: &str) -> bool {
        self.drained.contains(name)
    }

    /// What a process holds; none where it holds nothing.
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
    pub fn grants(&self, resource: ResourceId) -> Vec<ProcessGrant> {
        self.grants
            .get(&resource)
            .map_or_else(Vec::new, |all| all.values().copied().collect())
    }

    /// Slots of a machine that are held.
    pub fn held(&self, resource: ResourceId) -> u64 {
        let grants = self
            .grants
            .get(&resource)
            .into_iter()
            .flat_map(BTreeMap::values);
        grants.map(|grant| u64::from(grant.slots)).sum()
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

    fn add_grant(&mut self, process: ProcessId, grant: Grant) {
        let Grant {
            id,
            resource,
            slots,
        } = grant;
        self.grants
            .entry(resource)
            .or_default()
            .insert(id, ProcessGrant { id, process, slots });
    }

    fn release(&mut self, process: ProcessId) {
        let Some(Holding { number, grants }) = self.holdings.remove(&process) else {
            return;
        };
        for Grant { id, resource, .. } in grants {
            if let Some(grants) = self.grants.get_mut(&resource) {
                grants.remove(&id);
                if grants.is_empty() {
                    self.grants.remove(&resource);
                }
            }
        }
        if self.released.insert(process, number).is_none() {
            self.released_order.push_back(process);
            if self.released_order.len() > RELEASED_MAX
                && let Some(oldest) = self.released_order.pop_front()
            {
                self.released.remove(&oldest);
            }
        }
    }
}
