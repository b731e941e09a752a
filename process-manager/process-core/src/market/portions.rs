//! Rounds of a fixed number, or of an extent of their own: a machine is given its part of the plan in portions, is
//! judged at the end of each, and after one that took too long, what has not started there is planned again.
//! Algorithms 5 to 7 of Bittencourt and Madeira, for processes that want them ([`model::Policy::Rounds`] and
//! [`model::Policy::Adaptive`]).
//!
//! ```text
//!   planned on a machine, in order   a b c | d e f g | h ...
//!                                    given   waiting: held back until the round before is over
//! ```
//! [`schedule::rounds`] is the engine of the published experiments. Where it has a queue for each slot, a machine has
//! one for all of its slots here, since what is ready goes to whichever is free. Times are those of the plan in
//! force. What is ready is given ahead where a slot would idle else, so that no round waits for another for ever.

mod told;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use model::{ActivityId, Entry, Generation, Part, ProcessId, ResourceId, Span};
use schedule::less;
use schedule::rounds::{Policy, Sizing, THRESHOLD};

use super::{Demand, Market, Stage};
use crate::enact::works::gives_work;
use crate::limits;
use crate::process::Process;
use crate::process::index::has_ended;
use crate::step::Step;

/// The portions of the machines of one process.
#[derive(Debug, Default)]
pub(super) struct Portions {
    /// The plan that they were taken from, and its last entry that was looked at.
    generation: Generation,
    last: Option<ActivityId>,
    makespan: Span,
    /// The seconds that an activity of the first plan takes in the mean.
    mean: f64,
    /// False where nobody has estimated any activity, so that nothing could be judged.
    is_estimated: bool,
    /// True if something had ended or was out when they were begun, so that machines are in the middle of the plan.
    is_resumed: bool,
    machines: BTreeMap<ResourceId, Portion>,
    /// The part of its expected time by which a round may be late.
    threshold: f64,
    /// Machines whose last round took too long, with its number, and of which nobody has asked for a plan yet.
    losses: BTreeMap<ResourceId, u32>,
    /// The round and the extent of the last of them.
    slow: Option<(u32, f64)>,
}

/// The portion of a machine.
#[derive(Debug, Default)]
struct Portion {
    /// Activities that are planned there and held back, by their planned starts.
    waiting: VecDeque<(Span, ActivityId)>,
    /// Activities that may be sent, or were, and have not ended as far as is known, with their cores.
    given: BTreeMap<ActivityId, u32>,
    /// The cores of all of them.
    cores: u32,
    /// Activities that were given ahead of their round since it was looked at which of the given ones have ended.
    n_ahead: usize,
    /// The round that it is in, from 1; 0 before the first one.
    round: u32,
    /// True if its round is to be worked out from what waits: after a restart, nobody knows.
    is_to_catch_up: bool,
    /// False if the next round is to be opened.
    is_open: bool,
    /// True if that waits for a plan that is asked for because of this machine.
    awaits_plan: bool,
    /// The seconds of a round on each slot: the papers' ET.
    extent: f64,
    /// The seconds that activities which have ended in this round were expected to take, and took.
    expected: f64,
    real: f64,
}

/// The judgement of a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Judged {
    pub(super) resource: ResourceId,
    /// The expected over the real time.
    pub(super) performance: f64,
    /// True if it took longer than expected by more than its threshold.
    pub(super) is_loss: bool,
}

/// An activity that has completed on a machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    pub(super) resource: ResourceId,
    pub(super) activity: ActivityId,
    /// The seconds that it was expected to take, and took; none where nobody has estimated it.
    pub(super) times: Option<(f64, f64)>,
}

/// The sizes of the rounds that a rule has, with its reward where that is another than the paper's; none where it has
/// no such rounds.
fn sizing(rule: model::Policy, reward: Option<Part>) -> Option<Sizing> {
    match rule {
        model::Policy::Rounds(n) => Some(Policy::rounds(n).sizing),
        model::Policy::Adaptive => Some(match reward.map(Part::value) {
            Some(reward) => Sizing::Adaptive { reward },
            None => Policy::adaptive().sizing,
        }),
        model::Policy::Xavantes | model::Policy::Static => None,
    }
}

