//! The slots that a process can use at the same time, where `at-most` of a for-each or a named limit says so. It
//! claims twice as many of the free slots at most, so that others have what it would only hold:
//!
//! ```text
//!   100 items, of which `at-most` lets 2 be done       use 2 slots, claim 4
//!   40 activities that take one of 3 units each        use 3 slots, claim 6
//! ```
//! Twice as many, because an item that takes long would else keep the next one of its slot waiting while the
//! other slots idle, and because a process moves off a slow machine to slots that it holds.

use std::collections::{BTreeMap, BTreeSet};

use model::{Activity, ActivityId, Definition, NodeId, NodeKind, Resource, ResourceId};

use super::Market;
use super::limit::{fits, needs};
use crate::machines::Machines;
use crate::process::Process;
use crate::step::Step;

/// Slots that are claimed for each that can be used.
const CLAIMED_FOR_EACH: u64 = 2;

impl Market {
    /// Machines with those of their slots that are of use to a process.
    pub(super) fn narrowed(
        &self,
        step: &Step<'_>,
        machines: &Machines,
        known: &Process,
        mut resources: Vec<Resource>,
    ) -> Vec<Resource> {
        let free = resources.iter().map(|one| (one.id, one.slots));
        let mut free: BTreeMap<ResourceId, u32> = free.collect();
        self.narrow(step, machines, known, &mut free);
        for one in &mut resources {
            one.slots = free.get(&one.id).copied().unwrap_or_default();
        }
        resources.retain(|one| one.slots > 0);
        resources
    }

    /// Leaves of free slots those that are of use to a process beside what it holds, where `at-most` or a named
    /// limit bounds these.
    pub(super) fn narrow(
        &self,
        step: &Step<'_>,
        machines: &Machines,
        known: &Process,
        free: &mut BTreeMap<ResourceId, u32>,
    ) {
        let most = |name: &str| step.units_of_limit(known, name);
        let Some(useful) = useful(known.definition(), &most) else {
            return;
        };
        let has = |place: ResourceId, slots: u32, activity: &Activity| {
            let offered = self.answering(machines, place);
            slots >= activity.cores && offered.is_some_and(|one| fits(one, activity))
        };
        let held = known
            .grants()
            .filter(|grant| self.answering(machines, grant.resource).is_some());
        let n_held: u64 = held.map(|grant| u64::from(grant.slots)).sum();
        let needs = needs(known);
        let is_unmet = |activity: &&&Activity| {
            let mut grants = known.grants();
            !grants.any(|grant| has(grant.resource, known.granted(grant.resource), activity))
        };
        let unmet = needs.iter().filter(is_unmet);
        let n_unmet: u64 = unmet.map(|activity| u64::from(activity.cores)).sum();
        let left = useful.saturating_mul(CLAIMED_FOR_EACH);
        let left = left.saturating_sub(n_held).max(n_unmet);
        let n_free: u64 = free.values().map(|&slots| u64::from(slots)).sum();
        let Some(left) = u32::try_from(left)
            .ok()
            .filter(|&left| u64::from(left) < n_free)
        else {
            return;
        };
        let allotted = self.allot((machines, known), free, left);
        let slots_at = |place: ResourceId| {
            let own = allotted.get(&place).copied().unwrap_or_default();
            own.saturating_add(known.granted(place))
        };
        // An activity that fits nowhere is told with all that is free.
        let held = known.grants().map(|grant| grant.resource);
        let places: BTreeSet<ResourceId> = free.keys().copied().chain(held).collect();
        let is_met = |activity: &&Activity| {
            let mut places = places.iter();
            places.any(|&place| has(place, slots_at(place), activity))
        };
        if needs.iter().all(is_met) {
            for (place, slots) in free.iter_mut() {
                *slots = allotted.get(place).copied().unwrap_or_default();
            }
        }
    }
}

