//! The manager: its peers, the reaction to each input, and the progress of attempts.

use std::collections::BTreeMap;

use machine::{Context, Machine};
use model::{AttemptId, Epoch, Mono, Now, ResourceId, Span};
use wire::attempt::{Outcome, Started};
use wire::executor::Start;

use crate::access;
use crate::attempt::{Attempt, AttemptState};
use crate::closed::{Closed, ClosedSet};
use crate::copies::Kept;
use crate::drain::Leaving;
use crate::executor::ExecutorLink;
use crate::holders::Holders;
use crate::io::{Config, Effect, Event, Input, KNOWN_BYTES_MAX, Peer, State, Stream};
use crate::outbox::Outbox;
use crate::process::ProcessLink;
use crate::table::{Attempts, Room};
use crate::tail::TailRequests;
use crate::watch::Watch;

/// Interval at which this manager looks for missing answers. Outcomes and registrations are
/// repeated at this period: a lost one costs a second, and a slow peer is not flooded.
pub(crate) const TICK: Span = Span::from_secs(1);
/// Interval at which the machine registers again: an answer may have come from an earlier epoch of
/// the group manager, which has forgotten the machine.
pub(crate) const REGISTER_PERIOD: Span = Span::from_secs(5);
/// Time for which grants stay valid without a message from the group manager.
const GRANTS_ALONE_MAX: Span = Span::from_secs(3_600);

/// The logic of one activity manager.
///
/// ```text
/// group manager  <-- Register                 --> Registered, Grants
/// process manager --> Attach, Dispatch...     <-- Holding, Started, Outcomes...
/// executor       <-- Hello, Start, Forget...  --> Hello, Held, Started, Ended...
/// workers        <-- Stage, Collect, Clear    --> Staged, Collected
/// ```
#[derive(Debug)]
pub struct ActivityManager {
    pub(crate) config: Config,
    pub(crate) group: GroupLink,
    /// Slots that the group may grant.
    pub(crate) lends: u32,
    pub(crate) process_managers: BTreeMap<u32, ProcessLink>,
    pub(crate) executor: ExecutorLink,
    pub(crate) attempts: Attempts,
    pub(crate) closed: ClosedSet,
    pub(crate) out: Outbox,
    pub(crate) tails: TailRequests,
    pub(crate) holders: Holders,
    pub(crate) kept: Kept,
    pub(crate) accesses: access::Asked,
    pub(crate) leaving: Leaving,
    pub(crate) watch: Watch,
    tick: Option<Mono>,
}

/// The state of the link to the group manager.
#[derive(Debug, Default)]
pub(crate) struct GroupLink {
    pub(crate) is_up: bool,
    pub(crate) resource: Option<ResourceId>,
    pub(crate) is_registered: bool,
    /// True if grants have arrived since they were last requested.
    pub(crate) has_grants: bool,
    pub(crate) asked: Mono,
    /// The time of its last message.
    pub(crate) heard: Mono,
    /// The time of the next sign of life to it.
    pub(crate) alive: Mono,
}

impl ActivityManager {
    /// A manager without any connection.
    pub fn new(config: Config) -> ActivityManager {
        ActivityManager {
            lends: config.slots,
            config,
            group: GroupLink::default(),
            process_managers: BTreeMap::new(),
            executor: ExecutorLink::default(),
            attempts: Attempts::default(),
            closed: ClosedSet::default(),
            out: Outbox::default(),
            tails: TailRequests::default(),
            holders: Holders::default(),
            kept: Kept::default(),
            accesses: access::Asked::default(),
            leaving: Leaving::No,
            watch: Watch::default(),
            tick: None,
        }
    }

    /// The machine's number, once its group manager has assigned it.
    pub fn resource(&self) -> Option<ResourceId> {
        self.group.resource
    }

    /// Number of known attempts that are not acknowledged.
    pub fn n_attempts(&self) -> usize {
        self.attempts.len()
    }
}

impl Machine for ActivityManager {
    type Stream = Stream;
    type State = State;
    type Snapshot = State;
    type Event = Event;
    type Input = Input;
    type Effect = Effect;

    fn apply(state: &mut State, event: &Event) {
        match event {
            Event::Epoch(epoch) => state.epoch = *epoch,
            Event::Starting { attempt, owner } => {
                state.starting.insert(*attempt, *owner);
            }
            Event::Settled(attempt) => {
                state.starting.remove(attempt);
            }
            Event::Forgot => state.has_forgotten = true,
            Event::Resolved => state.has_forgotten = false,
        }
    }

