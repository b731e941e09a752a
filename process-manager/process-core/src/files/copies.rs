//! Copies of outputs: if a definition asks for them, another machine fetches the files once the
//! outcome is recorded, and is recorded as a second holder. So the loss of one machine costs no
//! finished work, and no activity waits for a copy.
//!
//! ```text
//!   outcome recorded --> uncopied --Copy--> keeper fetches --Copied--> recorded
//!                           ^  asked again each second, then another keeper  |
//!                           +---------------- made again --------------------+
//! ```
//! Requests are volatile: a restart repeats them, and a machine that has the copy answers at once.
//! They go on after the end of a process, since its outputs are worth most. When one of the two
//! machines is lost, another copy is requested: see `loss`.
//!
//! The copies of a live process are pinned: the request says so, and each renewal of a lease names
//! the processes whose copies are still pinned. A machine that begins another epoch has forgotten
//! its pins, and is told again when it attaches.

use std::collections::BTreeMap;

use model::{ActivityId, ProcessId, ResourceId};
use wire::attempt::{COPIED_FILES_MAX, COPIES_MAX, Copied, Copy, Holder, KEPT_MAX, ToActivity};

use super::Files;
use super::copying::Asked;
use crate::io::Effect;
use crate::limits;
use crate::machines::Machines;
use crate::process::Process;
use crate::record::Event;
use crate::step::Step;
use crate::stream::{State, Stream};
use crate::timer::Timer;

/// Activities of a process of which copies are under way at a time: enough to keep a link busy.
const UNDER_WAY_MAX: usize = 1_024;

/// Requests to one machine, one each second, before another machine is asked.
const ASKED_OF_ONE: u32 = 10;

/// Activities of all processes whose copies are named to a machine when it attaches: a MiB. Copies
/// beyond that are not pinned in another epoch of that machine; if it evicts one, the files are
/// copied or recomputed.
const NAMED_AGAIN_MAX: usize = 16_384;

impl Files {
    /// Requests the missing copies that were not requested yet.
    pub(crate) fn ask_for_copies(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        id: ProcessId,
    ) {
        let Some(known) = step.cx.process(id) else {
            return;
        };
        if known.index.uncopied.is_empty() || self.stores.is_shared() {
            return;
        }
        let under_way = self.copying.remove(&id).unwrap_or_default();
        let room = UNDER_WAY_MAX.saturating_sub(under_way.0.len());
        let wanted = known.index.uncopied.iter().copied();
        let wanted = wanted.filter(|activity| !under_way.0.contains_key(activity));
        // Files that only a lost machine has come back with it, or are recomputed.
        let wanted = wanted.filter(|&one| !self.stores.is_lost(self.source(known, one)));
        let asked: Vec<(ActivityId, Asked)> = wanted
            .take(room)
            .filter_map(|activity| {
                let source = self.source(known, activity);
                let keeper = self.keeper(step, machines, known, (activity, source), None)?;
                Some((activity, Asked { keeper, n_times: 1 }))
            })
            .collect();
        self.send_copies(step, machines, id, &asked);
        let mut copying = under_way;
        copying.0.extend(asked);
        self.copying.insert(id, copying);
        step.timers
            .set_once(Timer::Copy(id), step.now.mono + limits::REPEAT);
    }

