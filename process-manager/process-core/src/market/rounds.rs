//! Rounds: machines are judged by the time that activities took there, as soon as one ends or runs longer than
//! expected. Where they are not as fast beside each other as the plan in force counts on, what has not started
//! is planned again ([`super::moving`]).
//!
//! ```text
//!   an attempt ended, or is overdue --> shown power of its machine --> as planned? --yes--> nothing
//!                                                                          | no
//!                                     [`Market::reschedule`] asks for a plan
//! ```
//! [`schedule::rounds`] is the engine of the published experiments, with a fixed graph and fixed machines. A
//! process that grows, and machines that come and go, have the market's own plans; what the two share is what
//! a machine has shown ([`Shown`]) and the policy's figures.
//!
//! Nothing is judged that nobody has estimated, and all of it is volatile: a restart begins again with the
//! nominal powers. Only where the machines of a process are two or more is anything noted.

mod evidence;
mod watched;

use std::collections::{BTreeMap, BTreeSet};

use history::Store;
use model::{ActivityId, AttemptId, Mono, NodeId, Policy, ProcessId, ResourceId, Span};
use schedule::rounds::{Shown, THRESHOLD, mean_factor, variances_ratio};
use wire::attempt::{End, Fetched, Outcome, Started};

use super::Market;
use super::chance::Chance;
use super::portions::{Done, Judged, Portions, has_several_machines};
use super::races::Late;
use crate::enact::works::{estimated, knows_work};
use crate::limits;
use crate::machines::Machines;
use crate::process::Process;
use crate::record::{Cause, Phase};
use crate::step::Step;
use crate::tally::Noted;
use crate::timer::Timer;
use evidence::Evidence;

/// Mean activities that a machine is given in advance, as if it had run them as all machines together run
/// theirs: [`schedule::rounds::Policy::xavantes`], and docs/rounds.md for what it is worth.
const MEAN_WEIGHTS: f64 = 3.0;

/// Mean activities on each slot that the evidence about a machine counts for at most: what it has shown before
/// says nothing of a load that came since. With fewer, each activity that takes longer by chance would tell.
const MEMORY: f64 = 4.0;

/// The part by which a machine has to differ from what was planned for another plan: half of [`THRESHOLD`], since
/// it has to differ by more than chance as well.
const CHANGED: f64 = THRESHOLD / 2.0;

/// Standard errors by which it has to differ.
const ERRORS: f64 = 2.5;

/// The standard error of a performance for which more activities are remembered, as long as their nominal times
/// on each slot come to less than [`MEMORY_SECONDS`]: of four activities of a millisecond, each may take half as
/// long or twice as long by chance.
const ERROR_WANTED: f64 = CHANGED / ERRORS;

/// The most seconds on each slot that are remembered for that reason.
const MEMORY_SECONDS: f64 = 1.0;

/// The bounds of a power beside the nominal one, so that no planned time is out of reach.
const FACTOR_LEAST: f64 = 1e-3;
const FACTOR_MOST: f64 = 1e3;

/// The judgements of machines, by process.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    courses: BTreeMap<ProcessId, Course>,
    /// Of processes whose machines are sent their parts of the plan in rounds.
    pub(super) portions: BTreeMap<ProcessId, Portions>,
    /// Processes whose machines are not as the plan in force counts on.
    pub(super) wanted: BTreeSet<ProcessId>,
    /// True if the last plan was asked for by one of them: the next one is another's, if any waits.
    pub(super) had_turn: bool,
}

impl Rounds {
    /// The factors of the machines of a process that have shown enough for others to count on them: some activities
    /// have ended there, and their times vary little by chance.
    pub(super) fn sure_factors(&self, id: ProcessId) -> Vec<(ResourceId, f64)> {
        let course = self.courses.get(&id);
        let factors = course.into_iter().flat_map(|course| {
            let is_sure = |resource: &ResourceId| {
                let shown = course.shown.get(resource);
                shown.is_some_and(|shown| {
                    let n = shown.n_tasks();
                    n >= limits::SHOWN_TASKS_LEAST
                        && course.chance.error(n) <= limits::SHOWN_ERROR_MAX
                })
            };
            let sure = course.factors.iter();
            sure.filter(move |(resource, _)| is_sure(resource))
        });
        factors
            .map(|(&resource, &factor)| (resource, factor))
            .collect()
    }
}

