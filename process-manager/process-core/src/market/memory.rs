//! Memory of machines that other processes of this manager hold: plans are made around it.

use std::collections::{BTreeMap, BTreeSet};

use model::{Platform, ProcessId};
use schedule::Held;

use crate::enact::busy::{Busy, Running, held_at};
use crate::enact::works::Works;
use crate::process::Process;
use crate::step::Step;

/// The memory that attempts of other processes hold on the machines of a platform; none where the
/// process to be planned declares none. What other process managers hold is not known.
pub(super) fn held_by_others(
    step: &Step<'_>,
    process: &Process,
    platform: &Platform,
    running: &dyn Running,
) -> Vec<Held> {
    let definition = process.definition();
    let mut activities = definition.activities().iter();
    let asks = activities.any(|&one| {
        let declared = definition.activity_as_written(one);
        declared.is_some_and(|declared| declared.memory.is_some())
    });
    if !asks {
        return Vec::new();
    }
    let mut busy: BTreeMap<ProcessId, Busy> = BTreeMap::new();
    let mut held = Vec::new();
    for machine in platform.resources() {
        for id in running.processes_at(machine.id) {
            let Some(other) = step.cx.process(id).filter(|_| id != process.id()) else {
                continue;
            };
            let out = (running, step.now.wall);
            let busy = busy.entry(id).or_insert_with(|| {
                Busy::new(
                    other,
                    platform,
                    &Works::new(other, step.history),
                    out,
                    &BTreeSet::new(),
                )
            });
            held.extend(held_at(other, busy, machine.id));
        }
    }
    held
}

#[cfg(test)]
mod tests;
