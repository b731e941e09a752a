//! The processes that a machine concerns, so that its events touch no others.

use std::collections::{BTreeMap, BTreeSet};

use model::{Generation, ProcessId, ResourceId};

use crate::process::Process;

/// By machine, the processes that it concerns: it has or had a place in their plans, holds slots for
/// them, or has files of theirs.
#[derive(Debug, Default)]
pub(super) struct Places {
    by_machine: BTreeMap<ResourceId, BTreeSet<ProcessId>>,
    by_process: BTreeMap<ProcessId, OfProcess>,
}

/// The machines of a process, and what they were taken from.
#[derive(Debug, Default)]
struct OfProcess {
    machines: BTreeSet<ResourceId>,
    generation: Generation,
    n_grants: usize,
    n_named: usize,
}

impl Places {
    /// Takes in the machines that concern a process since it was looked at last. None is forgotten
    /// while the process goes on: attempts may be out there.
    pub(super) fn note(&mut self, process: &Process) {
        let state = &process.state;
        let generation = state.plan.generation;
        let grants = state.holdings.values();
        // A number counts up with each claim that is answered.
        let n_grants = grants
            .map(|one| one.grants.len() + one.number as usize)
            .sum();
        let n_named = state.machines.len();
        if generation.0 == 0 && n_grants == 0 && n_named == 0 {
            return;
        }
        let id = process.id();
        let is_new = !self.by_process.contains_key(&id);
        let known = self.by_process.entry(id).or_default();
        let mut found: BTreeSet<ResourceId> = BTreeSet::new();
        if known.generation != generation {
            found.extend(state.plan.entries.iter().map(|entry| entry.resource));
        }
        if known.n_grants != n_grants {
            found.extend(process.grants().map(|grant| grant.resource));
        }
        if known.n_named != n_named {
            found.extend(state.machines.iter().map(|(machine, _)| *machine));
        }
        if is_new {
            found.extend(process.busy_machines());
        }
        known.generation = generation;
        known.n_grants = n_grants;
        known.n_named = n_named;
        for machine in found {
            if known.machines.insert(machine) {
                self.by_machine.entry(machine).or_default().insert(id);
            }
        }
    }

    /// An attempt of a process is sent to a machine.
    pub(super) fn add(&mut self, id: ProcessId, machine: ResourceId) {
        let known = self.by_process.entry(id).or_default();
        if known.machines.insert(machine) {
            self.by_machine.entry(machine).or_default().insert(id);
        }
    }

    /// Nothing is held for a process any more.
    pub(super) fn end(&mut self, id: ProcessId) {
        let known = self.by_process.remove(&id).unwrap_or_default();
        for machine in known.machines {
            if let Some(processes) = self.by_machine.get_mut(&machine) {
                processes.remove(&id);
                if processes.is_empty() {
                    self.by_machine.remove(&machine);
                }
            }
        }
    }

    /// The processes that a machine concerns.
    pub(super) fn at(&self, machine: ResourceId) -> impl Iterator<Item = ProcessId> {
        self.by_machine.get(&machine).into_iter().flatten().copied()
    }
}