/// The machines of one process.
#[derive(Debug)]
struct Course {
    evidence: Evidence,
    /// The sum of it for each machine, as of the last look.
    shown: BTreeMap<ResourceId, Shown>,
    /// The powers that this was taken to mean at the last look: the factor of each machine, and that of all others.
    factors: BTreeMap<ResourceId, f64>,
    mean: f64,
    chance: Chance,
    /// The powers beside each other that the last plan was asked for with: the factor of each machine over
    /// the mean of all.
    planned: BTreeMap<ResourceId, f64>,
    /// By activity and number.
    running: BTreeMap<(ActivityId, u32), Running>,
    /// The seconds of nominal time of the activities judged so far, and their number.
    nominal: f64,
    n: u32,
    /// The next look at what is shown, and the next question.
    look_from: Mono,
    ask_from: Mono,
    /// Plans in a row that did not pay.
    n_declined: u32,
    /// True if an attempt takes so long that it would be raced if a slot idled.
    lacks_room: bool,
}

/// An attempt that runs.
#[derive(Debug)]
struct Running {
    resource: ResourceId,
    since: Mono,
    /// The kind of its activity, of which others have been or will be; none of an activity outside of bodies.
    kind: Option<NodeId>,
    /// True if nobody has measured any of that kind before this process.
    is_guessed: bool,
    /// The seconds that it is said to take at the nominal power of its machine.
    said: f64,
    /// The same as others of its kind have shown, and at the power that the machine was known to have.
    nominal: f64,
    expected: f64,
    /// The moment at which it is judged if it still runs.
    due: Mono,
    /// The claims for slots to race it on, and the moment from which on there may be another one.
    n_claims: u32,
    claim_from: Mono,
}

/// A machine that is not as planned: its power beside the nominal one, or the speed of its links beside what was
/// planned with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slow {
    pub(super) resource: ResourceId,
    pub(super) factor: f64,
    /// The same, as the plan counts on it.
    pub(super) expected: f64,
    pub(super) cause: Cause,
    /// True if it is slower than planned, and not faster.
    pub(super) is_slower: bool,
    /// The round at whose end it was judged, where it has rounds.
    pub(super) round: Option<u32>,
}

impl Default for Course {
    fn default() -> Course {
        Course {
            evidence: Evidence::default(),
            shown: BTreeMap::new(),
            factors: BTreeMap::new(),
            mean: 1.0,
            chance: Chance::default(),
            planned: BTreeMap::new(),
            running: BTreeMap::new(),
            nominal: 0.0,
            n: 0,
            look_from: Mono(0),
            ask_from: Mono(0),
            n_declined: 0,
            lacks_room: false,
        }
    }
}

impl Course {
    /// The seconds of nominal time that a machine is given in advance.
    fn weight(&self) -> f64 {
        let mean = self.nominal / f64::from(self.n.max(1));
        MEAN_WEIGHTS * variances_ratio(self.shown.values()) * mean
    }

    /// Takes what machines have shown to be their powers.
    fn learn(&mut self) {
        self.evidence.tell(&mut self.shown);
        let weight = self.weight();
        let mean = mean_factor(self.shown.values(), weight);
        let factor = |shown: &Shown| shown.factor(mean, weight).clamp(FACTOR_LEAST, FACTOR_MOST);
        let shown = self.shown.iter();
        let factors = shown.map(|(&resource, shown)| (resource, factor(shown)));
        self.factors = factors.collect();
        self.mean = mean.clamp(FACTOR_LEAST, FACTOR_MOST);
    }

    /// The seconds of nominal time on each slot that a machine's evidence counts for at most, after an activity of
    /// so many.
    fn memory(&self, nominal: f64) -> f64 {
        let mean = self.nominal / f64::from(self.n.max(1));
        let n_wanted = self.chance.variance() / (ERROR_WANTED * ERROR_WANTED);
        (MEMORY * mean.max(nominal)).max(MEMORY_SECONDS.min(n_wanted * mean))
    }

    fn factor(&self, resource: ResourceId) -> f64 {
        self.factors.get(&resource).copied().unwrap_or(self.mean)
    }

