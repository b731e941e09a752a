//! Which machines are there. A machine that says nothing for a while is *suspect*: nothing is sent
//! there, what was not sent moves, what has not started is taken back. What may have started waits
//! until the machine's lease has ended for certain, since the machine stops it by itself before that
//! ([`wire::lease`]); then it is lost, and goes elsewhere.
//!
//! Without leases both managers are one program, and nobody is ever suspect.

use std::collections::{BTreeMap, BTreeSet};

use machine::Context;
use model::{ActivityId, AttemptId, Epoch, Mono, Now, ProcessId, ResourceId, Span};
use wire::attempt::{ATTEMPTS_MAX, ToActivity};
use wire::lease;

use crate::io::{Effect, Stream};
use crate::manager::{ProcessManager, Stage, State, Timer, limits, process};
use crate::outcome::Gone;
use crate::process::Process;
use crate::record::{ActivityPhase, Event, Phase};

/// What is known of whether a machine is there.
#[derive(Debug, Default)]
pub(crate) struct Liveness {
    /// When it was heard last, or first heard of.
    heard: Mono,
    /// The most that it has made of an answer in this life, where it has said: see [`lease::waited`].
    length: Span,
    /// When whatever was answered until here has ended for certain.
    until: Mono,
    pub(crate) is_suspect: bool,
    /// What it was asked to give back, and has not answered.
    asked_back: BTreeSet<AttemptId>,
    /// What it may hold for nobody, and has not said that it does not.
    unwanted: BTreeSet<AttemptId>,
}

impl ProcessManager {
    /// A life begins. Those before it may have told of longer leases until a moment ago, and until
    /// these have ended it waits by the longest; `before` is what they have recorded. A life that is
    /// shorter than that leaves it to the next one.
    pub(crate) fn lease_from(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        before: Option<Span>,
    ) {
        let Some(own) = self.config.lease else {
            return;
        };
        // Who did not record it knew of one length alone.
        let earlier = before.unwrap_or(lease::LENGTH);
        self.outlived = now.mono + lease::patience(earlier);
        let longest = own.max(earlier);
        if before != Some(longest) {
            cx.record(Stream::Manager, Event::Leased(longest));
        }
        if longest > own {
            self.arm(Timer::Outlived, self.outlived);
        }
    }

    /// No lease of an earlier life is left.
    pub(crate) fn lease_alone(&mut self, cx: &mut Context<'_, Self>) {
        let lengths = self.liveness.values().map(|liveness| liveness.length);
        if let Some(longest) = lengths.chain(self.config.lease).max()
            && leased(cx) != Some(longest)
        {
            cx.record(Stream::Manager, Event::Leased(longest));
        }
    }

    /// What an earlier life has sent may run for as long as if that had answered just now.
    pub(crate) fn expect_all(&mut self, cx: &Context<'_, Self>, now: Now) {
        if self.config.lease.is_none() {
            return;
        }
        let mut places: BTreeSet<ResourceId> = BTreeSet::new();
        let mut planned: BTreeSet<ResourceId> = BTreeSet::new();
        for &id in self.live.keys() {
            if let Some(known) = process(cx, id) {
                places.extend(known.index.out.keys());
                let entries = known.course.plan.entries.iter();
                planned.extend(entries.map(|entry| entry.resource));
            }
        }
        for resource in places {
            self.expect(now, resource);
            self.arm(Timer::Lost(resource), self.outlived);
        }
        // What is to run on a machine that never comes is planned for another one.
        for resource in planned {
            self.expect(now, resource);
        }
    }

    /// A machine is offered: it will connect.
    pub(crate) fn expect(&mut self, now: Now, resource: ResourceId) {
        if self.config.lease.is_some() && !self.liveness.contains_key(&resource) {
            let heard = now.mono;
            let liveness = Liveness {
                heard,
                ..Liveness::default()
            };
            self.liveness.insert(resource, liveness);
            self.arm(Timer::Suspect(resource), heard + lease::SILENCE);
        }
    }

    /// A machine has given a sign of life.
    pub(crate) fn hear(&mut self, now: Now, resource: ResourceId) {
        if self.config.lease.is_none() {
            return;
        }
        self.expect(now, resource);
        if let Some(liveness) = self.liveness.get_mut(&resource) {
            liveness.heard = now.mono;
        }
        self.arm_once(Timer::Suspect(resource), now.mono + lease::SILENCE);
    }

    /// A machine that was suspect is there again and has told what it holds.
    pub(crate) fn trust(&mut self, cx: &mut Context<'_, Self>, now: Now, resource: ResourceId) {
        let is_attached = self
            .machines
            .get(&resource)
            .is_some_and(|link| link.epoch.is_some());
        let Some(liveness) = self.liveness.get_mut(&resource) else {
            return;
        };
        if !is_attached || !std::mem::take(&mut liveness.is_suspect) {
            return;
        }
        let ids: Vec<ProcessId> = self.live.keys().copied().collect();
        for id in ids {
            self.settle(cx, now, id);
        }
        self.n_offers += 1;
        self.plan_next(cx);
    }

