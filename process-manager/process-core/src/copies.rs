//! Copies of what activities have produced: where a definition wants them, another machine fetches the
//! files once the outcome is recorded, and is named beside the one that made them. So a machine that
//! is lost costs no finished work, and nobody waits for a copy.
//!
//! ```text
//!   outcome recorded --> uncopied --Copy--> keeper fetches --Copied--> recorded
//!                           ^  asked again each second, then another keeper  |
//!                           +---------------- made again --------------------+
//! ```
//! What was asked for is volatile: after a restart it is asked again, and whoever has it answers at
//! once. It goes on after the end of a process, since what that gives is worth most.

use std::collections::BTreeMap;

use machine::Context;
use model::{ActivityId, Artifact, Now, ProcessId, ResourceId};
use wire::attempt::{COPIED_FILES_MAX, COPIES_MAX, Copied, Copy, Holder, ToActivity};
use wire::client::ActivityPhase;

use crate::alphabet::{Effect, Stream};
use crate::event::Event;
use crate::manager::{ProcessManager, State, Timer, limits, process};
use crate::process::Process;

/// Activities of a process of which copies are under way at a time: enough to keep a link busy.
const UNDER_WAY_MAX: usize = 1_024;
/// How often one machine is asked, a second after the other, before another one is.
const ASKED_OF_ONE: u32 = 10;
/// How often it is asked at all in a life of the manager: ten minutes. The files may be gone, or too
/// large for every machine.
const ASKED_MAX: u32 = 600;

/// What is under way for a process.
#[derive(Debug, Default)]
pub(crate) struct Copying(BTreeMap<ActivityId, Asked>);

/// A question for a copy.
#[derive(Clone, Copy, Debug)]
struct Asked {
    keeper: ResourceId,
    n_times: u32,
}

impl ProcessManager {
    /// Asks for the copies that are wanted and not under way.
    pub(crate) fn ask_for_copies(&mut self, cx: &mut Context<'_, Self>, now: Now, id: ProcessId) {
        let Some(known) = process(cx, id) else { return };
        // Where machines share a store there is nothing to copy.
        let is_shared = self.n_offers > 0 && self.stores.known().next().is_none();
        if known.index.uncopied.is_empty() || is_shared {
            return;
        }
        let under_way = self.copying.remove(&id).unwrap_or_default();
        let room = UNDER_WAY_MAX.saturating_sub(under_way.0.len());
        let wanted = known.index.uncopied.iter().copied();
        let wanted = wanted.filter(|activity| !under_way.0.contains_key(activity));
        let asked: Vec<(ActivityId, Asked)> = wanted
            .take(room)
            .filter_map(|activity| {
                let holder = known.holder_of(activity);
                let keeper = self.keeper(known, holder, None)?;
                Some((activity, Asked { keeper, n_times: 1 }))
            })
            .collect();
        self.send_copies(cx, id, &asked);
        let mut copying = under_way;
        copying.0.extend(asked);
        self.copying.insert(id, copying);
        self.arm_once(Timer::Copy(id), now.mono + limits::REPEAT);
    }

    /// Asks again for what is under way, and then for the rest.
    pub(crate) fn repeat_copies(&mut self, cx: &mut Context<'_, Self>, now: Now, id: ProcessId) {
        let Some(known) = process(cx, id) else { return };
        let mut under_way = self.copying.remove(&id).unwrap_or_default();
        under_way
            .0
            .retain(|activity, _| known.index.uncopied.contains(activity));
        let mut again = Vec::new();
        for (&activity, asked) in &mut under_way.0 {
            if asked.n_times >= ASKED_MAX {
                continue;
            }
            asked.n_times += 1;
            let holder = known.holder_of(activity);
            let is_able = self.may_keep(asked.keeper) && asked.keeper != holder;
            if !is_able || asked.n_times.is_multiple_of(ASKED_OF_ONE) {
                let Some(other) = self.keeper(known, holder, Some(asked.keeper)) else {
                    continue;
                };
                asked.keeper = other;
            }
            again.push((activity, *asked));
        }
        let has_given_up = again.is_empty() && under_way.0.len() >= known.index.uncopied.len();
        if !under_way.0.is_empty() {
            self.copying.insert(id, under_way);
        }
        self.send_copies(cx, id, &again);
        if !has_given_up {
            self.ask_for_copies(cx, now, id);
        }
    }

    /// A machine keeps copies.
    pub(crate) fn on_copied(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        resource: ResourceId,
        copied: Vec<Copied>,
    ) {
        for one in copied {
            let (id, activity) = (one.process, one.activity);
            let Some(known) = process(cx, id) else {
                continue;
            };
            // It may have been made again since, with other content or on the machine that answers.
            let is_wanted = known.index.uncopied.contains(&activity)
                && known.holder_of(activity) != resource
                && known.produced_by(activity).eq(one.artifacts);
            let Some(keeper) = self.stores.get(resource).filter(|_| is_wanted) else {
                continue;
            };
            let event = Event::Copied {
                activity,
                resource,
                machine: keeper.name.clone(),
            };
            cx.record(Stream::Process(id), event);
            let moment = self.stores.next_moment();
            if let Some(live) = self.live.get_mut(&id) {
                live.copied.insert(activity, moment);
            }
            if let Some(copying) = self.copying.get_mut(&id) {
                copying.0.remove(&activity);
            }
            self.ask_for_copies(cx, now, id);
        }
    }