    /// The machines that are faster or slower beside the others than planned, by more than chance explains.
    fn changed(&self) -> impl Iterator<Item = ResourceId> {
        let changed = self.factors.iter().filter(|&(resource, factor)| {
            let planned = self.planned.get(resource).copied().unwrap_or(1.0);
            let ratio = factor / self.mean / planned;
            let differs = |shown: &Shown| match shown.has_overdue() {
                true => ratio < 1.0,
                false => ratio.ln().abs() > ERRORS * self.chance.error(shown.n_tasks()),
            };
            !(1.0 / (1.0 + CHANGED)..=1.0 + CHANGED).contains(&ratio)
                && self.shown.get(resource).is_some_and(differs)
        });
        changed.map(|(&resource, _)| resource)
    }

    /// An activity has ended on a machine with so many slots, that was said to take so many seconds and took so many.
    fn ended(
        &mut self,
        (resource, kind): (ResourceId, Option<NodeId>),
        (said, real): (f64, f64),
        slots: f64,
    ) {
        let weight = self.weight();
        self.evidence
            .ended((resource, kind), (said, real), self.mean, weight);
        let nominal = said * self.evidence.scale(kind);
        self.count(nominal);
        self.chance.ended(resource, nominal / real);
        let memory = slots * self.memory(nominal);
        self.evidence.forget_beyond(resource, memory);
        self.shown.entry(resource).or_default().end_overdue();
    }

    /// An activity of so many seconds of nominal time is judged.
    fn count(&mut self, nominal: f64) {
        self.nominal += nominal;
        self.n = self.n.saturating_add(1);
    }
}

impl Market {
    /// Attempts have started, and are judged if they run longer than expected.
    pub(crate) fn watch_started(
        &mut self,
        step: &mut Step<'_>,
        resource: ResourceId,
        started: &[Started],
    ) {
        for one in started {
            let id = one.attempt.process;
            let Some(known) = step
                .cx
                .process(id)
                .filter(|known| known.is_out(one.attempt) && !known.has_lost(one.attempt))
            else {
                continue;
            };
            let activity = one.attempt.activity;
            if !self.is_judged(known) && !self.is_watched(known, activity) {
                continue;
            }
            self.keep_shown_part(id, resource);
            let Some(said) = self.nominal(known, step.history, activity, resource) else {
                continue;
            };
            let has_rounds = self.sizing(known).is_some();
            let kind = kind_of(known, activity).filter(|_| !has_rounds);
            let declared = known.definition().activity_as_written(activity);
            let course = self.rounds.courses.entry(id).or_default();
            let nominal = said * course.evidence.scale(kind);
            let expected = nominal / course.factor(resource);
            let due = step.now.mono + overdue_after(expected);
            let running = Running {
                resource,
                since: step.now.mono,
                kind,
                is_guessed: declared.is_some_and(|one| one.work.is_some()),
                said,
                nominal,
                expected,
                due,
                n_claims: 0,
                claim_from: Mono(0),
            };
            // A machine that is connected anew tells it once more.
            let attempt = (activity, one.attempt.number);
            course.running.entry(attempt).or_insert(running);
            if !has_rounds {
                step.timers.set_by(Timer::Judge(id), due);
            }
        }
    }

    /// Judges a machine by what has ended there, before it is recorded or remembered.
    pub(crate) fn judge(
        &mut self,
        step: &mut Step<'_>,
        resource: ResourceId,
        outcomes: &[Outcome],
    ) {
        let mut judged = BTreeSet::new();
        for outcome in outcomes {
            let (id, activity) = (outcome.attempt.process, outcome.attempt.activity);
            let Some(known) = step
                .cx
                .process(id)
                .filter(|one| one.is_out(outcome.attempt) && !one.has_lost(outcome.attempt))
            else {
                continue;
            };
            if !self.is_judged(known) {
                if let Some(course) = self.rounds.courses.get_mut(&id) {
                    course.running.remove(&(activity, outcome.attempt.number));
                }
                continue;
            }
            let slots = f64::from(known.granted(resource).max(1));
            let ran = self.rounds.courses.get_mut(&id);
            let attempt = (activity, outcome.attempt.number);
            let ran = ran.and_then(|course| course.running.remove(&attempt));
            if outcome.end != End::Completed {
                continue;
            }
            let real = outcome.wall.seconds();
            let has_rounds = self.sizing(known).is_some();
            let mut done = Done {
                resource,
                activity,
                times: None,
            };
            let (said, expected) = ran.map(|ran| (ran.said, ran.expected)).unzip();
            self.keep_shown_part(id, resource);
            let said = said.or_else(|| self.nominal(known, step.history, activity, resource));
            let Some(said) = said.filter(|_| outcome.wall > Span::ZERO) else {
                self.note_done(step, id, done);
                continue;
            };
            let course = self.rounds.courses.entry(id).or_default();
            let kind = kind_of(known, activity).filter(|_| !has_rounds);
            let expected = expected.unwrap_or(said / course.factor(resource));
            done.times = Some((expected, real));
            course.ended((resource, kind), (said, real), slots);
            match has_rounds {
                true => self.note_done(step, id, done),
                false => {
                    judged.insert(id);
                }
            }
        }
        for id in judged {
            self.look(step, id);
        }
        self.look_for_room(step, outcomes);
    }

