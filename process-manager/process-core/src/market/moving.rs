//! Moves: what has not started is planned again where machines are not as fast as planned, and goes elsewhere
//! if that pays.
//!
//! ```text
//!   wanted --asked--> Planning --pays--> Retracting --all given back or started--> in force
//!                        | does not pay      | a machine does not answer, or is gone
//!                        v                   v
//!                     as it was           as it was
//! ```
//! An attempt that was sent moves only when its machine has given it back. Until the plan is in force nobody
//! sends what has been given back for it. Only slots that the process holds are used.

use std::collections::{BTreeMap, BTreeSet};

use model::{ActivityId, AttemptId, Plan, ProcessId, Resource, ResourceId, Span};
use schedule::rounds::{Policy, Scope};

use super::planning::resource;
use super::rounds::Slow;
use super::{Market, Stage};
use crate::enact::busy::Running;
use crate::enact::works::knows_work;
use crate::io::{InForce, PlanResult};
use crate::limits;
use crate::machines::Machines;
use crate::process::Process;
use crate::process::index::is_unsent;
use crate::record::{Phase, Rescheduled};
use crate::step::Step;
use crate::tally::Noted;
use crate::timer::Timer;

/// A plan that was asked for because machines are not as fast as planned.
#[derive(Debug)]
pub(super) struct Move {
    /// Activities that were sent to slow machines and had not started.
    movable: BTreeSet<ActivityId>,
    /// The machine that is furthest from what was planned.
    why: Slow,
    /// The activities that it is about: where they are those of slow machines alone, the plan is taken as it is.
    scope: Scope,
}

impl Market {
    /// Asks for a plan of the next process whose machines are not as planned. It goes before those that wait for
    /// their first plan, since its members are cheap and its machines are held, but not twice in a row.
    pub(super) fn reschedule(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        running: &dyn Running,
    ) {
        if !self.planning.is_empty() {
            return;
        }
        if std::mem::take(&mut self.rounds.had_turn) && self.next_to_plan(step).is_some() {
            return;
        }
        while self.planning.is_empty()
            && let Some(id) = self.rounds.wanted.pop_first()
        {
            self.ask_to_move(step, machines, running, id);
        }
        self.rounds.had_turn = !self.planning.is_empty();
    }

    fn ask_to_move(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        running: &dyn Running,
        id: ProcessId,
    ) {
        let Some(known) = step.cx.process(id) else {
            return;
        };
        if self.sizing(known).is_some() {
            // Its rounds go on where there is nothing to move.
            step.marks.mark(id);
        }
        let Some(demand) = self.demands.get(&id).filter(|demand| demand.has_plan) else {
            return self.drop_losses(id);
        };
        if !matches!(demand.stage, Stage::Settled) {
            // Once its slots are claimed, it is looked at again.
            return step
                .timers
                .set_by(Timer::Judge(id), step.now.mono + limits::MOVE_EACH);
        }
        let places: BTreeSet<ResourceId> = known.grants().map(|grant| grant.resource).collect();
        let resources = places
            .into_iter()
            .filter_map(|place| resource(self.answering(machines, place)?, known.granted(place)));
        let resources: Vec<Resource> = resources.collect();
        if known.phase() != Phase::Running || resources.len() < 2 {
            return self.drop_losses(id);
        }
        let scope = match self.sizing(known) {
            Some(_) => Scope::Machine,
            None => Scope::All,
        };
        let asked = match scope {
            Scope::Machine => self.take_losses(id),
            Scope::All => self.note_asked(step, known),
        };
        let Some((why, slow)) = asked else {
            return;
        };
        let movable = unstarted(known, running, &slow);
        let may_move = |place: ResourceId| scope == Scope::All || slow.contains(&place);
        if movable.is_empty() && !has_unsent(known, may_move) {
            return;
        }
        // Activities of others go to a machine that is faster than planned.
        let slow = if why.is_slower { slow } else { BTreeSet::new() };
        let in_force = InForce {
            entries: known.state.plan.entries.clone(),
            slow,
            scope,
        };
        if let Some(demand) = self.demands.get_mut(&id) {
            demand.moves = Some(Move {
                movable,
                why,
                scope,
            });
        }
        if self.request_comparison(step, id, resources, running, in_force) {
            step.cx.note(Noted::AskedToMove);
        } else if let Some(demand) = self.demands.get_mut(&id) {
            demand.moves = None;
        }
    }

