//! The machines that a process waits for, in words: none of those that there are could ever run one of its
//! activities, or those that could are held by others.
//!
//! The words are made when somebody asks, by the machines and their users of that moment: what was true when
//! a process was last tried may not be so any more.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use model::{Activity, ActivityId, CAPABLE, Capability, ProcessId};
use wire::group::{Offered, owner_name};

use super::limit::{fits, needs};
use super::{Demand, GroupLink, Market, Stage};
use crate::process::Process;
use crate::process::index::has_ended;

/// Machines that are named where each of several fits.
const MACHINES_SHOWN_MAX: usize = 3;
/// Processes and owners that are named as those who hold them.
const HOLDERS_SHOWN_MAX: usize = 3;

/// The try to plan a process that ended without a plan for want of machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Lack {
    /// It ended in another way, or there was none.
    #[default]
    Nothing,
    /// No slot was free.
    Slots,
    /// None of the machines with free slots fitted this activity.
    Fit(ActivityId),
}

/// A demand of an activity on its machine.
enum Need<'a> {
    Cores,
    Memory,
    Label(&'a str, &'a str),
}

impl Market {
    /// The thing that a process waits for, in words, as machines and their users are at the moment.
    /// O(activities) for one that waits for its first plan.
    pub(crate) fn waiting_for(&self, known: &Process) -> Option<String> {
        let id = known.id();
        let demand = self.demands.get(&id)?;
        if let Some(silent) = self.waits_for_silent(demand) {
            return Some(silent);
        }
        if !matches!(demand.stage, Stage::Wanting) || demand.is_beyond_limit {
            return demand.waiting_for.clone();
        }
        if let Some(misfit) = self.misfit(known, demand) {
            return Some(misfit);
        }
        let limit = || self.limit_in_words(known);
        let limit = (!demand.has_plan).then(limit).flatten();
        limit
            .or_else(|| self.busy(known, demand))
            .or_else(|| demand.waiting_for.clone())
    }

    /// The activity of a process that no machine fits, whoever uses it, with the nearest machine.
    fn misfit(&self, known: &Process, demand: &Demand) -> Option<String> {
        self.offered().next()?;
        let fits_none = |activity: &Activity| !self.offered().any(|(_, one)| fits(one, activity));
        let activity = match demand.lacks {
            Lack::Fit(id) => declared(known, id).filter(|activity| fits_none(activity)),
            Lack::Slots | Lack::Nothing => None,
        };
        let first = || {
            needs(known)
                .into_iter()
                .find(|activity| fits_none(activity))
        };
        let activity = activity.or_else(|| (!demand.has_plan).then(first).flatten())?;
        let name = name_of(known, activity)?;
        let which = match self.offers().any(|offer| !offer.unavailable.is_empty()) {
            true => "no machine that takes work",
            false => "no machine",
        };
        let needs = Need::all(activity);
        let is_met = |need: &Need<'_>| {
            let mut all = self.offered();
            all.any(|(_, one)| need.is_met(activity, one))
        };
        let unmet = needs.iter().filter(|need| !is_met(need));
        let unmet: Vec<String> = unmet.map(|need| need.words(activity)).collect();
        let lacks = match unmet.is_empty() {
            true => format!("{which} has {} together", in_words(activity)),
            false => format!("{which} has {}", listed(unmet.into_iter())),
        };
        let absent = match demand.wants_absent {
            true => "; a group that does not answer may have one",
            false => "",
        };
        let nearest = self.nearest(activity, &needs)?;
        let has = needs
            .iter()
            .filter(|need| !need.is_met(activity, nearest))
            .map(|need| need.at(nearest));
        Some(format!(
            "a machine that fits {name}: {lacks}; the nearest, {}, has {}{absent}",
            nearest.name,
            listed(has)
        ))
    }

    /// The machine that lacks least of the demands of an activity: the fewest of them, and of those the
    /// one with most cores and memory.
    fn nearest(&self, activity: &Activity, needs: &[Need<'_>]) -> Option<&Offered> {
        let machines = self.offered().map(|(_, one)| one);
        machines.min_by_key(|one| {
            let unmet = needs.iter().filter(|need| !need.is_met(activity, one));
            let missing = activity.cores.saturating_sub(one.slots);
            let wanted = activity.memory.unwrap_or_default().0;
            let lacking = wanted.saturating_sub(one.memory.0);
            (unmet.count(), missing, lacking, &one.name)
        })
    }

    /// The machines that fit and are held by others, and by whom.
    fn busy(&self, known: &Process, demand: &Demand) -> Option<String> {
        let lacking = |activity: &Activity| {
            let has_room = |one: &Offered| self.has_room(known, one, activity);
            let mut all = self.offered().map(|(_, one)| one);
            !all.any(|one| fits(one, activity) && has_room(one))
        };
        let activity = match demand.lacks {
            Lack::Fit(id) => declared(known, id).filter(|activity| lacking(activity))?,
            // Whatever takes most is the last to find a place.
            Lack::Slots if !demand.has_plan && !demand.is_limited => {
                let mut needs = needs(known);
                needs.sort_by_key(|activity| (Reverse(activity.cores), Reverse(activity.memory)));
                needs.into_iter().find(|activity| lacking(activity))?
            }
            Lack::Slots | Lack::Nothing => return None,
        };
        let name = name_of(known, activity)?;
        let fitting = self.offered().map(|(_, one)| one);
        let fitting: Vec<&Offered> = fitting.filter(|one| fits(one, activity)).collect();
        let names = fitting.iter().map(|one| one.name.clone());
        let cores = counted(activity.cores, "slot", "slots");
        Some(format!(
            "{cores} of {} for {name}, held by {}",
            shown(names.collect(), MACHINES_SHOWN_MAX, " or "),
            shown(
                self.holders(known.id(), demand, &fitting),
                HOLDERS_SHOWN_MAX,
                " and "
            )
        ))
    }

    /// Returns true if so many slots of a machine are free, or are a process's own.
    fn has_room(&self, known: &Process, one: &Offered, activity: &Activity) -> bool {
        let free = self.slots.free(one.resource);
        let own = known.granted(one.resource);
        free.saturating_add(own).min(one.slots) >= activity.cores
    }

    /// The processes that hold these machines: those of the same owner one by one, of other owners their
    /// names, and other process managers.
    fn holders(&self, id: ProcessId, demand: &Demand, machines: &[&Offered]) -> Vec<String> {
        let places: BTreeSet<_> = machines.iter().map(|one| one.resource).collect();
        let mut used: u64 = 0;
        let (mut own, mut others) = (Vec::new(), BTreeSet::new());
        for (user, wants) in self.slots.users() {
            let there = wants.iter().filter(|want| places.contains(&want.resource));
            let slots: u64 = there.map(|want| u64::from(want.slots)).sum();
            used += slots;
            let Some(holder) = self.demands.get(&user) else {
                continue;
            };
            if slots == 0 || user == id {
                continue;
            }
            if holder.class.owner == demand.class.owner {
                own.push(format!("process {user}"));
            } else {
                let owner = owner_name(holder.class.owner.as_deref());
                others.insert(format!("processes of {owner}"));
            }
        }
        own.extend(others);
        let all: u64 = machines.iter().map(|one| u64::from(one.slots)).sum();
        let free = machines.iter().map(|one| self.slots.free(one.resource));
        let free: u64 = free.map(u64::from).sum();
        let is_shared = |one: &&Offered| {
            let link = self.groups.get(&one.resource.group);
            link.is_some_and(GroupLink::is_shared)
        };
        if used + free < all && machines.iter().copied().any(|one| is_shared(&one)) {
            own.push("other process managers".to_owned());
        }
        own
    }
}

