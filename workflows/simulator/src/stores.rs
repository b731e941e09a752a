//! The files on the disks of machines that do not share a store: outputs, inputs and copies, and files
//! that are lost.
//!
//! Transfers always succeed where the machine that is named has the file. A file is lost only where
//! the process manager has recorded that another machine keeps a copy, and that one has it: so no
//! loss is a reason to run anything again. Where a machine is cut off with that for so long that the
//! process manager must have given it up, another copy of what is still needed is expected in the end.

use std::collections::{BTreeMap, BTreeSet};

use activity_core::Input;
use model::{
    ActivityId, Artifact, AttemptId, Draft, Hash, Mono, OutputSource, ProcessId, ResourceId,
    Source, Span, Value,
};
use process_core::record::Phase;
use process_core::{Event, Verdict};
use wire::attempt::{Checked, Copied, Discard, Fetched, Holder, TRANSFER_TOLD_LEAST};

use crate::discards::{self, Blobs, User};
use crate::observe::{Observer, Seen};
use crate::random::Rate;
use crate::sim::{Happening, Node, Sim};

/// Copies that are not made, though they were asked for.
const COPY_FAILS: Rate = Rate::percent(20);
/// Machines cut off whose process manager dies before it has given them up.
const DIES_TOO: Rate = Rate::percent(50);
/// After so long a machine that is cut off is given up: its lease has ended, and the process manager has
/// died twice meanwhile and waited for it anew.
const GIVEN_UP_AFTER: Span = Span::from_secs(45);

/// An activity of a process.
type Maker = (ProcessId, ActivityId);

/// All disks.
#[derive(Debug, Default)]
pub(crate) struct Stores {
    /// The works of activities that each process manager has kept.
    pub(crate) histories: BTreeMap<usize, history::Store>,
    /// By machine.
    blobs: BTreeMap<usize, Blobs>,
    /// Processes that discard files.
    discarding: BTreeSet<ProcessId>,
    /// The outputs of each activity, or those that stand for them. Files of users are not among these
    /// and lie everywhere.
    made: BTreeMap<Maker, BTreeSet<Hash>>,
    /// The machine that each attempt was sent to.
    sent: BTreeMap<AttemptId, usize>,
    /// The machine that has the outputs of each activity, as it is recorded.
    holders: BTreeMap<Maker, usize>,
    /// The machine that keeps a copy of them, as it is recorded.
    keepers: BTreeMap<Maker, usize>,
    /// The parts of outputs of processes.
    wanted: BTreeSet<Maker>,
    completed: BTreeSet<ProcessId>,
    /// Of these, what no third machine could keep when their process ended: all were cut off.
    alone: BTreeSet<Maker>,
    burnt: Vec<Burnt>,
}

/// A machine was cut off without what others had.
#[derive(Debug)]
struct Burnt {
    machine: usize,
    at: Mono,
    until: Mono,
    /// Files that it has not got since.
    hashes: BTreeSet<Hash>,
}

impl Stores {
    /// A process is submitted.
    pub(crate) fn submit(&mut self, id: ProcessId, draft: &Draft) {
        if draft.keep_intermediates == Some(false) {
            self.discarding.insert(id);
        }
        for output in &draft.outputs {
            if let OutputSource::Produced(Source::Output { activity, .. }) = output.source {
                self.wanted.insert((id, ActivityId(activity.0)));
            }
        }
    }

    /// An attempt has produced this.
    pub(crate) fn produce(&mut self, machine: usize, attempt: AttemptId, artifacts: &[Artifact]) {
        let hashes = artifacts.iter().map(|artifact| artifact.hash);
        let maker = (attempt.process, attempt.activity);
        self.made.entry(maker).or_default().extend(hashes.clone());
        let user = match self.discarding.contains(&attempt.process) {
            true => User::Maker(attempt),
            false => User::Anybody,
        };
        for hash in hashes {
            self.put(machine, hash, user);
        }
    }

    /// A process discards files at a machine.
    pub(crate) fn discard(&mut self, machine: usize, discard: &Discard) {
        if let Some(blobs) = self.blobs.get_mut(&machine) {
            discards::discard(blobs, discard);
        }
    }

    /// Files that only a completed process has which discards files, by their makers.
    pub(crate) fn left(&self) -> Vec<Maker> {
        let left = discards::left(self.blobs.values(), &self.made).into_iter();
        left.filter(|(id, _)| self.completed.contains(id)).collect()
    }

    fn put(&mut self, machine: usize, hash: Hash, user: User) {
        let blobs = self.blobs.entry(machine).or_default();
        blobs.entry(hash).or_default().note(user);
        for burnt in self.burnt.iter_mut().filter(|one| one.machine == machine) {
            burnt.hashes.remove(&hash);
        }
    }

