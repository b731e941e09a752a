//! Who has the files that a machine may lack: a file lies where the attempt that produced it ran, or
//! where the client has put it. Where the machines share a store, nobody is named.

use std::collections::{BTreeMap, BTreeSet};

use machine::Context;
use model::{ActivityId, AttemptId, Epoch, Now, ResourceId, Source};
use wire::attempt::{Dispatch, End, Holder, Outcome, SOURCES_MAX, Sources};
use wire::group::Offer;

use crate::dispatch::laid;
use crate::manager::{ProcessManager, process};
use crate::process::Process;

/// Machines that give files to others, and where they have been found last.
#[derive(Debug, Default)]
pub(crate) struct Stores {
    /// Whether a group has told of a machine in this life. One that has started again itself knows
    /// none at first.
    is_told: bool,
    known: BTreeMap<ResourceId, Holder>,
    /// When a machine was found last that was elsewhere or away before, counted in such moments.
    found: BTreeMap<ResourceId, u64>,
    n_found: u64,
    /// The last life that each machine has told.
    epochs: BTreeMap<ResourceId, Epoch>,
    /// Machines that are lost, with what they had.
    lost: BTreeSet<ResourceId>,
}

impl Stores {
    /// Takes in an offer. A machine that is not offered for the moment stays: who tries it in vain
    /// says so.
    pub(crate) fn learn(&mut self, offer: &Offer) {
        self.is_told |= !offer.resources.is_empty();
        for one in &offer.resources {
            let Some(address) = &one.bulk else { continue };
            let holder = Holder {
                resource: one.resource,
                name: one.name.clone(),
                address: address.clone(),
            };
            let before = self.known.insert(one.resource, holder);
            if before.is_some_and(|before| before.address != *address) {
                self.find(one.resource);
            }
        }
    }

    /// Whether the machines share one, so that none lacks what another has.
    pub(crate) fn is_shared(&self) -> bool {
        self.is_told && self.known.is_empty()
    }

    /// A machine that gives files to others.
    pub(crate) fn get(&self, resource: ResourceId) -> Option<&Holder> {
        self.known.get(&resource)
    }

    /// Machines that give files to others.
    pub(crate) fn known(&self) -> impl Iterator<Item = ResourceId> {
        self.known.keys().copied()
    }

    /// The moment at which more is known than at all others before.
    pub(crate) fn next_moment(&mut self) -> u64 {
        self.n_found += 1;
        self.n_found
    }

    /// A machine has told what it holds, at the beginning of its life or since its link was down.
    pub(crate) fn find(&mut self, resource: ResourceId) {
        self.lost.remove(&resource);
        if self.known.contains_key(&resource) {
            let moment = self.next_moment();
            self.found.insert(resource, moment);
        }
    }

    /// A machine has told its life. Whether it has lost what it had before: its lives count up for as
    /// long as its disk is there.
    pub(crate) fn is_emptied(&mut self, resource: ResourceId, epoch: Epoch) -> bool {
        let before = self.epochs.insert(resource, epoch);
        before.is_some_and(|before| epoch <= before)
    }

    /// A machine is lost.
    pub(crate) fn lose(&mut self, resource: ResourceId) {
        self.lost.insert(resource);
    }

    /// Whether a machine is lost, as far as this life knows.
    pub(crate) fn is_lost(&self, resource: ResourceId) -> bool {
        self.lost.contains(&resource)
    }

    /// The machine of a name, where it gives files to others.
    pub(crate) fn named(&self, name: &str) -> Option<ResourceId> {
        let mut known = self.known.values();
        let found = known.find(|holder| holder.name == name)?;
        Some(found.resource)
    }

    /// Whether a machine that was elsewhere or away at a moment has been found since.
    fn is_found_since(&self, moment: u64, resource: ResourceId) -> bool {
        self.found.get(&resource).is_some_and(|at| *at > moment)
    }
}

impl ProcessManager {
    /// Names to a dispatch for a machine who has what that machine may lack. `false` where that
    /// cannot be said yet, since no group has told in this life of its machines, or of this one.
    pub(crate) fn name_sources(
        &self,
        now: Now,
        process: &Process,
        receiver: ResourceId,
        message: &mut Dispatch,
    ) -> bool {
        if self.stores.is_shared() {
            return true;
        }
        let is_told = self.stores.is_told;
        let Some(activity) = process.definition().activity(message.attempt.activity) else {
            return true;
        };
        let Ok(laid) = laid(process, message.attempt.activity, activity) else {
            return true;
        };
        for (input, one) in (0..).zip(laid) {
            let holder = process.holder(one.source);
            let copy = process.copy(one.source);
            // Before a group has told of its machines it is tried with what the receiver has, once.
            let is_tried = !is_told && message.attempt.number == 1;
            if holder == Some(receiver) && (is_told && copy.is_none() || is_tried) {
                continue;
            }
            if !is_told {
                return false;
            }
            let may_have = |store: &ResourceId| match holder {
                Some(_) => *store != receiver && (holder == Some(*store) || copy == Some(*store)),
                // Nobody has said where it was put, so it may be anywhere.
                None => *store != receiver,
            };
            let is_any = self.stores.known().any(|store| may_have(&store));
            if !is_any && holder.is_some() && self.is_young(now) {
                return false;
            }
            let holders = self.stores.known().filter(may_have);
            let mut holders: Vec<ResourceId> = holders.take(SOURCES_MAX).collect();
            // One that is not heard of makes whoever asks it first wait.
            holders.sort_by_key(|&one| (!self.is_trusted(one), copy == Some(one), one));
            if !holders.is_empty() {
                message.sources.push(Sources { input, holders });
            }
        }
        true
    }