impl Need<'_> {
    /// The demands of an activity; a single core, which each machine has, only where there is no other.
    fn all(activity: &Activity) -> Vec<Need<'_>> {
        let labels = activity.labels.iter();
        let labels = labels.map(|(name, value)| Need::Label(name, value));
        let memory = activity.memory.map(|_| Need::Memory);
        let others: Vec<Need<'_>> = memory.into_iter().chain(labels).collect();
        let cores = (activity.cores > 1 || others.is_empty()).then_some(Need::Cores);
        cores.into_iter().chain(others).collect()
    }

    fn is_met(&self, activity: &Activity, one: &Offered) -> bool {
        match *self {
            Need::Cores => one.slots >= activity.cores,
            Need::Memory => activity.memory.is_none_or(|memory| memory <= one.memory),
            Need::Label(name, value) => one.labels.get(name).is_some_and(|has| has == value),
        }
    }

    /// The demand itself.
    fn words(&self, activity: &Activity) -> String {
        match *self {
            Need::Cores => counted(activity.cores, "core", "cores"),
            Need::Memory => format!("{} of memory", activity.memory.unwrap_or_default()),
            Need::Label(name, value) => {
                let capability = Capability::of_label(name).filter(|_| value == CAPABLE);
                match capability {
                    Some(capability) => format!(
                        "{} for its {} (label {name}: {value})",
                        capability.programs_in_words(),
                        capability.purpose()
                    ),
                    None => format!("the label {name}: {value}"),
                }
            }
        }
    }

    /// That which a machine has of it.
    fn at(&self, one: &Offered) -> String {
        match *self {
            Need::Cores => counted(one.slots, "core", "cores"),
            Need::Memory => format!("{} of memory", one.memory),
            Need::Label(name, _) => match one.labels.get(name) {
                Some(has) => format!("{name}: {has}"),
                None => format!("no label {name}"),
            },
        }
    }
}

/// All demands of an activity.
pub(super) fn in_words(activity: &Activity) -> String {
    let needs = Need::all(activity).into_iter();
    listed(needs.map(|need| need.words(activity)))
}

fn declared(known: &Process, id: ActivityId) -> Option<&Activity> {
    let open = Some(id).filter(|&id| !has_ended(known.activity(id).phase));
    known.definition().activity_as_written(open?)
}

/// The name of one of the activities with the demands of this one.
fn name_of(known: &Process, activity: &Activity) -> Option<String> {
    let definition = known.definition();
    let declared = |id: &ActivityId| definition.activity_as_written(*id);
    let is_it = |id: &&ActivityId| declared(id).is_some_and(|one| std::ptr::eq(one, activity));
    let id = definition.activities().iter().find(is_it)?;
    Some(definition.name_of(id.node()))
}

fn counted(n: u32, one: &str, many: &str) -> String {
    let word = if n == 1 { one } else { many };
    format!("{n} {word}")
}

/// `a`, `a and b`, `a, b and c`.
fn listed(items: impl Iterator<Item = String>) -> String {
    joined(&items.collect::<Vec<_>>(), " and ")
}

/// The first of these, and the number of the others.
fn shown(mut items: Vec<String>, most: usize, last: &str) -> String {
    let n_more = items.len().saturating_sub(most);
    if n_more > 0 {
        items.truncate(most);
        items.push(format!("{n_more} more"));
    }
    match items.is_empty() {
        true => "others".to_owned(),
        false => joined(&items, last),
    }
}

fn joined(items: &[String], last: &str) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., end] => format!("{}{last}{end}", first.join(", ")),
    }
}