    /// The inputs that a machine neither has nor gets, by their place.
    pub(crate) fn lacking(
        &mut self,
        (machine, process): (usize, ProcessId),
        inputs: &[(String, Artifact)],
        sources: &[(u32, Vec<Holder>)],
    ) -> Vec<u32> {
        let user = match self.discarding.contains(&process) {
            true => User::Given(process),
            false => User::Anybody,
        };
        let mut lacking = Vec::new();
        for (input, (_, artifact)) in (0..).zip(inputs) {
            let named = sources.iter().filter(|(of, _)| *of == input);
            let named: Vec<usize> = named.flat_map(|(_, holders)| holders).map(number).collect();
            let is_made = self.made.values().any(|made| made.contains(&artifact.hash));
            if is_made && !self.fetch((machine, user), artifact.hash, &named) {
                lacking.push(input);
            }
        }
        lacking
    }

    fn fetch(&mut self, (machine, user): (usize, User), hash: Hash, from: &[usize]) -> bool {
        let can_be = self.has(machine, hash) || from.iter().any(|&one| self.has(one, hash));
        if can_be {
            self.put(machine, hash, user);
        }
        can_be
    }

    fn has(&self, machine: usize, hash: Hash) -> bool {
        self.blobs
            .get(&machine)
            .is_some_and(|blobs| blobs.contains_key(&hash))
    }

    /// True if a machine has a file and is not cut off with it.
    fn gives(&self, at: Mono, machine: usize, hash: Hash) -> bool {
        let is_cut_off = |burnt: &Burnt| burnt.machine == machine && at < burnt.until;
        self.has(machine, hash) && !self.burnt.iter().any(is_cut_off)
    }

    /// True if a machine has something that nobody else gives who is known to have it.
    fn is_the_only_one(&self, at: Mono, machine: usize) -> bool {
        let blobs = self.blobs.get(&machine).into_iter();
        let mut blobs = blobs.flat_map(Blobs::keys);
        blobs.any(|hash| !self.can_be_lost(at, machine, *hash))
    }

    /// True if somebody else gives what a machine has, as it is recorded, or nobody looks for it there.
    fn can_be_lost(&self, at: Mono, machine: usize, hash: Hash) -> bool {
        let mut makers = self.made.iter().filter(|(_, made)| made.contains(&hash));
        makers.all(|(maker, _)| {
            let pair = self.holders.get(maker).zip(self.keepers.get(maker));
            match pair {
                Some((&holder, &keeper)) if machine == holder => self.gives(at, keeper, hash),
                Some((&holder, &keeper)) if machine == keeper => self.gives(at, holder, hash),
                // It was fetched for an attempt alone.
                Some(_) => true,
                None => false,
            }
        })
    }

    /// A machine is to keep this. Whether it can.
    fn copy(
        &mut self,
        (machine, user): (usize, User),
        copied: &Copied,
        sources: &[Holder],
    ) -> bool {
        let from: Vec<usize> = sources.iter().map(number).collect();
        let mut artifacts = copied.artifacts.iter();
        artifacts.all(|artifact| self.fetch((machine, user), artifact.hash, &from))
    }

    /// The process manager has recorded something about files. `number` says which machine it means.
    fn recorded(
        &mut self,
        (at, n_machines): (Mono, usize),
        id: ProcessId,
        event: &Event,
        number: impl Fn(ResourceId) -> Option<usize>,
    ) {
        match event {
            Event::Sent(attempts, _)
            | Event::Racing(attempts, _)
            | Event::Recomputing(attempts) => {
                for &(activity, attempt, resource) in attempts {
                    let attempt = AttemptId {
                        process: id,
                        activity,
                        number: attempt,
                    };
                    if let Some(machine) = number(resource) {
                        self.sent.insert(attempt, machine);
                    }
                }
            }
            Event::Ended(ended) if ended.verdict == Verdict::Completed => {
                let attempt = ended.outcome.attempt;
                let maker = (id, attempt.activity);
                if let Some(&machine) = self.sent.get(&attempt) {
                    self.holders.insert(maker, machine);
                    self.keepers.remove(&maker);
                }
            }
            Event::Copied {
                activity,
                resource,
                machine: _,
                beside,
            } => {
                let maker = (id, *activity);
                let keeper = number(*resource);
                self.keepers.extend(keeper.map(|keeper| (maker, keeper)));
                let holder = beside.and_then(&number);
                self.holders.extend(holder.map(|holder| (maker, holder)));
            }
            Event::Reused(reused) => {
                let maker = (id, reused.activity);
                let hashes = reused.outputs.iter().map(|artifact| artifact.hash);
                self.made.entry(maker).or_default().extend(hashes);
                let holder = reused.holder.as_ref().map(|(holder, _)| *holder);
                let holder = number(holder.unwrap_or(reused.resource));
                self.holders.extend(holder.map(|holder| (maker, holder)));
                let keeper = reused.copy.as_ref().and_then(|&(copy, _)| number(copy));
                self.keepers.extend(keeper.map(|keeper| (maker, keeper)));
            }
            Event::Closed { phase, outputs, .. } => {
                if *phase == Phase::Completed {
                    self.completed.insert(id);
                    self.note_wanted(id, outputs);
                    self.note_alone(at, n_machines, id);
                }
            }
            Event::Epoch(_)
            | Event::Leased(_)
            | Event::Founded(_)
            | Event::Planned(_)
            | Event::Replanned(_)
            | Event::Granted { .. }
            | Event::MachineLost { .. }
            | Event::FilesLost(..)
            | Event::Ended(_)
            | Event::Decided(_)
            | Event::Expanded(_)
            | Event::Assigned { .. }
            | Event::Faulted(_)
            | Event::CancelAsked
            | Event::Released
            | Event::Readied(_)
            | Event::Broke { .. } => {}
        }
    }