/// Returns true if a process holds slots of two machines or more.
pub(super) fn has_several_machines(known: &Process) -> bool {
    let mut held = known.grants().filter(|grant| grant.slots > 0);
    held.nth(1).is_some()
}

impl Market {
    /// The sizes of the rounds of a process; none where it has no such rounds.
    pub(super) fn sizing(&self, known: &Process) -> Option<Sizing> {
        let rule = self.rules.of(known);
        sizing(rule, self.rules.tuning_of(known).reward)
    }

    /// Opens the next rounds of the machines of a process, where it has rounds.
    pub(crate) fn open_rounds(&mut self, step: &mut Step<'_>, id: ProcessId) {
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let Some(sizing) = self.sizing(known) else {
            // It may have had some, if its group has another rule since.
            self.rounds.portions.remove(&id);
            return;
        };
        if known.state.plan.generation.0 == 0 || !has_several_machines(known) {
            self.rounds.portions.remove(&id);
            return;
        }
        let is_planned_again = self.is_planned_for_losses(id);
        let begun = || Portions::new(known);
        let threshold = self.rules.tuning_of(known).threshold;
        let portions = self.rounds.portions.entry(id).or_insert_with(begun);
        portions.threshold = threshold.map_or(THRESHOLD, Part::value);
        portions.follow(known, || gives_work(known, step.history));
        let places = known.index.ready.keys().flatten();
        let judged =
            places.filter_map(|&place| portions.feed(known, place, sizing, is_planned_again));
        let judged: Vec<Judged> = judged.collect();
        for one in judged {
            self.note_round(step, id, one);
        }
        self.ask_for_losses(step, id);
    }

    /// An activity has completed, in a process that may have rounds.
    pub(super) fn note_done(&mut self, step: &mut Step<'_>, id: ProcessId, done: Done) {
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let sizing = self.sizing(known);
        let portions = self.rounds.portions.get_mut(&id);
        let (Some(portions), Some(sizing)) = (portions, sizing) else {
            return;
        };
        if let Some(judged) = portions.done(known, sizing, done) {
            self.note_round(step, id, judged);
            self.ask_for_losses(step, id);
        }
    }

    /// Returns true if an activity waits for a later round of its machine.
    pub(crate) fn is_of_later_round(&self, known: &Process, activity: ActivityId) -> bool {
        let portions = self.rounds.portions.get(&known.id());
        portions.is_some_and(|portions| portions.holds_back(known, activity))
    }

    /// Wants a plan for the machines whose last rounds took too long.
    pub(super) fn ask_for_losses(&mut self, step: &mut Step<'_>, id: ProcessId) {
        let portions = self.rounds.portions.get(&id);
        let has_losses = portions.is_some_and(Portions::has_losses);
        let is_settled = |demand: &Demand| matches!(demand.stage, Stage::Settled);
        if has_losses && self.demands.get(&id).is_some_and(is_settled) {
            self.rounds.wanted.insert(id);
            step.marks.want_plans();
        }
    }

    /// No plan can be made for the machines whose last rounds took too long: their rounds go on.
    pub(super) fn drop_losses(&mut self, id: ProcessId) {
        if let Some(portions) = self.rounds.portions.get_mut(&id) {
            portions.take_losses();
        }
    }

    /// Returns true if a plan is wanted or made because of a machine.
    fn is_planned_for_losses(&self, id: ProcessId) -> bool {
        let is_made = |demand: &Demand| match demand.stage {
            Stage::Planning { .. } => demand.moves.is_some(),
            Stage::Retracting { .. } => true,
            Stage::Settled | Stage::Wanting | Stage::Claiming { .. } => false,
        };
        self.rounds.wanted.contains(&id) || self.demands.get(&id).is_some_and(is_made)
    }
}

impl Portions {
    fn new(known: &Process) -> Portions {
        Portions {
            is_resumed: known.totals().completed > 0 || known.n_out() > 0,
            ..Portions::default()
        }
    }

