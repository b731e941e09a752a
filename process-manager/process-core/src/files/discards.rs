//! Files that a process does not need any more: machines are asked to delete them, while the process runs.
//!
//! ```text
//!   the last reader's outcome is recorded --> unneeded --Discard--> each machine that may have it --Discarded
//!                                                ^  asked again each second  |
//!                                                +---------------------------+
//! ```
//! A request leaves when everything that it follows from is durable, as every effect. Requests are volatile:
//! a restart asks for all that is unneeded. They name the attempt that made a file, so that one that comes
//! late means nothing that was made since. What a machine does not delete is left to its eviction, and
//! whoever needs a file after all has it made again.

use std::collections::{BTreeMap, BTreeSet};

use model::{ActivityId, AttemptId, ProcessId, ResourceId};
use wire::attempt::{COPIED_FILES_MAX, COPIES_MAX, Discard, ToActivity};

use super::Files;
use crate::io::Effect;
use crate::limits;
use crate::machines::Machines;
use crate::process::Process;
use crate::record::Phase;
use crate::step::Step;
use crate::timer::Timer;

/// Requests of a process that are not answered, an activity and a machine each. The files of further
/// activities are asked for when some are.
const UNDER_WAY_MAX: usize = 4_096;

/// The most times that a machine is asked for one activity, a second apart: it may be away, or use such
/// files all the time.
const ASKED_MAX: u32 = 120;

/// Requests to delete files that are not answered.
#[derive(Debug, Default)]
pub(super) struct Discarding {
    /// Activities of the process that were looked at, in the order in which their files became unneeded.
    n_seen: usize,
    asked: BTreeMap<(ActivityId, ResourceId), u32>,
    /// Machines that were asked for a copy before another one was. Each may have one: its answer may be lost.
    elsewhere: BTreeMap<ActivityId, BTreeSet<ResourceId>>,
}

impl Files {
    /// Asks for the deletion of files that are unneeded since.
    pub(crate) fn ask_discards(&mut self, step: &mut Step<'_>, machines: &Machines, id: ProcessId) {
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let Some(readers) = &known.index.readers else {
            return;
        };
        if !self.open.contains_key(&id) {
            return;
        }
        if !may_discard(known) {
            return;
        }
        let unneeded = &readers.unneeded.0;
        let mut discarding = self.discarding.remove(&id).unwrap_or_default();
        let mut fresh = Vec::new();
        while let Some(&maker) = unneeded.get(discarding.n_seen)
            && discarding.asked.len() < UNDER_WAY_MAX
        {
            discarding.n_seen += 1;
            if !known.is_unneeded(maker) {
                continue;
            }
            let mut places = self.places_of(machines, known, maker);
            places.extend(discarding.elsewhere.remove(&maker).unwrap_or_default());
            for resource in places {
                discarding.asked.insert((maker, resource), 1);
                fresh.push((maker, resource));
            }
        }
        if !discarding.asked.is_empty() {
            step.timers
                .set_once(Timer::Discard(id), step.now.mono + limits::REPEAT);
        }
        self.discarding.insert(id, discarding);
        send_discards(step, id, &fresh);
    }

    /// Asks again for what was not answered.
    pub(crate) fn repeat_discards(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        id: ProcessId,
    ) {
        let Some(known) = step.cx.process(id) else {
            self.discarding.remove(&id);
            return;
        };
        let Some(discarding) = self.discarding.get_mut(&id) else {
            return;
        };
        discarding.asked.retain(|(maker, _), n_times| {
            *n_times += 1;
            *n_times <= ASKED_MAX && known.is_unneeded(*maker)
        });
        let asked: Vec<(ActivityId, ResourceId)> = discarding.asked.keys().copied().collect();
        if !asked.is_empty() {
            step.timers
                .set_once(Timer::Discard(id), step.now.mono + limits::REPEAT);
        }
        send_discards(step, id, &asked);
        self.ask_discards(step, machines, id);
        self.end_discards(id);
    }