    /// Judges machines whose activities run longer than expected. Returns the activities that are to be started once
    /// more, since they may run twice, and where.
    pub(crate) fn judge_overdue(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        id: ProcessId,
    ) -> Vec<(ActivityId, ResourceId)> {
        self.end_moves(step, id);
        if step
            .cx
            .process(id)
            .is_some_and(|known| self.sizing(known).is_some())
        {
            self.ask_for_losses(step, id);
            return Vec::new();
        }
        let is_out = |activity: ActivityId, number: u32| {
            let known = step.cx.process(id);
            known.is_some_and(|known| {
                let attempt = AttemptId {
                    process: id,
                    activity,
                    number,
                };
                let is_watched = self.is_judged(known) || self.is_watched(known, activity);
                is_watched && known.is_out(attempt) && !known.has_lost(attempt)
            })
        };
        let running = self.rounds.courses.get(&id).map(|course| &course.running);
        let attempts = running.into_iter().flat_map(BTreeMap::keys);
        let ended = attempts.filter(|&&(activity, number)| !is_out(activity, number));
        let ended: Vec<(ActivityId, u32)> = ended.copied().collect();
        let Some(course) = self.rounds.courses.get_mut(&id) else {
            return Vec::new();
        };
        for attempt in &ended {
            course.running.remove(attempt);
        }
        let known = step.cx.process(id);
        let is_judged = known.is_some_and(|known| is_judged(known, self.rules.of(known)));
        let mut overdue: BTreeMap<ResourceId, (f64, f64)> = BTreeMap::new();
        let mut late = Vec::new();
        for (&(activity, number), running) in &mut course.running {
            if running.due > step.now.mono {
                continue;
            }
            let elapsed = step.now.mono.since(running.since);
            if running.is_judged(&course.evidence, elapsed) {
                let (nominal, real) = overdue.entry(running.resource).or_default();
                *nominal += running.nominal;
                *real += elapsed.seconds();
            }
            // The next look is worth it when it has taken twice as long.
            running.due = running.since + elapsed + elapsed;
            let overdue_at = running.since + overdue_after(running.expected);
            if overdue_at > step.now.mono {
                running.due = running.due.min(overdue_at);
            }
            late.push(Late {
                activity,
                number,
                elapsed,
            });
        }
        for (resource, (nominal, elapsed)) in overdue.into_iter().filter(|_| is_judged) {
            // One that has never ended there is all that the mean weight rests on.
            if course.n == 0 {
                course.count(nominal);
            }
            let weight = course.weight();
            let shown = course.shown.entry(resource).or_default();
            shown.overdue(nominal, elapsed, weight);
        }
        if let Some(next) = course.running.values().map(|running| running.due).min() {
            // Many may be overdue one after another.
            let next = next.max(step.now.mono + limits::JUDGE_EACH);
            step.timers.set_by(Timer::Judge(id), next);
        }
        if is_judged {
            self.look(step, id);
        } else if !late.is_empty() {
            step.cx.note(Noted::Judged);
        }
        self.races(step, machines, id, &late)
    }

    /// Files went from machine to machine.
    pub(crate) fn note_ways(&mut self, now: Mono, receiver: ResourceId, fetched: &[Fetched]) {
        for one in fetched {
            self.ways.note(now, receiver, one);
        }
    }

    /// Looks whether links are as fast as the plan of a process counts on.
    pub(crate) fn look_at_ways(&mut self, step: &mut Step<'_>, id: ProcessId) {
        let known = step.cx.process(id);
        let Some(known) =
            known.filter(|known| self.is_judged(known) && self.sizing(known).is_none())
        else {
            return;
        };
        if self.changed_way(step, known).is_some() {
            self.rounds.courses.entry(id).or_default();
            self.look(step, id);
        }
    }

