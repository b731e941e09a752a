//! Attempts taken back from machines.

use std::collections::BTreeSet;

use model::{AttemptId, ProcessId, ResourceId};
use wire::attempt::{ATTEMPTS_MAX, ToActivity};

use super::Machines;
use crate::io::Effect;
use crate::limits;
use crate::step::Step;
use crate::timer::Timer;

impl Machines {
    /// Groups have told which machines are to take nothing more. Returns those that are new, and those
    /// that have returned.
    pub(crate) fn set_leaving(
        &mut self,
        leaving: BTreeSet<ResourceId>,
    ) -> (Vec<ResourceId>, Vec<ResourceId>) {
        let fresh = leaving.difference(&self.leaving).copied().collect();
        let returned = self.leaving.difference(&leaving).copied().collect();
        self.leaving = leaving;
        (fresh, returned)
    }

    /// Asks a machine for attempts that have not started there, until it has answered: it may have given
    /// back those that it was asked for before it was trusted again.
    pub(crate) fn take_back(
        &mut self,
        step: &mut Step<'_>,
        resource: ResourceId,
        unstarted: impl Iterator<Item = AttemptId>,
    ) {
        let (is_trusted, is_attached) = (self.is_trusted(resource), self.epoch(resource).is_some());
        let Some(liveness) = self.liveness.get_mut(&resource) else {
            return;
        };
        let asked = &liveness.asked_back;
        let waiting = unstarted.filter(|one| !is_trusted || asked.contains(one));
        let waiting: BTreeSet<AttemptId> = waiting.collect();
        liveness.asked_back.clone_from(&waiting);
        let unwanted: Vec<AttemptId> = liveness.unwanted.iter().copied().collect();
        if waiting.is_empty() && unwanted.is_empty() {
            return;
        }
        let waiting: Vec<AttemptId> = waiting.into_iter().collect();
        if is_attached {
            for part in waiting.chunks(ATTEMPTS_MAX) {
                let retract = ToActivity::Retract(part.to_vec());
                step.cx.effect(Effect::ToActivity(resource, retract));
            }
            for part in unwanted.chunks(ATTEMPTS_MAX) {
                let stop = ToActivity::Stop(part.to_vec());
                step.cx.effect(Effect::ToActivity(resource, stop));
            }
        }
        step.timers
            .set(Timer::Retract(resource), step.now.mono + limits::REPEAT);
    }

    /// Attempts on a machine are wanted back, though it is trusted. Without leases nothing else was noted of it.
    pub(crate) fn ask_back(&mut self, resource: ResourceId, attempts: Vec<AttemptId>) {
        let liveness = self.liveness.entry(resource).or_default();
        liveness.asked_back.extend(attempts);
    }

    /// Attempts that a machine may hold for nobody are stopped, again and again until it has answered.
    pub(crate) fn drop_unwanted(
        &mut self,
        step: &mut Step<'_>,
        resource: ResourceId,
        ids: &[AttemptId],
    ) {
        if !ids.is_empty() {
            let liveness = self.liveness.entry(resource).or_default();
            liveness.unwanted.extend(ids);
            step.timers
                .set_once(Timer::Retract(resource), step.now.mono + limits::REPEAT);
        }
    }

    /// The attempts of a process that a machine may hold for nobody.
    pub(crate) fn unwanted(
        &self,
        resource: ResourceId,
        process: ProcessId,
    ) -> impl Iterator<Item = AttemptId> {
        let liveness = self.liveness.get(&resource).into_iter();
        let unwanted = liveness.flat_map(|liveness| &liveness.unwanted).copied();
        unwanted.filter(move |one| one.process == process)
    }

    /// A machine has said what became of these attempts.
    pub(crate) fn is_answered(
        &mut self,
        resource: ResourceId,
        ids: impl Iterator<Item = AttemptId>,
    ) {
        if let Some(liveness) = self.liveness.get_mut(&resource)
            && !liveness.unwanted.is_empty()
        {
            for id in ids {
                liveness.unwanted.remove(&id);
            }
        }
    }

    /// The lease of a machine has ended for certain. Returns false where none was granted.
    pub(crate) fn give_up(&mut self, resource: ResourceId) -> bool {
        let liveness = self.liveness.get_mut(&resource);
        liveness.is_some_and(|liveness| {
            liveness.unwanted.clear();
            true
        })
    }
}
