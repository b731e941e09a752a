//! What is known from outside: the fold of everything that was seen so far.

use std::collections::{BTreeMap, BTreeSet};

use model::{ActivityId, AttemptId, FaultName, Mono, NodeKind, ProcessId, ResourceId, Span};
use process_core::record::End;
use process_core::{Event, Stream};
use simulator::Seen;
use wire::client::Phase;

use crate::reference::Expected;

/// What was seen so far, before the event that a rule looks at.
#[derive(Debug, Default)]
pub struct Known {
    /// What each process should come to.
    pub expected: BTreeMap<ProcessId, Expected>,
    /// Whether messages are lost.
    pub is_lossy: bool,
    /// The process that each process mends.
    pub bases: BTreeMap<ProcessId, ProcessId>,
    /// What is on the process manager's disk of each process.
    pub processes: BTreeMap<ProcessId, Durable>,
    /// The machine of each number.
    pub machines: BTreeMap<ResourceId, usize>,
    /// Attempts that run, with their machine and cores.
    pub running: BTreeMap<AttemptId, (usize, u32)>,
    /// Activities that may run twice at the same time.
    pub repeatable: BTreeSet<(ProcessId, ActivityId)>,
    /// Activities that must never run twice.
    pub once: BTreeSet<(ProcessId, ActivityId)>,
    /// Processes that a client has begun to cancel.
    pub cancels: BTreeSet<ProcessId>,
    /// Whether there are no faults any more.
    pub is_healed: bool,
    /// The moment of what is looked at.
    pub at: Mono,
    /// The slots of each machine.
    pub slots: BTreeMap<usize, u32>,
    /// From when to when each machine was reached; the end of the last time is open while it is.
    pub reached: BTreeMap<usize, Vec<(Mono, Option<Mono>)>>,
}

/// What is on disk of one process.
#[derive(Debug, Default)]
pub struct Durable {
    /// When it became durable.
    pub since: Option<Mono>,
    /// Attempts that were sent, and where to.
    pub sent: BTreeMap<AttemptId, ResourceId>,
    /// The attempt of each activity whose end is not recorded.
    pub out: BTreeMap<ActivityId, AttemptId>,
    /// Attempts whose end is recorded.
    pub ended: BTreeMap<AttemptId, End>,
    /// Activities of which an attempt was recorded as completed, or for which a recorded outcome
    /// stands.
    pub completed: BTreeSet<ActivityId>,
    /// Activities for which a recorded outcome stands, and whose.
    pub reused: BTreeMap<ActivityId, AttemptId>,
    /// Slots held by machine.
    pub granted: BTreeMap<ResourceId, u32>,
    /// Whether it is recorded that a user wants it cancelled.
    pub is_cancelling: bool,
    /// Whether a fault of its own is recorded.
    pub is_faulting: bool,
    /// Whether nobody knows what became of an activity that must not run twice.
    pub is_unknown: bool,
    /// Whether that is the want of a machine.
    pub wants_resource: bool,
    /// Activities of which a worker had trouble with an attempt.
    pub troubled: BTreeSet<ActivityId>,
    /// How it ended, once that is recorded.
    pub closed: Option<Phase>,
    /// Whether its slots are given back.
    pub is_released: bool,
}

impl Known {
    /// Takes what was seen into account.
    pub fn update(&mut self, at: Mono, seen: &Seen<'_>) {
        match seen {
            Seen::Submits(submit) => {
                let process = submit.key.process();
                for (index, node) in submit.draft.nodes.iter().enumerate() {
                    let id = (process, ActivityId(index as u32));
                    if let NodeKind::Activity(activity) = &node.kind {
                        if activity.repeatable {
                            self.repeatable.insert(id);
                        }
                        if activity.at_most_once {
                            self.once.insert(id);
                        }
                    }
                }
            }
            Seen::Cancels(process) => {
                self.cancels.insert(*process);
            }
            Seen::ProcessDurable(Stream::Process(process), event) => {
                let durable = self.processes.entry(*process).or_default();
                durable.since.get_or_insert(at);
                durable.update(*process, event);
            }
            Seen::Numbered(machine, resource) => {
                self.machines.insert(*resource, *machine);
            }
            Seen::Started(command) => {
                self.running
                    .insert(command.attempt, (command.machine, command.cores));
            }
            Seen::Ended(command) => {
                self.running.remove(&command.attempt);
            }
            Seen::Healed => self.is_healed = true,
            Seen::Machine { machine, slots } => {
                self.slots.insert(*machine, *slots);
            }
            Seen::Troubled(attempt) => {
                let process = self.processes.entry(attempt.process).or_default();
                process.troubled.insert(attempt.activity);
            }
            Seen::Reached {
                machine,
                is_reached,
            } => {
                let times = self.reached.entry(*machine).or_default();
                if *is_reached {
                    times.push((at, None));
                } else if let Some((_, end)) = times.last_mut() {
                    *end = Some(at);
                }
            }
            Seen::ProcessDurable(Stream::Manager, _)
            | Seen::GroupDurable(_)
            | Seen::Leases(_)
            | Seen::Heard(_)
            | Seen::Managers { .. }
            | Seen::Sizes(_)
            | Seen::Bereft(..)
            | Seen::ToActivity(..)
            | Seen::FromGroup(_)
            | Seen::Answers(_)
            | Seen::Told(..)
            | Seen::Plans(_)
            | Seen::HasPlanned(_)
            | Seen::Stages(..)
            | Seen::AtRest => {}
        }
    }
}

