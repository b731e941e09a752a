//! The durable state of one process, and the only place that changes it.
//!
//! What a process *is* (definition, inputs, files) comes from its founding event and is kept there
//! once; what has *become* of it is [`Course`], which a snapshot holds.

use std::collections::{BTreeMap, BTreeSet};

use minicbor::{Decode, Encode};
use model::{
    ActivityId, Artifact, AttemptId, Definition, Fault, NodeId, Plan, ProcessId, ResourceId, Span,
    SubmitKey, Value, Wall,
};
use wire::attempt::{End, Log};
use wire::client::{ActivityPhase, AttemptStatus, Phase, Totals};
use wire::group::Grant;

use crate::attempt::ActivityState;
use crate::control::{Control, Turned};
use crate::event::{Ended, Event, Founded, Verdict};

/// Faults that a process remembers; the first one ended it.
const FAULTS_MAX: usize = 16;
/// Attempts of one activity that are remembered beside the last one.
const EARLIER_MAX: usize = 32;

/// One process.
#[derive(Debug)]
pub struct Process {
    pub(crate) key: SubmitKey,
    pub(crate) definition: Definition,
    pub(crate) inputs: Vec<Value>,
    pub(crate) files: Vec<Artifact>,
    pub(crate) origin: String,
    pub(crate) submitted: Wall,
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
    pub(crate) claim_number: u32,
    #[n(12)]
    pub(crate) grants: Vec<Grant>,
    #[n(13)]
    pub(crate) is_released: bool,
    /// When an activity may be tried again.
    #[n(14)]
    pub(crate) backoff: BTreeMap<ActivityId, Wall>,
    /// Attempts before the last one.
    #[n(15)]
    pub(crate) earlier: BTreeMap<ActivityId, Vec<AttemptStatus>>,
    /// Where what the last attempts wrote is kept.
    #[n(16)]
    pub(crate) logs: BTreeMap<ActivityId, Log>,
    /// Run time of the attempts that ended well, by which the rest is estimated.
    #[n(17)]
    pub(crate) seen_wall: Span,
    #[n(18)]
    pub(crate) n_seen: u32,
}

/// What follows from the course and is kept only to be found quickly.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Index {
    /// What may run, by the machine that the plan names, in the order of the plan; without a plan
    /// under `None`.
    pub(crate) ready: BTreeMap<Option<ResourceId>, BTreeSet<(Span, ActivityId)>>,
    /// What is out, by machine.
    pub(crate) out: BTreeMap<ResourceId, BTreeSet<ActivityId>>,
    pub(crate) totals: Totals,
    /// Activities below each controller that have ended.
    pub(crate) n_ended: Vec<u32>,
    /// Activities below each controller.
    pub(crate) n_all: Vec<u32>,
}

impl Process {
    /// The process that a founding event begins; none where its definition is refused, which an
    /// earlier version may have accepted.
    pub(crate) fn found(founded: &Founded) -> Option<Process> {
        let definition = founded.draft.clone().check().ok()?;
        let n_nodes = definition.nodes().len();
        let variables = definition
            .draft()
            .variables
            .iter()
            .map(|variable| variable.initial.clone())
            .collect();
        let mut course = Course {
            control: Control::new(&definition),
            activities: vec![ActivityState::default(); n_nodes],
            variables,
            ..Course::default()
        };
        let turned = course.control.begin(&definition);
        let mut process = Process {
            key: founded.key,
            definition,
            inputs: founded.inputs.clone(),
            files: founded.files.clone(),
            origin: founded.origin.clone(),
            submitted: founded.at,
            course,
            index: Index::default(),
        };
        process.rebuild_index();
        process.turn(turned);
        Some(process)
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
    }

    /// How many activities are where.
    pub fn totals(&self) -> Totals {
        self.index.totals
    }

    /// Attempts that are out, by machine.
    pub(crate) fn out(&self) -> impl Iterator<Item = (ResourceId, AttemptId)> {
        let process = self.id();
        self.index
            .out
            .iter()
            .flat_map(move |(&resource, activities)| {
                activities.iter().map(move |&activity| {
                    let number = self.activity(activity).number;
                    (
                        resource,
                        AttemptId {
                            process,
                            activity,
                            number,
                        },
                    )
                })
            })
    }

    /// Slots that are held on a machine.
    pub(crate) fn granted(&self, resource: ResourceId) -> u32 {
        self.course
            .grants
            .iter()
            .filter(|grant| grant.resource == resource)
            .map(|grant| grant.slots)
            .sum()
    }

    /// Entries of a snapshot, about.
    pub(crate) fn weight(&self) -> usize {
        let course = &self.course;
        course.control.weight()
            + course.activities.len() / 4
            + course.plan.entries.len() / 4
            + course.variables.len()
            + course.produced.len()
    }

    /// The state that a snapshot of it gives back.
    pub(crate) fn restore(mut self, course: Course) -> Process {
        self.course = course;
        self.rebuild_index();
        self
    }

