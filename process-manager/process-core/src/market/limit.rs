//! Free slots for a plan, as far as the limits of the process's owner allow, and machines that fit an
//! activity at all.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use model::{Activity, ActivityId, GroupId, ProcessId, ResourceId};
use schedule::Refusal;
use wire::client::GroupShares;
use wire::group::{Offered, owner_name};

use super::{Demand, Market};
use crate::machines::Machines;
use crate::process::Process;
use crate::process::index::has_ended;
use crate::step::Step;

impl Market {
    /// Leaves of free slots those that the owner of a process may still claim. Returns true if these are
    /// fewer.
    pub(super) fn limit(
        &self,
        machines: &Machines,
        known: &Process,
        free: &mut BTreeMap<ResourceId, u32>,
    ) -> bool {
        let owner = owner_name(known.owner.as_deref());
        let groups: BTreeSet<GroupId> = free.keys().map(|place| place.group).collect();
        let mut is_limited = false;
        for group in groups {
            let Some(limit) = self.owners.limit(group, owner) else {
                continue;
            };
            let in_group = ResourceId::new(group, 0)..=ResourceId::new(group, u32::MAX);
            let there = free.range(in_group).map(|(&place, &slots)| (place, slots));
            let there: BTreeMap<ResourceId, u32> = there.collect();
            let n_free: u64 = there.values().map(|&slots| u64::from(slots)).sum();
            if n_free > u64::from(limit.left()) {
                is_limited = true;
                let allotted = self.allot((machines, known), &there, limit.left());
                free.extend(there.keys().map(|&place| (place, 0)));
                free.extend(allotted);
            }
        }
        is_limited
    }

    /// Chooses so many of the free slots of a group's machines: first those that no activity of the
    /// process can do without, and then those of the fastest machines.
    pub(super) fn allot(
        &self,
        (machines, known): (&Machines, &Process),
        free: &BTreeMap<ResourceId, u32>,
        mut left: u32,
    ) -> BTreeMap<ResourceId, u32> {
        let there = free.iter().filter_map(|(&place, &slots)| {
            let offered = self.answering(machines, place)?;
            Some((place, slots, known.granted(place), offered))
        });
        let mut machines: Vec<(ResourceId, u32, u32, &Offered)> = there.collect();
        machines.sort_by(|(.., a), (.., b)| b.power.total_cmp(&a.power));
        let mut allotted: BTreeMap<ResourceId, u32> = BTreeMap::new();
        let mut needs = needs(known);
        needs.sort_by_cached_key(|activity| {
            let fitting = machines.iter().filter(|(.., one)| fits(one, activity));
            (fitting.count(), Reverse(activity.cores))
        });
        for activity in needs {
            let lacking = machines
                .iter()
                .filter_map(|&(place, slots, granted, offered)| {
                    let own = allotted.get(&place).copied().unwrap_or_default();
                    let may_have = granted.saturating_add(slots) >= activity.cores;
                    let lacking = activity.cores.saturating_sub(granted + own);
                    (may_have && fits(offered, activity)).then_some((lacking, place))
                });
            let least = lacking.min_by_key(|&(lacking, _)| lacking);
            if let Some((lacking, place)) = least.filter(|&(lacking, _)| lacking <= left) {
                *allotted.entry(place).or_default() += lacking;
                left -= lacking;
            }
        }
        for (place, slots, ..) in machines {
            let own = allotted.entry(place).or_default();
            let more = slots.saturating_sub(*own).min(left);
            *own += more;
            left -= more;
        }
        allotted
    }

    /// Returns true if a machine that fits an activity can only be in a group that does not answer.
    pub(super) fn is_absent(&self, step: &Step<'_>, known: &Process, refusal: &Refusal) -> bool {
        let Refusal::NoResource { activity, .. } = refusal else {
            return false;
        };
        let answers = |group: &GroupId| {
            let link = self.groups.get(group);
            link.is_some_and(|link| link.offer.is_some()) && !self.claims.is_silent(*group)
        };
        let mut groups = self.groups.keys().chain(&step.config.groups);
        let is_any_away = !groups.all(answers);
        let Some(declared) = known.definition().activity_as_written(*activity) else {
            return false;
        };
        is_any_away && !self.all_answering().any(|one| fits(one, declared))
    }

