//! Sources of the files that a machine may lack: the machine where the attempt that produced a file
//! ran, or the machine where the client put it. If the machines share a store, no source is named.

use std::collections::{BTreeMap, BTreeSet};

use model::{ResourceId, Source};
use wire::attempt::{Dispatch, End, Holder, Outcome, SOURCES_MAX, Sources, ToActivity};

use super::Files;
use crate::enact::message::laid;
use crate::io::Effect;
use crate::machines::Machines;
use crate::process::Process;
use crate::process::files::maker;
use crate::step::Step;

impl Files {
    /// Adds to a dispatch the sources of the files that its receiver may lack. Returns false if
    /// they are not known yet, because in this epoch no group has named its machines, or not those
    /// that have the files.
    pub(crate) fn name_sources(
        &self,
        step: &Step<'_>,
        machines: &Machines,
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
            let reader = message.attempt.activity;
            let made_by = maker(one.source);
            let own = made_by.and_then(|maker| self.own_source(machines, process, reader, maker));
            let passed = made_by.map(|maker| self.passed_by(process, maker));
            let passed = passed.unwrap_or_default();
            // Before a group has named its machines, the first attempt goes out with the files that
            // the receiver has.
            let is_tried = !is_told && message.attempt.number == 1;
            if holder == Some(receiver) && (is_told && copy.is_none() || is_tried) {
                continue;
            }
            if !is_told {
                return false;
            }
            let may_have = |store: &ResourceId| match holder {
                Some(_) => {
                    let is_one = holder == Some(*store) || copy == Some(*store);
                    *store != receiver && (is_one || passed.contains(store))
                }
                // Its place was not recorded, so any machine may have it.
                None => *store != receiver,
            };
            let is_any = self.stores.known().any(|store| may_have(&store));
            if !is_any && holder.is_some() && machines.is_young(step) {
                return false;
            }
            // Those that were named did not have it, and another one will be named soon.
            let mut unnamed = [holder, copy].into_iter().flatten();
            let is_again = message.attempt.number > 1;
            if is_again
                && unnamed.any(|one| one != receiver && self.is_unnamed(step, machines, one))
            {
                return false;
            }
            let holders = self.stores.known().filter(may_have);
            // Where files pass controllers, only few machines have one.
            let n_taken = SOURCES_MAX.max(passed.len() + 2);
            let mut holders: Vec<ResourceId> = holders.take(n_taken).collect();
            // A machine that is silent would make the receiver wait, so it comes last.
            holders.sort_by_key(|&one| {
                let is_silent = !machines.is_trusted(one);
                (is_silent, own != Some(one), copy == Some(one), one)
            });
            holders.truncate(SOURCES_MAX);
            if !holders.is_empty() {
                message.sources.push(Sources { input, holders });
            }
        }
        true
    }

    /// The addresses of the machines that these messages name as sources.
    pub(crate) fn addresses(&self, messages: &[Dispatch]) -> Vec<Holder> {
        let named: BTreeSet<ResourceId> = messages
            .iter()
            .flat_map(|message| message.sources.iter().flat_map(|one| &one.holders))
            .copied()
            .collect();
        let known = named.iter().filter_map(|one| self.stores.get(*one));
        known.cloned().collect()
    }

    /// Asks machines to measure their links to others whose addresses are known.
    pub(crate) fn send_probes(
        &self,
        step: &mut Step<'_>,
        wanted: BTreeMap<ResourceId, ResourceId>,
    ) {
        for (machine, peer) in wanted {
            if let Some(holder) = self.stores.get(peer) {
                let probe = ToActivity::Probe(vec![holder.clone()]);
                step.cx.effect(Effect::ToActivity(machine, probe));
            }
        }
    }

    /// Returns true if a machine is there and its address is not: its group, which may be cut off, has
    /// not offered it in this epoch.
    fn is_unnamed(&self, step: &Step<'_>, machines: &Machines, resource: ResourceId) -> bool {
        let is_offered = self.stores.offered.contains(&resource);
        !is_offered && machines.is_reachable(resource) && machines.may_be_unnamed(step)
    }

    /// The present moment, counted as [`super::stores::Stores`] does. None before a group has named its
    /// machines, since no source is known then.
    pub(crate) fn moment(&self) -> Option<u64> {
        self.stores.is_told.then_some(self.stores.n_found)
    }

    /// Keeps of the inputs that an attempt reports as lacking those that are truly gone. A machine that
    /// has returned since the attempt was sent may have the file, and so may one that is silent and not
    /// lost, or that was not named because its group had not offered it. `told` is the moment at which the attempt was sent with the addresses of its files. An
    /// attempt of an earlier epoch may have been told any sources, so its report proves nothing.
    pub(crate) fn keep_lacking(
        &self,
        step: &Step<'_>,
        machines: &Machines,
        outcome: &mut Outcome,
        told: Option<u64>,
    ) {
        let (id, activity) = (outcome.attempt.process, outcome.attempt.activity);
        let (End::Lacking(inputs), Some(known)) = (&mut outcome.end, step.cx.process(id)) else {
            return;
        };
        let (Some(told), Some(open)) = (told, self.open.get(&id)) else {
            return inputs.clear();
        };
        let declared = known.definition().activity(activity);
        let laid = declared.and_then(|declared| laid(known, activity, declared).ok());
        let laid = laid.unwrap_or_default();
        let source = |input: u32| laid.get(input as usize).and_then(|one| one.source);
        let has_changed = |source: Option<Source>| {
            let passed = maker(source).map(|maker| self.passed_by(known, maker));
            let holders = [known.holder(source), known.copy(source)];
            let holders = holders.into_iter().flatten();
            let mut holders = holders.chain(passed.into_iter().flatten());
            // An attempt that was sent before the copy was made does not know of it.
            let copied = maker(source).and_then(|maker| open.copied.get(&maker));
            copied.is_some_and(|at| *at > told)
                || holders.any(|one| {
                    self.stores.is_found_since(told, one)
                        || machines.may_return(step, one)
                        || self.is_unnamed(step, machines, one)
                })
        };
        inputs.retain(|input| !has_changed(source(*input)));
    }
}
