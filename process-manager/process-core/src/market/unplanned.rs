//! Processes that cannot be planned on what there is: they wait for other slots, say what they wait for,
//! or fault where no machine fits for long.

use model::{ActivityId, Mono, ProcessId};
use schedule::Refusal;

use super::lacking::{Lack, in_words};
use super::limit::fits;
use super::{GroupLink, Market, Stage};
use crate::enact::problem::refusal_fault;
use crate::limits;
use crate::process::Process;
use crate::record::Event;
use crate::step::Step;
use crate::stream::Stream;
use crate::timer::Timer;

/// A process without a plan that no known machine fits.
#[derive(Debug)]
pub(super) struct Misfit {
    /// The activity that none fits.
    activity: Option<ActivityId>,
    /// The time since which none does.
    since: Mono,
    /// When that was seen last: a process that is not tried for long may have missed that one fitted.
    seen: Mono,
}

impl Market {
    /// Notes that a process could not be planned with the slots that there are. It is not tried again
    /// before others are free, so it does not delay processes that replan on slots they hold.
    pub(super) fn note_tried(&mut self, step: &mut Step<'_>, id: ProcessId) {
        let n_offers = self.n_offers;
        let Some(demand) = self.demands.get_mut(&id) else {
            return;
        };
        demand.tried = Some(n_offers);
        let turn = demand.turn_of(id);
        if demand.has_plan || demand.is_holding {
            let since = *demand.stalled.get_or_insert(step.now.mono);
            step.timers
                .set_by(Timer::Return(id), since + limits::STALLED_AFTER);
        }
        if demand.has_plan {
            self.queue.set_tried(turn);
        } else if demand.wants_absent || demand.is_beyond_limit {
            self.queue.set_aside(turn);
        } else if demand.is_limited {
            let owner = demand.class.owner.clone();
            self.bar(owner.as_deref());
        }
    }

    /// Sets a process aside that needs more slots than its owner may ever hold. Returns false where it does not.
    pub(super) fn set_beyond_aside(&mut self, step: &mut Step<'_>, id: ProcessId) -> bool {
        let beyond = step
            .cx
            .process(id)
            .and_then(|known| self.beyond_limit(known));
        let Some(demand) = self.demands.get_mut(&id) else {
            return false;
        };
        demand.is_beyond_limit = beyond.is_some();
        let Some(why) = beyond else {
            return false;
        };
        demand.wants_absent = false;
        demand.waiting_for = Some(why);
        demand.lacks = Lack::Nothing;
        self.misfits.remove(&id);
        self.note_tried(step, id);
        true
    }

    /// A process cannot be planned, since nothing is free.
    pub(super) fn note_without_machines(&mut self, id: ProcessId) {
        let any = self.offered().next().is_some();
        let is_answered = self.all_answering().next().is_some();
        if let Some(demand) = self.demands.get_mut(&id) {
            let why = match (any, is_answered) {
                (true, true) if demand.is_limited => "slots within the limit of its owner",
                (true, true) => "the machines are held by other processes",
                (true, false) => "an answer of the group manager",
                (false, _) => "a machine: none is known yet",
            };
            demand.wants_absent = false;
            demand.waiting_for = Some(why.to_owned());
            demand.lacks = match any && is_answered {
                true => Lack::Slots,
                false => Lack::Nothing,
            };
        }
        // Once these machines are free, the next plan shows if one of them fits.
        self.misfits.remove(&id);
    }

    /// Machines are offered that were not before: processes that one of them fits have not waited in vain
    /// so far, even if it is away again before they are tried.
    pub(super) fn end_misfits(&mut self, step: &Step<'_>) {
        let mut misfits = std::mem::take(&mut self.misfits);
        misfits.retain(|&id, misfit| {
            let known = step.cx.process(id);
            let declared = known.zip(misfit.activity);
            let declared = declared
                .and_then(|(known, activity)| known.definition().activity_as_written(activity));
            declared.is_none_or(|declared| !self.offered().any(|(_, one)| fits(one, declared)))
        });
        self.misfits = misfits;
    }

