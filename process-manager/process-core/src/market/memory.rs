//! Memory of machines that other processes of this manager hold or are planned to hold: plans are made around
//! it.
//!
//! ```text
//!   another process   |a, out: until it ends |.....|b, planned |
//!   slots are claimed |.........|c, as planned  |
//!   this one          |         what fits beside them          |
//! ```
//! A machine starts nothing for which it has too little memory left, whoever sent it: what was planned there
//! at once would run one after another, while other machines may be idle.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    ActivityId, Bytes, Definition, Entry, Node, Platform, ProcessId, Resource, ResourceId, Span,
};
use schedule::Held;

use super::{Market, Stage};
use crate::enact::busy::{Busy, Running};
use crate::enact::works::Works;
use crate::process::Process;
use crate::process::index::is_unsent;
use crate::step::Step;

/// Planned activities of other processes that are counted on a machine, the first ones first: what comes later
/// is planned again before it begins, and each costs time wherever a gap is looked for.
const PLANNED_MAX: usize = 256;

impl Market {
    /// The memory that activities of other processes hold on the machines of a platform, and by their plans will
    /// hold there; none where the process to be planned declares none. What other process managers hold is not
    /// known.
    pub(super) fn held_by_others(
        &self,
        step: &Step<'_>,
        process: &Process,
        platform: &Platform,
        running: &dyn Running,
    ) -> Vec<Held> {
        if !asks(process.definition()) {
            return Vec::new();
        }
        let machines = platform.resources().iter().map(|one| (one.id, one));
        let machines: BTreeMap<ResourceId, &Resource> = machines.collect();
        let sent = machines.keys().flat_map(|&one| running.processes_at(one));
        let users = self.slots.users().filter(|(_, wants)| {
            let mut wants = wants.iter();
            wants.any(|want| machines.contains_key(&want.resource))
        });
        let others: BTreeSet<ProcessId> = sent.chain(users.map(|(id, _)| id)).collect();
        let others = others.into_iter().filter(|&id| id != process.id());
        let others = others.filter_map(|id| step.cx.process(id));
        let (mut held, mut planned) = (Vec::new(), Vec::new());
        for other in others.filter(|other| asks(other.definition())) {
            let works = Works::new(other, step.history);
            let out = (running, step.now.wall);
            let busy = Busy::new(other, platform, &works, out, &BTreeSet::new());
            held.extend(held_now(other, &busy, &machines));
            planned.extend(self.planned(step, other, &busy, &machines));
        }
        planned.sort_by_key(|one: &Held| one.from);
        let mut n_planned: BTreeMap<ResourceId, usize> = BTreeMap::new();
        planned.retain(|one| {
            let n_planned = n_planned.entry(one.resource).or_default();
            *n_planned += 1;
            *n_planned <= PLANNED_MAX
        });
        held.extend(planned);
        held
    }

    /// The memory of what another process has planned and not sent: by the plan that it claims slots for, else by
    /// that in force, put off or brought forward with what is out of it.
    fn planned(
        &self,
        step: &Step<'_>,
        known: &Process,
        busy: &Busy,
        machines: &BTreeMap<ResourceId, &Resource>,
    ) -> Vec<Held> {
        let claimed = self.demands.get(&known.id()).map(|demand| &demand.stage);
        let claimed = match claimed {
            Some(Stage::Claiming { plan, .. } | Stage::Retracting { plan, .. }) => Some(plan),
            Some(Stage::Settled | Stage::Wanting | Stage::Planning { .. }) | None => None,
        };
        let entries = claimed.map_or(&known.state.plan.entries, |plan| &plan.entries);
        let is_left = |entry: &&Entry| is_unsent(known.activity(entry.activity).phase);
        let put_off = match claimed {
            Some(_) => 0,
            None => put_off(known, busy, known.since_planned(step.now.wall)),
        };
        let planned = entries.iter().filter(is_left).filter_map(|entry| {
            let machine = machines.get(&entry.resource)?;
            let from = (i128::from(entry.start.0) + put_off).max(0);
            let from = Span(u64::try_from(from).unwrap_or(u64::MAX));
            Some(Held {
                resource: entry.resource,
                memory: memory_at(known, entry.activity, machine)?,
                from,
                until: from + (entry.finish - entry.start),
            })
        });
        planned.collect()
    }
}

/// The memory of what a process has out, until it is expected to end.
fn held_now(known: &Process, busy: &Busy, machines: &BTreeMap<ResourceId, &Resource>) -> Vec<Held> {
    let held = known.out().filter_map(|(resource, attempt)| {
        let machine = machines.get(&resource)?;
        Some(Held {
            resource,
            memory: memory_at(known, attempt.activity, machine)?,
            from: Span::ZERO,
            until: busy.ends.get(&attempt.activity).copied()?,
        })
    });
    held.collect()
}

/// The memory of an attempt on a machine: one that grows takes no more than there is.
fn memory_at(known: &Process, activity: ActivityId, machine: &Resource) -> Option<Bytes> {
    let asked = known.memory_asked(activity)?;
    Some(asked.min(machine.memory))
}

/// The time from the moment of a planned time until that time, less the planned time, in microseconds: by the
/// latest of what is out, and nothing that was not sent begins before the moment.
fn put_off(known: &Process, busy: &Busy, since_planned: Span) -> i128 {
    let plan = &known.state.plan;
    let behind = |at: Span, planned: Span| i128::from(at.0) - i128::from(planned.0);
    let out = busy.ends.iter().filter_map(|(&activity, &end)| {
        let entry = plan.entry(activity)?;
        Some(behind(end, entry.finish))
    });
    let passed = busy
        .ends
        .is_empty()
        .then(|| behind(Span::ZERO, since_planned));
    let left = plan.entries.iter();
    let left = left.filter(|entry| is_unsent(known.activity(entry.activity).phase));
    let left = left.map(|entry| behind(Span::ZERO, entry.start));
    out.chain(passed).chain(left).max().unwrap_or_default()
}

/// Returns true if any activity declares memory.
fn asks(definition: &Definition) -> bool {
    let mut activities = definition.draft().nodes.iter().filter_map(Node::activity);
    activities.any(|activity| activity.memory.is_some())
}

#[cfg(test)]
mod tests;