    /// Returns true if no machine fits an activity, whoever uses it.
    pub(super) fn fits_nowhere(&self, known: &Process, refusal: &Refusal) -> bool {
        let Refusal::NoResource { activity, .. } = refusal else {
            return false;
        };
        let declared = known.definition().activity_as_written(*activity);
        declared.is_some_and(|declared| !self.offered().any(|(_, one)| fits(one, declared)))
    }

    /// The shares and limits of owners, for the owner of a process.
    pub(crate) fn shares(&self, owner: Option<&str>) -> Vec<GroupShares> {
        self.owners.shares(owner_name(owner))
    }

    /// The limit of its owner that an activity of a process needs more slots than, wherever it may run, in words;
    /// none where each may run within it, or fits no machine at all.
    pub(super) fn beyond_limit(&self, known: &Process) -> Option<String> {
        let owner = owner_name(known.owner.as_deref());
        if !self.owners.is_limited(owner) {
            return None;
        }
        let mut needs = needs(known).into_iter();
        let (activity, slots_max) = needs.find_map(|activity| {
            let slots_max = self.limit_below(known, owner, activity)?;
            Some((activity, slots_max))
        })?;
        let definition = known.definition();
        let declared = |id: &ActivityId| definition.activity_as_written(*id);
        let is_it = |id: &&ActivityId| declared(id).is_some_and(|one| std::ptr::eq(one, activity));
        let id = definition.activities().iter().find(is_it)?;
        Some(format!(
            "more slots than {owner} may hold: activity {} needs {} at once, and the limit is {slots_max} \
             (`user-slots` or `user-slots-max` in gm.toml)",
            definition.name_of(id.node()),
            activity.cores
        ))
    }

    /// The greatest limit in the groups whose machines fit an activity, where it needs more than that.
    fn limit_below(&self, known: &Process, owner: &str, activity: &Activity) -> Option<u32> {
        let fitting = self.offered().filter(|(_, one)| fits(one, activity));
        let limits = fitting.map(|(group, one)| {
            let limit = self.owners.limit(group, owner)?;
            let has_enough = known.granted(one.resource) >= activity.cores;
            let is_beyond = activity.cores > limit.slots_max && !has_enough;
            is_beyond.then_some(limit.slots_max)
        });
        let limits: Option<Vec<u32>> = limits.collect();
        limits?.into_iter().max()
    }

    /// The limit that keeps a process from its first plan, in words; none where another thing does.
    pub(super) fn limit_in_words(&self, known: &Process) -> Option<String> {
        let demand = self.demands.get(&known.id())?;
        let limit = demand.at_limit(self);
        limit.or_else(|| demand.behind_own(self, known.id()))
    }
}

impl Demand {
    /// The limit that leaves its owner no slots.
    fn at_limit(&self, market: &Market) -> Option<String> {
        let owner = owner_name(self.class.owner.as_deref());
        let (_, limit) = market.owners.at_limit(owner)?;
        Some(format!(
            "slots within the limit of {owner}, who holds {} of {}",
            limit.held, limit.slots_max
        ))
    }

    /// The process of the same owner that keeps this one waiting, since the limit leaves it too few slots.
    fn behind_own(&self, market: &Market, id: ProcessId) -> Option<String> {
        let owner = owner_name(self.class.owner.as_deref());
        let first = market.queue.first_of(&self.class.owner)?;
        let is_behind = first != id && market.owners.is_in_vain(owner);
        is_behind.then(|| {
            format!(
                "process {first}, which is before it and for which the limit of {owner} leaves too few slots \
                 (`user-slots` or `user-slots-max` in gm.toml)"
            )
        })
    }
}

/// Returns true if an activity may run on a machine that nobody uses.
pub(super) fn fits(offered: &Offered, activity: &Activity) -> bool {
    let mut labels = activity.labels.iter();
    offered.slots >= activity.cores
        && activity
            .memory
            .is_none_or(|memory| memory <= offered.memory)
        && labels.all(|(name, value)| offered.labels.get(name) == Some(value))
}

/// One of the activities with each need that have not ended.
pub(super) fn needs(known: &Process) -> Vec<&Activity> {
    let definition = known.definition();
    let open = definition.activities().iter();
    let open = open.filter(|&&activity| !has_ended(known.activity(activity).phase));
    let open = open.filter_map(|&activity| definition.activity_as_written(activity));
    let by_need = open.map(|one| ((one.cores, one.memory, &one.labels), one));
    let by_need: BTreeMap<_, &Activity> = by_need.collect();
    by_need.into_values().collect()
}
