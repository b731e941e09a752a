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
//! once. It goes on after the end of a process, since what that gives is worth most. When a machine is
//! lost that has a copy or what it is a copy of, another copy is wanted: see `loss`.
//!
//! While a process goes on its copies are pinned: a machine is told so with the question, and with each
//! renewal of its lease for which processes that still holds. Who begins another life has forgotten it,
//! and is told again when it attaches.

use std::collections::BTreeMap;

use machine::Context;
use model::{ActivityId, Artifact, Now, ProcessId, ResourceId};
use wire::attempt::{COPIED_FILES_MAX, COPIES_MAX, Copied, Copy, Holder, KEPT_MAX, ToActivity};

use crate::io::{Effect, Stream};
use crate::manager::{ProcessManager, State, Timer, limits, process};
use crate::process::Process;
use crate::record::{ActivityPhase, Event};

/// Activities of a process of which copies are under way at a time: enough to keep a link busy.
const UNDER_WAY_MAX: usize = 1_024;
/// How often one machine is asked, a second after the other, before another one is.
const ASKED_OF_ONE: u32 = 10;
/// How often it is asked at all in a life of the manager: ten minutes. The files may be gone, or too
/// large for every machine.
const ASKED_MAX: u32 = 600;
/// Activities of all processes whose copies are named to a machine when it attaches: a MiB. Those
/// beyond are not pinned in another life of that machine; what is evicted there is copied or made
/// again.
const NAMED_AGAIN_MAX: usize = 16_384;

/// What is under way for a process.
#[derive(Debug, Default)]
pub(crate) struct Copying(BTreeMap<ActivityId, Asked>);

/// A question for a copy.
#[derive(Clone, Copy, Debug)]
struct Asked {
    keeper: ResourceId,
    n_times: u32,
}

impl Asked {
    fn is_given_up(self) -> bool {
        self.n_times >= ASKED_MAX
    }
}

