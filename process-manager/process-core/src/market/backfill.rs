//! Backfill: while the first process waits for slots that fit it, later ones use those that are free, if
//! that does not delay it (D. A. Lifka, "The ANL/IBM SP scheduling system", 1995: EASY).
//!
//! ```text
//!   slots   held by others, until their plans end ........| first process
//!           free: a later process, if it ends before here |
//!           free, where it is not expected to begin: whatever comes next
//! ```
//! The first process is expected to begin as soon as each of its activities fits somewhere, on the machine
//! where that is first. What runs for longer than planned, what nobody has estimated and what other process
//! managers hold may end at any moment: before that nothing is let past, there or where the first process
//! is expected to begin. A process that was let past and is not over in time delays the
//! first one, and nothing more is let past until it is over.

use std::collections::{BTreeMap, BTreeSet};

use history::Store;
use model::limits::CORES_MAX;
use model::{Activity, Mono, ProcessId, Resource, ResourceId, Span};
use wire::group::Offered;

use super::lacking::Lack;
use super::limit::{fits, needs};
use super::planning::resource;
use super::{Market, Stage};
use crate::enact::busy::Running;
use crate::enact::works::{Works, knows_work};
use crate::limits;
use crate::machines::Machines;
use crate::process::Process;
use crate::record::Phase;
use crate::step::Step;

/// Processes that were let past others.
#[derive(Debug, Default)]
pub(super) struct Backfill {
    /// When each of them should be over.
    until: BTreeMap<ProcessId, Mono>,
    /// The number of offers at which no other was found to let past.
    done: Option<u64>,
}

impl Backfill {
    /// Processes may be let past that were not there before.
    pub(super) fn retry(&mut self) {
        self.done = None;
    }
}

/// A process to be let past the first one.
struct Chosen {
    id: ProcessId,
    resources: Vec<Resource>,
    is_limited: bool,
    /// When it must be over; none where the first process is not expected to begin on its machines.
    until: Option<Mono>,
}

/// The begin of the first process, as far as it can be expected.
pub(super) struct Shadow {
    /// The time after which it is expected to begin; none where it may begin on machines of which nothing is
    /// known.
    pub(super) expected: Option<Span>,
    /// The time after which it may begin at the earliest.
    begins: Span,
    /// The machines that it may begin on: by estimates, that where it is first, those where it may be
    /// earlier than there if all goes well, and those of which nothing is known. What others use elsewhere
    /// does not delay it.
    pub(super) places: BTreeSet<ResourceId>,
}

impl Shadow {
    /// Adds an activity that fits these machines, from these times on.
    fn waits_for(&mut self, free: &[(ResourceId, FreeAt)]) {
        let earliest = free.iter().map(|(_, at)| at.earliest).min();
        // A machine that fits may come at any moment.
        self.begins = self.begins.max(earliest.unwrap_or_default());
        let by_estimates = free
            .iter()
            .filter_map(|&(one, at)| Some((at.expected?, one)))
            .min();
        let is_known = free.iter().all(|(_, at)| at.expected.is_some());
        let expected = by_estimates.map(|(expected, _)| expected);
        let both = self.expected.zip(expected.filter(|_| is_known));
        self.expected = both.map(|(before, expected)| before.max(expected));
        let may_begin_at = |one: ResourceId, at: FreeAt| {
            at.expected.is_none()
                || by_estimates
                    .is_some_and(|(expected, first)| one == first || at.earliest < expected)
        };
        let places = free.iter().filter(|&&(one, at)| may_begin_at(one, at));
        self.places.extend(places.map(|&(one, _)| one));
    }
}

/// The time after which slots of a machine are free.
#[derive(Clone, Copy, Default)]
struct FreeAt {
    /// If what nobody has estimated ends at once, and each process goes on as its attempt that is furthest.
    earliest: Span,
    /// By estimates alone, if each process goes on as its attempt that is least far; none where these do not
    /// suffice.
    expected: Option<Span>,
}

impl FreeAt {
    const NOW: FreeAt = FreeAt {
        earliest: Span::ZERO,
        expected: Some(Span::ZERO),
    };
}

impl Market {
    /// Plans processes on slots that the first one cannot use yet, or not at all.
    pub(super) fn plan_past_first(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        running: &dyn Running,
    ) {
        for _ in 0..limits::BACKFILL_MAX {
            let Some(chosen) = self.next_past_first(step, machines, running) else {
                return;
            };
            let Chosen {
                id,
                resources,
                is_limited,
                until,
            } = chosen;
            let n_offers = self.n_offers;
            if let Some(demand) = self.demands.get_mut(&id) {
                demand.is_limited = is_limited;
                demand.passed_over = Some(n_offers);
                demand.until = until;
                demand.is_in_turn = false;
            }
            self.request_plan(step, id, resources, running);
        }
    }

