//! Replicas: activities of which several attempts are started from the beginning, on different machines and as far as
//! slots are free that nobody else waits for. The first result counts, as in any other race ([`super::races`]).
//!
//! The plan has one place for each activity. Slots for the others are claimed along with those of the plan, out of
//! what was free when it was made. Whether they are granted or not, the process begins; where they are all that is
//! claimed in a group, it does not wait for the answer.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use model::{Activity, ActivityId, Definition, Plan, ProcessId, Resource, ResourceId};
use wire::group::Want;

use super::limit::fits;
use super::{Market, Stage};
use crate::limits;
use crate::machines::Machines;
use crate::process::Process;
use crate::record::Phase;
use crate::step::Step;

/// An attempt to be started beside others at its activity, on this machine.
type Started = (ActivityId, ResourceId);

impl Market {
    /// The attempts that are to be started beside others, on slots that idle.
    pub(crate) fn replicas(
        &self,
        step: &Step<'_>,
        machines: &Machines,
        id: ProcessId,
    ) -> Vec<Started> {
        let demand = self.demands.get(&id);
        // A plan that is being made counts on all slots.
        let may_start = demand
            .is_some_and(|demand| demand.has_replicas && matches!(demand.stage, Stage::Settled));
        let known = step.cx.process(id).filter(|known| {
            may_start && known.phase() == Phase::Running && !self.queue.has_others(id)
        });
        let Some(known) = known else {
            return Vec::new();
        };
        let mut places: Vec<ResourceId> = known.grants().map(|grant| grant.resource).collect();
        places.sort_unstable();
        places.dedup();
        let power = |place: ResourceId| {
            let power = self.power_for(id, place).unwrap_or(0.0);
            power * self.factor(id, place)
        };
        let idle = places.into_iter().filter_map(|place| {
            let n_idle = self.idle_slots(known, machines, place);
            (n_idle > 0).then_some((place, power(place), n_idle))
        });
        let mut idle: Vec<(ResourceId, f64, u32)> = idle.collect();
        // The fastest first.
        idle.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        let mut started = Vec::new();
        let n_before = known.n_rivals();
        for (own, attempt) in known.out() {
            if idle.is_empty() || n_before + started.len() >= limits::REPLICAS_OUT_MAX {
                break;
            }
            let activity = attempt.activity;
            let Some(declared) = known.definition().activity_as_written(activity) else {
                continue;
            };
            let wanted = declared.n_replicas();
            let state = known.activity(activity);
            let is_first = state.is_out() && state.number == attempt.number;
            if wanted < 2 || !is_first || known.is_recomputation(attempt) {
                continue;
            }
            let mut taken: Vec<ResourceId> = vec![own];
            taken.extend(known.rivals(activity).map(|(_, rival)| rival.resource));
            let n_more = (wanted as usize).saturating_sub(taken.len());
            // Some may have been stopped since others needed their slots.
            let n_left =
                (wanted + limits::STRAGGLED_MAX).saturating_sub(known.last_number(activity));
            for _ in 0..n_more.min(n_left as usize) {
                let mut usable = idle.iter_mut().filter(|(place, _, n_idle)| {
                    let offered = self.answering(machines, *place);
                    !taken.contains(place)
                        && *n_idle >= declared.cores
                        && offered.is_some_and(|offered| fits(offered, declared))
                });
                let Some((place, _, n_idle)) = usable.next() else {
                    break;
                };
                *n_idle -= declared.cores;
                taken.push(*place);
                started.push((activity, *place));
            }
        }
        started
    }

    /// The machines and slots that a plan is asked for with: some of them may be for replicas.
    pub(super) fn note_spare(&mut self, id: ProcessId, resources: &[Resource]) {
        if let Some(demand) = self
            .demands
            .get_mut(&id)
            .filter(|demand| demand.has_replicas)
        {
            let spare = resources.iter().map(|one| (one.id, one.slots));
            demand.spare = spare.collect();
        }
    }

    /// Adds slots for replicas to those that a plan needs, of machines that it was made with.
    pub(super) fn add_for_replicas(&self, known: &Process, plan: &Plan, wants: &mut Vec<Want>) {
        let id = known.id();
        let Some(demand) = self.demands.get(&id).filter(|demand| demand.has_replicas) else {
            return;
        };
        if self.queue.has_others(id) {
            return;
        }
        let planned = wants.iter().map(|want| (want.resource, want.slots));
        let mut slots: BTreeMap<ResourceId, u32> = planned.collect();
        let places = demand.spare.iter().filter_map(|(&place, &spare)| {
            let free = self.slots.free(place).saturating_add(known.granted(place));
            Some((place, spare.min(free), self.offered_at(place)?))
        });
        let mut places: Vec<_> = places.collect();
        places.sort_by(|one, other| {
            other
                .2
                .power
                .total_cmp(&one.2.power)
                .then(one.0.cmp(&other.0))
        });
        let rows = rows(known.definition(), plan);
        for ((own, _), declared) in rows.into_iter().take(limits::REPLICAS_OUT_MAX) {
            let mut n_more = declared.n_replicas() - 1;
            for &(place, most, offered) in &places {
                let used = slots.get(&place).copied().unwrap_or_default();
                let used = used.saturating_add(declared.cores);
                if n_more == 0 {
                    break;
                }
                if place != own && used <= most && fits(offered, declared) {
                    slots.insert(place, used);
                    n_more -= 1;
                }
            }
        }
        let all = slots.into_iter();
        *wants = all
            .map(|(resource, slots)| Want { resource, slots })
            .collect();
    }
}

/// Returns true if a definition has activities with replicas.
pub(super) fn has_replicas(definition: &Definition) -> bool {
    let nodes = definition.draft().nodes.iter();
    let mut activities = nodes.filter_map(|node| node.activity());
    activities.any(|activity| activity.n_replicas() > 1)
}

/// The slots on which a plan has activities with replicas: as many of these run at the same time. For each, the one
/// that wants most.
fn rows<'a>(definition: &'a Definition, plan: &Plan) -> BTreeMap<(ResourceId, u32), &'a Activity> {
    let mut rows: BTreeMap<(ResourceId, u32), &Activity> = BTreeMap::new();
    let wants = |activity: &Activity| Reverse((activity.n_replicas(), activity.cores));
    for entry in &plan.entries {
        let declared = definition.activity_as_written(entry.activity);
        let Some(declared) = declared.filter(|declared| declared.n_replicas() > 1) else {
            continue;
        };
        let most = rows.entry((entry.resource, entry.slot)).or_insert(declared);
        if wants(declared) < wants(most) {
            *most = declared;
        }
    }
    rows
}
