//! Files that pass the machines of controllers (`data: controllers`): from the machine of their producer
//! up to that of the lowest controller that it shares with a reader, and down to that of the reader's
//! own. A reader is sent once they are there, and fetches them from there.
//!
//! ```text
//!   outcome recorded --copy (see `copies`)--> its controller --hop--> ... --hop--> the reader's controller
//!                                                      reader ready, and held back until then --> sent
//! ```
//! The first way up is the recorded copy of the outputs. All further hops are volatile, since a restart asks
//! for them again, and a machine that has the files answers at once. They are asked for when a reader is
//! ready. A machine that cannot be reached is replaced, as the place of a controller, by another one of the
//! process; and nobody waits for a hop for longer than [`patience`]: then the reader takes its files from
//! whoever has them.

use std::collections::{BTreeMap, BTreeSet};

use model::{ActivityId, Generation, Mono, NodeId, ProcessId, ResourceId, Span};
use wire::attempt::Copied;

use super::Files;
use super::copying::Asked;
use crate::enact::message::laid;
use crate::limits;
use crate::machines::Machines;
use crate::process::Process;
use crate::process::files::maker;
use crate::record::{ActivityPhase, Phase};
use crate::step::Step;
use crate::tally::Noted;
use crate::timer::Timer;

/// Hops of a process that are under way at a time: enough to keep a link busy.
const UNDER_WAY_MAX: usize = 1_024;

/// Ready activities of each line of a machine that are looked at in a step: more than the window of a machine of
/// some dozen slots takes, and so few that a process of 100,000 does not pay for all that are ready in each step.
const LOOKED_AT_MAX: usize = 512;

/// Activities whose outputs are known to be on further machines, readers that may go, and hops that were
/// given up, each: some MiB. What is forgotten beyond that is asked for again.
const REMEMBERED_MAX: usize = 65_536;

/// Seconds that a hop may take beside the transfer itself: its machine may be busy with others.
const PATIENCE: Span = Span::from_secs(10);

/// The slowest transfer that is waited for, in bytes a second: a tenth of a gigabit.
const SLOWEST: u64 = 12_500_000;

/// The files of a process on their way through the machines of controllers.
#[derive(Debug, Default)]
pub(super) struct Passing {
    /// Machines that have the outputs of an activity beside the recorded ones, with the number of the
    /// attempt that made these.
    there: BTreeMap<ActivityId, (u32, BTreeSet<ResourceId>)>,
    /// What is asked for, by producer and machine.
    hops: BTreeMap<(ActivityId, ResourceId), Hop>,
    /// Readers whose files are where they are to be, or not waited for, with the number of their last
    /// attempt.
    arrived: BTreeMap<ActivityId, u32>,
    /// Outputs that machines were asked for in vain.
    given_up: BTreeSet<(ActivityId, ResourceId)>,
    /// The plan that places follow from.
    generation: Generation,
}

/// Files that a machine is asked to fetch from another one.
#[derive(Clone, Copy, Debug)]
struct Hop {
    from: ResourceId,
    reader: ActivityId,
    /// When it is given up.
    until: Mono,
}

/// The next hop of what an activity has produced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Next {
    maker: ActivityId,
    from: ResourceId,
    to: ResourceId,
}

impl Passing {
    fn may_go(&self, known: &Process, reader: ActivityId) -> bool {
        self.arrived.get(&reader) == Some(&known.activity(reader).number)
    }

    fn let_go(&mut self, known: &Process, reader: ActivityId) {
        if self.arrived.len() >= REMEMBERED_MAX {
            self.arrived.clear();
        }
        self.arrived.insert(reader, known.activity(reader).number);
    }

    fn is_at(&self, known: &Process, maker: ActivityId, resource: ResourceId) -> bool {
        self.machines_of(known, maker).any(|one| one == resource)
    }

