//! Attempts that are watched, and the moments at which those are looked at that may be raced.

use std::collections::BTreeSet;

use model::{ActivityId, Mono, Policy, ProcessId, ResourceId, Span, Work};
use wire::attempt::Outcome;

use super::evidence::Evidence;
use super::{Market, Running, overdue_after};
use crate::limits;
use crate::market::races::Expected;
use crate::process::Process;
use crate::record::Phase;
use crate::step::Step;
use crate::timer::Timer;

impl Running {
    /// Returns true if its machine is judged by an attempt that runs for so long and is due, as far as others of its kind
    /// have shown by now how long they take. As long as none has, it may take any time, until it seems to stand still.
    pub(super) fn is_judged(&mut self, evidence: &Evidence, elapsed: Span) -> bool {
        let Some(kind) = self.kind else {
            return true;
        };
        if self.is_guessed && evidence.is_unknown(kind) {
            let long = Span::from_seconds_up(limits::STANDS_STILL * self.said);
            return elapsed >= long.max(limits::STANDS_STILL_LEAST);
        }
        let nominal = self.said * evidence.scale(self.kind);
        self.expected *= nominal / self.nominal;
        self.nominal = nominal;
        elapsed >= overdue_after(self.expected)
    }
}

impl Market {
    /// The expectations of a running attempt.
    pub(in crate::market) fn runs_at(
        &self,
        id: ProcessId,
        attempt: (ActivityId, u32),
    ) -> Option<Expected> {
        let course = self.rounds.courses.get(&id)?;
        let running = course.running.get(&attempt)?;
        Some(Expected {
            resource: running.resource,
            seconds: running.nominal / course.mean,
            work: running.nominal * self.power_for(id, running.resource)?,
        })
    }

    /// The seconds that so much work is expected to take on a machine, as a process has seen it.
    pub(in crate::market) fn seconds_at(
        &self,
        id: ProcessId,
        work: f64,
        resource: ResourceId,
    ) -> Option<f64> {
        let power = self.power_for(id, resource)? * self.factor(id, resource);
        (power > 0.0).then_some(work / power)
    }

    /// A running attempt is judged again at this moment at the latest.
    pub(in crate::market) fn judge_again(
        &mut self,
        step: &mut Step<'_>,
        (id, attempt): (ProcessId, (ActivityId, u32)),
        due: Mono,
    ) {
        let course = self.rounds.courses.get_mut(&id);
        if let Some(running) = course.and_then(|course| course.running.get_mut(&attempt)) {
            running.due = running.due.min(due);
            step.timers.set_by(Timer::Judge(id), running.due);
        }
    }

    /// Returns true if an attempt at an activity is looked at when it takes too long, though the machines of its process
    /// are not judged, as it holds a single one: it is raced then, or has a work by which it is long.
    pub(super) fn is_watched(&self, known: &Process, activity: ActivityId) -> bool {
        let declared = known.definition().activity_as_written(activity);
        let is_long = |work: Work| work.reference_seconds() >= limits::STRAGGLES_LEAST.seconds();
        known.phase() == Phase::Running
            && declared.is_some_and(|one| one.repeatable || one.work.is_some_and(is_long))
            && self.rules.of(known) == Policy::Xavantes
    }

    /// Notes that an attempt would be raced if a slot idled.
    pub(in crate::market) fn note_lack_of_room(&mut self, id: ProcessId) {
        if let Some(course) = self.rounds.courses.get_mut(&id) {
            course.lacks_room = true;
        }
    }

    /// A plan is settled that counted on all slots: attempts that wait for one to be raced are looked at.
    pub(in crate::market) fn look_after_plan(&mut self, step: &mut Step<'_>, id: ProcessId) {
        let course = self.rounds.courses.get(&id);
        if course.is_some_and(|course| course.lacks_room) {
            self.look_at_races(step, id);
        }
    }

    /// Attempts have ended, and their slots may idle: others that wait for one to be raced are looked at.
    pub(super) fn look_for_room(&mut self, step: &mut Step<'_>, outcomes: &[Outcome]) {
        let lacks_room = |id: &ProcessId| {
            let course = self.rounds.courses.get(id);
            let known = step.cx.process(*id);
            course.is_some_and(|course| course.lacks_room)
                // As long as others are ready, they take the slots.
                && known.is_some_and(|known| known.index.ready.is_empty())
        };
        let ids = outcomes.iter().map(|outcome| outcome.attempt.process);
        let ids: BTreeSet<ProcessId> = ids.filter(lacks_room).collect();
        for id in ids {
            self.look_at_races(step, id);
        }
    }

    /// A process may have an idle slot: attempts that run longer than expected are looked at at once.
    pub(in crate::market) fn look_at_races(&mut self, step: &mut Step<'_>, id: ProcessId) {
        let now = step.now.mono;
        let Some(course) = self.rounds.courses.get_mut(&id) else {
            return;
        };
        course.lacks_room = false;
        let late = course.running.values_mut().filter(|one| {
            one.since + Span::from_seconds_up(one.expected) + limits::LATE_LEAST < now
        });
        let mut is_any = false;
        for one in late {
            one.due = now;
            is_any = true;
        }
        if is_any {
            step.timers.set_by(Timer::Judge(id), now);
        }
    }

    /// Returns true if an attempt of a process on this machine has taken so much longer than expected that it may never
    /// end.
    pub(in crate::market) fn stands_still(
        &self,
        id: ProcessId,
        resource: ResourceId,
        now: Mono,
    ) -> bool {
        let course = self.rounds.courses.get(&id);
        let running = course
            .into_iter()
            .flat_map(|course| course.running.values());
        let mut there = running.filter(|one| one.resource == resource);
        there.any(|one| {
            let long = Span::from_seconds_up(limits::STANDS_STILL * one.nominal);
            now.since(one.since) >= long.max(limits::STANDS_STILL_LEAST)
        })
    }

    /// Returns true if slots may be claimed at this moment to race an attempt on.
    pub(in crate::market) fn may_claim_for(
        &self,
        id: ProcessId,
        attempt: (ActivityId, u32),
        now: Mono,
    ) -> bool {
        let course = self.rounds.courses.get(&id);
        let running = course.and_then(|course| course.running.get(&attempt));
        running.is_some_and(|running| running.claim_from <= now)
    }

    /// Slots are claimed to race an attempt on.
    pub(in crate::market) fn note_claimed_for(
        &mut self,
        id: ProcessId,
        attempt: (ActivityId, u32),
        now: Mono,
    ) {
        let course = self.rounds.courses.get_mut(&id);
        if let Some(running) = course.and_then(|course| course.running.get_mut(&attempt)) {
            let wait = limits::RACE_EACH.0 << running.n_claims.min(limits::RACE_CLAIMS_DOUBLED);
            running.claim_from = now + Span(wait);
            running.n_claims = running.n_claims.saturating_add(1);
        }
    }
}