    /// Follows the plan in force. What was given stays given where it has the same machine.
    fn follow(&mut self, known: &Process, is_estimated: impl FnOnce() -> bool) {
        let plan = &known.state.plan;
        if self.generation != plan.generation {
            self.generation = plan.generation;
            self.last = None;
            self.makespan = Span::ZERO;
            self.is_estimated = is_estimated();
            for (&place, portion) in &mut self.machines {
                portion.waiting.clear();
                portion.forget_ended(known, place);
            }
        }
        // A loop adds the entries of its next iteration, with the next numbers.
        let seen = |entry: &Entry| Some(entry.activity) <= self.last;
        let more = &plan.entries[plan.entries.partition_point(seen)..];
        let Some(last) = more.last() else {
            return;
        };
        self.last = Some(last.activity);
        if self.mean == 0.0 {
            let seconds = more.iter().map(|entry| duration(entry).seconds());
            self.mean = seconds.sum::<f64>() / more.len() as f64;
        }
        let mut touched = BTreeSet::new();
        for entry in more {
            self.makespan = self.makespan.max(entry.finish);
            let state = known.activity(entry.activity);
            if has_ended(state.phase) {
                continue;
            }
            let is_to_catch_up = self.is_resumed;
            let begun = || Portion {
                is_to_catch_up,
                ..Portion::default()
            };
            let portion = self.machines.entry(entry.resource).or_insert_with(begun);
            if state.number > 0 {
                portion.give(known, entry.activity);
            } else if !portion.given.contains_key(&entry.activity) {
                portion.waiting.push_back((entry.start, entry.activity));
                touched.insert(entry.resource);
            }
        }
        for place in touched {
            let Some(portion) = self.machines.get_mut(&place) else {
                continue;
            };
            portion.waiting.make_contiguous().sort_unstable();
            portion.give_preceding(known);
            // Rule A11: it takes over the round of the machine that was slow.
            if let Some((round, extent)) = self.slow.filter(|_| portion.cores == 0) {
                portion.round = portion.round.max(round);
                if portion.extent == 0.0 {
                    portion.extent = extent;
                }
            }
        }
    }

    /// An activity has completed. Returns the judgement of the round that is over with it.
    fn done(&mut self, known: &Process, sizing: Sizing, done: Done) -> Option<Judged> {
        let Done {
            resource, activity, ..
        } = done;
        // Another attempt at it may have been given to another machine.
        let planned = known.state.plan.entry(activity).map(|entry| entry.resource);
        for place in planned.into_iter().chain([resource]) {
            if let Some(portion) = self.machines.get_mut(&place) {
                portion.take_back(activity);
            }
        }
        let portion = self.machines.get_mut(&resource)?;
        if let Some((expected, real)) = done.times {
            portion.expected += expected;
            portion.real += real;
        }
        self.end_round(known, resource, sizing)
    }

    /// Opens the next round of a machine where the one before is over, and gives what is ready there ahead of its
    /// round where a slot would idle else. While a plan is made because of it, it waits for that. Returns the
    /// judgement of the round that is over.
    fn feed(
        &mut self,
        known: &Process,
        resource: ResourceId,
        sizing: Sizing,
        is_planned_again: bool,
    ) -> Option<Judged> {
        if !self.is_estimated {
            return None;
        }
        let slots = known.granted(resource);
        let portion = self.machines.get_mut(&resource)?;
        portion.skip_begun(known);
        if portion.waiting.is_empty() {
            return None;
        }
        if std::mem::take(&mut portion.is_to_catch_up) {
            portion.catch_up(known, self.makespan, sizing);
        }
        let judged = self.end_round(known, resource, sizing);
        let (mean, makespan) = (self.mean, self.makespan);
        let portion = self.machines.get_mut(&resource)?;
        let is_loss = judged.is_some_and(|judged| judged.is_loss);
        if portion.awaits_plan && (is_planned_again || is_loss) {
            return judged;
        }
        portion.awaits_plan = false;
        if !portion.is_open {
            portion.is_open = true;
            portion.round = portion.round.saturating_add(1);
            match sizing {
                Sizing::Whole => {}
                Sizing::Parts(n) => {
                    portion.give_part(known, makespan, n, slots);
                }
                Sizing::Adaptive { .. } => {
                    if portion.extent == 0.0 {
                        portion.extent = mean;
                    }
                    portion.give_extent(known, slots);
                }
            }
        }
        portion.give_ahead(known, resource, slots);
        judged
    }