    /// The machines that have the outputs of an activity beside the recorded ones.
    fn machines_of(
        &self,
        known: &Process,
        maker: ActivityId,
    ) -> impl Iterator<Item = ResourceId> + '_ {
        let there = self.there.get(&maker);
        // Outputs that were made again since may differ.
        let there = there.filter(|(number, _)| *number == known.last_number(maker));
        there
            .into_iter()
            .flat_map(|(_, machines)| machines)
            .copied()
    }

    fn note(&mut self, known: &Process, maker: ActivityId, resource: ResourceId) {
        let number = known.last_number(maker);
        if self.there.len() >= REMEMBERED_MAX && !self.there.contains_key(&maker) {
            self.there.pop_first();
        }
        let there = self.there.entry(maker).or_default();
        if there.0 != number {
            *there = (number, BTreeSet::new());
        }
        there.1.insert(resource);
    }

    /// Returns true if files of the process pass controllers, or have done so.
    pub(super) fn is_used(&self) -> bool {
        !self.there.is_empty() || !self.arrived.is_empty() || self.is_under_way()
    }

    /// A machine has lost its files.
    pub(super) fn lose(&mut self, resource: ResourceId) {
        for (_, machines) in self.there.values_mut() {
            machines.remove(&resource);
        }
        self.there.retain(|_, (_, machines)| !machines.is_empty());
        self.arrived.clear();
        self.given_up.clear();
        let concerns = |to: ResourceId, hop: &Hop| to == resource || hop.from == resource;
        self.hops.retain(|&(_, to), hop| !concerns(to, hop));
    }

    /// Returns true if a machine is asked for something.
    pub(super) fn is_under_way(&self) -> bool {
        !self.hops.is_empty()
    }
}

impl Files {
    /// Looks at the readers whose turn comes next, and asks for the files that are not at the machines of
    /// their controllers.
    pub(crate) fn pass_on(&mut self, step: &mut Step<'_>, machines: &Machines, id: ProcessId) {
        let is_concerned = |known: &&Process| self.passes(known);
        if step.cx.process(id).filter(is_concerned).is_none() {
            return;
        }
        // The first way up is theirs.
        self.ask_for_copies(step, machines, id);
        let (Some(open), Some(known)) = (self.open.get_mut(&id), step.cx.process(id)) else {
            return;
        };
        let mut passing = std::mem::take(&mut open.passing);
        let generation = known.state.plan.generation;
        if passing.generation != generation {
            passing.generation = generation;
            passing.arrived.clear();
            passing.given_up.clear();
        }
        let mut readers = Vec::new();
        let mut has_more = false;
        // A reader of many files asks for the next ones when those before are there, and not at each of them.
        let asking: BTreeSet<ActivityId> = passing.hops.values().map(|hop| hop.reader).collect();
        for queue in known.index.ready.values() {
            let first = queue.first_of_lines(LOOKED_AT_MAX);
            let waits = |reader: &ActivityId| !passing.may_go(known, *reader);
            readers.extend(first.filter(waits).filter(|one| !asking.contains(one)));
        }
        let mut asked = Vec::new();
        for reader in readers {
            if passing.hops.len() >= UNDER_WAY_MAX {
                has_more = true;
                break;
            }
            let next = self.next_hops(machines, known, &passing, reader);
            if next.is_empty() {
                passing.let_go(known, reader);
            }
            for Next { maker, from, to } in next {
                let until = step.now.mono + patience(known, maker);
                passing.hops.entry((maker, to)).or_insert_with(|| {
                    asked.push((maker, to, from));
                    Hop {
                        from,
                        reader,
                        until,
                    }
                });
            }
        }
        self.send_hops(step, machines, id, &asked);
        for &(maker, to, _) in &asked {
            if let Some(known) = step.cx.process(id) {
                self.note_elsewhere(known, maker, to);
            }
        }
        let soon = step.now.mono + limits::REPEAT;
        if passing.is_under_way() {
            step.timers.set_once(Timer::Copy(id), soon);
        }
        if has_more {
            step.timers.set_once(Timer::Recall(id), soon);
        }
        if let Some(open) = self.open.get_mut(&id) {
            open.passing = passing;
        }
    }

