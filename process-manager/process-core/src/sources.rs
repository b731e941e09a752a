//! Who has the files that a machine may lack: a file lies where the attempt that produced it ran, or
//! where the client has put it. Where the machines share a store, nobody is named.

use std::collections::{BTreeMap, BTreeSet};

use model::{ActivityId, ResourceId, Source};
use wire::attempt::{Dispatch, Holder, SOURCES_MAX, Sources};
use wire::group::Offer;

use crate::dispatch::laid;
use crate::manager::ProcessManager;
use crate::process::Process;

/// Remembers where machines give files. One that is not offered for the moment stays: who tries it in
/// vain says so.
pub(crate) fn learn_stores(stores: &mut BTreeMap<ResourceId, Holder>, offer: &Offer) {
    for one in &offer.resources {
        if let Some(address) = &one.bulk {
            let holder = Holder {
                resource: one.resource,
                name: one.name.clone(),
                address: address.clone(),
            };
            stores.insert(one.resource, holder);
        }
    }
}

impl ProcessManager {
    /// Names to a dispatch for a machine who has what that machine may lack. `false` where that
    /// cannot be said yet, since no group has told of its machines in this life.
    pub(crate) fn name_sources(
        &self,
        process: &Process,
        receiver: ResourceId,
        message: &mut Dispatch,
    ) -> bool {
        if self.stores.is_empty() && self.n_offers > 0 {
            return true;
        }
        let Some(activity) = process.definition().activity(message.attempt.activity) else {
            return true;
        };
        let Ok(laid) = laid(process, message.attempt.activity, activity) else {
            return true;
        };
        for (input, one) in (0..).zip(laid) {
            let holder = process.holder(one.source);
            if holder == Some(receiver) {
                continue;
            }
            if self.n_offers == 0 {
                return false;
            }
            let may_have = |store: &&ResourceId| match holder {
                Some(holder) => **store == holder,
                // Nobody has said where it was put, so it may be anywhere.
                None => **store != receiver,
            };
            let holders = self.stores.keys().filter(may_have);
            let holders: Vec<ResourceId> = holders.take(SOURCES_MAX).copied().collect();
            if !holders.is_empty() {
                message.sources.push(Sources { input, holders });
            }
        }
        true
    }

    /// Where the machines are that these messages name.
    pub(crate) fn holders(&self, messages: &[Dispatch]) -> Vec<Holder> {
        let named: BTreeSet<ResourceId> = messages
            .iter()
            .flat_map(|message| message.sources.iter().flat_map(|one| &one.holders))
            .copied()
            .collect();
        named
            .iter()
            .filter_map(|resource| self.stores.get(resource).cloned())
            .collect()
    }
}

impl Process {
    /// The machine that has a file, as far as that was recorded.
    pub(crate) fn holder(&self, source: Option<Source>) -> Option<ResourceId> {
        match source {
            Some(Source::Output { activity, .. }) => Some(self.holder_of(ActivityId(activity.0))),
            Some(Source::Input(_)) | None => self.store,
        }
    }
}
