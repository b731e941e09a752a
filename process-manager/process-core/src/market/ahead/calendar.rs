//! The times from which on the slots of machines are expected to be free: by what is left of the plans of
//! the processes that hold them, and by what those that are planned before another one take of them.
//!
//! ```text
//!   m0   |holder, 40 s left|first waiting one, 60 s|.......     free after 100 s
//!   m1   |holder, overdue ?                                     nobody knows when
//! ```
//! A time is known or it is not, and what depends on one that is not known is not known either: a command that
//! takes longer than planned or whose work nobody has estimated, what it holds up in its process, what is
//! repeated later, and what other process managers hold.

use std::collections::{BTreeMap, BTreeSet};

use model::limits::CORES_MAX;
use model::{Activity, ActivityId, ProcessId, ResourceId, Span};
use wire::group::{Offered, owner_name};

use crate::enact::busy::Running;
use crate::enact::lengths::{is_open_ended, lengths};
use crate::enact::works::{Works, is_known};
use crate::machines::Machines;
use crate::market::Market;
use crate::market::limit::{fits, needs};
use crate::process::Process;
use crate::process::index::has_ended;
use crate::record::Phase;
use crate::step::Step;

/// Instead of a time: nobody knows.
const UNKNOWN: Span = Span(u64::MAX);

/// The slots of machines; see the module.
pub(super) struct Calendar<'a> {
    market: &'a Market,
    machines: Vec<OnMachine<'a>>,
}

/// A machine that takes work.
struct OnMachine<'a> {
    offered: &'a Offered,
    /// The times after which its slots are free, the first ones first.
    free: Vec<Span>,
}

impl<'a> Calendar<'a> {
    /// The machines as they are, for a process whose own slots are free.
    pub(super) fn new(
        market: &'a Market,
        step: &Step<'_>,
        (machines, running): (&Machines, &dyn Running),
        id: ProcessId,
    ) -> Calendar<'a> {
        let mut held: BTreeMap<ResourceId, Vec<Span>> = BTreeMap::new();
        for (user, wants) in market.slots.users() {
            let known = step.cx.process(user).filter(|_| user != id);
            let rest = known.and_then(|known| Rest::of(step, running, known));
            let mut slots: BTreeMap<ResourceId, usize> = BTreeMap::new();
            for want in wants {
                *slots.entry(want.resource).or_default() += want.slots.min(CORES_MAX) as usize;
            }
            for (resource, n_slots) in slots {
                let held = held.entry(resource).or_default();
                let n_before = held.len();
                if user == id {
                    held.resize(n_before + n_slots, Span::ZERO);
                } else if let (Some(known), Some(rest)) = (known, &rest) {
                    held.extend(rest.ends(known, resource).take(n_slots));
                    // The rest of a plan that does not need them gives them back.
                    let surplus = match rest.has_others_at(known, resource) {
                        true => UNKNOWN,
                        false => Span::ZERO,
                    };
                    held.resize(n_before + n_slots, surplus);
                }
                held.resize(n_before + n_slots, UNKNOWN);
            }
        }
        let offered = market.offered().map(|(_, one)| one);
        let offered = offered.filter(|one| market.answering(machines, one.resource).is_some());
        let machines = offered.map(|offered| {
            // Offers come from outside.
            let bounded = |slots: u32| slots.min(CORES_MAX) as usize;
            let n_free = bounded(market.slots.free(offered.resource));
            let mut free = vec![Span::ZERO; n_free];
            free.extend(held.remove(&offered.resource).into_iter().flatten());
            // Nobody here knows when others give back the rest.
            free.resize(free.len().max(bounded(offered.slots)), UNKNOWN);
            free.sort_unstable();
            OnMachine { offered, free }
        });
        let machines = machines.collect();
        Calendar { market, machines }
    }

    /// The time after which each activity of a process fits on some machine; none where nobody knows.
    pub(super) fn fits_after(&self, known: &Process) -> Option<Span> {
        let owner = owner_name(known.owner.as_deref());
        let mut all = Span::ZERO;
        for activity in needs(known) {
            let fitting = self.fitting(activity);
            let times = fitting.filter_map(|one| {
                let limit = self.market.owners.limit(one.offered.resource.group, owner);
                // Nobody knows when its own processes leave more of the limit.
                let may_have = limit.is_none_or(|limit| limit.left() >= activity.cores);
                one.free_after(activity.cores).filter(|_| may_have)
            });
            all = all.max(times.min()?);
        }
        Some(all)
    }

    /// A process is planned then, and takes its slots.
    pub(super) fn take(&mut self, step: &Step<'_>, known: &Process, at: Span) {
        let needs = needs(known);
        let definition = known.definition();
        let has_bodies = |node: &model::Node| node.kind.has_bodies();
        let is_single =
            definition.activities().len() == 1 && !definition.draft().nodes.iter().any(has_bodies);
        if let ([activity], true) = (&needs[..], is_single) {
            self.take_for(step, known, activity, at);
            return;
        }
        // Whichever slots are free by then may be among those of its plan.
        for one in &mut self.machines {
            if needs.iter().any(|activity| fits(one.offered, activity)) {
                one.change(one.offered.slots, at, UNKNOWN);
            }
        }
    }

    /// The only activity of a process runs where it ends first.
    fn take_for(&mut self, step: &Step<'_>, known: &Process, activity: &Activity, at: Span) {
        let id = known.id();
        let cores = activity.cores;
        let (market, history) = (self.market, &*step.history);
        let power = |one: &OnMachine<'_>| {
            let resource = one.offered.resource;
            let part = market.shown_part(id, resource) * market.factor(id, resource);
            one.offered.power * part
        };
        let fitting = self.machines.iter_mut();
        let fitting = fitting.filter(|one| fits(one.offered, activity));
        let fitting = fitting.filter(|one| one.free_after(cores).is_some_and(|free| free <= at));
        let Some(place) = fitting.max_by(|one, other| power(one).total_cmp(&power(other))) else {
            return;
        };
        let only = known.definition().activities().iter().next().copied();
        let work = only.filter(|&only| is_known(known, history, only));
        let until = work.map_or(UNKNOWN, |only| {
            let work = Works::new(known, history).of(known, only);
            at + Span::from_seconds_up(work.reference_seconds() / power(place))
        });
        place.change(cores, at, until);
    }

    fn fitting(&self, activity: &Activity) -> impl Iterator<Item = &OnMachine<'a>> {
        let machines = self.machines.iter();
        machines.filter(move |one| fits(one.offered, activity))
    }
}