    /// Returns true if an activity that was never sent waits for a later round of its machine.
    fn holds_back(&self, known: &Process, activity: ActivityId) -> bool {
        let place = known.state.plan.entry(activity).map(|entry| entry.resource);
        let portion = place.and_then(|place| self.machines.get(&place));
        self.is_estimated
            && known.activity(activity).number == 0
            && portion.is_some_and(|portion| !portion.given.contains_key(&activity))
    }

    fn has_losses(&self) -> bool {
        !self.losses.is_empty()
    }

    /// The machines that were slow with their rounds, for which a plan is asked for now.
    pub(super) fn take_losses(&mut self) -> BTreeMap<ResourceId, u32> {
        std::mem::take(&mut self.losses)
    }

    /// Judges the round of a machine that is over.
    fn end_round(
        &mut self,
        known: &Process,
        resource: ResourceId,
        sizing: Sizing,
    ) -> Option<Judged> {
        let threshold = self.threshold;
        let portion = self.machines.get_mut(&resource)?;
        if !portion.is_open || !portion.is_over(sizing, known.granted(resource)) {
            return None;
        }
        let judged = portion.close(resource, sizing, threshold);
        if judged.is_loss {
            self.losses.insert(resource, portion.round);
            self.slow = Some((portion.round, portion.extent));
        }
        Some(judged)
    }
}

impl Portion {
    /// Returns true if so little is left of what was given that the next round is to be opened: the last activity but
    /// one of each slot has ended, or, where rounds have an extent of their own, a slot idles.
    fn is_over(&self, sizing: Sizing, slots: u32) -> bool {
        match sizing {
            Sizing::Whole => false,
            Sizing::Parts(_) => self.cores <= slots,
            Sizing::Adaptive { .. } => self.cores < slots,
        }
    }

    /// Judges the round, and works out the extent of the next one.
    fn close(&mut self, resource: ResourceId, sizing: Sizing, threshold: f64) -> Judged {
        let expected = std::mem::take(&mut self.expected);
        let real = std::mem::take(&mut self.real);
        let performance = if real > 0.0 { expected / real } else { 1.0 };
        if let Sizing::Adaptive { reward } = sizing {
            let grown = (performance + 1e-9).floor() * reward * expected;
            self.extent = self.extent * performance + grown;
        }
        let is_loss = less((1.0 + threshold) * expected, real);
        self.is_open = false;
        self.awaits_plan = is_loss;
        Judged {
            resource,
            performance,
            is_loss,
        }
    }

    /// Takes the place in the plan that the first activity which waits shows: it is in the round before that one's.
    fn catch_up(&mut self, known: &Process, makespan: Span, sizing: Sizing) {
        self.is_open = true;
        let (Sizing::Parts(n), Some(entry)) = (sizing, self.first(known)) else {
            return;
        };
        let parts = u128::from(entry.finish.0) * u128::from(n);
        let round = parts.div_ceil(u128::from(makespan.0.max(1)));
        let round = u32::try_from(round).unwrap_or(n).clamp(1, n);
        self.round = self.round.max(round - 1);
    }

    /// Gives what is planned to end within this part of the makespan, with all that is planned before it: Algorithm
    /// 5's N. Each slot gets two activities at least, as a round of one would leave it idle while it is judged.
    fn give_part(&mut self, known: &Process, makespan: Span, n: u32, slots: u32) {
        let round = u128::from(self.round.min(n));
        let until = u128::from(makespan.0) * round;
        let is_within = |at: Span| u128::from(at.0) * u128::from(n) <= until;
        let mut count = 0;
        for (place, &(start, activity)) in self.waiting.iter().enumerate() {
            if !is_within(start) {
                break;
            }
            let entry = known.state.plan.entry(activity);
            if entry.is_some_and(|entry| is_within(entry.finish)) {
                count = place + 1;
            }
        }
        for _ in 0..count {
            self.give_first(known);
        }
        while self.cores < slots.saturating_mul(2) && self.give_first(known) {}
    }