    /// Asks again for what is under way, and then for the rest.
    pub(crate) fn repeat_copies(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        id: ProcessId,
    ) {
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let mut under_way = self.copying.remove(&id).unwrap_or_default();
        under_way.0.retain(|activity, _| {
            let is_wanted = known.index.uncopied.contains(activity);
            is_wanted && !self.stores.is_lost(self.source(known, *activity))
        });
        let (mut again, mut before) = (Vec::new(), Vec::new());
        for (&activity, asked) in &mut under_way.0 {
            if asked.is_given_up() {
                continue;
            }
            let source = self.source(known, activity);
            let is_able = self.may_keep(machines, asked.keeper) && asked.keeper != source;
            if !is_able || (asked.n_times + 1).is_multiple_of(ASKED_OF_ONE) {
                // If no machine can keep it now, the next try looks again.
                let of = (activity, source);
                let Some(other) = self.keeper(step, machines, known, of, Some(asked.keeper)) else {
                    continue;
                };
                before.push((activity, asked.keeper));
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
        for (activity, keeper) in before {
            self.note_elsewhere(known, activity, keeper);
        }
        self.send_copies(step, machines, id, &again);
        if !has_given_up {
            self.ask_for_copies(step, machines, id);
        }
        self.repeat_hops(step, machines, id);
    }

    /// A machine keeps copies. Returns the processes of which files were lost meanwhile.
    pub(crate) fn on_copied(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        resource: ResourceId,
        copied: Vec<Copied>,
    ) -> Vec<ProcessId> {
        let mut losing = Vec::new();
        for one in copied {
            let (id, activity) = (one.process, one.activity);
            self.note_passed(step, &one, resource);
            let Some(known) = step.cx.process(id) else {
                continue;
            };
            if !known.index.uncopied.contains(&activity) {
                self.discard_again(step, (id, activity), resource);
                continue;
            }
            // It may have been recomputed since, with other content or on the machine that answers.
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
            step.cx.record(Stream::Process(id), event);
            let moment = self.stores.next_moment();
            if let Some(open) = self.open.get_mut(&id) {
                open.copied.insert(activity, moment);
            }
            let copying = self.copying.get_mut(&id);
            let asked = copying.and_then(|copying| copying.0.remove(&activity));
            if let Some(asked) = asked.filter(|asked| asked.keeper != resource)
                && let Some(known) = step.cx.process(id)
            {
                self.note_elsewhere(known, activity, asked.keeper);
            }
            // The machine that it was fetched from may have been lost meanwhile.
            if self.miss_lost(step, machines, id, activity) {
                losing.push(id);
            }
            self.ask_for_copies(step, machines, id);
        }
        losing
    }

    /// A machine begins another epoch: it may have forgotten its pinned copies, which are those of the
    /// processes that it concerns. And it may keep files that no other machine could.
    pub(crate) fn keep_again(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        resource: ResourceId,
        concerned: impl Iterator<Item = ProcessId>,
    ) {
        let mut hopeful = Vec::new();
        for (&id, copying) in &mut self.copying {
            let known = step.cx.process(id);
            if known.is_some_and(|known| !known.index.uncopied.is_empty())
                && self.open.contains_key(&id)
            {
                step.marks.mark(id);
            }
            let n_before = copying.0.len();
            copying.0.retain(|_, asked| !asked.is_given_up());
            if copying.0.len() < n_before {
                hopeful.push(id);
            }
        }
        for id in hopeful {
            step.timers
                .set_once(Timer::Copy(id), step.now.mono + limits::REPEAT);
        }
        let mut room = NAMED_AGAIN_MAX;
        for id in concerned {
            let Some(known) = step.cx.process(id) else {
                continue;
            };
            let here = known.index.copied.iter().filter(|&&activity| {
                let details = known.details(activity);
                let is_here = [details.copy, details.holder].contains(&Some(resource));
                is_here && details.lost_holder != Some(resource)
            });
            let (keeper, n_times) = (resource, 1);
            let here = here.map(|&activity| (activity, Asked { keeper, n_times }));
            let here: Vec<(ActivityId, Asked)> = here.take(room).collect();
            room -= here.len();
            self.send_copies(step, machines, id, &here);
        }
    }

    /// The processes for whose copies at a machine there is need.
    pub(crate) fn kept_at(&self, resource: ResourceId) -> Vec<ProcessId> {
        let kept = self.keeping.get(&resource).into_iter().flatten();
        kept.take(KEPT_MAX).copied().collect()
    }

    /// The reason why an activity's outputs have no copy; none if there is one, or none is wanted,
    /// or it is on its way.
    pub(crate) fn hindrance(
        &self,
        step: &Step<'_>,
        machines: &Machines,
        known: &Process,
        activity: ActivityId,
    ) -> Option<String> {
        if !known.index.uncopied.contains(&activity) || self.stores.is_shared() {
            return None;
        }
        let name = |resource: ResourceId| {
            let mut machines = known.state.machines.iter();
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
        } else if self
            .keeper(step, machines, known, (activity, source), None)
            .is_none()
        {
            Some("no other machine is there that could keep it".to_owned())
        } else {
            let asked = asked.filter(|asked| asked.n_times >= ASKED_OF_ONE)?;
            let (n_times, last) = (asked.n_times, name(asked.keeper));
            Some(format!(
                "asked {n_times} times in vain, {last} last, whose log says why"
            ))
        }
    }

    /// A message on missing copies: the number of activities, and the reason for the first one that
    /// cannot be copied now.
    pub(crate) fn missing_copies(
        &self,
        step: &Step<'_>,
        machines: &Machines,
        known: &Process,
    ) -> Option<String> {
        let mut uncopied = known.index.uncopied.iter().take(UNDER_WAY_MAX);
        let (first, why) = uncopied.find_map(|&activity| {
            let why = self.hindrance(step, machines, known, activity)?;
            Some((activity, why))
        })?;
        let name = known.definition().name_of(first.node());
        let n_all = known.index.uncopied.len();
        Some(match n_all {
            1 => format!("none of what {name} has made: {why}"),
            _ => format!("none of what {n_all} activities have made; {name}: {why}"),
        })
    }

    /// Returns true if requested copies are not made yet.
    pub(crate) fn is_copying(&self) -> bool {
        let mut open = self.open.values();
        self.copying.values().any(|copying| !copying.0.is_empty())
            || open.any(|open| open.passing.is_under_way())
    }

    /// After a restart: asks anew, soon.
    pub(crate) fn resume_copies(&mut self, step: &mut Step<'_>) {
        let wanting = step.cx.states().filter_map(|(_, state)| match state {
            State::Process(process) if !process.index.uncopied.is_empty() => Some(process.id()),
            State::Process(_)
            | State::Packed(_)
            | State::Held(_)
            | State::Empty
            | State::Manager { .. } => None,
        });
        let wanting: Vec<ProcessId> = wanting.collect();
        for id in wanting {
            step.timers
                .set_once(Timer::Copy(id), step.now.mono + limits::REPEAT);
        }
    }

    fn send_copies(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        id: ProcessId,
        asked: &[(ActivityId, Asked)],
    ) {
        self.send_copies_from(step, machines, id, asked, None);
    }

    /// The same where one machine is to be asked first.
    pub(super) fn send_copies_from(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        id: ProcessId,
        asked: &[(ActivityId, Asked)],
        first: Option<ResourceId>,
    ) {
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let is_needed = self.open.contains_key(&id);
        let mut by_keeper: BTreeMap<ResourceId, Vec<Copy>> = BTreeMap::new();
        for &(activity, Asked { keeper, .. }) in asked {
            let copied = Copied {
                process: id,
                activity,
                artifacts: known.produced_by(activity).collect(),
            };
            let is_lost = |one| self.stores.is_lost(one);
            let mut holders: Vec<ResourceId> = first.into_iter().collect();
            let recorded = known.sources_of(activity, is_lost).into_iter();
            holders.extend(recorded.filter(|&one| Some(one) != first));
            holders.retain(|&one| one != keeper && !is_lost(one));
            let copies = by_keeper.entry(keeper).or_default();
            let discards = known.definition().drops_intermediates();
            let number = discards.then(|| known.last_number(activity));
            copies.push(Copy {
                copied,
                holders,
                is_needed,
                number,
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
                let message = ToActivity::Copy {
                    copies,
                    holders,
                    meant_for: machines.epoch(keeper),
                };
                step.cx.effect(Effect::ToActivity(keeper, message));
            }
        }
    }

    /// The machine that what an activity has produced is copied from.
    fn source(&self, known: &Process, activity: ActivityId) -> ResourceId {
        let sources = known.sources_of(activity, |one| self.stores.is_lost(one));
        let first = sources.first().copied();
        first.unwrap_or_else(|| known.holder_of(activity))
    }

    /// The machine that is to keep a copy: that of the activity's controller, where files pass these, or
    /// the one beside this manager, where there is one, or else the next one after the holder, of those first whose slots the process holds. After one that was
    /// asked in vain it is the next one.
    fn keeper(
        &self,
        step: &Step<'_>,
        machines: &Machines,
        known: &Process,
        (activity, holder): (ActivityId, ResourceId),
        in_vain: Option<ResourceId>,
    ) -> Option<ResourceId> {
        let own = self.own_keeper(machines, known, activity);
        if let Some(own) = own.filter(|&own| own != holder && in_vain.is_none()) {
            return Some(own);
        }
        let able = |of: &dyn Fn(ResourceId) -> bool| {
            let able = self.stores.known();
            let able = able.filter(|&one| one != holder && self.may_keep(machines, one) && of(one));
            next_after(able.collect(), in_vain.unwrap_or(holder))
        };
        let beside = step.config.keeper.as_deref();
        let beside = beside.and_then(|name| self.stores.named(name));
        if let Some(beside) = beside.filter(|&one| one != holder && self.may_keep(machines, one))
            && in_vain.is_none()
        {
            return Some(beside);
        }
        let in_use = able(&|one| in_vain.is_none() && known.granted(one) > 0);
        in_use.or_else(|| able(&|_| true))
    }

    pub(super) fn may_keep(&self, machines: &Machines, resource: ResourceId) -> bool {
        machines.is_trusted(resource)
            && self.stores.get(resource).is_some()
            && machines.is_reachable(resource)
    }
}

/// The next one in a circle.
fn next_after(able: Vec<ResourceId>, before: ResourceId) -> Option<ResourceId> {
    let next = able.iter().find(|one| **one > before);
    next.or(able.first()).copied()
}

/// Questions of bounded size.
pub(super) fn parts(copies: Vec<Copy>) -> Vec<Vec<Copy>> {
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
