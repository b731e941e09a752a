//! What lies on the disks of machines that do not share a store: what each has produced, was given as
//! an input or keeps as a copy, and files that are lost.
//!
//! Transfers always succeed where the machine that is named has the file. A file is lost only where
//! the process manager has recorded that another machine keeps a copy, and that one has it: so no
//! loss is a reason to run anything again.

use std::collections::{BTreeMap, BTreeSet};

use activity_core::Input;
use model::{ActivityId, Artifact, AttemptId, Hash, ProcessId};
use process_core::Event;
use wire::attempt::{Copied, Holder};

use crate::random::Rate;
use crate::sim::{Happening, Sim};

/// Copies that are not made, though they were asked for.
const COPY_FAILS: Rate = Rate::percent(20);

/// An activity of a process.
type Maker = (ProcessId, ActivityId);

/// All disks.
#[derive(Debug, Default)]
pub(crate) struct Stores {
    /// By machine.
    blobs: BTreeMap<usize, BTreeSet<Hash>>,
    /// What each activity has produced, or what stands for it. Files of users are not among these and
    /// lie everywhere.
    made: BTreeMap<Maker, BTreeSet<Hash>>,
    /// Who was named as having it, when a machine was asked to keep it.
    named: BTreeMap<(Maker, usize), usize>,
    /// Who has it and who keeps a copy, as it is recorded.
    kept: BTreeMap<Maker, (usize, usize)>,
}

impl Stores {
    /// An attempt has produced this.
    pub(crate) fn produce(&mut self, machine: usize, attempt: AttemptId, artifacts: &[Artifact]) {
        let hashes = artifacts.iter().map(|artifact| artifact.hash);
        let maker = (attempt.process, attempt.activity);
        self.made.entry(maker).or_default().extend(hashes.clone());
        self.blobs.entry(machine).or_default().extend(hashes);
    }

    /// The inputs that a machine neither has nor gets, by their place.
    pub(crate) fn lacking(
        &mut self,
        machine: usize,
        inputs: &[(String, Artifact)],
        sources: &[(u32, Vec<Holder>)],
    ) -> Vec<u32> {
        let mut lacking = Vec::new();
        for (input, (_, artifact)) in (0..).zip(inputs) {
            let named = sources.iter().filter(|(of, _)| *of == input);
            let named: Vec<usize> = named.flat_map(|(_, holders)| holders).map(number).collect();
            let is_made = self.made.values().any(|made| made.contains(&artifact.hash));
            if is_made && !self.fetch(machine, artifact.hash, &named) {
                lacking.push(input);
            }
        }
        lacking
    }

    fn fetch(&mut self, machine: usize, hash: Hash, from: &[usize]) -> bool {
        let can_be = self.has(machine, hash) || from.iter().any(|&one| self.has(one, hash));
        if can_be {
            self.blobs.entry(machine).or_default().insert(hash);
        }
        can_be
    }

    fn has(&self, machine: usize, hash: Hash) -> bool {
        self.blobs
            .get(&machine)
            .is_some_and(|blobs| blobs.contains(&hash))
    }

    /// A machine is to keep this. Whether it can.
    fn copy(&mut self, machine: usize, copied: &Copied, sources: &[Holder]) -> bool {
        let from: Vec<usize> = sources.iter().map(number).collect();
        if let Some(&holder) = from.first() {
            let maker = (copied.process, copied.activity);
            self.named.insert((maker, machine), holder);
        }
        let mut artifacts = copied.artifacts.iter();
        artifacts.all(|artifact| self.fetch(machine, artifact.hash, &from))
    }

    /// The process manager has recorded something about files. `number` says which machine it means.
    fn recorded(&mut self, id: ProcessId, event: &Event, number: impl Fn(u32) -> Option<usize>) {
        match event {
            Event::Copied {
                activity, resource, ..
            } => {
                let maker = (id, *activity);
                if let Some(keeper) = number(resource.0)
                    && let Some(&holder) = self.named.get(&(maker, keeper))
                {
                    self.kept.insert(maker, (holder, keeper));
                }
            }
            Event::Reused(reused) => {
                let maker = (id, reused.activity);
                let hashes = reused.outputs.iter().map(|artifact| artifact.hash);
                self.made.entry(maker).or_default().extend(hashes);
                if let Some((copy, _)) = &reused.copy
                    && let (Some(holder), Some(keeper)) =
                        (number(reused.resource.0), number(copy.0))
                {
                    self.kept.insert(maker, (holder, keeper));
                }
            }
            Event::Epoch(_)
            | Event::Leased(_)
            | Event::Founded(_)
            | Event::Planned { .. }
            | Event::Granted { .. }
            | Event::Sent(..)
            | Event::Ended(_)
            | Event::Linked(_)
            | Event::Joined { .. }
            | Event::Assigned { .. }
            | Event::Faulted(_)
            | Event::CancelAsked
            | Event::Closed { .. }
            | Event::Released
            | Event::Readied(_)
            | Event::Broke { .. }
            | Event::Remaking(_) => {}
        }
    }

    /// A machine loses what can be had elsewhere. How many files that are.
    fn lose(&mut self, machine: usize) -> usize {
        let all = self.blobs.get(&machine).cloned().unwrap_or_default();
        let safe = |hash: &Hash| {
            let mut makers = self.made.iter().filter(|(_, made)| made.contains(hash));
            makers.all(|(maker, _)| match self.kept.get(maker) {
                Some(&(holder, keeper)) if machine == holder => self.has(keeper, *hash),
                Some(&(holder, keeper)) if machine == keeper => self.has(holder, *hash),
                // It was fetched for an attempt alone.
                Some(_) => true,
                None => false,
            })
        };
        let lost: Vec<Hash> = all.into_iter().filter(safe).collect();
        if let Some(blobs) = self.blobs.get_mut(&machine) {
            blobs.retain(|hash| !lost.contains(hash));
        }
        lost.len()
    }
}

/// Machines have their number in their name.
fn number(holder: &Holder) -> usize {
    let number = holder.name.trim_start_matches('m');
    number.parse().unwrap_or(usize::MAX)
}

impl Sim {
    /// A machine fetches what it is asked to keep, if nothing comes between.
    pub(crate) fn copy(&mut self, machine: usize, to: u32, copied: Copied, sources: &[Holder]) {
        let takes = self.random.span(self.setup.works_aside);
        let fails = self.random.happens(COPY_FAILS);
        if !fails && self.stores.copy(machine, &copied, sources) {
            let life = self.machines.get(machine).host.life;
            let input = Box::new(Input::Copied { to, copied });
            let happening = Happening::Copied {
                machine,
                life,
                input,
            };
            self.after(takes, happening);
        }
    }

    /// Something is durable that may be about files.
    pub(crate) fn note_files(&mut self, id: ProcessId, event: &Event) {
        if self.setup.has_stores {
            let machines = &self.by_number;
            let number = |number| machines.get(&model::ResourceId(number)).copied();
            self.stores.recorded(id, event, number);
        }
    }

    /// A machine loses files.
    pub(crate) fn lose_files(&mut self, machine: usize) {
        let n_lost = self.stores.lose(machine);
        self.note(&[12], || {
            format!("machine {machine} loses {n_lost} files of which there are copies")
        });
    }
}
