//! Named limits: at most so many units of one are held by attempts that are out at the same time. A limit
//! belongs to a process, by its definition, or to this manager, for all its processes that have none of that
//! name.
//!
//! The units taken follow from the attempts that are recorded as sent and not as ended, so it is known after a
//! restart too. Of plans, limits bound only how many slots a process claims (`market/width.rs`): what has no room
//! waits where it is planned.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use model::{ActivityId, ProcessId};

use super::Attempts;
use crate::process::Process;
use crate::step::Step;

/// The room that named limits leave to the ready activities of one process, while they are chosen.
pub(super) struct LimitRoom<'a, 's> {
    attempts: &'a Attempts,
    step: &'a Step<'s>,
    known: &'a Process,
    chosen: RefCell<Chosen<'a>>,
}

/// The units that activities hold or wait for, of those that were looked at so far.
#[derive(Default)]
struct Chosen<'a> {
    /// Units of each limit that are taken, those of attempts that are out included.
    taken: BTreeMap<&'a str, u32>,
    /// Limits that an activity waits for: those behind it do not overtake it.
    awaited: BTreeSet<&'a str>,
    awaits_others: bool,
}

/// The state of a limit that an activity has no room in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FullLimit {
    /// Its name.
    pub(crate) name: String,
    /// Units that the activity takes.
    pub(crate) n_units: u32,
    /// Units that there are.
    pub(crate) most: u32,
    /// The process's own activities that hold some...
    pub(crate) holders: Vec<ActivityId>,
    /// ...and the number of those of other processes.
    pub(crate) n_others: u32,
}

impl<'a, 's> LimitRoom<'a, 's> {
    pub(super) fn new(
        attempts: &'a Attempts,
        step: &'a Step<'s>,
        known: &'a Process,
    ) -> LimitRoom<'a, 's> {
        LimitRoom {
            attempts,
            step,
            known,
            chosen: RefCell::default(),
        }
    }

    /// Returns true if an activity may be sent. Otherwise those behind it that take of the same limits wait
    /// too.
    pub(super) fn admits(&self, activity: ActivityId) -> bool {
        let used = used(self.known, activity);
        if used.is_empty() {
            return true;
        }
        let mut chosen = self.chosen.borrow_mut();
        let mut is_full = false;
        for (name, n_units) in used {
            let Some(most) = self.step.units_of_limit(self.known, name) else {
                continue;
            };
            let taken = *chosen.taken.entry(name).or_insert_with(|| {
                let holders = holders(self.attempts, self.step, self.known, name);
                holders.fold(0, |sum, (_, _, units)| sum.saturating_add(units))
            });
            if chosen.awaited.contains(name.as_str()) || taken.saturating_add(*n_units) > most {
                is_full = true;
                chosen.awaits_others |= is_shared(self.known, name);
            }
        }
        if is_full {
            chosen
                .awaited
                .extend(used.iter().map(|(name, _)| name.as_str()));
        }
        !is_full
    }

    /// An activity that was admitted is sent.
    pub(super) fn take(&self, activity: ActivityId) {
        let mut chosen = self.chosen.borrow_mut();
        for (name, n_units) in used(self.known, activity) {
            if let Some(taken) = chosen.taken.get_mut(name.as_str()) {
                *taken = taken.saturating_add(*n_units);
            }
        }
    }

    /// Returns true if some activity waits for a limit of this manager, which others may hold.
    pub(super) fn awaits_others(&self) -> bool {
        self.chosen.borrow().awaits_others
    }
}

impl Attempts {
    /// The limits for which an activity that is ready waits.
    pub(crate) fn full_limits(
        &self,
        step: &Step<'_>,
        known: &Process,
        activity: ActivityId,
    ) -> Vec<FullLimit> {
        let mut full = Vec::new();
        for (name, n_units) in used(known, activity) {
            let Some(most) = step.units_of_limit(known, name) else {
                continue;
            };
            let held: Vec<(ProcessId, ActivityId, u32)> =
                holders(self, step, known, name).collect();
            let taken = held.iter().map(|(_, _, units)| *units);
            if taken.fold(*n_units, u32::saturating_add) <= most {
                continue;
            }
            let is_own = |one: &&(ProcessId, ActivityId, u32)| one.0 == known.id();
            let holders: Vec<ActivityId> = held.iter().filter(is_own).map(|one| one.1).collect();
            full.push(FullLimit {
                name: name.clone(),
                n_units: *n_units,
                most,
                n_others: (held.len() - holders.len()) as u32,
                holders,
            });
        }
        full
    }

    /// An attempt has ended: processes that wait for a limit of this manager that it held may go on.
    pub(super) fn give_back_limits(
        &mut self,
        step: &mut Step<'_>,
        id: ProcessId,
        activity: ActivityId,
    ) {
        if self.awaiting_limits.is_empty() {
            return;
        }
        let known = step.cx.process(id);
        let shares = known.is_some_and(|known| {
            let mut used = used(known, activity).iter();
            used.any(|(name, _)| is_shared(known, name))
        });
        if shares {
            for waiting in std::mem::take(&mut self.awaiting_limits) {
                step.marks.mark(waiting);
            }
        }
    }
}

fn used(known: &Process, activity: ActivityId) -> &[(String, u32)] {
    let declared = known.definition().activity_as_written(activity);
    declared.map_or(&[], |declared| declared.used_limits())
}

fn is_shared(known: &Process, name: &str) -> bool {
    known.definition().draft().named_limit(name).is_none()
}

/// The attempts that hold units of a limit, as a process means it: their process, activity and units.
fn holders<'a>(
    attempts: &'a Attempts,
    step: &'a Step<'_>,
    known: &'a Process,
    name: &'a str,
) -> impl Iterator<Item = (ProcessId, ActivityId, u32)> + 'a {
    let others = is_shared(known, name).then(|| attempts.processes());
    let others = others.into_iter().flatten();
    let others = others.filter(|id| *id != known.id());
    let others = others.filter_map(|id| step.cx.process(id));
    let sharing = others.filter(move |other| is_shared(other, name));
    let all = std::iter::once(known).chain(sharing);
    all.flat_map(move |process| {
        process.out().filter_map(move |(_, attempt)| {
            let mut used = used(process, attempt.activity).iter();
            let (_, n_units) = used.find(|(other, _)| other == name)?;
            Some((process.id(), attempt.activity, *n_units))
        })
    })
}