    /// Changes the state by one event.
    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::Epoch(_) | Event::Founded(_) => {}
            Event::Planned {
                plan,
                machines,
                is_estimate,
            } => {
                self.replan(plan, machines, *is_estimate);
            }
            Event::Granted { number, grants } => {
                self.course.claim_number = *number;
                self.course.grants.clone_from(grants);
            }
            Event::Sent(attempts) => {
                for &(activity, number, resource) in attempts {
                    self.send(activity, number, resource);
                }
            }
            Event::Readied(activities) => {
                for &activity in activities {
                    if self.course.backoff.remove(&activity).is_some() {
                        self.turn_to(activity, ActivityPhase::Ready);
                    }
                }
            }
            Event::Ended(ended) => self.end_attempt(ended),
            Event::Linked(links) => {
                for &(link, value) in links {
                    let turned = self.course.control.link(&self.definition, link, value);
                    self.turn(turned);
                }
            }
            Event::Joined { node, runs } => {
                let turned = self.course.control.join(&self.definition, *node, *runs);
                self.turn(turned);
            }
            Event::Assigned { node, writes } => {
                self.write(writes);
                let turned = self.course.control.finish(&self.definition, *node);
                self.turn(turned);
            }
            Event::Faulted(fault) => self.stop(Phase::Faulting, Some(fault)),
            Event::CancelAsked => self.stop(Phase::Cancelling, None),
            Event::Closed { phase, at, outputs } => {
                self.course.phase = *phase;
                self.course.closed = Some(*at);
                self.course.outputs.clone_from(outputs);
                self.course.control.halt();
            }
            Event::Released => {
                self.course.is_released = true;
                self.course.grants.clear();
            }
        }
    }

    fn replan(&mut self, plan: &Plan, machines: &[(ResourceId, String)], is_estimate: bool) {
        if self.course.planned.is_none() && is_estimate {
            self.course.planned = Some(plan.makespan());
        }
        self.course.plan = plan.clone();
        for machine in machines {
            if !self
                .course
                .machines
                .iter()
                .any(|(resource, _)| *resource == machine.0)
            {
                self.course.machines.push(machine.clone());
            }
        }
        let ready = std::mem::take(&mut self.index.ready);
        for (_, activity) in ready.into_values().flatten() {
            self.queue(activity);
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
                self.turn_to(activity, ActivityPhase::Completed);
                if self.course.phase == Phase::Running {
                    let turned = self
                        .course
                        .control
                        .finish(&self.definition, activity.node());
                    self.turn(turned);
                }
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
            Verdict::Faulted(fault) => {
                self.turn_to(activity, ActivityPhase::Faulted);
                self.stop(Phase::Faulting, Some(fault));
            }
            Verdict::Stopped => self.turn_to(activity, ActivityPhase::Stopped),
        }
    }

    /// Nothing is started any more; what is out is stopped.
    fn stop(&mut self, phase: Phase, fault: Option<&Fault>) {
        if let Some(fault) = fault
            && self.course.faults.len() < FAULTS_MAX
        {
            self.course.faults.push(fault.clone());
        }
        if self.course.phase != Phase::Running {
            return;
        }
        self.course.phase = phase;
        self.course.control.halt();
        self.course.backoff.clear();
        for &activity in self.definition.clone().activities() {
            match self.activity(activity).phase {
                ActivityPhase::Waiting | ActivityPhase::Ready => {
                    self.turn_to(activity, ActivityPhase::Skipped);
                }
                ActivityPhase::Backoff => self.turn_to(activity, ActivityPhase::Stopped),
                ActivityPhase::Sent
                | ActivityPhase::Running
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
                *kept = value.clone();
            }
        }
    }

    fn turn(&mut self, turned: Turned) {
        for activity in turned.ready {
            self.turn_to(activity, ActivityPhase::Ready);
        }
        for activity in turned.skipped {
            self.turn_to(activity, ActivityPhase::Skipped);
        }
    }

    fn keep_earlier(&mut self, activity: ActivityId, end: String) {
        let log = self.course.logs.remove(&activity);
        let status = self.attempt_status(activity, Some(end), log);
        let earlier = self.course.earlier.entry(activity).or_default();
        if earlier.len() == EARLIER_MAX {
            earlier.remove(0);
        }
        earlier.push(status);
    }

    /// What a user sees of an activity's last attempt.
    fn attempt_status(
        &self,
        activity: ActivityId,
        end: Option<String>,
        log: Option<Log>,
    ) -> AttemptStatus {
        let state = self.activity(activity);
        AttemptStatus {
            attempt: AttemptId {
                process: self.id(),
                activity,
                number: state.number,
            },
            resource: state.resource,
            end,
            pid: state.pid,
            started: (state.started != Wall(0)).then_some(state.started),
            wall: state.wall,
            cpu: state.cpu,
            peak_memory: state.peak_memory,
            exit_code: state.has_exit_code.then_some(state.exit_code),
            log,
        }
    }

    /// What a user sees of all attempts at an activity, the last one last.
    pub(crate) fn attempts(&self, activity: ActivityId) -> Vec<AttemptStatus> {
        let mut attempts = self
            .course
            .earlier
            .get(&activity)
            .cloned()
            .unwrap_or_default();
        let state = self.activity(activity);
        let end = match state.phase {
            ActivityPhase::Completed => Some("completed".to_owned()),
            ActivityPhase::Stopped => Some("stopped".to_owned()),
            ActivityPhase::Faulted => {
                let faults = &self.course.faults;
                let fault = faults.iter().find(|fault| fault.activity == Some(activity));
                Some(fault.map_or("faulted".to_owned(), |fault| fault.name.to_string()))
            }
            ActivityPhase::Sent | ActivityPhase::Running => None,
            // The last attempt is among the earlier ones.
            ActivityPhase::Ready
            | ActivityPhase::Backoff
            | ActivityPhase::Waiting
            | ActivityPhase::Skipped => return attempts,
        };
        if state.number > attempts.last().map_or(0, |last| last.attempt.number) {
            let log = self.course.logs.get(&activity).copied();
            attempts.push(self.attempt_status(activity, end, log));
        }
        attempts
    }

    fn turn_to(&mut self, activity: ActivityId, phase: ActivityPhase) {
        let state = &mut self.course.activities[activity.node().index()];
        let before = state.phase;
        state.phase = phase;
        let resource = state.resource;
        if before == ActivityPhase::Ready {
            self.unqueue(activity);
        }
        if matches!(before, ActivityPhase::Sent | ActivityPhase::Running)
            && let Some(out) = self.index.out.get_mut(&resource)
        {
            out.remove(&activity);
            if out.is_empty() {
                self.index.out.remove(&resource);
            }
        }
        *count(&mut self.index.totals, before) -= 1;
        *count(&mut self.index.totals, phase) += 1;
        if phase == ActivityPhase::Ready {
            self.queue(activity);
        }
        if has_ended(phase) && !has_ended(before) {
            self.count_ended(activity.node());
        }
    }

    fn count_ended(&mut self, node: NodeId) {
        let mut at = self.definition.parent(node);
        while let Some(controller) = at {
            self.index.n_ended[controller.index()] += 1;
            at = self.definition.parent(controller);
        }
    }

    fn place(&self, activity: ActivityId) -> (Option<ResourceId>, Span) {
        match self.course.plan.entry(activity) {
            Some(entry) => (Some(entry.resource), entry.start),
            None => (None, Span::ZERO),
        }
    }

    fn queue(&mut self, activity: ActivityId) {
        let (resource, start) = self.place(activity);
        self.index
            .ready
            .entry(resource)
            .or_default()
            .insert((start, activity));
    }

    fn unqueue(&mut self, activity: ActivityId) {
        let (resource, start) = self.place(activity);
        if let Some(queue) = self.index.ready.get_mut(&resource) {
            queue.remove(&(start, activity));
            if queue.is_empty() {
                self.index.ready.remove(&resource);
            }
        }
    }

    fn rebuild_index(&mut self) {
        let n_nodes = self.definition.nodes().len();
        let n_zero = vec![0; n_nodes];
        self.index = Index {
            n_ended: n_zero.clone(),
            n_all: n_zero,
            ..Index::default()
        };
        for &activity in self.definition.clone().activities() {
            let ActivityState {
                phase, resource, ..
            } = *self.activity(activity);
            *count(&mut self.index.totals, phase) += 1;
            match phase {
                ActivityPhase::Ready => self.queue(activity),
                ActivityPhase::Sent | ActivityPhase::Running => {
                    self.index.out.entry(resource).or_default().insert(activity);
                }
                ActivityPhase::Waiting
                | ActivityPhase::Backoff
                | ActivityPhase::Completed
                | ActivityPhase::Faulted
                | ActivityPhase::Skipped
                | ActivityPhase::Stopped => {}
            }
            if has_ended(phase) {
                self.count_ended(activity.node());
            }
            let mut at = self.definition.parent(activity.node());
            while let Some(controller) = at {
                self.index.n_all[controller.index()] += 1;
                at = self.definition.parent(controller);
            }
        }
    }
}

fn has_ended(phase: ActivityPhase) -> bool {
    match phase {
        ActivityPhase::Completed
        | ActivityPhase::Faulted
        | ActivityPhase::Skipped
        | ActivityPhase::Stopped => true,
        ActivityPhase::Waiting
        | ActivityPhase::Ready
        | ActivityPhase::Sent
        | ActivityPhase::Running
        | ActivityPhase::Backoff => false,
    }
}

fn count(totals: &mut Totals, phase: ActivityPhase) -> &mut u32 {
    match phase {
        ActivityPhase::Waiting => &mut totals.waiting,
        ActivityPhase::Ready | ActivityPhase::Backoff => &mut totals.ready,
        ActivityPhase::Sent | ActivityPhase::Running => &mut totals.running,
        ActivityPhase::Completed => &mut totals.completed,
        ActivityPhase::Faulted => &mut totals.faulted,
        ActivityPhase::Skipped | ActivityPhase::Stopped => &mut totals.skipped,
    }
}