impl Known {
    /// Whether two attempts at its activity may run at the same time.
    pub fn is_repeatable(&self, attempt: AttemptId) -> bool {
        let activity = (attempt.process, attempt.activity);
        self.repeatable.contains(&activity)
    }

    /// The longest time without a break for which a machine was reached since then.
    pub fn reached_for(&self, machine: usize, since: Mono) -> Span {
        let times = self.reached.get(&machine).into_iter().flatten();
        let spans = times.map(|&(from, to)| to.unwrap_or(self.at).since(from.max(since)));
        spans.max().unwrap_or(Span::ZERO)
    }
}

impl Durable {
    /// Whether it may fault though its commands end well: for want of a machine, which is judged
    /// when it is recorded, or because a worker failed.
    pub fn has_excuse(&self) -> bool {
        let ends = self.ended.iter();
        let mut last: Vec<_> = ends
            .filter(|(id, _)| self.troubled.contains(&id.activity))
            .collect();
        last.dedup_by(|later, earlier| {
            let is_same = later.0.activity == earlier.0.activity;
            if is_same {
                *earlier = *later;
            }
            is_same
        });
        let has_failed = |end: &End| *end == End::Failed;
        self.wants_resource || self.is_unknown || last.iter().any(|(_, end)| has_failed(end))
    }
    /// Whether an attempt was sent and nothing was recorded of its end.
    pub fn is_out(&self, attempt: AttemptId) -> bool {
        self.out.get(&attempt.activity) == Some(&attempt)
    }

    fn update(&mut self, process: ProcessId, event: &Event) {
        match event {
            Event::Sent(attempts, _) => {
                for &(activity, number, resource) in attempts {
                    let attempt = AttemptId {
                        process,
                        activity,
                        number,
                    };
                    self.sent.insert(attempt, resource);
                    self.out.insert(activity, attempt);
                }
            }
            Event::Ended(ended) => {
                let outcome = &ended.outcome;
                self.out.remove(&outcome.attempt.activity);
                self.ended.insert(outcome.attempt, outcome.end);
                if let Some(fault) = ended.verdict.fault() {
                    self.is_unknown |= fault.name == FaultName::OutcomeUnknown;
                }
                if outcome.end == End::Completed {
                    self.completed.insert(outcome.attempt.activity);
                }
            }
            Event::Reused(reused) => {
                self.completed.insert(reused.activity);
                self.reused.insert(reused.activity, reused.of);
            }
            Event::Granted { grants, .. } => {
                self.granted = BTreeMap::new();
                for grant in grants {
                    *self.granted.entry(grant.resource).or_default() += grant.slots;
                }
            }
            Event::CancelAsked => self.is_cancelling = true,
            Event::Faulted(fault) | Event::Broke { fault, .. } => {
                self.is_faulting = true;
                self.wants_resource |= fault.name == FaultName::NoResource;
            }
            Event::Closed { phase, .. } => self.closed = Some((*phase).into()),
            Event::Released => {
                self.is_released = true;
                self.granted.clear();
            }
            Event::Epoch(_)
            | Event::Leased(_)
            | Event::Founded(_)
            | Event::Planned { .. }
            | Event::Decided(_)
            | Event::Assigned { .. }
            | Event::Readied(_)
            | Event::Copied { .. }
            | Event::MachineLost { .. }
            | Event::FilesLost(..)
            | Event::Remaking(_) => {}
        }
    }
}