    /// Asks again for what was asked for, and gives up what takes too long.
    pub(super) fn repeat_hops(&mut self, step: &mut Step<'_>, machines: &Machines, id: ProcessId) {
        let (Some(open), Some(known)) = (self.open.get_mut(&id), step.cx.process(id)) else {
            return;
        };
        if !open.passing.is_under_way() {
            return;
        }
        let mut passing = std::mem::take(&mut open.passing);
        let is_running = known.phase() == Phase::Running;
        let mut given_up = Vec::new();
        passing.hops.retain(|&(maker, to), hop| {
            let is_over = hop.until <= step.now.mono;
            if is_over {
                given_up.push((maker, to));
            }
            let phase = known.activity(hop.reader).phase;
            let is_wanted = is_running && phase == ActivityPhase::Ready;
            !is_over && is_wanted && self.may_keep(machines, to) && !self.stores.is_lost(hop.from)
        });
        let hops = passing.hops.iter();
        let again: Vec<(ActivityId, ResourceId, ResourceId)> = hops
            .map(|(&(maker, to), hop)| (maker, to, hop.from))
            .collect();
        for _ in &given_up {
            step.cx.note(Noted::HopGivenUp);
        }
        if passing.given_up.len() + given_up.len() > REMEMBERED_MAX {
            passing.given_up.clear();
        }
        passing.given_up.extend(given_up);
        self.send_hops(step, machines, id, &again);
        if let Some(open) = self.open.get_mut(&id) {
            open.passing = passing;
        }
        step.timers
            .set_once(Timer::Copy(id), step.now.mono + limits::REPEAT);
        // Another machine may be asked for the files of a hop that is given up.
        step.marks.mark(id);
    }

    /// A machine says that it has what an activity has produced.
    pub(super) fn note_passed(
        &mut self,
        step: &mut Step<'_>,
        copied: &Copied,
        resource: ResourceId,
    ) {
        let (id, activity) = (copied.process, copied.activity);
        let Some(known) = step.cx.process(id).filter(|known| self.passes(known)) else {
            return;
        };
        // A number of another machine may name nothing.
        let is_known = known.definition().activity_as_written(activity).is_some();
        let is_same = is_known
            && known
                .produced_by(activity)
                .eq(copied.artifacts.iter().copied());
        if !is_same || self.stores.get(resource).is_none() {
            return;
        }
        let moment = self.stores.next_moment();
        let Some(open) = self.open.get_mut(&id) else {
            return;
        };
        // An attempt that was sent before does not know of it.
        open.copied.insert(activity, moment);
        // The first copy is recorded.
        if !known.index.uncopied.contains(&activity) {
            open.passing.note(known, activity, resource);
        }
        if open.passing.hops.remove(&(activity, resource)).is_some() {
            step.cx.note(Noted::Hop);
        }
        step.marks.mark(id);
    }

    /// Returns true if a ready activity waits until its files are at the machine of its controller.
    pub(crate) fn awaits_controller(&self, known: &Process, reader: ActivityId) -> bool {
        let open = self.open.get(&known.id());
        self.passes(known) && open.is_some_and(|open| !open.passing.may_go(known, reader))
    }

    /// The producers whose files a ready activity waits for, with the machine that is to have them next.
    pub(crate) fn awaited(
        &self,
        machines: &Machines,
        known: &Process,
        reader: ActivityId,
    ) -> Vec<(ActivityId, ResourceId)> {
        let open = self.open.get(&known.id()).filter(|_| self.passes(known));
        let open = open.filter(|open| !open.passing.may_go(known, reader));
        let next = open.map(|open| self.next_hops(machines, known, &open.passing, reader));
        let next = next.unwrap_or_default().into_iter();
        next.map(|next| (next.maker, next.to)).collect()
    }

    /// The machine of the controller of a reader, where that has what an activity has produced.
    pub(super) fn own_source(
        &self,
        machines: &Machines,
        known: &Process,
        reader: ActivityId,
        maker: ActivityId,
    ) -> Option<ResourceId> {
        let own = known.controller_of(reader).filter(|_| self.passes(known))?;
        let own = self.place_of(machines, known, own)?;
        self.has(known, maker, own).then_some(own)
    }

    /// The machines that have what an activity has produced beside the recorded ones.
    pub(super) fn passed_by(&self, known: &Process, maker: ActivityId) -> Vec<ResourceId> {
        let open = self.open.get(&known.id());
        let machines = open.map(|open| open.passing.machines_of(known, maker));
        machines.into_iter().flatten().collect()
    }

    /// The machine of an activity's controller, which is to keep a copy of its outputs.
    pub(super) fn own_keeper(
        &self,
        machines: &Machines,
        known: &Process,
        activity: ActivityId,
    ) -> Option<ResourceId> {
        let own = known.controller_of(activity);
        let own = own.filter(|_| self.passes(known))?;
        self.place_of(machines, known, own)
    }

    /// Returns true if files pass controllers: not where all machines share one store, or nobody knows
    /// yet whether they do.
    fn passes(&self, known: &Process) -> bool {
        known.passes_controllers() && self.stores.is_told && !self.stores.is_shared()
    }