    /// The machine whose links are slower or faster than the plan of a process counts on. None where activities
    /// have no works, beside which transfers could be weighed.
    pub(super) fn changed_way(&self, step: &Step<'_>, known: &Process) -> Option<Slow> {
        let demand = self.demands.get(&known.id())?;
        let (resource, factor) = self.ways.changed(&demand.ways)?;
        let cause = Cause::Link;
        knows_work(known, step.history).then_some(Slow {
            resource,
            factor,
            expected: 1.0,
            cause,
            is_slower: factor < 1.0,
            round: None,
        })
    }

    /// Looks whether the machines of a process are as its plan counts on.
    fn look(&mut self, step: &mut Step<'_>, id: ProcessId) {
        let now = step.now.mono;
        let Some(course) = self.rounds.courses.get_mut(&id) else {
            return;
        };
        if course.look_from > now {
            return step.timers.set_by(Timer::Judge(id), course.look_from);
        }
        course.look_from = now + limits::JUDGE_EACH;
        course.learn();
        step.cx.note(Noted::Judged);
        self.note_shown(step, id);
        let Some(course) = self.rounds.courses.get_mut(&id) else {
            return;
        };
        let (is_slow, ask_from) = (course.changed().next().is_some(), course.ask_from);
        let known = step.cx.process(id);
        let has_way = || known.is_some_and(|known| self.changed_way(step, known).is_some());
        if !is_slow && !has_way() {
            self.rounds.wanted.remove(&id);
        } else if ask_from > now {
            step.timers.set_by(Timer::Judge(id), ask_from);
        } else {
            self.rounds.wanted.insert(id);
            step.marks.want_plans();
        }
    }

    /// A plan is asked for with the powers and links that are known now. Returns the machine that is furthest from
    /// what was planned, and all slow ones; none where all are as planned.
    pub(super) fn note_asked(
        &mut self,
        step: &Step<'_>,
        known: &Process,
    ) -> Option<(Slow, BTreeSet<ResourceId>)> {
        let now = step.now.mono;
        let way = self.changed_way(step, known);
        let machines = known.grants().map(|grant| grant.resource);
        let slow_ways: BTreeSet<ResourceId> = self.ways.slow(machines).collect();
        let course = self.rounds.courses.get_mut(&known.id())?;
        let changed: BTreeSet<ResourceId> = course.changed().collect();
        let mean = course.mean;
        let deviation = |factor: &f64| (factor / mean).ln().abs();
        let furthest = course
            .factors
            .iter()
            .filter(|(one, _)| changed.contains(one));
        let furthest =
            furthest.max_by(|one, other| deviation(one.1).total_cmp(&deviation(other.1)));
        let furthest = furthest.map(|(&resource, &factor)| {
            let expected = mean * course.planned.get(&resource).copied().unwrap_or(1.0);
            Slow {
                resource,
                factor,
                expected,
                cause: Cause::Power,
                is_slower: factor < expected,
                round: None,
            }
        });
        let furthest = furthest.or(way)?;
        let slow = course.factors.iter();
        let slow = slow.filter(|(_, factor)| **factor < mean / (1.0 + THRESHOLD));
        let slow = slow.map(|(&resource, _)| resource);
        let own = furthest.is_slower.then_some(furthest.resource);
        let slow = slow.chain(slow_ways).chain(own).collect();
        let planned = course.factors.iter();
        course.planned = planned.map(|(&one, factor)| (one, factor / mean)).collect();
        let n_activities = known.definition().activities().len() as u64;
        let each = limits::MOVE_EACH_ACTIVITY.0.saturating_mul(n_activities);
        let wait = limits::MOVE_EACH.0.max(each);
        course.ask_from = now + Span(wait.saturating_mul(1 << course.n_declined.min(6)));
        Some((furthest, slow))
    }

    /// A machine is judged at the end of its round: one that took longer than expected has lost as much of its power.
    pub(super) fn note_round(&mut self, step: &mut Step<'_>, id: ProcessId, judged: Judged) {
        let course = self.rounds.courses.entry(id).or_default();
        let factor = course.factors.entry(judged.resource).or_insert(1.0);
        if judged.is_loss {
            *factor = (*factor * judged.performance).clamp(FACTOR_LEAST, FACTOR_MOST);
        }
        step.cx.note(Noted::Judged);
        self.note_shown(step, id);
    }

