//! The rows of both charts: machines, and in each the slots on which plan and attempts lie.

use model::{Definition, ResourceId};
use wire::client::{AttemptStatus, Status};

use super::escape::visible;
use super::figures::{Bar, Plan};
use super::packing::{self, Interval};
use crate::json::machine_of;

/// Machines that are used or planned.
pub(crate) fn resources(status: &Status) -> Vec<ResourceId> {
    let of = |attempt: &AttemptStatus| attempt.started.map(|_| attempt.resource);
    let used = status.activities.iter().flat_map(|one| {
        let planned = one.planned.map(|planned| planned.resource);
        one.attempts.iter().filter_map(of).chain(planned)
    });
    let used: std::collections::BTreeSet<ResourceId> = used.collect();
    let known = status.machines.iter().map(|(id, _)| *id);
    let mut all: Vec<ResourceId> = known.filter(|id| used.contains(id)).collect();
    let unknown: Vec<ResourceId> = used.into_iter().filter(|id| !all.contains(id)).collect();
    all.extend(unknown);
    all
}

/// Rows of a machine of which not all slots are held at a time: more idle ones are no picture.
const IDLE_ROWS_MAX: u32 = 64;

/// A machine that is used or planned.
#[derive(Debug)]
pub(crate) struct Used {
    /// Its name.
    pub(crate) name: String,
    /// Rows that it has in the chart of the plan.
    pub(crate) n_planned: u32,
    /// Rows that it has in the chart of the run.
    pub(crate) n_ran: u32,
    /// All its slots; as many as were used at a time where nobody has recorded them.
    pub(crate) n_slots: u32,
    /// Its bars.
    pub(crate) bars: Vec<usize>,
}

/// Gives plan and attempts their machines and slots; says also what made the slot of each bar free.
pub(crate) fn pack(
    status: &Status,
    definition: &Definition,
    resources: &[ResourceId],
    bars: &mut [Bar],
    plan: &mut Plan,
) -> (Vec<Used>, Vec<Option<usize>>) {
    let machine = |id: ResourceId| resources.iter().position(|&one| one == id).unwrap_or(0);
    let name = machine_of(status);
    let cores = |activity: usize| {
        let id = status.activities[activity].activity;
        definition
            .activity_as_written(id)
            .map_or(1, |one| one.cores.max(1))
    };
    let planned = |activity: usize| status.activities[activity].planned;
    for bar in &mut plan.bars {
        bar.machine = planned(bar.activity).map_or(0, |planned| machine(planned.resource));
    }
    for bar in bars.iter_mut() {
        bar.machine = attempt_of(status, bar).map_or(0, |attempt| machine(attempt.resource));
    }
    let mut used = Vec::new();
    let mut freed_by = vec![None; bars.len()];
    for (place, &id) in resources.iter().enumerate() {
        let of_plan = places(&plan.bars, |bar| bar.machine == place);
        let intervals: Vec<Interval> = of_plan
            .iter()
            .map(|&index| {
                let bar = &plan.bars[index];
                Interval {
                    start: bar.start,
                    end: bar.end,
                    n_slots: cores(bar.activity),
                    wanted: planned(bar.activity).map(|planned| planned.slot),
                }
            })
            .collect();
        let highest = intervals.iter().filter_map(|one| one.wanted).max();
        let in_plan = packing::pack(&intervals, highest.map_or(0, |slot| slot + 1));
        for (&index, slots) in of_plan.iter().zip(&in_plan.slots) {
            plan.bars[index].slots.clone_from(slots);
        }
        let known = status.slots.iter().find(|(one, _)| *one == id);
        let known = known.map(|(_, slots)| *slots);
        let of_run = places(bars, |bar| bar.machine == place);
        let intervals: Vec<Interval> = of_run
            .iter()
            .map(|&index| {
                let bar = &bars[index];
                let held = attempt_of(status, bar).map_or(0, |attempt| attempt.slots);
                let meant = planned(bar.activity).filter(|planned| planned.resource == id);
                let meant = meant.filter(|planned| known.is_none_or(|known| planned.slot < known));
                Interval {
                    start: bar.start,
                    end: bar.end,
                    n_slots: if held > 0 { held } else { cores(bar.activity) },
                    wanted: meant.map(|planned| planned.slot),
                }
            })
            .collect();
        let n_known = known.map_or(in_plan.n_slots, |known| known.min(IDLE_ROWS_MAX));
        let packed = packing::pack(&intervals, n_known);
        for (at, &index) in of_run.iter().enumerate() {
            bars[index].slots.clone_from(&packed.slots[at]);
            freed_by[index] = packed.freed_by[at].map(|other| of_run[other]);
        }
        used.push(Used {
            name: visible(&name(id)),
            n_planned: in_plan.n_slots.max(1),
            n_ran: packed.n_slots.max(1),
            n_slots: known.unwrap_or(packed.n_slots),
            bars: of_run,
        });
    }
    (used, freed_by)
}

fn places<T>(of: &[T], is_meant: impl Fn(&T) -> bool) -> Vec<usize> {
    let meant = of.iter().enumerate().filter(|(_, one)| is_meant(one));
    meant.map(|(index, _)| index).collect()
}

fn attempt_of<'a>(status: &'a Status, bar: &Bar) -> Option<&'a AttemptStatus> {
    let attempts = &status.activities[bar.activity].attempts;
    attempts.iter().find(|one| one.attempt.number == bar.number)
}