    /// What was sent to a machine, or is sent from here on, may run until its patience has passed,
    /// and that of whatever it was told before.
    pub(crate) fn wait_for(&mut self, now: Now, resource: ResourceId) {
        if let Some(own) = self.config.lease
            && let Some(liveness) = self.liveness.get_mut(&resource)
        {
            let until = now.mono + lease::patience(own.max(liveness.length));
            liveness.until = liveness.until.max(until).max(self.outlived);
            let until = liveness.until;
            self.arm(Timer::Lost(resource), until);
        }
    }

    /// A machine has told what it holds, and by which length it counts.
    pub(crate) fn count_by(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        resource: ResourceId,
        echoed: Option<Span>,
    ) {
        if let Some(own) = self.config.lease
            && let Some(liveness) = self.liveness.get_mut(&resource)
        {
            liveness.length = liveness.length.max(lease::waited(own, echoed));
            let length = liveness.length;
            if leased(cx).is_none_or(|recorded| recorded < length) {
                cx.record(Stream::Manager, Event::Leased(length));
            }
        }
        self.wait_for(now, resource);
    }

    /// A machine asks whether its attempts may go on.
    pub(crate) fn on_renew(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        resource: ResourceId,
        epoch: Epoch,
        number: u32,
    ) {
        if self.config.lease.is_none() {
            return;
        }
        let known = self.machines.get(&resource).and_then(|link| link.epoch);
        match known {
            Some(known) if known == epoch => {
                self.wait_for(now, resource);
                let renewed = ToActivity::Renewed {
                    epoch,
                    number,
                    keeps: self.kept_at(resource),
                };
                cx.effect(Effect::ToActivity(resource, renewed));
            }
            // It has ended the life that is known here.
            Some(known) if known < epoch => self.reattach(cx, now, resource),
            Some(_) | None => {}
        }
    }

    /// Whether a machine takes work and is to be planned for.
    pub(crate) fn is_trusted(&self, resource: ResourceId) -> bool {
        let liveness = self.liveness.get(&resource);
        !self.leaving.contains(&resource) && liveness.is_none_or(|liveness| !liveness.is_suspect)
    }

    /// Whether a machine is silent, but not for so long that it is lost.
    pub(crate) fn may_return(&self, now: Now, resource: ResourceId) -> bool {
        let Some(length) = self.config.lease else {
            return false;
        };
        let link = self.machines.get(&resource);
        let is_attached = link.is_some_and(|link| link.epoch.is_some());
        let (is_suspect, heard) = match self.liveness.get(&resource) {
            Some(liveness) => (liveness.is_suspect, liveness.heard),
            None => (false, self.begun),
        };
        (is_suspect || !is_attached) && now.mono < heard + lease::patience(length)
    }

    /// Whether groups may have started again with this manager, and not know all machines yet.
    pub(crate) fn is_young(&self, now: Now) -> bool {
        let length = self.config.lease;
        length.is_some_and(|length| now.mono < self.begun + lease::patience(length))
    }

    /// It is time to look whether a machine was heard.
    pub(crate) fn look_at(&mut self, cx: &mut Context<'_, Self>, now: Now, resource: ResourceId) {
        let Some(liveness) = self.liveness.get_mut(&resource) else {
            return;
        };
        let due = liveness.heard + lease::SILENCE;
        if now.mono < due {
            return self.arm(Timer::Suspect(resource), due);
        }
        if !std::mem::replace(&mut liveness.is_suspect, true) {
            self.move_away(cx, now, resource);
        }
    }

    /// Groups have told which machines are to take nothing more.
    pub(crate) fn set_leaving(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        leaving: BTreeSet<ResourceId>,
    ) {
        let fresh: Vec<ResourceId> = leaving.difference(&self.leaving).copied().collect();
        let returned = !self.leaving.is_subset(&leaving);
        self.leaving = leaving;
        for resource in fresh {
            self.move_away(cx, now, resource);
        }
        if returned {
            let ids: Vec<ProcessId> = self.live.keys().copied().collect();
            for id in ids {
                self.settle(cx, now, id);
            }
        }
    }

    /// Nothing more goes to a machine, and what has not started there is taken back.
    fn move_away(&mut self, cx: &mut Context<'_, Self>, now: Now, resource: ResourceId) {
        let mut lost = Vec::new();
        let ids: Vec<ProcessId> = self.live.keys().copied().collect();
        for &id in &ids {
            if let Some(known) = process(cx, id)
                && !self.leaving.contains(&resource)
            {
                lost.extend(out_at(known, resource).filter(|one| is_repeatable(known, *one)));
            }
        }
        self.drop_unwanted(now, resource, &lost);
        // These may run twice, so that nobody waits for what may have become of them.
        self.lose(cx, now, resource, &lost, Gone::Doubled);
        for id in ids {
            self.plan_again(cx, id);
        }
        self.plan_next(cx);
        self.take_back(cx, now, resource);
    }