    /// After a restart: asks anew, soon.
    pub(crate) fn resume_copies(&mut self, cx: &mut Context<'_, Self>, now: Now) {
        let wanting = cx.states().iter().filter_map(|(_, state)| match state {
            State::Process(process) if !process.index.uncopied.is_empty() => Some(process.id()),
            State::Process(_) | State::Empty | State::Manager { .. } => None,
        });
        let wanting: Vec<ProcessId> = wanting.collect();
        for id in wanting {
            self.arm_once(Timer::Copy(id), now.mono + limits::REPEAT);
        }
    }

    /// Nothing more is asked for a process.
    pub(crate) fn end_copies(&mut self, id: ProcessId) {
        self.copying.remove(&id);
        self.disarm(Timer::Copy(id));
    }

    fn send_copies(
        &self,
        cx: &mut Context<'_, Self>,
        id: ProcessId,
        asked: &[(ActivityId, Asked)],
    ) {
        let Some(known) = process(cx, id) else { return };
        let mut by_keeper: BTreeMap<ResourceId, Vec<Copy>> = BTreeMap::new();
        for &(activity, Asked { keeper, .. }) in asked {
            let copied = Copied {
                process: id,
                activity,
                artifacts: known.produced_by(activity).collect(),
            };
            let holders = vec![known.holder_of(activity)];
            let copies = by_keeper.entry(keeper).or_default();
            copies.push(Copy { copied, holders });
        }
        for (keeper, copies) in by_keeper {
            for copies in parts(copies) {
                let mut named: Vec<ResourceId> = copies
                    .iter()
                    .flat_map(|copy| &copy.holders)
                    .copied()
                    .collect();
                named.sort_unstable();
                named.dedup();
                let holders = named.iter().filter_map(|one| self.stores.get(*one));
                let holders: Vec<Holder> = holders.cloned().collect();
                let message = ToActivity::Copy { copies, holders };
                cx.effect(Effect::ToActivity(keeper, message));
            }
        }
    }

    /// The machine that is to keep a copy: the next one after its holder, or after the one that was
    /// asked in vain. First of those whose slots the process holds: they keep its files while it runs.
    fn keeper(
        &self,
        known: &Process,
        holder: ResourceId,
        in_vain: Option<ResourceId>,
    ) -> Option<ResourceId> {
        let able = |of: &dyn Fn(ResourceId) -> bool| {
            let able = self.stores.known();
            let able = able.filter(|&one| one != holder && self.may_keep(one) && of(one));
            next_after(able.collect(), in_vain.unwrap_or(holder))
        };
        let in_use = able(&|one| in_vain.is_none() && known.granted(one) > 0);
        in_use.or_else(|| able(&|_| true))
    }

    fn may_keep(&self, resource: ResourceId) -> bool {
        let link = self.machines.get(&resource);
        self.is_trusted(resource)
            && self.stores.get(resource).is_some()
            && link.is_some_and(|link| link.is_up && link.life.is_some())
    }
}

/// The next one in a circle.
fn next_after(able: Vec<ResourceId>, before: ResourceId) -> Option<ResourceId> {
    let next = able.iter().find(|one| **one > before);
    next.or(able.first()).copied()
}

/// Questions of bounded size.
fn parts(copies: Vec<Copy>) -> Vec<Vec<Copy>> {
    let mut parts: Vec<Vec<Copy>> = Vec::new();
    let mut n_files = 0;
    for copy in copies {
        n_files += copy.copied.artifacts.len();
        match parts.last_mut() {
            Some(part) if part.len() < COPIES_MAX && n_files <= COPIED_FILES_MAX => part.push(copy),
            Some(_) | None => {
                n_files = copy.copied.artifacts.len();
                parts.push(vec![copy]);
            }
        }
    }
    parts
}

impl Process {
    /// The machine that keeps a copy of what an activity has produced.
    pub(crate) fn copy_of(&self, activity: ActivityId) -> Option<ResourceId> {
        self.course.copies.get(&activity).copied()
    }

    /// An activity has produced files, for the first time or again.
    pub(crate) fn note_produced(&mut self, activity: ActivityId) {
        self.course.copies.remove(&activity);
        self.note_uncopied(activity);
    }

    /// Where a copy is wanted of what an activity has produced, and not recorded, it is noted.
    pub(crate) fn note_uncopied(&mut self, activity: ActivityId) {
        let is_wanted = self.definition.draft().copies > 0
            && self.activity(activity).phase == ActivityPhase::Completed
            && !self.course.copies.contains_key(&activity)
            && self.produced_by(activity).next().is_some();
        if is_wanted {
            self.index.uncopied.insert(activity);
        }
    }

    /// A machine keeps a copy.
    pub(crate) fn keep_copy(&mut self, activity: ActivityId, resource: ResourceId) {
        self.index.uncopied.remove(&activity);
        self.course.copies.insert(activity, resource);
    }

    /// What an activity has produced, in the order of its outputs.
    fn produced_by(&self, activity: ActivityId) -> impl Iterator<Item = Artifact> {
        let all = (activity, 0)..=(activity, u32::MAX);
        self.course
            .produced
            .range(all)
            .map(|(_, artifact)| *artifact)
    }
}