    fn weight(state: &State) -> usize {
        1 + state.starting.len()
    }

    fn snapshot(state: &State) -> State {
        state.clone()
    }

    fn restore(_: State, snapshot: State) -> State {
        snapshot
    }

    fn step(&mut self, cx: &mut Context<'_, Self>, now: Now, input: Input) {
        let now = now.mono;
        self.expire(cx, now);
        match input {
            Input::Up(Peer::Group) => self.on_group_up(cx, now),
            Input::Down(Peer::Group) => self.group.is_up = false,
            // The executor sends the first message.
            Input::Up(Peer::Process(_)) => {}
            Input::Down(Peer::Process(number)) => self.detach(number),
            Input::Group(message) => self.on_group(cx, now, message),
            Input::Process(number, message) => self.on_process(cx, now, number, message),
            Input::Executor(message) => self.on_executor(cx, now, message),
            Input::ExecutorDown => {
                self.executor.close();
                self.end_tails(cx);
            }
            Input::Lend(slots) => self.on_lend(cx, now, slots),
            Input::Served(ids) => self.on_served(cx, ids),
            Input::Leave => self.on_leave(cx, now),
            Input::Staged { attempt, result } => self.on_staged(now, attempt, result),
            Input::Lacking {
                attempt,
                inputs,
                workplace,
            } => self.on_lacking(now, attempt, inputs, workplace),
            Input::Collected { attempt, result } => self.on_collected(now, attempt, result),
            Input::Copied { to, copied } => self.on_copied(cx, to, copied),
            Input::Checked { to, checked } => self.on_checked(cx, to, checked),
            Input::Access { number, access } => self.ask_access(cx, number, &access),
        }
        self.finish_step(cx, now);
    }

    fn wake(&mut self, cx: &mut Context<'_, Self>, now: Now) {
        let now = now.mono;
        self.expire(cx, now);
        if self.tick.is_some_and(|tick| tick <= now) {
            self.tick = None;
            self.repeat(cx, now);
        }
        self.finish_step(cx, now);
    }

    fn resume(&mut self, cx: &mut Context<'_, Self>, _: Now) {
        raise_epoch(cx);
        if self.config.has_forgotten {
            cx.record(Stream::Manager, Event::Forgot);
        }
    }

    fn next_wakeup(&self) -> Option<Mono> {
        let due = self.tick.into_iter().chain(self.lease_due());
        due.chain(self.watch.due()).min()
    }
}

impl GroupLink {
    /// Returns true if every answer has arrived.
    pub(crate) fn is_known(&self) -> bool {
        self.is_registered && self.has_grants
    }
}

/// The number of the present epoch.
pub(crate) fn epoch(cx: &Context<'_, ActivityManager>) -> Epoch {
    cx.state(Stream::Manager)
        .map_or(Epoch(0), |state| state.epoch)
}

/// Returns true if attempts that must never run twice may have been started in a lost epoch.
pub(crate) fn has_forgotten(cx: &Context<'_, ActivityManager>) -> bool {
    cx.state(Stream::Manager)
        .is_some_and(|state| state.has_forgotten)
}

/// Raises the epoch to a number that no earlier epoch or attachment has had.
pub(crate) fn raise_epoch(cx: &mut Context<'_, ActivityManager>) -> Epoch {
    let epoch = Epoch(epoch(cx).0 + 1);
    cx.record(Stream::Manager, Event::Epoch(epoch));
    epoch
}

/// Forgets an attempt that must never run twice, once its outcome is durable elsewhere.
pub(crate) fn settle(cx: &mut Context<'_, ActivityManager>, id: AttemptId) {
    let state = cx.state(Stream::Manager);
    if state.is_some_and(|state| state.starting.contains_key(&id)) {
        cx.record(Stream::Manager, Event::Settled(id));
    }
}

impl ActivityManager {
    /// Advances attempts, then sends the messages of the step.
    fn finish_step(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        if self.leaving == Leaving::No {
            self.advance(cx, now);
        }
        self.accept_waiting();
        let process_managers = &self.process_managers;
        let is_attached = |number| {
            process_managers
                .get(&number)
                .is_some_and(|link| link.is_attached)
        };
        self.out
            .empty(cx, &self.attempts, is_attached, self.executor.reach());
        self.tell_left(cx);
        self.renew(cx, now);
        self.ask_executor(cx, now);
        let due = if self.waits_for_others() {
            now + TICK
        } else if self.group.is_up {
            self.group.asked + REGISTER_PERIOD
        } else {
            return;
        };
        self.tick = Some(self.tick.map_or(due, |tick| tick.min(due)));
    }

