//! The durable state of one process, and the only place that changes it.
//!
//! What a process *is* (definition, inputs, files) comes from its founding event and is kept there
//! once; what has *become* of it is [`Course`], which a snapshot holds.

use std::collections::BTreeMap;

use minicbor::{Decode, Encode};
use model::limits::CORES_MAX;
use model::{
    ActivityId, Artifact, AttemptId, Definition, Fault, GroupId, Identity, Plan, ProcessId,
    ResourceId, Span, SubmitKey, Value, Wall,
};
use wire::client::Totals;

use crate::attempt::ActivityState;
use crate::claim::Holding;
use crate::control::{Control, Moved};
use crate::flow::Turn;
use crate::index::Index;
use crate::record::CacheKey;
use crate::record::{
    ActivityPhase, ENTRY_BYTES, End, Ended, Event, Flow, Founded, Log, NodeState, PastAttempt,
    Phase, Reused, SEMANTICS, Verdict,
};
use crate::remake::Remake;

/// Faults that a process remembers, each with some KiB of what the command wrote; the first one
/// ended it, unless it goes on without what depends on them.
const FAULTS_MAX: usize = 64;
/// Bytes of what one activity wrote to variables that are kept for later processes: what is longer
/// belongs into a file.
const CAPTURED_BYTES_MAX: usize = 64 << 10;
/// Bytes of that kept of a whole process: they are in its snapshots.
const CAPTURED_BYTES_ALL_MAX: u64 = 16 << 20;

/// One process.
#[derive(Debug)]
pub struct Process {
    pub(crate) key: SubmitKey,
    pub(crate) definition: Definition,
    pub(crate) inputs: Vec<Value>,
    pub(crate) files: Vec<Artifact>,
    pub(crate) origin: String,
    pub(crate) submitted: Wall,
    pub(crate) base: Option<ProcessId>,
    pub(crate) keep_going: bool,
    pub(crate) keep: Option<Span>,
    /// Whose it is, where it was not submitted on the manager's own machine.
    pub(crate) owner: Option<String>,
    pub(crate) store: Option<ResourceId>,
    pub(crate) course: Course,
    pub(crate) index: Index,
}

/// What has become of a process.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Course {
    #[n(0)]
    pub(crate) phase: Phase,
    #[n(1)]
    pub(crate) closed: Option<Wall>,
    #[n(2)]
    pub(crate) control: Control,
    /// By node; controllers have an entry that is never used.
    #[n(3)]
    pub(crate) activities: Vec<ActivityState>,
    #[n(4)]
    pub(crate) variables: Vec<Value>,
    #[n(5)]
    pub(crate) produced: BTreeMap<(ActivityId, u32), Artifact>,
    #[n(6)]
    pub(crate) outputs: Vec<(String, Value)>,
    #[n(7)]
    pub(crate) faults: Vec<Fault>,
    #[n(8)]
    pub(crate) plan: Plan,
    #[n(9)]
    pub(crate) planned: Option<Span>,
    #[n(10)]
    pub(crate) machines: Vec<(ResourceId, String)>,
    #[n(11)]
    pub(crate) holdings: BTreeMap<GroupId, Holding>,
    #[n(13)]
    pub(crate) is_released: bool,
    /// When an activity may be tried again.
    #[n(14)]
    pub(crate) backoff: BTreeMap<ActivityId, Wall>,
    /// Attempts before the last one.
    #[n(15)]
    pub(crate) earlier: BTreeMap<ActivityId, Vec<PastAttempt>>,
    /// Where what the last attempts wrote is kept.
    #[n(16)]
    pub(crate) logs: BTreeMap<ActivityId, Log>,
    /// Run time of the attempts that ended well, by which the rest is estimated.
    #[n(17)]
    pub(crate) seen_wall: Span,
    #[n(18)]
    pub(crate) n_seen: u32,
    /// What decided the outcome of each activity that was sent or reused.
    #[cbor(n(19), default)]
    pub(crate) cache_keys: BTreeMap<ActivityId, CacheKey>,
    /// What was read from the streams of activities that have completed: stdout before stderr.
    #[cbor(n(20), default)]
    pub(crate) captured: BTreeMap<ActivityId, Vec<Value>>,
    #[cbor(n(21), default)]
    pub(crate) captured_bytes: u64,
    /// Activities for which a recorded outcome stands.
    #[cbor(n(22), default)]
    pub(crate) reused: BTreeMap<ActivityId, Recalled>,
    /// Activities whose files were gone.
    #[cbor(n(23), default)]
    pub(crate) remakes: BTreeMap<ActivityId, Remake>,
    /// The machine that keeps a copy of what an activity has produced.
    #[cbor(n(24), default)]
    pub(crate) copies: BTreeMap<ActivityId, ResourceId>,
    /// The machine that has what an activity has produced, where that is not the one that made it.
    #[cbor(n(25), default)]
    pub(crate) holders: BTreeMap<ActivityId, ResourceId>,
    /// The machine that was lost of the two that have what an activity has produced, until there is
    /// another copy.
    #[cbor(n(26), default)]
    pub(crate) bereft: BTreeMap<ActivityId, ResourceId>,
}

