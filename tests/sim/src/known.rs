//! What is known from outside: the fold of everything that was seen so far.

use std::collections::{BTreeMap, BTreeSet};

use model::{ActivityId, AttemptId, Mono, ProcessId, ResourceId};
use process_core::{Event, Stream};
use simulator::Seen;
use wire::attempt::End;
use wire::client::Phase;

use crate::reference::Expected;

/// What was seen so far, before the event that a rule looks at.
#[derive(Debug, Default)]
pub struct Known {
    /// What each process should come to.
    pub expected: BTreeMap<ProcessId, Expected>,
    /// What is on the process manager's disk of each process.
    pub processes: BTreeMap<ProcessId, Durable>,
    /// The machine of each number.
    pub machines: BTreeMap<ResourceId, usize>,
    /// Attempts that run, with their machine and cores.
    pub running: BTreeMap<AttemptId, (usize, u32)>,
    /// Processes that a client has begun to cancel.
    pub cancels: BTreeSet<ProcessId>,
    /// Whether there are no faults any more.
    pub is_healed: bool,
}

/// What is on disk of one process.
#[derive(Debug, Default)]
pub struct Durable {
    /// Attempts that were sent, and where to.
    pub sent: BTreeMap<AttemptId, ResourceId>,
    /// The attempt of each activity whose end is not recorded.
    pub out: BTreeMap<ActivityId, AttemptId>,
    /// Attempts whose end is recorded.
    pub ended: BTreeMap<AttemptId, End>,
    /// Activities of which an attempt was recorded as completed.
    pub completed: BTreeSet<ActivityId>,
    /// Slots held by machine.
    pub granted: BTreeMap<ResourceId, u32>,
    /// Whether it is recorded that a user wants it cancelled.
    pub is_cancelling: bool,
    /// Whether a fault of its own is recorded.
    pub is_faulting: bool,
    /// How it ended, once that is recorded.
    pub closed: Option<Phase>,
    /// Whether its slots are given back.
    pub is_released: bool,
}

impl Known {
    /// Takes what was seen into account.
    pub fn update(&mut self, _: Mono, seen: &Seen<'_>) {
        match seen {
            Seen::Cancels(process) => {
                self.cancels.insert(*process);
            }
            Seen::ProcessDurable(Stream::Process(process), event) => {
                self.processes
                    .entry(*process)
                    .or_default()
                    .update(*process, event);
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
            Seen::ProcessDurable(Stream::Manager, _)
            | Seen::Machine { .. }
            | Seen::Submits(_)
            | Seen::GroupDurable(_)
            | Seen::ToActivity(..)
            | Seen::FromGroup(_)
            | Seen::Answers(_)
            | Seen::Told(..)
            | Seen::Stages(..)
            | Seen::AtRest => {}
        }
    }
}

impl Durable {
    /// Whether an attempt was sent and nothing was recorded of its end.
    pub fn is_out(&self, attempt: AttemptId) -> bool {
        self.out.get(&attempt.activity) == Some(&attempt)
    }

    fn update(&mut self, process: ProcessId, event: &Event) {
        match event {
            Event::Sent(attempts) => {
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
                self.ended.insert(outcome.attempt, outcome.end.clone());
                if outcome.end == End::Completed {
                    self.completed.insert(outcome.attempt.activity);
                }
            }
            Event::Granted { grants, .. } => {
                self.granted = BTreeMap::new();
                for grant in grants {
                    *self.granted.entry(grant.resource).or_default() += grant.slots;
                }
            }
            Event::CancelAsked => self.is_cancelling = true,
            Event::Faulted(_) => self.is_faulting = true,
            Event::Closed { phase, .. } => self.closed = Some(*phase),
            Event::Released => {
                self.is_released = true;
                self.granted.clear();
            }
            Event::Epoch(_)
            | Event::Founded(_)
            | Event::Planned { .. }
            | Event::Linked(_)
            | Event::Joined { .. }
            | Event::Assigned { .. }
            | Event::Readied(_) => {}
        }
    }
}