    /// Returns true if something may have to be repeated.
    fn waits_for_others(&self) -> bool {
        !self.attempts.is_empty() || (self.group.is_up && !self.group.is_known())
    }

    /// Stages attempts and sends them to the executor, as far as there is room.
    fn advance(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        let room = Room {
            slots: self.config.slots,
            prefetch: self.config.prefetch,
        };
        let takes = self.executor.is_ready && !self.watch.is_silent();
        let hands_over = takes && self.attempts.bytes() < KNOWN_BYTES_MAX;
        for process in self.attempts.pending() {
            while let Some(id) = self.attempts.next_to_stage(process, room) {
                self.stage(cx, now, id);
            }
            while hands_over
                && let Some(id) = self.attempts.next_to_hand(process, room)
                && self.may_hand_over(now, id)
            {
                self.hand_over(cx, now, id);
            }
        }
    }

    fn stage(&mut self, cx: &mut Context<'_, Self>, now: Mono, id: AttemptId) {
        let Some(mut attempt) = self.attempts.remove(id) else {
            return;
        };
        if let AttemptState::Waiting(dispatch) = attempt.state {
            cx.effect(self.holders.stage(&dispatch));
            attempt.asked = now;
            attempt.state = AttemptState::Staging(dispatch);
        }
        self.attempts.insert(attempt);
    }

    /// Returns true if its process manager answers and the grants of this machine are valid.
    fn may_hand_over(&self, now: Mono, id: AttemptId) -> bool {
        let has_grant =
            self.config.lease.is_none() || now.since(self.group.heard) <= GRANTS_ALONE_MAX;
        let attempt = self.attempts.get(id);
        has_grant && attempt.is_some_and(|attempt| self.may_start(attempt.owner))
    }

    fn hand_over(&mut self, cx: &mut Context<'_, Self>, now: Mono, id: AttemptId) {
        let Some(mut attempt) = self.attempts.remove(id) else {
            return;
        };
        if let AttemptState::Staged(start) = attempt.state {
            if attempt.is_once {
                // The start leaves when this is durable.
                let owner = attempt.owner;
                let starting = Event::Starting { attempt: id, owner };
                cx.record(Stream::Manager, starting);
            }
            self.out.starts.push(Start::clone(&start));
            attempt.asked = now;
            attempt.state = AttemptState::Queued(Some(start));
        }
        self.attempts.insert(attempt);
    }

    /// Ends an attempt and reports its outcome.
    pub(crate) fn end(&mut self, now: Mono, mut attempt: Attempt, outcome: Outcome) {
        attempt.state = AttemptState::Ended(Box::new(outcome));
        attempt.asked = now;
        self.out.answers(attempt.owner).outcomes.push(attempt.id);
        self.attempts.insert(attempt);
    }

    /// Reports the state of an attempt to a process manager.
    pub(crate) fn tell(&mut self, now: Mono, to: u32, id: AttemptId) {
        let Some(attempt) = self.attempts.get(id) else {
            return;
        };
        let answers = self.out.answers(to);
        match &attempt.state {
            AttemptState::Waiting(_)
            | AttemptState::Staging(_)
            | AttemptState::Staged(_)
            | AttemptState::Queued(_) => {
                answers.accepted.push(id);
            }
            AttemptState::Running { pid, started } => {
                answers.started.push(Started {
                    attempt: id,
                    pid: *pid,
                    at: *started,
                });
            }
            AttemptState::Collecting(collecting) => {
                let Outcome { pid, started, .. } = collecting.outcome;
                answers.started.push(Started {
                    attempt: id,
                    pid,
                    at: started,
                });
            }
            AttemptState::Ended(_) => {
                answers.outcomes.push(id);
                self.attempts.set_asked(id, now);
            }
        }
    }

    /// Takes back an attempt that has not started.
    pub(crate) fn take_back(&mut self, to: u32, attempt: Attempt) {
        self.retracted(to, attempt.id);
        self.clear(attempt);
    }

    /// Removes the directory of an attempt that is over.
    pub(crate) fn clear(&mut self, attempt: Attempt) {
        if let Some(directory) = attempt.directory {
            self.out.clears.push((attempt.id, directory.into()));
        }
    }

    /// Records that an attempt will not run here.
    pub(crate) fn retracted(&mut self, to: u32, id: AttemptId) {
        self.closed.insert(id, Closed::Retracted);
        self.out.answers(to).retracted.push(id);
    }
}