    /// A process that may be planned before the first one. It is looked at once for the slots that are
    /// free.
    fn next_past_first(
        &mut self,
        step: &Step<'_>,
        machines: &Machines,
        running: &dyn Running,
    ) -> Option<Chosen> {
        let (_, first) = self.queue.first()?;
        let is_held_up = self.demands.get(&first)?.tried == Some(self.n_offers);
        let is_busy = !self.planning.is_empty() || self.claims.is_full();
        if !is_held_up || is_busy || self.backfill.done == Some(self.n_offers) {
            return None;
        }
        let chosen = self.find_past(step, (machines, running), first);
        if chosen.is_none() {
            self.backfill.done = Some(self.n_offers);
        }
        chosen
    }

    fn find_past(
        &mut self,
        step: &Step<'_>,
        (machines, running): (&Machines, &dyn Running),
        first: ProcessId,
    ) -> Option<Chosen> {
        if let Some(id) = self.granted_without_plan(step, first) {
            return self.on_grants(step, machines, id);
        }
        self.slots.open().next()?;
        if let Some(late) = self.late(step.now.mono) {
            if let Some(demand) = self.demands.get_mut(&first) {
                let why = format!("slots of {late}, which takes longer than estimated");
                demand.waiting_for = Some(why);
                demand.lacks = Lack::Nothing;
            }
            return None;
        }
        if self.claims.of(first).next().is_some() {
            return None;
        }
        let mut links = self.groups.values();
        let is_unconfirmed = links.any(|link| link.is_unconfirmed(step.now.mono));
        let known = step.cx.process(first)?;
        let wants = needs(known);
        let shadow = self.shadow(step, (machines, running), &wants);
        let left = Span(shadow.begins.0.saturating_sub(limits::BACKFILL_MARGIN.0));
        let later = self.queue.turns().filter(|&(_, id)| id != first);
        for (_, id) in later.take(limits::BACKFILL_MAX) {
            let (Some(demand), Some(known)) = (self.demands.get(&id), step.cx.process(id)) else {
                continue;
            };
            let is_new = demand.passed_over != Some(self.n_offers);
            if !is_new
                || demand.is_inherited && is_unconfirmed
                || known.phase() != Phase::Running
                || self.claims.of(id).next().is_some()
            {
                continue;
            }
            let mut free: BTreeMap<ResourceId, u32> = self
                .slots
                .open()
                .map(|place| (place, self.slots.free(place)))
                .collect();
            let is_limited = self.limit(machines, known, &mut free);
            let offered = free.into_iter().filter_map(|(place, free)| {
                let one = self.answering(machines, place)?;
                Some((one, resource(one, free)?))
            });
            let offered: Vec<(&Offered, Resource)> = offered.collect();
            let spare = offered
                .iter()
                .filter(|(one, _)| !shadow.places.contains(&one.resource));
            let spare: Vec<Resource> = spare.map(|(_, one)| one.clone()).collect();
            let own = needs(known);
            let (resources, until) = if are_enough(&spare, &own) {
                (spare, None)
            } else {
                let all: Vec<Resource> = offered.into_iter().map(|(_, one)| one).collect();
                if !knows_work(known, step.history) || least(known, step.history, &all) > left {
                    continue;
                }
                (all, Some(step.now.mono + left))
            };
            if are_enough(&resources, &own) {
                return Some(Chosen {
                    id,
                    resources: self.narrowed(step, machines, known, resources),
                    is_limited,
                    until,
                });
            }
        }
        None
    }

    /// A later process without a plan that holds slots: an earlier epoch has let it past.
    fn granted_without_plan(&self, step: &Step<'_>, first: ProcessId) -> Option<ProcessId> {
        let later = self.slots.users().map(|(id, _)| id);
        let mut later = later.filter(|&id| id != first && self.slots.is_user(id));
        later.find(|&id| {
            let is_waiting = self.demands.get(&id).is_some_and(|demand| {
                let is_new = demand.passed_over != Some(self.n_offers);
                is_new && !demand.has_plan && matches!(demand.stage, Stage::Wanting)
            });
            is_waiting && self.claims.of(id).next().is_none() && step.cx.process(id).is_some()
        })
    }

