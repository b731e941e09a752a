//! A process that is let past an earlier one does not delay it, by what was estimated.

use std::collections::BTreeMap;

use group_core::Policy;
use model::{ActivityId, Mono, NodeKind, Plan, ProcessId, ResourceId, Span, Wall};
use process_core::record::Verdict;
use process_core::{Event, Stream};
use simulator::Seen;

use super::{Judged, Rule};
use crate::known::Known;

/// Time between the moment for which a plan is judged and the one at which it is recorded: claims are
/// repeated where messages are lost.
const CLAIMED_WITHIN: Span = Span::from_secs(10);

/// An open claim is repeated more often than that. A process whose claim is open holds up nobody: a group
/// that does not answer must not.
const CLAIM_REPEATED_WITHIN: Span = Span::from_secs(2);

/// The plans in force, and what is left of them.
#[derive(Debug, Default)]
pub(super) struct Backfill {
    plans: BTreeMap<ProcessId, Plan>,
    /// Processes with the time of their submission, and the most slots that one of their activities wants.
    founded: BTreeMap<ProcessId, Wall>,
    cores: BTreeMap<ProcessId, BTreeMap<ActivityId, u32>>,
    done: BTreeMap<ProcessId, Vec<ActivityId>>,
    /// When commands started.
    started: BTreeMap<(ProcessId, ActivityId), Mono>,
    /// When slots were claimed last for a process.
    claimed: BTreeMap<ProcessId, Mono>,
}

impl Backfill {
    fn process(
        &mut self,
        known: &Known,
        process: ProcessId,
        event: &Event,
        judged: &mut Judged,
    ) -> Result<(), String> {
        let before = self.plans.get(&process).cloned().unwrap_or_default();
        if let Some(plan) = event.plan(&before) {
            self.plans.insert(process, plan);
        }
        match event {
            Event::Founded(founded) => {
                self.founded.insert(process, founded.at);
            }
            Event::Planned(_) => return self.judge(known, process, judged),
            Event::Ended(ended) if ended.verdict == Verdict::Completed => {
                let done = self.done.entry(process).or_default();
                done.push(ended.outcome.attempt.activity);
            }
            _ => {}
        }
        Ok(())
    }

    /// Judges a first plan beside the first process of its process manager that waits: only that one is
    /// expected to begin at a certain time.
    fn judge(&self, known: &Known, process: ProcessId, judged: &mut Judged) -> Result<(), String> {
        // With shares or limits of users, another process may be the first.
        let is_by_turn = known.policy == Policy::default();
        let Some(turn) = self.turn(known, process).filter(|_| is_by_turn) else {
            return Ok(());
        };
        let manager = known.manager_of(process);
        let mut others = self.founded.keys().filter(|&&id| id != process);
        judged.count_if(others.any(|&id| {
            let durable = known.processes.get(&id);
            let is_open = durable.is_some_and(|durable| durable.closed.is_none());
            is_open && known.manager_of(id) == manager
        }));
        let waiting = self.founded.keys().filter(|&&id| {
            let durable = known.processes.get(&id);
            let waits = durable.is_some_and(|durable| {
                durable.closed.is_none() && !durable.is_cancelling && !durable.is_faulting
            });
            waits && known.manager_of(id) == manager && !self.plans.contains_key(&id)
        });
        let first = waiting
            .filter_map(|&id| Some((self.turn(known, id)?, id)))
            .min();
        let has_claimed = |id: ProcessId| {
            let since = self.claimed.get(&id).map(|at| known.at.since(*at));
            since.is_some_and(|since| since <= CLAIMED_WITHIN + CLAIM_REPEATED_WITHIN)
        };
        let first = first.filter(|&(_, id)| !has_claimed(id));
        if let Some((_, first)) = first.filter(|(other, _)| other.0 < turn.0 && other.1 < turn.1) {
            let cores = self
                .cores
                .get(&first)
                .and_then(|cores| cores.values().max());
            let cores = cores.copied().unwrap_or(1);
            let without = self.begins(known, cores, |id| id != process);
            let with = self.begins(known, cores, |_| true);
            if with > without + CLAIMED_WITHIN {
                return Err(format!(
                    "{process} is let past {first}, which wants {cores} slots and could begin after \
                     {without:?}, and begins after {with:?}"
                ));
            }
        }
        Ok(())
    }