    /// The activities that the plan which is being made may move although they were sent.
    pub(super) fn movable(&self, id: ProcessId) -> BTreeSet<ActivityId> {
        let moves = self
            .demands
            .get(&id)
            .and_then(|demand| demand.moves.as_ref());
        moves.map(|moves| moves.movable.clone()).unwrap_or_default()
    }

    /// The plan of a process is there that was asked for to move what has not started.
    pub(super) fn on_comparison(&mut self, step: &mut Step<'_>, made: PlanResult, moves: Move) {
        let id = made.process;
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let least = Policy::xavantes().gain_least.unwrap_or_default();
        let is_shorter = |(before, after): (Span, Span)| {
            let gain = before.saturating_sub(after);
            gain >= limits::MOVE_GAIN && gain.seconds() > least * before.seconds()
        };
        let pays = match moves.scope {
            Scope::All => made.compared.is_some_and(is_shorter),
            Scope::Machine => made
                .result
                .as_ref()
                .is_ok_and(|plan| n_moved(known, plan) > 0),
        };
        self.note_answered(id, pays);
        let why = moves.why;
        let why = |n_moved: u32, (before, after): (Span, Span)| {
            Box::new(Rescheduled {
                at: step.now.wall,
                resource: why.resource,
                per_mille: per_mille(why.factor),
                n_moved,
                before,
                after,
                cause: why.cause,
                expected: Some(per_mille(why.expected)),
                round: why.round,
                routes: None,
            })
        };
        let declined = made.compared.filter(|_| !pays).map(|ends| why(0, ends));
        if let Some(demand) = self.demands.get_mut(&id) {
            demand.declined = declined;
        }
        let (Ok(plan), Some(ends), true) = (made.result, made.compared, pays) else {
            step.cx.note(Noted::NotWorthMoving);
            self.set_stage(id, Stage::Settled);
            self.look_after_plan(step, id);
            step.marks.mark(id);
            return step.marks.want_plans();
        };
        let leaves = |attempt: &AttemptId| {
            let place = plan.entry(attempt.activity).map(|entry| entry.resource);
            moves.movable.contains(&attempt.activity) && place != known.machine_of(*attempt)
        };
        let out = known.out().map(|(_, attempt)| attempt);
        let awaited: BTreeSet<AttemptId> = out.filter(leaves).collect();
        let why = why(n_moved(known, &plan), ends);
        let until = step.now.mono + limits::RETRACT_FOR;
        let is_estimate = knows_work(known, step.history);
        let plan = Box::new(plan);
        let retracting = Stage::Retracting {
            plan,
            is_estimate,
            awaited,
            is_asked: false,
            until,
            why,
        };
        self.set_stage(id, retracting);
        step.timers.set_by(Timer::Judge(id), until);
        step.marks.mark(id);
    }

    /// The attempts that a process waits for, by machine, where these were not asked to give them back yet.
    pub(crate) fn take_to_retract(
        &mut self,
        step: &Step<'_>,
        id: ProcessId,
    ) -> BTreeMap<ResourceId, Vec<AttemptId>> {
        let mut asked: BTreeMap<ResourceId, Vec<AttemptId>> = BTreeMap::new();
        let (Some(demand), Some(known)) = (self.demands.get_mut(&id), step.cx.process(id)) else {
            return asked;
        };
        let Stage::Retracting {
            awaited, is_asked, ..
        } = &mut demand.stage
        else {
            return asked;
        };
        if !std::mem::replace(is_asked, true) {
            for &attempt in awaited.iter() {
                if let Some(resource) = known.machine_of(attempt) {
                    asked.entry(resource).or_default().push(attempt);
                }
            }
        }
        asked
    }