    /// Gives as many activities as come to the extent of a round on each idle slot, and at least one for each of these:
    /// Algorithm 7's M.
    fn give_extent(&mut self, known: &Process, slots: u32) {
        let n_idle = slots.saturating_sub(self.cores).max(1);
        let extent = self.extent * f64::from(n_idle);
        let mut sum = 0.0;
        while let Some(entry) = self.first(known) {
            sum += duration(&entry).seconds();
            if less(extent, sum) && self.cores >= slots {
                return;
            }
            self.give_first(known);
        }
    }

    /// Gives what is planned before an activity that was given and not sent, so that this does not wait for it.
    fn give_preceding(&mut self, known: &Process) {
        let unsent = self.given.keys();
        let unsent = unsent.filter(|&&activity| known.activity(activity).number == 0);
        let starts = unsent.filter_map(|&activity| known.state.plan.entry(activity));
        let Some(last) = starts.map(|entry| entry.start).max() else {
            return;
        };
        while self.waiting.front().is_some_and(|&(start, _)| start < last) {
            self.give_first(known);
        }
    }

    /// Gives activities that are ready as far as slots would idle else: what was given before waits for other machines.
    fn give_ahead(&mut self, known: &Process, place: ResourceId, slots: u32) {
        let out = known.all_cores(known.out_at(place));
        let mut n_idle = slots.saturating_sub(out);
        let Some(ready) = known.index.ready.get(&Some(place)).filter(|_| n_idle > 0) else {
            return;
        };
        let mut held_back = Vec::new();
        let first = ready.in_turn(|_| true, |_| true);
        for activity in first.take(limits::LATER_PASSED_MAX) {
            let may_go = known.activity(activity).number > 0 || self.given.contains_key(&activity);
            if may_go {
                n_idle = n_idle.saturating_sub(cores(known, activity));
            } else {
                held_back.push(activity);
            }
        }
        for activity in held_back {
            if n_idle == 0 {
                break;
            }
            n_idle = n_idle.saturating_sub(cores(known, activity));
            self.give(known, activity);
            self.n_ahead += 1;
        }
        // Some may have been skipped, or had their outcomes recalled.
        if self.n_ahead > self.given.len() / 4 {
            self.forget_ended(known, place);
        }
    }

    fn first(&self, known: &Process) -> Option<Entry> {
        let &(_, activity) = self.waiting.front()?;
        known.state.plan.entry(activity).copied()
    }

    /// Gives the first activity that waits. Returns false if there is none.
    fn give_first(&mut self, known: &Process) -> bool {
        let first = self.waiting.pop_front();
        if let Some((_, activity)) = first {
            self.give(known, activity);
        }
        self.skip_begun(known);
        first.is_some()
    }

    fn give(&mut self, known: &Process, activity: ActivityId) {
        let cores = cores(known, activity);
        if self.given.insert(activity, cores).is_none() {
            self.cores = self.cores.saturating_add(cores);
        }
    }

    fn take_back(&mut self, activity: ActivityId) {
        if let Some(cores) = self.given.remove(&activity) {
            self.cores -= cores;
        }
    }

    /// Passes over activities that were given ahead of their round, or have ended without being sent.
    fn skip_begun(&mut self, known: &Process) {
        while let Some(&(_, activity)) = self.waiting.front() {
            let state = known.activity(activity);
            let waits = state.number == 0 && !has_ended(state.phase);
            if waits && !self.given.contains_key(&activity) {
                return;
            }
            self.waiting.pop_front();
        }
    }

    /// Forgets what has ended or has another machine.
    fn forget_ended(&mut self, known: &Process, place: ResourceId) {
        let plan = &known.state.plan;
        self.given.retain(|&activity, _| {
            let entry = plan.entry(activity);
            let is_here = entry.is_some_and(|entry| entry.resource == place);
            is_here && !has_ended(known.activity(activity).phase)
        });
        self.cores = self
            .given
            .values()
            .fold(0, |sum, &one| sum.saturating_add(one));
        self.n_ahead = 0;
    }
}

fn duration(entry: &Entry) -> Span {
    entry.finish.saturating_sub(entry.start)
}

fn cores(known: &Process, activity: ActivityId) -> u32 {
    let declared = known.definition().activity_as_written(activity);
    declared.map_or(1, |declared| declared.cores)
}
