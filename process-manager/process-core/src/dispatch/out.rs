//! Attempts that are out at machines: acknowledged, forgotten with a connection, stopped, tried again.

use std::collections::{BTreeMap, BTreeSet};

use model::{ActivityId, AttemptId, ProcessId, ResourceId, Span};
use wire::attempt::{ATTEMPTS_MAX, ToActivity};

use super::Attempts;
use crate::io::Effect;
use crate::limits;
use crate::machines::Machines;
use crate::process::Process;
use crate::record::{ActivityPhase, Event, Phase};
use crate::step::Step;
use crate::stream::Stream;
use crate::timer::Timer;

impl Attempts {
    /// All attempts that are out at a machine.
    pub(crate) fn out_at(&self, step: &Step<'_>, resource: ResourceId) -> Vec<AttemptId> {
        let ids = self.processes_at(resource);
        let known = ids.filter_map(|id| step.cx.process(id));
        known.flat_map(|known| known.out_at(resource)).collect()
    }

    /// The attempts at a machine that may run twice, so that nobody waits for what may have become of
    /// them. Those that have lost a race are waited for: the process needs no others in their place.
    pub(crate) fn repeatable_at(&self, step: &Step<'_>, resource: ResourceId) -> Vec<AttemptId> {
        let mut repeatable = Vec::new();
        for id in self.processes_at(resource) {
            if let Some(known) = step.cx.process(id) {
                let out = known.out_at(resource);
                let may_double =
                    |one: &AttemptId| is_repeatable(known, *one) && !known.has_lost(*one);
                repeatable.extend(out.filter(may_double));
            }
        }
        repeatable
    }

    /// The attempts at a machine that are not known to have started.
    pub(crate) fn unstarted_at(
        &self,
        step: &Step<'_>,
        resource: ResourceId,
    ) -> BTreeSet<AttemptId> {
        let mut unstarted = BTreeSet::new();
        for id in self.processes_at(resource) {
            if let (Some(known), Some(open)) = (step.cx.process(id), self.open.get(&id)) {
                let out = known.out_at(resource);
                let runs = |one: &AttemptId| open.running.contains_key(&(one.activity, one.number));
                unstarted.extend(out.filter(|one| !runs(one)));
            }
        }
        unstarted
    }

    /// A machine is not connected any more: what was sent is sent again once it is.
    pub(crate) fn machine_down(&mut self, step: &mut Step<'_>, resource: ResourceId) {
        for id in self.places.at(resource) {
            let open = self.open.get_mut(&id);
            if open.is_some_and(|open| open.unacknowledged.remove(&resource).is_some()) {
                step.timers.cancel(Timer::Unacknowledged(id, resource));
            }
        }
    }

    /// Attempts came to a machine before the grant of their slots, which is on its way from the group
    /// manager: they are sent again soon, and the less soon the longer it takes.
    pub(crate) fn repeat_soon(
        &mut self,
        step: &mut Step<'_>,
        resource: ResourceId,
        attempts: &[AttemptId],
    ) {
        let ids: BTreeSet<ProcessId> = attempts.iter().map(|one| one.process).collect();
        for id in ids {
            if let Some(open) = self.open.get_mut(&id)
                && open.unacknowledged.contains_key(&resource)
            {
                let wait = limits::GRANT_LATE
                    .0
                    .saturating_mul(1 << open.n_early.min(8));
                open.n_early = open.n_early.saturating_add(1);
                let next = step.now.mono + Span(wait).min(limits::REPEAT);
                step.timers.set(Timer::Unacknowledged(id, resource), next);
            }
        }
    }

    /// An attempt was heard of: it need not be sent again.
    pub(crate) fn heard(
        &mut self,
        resource: ResourceId,
        attempts: impl Iterator<Item = AttemptId>,
    ) {
        for attempt in attempts {
            if let Some(open) = self.open.get_mut(&attempt.process)
                && let Some(unacknowledged) = open.unacknowledged.get_mut(&resource)
            {
                unacknowledged.remove(&attempt);
                open.n_early = 0;
            }
        }
    }

    /// An activity that has failed has waited long enough for another try.
    pub(crate) fn try_again(&self, step: &mut Step<'_>, id: ProcessId, activity: ActivityId) {
        let known = step.cx.process(id);
        if known.is_some_and(|known| known.activity(activity).phase == ActivityPhase::Backoff) {
            let readied = Event::Readied(vec![activity]);
            step.cx.record(Stream::Process(id), readied);
            step.marks.mark(id);
        }
    }

    /// Tells machines to stop what a process that ends still has out, or what nobody waits for.
    pub(crate) fn stop_what_is_out(&self, step: &mut Step<'_>, machines: &Machines, id: ProcessId) {
        let Some(known) = step.cx.process(id) else {
            return;
        };
        match known.phase() {
            Phase::Running if !known.has_leftovers() => return,
            Phase::Running | Phase::Faulting | Phase::Cancelling => {}
            Phase::Completed | Phase::Faulted | Phase::Cancelled => return,
        }
        let mut by_machine: BTreeMap<ResourceId, Vec<AttemptId>> = BTreeMap::new();
        for (resource, attempt) in known.to_be_stopped() {
            by_machine.entry(resource).or_default().push(attempt);
        }
        for (resource, attempts) in by_machine {
            if machines.epoch(resource).is_some() {
                stop(step, resource, &attempts);
            }
        }
        self.take_back_unstarted(step, machines, id);
        step.timers
            .set(Timer::Stop(id), step.now.mono + limits::REPEAT);
    }
}

impl Attempts {
    /// Takes back what a process that has faulted has out and is not known to have started.
    fn take_back_unstarted(&self, step: &mut Step<'_>, machines: &Machines, id: ProcessId) {
        let Some(known) = step.cx.process(id).filter(|known| known.finishes()) else {
            return;
        };
        let running = self.open.get(&id).map(|open| &open.running);
        let has_started = |one: &AttemptId| {
            running.is_some_and(|running| running.contains_key(&(one.activity, one.number)))
        };
        let mut by_machine: BTreeMap<ResourceId, Vec<AttemptId>> = BTreeMap::new();
        for (resource, attempt) in known.out() {
            if known.may_finish(attempt) && !has_started(&attempt) {
                by_machine.entry(resource).or_default().push(attempt);
            }
        }
        for (resource, attempts) in by_machine {
            if machines.epoch(resource).is_some() {
                for part in attempts.chunks(ATTEMPTS_MAX) {
                    let retract = ToActivity::Retract(part.to_vec());
                    step.cx.effect(Effect::ToActivity(resource, retract));
                }
            }
        }
    }
}

pub(super) fn is_repeatable(known: &Process, attempt: AttemptId) -> bool {
    let declared = known.definition().activity_as_written(attempt.activity);
    declared.is_some_and(|activity| activity.repeatable)
}

/// Tells a machine to stop attempts.
pub(super) fn stop(step: &mut Step<'_>, resource: ResourceId, attempts: &[AttemptId]) {
    for part in attempts.chunks(ATTEMPTS_MAX) {
        let stop = ToActivity::Stop(part.to_vec());
        step.cx.effect(Effect::ToActivity(resource, stop));
    }
}