    /// The process on the slots that it holds.
    fn on_grants(&self, step: &Step<'_>, machines: &Machines, id: ProcessId) -> Option<Chosen> {
        let known = step.cx.process(id)?;
        let places: BTreeSet<ResourceId> = known.grants().map(|grant| grant.resource).collect();
        let resources = places
            .into_iter()
            .filter_map(|place| resource(self.answering(machines, place)?, known.granted(place)));
        Some(Chosen {
            id,
            resources: resources.collect(),
            is_limited: false,
            until: None,
        })
    }

    /// When and where each of these activities is expected to fit on some machine.
    pub(super) fn shadow(
        &self,
        step: &Step<'_>,
        (machines, running): (&Machines, &dyn Running),
        wants: &[&Activity],
    ) -> Shadow {
        let releases = self.releases(step, running);
        let mut shadow = Shadow {
            expected: Some(Span::ZERO),
            begins: Span::ZERO,
            places: BTreeSet::new(),
        };
        for activity in wants {
            let fitting = self.offered().map(|(_, one)| one);
            let fitting = fitting.filter(|one| {
                fits(one, activity) && self.answering(machines, one.resource).is_some()
            });
            let free = fitting.map(|one| {
                let at = self.free_at(one, activity.cores, releases.get(&one.resource));
                (one.resource, at)
            });
            shadow.waits_for(&free.collect::<Vec<_>>());
        }
        shadow
    }

    /// When so many slots of a machine are free.
    fn free_at(&self, one: &Offered, cores: u32, releases: Option<&Vec<FreeAt>>) -> FreeAt {
        // Offers come from outside.
        let bounded = |slots: u32| slots.min(CORES_MAX) as usize;
        let mut at = vec![FreeAt::NOW; bounded(self.slots.free(one.resource))];
        at.extend(releases.into_iter().flatten());
        // Nobody here knows when others give back the rest.
        at.resize(at.len().max(bounded(one.slots)), FreeAt::default());
        let index = (cores as usize).max(1) - 1;
        let mut earliest: Vec<Span> = at.iter().map(|at| at.earliest).collect();
        earliest.sort_unstable();
        let mut expected: Vec<Span> = at.iter().filter_map(|at| at.expected).collect();
        expected.sort_unstable();
        FreeAt {
            earliest: earliest.get(index).copied().unwrap_or_default(),
            expected: expected.get(index).copied(),
        }
    }

    /// When the slots of each machine are expected to be given back that processes here hold.
    fn releases(
        &self,
        step: &Step<'_>,
        running: &dyn Running,
    ) -> BTreeMap<ResourceId, Vec<FreeAt>> {
        let mut releases: BTreeMap<ResourceId, Vec<FreeAt>> = BTreeMap::new();
        for (id, used) in self.slots.users() {
            let known = step.cx.process(id);
            let known = known
                .filter(|known| knows_work(known, step.history) && known.phase() == Phase::Running);
            let clock = known.and_then(|known| clock(step, running, known));
            let mut slots: BTreeMap<ResourceId, usize> = BTreeMap::new();
            for want in used {
                *slots.entry(want.resource).or_default() += want.slots.min(CORES_MAX) as usize;
            }
            for (resource, n_slots) in slots {
                let at = releases.entry(resource).or_default();
                let n_before = at.len();
                if let (Some(known), Some((least, most))) = (known, clock) {
                    let ends = known.index.slots.ends(resource);
                    let left = ends.map(|end| FreeAt {
                        earliest: Span(end.0.saturating_sub(most.0)),
                        // What is overdue ends nobody knows when.
                        expected: (end > most).then(|| Span(end.0 - least.0)),
                    });
                    at.extend(left.take(n_slots));
                    // What the rest of a plan does not need is given back at once.
                    at.resize(n_before + n_slots, FreeAt::NOW);
                }
                at.resize(n_before + n_slots, FreeAt::default());
            }
        }
        releases
    }

    /// A process is planned in its turn.
    pub(super) fn plan_in_turn(&mut self, id: ProcessId) {
        self.backfill.until.remove(&id);
        if let Some(demand) = self.demands.get_mut(&id) {
            demand.until = None;
            demand.is_in_turn = true;
        }
    }

    /// A process that was let past others and should be over.
    pub(super) fn late(&self, now: Mono) -> Option<ProcessId> {
        let late = self
            .backfill
            .until
            .iter()
            .filter(|(_, until)| **until <= now);
        let mut late = late.map(|(&id, _)| id);
        late.find(|&id| self.slots.is_user(id))
    }

    /// A plan was made for a process that is to be over by a moment. Returns true if it is.
    pub(super) fn is_over_in_time(&mut self, now: Mono, id: ProcessId, makespan: Span) -> bool {
        let until = self
            .demands
            .get_mut(&id)
            .and_then(|demand| demand.until.take());
        let Some(until) = until else {
            return true;
        };
        if now + makespan > until {
            return false;
        }
        let slots = &self.slots;
        self.backfill.until.retain(|&id, _| slots.is_user(id));
        self.backfill.until.insert(id, until);
        true
    }
}