/// The slots that the activities of a definition can use at the same time; none where no `at-most` and no named
/// limit bounds them. `most` tells the units of a named limit. O(nodes of the draft, for each named limit).
fn useful(definition: &Definition, most: &dyn Fn(&str) -> Option<u32>) -> Option<u64> {
    let draft = definition.draft();
    let is_narrow = |node: &model::Node| match &node.kind {
        NodeKind::ForEach(each) => each.at_most.is_some(),
        NodeKind::Activity(activity) => !activity.used_limits().is_empty(),
        NodeKind::Sequence(_)
        | NodeKind::Parallel { .. }
        | NodeKind::If { .. }
        | NodeKind::Repeat(_)
        | NodeKind::Assign(_)
        | NodeKind::Empty => false,
    };
    if !draft.nodes.iter().any(is_narrow) {
        return None;
    }
    // Of several limits, the first one counts.
    let limits = draft
        .nodes
        .iter()
        .filter_map(|node| first(node.activity()?));
    let mut classes: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for (activity, (name, units)) in limits {
        let (least, cores) = classes.entry(name).or_insert((units, 0));
        *least = units.min(*least);
        *cores = slots(activity).max(*cores);
    }
    let root = NodeId(0);
    let is_free = |activity: &Activity| first(activity).is_none();
    let mut sum = width(definition, root, &is_free, false)?;
    for (name, (least, cores)) in classes {
        let by_tree = width(
            definition,
            root,
            &|activity| first(activity).is_some_and(|(_, (own, _))| own == name),
            false,
        );
        let by_limit = most(name).map(|most| u64::from(most / least.max(1)) * u64::from(cores));
        let least = [by_tree, by_limit].into_iter().flatten().min()?;
        sum = sum.saturating_add(least);
    }
    Some(sum)
}

/// An activity with the first named limit that it takes of.
fn first(activity: &Activity) -> Option<(&Activity, (&str, u32))> {
    let (name, units) = activity.used_limits().first()?;
    Some((activity, (name, *units)))
}

fn slots(activity: &Activity) -> u32 {
    activity.cores.saturating_mul(activity.n_replicas())
}

/// The slots that the activities below a node which count can use at the same time; none where nobody knows how
/// many items a for-each has.
fn width(
    definition: &Definition,
    node: NodeId,
    counts: &dyn Fn(&Activity) -> bool,
    is_in_body: bool,
) -> Option<u64> {
    let children = definition.children(node);
    match &definition.node(node).kind {
        NodeKind::Activity(_) => {
            let declared = definition.activity_as_written(ActivityId(node.0));
            let declared = declared.filter(|&declared| counts(declared));
            Some(declared.map_or(0, |declared| u64::from(slots(declared))))
        }
        NodeKind::Assign(_) | NodeKind::Empty => Some(0),
        NodeKind::Sequence(_) | NodeKind::If { .. } => {
            let all = children.iter();
            let mut widths = all.map(|&child| width(definition, child, counts, is_in_body));
            widths.try_fold(0, |most, width| Some(most.max(width?)))
        }
        NodeKind::Parallel { .. } => {
            let all = children.iter();
            let mut widths = all.map(|&child| width(definition, child, counts, is_in_body));
            widths.try_fold(0, |sum: u64, width| Some(sum.saturating_add(width?)))
        }
        // Iterations run one after another, and have the same body.
        NodeKind::Repeat(_) => match children.last() {
            Some(&body) => width(definition, body, counts, true),
            None => Some(0),
        },
        NodeKind::ForEach(each) => {
            let body = match children.first() {
                Some(&body) => width(definition, body, counts, true)?,
                None => 0,
            };
            let n_known = (!is_in_body && definition.is_expanded(node)).then_some(children.len());
            let n_known = n_known.map(|n_known| n_known as u64);
            // Lists in bodies differ from item to item.
            let n_items = [each.at_most.map(u64::from), n_known];
            match (n_items.into_iter().flatten().min(), body) {
                (_, 0) => Some(0),
                (Some(n_items), body) => Some(body.saturating_mul(n_items)),
                (None, _) => None,
            }
        }
    }
}

#[cfg(test)]
mod tests;