    /// There is no plan on the machines that were offered: the process waits for others, or faults where
    /// none that fits is known for long.
    pub(super) fn on_refusal(
        &mut self,
        step: &mut Step<'_>,
        id: ProcessId,
        (n_offers, is_whole): (u64, bool),
        refusal: &Refusal,
    ) {
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let wants_absent = self.is_absent(step, known, refusal);
        // Where others hold slots, or within a limit, a plan may have no machine that fits, though there is one.
        let fits_nowhere = self.fits_nowhere(known, refusal);
        let Some(demand) = self.demands.get_mut(&id) else {
            return;
        };
        demand.wants_absent = wants_absent;
        let is_whole = is_whole || fits_nowhere;
        // The refusal speaks of the slots that were free: what it says of the largest machine is not told.
        let needs = needs_in_words(known, refusal);
        demand.waiting_for = Some(match (demand.is_limited, refused(refusal).is_some()) {
            (true, _) => format!(
                "more slots than the limit of its owner leaves (`user-slots` in gm.toml): {needs}"
            ),
            (false, true) => format!("a machine that takes work and fits: {needs}"),
            (false, false) => format!("a plan: {needs}"),
        });
        demand.lacks = refused(refusal).map_or(Lack::Nothing, Lack::Fit);
        let is_first = known.state.plan.generation.0 == 0;
        self.set_stage(id, Stage::Wanting);
        if n_offers == self.n_offers {
            self.note_tried(step, id);
        }
        if !self.demands.contains_key(&id) {
            return;
        };
        // A process that has a plan waits for a machine that fits for as long as it takes. And a
        // machine that fits may only be held by others, so patience begins only when such a machine
        // is gone.
        let may_fault = is_first && is_whole && !wants_absent;
        if may_fault {
            let now = step.now.mono;
            let before = self.misfits.get(&id);
            let before = before.filter(|misfit| now.since(misfit.seen) <= limits::OFFER_FRESH);
            let since = before.map_or(now, |misfit| misfit.since);
            let misfit = Misfit {
                activity: refused(refusal),
                since,
                seen: now,
            };
            self.misfits.insert(id, misfit);
            let until = since + step.config.patience;
            // An offer that should have been followed by another may be out of date.
            let is_fresh = |link: &GroupLink| {
                !link.is_up || step.now.mono.since(link.offered) <= limits::OFFER_FRESH
            };
            if until <= step.now.mono && self.groups.values().all(is_fresh) {
                let Some(known) = step.cx.process(id) else {
                    return;
                };
                let fault = refusal_fault(known, refusal);
                self.misfits.remove(&id);
                self.set_stage(id, Stage::Settled);
                step.cx
                    .record(Stream::Process(id), Event::Faulted(Box::new(fault)));
                return step.marks.mark(id);
            }
            step.timers
                .set(Timer::Plan(id), until.max(step.now.mono + limits::REPEAT));
        } else {
            self.misfits.remove(&id);
        }
        step.marks.want_plans();
    }
}

/// The demands of the activity that was refused, or what is wrong otherwise.
fn needs_in_words(known: &Process, refusal: &Refusal) -> String {
    let activity = refused(refusal);
    let declared = activity.and_then(|id| known.definition().activity_as_written(id));
    match activity.zip(declared) {
        Some((id, declared)) => {
            let name = known.definition().name_of(id.node());
            format!("{name} needs {}", in_words(declared))
        }
        None => refusal.to_string(),
    }
}

/// The activity that no machine fits.
fn refused(refusal: &Refusal) -> Option<ActivityId> {
    match refusal {
        Refusal::NoResource { activity, .. } => Some(*activity),
        Refusal::Twice(_)
        | Refusal::Unknown(_)
        | Refusal::Graph(_)
        | Refusal::Problem(_)
        | Refusal::Controllers(_)
        | Refusal::TooLong(_)
        | Refusal::Invalid { .. } => None,
    }
}