/// Whose outcome stands for an activity; the figures of that attempt are in its state.
#[derive(Clone, Copy, Debug, PartialEq, Encode, Decode)]
pub(crate) struct Recalled {
    #[n(0)]
    pub(crate) of: AttemptId,
    /// Slots that it held.
    #[n(1)]
    pub(crate) slots: u32,
}

impl Process {
    /// The name of its owner, where it has one.
    pub(crate) fn user(&self) -> Option<String> {
        let identity: Identity = self.owner.as_deref()?.parse().ok()?;
        Some(identity.label())
    }

    /// The process that a founding event begins. Nothing is checked that was accepted before: the
    /// error says why this version does not understand it.
    pub(crate) fn found(founded: &Founded) -> Result<Process, String> {
        if founded.semantics > SEMANTICS {
            let number = founded.semantics;
            return Err(format!(
                "its semantics are number {number}, and this version knows those up to {SEMANTICS}"
            ));
        }
        let definition = founded.draft.definition()?;
        let n_nodes = definition.nodes().len();
        let variables = definition
            .draft()
            .variables
            .iter()
            .map(|variable| variable.initial.clone())
            .collect();
        let course = Course {
            control: Control::new(&definition),
            activities: vec![ActivityState::default(); n_nodes],
            variables,
            ..Course::default()
        };
        let mut process = Process {
            key: founded.key,
            definition,
            inputs: founded.inputs.clone(),
            files: founded.files.clone(),
            origin: founded.origin.clone(),
            submitted: founded.at,
            base: founded.base,
            keep_going: founded.keep_going,
            keep: founded.keep,
            owner: founded.owner.clone(),
            store: founded.store,
            course,
            index: Index::default(),
        };
        process.rebuild_index();
        process.follow(&founded.flow);
        Ok(process)
    }

    /// Its name.
    pub fn id(&self) -> ProcessId {
        self.key.process()
    }

    /// Where it is in its life.
    pub fn phase(&self) -> Phase {
        self.course.phase
    }

    /// What it is a run of.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Its activities' states, by node.
    pub fn activity(&self, activity: ActivityId) -> &ActivityState {
        &self.course.activities[activity.node().index()]
    }

    /// Whether this attempt is out and its end not recorded.
    pub fn is_out(&self, attempt: AttemptId) -> bool {
        self.course
            .activities
            .get(attempt.activity.node().index())
            .is_some_and(|state| state.is_out() && state.number == attempt.number)
            || self.is_remake(attempt)
    }

    /// How many activities are where.
    pub fn totals(&self) -> Totals {
        self.index.totals
    }

    /// Attempts that are out, by machine.
    pub(crate) fn out(&self) -> impl Iterator<Item = (ResourceId, AttemptId)> {
        let out = self.index.out.values().flatten();
        out.map(|&activity| self.out_of(activity))
    }

    /// Slots that are held on a machine.
    pub(crate) fn granted(&self, resource: ResourceId) -> u32 {
        let slots = self
            .grants()
            .filter(|grant| grant.resource == resource)
            .map(|grant| grant.slots);
        // A group that grants more than any machine has does no harm by it.
        slots.fold(0, u32::saturating_add).min(CORES_MAX)
    }