/// No plan of a process on these machines is shorter.
fn least(known: &Process, history: &Store, machines: &[Resource]) -> Span {
    let works = Works::new(known, history);
    let power = machines.iter().map(|one| one.power).fold(0.0, f64::max);
    let all: f64 = machines
        .iter()
        .map(|one| one.power * f64::from(one.slots))
        .sum();
    let (mut longest, mut sum) = (0.0, 0.0);
    for &activity in known.definition().activities() {
        let work = works.of(known, activity).reference_seconds();
        longest = f64::max(longest, work);
        sum += work;
    }
    match machines.is_empty() {
        true => Span(u64::MAX),
        false => Span::from_seconds_up(f64::max(longest / power, sum / all)),
    }
}

/// Returns true if each of these activities fits on one of the machines.
fn are_enough(machines: &[Resource], needs: &[&Activity]) -> bool {
    needs.iter().all(|activity| {
        machines.iter().any(|one| {
            let mut labels = activity.labels.iter();
            one.slots >= activity.cores
                && activity.memory.is_none_or(|memory| memory <= one.memory)
                && labels.all(|(name, value)| one.labels.get(name) == Some(value))
        })
    })
}

/// The planned times that a process has reached: by the attempt that is out and least far, and by the one
/// that runs and is furthest. None where none runs.
fn clock(step: &Step<'_>, running: &dyn Running, known: &Process) -> Option<(Span, Span)> {
    let (mut least, mut most): (Option<Span>, Option<Span>) = (None, None);
    for (resource, attempt) in known.out() {
        let entry = known.state.plan.entry(attempt.activity);
        let Some(entry) = entry.filter(|entry| entry.resource == resource) else {
            continue;
        };
        let planned = Span(entry.finish.0.saturating_sub(entry.start.0));
        let started = running.started(attempt);
        let elapsed = started.map(|started| step.now.wall.since(started).min(planned));
        let reached = entry.start + elapsed.unwrap_or_default();
        least = Some(least.map_or(reached, |least| least.min(reached)));
        if started.is_some() {
            most = most.max(Some(reached));
        }
    }
    Some((least?, most?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(earliest: u64, expected: Option<u64>) -> FreeAt {
        FreeAt {
            earliest: Span::from_secs(earliest),
            expected: expected.map(Span::from_secs),
        }
    }

    #[test]
    fn machines_are_kept_where_the_first_process_is_first_by_estimates_or_by_luck() {
        let [steady, overdue, late, unknown] = [0, 1, 2, 3].map(ResourceId::local);
        let mut shadow = Shadow {
            expected: Some(Span::ZERO),
            begins: Span::ZERO,
            places: BTreeSet::new(),
        };
        // Slots of the second may be free at any moment, though nobody expects them before the first's.
        let free = [
            (steady, at(20, Some(20))),
            (overdue, at(0, Some(60))),
            (late, at(90, Some(90))),
        ];
        shadow.waits_for(&free);
        assert_eq!(shadow.places, BTreeSet::from([steady, overdue]));
        assert_eq!(shadow.begins, Span::ZERO);
        assert_eq!(shadow.expected, Some(Span::from_secs(20)));
        shadow.waits_for(&[(late, at(90, Some(90))), (unknown, at(95, None))]);
        assert_eq!(
            shadow.places,
            BTreeSet::from([steady, overdue, late, unknown])
        );
        assert_eq!(shadow.begins, Span::from_secs(90));
        assert_eq!(shadow.expected, None);
    }

    /// ```text
    ///   two slots are wanted    mine  |.|====|    free now, and after 30 s
    ///                           other |.|??       free now, and when another manager gives its own back
    /// ```
    #[test]
    fn all_machines_are_kept_where_another_manager_may_let_the_first_process_begin_sooner() {
        let [mine, other, third, late] = [0, 1, 2, 3].map(ResourceId::local);
        let mut shadow = Shadow {
            expected: Some(Span::ZERO),
            begins: Span::ZERO,
            places: BTreeSet::new(),
        };
        shadow.waits_for(&[
            (mine, at(0, Some(30))),
            (other, at(0, Some(40))),
            (third, at(29, Some(90))),
            (late, at(30, Some(90))),
        ]);
        assert_eq!(shadow.places, BTreeSet::from([mine, other, third]));
        assert_eq!(shadow.expected, Some(Span::from_secs(30)));
    }
}