    /// The machines whose last rounds took too long and the slowest of them, for which a plan is asked for now.
    pub(super) fn take_losses(&mut self, id: ProcessId) -> Option<(Slow, BTreeSet<ResourceId>)> {
        let rounds = self.rounds.portions.get_mut(&id)?.take_losses();
        let slow: BTreeSet<ResourceId> = rounds.keys().copied().collect();
        let factors = slow.iter().map(|&one| (one, self.factor(id, one)));
        let slowest = factors.min_by(|one, other| one.1.total_cmp(&other.1));
        let (resource, factor) = slowest?;
        let course = self.rounds.courses.entry(id).or_default();
        let expected = course.planned.get(&resource).copied().unwrap_or(1.0);
        for &one in &slow {
            let factor = course.factor(one);
            course.planned.insert(one, factor);
        }
        let why = Slow {
            resource,
            factor,
            expected,
            cause: Cause::Power,
            is_slower: true,
            round: rounds.get(&resource).copied(),
        };
        Some((why, slow))
    }

    /// The plan that was asked for is kept, or does not pay: after each that does not, the next question waits
    /// twice as long.
    pub(super) fn note_answered(&mut self, id: ProcessId, pays: bool) {
        if let Some(course) = self.rounds.courses.get_mut(&id) {
            course.n_declined = if pays {
                0
            } else {
                course.n_declined.saturating_add(1)
            };
        }
    }

    /// The seconds that an attempt was expected to take on its machine when it began; none where nobody has
    /// estimated it.
    pub(super) fn expected_seconds(
        &self,
        step: &Step<'_>,
        known: &Process,
        attempt: AttemptId,
        resource: ResourceId,
    ) -> Option<f64> {
        let id = known.id();
        let course = self.rounds.courses.get(&id);
        let key = (attempt.activity, attempt.number);
        if let Some(running) = course.and_then(|course| course.running.get(&key)) {
            return Some(running.expected);
        }
        let nominal = self.nominal(known, step.history, attempt.activity, resource)?;
        Some(nominal / self.factor(id, resource))
    }

    /// The power of a machine beside its nominal one, as the activities of a process have shown it.
    pub(super) fn factor(&self, id: ProcessId, resource: ResourceId) -> f64 {
        let course = self.rounds.courses.get(&id);
        course.map_or(1.0, |course| course.factor(resource))
    }

    /// A process judges nothing any more.
    pub(super) fn forget_course(&mut self, step: &mut Step<'_>, id: ProcessId) {
        if self.rounds.courses.remove(&id).is_some() {
            step.timers.cancel(Timer::Judge(id));
        }
        self.rounds.portions.remove(&id);
        self.rounds.wanted.remove(&id);
    }

    /// The seconds that an activity takes at the nominal power of a machine; none where nobody has estimated it.
    fn nominal(
        &self,
        known: &Process,
        history: &Store,
        activity: ActivityId,
        resource: ResourceId,
    ) -> Option<f64> {
        let power = self.power_for(known.id(), resource)?;
        let work = estimated(known, history, activity)?.reference_seconds();
        (work > 0.0 && power > 0.0).then_some(work / power)
    }

    /// Returns true if the machines of a process are judged.
    fn is_judged(&self, known: &Process) -> bool {
        is_judged(known, self.rules.of(known))
    }
}

/// The kind of an activity in a body.
fn kind_of(known: &Process, activity: ActivityId) -> Option<NodeId> {
    let (definition, node) = (known.definition(), activity.node());
    let is_in_body = definition.enclosing(node).next().is_some();
    is_in_body.then(|| definition.origin(node))
}

/// The time after which an attempt is overdue that is expected to take so many seconds.
pub(super) fn overdue_after(expected: f64) -> Span {
    let late = Span::from_seconds_up(THRESHOLD * expected).max(limits::LATE_LEAST);
    Span::from_seconds_up(expected) + late
}

/// Returns true if the machines of a process with this rule are judged: it runs, its rule wants that, and it has several.
fn is_judged(known: &Process, rule: Policy) -> bool {
    rule != Policy::Static && known.phase() == Phase::Running && has_several_machines(known)
}
