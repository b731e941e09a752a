//! Moves: a plan that moves activities, since a machine is not as fast as was planned, takes none from a machine where
//! it may still start. And but for the published policies, it takes none that two plans have moved within a minute.

use std::collections::{BTreeMap, BTreeSet};

use model::{ActivityId, AttemptId, GroupId, Mono, Plan, Policy, ProcessId, ResourceId, Span};
use process_core::{Event, Stream};
use simulator::Seen;
use wire::group::{FromGroup, Offered};

use super::{Judged, Rule};
use crate::known::{Durable, Known};

/// Plans that give an activity another machine, after which it stays where it is...
const MOVES_MAX: u32 = 2;
/// ...for so long; some seconds less than the process manager has it stay, which counts from other moments.
const STAYS_FOR: Span = Span::from_secs(55);
/// Time for which managers and a machine reach each other before the machine is certainly planned with.
const SETTLED: Span = Span::from_secs(15);
/// The time after which an attempt may be taken to stand still: nothing stays on its machine.
const LONG: Span = Span::from_secs(4);

/// The plans in force, and the moves.
#[derive(Debug, Default)]
pub(super) struct Moves {
    plans: BTreeMap<ProcessId, Plan>,
    /// The policies that processes name.
    policies: BTreeMap<ProcessId, Policy>,
    /// When the commands of attempts started.
    started: BTreeMap<AttemptId, Mono>,
    /// The moves of activities since their process manager runs, and the last of them.
    moved: BTreeMap<ProcessId, BTreeMap<ActivityId, (u32, Mono)>>,
    /// When an attempt of a process ended last on a machine that had run for long.
    long: BTreeMap<(ProcessId, ResourceId), Mono>,
    /// The machines that groups have offered, and when an offer last left each out.
    offered: BTreeMap<ResourceId, Option<Mono>>,
}

impl Moves {
    /// Another plan comes into force.
    fn replanned(
        &mut self,
        known: &Known,
        (id, before, plan): (ProcessId, &Plan, &Plan),
        is_for_speed: bool,
        judged: &mut Judged,
    ) -> Result<(), String> {
        let Some(process) = known.processes.get(&id) else {
            return Ok(());
        };
        for entry in &plan.entries {
            let activity = entry.activity;
            let place = before.entry(activity).map(|entry| entry.resource);
            let Some(place) = place.filter(|place| *place != entry.resource) else {
                continue;
            };
            let moved = self.moved.entry(id).or_default();
            let (n, last) = moved.get(&activity).copied().unwrap_or((0, known.at));
            let is_lately = known.at.since(last) < STAYS_FOR;
            moved.insert(activity, (if is_lately { n + 1 } else { 1 }, known.at));
            if !is_for_speed {
                continue;
            }
            judged.count();
            let there = process.out.get(&activity);
            let there = there.filter(|one| process.sent.get(*one) == Some(&place));
            if let Some(attempt) = there.filter(|one| !self.started.contains_key(*one)) {
                return Err(format!(
                    "{attempt} may start on {place}, and a plan has it elsewhere"
                ));
            }
            let may_move =
                process.completed.contains(&activity) || self.may_move(known, (id, process), place);
            if is_lately && n >= MOVES_MAX && !may_move {
                return Err(format!(
                    "{activity} of {id} moves away from {place}, after {n} moves, the last at {last:?}"
                ));
            }
        }
        Ok(())
    }

    /// Returns true if an activity may move away from a machine however often others have moved it: a published policy
    /// moves as often as it says, and a machine may have been away, or be taken to stand still.
    fn may_move(
        &self,
        known: &Known,
        (id, process): (ProcessId, &Durable),
        place: ResourceId,
    ) -> bool {
        let own = self.policies.get(&id).copied();
        match own.or(known.rescheduling).unwrap_or_default() {
            Policy::Rounds(_) | Policy::Adaptive => return true,
            Policy::Xavantes | Policy::Static => {}
        }
        let manager = known.manager_of(id);
        let has = |since: Option<&Mono>| since.is_some_and(|at| known.at.since(*at) > SETTLED);
        let is_there = |machine: &usize| {
            let times = known.reached.get(&(manager, *machine));
            let last = times.and_then(|times| times.last());
            let reached = last
                .filter(|(_, end)| end.is_none())
                .map(|(since, _)| since);
            has(reached) && has(known.joined.get(machine)) && has(known.together.get(&manager))
        };
        let expected = known.expected.get(&id);
        let has_room = expected.is_some_and(|one| process.granted(place) >= one.cores_max);
        let is_long = |attempt: &AttemptId| {
            let started = self.started.get(attempt);
            process.sent.get(attempt) == Some(&place)
                && started.is_some_and(|at| known.at.since(*at) >= LONG)
        };
        let mut out = process.out.values().chain(&process.beside);
        let was_long = self.long.get(&(id, place));
        let stands_still =
            out.any(is_long) || was_long.is_some_and(|at| known.at.since(*at) < SETTLED);
        let machine = known.machines.get(&place);
        let left_out = self.offered.get(&place).copied().flatten();
        let is_offered = left_out.is_none_or(|at| known.at.since(at) > SETTLED);
        !machine.is_some_and(is_there) || !is_offered || !has_room || stands_still
    }

    /// A group offers these machines, and none of its others.
    fn offers(&mut self, known: &Known, offered: &[Offered]) {
        let ids = offered.iter().map(|one| one.resource);
        for place in ids.clone() {
            self.offered.entry(place).or_default();
        }
        let groups: BTreeSet<GroupId> = ids.clone().map(|place| place.group).collect();
        let ids: BTreeSet<ResourceId> = ids.collect();
        for (place, left_out) in &mut self.offered {
            // An offer of nothing does not tell whose it is.
            let is_of_group = groups.is_empty() || groups.contains(&place.group);
            if is_of_group && !ids.contains(place) {
                *left_out = Some(known.at);
            }
        }
    }

    /// An attempt has ended that may have run for long.
    fn ended(&mut self, known: &Known, attempt: AttemptId) {
        let process = known.processes.get(&attempt.process);
        let place = process.and_then(|process| process.sent.get(&attempt));
        let started = self.started.get(&attempt);
        if let (Some(&place), Some(&started)) = (place, started)
            && known.at.since(started) >= LONG
        {
            self.long.insert((attempt.process, place), known.at);
        }
    }
}

impl Rule for Moves {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        match seen {
            Seen::Submits(submit) => {
                let policy = submit.draft.policy;
                let policy = policy.map(|policy| (submit.key.process(), policy));
                self.policies.extend(policy);
            }
            Seen::FromGroup(FromGroup::Offer(offer)) => self.offers(known, &offer.resources),
            Seen::Started(command) => {
                self.started.insert(command.attempt, known.at);
            }
            // Moves are forgotten with the process manager's memory.
            Seen::Managers {
                manager,
                process: false,
                ..
            } => self.moved.retain(|id, _| known.manager_of(*id) != *manager),
            Seen::ProcessDurable(Stream::Process(id), event) => {
                if let Event::Ended(ended) = event {
                    self.ended(known, ended.outcome.attempt);
                }
                let before = self.plans.remove(id).unwrap_or_default();
                let plan = event.plan(&before);
                if let (Event::Replanned(replanned), Some(plan)) = (event, &plan) {
                    let plans = (*id, &before, plan);
                    self.replanned(known, plans, replanned.why.is_some(), judged)?;
                }
                self.plans.insert(*id, plan.unwrap_or(before));
            }
            _ => {}
        }
        Ok(())
    }
}