    /// A machine has deleted what it may of the files that these attempts made.
    pub(crate) fn on_discarded(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        resource: ResourceId,
        made_by: &[AttemptId],
    ) {
        for one in made_by {
            let known = step.cx.process(one.process);
            let is_last = known.is_some_and(|known| {
                known.definition().activity(one.activity).is_some()
                    && known.last_number(one.activity) == one.number
            });
            if let Some(discarding) = self.discarding.get_mut(&one.process)
                && is_last
            {
                discarding.asked.remove(&(one.activity, resource));
                let is_full = discarding.asked.len() + 1 >= UNDER_WAY_MAX;
                if is_full {
                    self.ask_discards(step, machines, one.process);
                }
                self.end_discards(one.process);
            }
        }
    }

    /// A file that may be unneeded came to a machine: as a copy, or collected once more.
    pub(crate) fn discard_again(
        &mut self,
        step: &mut Step<'_>,
        (id, activity): (ProcessId, ActivityId),
        resource: ResourceId,
    ) {
        let Some(known) = step.cx.process(id) else {
            return;
        };
        if !may_discard(known) || !known.is_unneeded(activity) {
            return;
        }
        let discarding = self.discarding.entry(id).or_default();
        discarding.asked.insert((activity, resource), 1);
        step.timers
            .set_once(Timer::Discard(id), step.now.mono + limits::REPEAT);
        send_discards(step, id, &[(activity, resource)]);
    }

    /// A machine was asked for a copy, and another one is from now on, or has made it.
    pub(super) fn note_elsewhere(
        &mut self,
        known: &Process,
        activity: ActivityId,
        resource: ResourceId,
    ) {
        if known.index.readers.is_some() && !self.stores.is_shared() {
            let discarding = self.discarding.entry(known.id()).or_default();
            let elsewhere = discarding.elsewhere.entry(activity).or_default();
            elsewhere.insert(resource);
        }
    }

    /// Returns true if requests to delete files are not answered.
    pub(crate) fn is_discarding(&self) -> bool {
        let mut all = self.discarding.values();
        all.any(|discarding| !discarding.asked.is_empty())
    }

    /// Forgets a process that has ended and of which nothing is asked.
    pub(super) fn end_discards(&mut self, id: ProcessId) {
        let is_done = |one: &Discarding| one.asked.is_empty();
        if !self.open.contains_key(&id) && self.discarding.get(&id).is_some_and(is_done) {
            self.discarding.remove(&id);
        }
    }

    /// The machines that may have the files of an activity. Where all share one store, the first that
    /// answers will do.
    fn places_of(
        &self,
        machines: &Machines,
        known: &Process,
        maker: ActivityId,
    ) -> BTreeSet<ResourceId> {
        let mut places = known.places_of_files(maker);
        if self.stores.is_shared() {
            let mut able = places.iter().filter(|&&one| machines.is_reachable(one));
            let able = able.next().copied().or_else(|| machines.reachable().next());
            return able.into_iter().collect();
        }
        let copying = self.copying.get(&known.id());
        let asked = copying.and_then(|copying| copying.0.get(&maker));
        places.extend(asked.map(|asked| asked.keeper));
        places
    }
}

fn may_discard(process: &Process) -> bool {
    match process.phase() {
        Phase::Running | Phase::Completed => true,
        // Another process may start from it, and need its files.
        Phase::Faulting | Phase::Cancelling | Phase::Faulted | Phase::Cancelled => false,
    }
}

fn send_discards(step: &mut Step<'_>, id: ProcessId, asked: &[(ActivityId, ResourceId)]) {
    let Some(known) = step.cx.process(id) else {
        return;
    };
    let mut by_machine: BTreeMap<ResourceId, Vec<Vec<Discard>>> = BTreeMap::new();
    let mut n_files = 0;
    for &(activity, resource) in asked {
        let discard = Discard {
            made_by: AttemptId {
                process: id,
                activity,
                number: known.last_number(activity),
            },
            artifacts: known.produced_by(activity).collect(),
        };
        n_files += discard.artifacts.len();
        let parts = by_machine.entry(resource).or_default();
        match parts.last_mut() {
            Some(part) if part.len() < COPIES_MAX && n_files <= COPIED_FILES_MAX => {
                part.push(discard);
            }
            Some(_) | None => {
                n_files = discard.artifacts.len();
                parts.push(vec![discard]);
            }
        }
    }
    for (resource, parts) in by_machine {
        for part in parts {
            step.cx
                .effect(Effect::ToActivity(resource, ToActivity::Discard(part)));
        }
    }
}
