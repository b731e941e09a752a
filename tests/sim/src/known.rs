//! The outside knowledge of a run: the fold of everything that was seen so far.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what tells nothing of the state is left to the rules"
)]

use std::collections::{BTreeMap, BTreeSet};

use group_core::Policy;
use model::{
    ActivityId, AttemptId, Caching, Command, Draft, FaultName, GroupId, Mono, NodeId, NodeKind,
    OutputSource, ProcessId, ResourceId, Source, Span, Template,
};
use process_core::record::{End, Holding, Verdict};
use process_core::{Event, Stream};
use simulator::Seen;
use simulator::generate::Generated;
use wire::client::Phase;

use crate::held::Held;
use crate::reference::Expected;

/// Everything seen so far, before the event that a rule looks at.
#[derive(Debug, Default)]
pub struct Known {
    /// The controller above each node.
    pub above: BTreeMap<(ProcessId, NodeId), NodeId>,
    /// The expected end of each process.
    pub expected: BTreeMap<ProcessId, Expected>,
    /// True if messages are lost.
    pub is_lossy: bool,
    /// The longest step of a process manager while there are faults.
    pub step_max: Span,
    /// The process that each process mends.
    pub bases: BTreeMap<ProcessId, ProcessId>,
    /// The durable state of each process on the process manager's disk.
    pub processes: BTreeMap<ProcessId, Durable>,
    /// The machine of each number.
    pub machines: BTreeMap<ResourceId, usize>,
    /// Attempts that run, with their machine and cores.
    pub running: BTreeMap<AttemptId, (usize, u32)>,
    /// Activities that may run twice at the same time.
    pub repeatable: BTreeSet<(ProcessId, ActivityId)>,
    /// Attempts at activities that are started at once, where these are several.
    pub replicas: BTreeMap<(ProcessId, ActivityId), u32>,
    /// Activities that must never run twice.
    pub once: BTreeSet<(ProcessId, ActivityId)>,
    /// The readers of the outputs of each activity of a process that discards files.
    pub reads: BTreeMap<(ProcessId, ActivityId), BTreeSet<ActivityId>>,
    /// Activities of such processes whose files must stay: outputs, and what cannot be made again.
    pub stays: BTreeSet<(ProcessId, ActivityId)>,
    /// Activities of such processes whose commands read something, which may have another value later:
    /// their files may stay.
    pub may_stay: BTreeSet<(ProcessId, ActivityId)>,
    /// Processes that let what runs finish after a fault.
    pub finishes: BTreeSet<ProcessId>,
    /// Processes that a client has begun to cancel.
    pub cancels: BTreeSet<ProcessId>,
    /// True if there are no faults any more.
    pub is_healed: bool,
    /// The moment of what is looked at.
    pub at: Mono,
    /// The slots of each machine.
    pub slots: BTreeMap<usize, u32>,
    /// The process manager of each process, where it is not the first one.
    pub managers: BTreeMap<ProcessId, usize>,
    /// The owner of each process that has one, by its name.
    pub owners: BTreeMap<ProcessId, String>,
    /// The policy by which owners share the groups.
    pub policy: Policy,
    /// The rule of the groups for processes that name none.
    pub rescheduling: Option<model::Policy>,
    /// Process managers that are lost for good.
    pub lost: BTreeSet<usize>,
    /// From when to when each process manager reached each machine; the end of the last time is open
    /// while it does.
    pub reached: BTreeMap<(usize, usize), Times>,
    /// The slots that processes hold.
    pub held: Held,
    /// Since when each machine and the manager of its group reach each other.
    pub joined: BTreeMap<usize, Mono>,
    /// Since when each process manager and the group managers reach each other.
    pub together: BTreeMap<usize, Mono>,
}

/// From when to when something was so, again and again; an end is open while it is.
pub type Times = Vec<(Mono, Option<Mono>)>;

/// The durable state of one process.
#[derive(Debug, Default)]
pub struct Durable {
    /// When it became durable.
    pub since: Option<Mono>,
    /// Attempts that were sent, and where to.
    pub sent: BTreeMap<AttemptId, ResourceId>,
    /// The attempt of each activity whose end is not recorded.
    pub out: BTreeMap<ActivityId, AttemptId>,
    /// Attempts that are out beside those, in a race or after one.
    pub beside: BTreeSet<AttemptId>,
    /// Those of a race whose end counts for nothing.
    pub dropped: BTreeSet<AttemptId>,
    /// Attempts whose end is recorded.
    pub ended: BTreeMap<AttemptId, End>,
    /// Attempts that were sent to make files again.
    pub again: BTreeSet<AttemptId>,
    /// Activities of which an attempt was recorded as completed, or for which a recorded outcome
    /// stands.
    pub completed: BTreeSet<ActivityId>,
    /// Activities for which a recorded outcome stands, and whose.
    pub reused: BTreeMap<ActivityId, AttemptId>,
    /// Slots held, by group.
    pub holdings: BTreeMap<GroupId, Holding>,
    /// True if it is recorded that a user wants it cancelled.
    pub is_cancelling: bool,
    /// True if a fault of its own is recorded.
    pub is_faulting: bool,
    /// True if nobody knows what became of an activity that must not run twice.
    pub is_unknown: bool,
    /// True if that is the want of a machine.
    pub wants_resource: bool,
    /// Activities of which a worker had trouble with an attempt.
    pub troubled: BTreeSet<ActivityId>,
    /// Its recorded end.
    pub closed: Option<Phase>,
    /// True if its slots are given back.
    pub is_released: bool,
    /// The roots of iterations of which only their end is kept.
    pub folded: BTreeSet<NodeId>,
}