    /// Entries of a snapshot, about.
    pub(crate) fn weight(&self) -> usize {
        let course = &self.course;
        course.control.weight()
            + course.activities.len() / 4
            + course.plan.entries.len() / 4
            + course.variables.len()
            + self.index.variables_bytes / ENTRY_BYTES
            + course.produced.len()
    }

    /// The state that a snapshot of it gives back.
    pub(crate) fn restore(mut self, course: Course) -> Process {
        self.course = course;
        self.course.control.rebuild(&self.definition);
        self.rebuild_index();
        self
    }

    /// Changes the state by one event.
    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::Epoch(_) | Event::Leased(_) | Event::Founded(_) => {}
            Event::Planned {
                plan,
                machines,
                is_estimate,
            } => {
                self.replan(plan, machines, *is_estimate);
            }
            Event::Granted {
                group,
                number,
                grants,
            } => {
                let (number, grants) = (*number, grants.clone());
                let holding = Holding { number, grants };
                self.course.holdings.insert(*group, holding);
            }
            Event::Sent(attempts, cache_keys) => {
                for &(activity, number, resource) in attempts {
                    self.send(activity, number, resource);
                }
                for (&(activity, ..), cache_key) in attempts.iter().zip(cache_keys) {
                    self.course.cache_keys.insert(activity, *cache_key);
                }
            }
            Event::Remaking(attempts) => {
                for &(activity, number, resource) in attempts {
                    self.send_remake(activity, number, resource);
                }
            }
            Event::Copied {
                activity,
                resource,
                machine,
                beside,
            } => {
                self.name_machine(*resource, machine);
                if let Some(holder) = beside {
                    self.course.holders.insert(*activity, *holder);
                }
                self.keep_copy(*activity, *resource);
            }
            Event::MachineLost {
                resource,
                activities,
            } => self.lose_machine(*resource, activities),
            Event::FilesLost(makers, resource) => self.want_remakes(makers, *resource),
            Event::Reused(reused) => self.reuse(reused),
            Event::Broke { fault, flow, .. } => {
                self.keep_fault(fault);
                self.follow(flow);
            }
            Event::Readied(activities) => {
                for &activity in activities {
                    if self.course.backoff.remove(&activity).is_some() {
                        self.turn_to(activity, ActivityPhase::Ready);
                    }
                }
            }
            Event::Ended(ended) => self.end_attempt(ended),
            Event::Decided(flow) => self.follow(flow),
            Event::Assigned { writes, flow, .. } => {
                self.write(writes);
                self.follow(flow);
            }
            Event::Faulted(fault) => self.stop(Phase::Faulting, Some(fault)),
            Event::CancelAsked => self.stop(Phase::Cancelling, None),
            Event::Closed { phase, at, outputs } => {
                self.course.phase = *phase;
                self.course.closed = Some(*at);
                self.course.outputs.clone_from(outputs);
            }
            Event::Released => {
                self.course.is_released = true;
                self.course.holdings.clear();
            }
        }
    }

    fn replan(&mut self, plan: &Plan, machines: &[(ResourceId, String)], is_estimate: bool) {
        if self.course.planned.is_none() && is_estimate {
            self.course.planned = Some(plan.makespan());
        }
        self.course.plan = plan.clone();
        for (resource, name) in machines {
            self.name_machine(*resource, name);
        }
        let ready = std::mem::take(&mut self.index.ready);
        for (_, activity) in ready.into_values().flatten() {
            self.queue(activity);
        }
    }

    fn name_machine(&mut self, resource: ResourceId, name: &str) {
        let machines = &mut self.course.machines;
        if !machines.iter().any(|(known, _)| *known == resource) {
            machines.push((resource, name.to_owned()));
        }
    }

    fn send(&mut self, activity: ActivityId, number: u32, resource: ResourceId) {
        self.turn_to(activity, ActivityPhase::Sent);
        let ActivityState {
            n_failed,
            n_lost,
            phase,
            ..
        } = *self.activity(activity);
        self.course.activities[activity.node().index()] = ActivityState {
            number,
            resource,
            n_failed,
            n_lost,
            phase,
            ..ActivityState::default()
        };
        self.index.out.entry(resource).or_default().insert(activity);
    }

    fn end_attempt(&mut self, ended: &Ended) {
        let outcome = &ended.outcome;
        let activity = outcome.attempt.activity;
        let index = activity.node().index();
        let known = index < self.course.activities.len();
        if !known || !self.is_out(outcome.attempt) {
            return;
        }
        if self.is_remake(outcome.attempt) {
            return self.end_remake(ended);
        }
        self.forget_before(activity);
        let state = &mut self.course.activities[index];
        state.started = outcome.started;
        state.wall = outcome.wall;
        state.cpu = outcome.cpu;
        state.peak_memory = outcome.peak_memory;
        state.pid = outcome.pid;
        state.has_exit_code = outcome.exit_code.is_some();
        state.exit_code = outcome.exit_code.unwrap_or_default();
        if let Some(log) = outcome.log {
            self.course.logs.insert(activity, log);
        }
        match &ended.verdict {
            Verdict::Completed => {
                self.course.seen_wall = self.course.seen_wall + outcome.wall;
                self.course.n_seen += 1;
                for (output, artifact) in outcome.outputs.iter().enumerate() {
                    self.course
                        .produced
                        .insert((activity, output as u32), *artifact);
                }
                self.write(&ended.writes);
                self.keep_captured(activity, &ended.writes);
                self.turn_to(activity, ActivityPhase::Completed);
                self.note_produced(activity);
            }
            Verdict::Retry { at, fault } => {
                self.course.activities[index].n_failed += 1;
                self.keep_earlier(activity, fault.name.to_string());
                self.turn_to(activity, ActivityPhase::Backoff);
                self.course.backoff.insert(activity, *at);
            }
            Verdict::Again => {
                if outcome.end == End::Lost && outcome.started != Wall(0) {
                    self.course.activities[index].n_lost += 1;
                }
                self.keep_earlier(activity, "lost".to_owned());
                self.turn_to(activity, ActivityPhase::Ready);
            }
            Verdict::Moved => {
                self.keep_earlier(activity, "moved".to_owned());
                self.turn_to(activity, ActivityPhase::Ready);
            }
            Verdict::Lacking(makers) => {
                let lacked_on = self.activity(activity).resource;
                self.keep_earlier(activity, "lacking".to_owned());
                self.turn_to(activity, ActivityPhase::Ready);
                self.want_remakes(makers, lacked_on);
            }
            Verdict::Faulted(fault) => {
                self.turn_to(activity, ActivityPhase::Faulted);
                self.stop(Phase::Faulting, Some(fault));
            }
            Verdict::Broke(fault) => {
                self.turn_to(activity, ActivityPhase::Faulted);
                self.keep_fault(fault);
            }
            Verdict::Stopped => self.turn_to(activity, ActivityPhase::Stopped),
        }
        self.follow(&ended.flow);
    }

    /// A recorded outcome stands for an activity that was ready.
    fn reuse(&mut self, reused: &Reused) {
        let activity = reused.activity;
        let Some(state) = self.course.activities.get_mut(activity.node().index()) else {
            return;
        };
        if state.phase != ActivityPhase::Ready || self.course.phase != Phase::Running {
            return;
        }
        state.started = reused.started;
        state.wall = reused.wall;
        state.cpu = reused.cpu;
        state.peak_memory = reused.peak_memory;
        state.pid = reused.pid;
        state.resource = reused.resource;
        state.has_exit_code = reused.exit_code.is_some();
        state.exit_code = reused.exit_code.unwrap_or_default();
        self.name_machine(reused.resource, &reused.machine);
        let course = &mut self.course;
        course.seen_wall = course.seen_wall + reused.wall;
        course.n_seen += 1;
        course.cache_keys.insert(activity, reused.cache_key);
        let (of, slots) = (reused.of, reused.slots);
        course.reused.insert(activity, Recalled { of, slots });
        if let Some(log) = reused.log {
            course.logs.insert(activity, log);
        }
        for (output, artifact) in reused.outputs.iter().enumerate() {
            course.produced.insert((activity, output as u32), *artifact);
        }
        self.write(&reused.writes);
        self.keep_captured(activity, &reused.writes);
        self.index.totals.reused += 1;
        self.turn_to(activity, ActivityPhase::Completed);
        self.note_produced(activity);
        if let Some((resource, name)) = &reused.holder {
            self.name_machine(*resource, name);
            self.course.holders.insert(activity, *resource);
        }
        if let Some((resource, name)) = &reused.copy {
            self.name_machine(*resource, name);
            self.keep_copy(activity, *resource);
        }
        self.follow(&reused.flow);
    }

    /// Whether a fault ends only what depends on it.
    pub(crate) fn goes_on(&self) -> bool {
        self.keep_going && self.course.phase == Phase::Running
    }

    /// What controllers do by something that has happened: nothing where the process is ending.
    pub(crate) fn turn(&self, cause: impl FnOnce(Turn<'_>) -> Flow) -> Flow {
        if self.course.phase != Phase::Running {
            return Flow::default();
        }
        cause(Turn::new(&self.definition, &self.course.control))
    }

    pub(crate) fn keep_fault(&mut self, fault: &Fault) {
        if self.course.faults.len() < FAULTS_MAX {
            self.course.faults.push(fault.clone());
        }
    }

    /// Keeps what an activity wrote to variables for later processes, unless it is too long.
    fn keep_captured(&mut self, activity: ActivityId, writes: &[(u32, Value)]) {
        let size: usize = writes.iter().map(|(_, value)| value.size()).sum();
        let all = self.course.captured_bytes + size as u64;
        if writes.is_empty() || size > CAPTURED_BYTES_MAX || all > CAPTURED_BYTES_ALL_MAX {
            return;
        }
        self.course.captured_bytes = all;
        let values = writes.iter().map(|(_, value)| value.clone()).collect();
        self.course.captured.insert(activity, values);
    }

    /// Nothing is started any more; what is out is stopped.
    pub(crate) fn stop(&mut self, phase: Phase, fault: Option<&Fault>) {
        if let Some(fault) = fault {
            self.keep_fault(fault);
        }
        if self.course.phase != Phase::Running {
            return;
        }
        self.course.phase = phase;
        self.course.backoff.clear();
        for &activity in self.definition.clone().activities() {
            match self.activity(activity).phase {
                ActivityPhase::Waiting | ActivityPhase::Ready => {
                    self.turn_to(activity, ActivityPhase::Skipped);
                }
                ActivityPhase::Backoff => self.turn_to(activity, ActivityPhase::Stopped),
                ActivityPhase::Sent
                | ActivityPhase::Completed
                | ActivityPhase::Faulted
                | ActivityPhase::Skipped
                | ActivityPhase::Stopped => {}
            }
        }
    }

    fn write(&mut self, writes: &[(u32, Value)]) {
        for (variable, value) in writes {
            if let Some(kept) = self.course.variables.get_mut(*variable as usize) {
                let bytes = &mut self.index.variables_bytes;
                *bytes = (*bytes + value.size()).saturating_sub(kept.size());
                *kept = value.clone();
            }
        }
    }

    /// Writes what controllers did, and what that means for activities.
    pub(crate) fn follow(&mut self, flow: &Flow) {
        let mut moved = Vec::new();
        let control = &mut self.course.control;
        control.apply(&self.definition, flow, |one| moved.push(one));
        for Moved { node, from, to } in moved {
            let activity = ActivityId(node.0);
            if self.definition.activity(activity).is_none() {
                continue;
            }
            match (from, to) {
                (_, NodeState::Running) => self.turn_to(activity, ActivityPhase::Ready),
                (NodeState::Running, NodeState::Broken) => {
                    self.turn_to(activity, ActivityPhase::Faulted);
                }
                (_, NodeState::Skipped | NodeState::Broken) => {
                    self.turn_to(activity, ActivityPhase::Skipped);
                }
                // An activity is done by the outcome that is recorded with it.
                (_, NodeState::Idle | NodeState::Enabled | NodeState::Done) => {}
            }
        }
    }
}