    /// Where the machines are that these messages name, and that this was said at this moment.
    pub(crate) fn holders(&mut self, messages: &[Dispatch]) -> Vec<Holder> {
        // Before a group has told of its machines nobody can be named.
        let moment = self.stores.is_told.then_some(self.stores.n_found);
        // Where machines share a store, what is lacking is gone.
        let is_one = self.stores.is_shared();
        for message in messages.iter().filter(|_| !is_one) {
            let attempt = message.attempt;
            if let Some(live) = self.live.get_mut(&attempt.process) {
                let told = live.told.entry(attempt.activity);
                // What it lacks may be the answer to the first of several messages.
                let told = told.or_insert((attempt.number, moment));
                if told.0 != attempt.number {
                    *told = (attempt.number, moment);
                }
            }
        }
        let named: BTreeSet<ResourceId> = messages
            .iter()
            .flat_map(|message| message.sources.iter().flat_map(|one| &one.holders))
            .copied()
            .collect();
        named
            .iter()
            .filter_map(|resource| self.stores.known.get(resource).cloned())
            .collect()
    }
}

impl ProcessManager {
    /// What attempts lack though they asked where it is. A machine that was found again since they
    /// were sent may have it all the same, and so may one that is silent and not lost. What an
    /// earlier life has sent may have been told anything.
    pub(crate) fn truly_lacking(
        &mut self,
        cx: &Context<'_, Self>,
        now: Now,
        mut outcomes: Vec<Outcome>,
    ) -> Vec<Outcome> {
        if self.stores.is_shared() {
            return outcomes;
        }
        for outcome in &mut outcomes {
            let AttemptId {
                process: id,
                activity,
                number,
            } = outcome.attempt;
            let live = self.live.get_mut(&id);
            let told = live.and_then(|live| live.told.remove(&activity));
            let told = told.filter(|told| told.0 == number).and_then(|told| told.1);
            let (End::Lacking(inputs), Some(known)) = (&mut outcome.end, process(cx, id)) else {
                continue;
            };
            let (Some(told), Some(live)) = (told, self.live.get(&id)) else {
                inputs.clear();
                continue;
            };
            let declared = known.definition().activity(activity);
            let laid = declared.and_then(|declared| laid(known, activity, declared).ok());
            let laid = laid.unwrap_or_default();
            let source = |input: u32| laid.get(input as usize).and_then(|one| one.source);
            let has_changed = |source: Option<Source>| {
                let holders = [known.holder(source), known.copy(source)];
                let mut holders = holders.into_iter().flatten();
                // One that was sent before there was a copy was not told of it.
                let copied = maker(source).and_then(|maker| live.copied.get(&maker));
                copied.is_some_and(|at| *at > told)
                    || holders.any(|one| {
                        self.stores.is_found_since(told, one) || self.may_return(now, one)
                    })
            };
            inputs.retain(|input| !has_changed(source(*input)));
        }
        outcomes
    }
}

/// The activity that produces a file.
fn maker(source: Option<Source>) -> Option<ActivityId> {
    match source {
        Some(Source::Output { activity, .. }) => Some(ActivityId(activity.0)),
        Some(Source::Input(_)) | None => None,
    }
}

impl Process {
    /// The machine that keeps a copy of a file.
    fn copy(&self, source: Option<Source>) -> Option<ResourceId> {
        maker(source).and_then(|maker| self.copy_of(maker))
    }

    /// The machine that has a file, as far as that was recorded.
    pub(crate) fn holder(&self, source: Option<Source>) -> Option<ResourceId> {
        match source {
            Some(Source::Output { activity, .. }) => Some(self.holder_of(ActivityId(activity.0))),
            Some(Source::Input(_)) | None => self.store,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use model::{Bytes, GroupId};
    use wire::group::Offered;

    use super::*;

    #[test]
    fn machines_share_a_store_only_where_one_was_told_of_and_none_gives_files() {
        let offer = |machines: &[Option<&str>]| {
            let resources = machines.iter().zip(0..).map(|(bulk, number)| Offered {
                resource: ResourceId(number),
                name: format!("m{number}"),
                power: 1.0,
                slots: 1,
                free: 1,
                memory: Bytes(1),
                labels: BTreeMap::new(),
                bulk: bulk.map(str::to_owned),
            });
            Offer {
                epoch: Epoch(1),
                group: GroupId(1),
                resources: resources.collect(),
                leaving: Vec::new(),
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