    /// A machine loses what can be had elsewhere. Which files that are.
    fn lose(&mut self, at: Mono, machine: usize) -> BTreeSet<Hash> {
        let all = self.blobs.get(&machine).into_iter().flat_map(Blobs::keys);
        let can_be = |hash: &Hash| self.can_be_lost(at, machine, *hash);
        let lost: BTreeSet<Hash> = all.copied().filter(can_be).collect();
        if let Some(blobs) = self.blobs.get_mut(&machine) {
            blobs.retain(|hash, _| !lost.contains(hash));
        }
        lost
    }

    /// A process has ended: who has made its outputs. Of a loop it is the last iteration.
    fn note_wanted(&mut self, id: ProcessId, outputs: &[(String, Value)]) {
        let of_process = (id, ActivityId(0))..=(id, ActivityId(u32::MAX));
        let mut makers: BTreeMap<Hash, Vec<Maker>> = BTreeMap::new();
        for (_, value) in outputs {
            if let Value::Artifact(artifact, _) = value {
                let made = self.made.range(of_process.clone());
                let made = made.filter(|(_, hashes)| hashes.contains(&artifact.hash));
                makers.insert(artifact.hash, made.map(|(maker, _)| *maker).collect());
            }
        }
        let is_one = |maker: &Maker| makers.values().any(|makers| makers.contains(maker));
        self.wanted.retain(|maker| maker.0 != id || is_one(maker));
        // Where several have made the same, those that are named in the definition stand.
        let alone = makers.values().filter(|makers| makers.len() == 1);
        self.wanted.extend(alone.flatten());
    }

    /// A process has ended: what cannot have another copy, since no third machine is there.
    fn note_alone(&mut self, at: Mono, n_machines: usize, id: ProcessId) {
        let is_cut_off = |machine: usize| {
            let mut burnt = self.burnt.iter();
            burnt.any(|one| one.machine == machine && one.at <= at && at < one.until)
        };
        let all = (id, ActivityId(0))..=(id, ActivityId(u32::MAX));
        let alone = self.wanted.range(all).filter(|maker| {
            let pair = [self.holders.get(maker), self.keepers.get(maker)];
            let mut others = (0..n_machines).filter(|machine| !pair.contains(&Some(machine)));
            others.all(is_cut_off)
        });
        let alone: Vec<Maker> = alone.copied().collect();
        self.alone.extend(alone);
    }

    /// Parts of outputs of processes that are recorded to be on a machine which has lost them, and
    /// was given up for that.
    fn bereft(&self, healed_at: Mono) -> Vec<Maker> {
        let is_gone = |machine: usize, hash: &Hash| {
            self.burnt.iter().any(|burnt| {
                let until = burnt.until.min(healed_at);
                let is_given_up = until.since(burnt.at) >= GIVEN_UP_AFTER;
                burnt.machine == machine && is_given_up && burnt.hashes.contains(hash)
            })
        };
        let wanted = self.wanted.iter();
        let wanted = wanted.filter(|(id, _)| self.completed.contains(id));
        let wanted = wanted.filter(|maker| !self.alone.contains(maker));
        let bereft = wanted.filter(|maker| {
            let pair = [self.holders.get(maker), self.keepers.get(maker)];
            let made = self.made.get(maker).into_iter().flatten();
            let mut pair = pair.into_iter().flatten();
            pair.any(|&machine| made.clone().any(|hash| is_gone(machine, hash)))
        });
        bereft.copied().collect()
    }
}