    /// Puts a plan in force once everything that it moves is given back, or has started. Where a machine cannot
    /// be reached that is to give something back, everything stays as it was.
    pub(crate) fn settle_moves(
        &mut self,
        step: &mut Step<'_>,
        (machines, running): (&Machines, &dyn Running),
        id: ProcessId,
    ) {
        let (Some(demand), Some(known)) = (self.demands.get_mut(&id), step.cx.process(id)) else {
            return;
        };
        let Stage::Retracting { awaited, .. } = &mut demand.stage else {
            return;
        };
        awaited.retain(|&one| known.is_out(one) && running.started(one).is_none());
        let answers = |one: &AttemptId| {
            let resource = known.machine_of(*one);
            resource.is_some_and(|resource| machines.is_reachable(resource))
        };
        if !awaited.iter().all(answers) || known.phase() != Phase::Running {
            self.set_stage(id, Stage::Settled);
            // It may have waited for this to be planned for another reason.
            step.marks.mark(id);
            return step.marks.want_plans();
        }
        if !awaited.is_empty() {
            return;
        }
        let stage = std::mem::take(&mut demand.stage);
        if let Stage::Retracting {
            plan,
            is_estimate,
            why,
            ..
        } = stage
        {
            demand.rescheduled = Some(why);
            self.claim_for(step, id, *plan, is_estimate);
        }
    }

    /// A machine that has not answered for long keeps what it has, and no plan waits for it.
    pub(super) fn end_moves(&mut self, step: &mut Step<'_>, id: ProcessId) {
        let Some(demand) = self.demands.get(&id) else {
            return;
        };
        if let Stage::Retracting { until, .. } = demand.stage {
            if until > step.now.mono {
                return step.timers.set_by(Timer::Judge(id), until);
            }
            self.set_stage(id, Stage::Settled);
            step.marks.mark(id);
            step.marks.want_plans();
        }
    }

    /// Returns true if an activity is on its way to another machine.
    pub(crate) fn holds_back(&self, known: &Process, activity: ActivityId) -> bool {
        let demand = self.demands.get(&known.id());
        let Some(Stage::Retracting { plan, .. }) = demand.map(|demand| &demand.stage) else {
            return false;
        };
        let place = |plan: &Plan| plan.entry(activity).map(|entry| entry.resource);
        let next = place(plan);
        next.is_some() && next != place(&known.state.plan)
    }

    /// Returns true if a process waits for attempts that are to be given back.
    pub(crate) fn is_retracting(&self, id: ProcessId) -> bool {
        let demand = self.demands.get(&id);
        demand.is_some_and(|demand| matches!(demand.stage, Stage::Retracting { .. }))
    }
}

/// Thousandths of a power.
fn per_mille(factor: f64) -> u32 {
    (factor * 1e3).round().clamp(0.0, 1e6) as u32
}

/// Activities that were sent to one of these machines and are not known to have started.
fn unstarted(
    known: &Process,
    running: &dyn Running,
    places: &BTreeSet<ResourceId>,
) -> BTreeSet<ActivityId> {
    let out = places.iter().flat_map(|&place| known.out_at(place));
    // One of several attempts at an activity is not planned anew.
    let is_alone =
        |one| !known.is_recomputation(one) && !known.is_racing(one) && !known.has_lost(one);
    let unstarted = out.filter(|&one| running.started(one).is_none() && is_alone(one));
    unstarted.map(|one| one.activity).collect()
}

/// Returns true if an activity of the plan that has such a machine has not been sent.
fn has_unsent(known: &Process, has_machine: impl Fn(ResourceId) -> bool) -> bool {
    let mut entries = known.state.plan.entries.iter();
    entries
        .any(|entry| has_machine(entry.resource) && is_unsent(known.activity(entry.activity).phase))
}

/// The activities that get another machine.
fn n_moved(known: &Process, plan: &Plan) -> u32 {
    let moved = plan.entries.iter().filter(|entry| {
        let before = known.state.plan.entry(entry.activity);
        before.is_some_and(|before| before.resource != entry.resource)
    });
    moved.count() as u32
}
