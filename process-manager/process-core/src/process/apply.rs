//! The fold of a process: each event changes its state, and decides nothing.

use model::{ActivityId, Fault, Plan, ResourceId, Span, Value, Wall};

use crate::process::Process;
use crate::process::details::Recalled;
use crate::process::ready::ReadyQueue;
use crate::record::{
    ActivityPhase, CacheKey, End, Ended, Event, Flow, NodeState, Phase, Reused, Verdict,
};
use crate::tree::Moved;

/// Faults that a process remembers, each with some KiB of what the command wrote; the first one
/// ended it, unless it goes on without what depends on them.
const FAULTS_MAX: usize = 64;

/// Bytes of what one activity wrote to variables that are kept for later processes: what is longer
/// belongs into a file.
const CAPTURED_BYTES_MAX: usize = 64 << 10;

/// Bytes of that kept of a whole process: they are in its snapshots.
const CAPTURED_BYTES_ALL_MAX: u64 = 16 << 20;

impl Process {
    /// Changes the state by one event.
    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::Epoch(_) | Event::Leased(_) | Event::Founded(_) => {}
            Event::Planned(planned) => {
                self.state.planned_from = planned.at;
                let plan = planned.plan.clone();
                let expected = planned.expected.unwrap_or(plan.makespan());
                let expected = planned.is_estimate.then_some(expected);
                self.replan(plan, &planned.machines, expected);
                self.keep_slots(&planned.machines, planned.slots.as_deref());
            }
            Event::Replanned(replanned) => {
                let plan = replanned.plan(&self.state.plan);
                if let Some(why) = &replanned.why {
                    self.keep_moved(why, &replanned.entries);
                }
                let expected = replanned.is_estimate.then(|| plan.makespan());
                self.replan(plan, &replanned.machines, expected);
                self.keep_slots(&replanned.machines, replanned.slots.as_deref());
            }
            Event::Granted { group, holding } => {
                self.state.holdings.insert(*group, holding.clone());
            }
            Event::Sent(attempts, cache_keys) => self.send(attempts, cache_keys),
            Event::Recomputing(attempts) => {
                for &(activity, number, resource) in attempts {
                    self.send_recomputation(activity, number, resource);
                }
            }
            Event::Racing(attempts, cache_keys) => {
                let cache_keys = cache_keys.iter().copied().map(Some);
                let cache_keys = cache_keys.chain(std::iter::repeat(None));
                for (&attempt, cache_key) in attempts.iter().zip(cache_keys) {
                    self.race(attempt, cache_key);
                }
            }
            Event::Copied {
                activity,
                resource,
                machine,
                beside,
            } => self.record_copy(*activity, (*resource, machine), *beside),
            Event::MachineLost {
                resource,
                activities,
            } => self.lose_machine(*resource, activities),
            Event::FilesLost(makers, resource) => self.want_recomputations(makers, *resource),
            Event::Reused(reused) => self.reuse(reused),
            Event::Broke { fault, flow, .. } => {
                self.keep_fault(fault);
                self.follow(flow);
            }
            Event::Readied(activities) => activities.iter().for_each(|&one| self.ready(one)),
            Event::Ended(ended) => self.end_attempt(ended),
            Event::Decided(flow) => self.follow(flow),
            Event::Expanded(expanded) => self.expand(expanded),
            Event::Assigned { writes, flow, node } => {
                self.write(writes, *node);
                self.follow(flow);
            }
            Event::Faulted(fault) => self.stop(Phase::Faulting, Some(fault)),
            Event::CancelAsked => self.stop(Phase::Cancelling, None),
            Event::Closed { phase, at, outputs } => {
                self.state.phase = *phase;
                self.state.closed = Some(*at);
                self.state.outputs.clone_from(outputs);
                if *phase == Phase::Completed {
                    self.note_completed();
                }
            }
            Event::Released => {
                self.state.is_released = true;
                self.state.holdings.clear();
            }
        }
    }

    /// Puts a plan in force; `expected` is its duration where its times are estimates.
    fn replan(&mut self, plan: Plan, machines: &[(ResourceId, String)], expected: Option<Span>) {
        self.state.planned = self.state.planned.or(expected);
        self.changed
            .add_entries(&self.state.plan.entries, &plan.entries);
        self.state.plan = plan;
        // The next plan may be for a larger graph.
        self.definition.release_graph();
        self.count_needed_slots();
        for (resource, name) in machines {
            self.name_machine(*resource, name);
        }
        let ready = std::mem::take(&mut self.index.ready);
        for activity in ready.values().flat_map(ReadyQueue::activities) {
            self.queue(activity);
        }
    }

    /// A plan has named machines with so many slots.
    fn keep_slots(&mut self, machines: &[(ResourceId, String)], slots: Option<&[u32]>) {
        let Some(slots) = slots.filter(|slots| !slots.is_empty()) else {
            return;
        };
        let known = self.state.machine_slots.get_or_insert_default();
        let machines = machines.iter().map(|(resource, _)| *resource);
        known.extend(machines.zip(slots.iter().copied()));
    }

    /// A machine of this name keeps a copy of an activity's outputs; `beside` is the other machine that
    /// has them, where that is not the recorded one.
    fn record_copy(
        &mut self,
        activity: ActivityId,
        (resource, name): (ResourceId, &str),
        beside: Option<ResourceId>,
    ) {
        self.name_machine(resource, name);
        if self.is_folded(activity) {
            return;
        }
        if let Some(holder) = beside {
            self.set_holder(activity, holder);
        }
        self.keep_copy(activity, resource);
    }

    fn name_machine(&mut self, resource: ResourceId, name: &str) {
        if !self.names_machine(resource) {
            self.state.machines.push((resource, name.to_owned()));
        }
    }

    fn send(&mut self, attempts: &[(ActivityId, u32, ResourceId)], cache_keys: &[CacheKey]) {
        for &(activity, number, resource) in attempts {
            self.set_phase(activity, ActivityPhase::Sent);
            self.activity_mut(activity).begin_attempt(number, resource);
            self.index.send((activity, number), resource);
        }
        for (&(activity, ..), cache_key) in attempts.iter().zip(cache_keys) {
            self.activity_mut(activity).details_mut().cache_key = Some(*cache_key);
        }
    }

    /// An activity that waited before another try may run.
    fn ready(&mut self, activity: ActivityId) {
        if self.activity(activity).phase == ActivityPhase::Backoff {
            self.set_backoff(activity, None);
            self.set_phase(activity, ActivityPhase::Ready);
        }
    }

    /// Sets the time before which an activity is not tried again.
    pub(super) fn set_backoff(&mut self, activity: ActivityId, until: Option<Wall>) {
        let details = self.activity_mut(activity).details_mut();
        let before = std::mem::replace(&mut details.backoff, until);
        if let Some(before) = before {
            self.index.backoffs.remove(&(before, activity));
        }
        if let Some(until) = until {
            self.index.backoffs.insert((until, activity));
        }
    }

    fn set_holder(&mut self, activity: ActivityId, holder: ResourceId) {
        self.index.copied.insert(activity);
        self.activity_mut(activity).details_mut().holder = Some(holder);
    }

    fn end_attempt(&mut self, ended: &Ended) {
        let outcome = &ended.outcome;
        let activity = outcome.attempt.activity;
        let index = activity.node().index();
        let known = index < self.state.activities.len();
        if !known || !self.is_out(outcome.attempt) {
            return;
        }
        if self.is_recomputation(outcome.attempt) {
            return self.end_recomputation(ended);
        }
        if let Verdict::Dropped(_) = &ended.verdict {
            return self.drop_attempt(ended);
        }
        self.win(outcome.attempt);
        self.forget_before(activity);
        let details = self.activity_mut(activity).details_mut();
        details.started = outcome.started;
        details.wall = outcome.wall;
        details.cpu = outcome.cpu;
        details.peak_memory = outcome.peak_memory;
        details.pid = outcome.pid;
        details.exit_code = outcome.exit_code;
        details.log = outcome.log.or(details.log);
        self.conclude(ended);
        self.activity_mut(activity).pack();
        self.follow(&ended.flow);
    }

    /// The consequence of an attempt's end for its activity.
    fn conclude(&mut self, ended: &Ended) {
        let outcome = &ended.outcome;
        let activity = outcome.attempt.activity;
        match &ended.verdict {
            Verdict::Completed => {
                self.state.seen_wall = self.state.seen_wall + outcome.wall;
                self.state.n_seen += 1;
                self.set_produced(activity, &outcome.outputs);
                self.write(&ended.writes, Some(activity.node()));
                self.keep_captured(activity, &ended.writes);
                self.set_phase(activity, ActivityPhase::Completed);
                self.note_produced(activity);
            }
            Verdict::Retry { at, fault } => {
                self.activity_mut(activity).n_failed += 1;
                self.keep_earlier(activity, fault.name.to_string());
                self.set_phase(activity, ActivityPhase::Backoff);
                self.set_backoff(activity, Some(*at));
            }
            Verdict::Again => {
                if outcome.end == End::Lost && outcome.started != Wall(0) {
                    self.activity_mut(activity).n_lost += 1;
                }
                self.keep_earlier(activity, "lost".to_owned());
                self.set_phase(activity, ActivityPhase::Ready);
            }
            Verdict::Moved => {
                self.keep_earlier(activity, "moved".to_owned());
                self.set_phase(activity, ActivityPhase::Ready);
            }
            Verdict::Lacking(makers) => {
                let lacked_on = self.activity(activity).resource;
                self.keep_earlier(activity, "lacking".to_owned());
                self.set_phase(activity, ActivityPhase::Ready);
                self.want_recomputations(makers, lacked_on);
            }
            Verdict::Faulted(fault) => {
                self.set_phase(activity, ActivityPhase::Faulted);
                self.stop(Phase::Faulting, Some(fault));
            }
            Verdict::Broke(fault) => {
                self.set_phase(activity, ActivityPhase::Faulted);
                self.keep_fault(fault);
            }
            Verdict::Stopped => self.set_phase(activity, ActivityPhase::Stopped),
            Verdict::Dropped(_) => unreachable!("it was taken out before"),
        }
    }

    /// A recorded outcome stands for an activity that was ready.
    fn reuse(&mut self, reused: &Reused) {
        let activity = reused.activity;
        let Some(state) = self.state.activities.get(activity.node().index()) else {
            return;
        };
        if state.phase != ActivityPhase::Ready || self.state.phase != Phase::Running {
            return;
        }
        let state = self.activity_mut(activity);
        state.resource = reused.resource;
        let (of, slots) = (reused.of, reused.slots);
        let details = state.details_mut();
        details.started = reused.started;
        details.wall = reused.wall;
        details.cpu = reused.cpu;
        details.peak_memory = reused.peak_memory;
        details.pid = reused.pid;
        details.exit_code = reused.exit_code;
        details.cache_key = Some(reused.cache_key);
        details.reused = Some(Recalled { of, slots });
        details.log = reused.log.or(details.log);
        self.name_machine(reused.resource, &reused.machine);
        let state = &mut self.state;
        state.seen_wall = state.seen_wall + reused.wall;
        state.n_seen += 1;
        self.set_produced(activity, &reused.outputs);
        self.write(&reused.writes, Some(activity.node()));
        self.keep_captured(activity, &reused.writes);
        self.index.totals.reused += 1;
        self.set_phase(activity, ActivityPhase::Completed);
        self.note_produced(activity);
        if let Some((resource, name)) = &reused.holder {
            self.name_machine(*resource, name);
            self.set_holder(activity, *resource);
        }
        if let Some((resource, name)) = &reused.copy {
            self.name_machine(*resource, name);
            self.keep_copy(activity, *resource);
        }
        self.activity_mut(activity).pack();
        self.follow(&reused.flow);
    }

    pub(crate) fn keep_fault(&mut self, fault: &Fault) {
        if self.state.faults.len() < FAULTS_MAX {
            self.state.faults.push(fault.clone());
        }
    }

    /// Keeps what an activity wrote to variables for later processes, unless it is too long.
    fn keep_captured(&mut self, activity: ActivityId, writes: &[(u32, Value)]) {
        let size: usize = writes.iter().map(|(_, value)| value.size()).sum();
        let all = self.state.captured_bytes + size as u64;
        if writes.is_empty() || size > CAPTURED_BYTES_MAX || all > CAPTURED_BYTES_ALL_MAX {
            return;
        }
        self.state.captured_bytes = all;
        let values = writes.iter().map(|(_, value)| value.clone()).collect();
        self.activity_mut(activity).details_mut().captured = Some(values);
    }

    /// Nothing is started any more; what is out is stopped, or goes on to its end ([`model::OnFault::Finish`]).
    pub(crate) fn stop(&mut self, phase: Phase, fault: Option<&Fault>) {
        if let Some(fault) = fault {
            self.keep_fault(fault);
        }
        match (self.state.phase, phase) {
            (Phase::Running, _) => {}
            // What went on to its end is not waited for any more.
            (Phase::Faulting, Phase::Cancelling) => {
                self.state.phase = phase;
                return;
            }
            _ => return,
        }
        self.state.phase = phase;
        // The command of an activity whose turn it was may never have been started.
        let at_fault = fault.and_then(|fault| fault.activity);
        for &activity in self.definition.clone().activities() {
            match self.activity(activity).phase {
                ActivityPhase::Ready if at_fault == Some(activity) => {
                    self.set_phase(activity, ActivityPhase::Faulted);
                }
                ActivityPhase::Waiting | ActivityPhase::Ready => {
                    self.set_phase(activity, ActivityPhase::Skipped);
                }
                ActivityPhase::Backoff => {
                    self.set_backoff(activity, None);
                    self.set_phase(activity, ActivityPhase::Stopped);
                }
                ActivityPhase::Sent
                | ActivityPhase::Completed
                | ActivityPhase::Faulted
                | ActivityPhase::Skipped
                | ActivityPhase::Stopped => {}
            }
        }
    }

    /// Writes the moves of controllers, and their consequences for activities.
    pub(crate) fn follow(&mut self, flow: &Flow) {
        let mut moved = Vec::new();
        self.changed.add_flow(flow);
        let frame = &mut self.state.frame;
        frame.apply(&self.definition, flow, |one| moved.push(one));
        for &Moved { node, from, to } in &moved {
            if to.has_ended() {
                self.definition.release(node);
            }
            let activity = ActivityId(node.0);
            if self.definition.activity_as_written(activity).is_none() {
                continue;
            }
            match (from, to) {
                (_, NodeState::Running) => self.set_phase(activity, ActivityPhase::Ready),
                (NodeState::Running, NodeState::Broken) => {
                    self.set_phase(activity, ActivityPhase::Faulted);
                }
                (NodeState::Running, NodeState::Skipped) => self.abandon(activity),
                (_, NodeState::Skipped | NodeState::Broken) => {
                    self.set_phase(activity, ActivityPhase::Skipped);
                }
                // An activity is done by the outcome that is recorded with it.
                (_, NodeState::Idle | NodeState::Enabled | NodeState::Done) => {}
            }
        }
        for one in moved {
            match one.to {
                NodeState::Done | NodeState::Skipped => self.note_over(one.node),
                NodeState::Idle | NodeState::Enabled | NodeState::Running | NodeState::Broken => {}
            }
        }
    }
}
