//! Slots that the rest of a plan does not need are given back while others wait, and none that are used.

use std::collections::{BTreeMap, BTreeSet};

use group_core::Event as GroupEvent;
use model::{ActivityId, GroupId, Mono, Plan, ProcessId, ResourceId, Span};
use process_core::record::Verdict;
use process_core::{Event, Stream};
use simulator::Seen;

use super::{Judged, Rule};
use crate::held::Held;
use crate::known::Known;

/// Time after which slots are given back that nobody needs, where all managers reach each other and
/// others wait: messages are lost for some seconds now and then.
const BACK_AFTER: Span = Span::from_secs(20);
/// A machine with leases tells its process manager something every two seconds: one that was not heard for
/// longer is suspect, and what it has stays where it is.
const HEARD_WITHIN: Span = Span::from_secs(5);
/// Time from one look to the next.
const LOOK_PERIOD: Span = Span::from_secs(1);

/// The plans and the slots of all processes.
#[derive(Debug, Default)]
pub(super) struct Returns {
    plans: BTreeMap<ProcessId, Plan>,
    /// Activities whose attempts ended, for now or for ever.
    done: BTreeMap<ProcessId, BTreeSet<ActivityId>>,
    /// Activities that are made again, of processes that may need any machine for that.
    again: BTreeSet<ProcessId>,
    /// Process managers that grant leases.
    leasing: BTreeSet<usize>,
    /// When each process manager heard each machine last.
    heard: BTreeMap<(usize, usize), Mono>,
    /// Since when slots are held that the rest of a plan does not need, while others wait.
    idle: BTreeMap<(ProcessId, ResourceId), Mono>,
    looked: Mono,
}

impl Returns {
    fn process(&mut self, process: ProcessId, event: &Event) {
        let before = self.plans.entry(process).or_default();
        if let Some(plan) = event.plan(before) {
            *before = plan;
        }
        match event {
            Event::Ended(ended) => {
                let activity = ended.outcome.attempt.activity;
                let done = self.done.entry(process).or_default();
                match &ended.verdict {
                    Verdict::Completed => {
                        done.insert(activity);
                    }
                    Verdict::Lacking(_) => {
                        self.again.insert(process);
                    }
                    Verdict::Again
                    | Verdict::Moved
                    | Verdict::Retry { .. }
                    | Verdict::Faulted(_)
                    | Verdict::Broke(_)
                    | Verdict::Stopped
                    | Verdict::Dropped(_) => {}
                }
            }
            Event::Reused(reused) => {
                self.done
                    .entry(process)
                    .or_default()
                    .insert(reused.activity);
            }
            Event::FilesLost(..) | Event::Recomputing(_) => {
                self.again.insert(process);
            }
            _ => {}
        }
    }

    /// A process that has given slots back holds those that its commands use.
    fn is_enough(
        known: &Known,
        held: &Held,
        process: ProcessId,
        group: GroupId,
    ) -> Result<(), String> {
        let mut used: BTreeMap<ResourceId, u32> = BTreeMap::new();
        let sent = known.processes.get(&process).map(|durable| &durable.sent);
        for (attempt, (_, cores)) in &known.running {
            let resource = sent.and_then(|sent| sent.get(attempt));
            if let Some(resource) = resource.filter(|resource| resource.group == group) {
                *used.entry(*resource).or_default() += cores;
            }
        }
        for (resource, used) in used {
            let held = held.slots(process, resource);
            if used > held {
                return Err(format!(
                    "{process} uses {used} slots of {resource} and keeps {held}"
                ));
            }
        }
        Ok(())
    }

    /// Looks which slots are idle, and for how long.
    fn look(&mut self, known: &Known, judged: &mut Judged) -> Result<(), String> {
        let waiting = known.processes.iter().filter(|(id, durable)| {
            let is_open = durable.since.is_some() && durable.closed.is_none();
            let has_plan = self.plans.get(id).is_some_and(|plan| plan.generation.0 > 0);
            let is_there = known.together.contains_key(&known.manager_of(**id));
            is_open && is_there && !has_plan && !durable.is_cancelling && !durable.is_faulting
        });
        let waiting: BTreeSet<ProcessId> = waiting.map(|(id, _)| *id).collect();
        let mut idle = BTreeMap::new();
        if !waiting.is_empty() {
            for (process, resource, _) in known.held.all() {
                if self.is_idle(known, process, resource) {
                    let before = self.idle.get(&(process, resource)).copied();
                    idle.insert((process, resource), before.unwrap_or(known.at));
                }
            }
        }
        self.idle = idle;
        for ((process, resource), since) in &self.idle {
            judged.count();
            if known.at.since(*since) > BACK_AFTER {
                return Err(format!(
                    "{process} holds slots of {resource} that its plan does not need, since {since:?}, \
                     and {waiting:?} wait"
                ));
            }
        }
        Ok(())
    }

    /// Returns true if a process goes on elsewhere and does not need its slots of a machine.
    fn is_idle(&self, known: &Known, process: ProcessId, resource: ResourceId) -> bool {
        let manager = known.manager_of(process);
        let is_heard = |machine: usize| {
            let heard = self.heard.get(&(manager, machine));
            let is_fresh = heard.is_some_and(|at| known.at.since(*at) <= HEARD_WITHIN);
            is_fresh || !self.leasing.contains(&manager)
        };
        let machine_of = |resource: &ResourceId| {
            let machine = known.machines.get(resource).filter(|one| is_heard(**one))?;
            let times = known.reached.get(&(manager, *machine))?;
            times.last().filter(|(_, end)| end.is_none())
        };
        let (Some(durable), Some(plan)) = (known.processes.get(&process), self.plans.get(&process))
        else {
            return false;
        };
        let runs = durable.closed.is_none() && !durable.is_cancelling && !durable.is_faulting;
        let done = self.done.get(&process);
        let is_done = |activity: &ActivityId| done.is_some_and(|done| done.contains(activity));
        let mut left = plan
            .entries
            .iter()
            .filter(|entry| !is_done(&entry.activity));
        let mut sent = durable.out.values().chain(&durable.beside);
        let goes_on = known.running.keys().any(|one| one.process == process);
        runs && goes_on
            && !self.again.contains(&process)
            && known.together.contains_key(&manager)
            && machine_of(&resource).is_some()
            // Whatever was ever sent there may still be there, until the machine has said that it is not.
            && sent.all(|attempt| durable.sent.get(attempt) != Some(&resource))
            && !known.running.keys().any(|one| {
                one.process == process && durable.sent.get(one) == Some(&resource)
            })
            && left.all(|entry| {
                entry.resource != resource
                    && known.held.slots(process, entry.resource) > 0
                    && machine_of(&entry.resource).is_some()
            })
    }
}

impl Rule for Returns {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        if known.at.since(self.looked) >= LOOK_PERIOD {
            self.looked = known.at;
            self.look(known, judged)?;
        }
        match seen {
            Seen::ProcessDurable(Stream::Process(process), event) => self.process(*process, event),
            Seen::Leases(manager, _) => {
                self.leasing.insert(*manager);
            }
            Seen::Heard(manager, machine) => {
                self.heard.insert((*manager, *machine), known.at);
            }
            Seen::GroupDurable(group, event) => {
                if let GroupEvent::Returned { process, .. } = event {
                    judged.count();
                    let held = known.held.after(*group, event);
                    Returns::is_enough(known, &held, *process, *group)?;
                }
            }
            // Whose processes wait may have changed.
            Seen::Managers { .. } => self.idle.clear(),
            _ => {}
        }
        Ok(())
    }
}