impl ProcessManager {
    /// Asks for the copies that are wanted and not under way.
    pub(crate) fn ask_for_copies(&mut self, cx: &mut Context<'_, Self>, now: Now, id: ProcessId) {
        let Some(known) = process(cx, id) else { return };
        if known.index.uncopied.is_empty() || self.stores.is_shared() {
            return;
        }
        let under_way = self.copying.remove(&id).unwrap_or_default();
        let room = UNDER_WAY_MAX.saturating_sub(under_way.0.len());
        let wanted = known.index.uncopied.iter().copied();
        let wanted = wanted.filter(|activity| !under_way.0.contains_key(activity));
        // What a lost machine had alone comes back with it, or is made again.
        let wanted = wanted.filter(|&one| !self.stores.is_lost(self.source(known, one)));
        let asked: Vec<(ActivityId, Asked)> = wanted
            .take(room)
            .filter_map(|activity| {
                let source = self.source(known, activity);
                let keeper = self.keeper(known, source, None)?;
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
        under_way.0.retain(|activity, _| {
            let is_wanted = known.index.uncopied.contains(activity);
            is_wanted && !self.stores.is_lost(self.source(known, *activity))
        });
        let mut again = Vec::new();
        for (&activity, asked) in &mut under_way.0 {
            if asked.is_given_up() {
                continue;
            }
            let source = self.source(known, activity);
            let is_able = self.may_keep(asked.keeper) && asked.keeper != source;
            if !is_able || (asked.n_times + 1).is_multiple_of(ASKED_OF_ONE) {
                // Where nobody is there that could, it is looked again.
                let Some(other) = self.keeper(known, source, Some(asked.keeper)) else {
                    continue;
                };
                asked.keeper = other;
            }
            asked.n_times += 1;
            again.push((activity, *asked));
        }
        let all_given_up = under_way.0.values().all(|asked| asked.is_given_up());
        let has_given_up = all_given_up && under_way.0.len() >= known.index.uncopied.len();
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
            if !known.index.uncopied.contains(&activity) {
                continue;
            }
            // It may have been made again since, with other content or on the machine that answers.
            let source = self.source(known, activity);
            let is_wanted = source != resource && known.produced_by(activity).eq(one.artifacts);
            let Some(keeper) = self.stores.get(resource).filter(|_| is_wanted) else {
                continue;
            };
            let event = Event::Copied {
                activity,
                resource,
                machine: keeper.name.clone(),
                beside: (source != known.holder_of(activity)).then_some(source),
            };
            cx.record(Stream::Process(id), event);
            let moment = self.stores.next_moment();
            if let Some(live) = self.live.get_mut(&id) {
                live.copied.insert(activity, moment);
            }
            if let Some(copying) = self.copying.get_mut(&id) {
                copying.0.remove(&activity);
            }
            // The machine that it was fetched from may have been lost meanwhile.
            self.miss_lost(cx, now, id, activity);
            self.ask_for_copies(cx, now, id);
        }
    }

    /// A machine begins another life: it may not know any more which copies are to stay. And it may
    /// keep what others could not.
    pub(crate) fn keep_again(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        resource: ResourceId,
    ) {
        let mut hopeful = Vec::new();
        for (&id, copying) in &mut self.copying {
            let n_before = copying.0.len();
            copying.0.retain(|_, asked| !asked.is_given_up());
            if copying.0.len() < n_before {
                hopeful.push(id);
            }
        }
        for id in hopeful {
            self.arm_once(Timer::Copy(id), now.mono + limits::REPEAT);
        }
        let ids: Vec<ProcessId> = self.live.keys().copied().collect();
        let mut room = NAMED_AGAIN_MAX;
        for id in ids {
            let Some(known) = process(cx, id) else {
                continue;
            };
            let course = &known.course;
            let copies = course.copies.iter().chain(&course.holders);
            let here = copies.filter(|(activity, keeper)| {
                let lost = course.bereft.get(activity);
                **keeper == resource && lost != Some(&resource)
            });
            let here = here.map(|(&activity, &keeper)| (activity, Asked { keeper, n_times: 1 }));
            let here: Vec<(ActivityId, Asked)> = here.take(room).collect();
            room -= here.len();
            self.send_copies(cx, id, &here);
        }
    }

    /// The processes for whose copies at a machine there is need.
    pub(crate) fn kept_at(&self, resource: ResourceId) -> Vec<ProcessId> {
        let kept = self.keeping.get(&resource).into_iter().flatten();
        kept.take(KEPT_MAX).copied().collect()
    }

    /// The copies of a process need not stay any more.
    pub(crate) fn unkeep(&mut self, id: ProcessId) {
        self.keeping.retain(|_, kept| {
            kept.remove(&id);
            !kept.is_empty()
        });
    }

    /// Why there is no copy of what an activity has produced; none where there is one, or none is
    /// wanted, or it is on its way.
    pub(crate) fn hindrance(&self, known: &Process, activity: ActivityId) -> Option<String> {
        if !known.index.uncopied.contains(&activity) || self.stores.is_shared() {
            return None;
        }
        let name = |resource: ResourceId| {
            let mut machines = known.course.machines.iter();
            let found = machines.find(|(one, _)| *one == resource);
            let found = found.map(|(_, name)| name.as_str());
            let stored = self.stores.get(resource).map(|holder| holder.name.as_str());
            stored.or(found).unwrap_or("a machine").to_owned()
        };
        let source = self.source(known, activity);
        let under_way = self.copying.get(&known.id());
        let asked = under_way.and_then(|copying| copying.0.get(&activity));
        if self.stores.is_lost(source) {
            Some(format!("{} has it and cannot be reached", name(source)))
        } else if self.keeper(known, source, None).is_none() {
            Some("no other machine is there that could keep it".to_owned())
        } else {
            let asked = asked.filter(|asked| asked.n_times >= ASKED_OF_ONE)?;
            let (n_times, last) = (asked.n_times, name(asked.keeper));
            Some(format!(
                "asked {n_times} times in vain, {last} last, whose log says why"
            ))
        }
    }

    /// Of how many activities no copy can be made at the moment, and why not of the first of them.
    pub(crate) fn missing_copies(&self, known: &Process) -> Option<String> {
        let mut uncopied = known.index.uncopied.iter().take(UNDER_WAY_MAX);
        let (first, why) = uncopied.find_map(|&activity| {
            let why = self.hindrance(known, activity)?;
            Some((activity, why))
        })?;
        let name = &known.definition().node(first.node()).name;
        let n_all = known.index.uncopied.len();
        Some(match n_all {
            1 => format!("none of what {name} has made: {why}"),
            _ => format!("none of what {n_all} activities have made; {name}: {why}"),
        })
    }

    /// Whether copies are asked for that are not made yet.
    pub fn is_copying(&self) -> bool {
        self.copying.values().any(|copying| !copying.0.is_empty())
    }

    /// After a restart: asks anew, soon.
    pub(crate) fn resume_copies(&mut self, cx: &mut Context<'_, Self>, now: Now) {
        let wanting = cx.states().iter().filter_map(|(_, state)| match state {
            State::Process(process) if !process.index.uncopied.is_empty() => Some(process.id()),
            State::Process(_) | State::Held(_) | State::Empty | State::Manager { .. } => None,
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
        &mut self,
        cx: &mut Context<'_, Self>,
        id: ProcessId,
        asked: &[(ActivityId, Asked)],
    ) {
        let Some(known) = process(cx, id) else { return };
        let is_needed = self.live.contains_key(&id);
        let mut by_keeper: BTreeMap<ResourceId, Vec<Copy>> = BTreeMap::new();
        for &(activity, Asked { keeper, .. }) in asked {
            let copied = Copied {
                process: id,
                activity,
                artifacts: known.produced_by(activity).collect(),
            };
            let is_lost = |one| self.stores.is_lost(one);
            let mut holders = known.sources_of(activity, is_lost);
            holders.retain(|&one| one != keeper && !is_lost(one));
            let copies = by_keeper.entry(keeper).or_default();
            copies.push(Copy {
                copied,
                holders,
                is_needed,
            });
            if is_needed {
                self.keeping.entry(keeper).or_default().insert(id);
            }
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

    /// The machine that what an activity has produced is copied from.
    fn source(&self, known: &Process, activity: ActivityId) -> ResourceId {
        let sources = known.sources_of(activity, |one| self.stores.is_lost(one));
        let first = sources.first().copied();
        first.unwrap_or_else(|| known.holder_of(activity))
    }

    /// The machine that is to keep a copy: the one beside this manager, where there is one, or else
    /// the next one after the holder, of those first whose slots the process holds. After one that was
    /// asked in vain it is the next one.
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
        let beside = self.config.keeper.as_deref();
        let beside = beside.and_then(|name| self.stores.named(name));
        if let Some(beside) = beside.filter(|&one| one != holder && self.may_keep(one))
            && in_vain.is_none()
        {
            return Some(beside);
        }
        let in_use = able(&|one| in_vain.is_none() && known.granted(one) > 0);
        in_use.or_else(|| able(&|_| true))
    }

    fn may_keep(&self, resource: ResourceId) -> bool {
        let link = self.machines.get(&resource);
        self.is_trusted(resource)
            && self.stores.get(resource).is_some()
            && link.is_some_and(|link| link.is_up && link.epoch.is_some())
    }
}

/// The next one in a circle.
fn next_after(able: Vec<ResourceId>, before: ResourceId) -> Option<ResourceId> {
    let next = able.iter().find(|one| **one > before);
    next.or(able.first()).copied()
}

/// Questions of bounded size.
pub(crate) fn parts(copies: Vec<Copy>) -> Vec<Vec<Copy>> {
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

    /// Who has what an activity has produced, as far as nobody of those was lost: the machine that has
    /// it where that is not the one that made it, and the one that keeps a copy.
    pub(crate) fn kept_by(&self, activity: ActivityId) -> (Option<ResourceId>, Option<ResourceId>) {
        let holder = self.course.holders.get(&activity).copied();
        let copy = self.copy_of(activity);
        match self.course.bereft.get(&activity) {
            Some(&lost) if copy == Some(lost) => (holder, None),
            Some(_) => (copy, None),
            None => (holder, copy),
        }
    }

    /// An activity has produced files, for the first time or again.
    pub(crate) fn note_produced(&mut self, activity: ActivityId) {
        self.course.copies.remove(&activity);
        self.course.holders.remove(&activity);
        self.course.bereft.remove(&activity);
        self.note_uncopied(activity);
    }

    /// Where a copy is wanted of what an activity has produced, and not recorded, it is noted.
    pub(crate) fn note_uncopied(&mut self, activity: ActivityId) {
        let is_wanted = self.definition.draft().copies > 0
            && self.activity(activity).phase == ActivityPhase::Completed
            && (!self.course.copies.contains_key(&activity)
                || self.course.bereft.contains_key(&activity))
            && self.produced_by(activity).next().is_some();
        if is_wanted {
            self.index.uncopied.insert(activity);
        }
    }

    /// A machine keeps a copy.
    pub(crate) fn keep_copy(&mut self, activity: ActivityId, resource: ResourceId) {
        self.index.uncopied.remove(&activity);
        self.course.bereft.remove(&activity);
        self.course.copies.insert(activity, resource);
    }

    /// What an activity has produced, in the order of its outputs.
    pub(crate) fn produced_by(&self, activity: ActivityId) -> impl Iterator<Item = Artifact> {
        let all = (activity, 0)..=(activity, u32::MAX);
        self.course
            .produced
            .range(all)
            .map(|(_, artifact)| *artifact)
    }
}