impl OnMachine<'_> {
    /// The time after which so many slots are free; none where nobody knows.
    fn free_after(&self, cores: u32) -> Option<Span> {
        let last = (cores.max(1) - 1) as usize;
        let at = self.free.get(last).copied();
        at.filter(|&at| at < UNKNOWN)
    }

    /// So many of the slots that are free then, or fewer, are free at another time.
    fn change(&mut self, cores: u32, at: Span, until: Span) {
        let n_free = self.free.iter().filter(|&&free| free <= at).count();
        let from = n_free.saturating_sub(cores as usize);
        self.free[from..n_free].fill(until);
        self.free.sort_unstable();
    }
}

/// The rest of a plan in force.
struct Rest {
    /// The planned time that the process has reached; none where nobody knows how it goes on.
    reached: Option<Span>,
    /// The time that is left of what runs; none of what takes longer than planned, or is not estimated.
    left: BTreeMap<ActivityId, Option<Span>>,
    /// Machines that have attempts which are not planned there.
    others: BTreeSet<ResourceId>,
}

impl Rest {
    /// None where nothing is known of it. O(entries of the plan).
    fn of(step: &Step<'_>, running: &dyn Running, known: &Process) -> Option<Rest> {
        let plan = &known.state.plan;
        if plan.generation.0 == 0 || known.phase() != Phase::Running {
            return None;
        }
        let mut rest = Rest {
            reached: match known.out().next() {
                Some(_) => Some(UNKNOWN),
                None => Some(known.since_planned(step.now.wall)),
            },
            left: BTreeMap::new(),
            others: BTreeSet::new(),
        };
        let is_estimated = |activity| is_known(known, step.history, activity);
        for (resource, attempt) in known.out() {
            let activity = attempt.activity;
            let entry = plan.entry(activity);
            let Some(entry) = entry.filter(|entry| entry.resource == resource) else {
                rest.others.insert(resource);
                continue;
            };
            let planned = entry.finish - entry.start;
            let started = running.started(attempt);
            let elapsed = started.map_or(Span::ZERO, |at| step.now.wall.since(at));
            let is_in_time = elapsed < planned && is_estimated(activity);
            let left = is_in_time.then(|| planned - elapsed);
            rest.left.insert(activity, left);
        }
        let mut is_certain = rest.others.is_empty()
            && known.index.backoffs.is_empty()
            && known.wanted_recomputations().next().is_none()
            && !known.is_unplanned()
            && !has_more(step, known);
        for entry in &plan.entries {
            let activity = entry.activity;
            let reached = match rest.left.get(&activity) {
                Some(Some(left)) => Some(entry.finish - *left),
                Some(None) => None,
                None if has_ended(known.activity(activity).phase) => continue,
                None => is_estimated(activity).then_some(entry.start),
            };
            is_certain &= reached.is_some();
            rest.reached = rest.reached.min(reached);
        }
        rest.reached = rest.reached.filter(|_| is_certain);
        Some(rest)
    }

    /// The times after which the slots of a machine are not needed any more that something is left for.
    fn ends(&self, known: &Process, resource: ResourceId) -> impl Iterator<Item = Span> {
        let last = known.index.slots.last(resource);
        last.map(|(finish, activity)| {
            let left = match self.left.get(&activity) {
                Some(left) => *left,
                None => self.reached.map(|reached| finish - reached),
            };
            left.unwrap_or(UNKNOWN)
        })
    }

    /// Returns true if slots there may serve for what is not planned there.
    fn has_others_at(&self, known: &Process, resource: ResourceId) -> bool {
        self.others.contains(&resource) || known.is_unplanned()
    }
}

/// Returns true if a process may have more activities than its plan.
fn has_more(step: &Step<'_>, known: &Process) -> bool {
    let works = Works::new(known, step.history);
    let lengths = lengths(known, step.history, &works, 1.0);
    is_open_ended(known, step.history) || lengths.expected > lengths.planned
}
