//! Machines that give files to others.

use std::collections::{BTreeMap, BTreeSet};

use model::{Epoch, ResourceId};
use wire::attempt::Holder;
use wire::group::Offer;

/// Machines that serve files to others, with their last known addresses.
#[derive(Debug, Default)]
pub(super) struct Stores {
    /// True once a group has named a machine in this epoch. A group manager that has just restarted
    /// names none at first.
    pub(super) is_told: bool,
    pub(super) known: BTreeMap<ResourceId, Holder>,
    /// Machines that a group has offered in this epoch, whether they serve files or not.
    pub(super) offered: BTreeSet<ResourceId>,
    /// The moment at which a machine last returned or changed its address. Moments are counted, not
    /// timed.
    pub(super) found: BTreeMap<ResourceId, u64>,
    pub(super) n_found: u64,
    /// The last known epoch of each machine.
    pub(super) epochs: BTreeMap<ResourceId, Epoch>,
    /// Machines that are lost with their files.
    pub(super) lost: BTreeSet<ResourceId>,
}

impl Stores {
    /// Takes in an offer. A machine that is missing from the offer stays known: an attempt that
    /// cannot reach it reports its inputs as lacking.
    pub(super) fn learn(&mut self, offer: &Offer) {
        self.is_told |= !offer.resources.is_empty();
        for one in &offer.resources {
            self.offered.insert(one.resource);
            let Some(address) = &one.bulk else { continue };
            let holder = Holder {
                resource: one.resource,
                name: one.name.clone(),
                address: address.clone(),
            };
            match self.known.insert(one.resource, holder) {
                Some(before) if before.address == *address => {}
                Some(_) => self.find(one.resource),
                // Whoever was sent before does not know of it.
                None => self.note_found(one.resource),
            }
        }
    }

    /// Returns true if all machines share one store, so that no file needs to be fetched.
    pub(super) fn is_shared(&self) -> bool {
        self.is_told && self.known.is_empty()
    }

    /// A machine that gives files to others.
    pub(super) fn get(&self, resource: ResourceId) -> Option<&Holder> {
        self.known.get(&resource)
    }

    /// Machines that give files to others.
    pub(super) fn known(&self) -> impl Iterator<Item = ResourceId> {
        self.known.keys().copied()
    }

    /// Begins the next moment and returns it.
    pub(super) fn next_moment(&mut self) -> u64 {
        self.n_found += 1;
        self.n_found
    }

    /// A machine has listed its attempts, at the beginning of its epoch or after its link was down.
    pub(super) fn find(&mut self, resource: ResourceId) {
        self.lost.remove(&resource);
        if self.known.contains_key(&resource) {
            self.note_found(resource);
        }
    }

    fn note_found(&mut self, resource: ResourceId) {
        let moment = self.next_moment();
        self.found.insert(resource, moment);
    }

    /// Notes the epoch of a machine. Returns true if the machine has lost its disk: epochs count up
    /// for as long as the disk is there.
    pub(super) fn is_emptied(&mut self, resource: ResourceId, epoch: Epoch) -> bool {
        let before = self.epochs.insert(resource, epoch);
        before.is_some_and(|before| epoch <= before)
    }

    /// A machine is lost.
    pub(super) fn lose(&mut self, resource: ResourceId) {
        self.lost.insert(resource);
    }

    /// Returns true if a machine was lost in this epoch.
    pub(super) fn is_lost(&self, resource: ResourceId) -> bool {
        self.lost.contains(&resource)
    }

    /// The machine of this name, if it serves files to others.
    pub(super) fn named(&self, name: &str) -> Option<ResourceId> {
        let mut known = self.known.values();
        let found = known.find(|holder| holder.name == name)?;
        Some(found.resource)
    }

    /// Returns true if a machine has returned or changed its address after this moment.
    pub(super) fn is_found_since(&self, moment: u64, resource: ResourceId) -> bool {
        self.found.get(&resource).is_some_and(|at| *at > moment)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use model::Bytes;
    use wire::group::Offered;

    use super::*;

    #[test]
    fn machines_share_a_store_only_where_one_was_told_of_and_none_gives_files() {
        let offer = |machines: &[Option<&str>]| {
            let resources = machines.iter().zip(0..).map(|(bulk, number)| Offered {
                resource: ResourceId::local(number),
                name: format!("m{number}"),
                power: 1.0,
                slots: 1,
                free: 1,
                memory: Bytes(1),
                labels: BTreeMap::new(),
                bulk: bulk.map(str::to_owned),
                yours: 0,
                shown: None,
            });
            Offer {
                epoch: Epoch(1),
                resources: resources.collect(),
                leaving: Vec::new(),
                unavailable: Vec::new(),
                is_shared: false,
                n_revoked: 0,
                owners: None,
                takes_shown: false,
                policy: None,
                tuning: None,
            }
        };
        let mut stores = Stores::default();
        assert!(!stores.is_shared());
        // A group manager that has just started knows nobody.
        stores.learn(&offer(&[]));
        assert!(!stores.is_shared());
        stores.learn(&offer(&[None]));
        assert!(stores.is_shared());
        stores.learn(&offer(&[None, Some("m1:1")]));
        stores.learn(&offer(&[]));
        assert!(!stores.is_shared());
    }
}