/// Machines have their number in their name.
fn number(holder: &Holder) -> usize {
    let number = holder.name.trim_start_matches('m');
    number.parse().unwrap_or(usize::MAX)
}

impl Sim {
    /// A machine fetches what it is asked to keep, if nothing comes between.
    pub(crate) fn copy(
        &mut self,
        (machine, to): (usize, u32),
        copied: Copied,
        number: Option<u32>,
        sources: &[Holder],
    ) {
        let user = number.map_or(User::Anybody, |number| {
            User::Maker(AttemptId {
                process: copied.process,
                activity: copied.activity,
                number,
            })
        });
        let takes = self.random.span(self.setup.works_aside);
        let fails = self.random.happens(COPY_FAILS);
        if !fails && self.stores.copy((machine, user), &copied, sources) {
            let epoch = self.machines.get(machine).host.epoch;
            let input = Box::new(Input::Copied { to, copied });
            let happening = Happening::Copied {
                machine,
                epoch,
                input,
            };
            self.after(takes, happening);
        }
    }

    /// A machine looks whether it has what it is asked about, or gets it.
    pub(crate) fn check(&mut self, machine: usize, to: u32, copied: Copied, sources: &[Holder]) {
        let takes = self.random.span(self.setup.works_aside);
        let is_sound = !self.setup.has_stores || {
            let machine = (machine, User::Anybody);
            self.stores.copy(machine, &copied, sources)
        };
        let checked = Checked { copied, is_sound };
        let epoch = self.machines.get(machine).host.epoch;
        let input = Box::new(Input::Checked { to, checked });
        let happening = Happening::Copied {
            machine,
            epoch,
            input,
        };
        self.after(takes, happening);
    }

    /// A machine measures its links to others, as far as these answer.
    pub(crate) fn probe(&mut self, (machine, to): (usize, u32), peers: &[Holder]) {
        let epoch = self.machines.get(machine).host.epoch;
        for peer in peers {
            let took = self.random.span(self.setup.works_aside);
            if self.random.happens(COPY_FAILS) {
                continue;
            }
            let fetched = Fetched {
                from: peer.resource,
                bytes: TRANSFER_TOLD_LEAST,
                took,
            };
            let happening = Happening::Copied {
                machine,
                epoch,
                input: Box::new(Input::Probed { to, fetched }),
            };
            self.after(took, happening);
        }
    }

    /// Something is durable that may be about files.
    pub(crate) fn note_files(&mut self, id: ProcessId, event: &Event) {
        if self.setup.has_stores {
            let machines = &self.by_number;
            let number = |id| machines.get(&id).copied();
            let (at, n_machines) = (self.at, self.machines.n());
            self.stores.recorded((at, n_machines), id, event, number);
        }
    }

    /// A machine loses files.
    pub(crate) fn lose_files(&mut self, machine: usize) {
        let n_lost = self.stores.lose(self.at, machine).len();
        self.note(&[12], || {
            format!("machine {machine} loses {n_lost} files of which there are copies")
        });
    }

    /// A machine is cut off for long, and has lost files when it is there again. Not one that has
    /// something alone, since that would be a reason to make it again.
    pub(crate) fn burn(&mut self, machine: usize) {
        let until = self.at + self.random.span(self.faults.burnt_for);
        if self.stores.is_the_only_one(self.at, machine) {
            return;
        }
        let hashes = self.stores.lose(self.at, machine);
        let n_lost = hashes.len();
        self.note(&[16], || {
            format!("machine {machine} is cut off without {n_lost} files of which there are copies")
        });
        self.stores.burnt.push(Burnt {
            machine,
            at: self.at,
            until,
            hashes,
        });
        self.unplug_until(machine, until);
        if self.random.happens(DIES_TOO) {
            let after = self.random.span((Span::ZERO, wire::lease::LENGTH));
            let manager = self.any_process_manager();
            self.after(after, Happening::KillProcessManager(manager));
        }
    }

    /// A process manager dies, if none has died too often.
    pub(crate) fn kill_process_manager(
        &mut self,
        manager: usize,
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        if self.crashes.n_left == 0 || !self.processes[manager].is_up() {
            return Ok(());
        }
        self.crashes.n_left -= 1;
        self.dies(Node::Process(manager), observer)
    }

    /// At the end, what was lost with machines should have been copied again.
    pub(crate) fn look_for_lost(
        &mut self,
        healed_at: Mono,
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        for (process, activity) in self.stores.bereft(healed_at) {
            observer.see(self.at, &Seen::Bereft(process, activity))?;
        }
        Ok(())
    }
}
