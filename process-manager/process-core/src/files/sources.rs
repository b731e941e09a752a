//! Sources of the files that a machine may lack: the machine where the attempt that produced a file
//! ran, or the machine where the client put it. If the machines share a store, no source is named.

use std::collections::BTreeSet;

use model::{AttemptId, ResourceId, Source};
use wire::attempt::{Dispatch, End, Holder, Outcome, SOURCES_MAX, Sources};

use crate::enact::message::laid;
use crate::parts::Parts;
use crate::process::Process;
use crate::process::files::maker;
use crate::step::Step;

impl Parts {
    /// Adds to a dispatch the sources of the files that its receiver may lack. Returns false if
    /// they are not known yet, because in this epoch no group has named its machines, or not those
    /// that have the files.
    pub(crate) fn name_sources(
        &self,
        step: &Step<'_>,
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
                Some(_) => *store != receiver && (holder == Some(*store) || copy == Some(*store)),
                // Its place was not recorded, so any machine may have it.
                None => *store != receiver,
            };
            let is_any = self.stores.known().any(|store| may_have(&store));
            if !is_any && holder.is_some() && self.machines.is_young(step) {
                return false;
            }
            let holders = self.stores.known().filter(may_have);
            let mut holders: Vec<ResourceId> = holders.take(SOURCES_MAX).collect();
            // A machine that is silent would make the receiver wait, so it comes last.
            holders.sort_by_key(|&one| (!self.machines.is_trusted(one), copy == Some(one), one));
            if !holders.is_empty() {
                message.sources.push(Sources { input, holders });
            }
        }
        true
    }

    /// Returns the addresses of the machines that these messages name as sources, and notes the
    /// moment at which each attempt was told.
    pub(crate) fn holders(&mut self, messages: &[Dispatch]) -> Vec<Holder> {
        // Before a group has named its machines no source is known.
        let moment = self.stores.is_told.then_some(self.stores.n_found);
        // In a shared store, a file that is lacking is gone.
        let is_one = self.stores.is_shared();
        for message in messages.iter().filter(|_| !is_one) {
            let attempt = message.attempt;
            if let Some(live) = self.live.get_mut(&attempt.process) {
                let told = live.announced.entry(attempt.activity);
                // A report of lacking inputs may answer the first of several messages.
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

impl Parts {
    /// Keeps of the reported lacking inputs those that are truly gone. A machine that has returned
    /// since the attempt was sent may have the file, and so may one that is silent and not lost. An
    /// attempt of an earlier epoch may have been told any sources, so its report proves nothing.
    pub(crate) fn truly_lacking(
        &mut self,
        step: &Step<'_>,
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
            let told = live.and_then(|live| live.announced.remove(&activity));
            let told = told.filter(|told| told.0 == number).and_then(|told| told.1);
            let (End::Lacking(inputs), Some(known)) = (&mut outcome.end, step.cx.process(id))
            else {
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
                // An attempt that was sent before the copy was made does not know of it.
                let copied = maker(source).and_then(|maker| live.copied.get(&maker));
                copied.is_some_and(|at| *at > told)
                    || holders.any(|one| {
                        self.stores.is_found_since(told, one) || self.machines.may_return(step, one)
                    })
            };
            inputs.retain(|input| !has_changed(source(*input)));
        }
        outcomes
    }
}