impl Known {
    /// Notes which activities may run twice, and which must not.
    pub fn note_demands(&mut self, process: ProcessId, draft: &Draft) {
        for (index, node) in draft.nodes.iter().enumerate() {
            let id = (process, ActivityId(index as u32));
            for child in node.children() {
                self.above.insert((process, *child), NodeId(index as u32));
            }
            if let NodeKind::Activity(activity) = &node.kind {
                if activity.repeatable {
                    self.repeatable.insert(id);
                    self.replicas.insert(id, activity.n_replicas());
                }
                if activity.at_most_once {
                    self.once.insert(id);
                }
            }
        }
    }

    /// True if of an activity it is only kept that it has ended.
    pub fn is_folded(&self, process: ProcessId, activity: ActivityId) -> bool {
        let folded = self.processes.get(&process).map(|process| &process.folded);
        let mut at = Some(NodeId(activity.0));
        while let Some(node) = at {
            if folded.is_some_and(|folded| folded.contains(&node)) {
                return true;
            }
            at = self.above.get(&(process, node)).copied();
        }
        false
    }

    /// Notes who reads what, in a process that discards files.
    pub fn note_reads(&mut self, process: ProcessId, generated: &Generated) {
        let draft = &generated.submit.draft;
        let made_by = |source: Source| match source {
            Source::Output { activity, .. } => Some((process, ActivityId(activity.0))),
            Source::Input(_) | Source::Item(_) | Source::Pick(_) => None,
        };
        for (index, node) in draft.nodes.iter().enumerate() {
            let NodeKind::Activity(activity) = &node.kind else {
                continue;
            };
            let own = (process, ActivityId(index as u32));
            self.reads.entry(own).or_default();
            if activity.at_most_once || activity.cache == Caching::Always {
                self.stays.insert(own);
            }
            let reads = |text: &Template| text.0.contains("${");
            if matches!(&activity.command, Command::List(words) if words.iter().any(reads)) {
                self.may_stay.insert(own);
            }
            for maker in activity.inputs.iter().filter_map(|one| made_by(one.source)) {
                self.reads.entry(maker).or_default().insert(own.1);
            }
        }
        for output in &draft.outputs {
            match output.source {
                OutputSource::Produced(source) => self.stays.extend(made_by(source)),
                OutputSource::Gathered(Source::Output { activity, .. }) => {
                    let copies = generated.instances.get(&activity).into_iter().flatten();
                    let all = copies.map(|(_, copy)| copy).chain([&activity]);
                    self.stays
                        .extend(all.map(|one| (process, ActivityId(one.0))));
                }
                OutputSource::Gathered(_) | OutputSource::Expression(_) => {}
            }
        }
    }

    /// Takes what was seen into account.
    pub fn update(&mut self, at: Mono, seen: &Seen<'_>) {
        match seen {
            Seen::Submits(submit) => {
                self.note_demands(submit.key.process(), &submit.draft);
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
                manager,
                machine,
                is_reached,
            } => {
                let times = self.reached.entry((*manager, *machine)).or_default();
                if *is_reached {
                    times.push((at, None));
                } else if let Some((_, end)) = times.last_mut() {
                    *end = Some(at);
                }
            }
            Seen::ManagerLost(manager) => {
                self.lost.insert(*manager);
            }
            Seen::GroupDurable(group, event) => self.held.update(*group, event),
            Seen::Joined { machine, is_joined } => {
                note_since(&mut self.joined, *machine, at, *is_joined)
            }
            Seen::Managers { manager, both, .. } => {
                note_since(&mut self.together, *manager, at, *both);
            }
            _ => {}
        }
    }
}

/// Something is so from now on, or not any more.
fn note_since(since: &mut BTreeMap<usize, Mono>, of: usize, at: Mono, is_so: bool) {
    since.remove(&of);
    if is_so {
        since.insert(of, at);
    }
}

impl Known {
    /// True if two attempts at its activity may run at the same time.
    pub fn is_repeatable(&self, attempt: AttemptId) -> bool {
        let activity = (attempt.process, attempt.activity);
        self.repeatable.contains(&activity)
    }

    /// True if a process discards files.
    pub fn discards(&self, process: ProcessId) -> bool {
        let all = (process, ActivityId(0))..=(process, ActivityId(u32::MAX));
        self.reads.range(all).next().is_some()
    }

    /// The process manager of a process.
    pub fn manager_of(&self, process: ProcessId) -> usize {
        self.managers.get(&process).copied().unwrap_or_default()
    }

