//! Stragglers: a running activity that may run twice and takes far longer than expected is made again elsewhere.
//! An activity that has taken so much longer is expected to take as long once more.

use history::Store;
use model::{ActivityId, AttemptId, Entry, Generation, Plan, ProcessId, ResourceId, Span};

use super::limit::fits;
use super::{Market, Stage};
use crate::enact::works::forecast;
use crate::limits;
use crate::machines::Machines;
use crate::process::Process;
use crate::record::{Event, Replanned};
use crate::step::Step;
use crate::stream::Stream;
use crate::tally::Noted;

impl Market {
    /// Plans stragglers elsewhere, of activities that run and have run for so long. Returns their attempts, to be
    /// stopped.
    pub(super) fn stragglers(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        id: ProcessId,
        looked_at: &[(ActivityId, Span)],
    ) -> Vec<(ResourceId, AttemptId)> {
        let mut planned = Vec::new();
        for &(activity, elapsed) in looked_at {
            let Some((expected, from)) = self.runs_at(id, activity) else {
                continue;
            };
            let Some(known) = step.cx.process(id) else {
                break;
            };
            let took = (expected, elapsed);
            let Some(attempt) = straggler(known, step.history, activity, took) else {
                continue;
            };
            let Some(to) = self.idlest(known, machines, activity, from) else {
                continue;
            };
            let stage = self.demands.get(&id).map(|demand| &demand.stage);
            if matches!(stage, Some(Stage::Settled)) {
                let expected = Span::from_seconds_up(expected);
                plan_at(step, id, activity, to, expected);
                step.cx.note(Noted::Straggler);
                planned.push((from, attempt));
            } else {
                // A plan that is being made counts on it.
                let again = step.now.mono + limits::MOVE_EACH;
                self.judge_again(step, (id, activity), again);
            }
        }
        planned
    }

    /// The machine that has the least to do for its slots, of those that take an activity.
    fn idlest(
        &self,
        known: &Process,
        machines: &Machines,
        activity: ActivityId,
        but: ResourceId,
    ) -> Option<ResourceId> {
        let declared = known.definition().activity_as_written(activity)?;
        let places = known.grants().map(|grant| grant.resource);
        let takes = |place: &ResourceId| {
            let offered = self.answering(machines, *place);
            let fits = offered.is_some_and(|offered| fits(offered, declared));
            *place != but && fits && declared.cores <= known.granted(*place)
        };
        let load = |place: &ResourceId| {
            let n_out = known.n_out_at(*place) as u64;
            let slots = u64::from(known.granted(*place).max(1));
            (n_out * 1_000 / slots, *place)
        };
        places.filter(takes).min_by_key(load)
    }
}

/// The attempt that runs at an activity, if it is a straggler: it may run twice, and has taken
/// [`limits::STRAGGLES`] times as long as nine in ten do.
fn straggler(
    known: &Process,
    history: &Store,
    activity: ActivityId,
    (expected, elapsed): (f64, Span),
) -> Option<AttemptId> {
    let declared = known.definition().activity_as_written(activity)?;
    let number = known.activity(activity).number;
    let attempt = AttemptId {
        process: known.id(),
        activity,
        number,
    };
    let (_, spread) = forecast(known, history, activity);
    let long = limits::STRAGGLES * expected * spread.unwrap_or(1.0).max(1.0);
    let is_late = elapsed.seconds() > long && elapsed >= limits::STRAGGLES_LEAST;
    let may = declared.repeatable && number <= limits::STRAGGLED_MAX && known.is_out(attempt);
    (may && is_late && !known.is_recomputation(attempt)).then_some(attempt)
}

/// Records a plan that differs by the place of one activity.
fn plan_at(
    step: &mut Step<'_>,
    id: ProcessId,
    activity: ActivityId,
    resource: ResourceId,
    expected: Span,
) {
    let Some(known) = step.cx.process(id) else {
        return;
    };
    let before = &known.state.plan;
    let start = known.since_planned(step.now.wall);
    let mut entries = before.entries.clone();
    for entry in entries.iter_mut().filter(|one| one.activity == activity) {
        *entry = Entry {
            activity,
            resource,
            slot: 0,
            start,
            finish: start + expected,
        };
    }
    let plan = Plan {
        generation: Generation(before.generation.0 + 1),
        entries,
        bound: before.bound,
    };
    let is_estimate = known.state.planned.is_some();
    let replanned = Replanned::new(before, &plan, Vec::new(), is_estimate);
    let event = Event::Replanned(Box::new(replanned));
    step.cx.record(Stream::Process(id), event);
}