    /// The order of submission, by the calendar and in truth.
    fn turn(&self, known: &Known, process: ProcessId) -> Option<((Wall, ProcessId), Mono)> {
        let since = known.processes.get(&process)?.since?;
        Some(((*self.founded.get(&process)?, process), since))
    }

    /// The time after which so many slots are free on one of the machines, if all ends as planned.
    fn begins(&self, known: &Known, cores: u32, counts: impl Fn(ProcessId) -> bool) -> Span {
        let machines = known.machines.iter().filter_map(|(resource, machine)| {
            let slots = *known.slots.get(machine)?;
            (slots >= cores).then_some((*resource, slots))
        });
        let begins = machines.map(|(resource, slots)| {
            let mut ends: Vec<Span> = Vec::new();
            for (holder, held) in known.held.at(resource) {
                if counts(holder) {
                    let n_before = ends.len();
                    ends.extend(self.ends(known, holder, resource));
                    ends.resize(n_before + held as usize, Span::ZERO);
                }
            }
            ends.resize(ends.len().max(slots as usize), Span::ZERO);
            ends.sort_unstable();
            ends[cores as usize - 1]
        });
        begins.min().unwrap_or_default()
    }

    /// The times after which the slots of a machine are not needed any more by a process, at the latest.
    fn ends(&self, known: &Known, process: ProcessId, resource: ResourceId) -> Vec<Span> {
        let Some(plan) = self.plans.get(&process) else {
            return Vec::new();
        };
        let done = self.done.get(&process);
        let is_left = |activity: &ActivityId| done.is_none_or(|done| !done.contains(activity));
        let left = || plan.entries.iter().filter(|entry| is_left(&entry.activity));
        let out = known.processes.get(&process).map(|durable| &durable.out);
        let is_out = |activity: &ActivityId| out.is_some_and(|out| out.contains_key(activity));
        let reached = left().filter(|entry| is_out(&entry.activity)).map(|entry| {
            let started = self.started.get(&(process, entry.activity));
            let elapsed = started.map_or(Span::ZERO, |at| known.at.since(*at));
            entry.start + elapsed.min(Span(entry.finish.0.saturating_sub(entry.start.0)))
        });
        let begins = left().map(|entry| entry.start).min().unwrap_or_default();
        let clock = reached.min().unwrap_or(begins);
        let cores = self.cores.get(&process);
        let mut ends: BTreeMap<u32, Span> = BTreeMap::new();
        for entry in left().filter(|entry| entry.resource == resource) {
            let cores = cores.and_then(|cores| cores.get(&entry.activity));
            for slot in entry.slot..entry.slot + cores.copied().unwrap_or(1) {
                let end = ends.entry(slot).or_default();
                *end = (*end).max(Span(entry.finish.0.saturating_sub(clock.0)));
            }
        }
        ends.into_values().collect()
    }
}

impl Rule for Backfill {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        match seen {
            Seen::Submits(submit) => {
                let nodes = (0..).zip(&submit.draft.nodes);
                let cores = nodes.filter_map(|(index, node)| match &node.kind {
                    NodeKind::Activity(activity) => Some((ActivityId(index), activity.cores)),
                    _ => None,
                });
                self.cores.insert(submit.key.process(), cores.collect());
            }
            Seen::Started(command) => {
                let attempt = command.attempt;
                let started = (attempt.process, attempt.activity);
                self.started.insert(started, known.at);
            }
            Seen::ProcessDurable(Stream::Process(process), event) => {
                return self.process(known, *process, event, judged);
            }
            Seen::Claims(process) => {
                self.claimed.insert(*process, known.at);
            }
            _ => {}
        }
        Ok(())
    }
}