    /// The slots that the owner of a process may hold at once; none where that is not limited.
    pub fn slots_max(&self, process: ProcessId) -> Option<u32> {
        let owner = self.owners.get(&process)?;
        let own = self.policy.slots_max_of.get(owner).copied();
        own.or(self.policy.slots_max)
    }

    /// True if only a lost process manager knows a process.
    pub fn is_lost(&self, process: ProcessId) -> bool {
        self.lost.contains(&self.manager_of(process))
    }

    /// The longest time without a break for which a process manager reached a machine since then.
    pub fn reached_for(&self, manager: usize, machine: usize, since: Mono) -> Span {
        let times = self.reached.get(&(manager, machine)).into_iter().flatten();
        let spans = times.map(|&(from, to)| to.unwrap_or(self.at).since(from.max(since)));
        spans.max().unwrap_or(Span::ZERO)
    }
}

impl Durable {
    /// True if it may fault though its commands end well: for want of a machine, which is judged
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
    /// Slots held on a machine.
    pub fn granted(&self, resource: ResourceId) -> u32 {
        let grants = self.holdings.values().flat_map(|holding| &holding.grants);
        let of_it = grants.filter(|grant| grant.resource == resource);
        of_it.map(|grant| grant.slots).sum()
    }

    /// True if an attempt was sent and nothing was recorded of its end.
    pub fn is_out(&self, attempt: AttemptId) -> bool {
        self.out.get(&attempt.activity) == Some(&attempt) || self.beside.contains(&attempt)
    }

    /// True if an attempt is out and another one had the result.
    pub fn has_lost(&self, attempt: AttemptId) -> bool {
        self.beside.contains(&attempt) && !self.out.contains_key(&attempt.activity)
    }

    /// An attempt has ended. Where others are out at its activity, its end is a result, beside which they have lost,
    /// or it counts for nothing and one of them goes on.
    fn end(&mut self, attempt: AttemptId, is_dropped: bool) {
        let activity = attempt.activity;
        let was_beside = self.beside.remove(&attempt);
        if is_dropped && was_beside {
            return;
        }
        let before = self.out.remove(&activity);
        if is_dropped {
            let next = self.beside.iter().find(|one| one.activity == activity);
            if let Some(next) = next.copied() {
                self.beside.remove(&next);
                self.out.insert(activity, next);
            }
        } else if was_beside {
            self.beside.extend(before);
        }
    }

    /// Notes the machines of attempts that are sent.
    fn send(
        &mut self,
        process: ProcessId,
        attempts: &[(ActivityId, u32, ResourceId)],
    ) -> Vec<AttemptId> {
        let attempts = attempts.iter().map(|&(activity, number, resource)| {
            let attempt = AttemptId {
                process,
                activity,
                number,
            };
            self.sent.insert(attempt, resource);
            attempt
        });
        attempts.collect()
    }

    fn update(&mut self, process: ProcessId, event: &Event) {
        match event {
            Event::Sent(attempts, _) => {
                let sent = self.send(process, attempts).into_iter();
                self.out.extend(sent.map(|one| (one.activity, one)));
            }
            Event::Ended(ended) => {
                let outcome = &ended.outcome;
                let is_dropped = matches!(ended.verdict, Verdict::Dropped(_));
                self.end(outcome.attempt, is_dropped);
                if is_dropped {
                    self.dropped.insert(outcome.attempt);
                }
                self.ended.insert(outcome.attempt, outcome.end);
                if let Some(fault) = ended.verdict.fault() {
                    self.is_unknown |= fault.name == FaultName::OutcomeUnknown;
                }
                // One that nobody waits for any more may have completed.
                let counts = ended.verdict != Verdict::Stopped && !is_dropped;
                if outcome.end == End::Completed && counts {
                    self.completed.insert(outcome.attempt.activity);
                }
            }
            Event::Recomputing(attempts) => {
                let sent = self.send(process, attempts);
                self.again.extend(sent);
            }
            Event::Racing(attempts, _) => {
                let sent = self.send(process, attempts);
                self.beside.extend(sent);
            }
            Event::Reused(reused) => {
                self.completed.insert(reused.activity);
                self.reused.insert(reused.activity, reused.of);
            }
            Event::Granted { group, holding } => {
                self.holdings.insert(*group, holding.clone());
            }
            Event::Expanded(expanded) => {
                let iterations = expanded.iterations.as_ref();
                let folded = iterations.and_then(|one| one.folded.as_ref());
                self.folded.extend(folded.into_iter().flatten());
            }
            Event::CancelAsked => self.is_cancelling = true,
            Event::Faulted(fault) | Event::Broke { fault, .. } => {
                self.is_faulting = true;
                self.wants_resource |= fault.name == FaultName::NoResource;
            }
            Event::Closed { phase, .. } => self.closed = Some((*phase).into()),
            Event::Released => {
                self.is_released = true;
                self.holdings.clear();
            }
            Event::Epoch(_)
            | Event::Leased(_)
            | Event::Founded(_)
            | Event::Planned(_)
            | Event::Replanned(_)
            | Event::Decided(_)
            | Event::Assigned { .. }
            | Event::Readied(_)
            | Event::Copied { .. }
            | Event::MachineLost { .. }
            | Event::FilesLost(..) => {}
        }
    }
}