    /// Has a process planned again of which something waits for a machine that takes nothing.
    pub(crate) fn plan_again(&mut self, cx: &mut Context<'_, Self>, id: ProcessId) {
        if self.config.lease.is_none() {
            return;
        }
        let is_settled = |live: &crate::manager::Live| matches!(live.stage, Stage::Settled);
        let wants = self.live.get(&id).is_some_and(is_settled)
            && process(cx, id).is_some_and(|known| self.is_stranded(known));
        if wants {
            self.set_stage(id, Stage::Wanting);
        }
    }

    /// Whether something that has a plan is to run where nothing is sent.
    pub(crate) fn is_stranded(&self, known: &Process) -> bool {
        let plan = &known.course.plan;
        if plan.generation.0 == 0 || known.phase() != Phase::Running {
            return false;
        }
        if known.index.ready.contains_key(&None) {
            return true;
        }
        let waits = |activity: ActivityId| match known.activity(activity).phase {
            ActivityPhase::Waiting | ActivityPhase::Ready | ActivityPhase::Backoff => true,
            ActivityPhase::Sent
            | ActivityPhase::Completed
            | ActivityPhase::Faulted
            | ActivityPhase::Skipped
            | ActivityPhase::Stopped => false,
        };
        let mut trusted: BTreeMap<ResourceId, bool> = BTreeMap::new();
        plan.entries.iter().any(|entry| {
            let place = entry.resource;
            let is_trusted = trusted
                .entry(place)
                .or_insert_with(|| self.is_trusted(place));
            !*is_trusted && waits(entry.activity)
        })
    }

    /// Asks a machine for what has not started there, until it has answered: it may have given back
    /// what it was asked for before it was trusted again.
    pub(crate) fn take_back(&mut self, cx: &mut Context<'_, Self>, now: Now, resource: ResourceId) {
        let is_trusted = self.is_trusted(resource);
        let Some(liveness) = self.liveness.get_mut(&resource) else {
            return;
        };
        let mut waiting = BTreeSet::new();
        for (&id, live) in &self.live {
            if let Some(known) = process(cx, id) {
                let asked = &liveness.asked_back;
                let is_wanted = |one: &AttemptId| !is_trusted || asked.contains(one);
                let out = out_at(known, resource).filter(is_wanted);
                waiting.extend(out.filter(|one| !live.running.contains_key(&one.activity)));
            }
        }
        liveness.asked_back.clone_from(&waiting);
        let unwanted: Vec<AttemptId> = liveness.unwanted.iter().copied().collect();
        if waiting.is_empty() && unwanted.is_empty() {
            return;
        }
        let waiting: Vec<AttemptId> = waiting.into_iter().collect();
        let link = self.machines.get(&resource);
        if link.is_some_and(|link| link.epoch.is_some()) {
            for part in waiting.chunks(ATTEMPTS_MAX) {
                let retract = ToActivity::Retract(part.to_vec());
                cx.effect(Effect::ToActivity(resource, retract));
            }
            for part in unwanted.chunks(ATTEMPTS_MAX) {
                let stop = ToActivity::Stop(part.to_vec());
                cx.effect(Effect::ToActivity(resource, stop));
            }
        }
        self.arm(Timer::Retract(resource), now.mono + limits::REPEAT);
    }

    /// What a machine may hold for nobody is stopped, again and again until it says what became of it.
    pub(crate) fn drop_unwanted(&mut self, now: Now, resource: ResourceId, ids: &[AttemptId]) {
        if let Some(liveness) = self.liveness.get_mut(&resource)
            && !ids.is_empty()
        {
            liveness.unwanted.extend(ids);
            self.arm_once(Timer::Retract(resource), now.mono + limits::REPEAT);
        }
    }

    /// A machine has said what became of these.
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

    /// The lease of a machine has ended for certain: nothing that was sent there runs any more.
    pub(crate) fn give_up(&mut self, cx: &mut Context<'_, Self>, now: Now, resource: ResourceId) {
        let Some(liveness) = self.liveness.get_mut(&resource) else {
            return;
        };
        liveness.unwanted.clear();
        let mut lost = Vec::new();
        for &id in self.live.keys() {
            if let Some(known) = process(cx, id) {
                lost.extend(out_at(known, resource));
            }
        }
        // What was sent to this life is refused by the machine from here on.
        self.reattach(cx, now, resource);
        self.lose(cx, now, resource, &lost, Gone::GivenUp);
        self.lose_files(cx, now, resource);
    }
}

/// The longest lease that is recorded.
fn leased(cx: &Context<'_, ProcessManager>) -> Option<Span> {
    match cx.state(Stream::Manager)? {
        State::Manager { leased, .. } => *leased,
        State::Empty | State::Process(_) | State::Held(_) => None,
    }
}

fn out_at(known: &Process, resource: ResourceId) -> impl Iterator<Item = AttemptId> {
    let out = known.index.out.get(&resource).into_iter().flatten();
    out.map(|&activity| known.out_of(activity).1)
}

fn is_repeatable(known: &Process, attempt: AttemptId) -> bool {
    let declared = known.definition().activity(attempt.activity);
    declared.is_some_and(|activity| activity.repeatable)
}