    fn has(&self, known: &Process, maker: ActivityId, resource: ResourceId) -> bool {
        let recorded = [Some(known.holder_of(maker)), known.copy_of(maker)];
        let open = self.open.get(&known.id());
        !self.stores.is_lost(resource)
            && (recorded.contains(&Some(resource))
                || open.is_some_and(|open| open.passing.is_at(known, maker, resource)))
    }

    /// The machine of a controller: the one that follows from the plan, or else the next one after it that
    /// can keep files, of those first whose slots the process holds.
    fn place_of(
        &self,
        machines: &Machines,
        known: &Process,
        controller: NodeId,
    ) -> Option<ResourceId> {
        let planned = known.machine_of_controller(controller);
        if planned.is_some_and(|one| self.may_keep(machines, one)) {
            return planned;
        }
        let able = |of: &dyn Fn(ResourceId) -> bool| {
            let able = self.stores.known();
            let able: Vec<ResourceId> = able
                .filter(|&one| self.may_keep(machines, one) && of(one))
                .collect();
            let after = planned.and_then(|planned| able.iter().find(|&&one| one > planned));
            after.or(able.first()).copied()
        };
        able(&|one| known.granted(one) > 0).or_else(|| able(&|_| true))
    }

    /// The next hop of each of the files of a reader that are not at the machine of its controller.
    fn next_hops(
        &self,
        machines: &Machines,
        known: &Process,
        passing: &Passing,
        reader: ActivityId,
    ) -> Vec<Next> {
        let declared = known.definition().activity(reader);
        let laid = declared.and_then(|declared| laid(known, reader, declared).ok());
        let makers = laid.iter().flatten().filter_map(|one| maker(one.source));
        let makers: BTreeSet<ActivityId> = makers.collect();
        let next = makers.into_iter().filter_map(|maker| {
            let way = known.controllers_between(maker, reader).into_iter();
            let stops: Vec<ResourceId> = way
                .filter_map(|controller| self.place_of(machines, known, controller))
                .collect();
            let has = |resource: ResourceId| {
                !self.stores.is_lost(resource)
                    && (passing.is_at(known, maker, resource)
                        || known.holder_of(maker) == resource
                        || known.copy_of(maker) == Some(resource))
            };
            let reached = stops.iter().rposition(|&one| has(one));
            let (from, to) = match reached {
                Some(at) => (stops[at], *stops.get(at + 1)?),
                None => {
                    let recorded = known.sources_of(maker, |one| self.stores.is_lost(one));
                    let all = recorded
                        .into_iter()
                        .chain(passing.machines_of(known, maker));
                    // What is lost everywhere is made again once its reader lacks it.
                    let mut there = all.filter(|&one| !self.stores.is_lost(one));
                    (there.next()?, *stops.first()?)
                }
            };
            let is_hopeless = passing.given_up.contains(&(maker, to))
                || known.is_to_be_recomputed(maker)
                || known.produced_by(maker).next().is_none();
            (!is_hopeless).then_some(Next { maker, from, to })
        });
        next.collect()
    }

    fn send_hops(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        id: ProcessId,
        hops: &[(ActivityId, ResourceId, ResourceId)],
    ) {
        let copying = self.copying.get(&id);
        let is_asked = |maker: ActivityId, to: ResourceId| {
            let asked = copying.and_then(|copying| copying.0.get(&maker));
            asked.is_some_and(|asked| asked.keeper == to)
        };
        let mut by_source: BTreeMap<ResourceId, Vec<(ActivityId, Asked)>> = BTreeMap::new();
        for &(maker, keeper, from) in hops {
            // It is asked for the copy that is recorded, which is the same.
            if is_asked(maker, keeper) {
                continue;
            }
            let asked = Asked { keeper, n_times: 1 };
            by_source.entry(from).or_default().push((maker, asked));
        }
        for (from, asked) in by_source {
            self.send_copies_from(step, machines, id, &asked, Some(from));
        }
    }
}

/// The longest time that a reader waits for a hop.
fn patience(known: &Process, maker: ActivityId) -> Span {
    let bytes = known.produced_by(maker).map(|artifact| artifact.bytes.0);
    let bytes = bytes.fold(0, u64::saturating_add);
    PATIENCE + Span::from_secs(bytes / SLOWEST)
}

#[cfg(test)]
mod tests;
