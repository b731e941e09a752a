//! The manager: who is there, what each input leads to, and what is said again.

use std::collections::BTreeMap;

use machine::{Context, Machine};
use model::{AttemptId, Epoch, Mono, Now, ResourceId, Span};
use wire::attempt::{End, Outcome, Started};
use wire::executor::{Start, ToExecutor};
use wire::resource::{Facts, FromResource, ToResource};

use crate::access;
use crate::attempt::{Attempt, AttemptState, Collecting};
use crate::closed::{Closed, ClosedSet};
use crate::copies::Kept;
use crate::drain::Leaving;
use crate::executor::ExecutorLink;
use crate::holders::Holders;
use crate::io::{
    Config, Effect, Event, Input, KNOWN_BYTES_MAX, Peer, State, Stream, Trouble, Workplace,
};
use crate::note::Note;
use crate::outbox::Outbox;
use crate::outcome;
use crate::process::ProcessLink;
use crate::table::{Attempts, Room};
use crate::tail::TailRequests;
use crate::watch::Watch;

/// How often this manager looks for what has not been answered. Outcomes and registrations are
/// repeated at this period: a lost one delays by a second, and a peer that is slow is not flooded.
const TICK: Span = Span::from_secs(1);
/// Outcomes repeated at one tick; the others follow at the next ones.
const OUTCOMES_REPEATED_MAX: usize = 4_096;
/// How often leaves are asked for while attempts wait: a message about them may have been lost.
const LEAVES_PERIOD: Span = Span::from_secs(5);
/// How long leaves go on without a word from the group manager that gave them.
const LEAVES_ALONE_MAX: Span = Span::from_secs(3_600);
/// How often the group manager is told again what this machine is: an answer may have come from an
/// earlier life of it, which has forgotten.
const REGISTER_PERIOD: Span = Span::from_secs(5);
/// How long a worker may be silent before it is asked again. Large inputs take their time, and the
/// repeat is only for what was lost.
const WORKER_PERIOD: Span = Span::from_secs(60);
/// How long a start may be without an answer though the executor has free cores.
const START_PERIOD: Span = Span::from_secs(3);
/// How often the executor is asked about what runs.
const RUNNING_PERIOD: Span = Span::from_secs(30);

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
    /// Slots that the group may give away.
    lends: u32,
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

#[derive(Debug, Default)]
pub(crate) struct GroupLink {
    pub(crate) is_up: bool,
    resource: Option<ResourceId>,
    is_registered: bool,
    /// Whether the leaves were told since they were last asked for.
    pub(crate) has_grants: bool,
    asked: Mono,
    /// When it said something last.
    heard: Mono,
    /// When it is told next that this machine is there.
    pub(crate) alive: Mono,
}

impl ActivityManager {
    /// A manager that knows nobody yet.
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

    /// The machine's number, once its group manager has told it.
    pub fn resource(&self) -> Option<ResourceId> {
        self.group.resource
    }

    /// Attempts that are known and not acknowledged.
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
            // It speaks first.
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

/// The number of the present life.
fn epoch(cx: &Context<'_, ActivityManager>) -> Epoch {
    cx.state(Stream::Manager)
        .map_or(Epoch(0), |state| state.epoch)
}

/// Whether attempts that must never run twice may have been started in a life that is lost.
pub(crate) fn has_forgotten(cx: &Context<'_, ActivityManager>) -> bool {
    cx.state(Stream::Manager)
        .is_some_and(|state| state.has_forgotten)
}

/// A number that none of the lives and attachments before has had.
pub(crate) fn raise_epoch(cx: &mut Context<'_, ActivityManager>) -> Epoch {
    let epoch = Epoch(epoch(cx).0 + 1);
    cx.record(Stream::Manager, Event::Epoch(epoch));
    epoch
}

/// What became of an attempt that must never run twice is known: it need not be remembered.
pub(crate) fn settle(cx: &mut Context<'_, ActivityManager>, id: AttemptId) {
    let state = cx.state(Stream::Manager);
    if state.is_some_and(|state| state.starting.contains_key(&id)) {
        cx.record(Stream::Manager, Event::Settled(id));
    }
}

impl ActivityManager {
    /// Lets attempts go on, then tells what the step has to tell.
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

    /// Whether something may have to be said again.
    fn waits_for_others(&self) -> bool {
        !self.attempts.is_empty() || (self.group.is_up && !self.group.is_known())
    }

    /// Makes ready and hands over what there is room for.
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

    /// Its process manager answers, and the leave to use this machine holds.
    fn may_hand_over(&self, now: Mono, id: AttemptId) -> bool {
        let has_grant =
            self.config.lease.is_none() || now.since(self.group.heard) <= LEAVES_ALONE_MAX;
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

    /// Gives an attempt its end, and tells it.
    pub(crate) fn end(&mut self, now: Mono, mut attempt: Attempt, outcome: Outcome) {
        attempt.state = AttemptState::Ended(Box::new(outcome));
        attempt.asked = now;
        self.out.answers(attempt.owner).outcomes.push(attempt.id);
        self.attempts.insert(attempt);
    }

    /// Tells a process manager how far an attempt is.
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

    /// Takes an attempt back that nobody has started.
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

    /// An attempt will not run here.
    pub(crate) fn retracted(&mut self, to: u32, id: AttemptId) {
        self.closed.insert(id, Closed::Retracted);
        self.out.answers(to).retracted.push(id);
    }

    // The workers.

    fn on_staged(&mut self, now: Mono, id: AttemptId, result: Result<Workplace, Trouble>) {
        let Some(mut attempt) = self.attempts.remove(id) else {
            // It was taken back meanwhile.
            if let Ok(workplace) = result {
                self.out.clears.push((id, workplace.directory));
            }
            return;
        };
        match (attempt.state, result) {
            (AttemptState::Staging(dispatch), Ok(Workplace { directory })) => {
                let note = Note {
                    owner: attempt.owner,
                    cores: attempt.cores,
                    directory: directory.clone(),
                    outputs: dispatch.outputs.clone(),
                    wants_stdout: dispatch.wants_stdout,
                    wants_stderr: dispatch.wants_stderr,
                };
                attempt.directory = Some(directory.clone().into_boxed_str());
                attempt.state =
                    AttemptState::Staged(Box::new(self.config.start(*dispatch, directory, &note)));
            }
            (AttemptState::Staging(_), Err(Trouble { name, message })) => {
                let outcome = outcome::failed(id, name, message);
                attempt.state = AttemptState::Staged(Box::default());
                return self.end(now, attempt, outcome);
            }
            (AttemptState::Ended(outcome), Ok(Workplace { directory }))
                if attempt.directory.is_none() =>
            {
                // It was stopped meanwhile, so nothing has run there.
                self.out.clears.push((id, directory));
                attempt.state = AttemptState::Ended(outcome);
            }
            (
                state @ (AttemptState::Waiting(_)
                | AttemptState::Staged(_)
                | AttemptState::Queued(_)
                | AttemptState::Running { .. }
                | AttemptState::Collecting(_)
                | AttemptState::Ended(_)),
                _,
            ) => attempt.state = state,
        }
        self.attempts.insert(attempt);
    }

    /// What it needs is nowhere to be had: its process manager has it made again.
    fn on_lacking(
        &mut self,
        now: Mono,
        id: AttemptId,
        inputs: Vec<u32>,
        Workplace { directory }: Workplace,
    ) {
        let Some(attempt) = self.attempts.remove(id) else {
            return self.out.clears.push((id, directory));
        };
        if attempt.directory.as_deref() != Some(&*directory) {
            self.out.clears.push((id, directory));
        }
        match &attempt.state {
            AttemptState::Staging(_) => {
                let outcome = outcome::without_run(id, End::Lacking(inputs));
                self.end(now, attempt, outcome);
            }
            AttemptState::Waiting(_)
            | AttemptState::Staged(_)
            | AttemptState::Queued(_)
            | AttemptState::Running { .. }
            | AttemptState::Collecting(_)
            | AttemptState::Ended(_) => self.attempts.insert(attempt),
        }
    }

    fn on_collected(
        &mut self,
        now: Mono,
        id: AttemptId,
        result: Result<Vec<model::Artifact>, Trouble>,
    ) {
        let Some(attempt) = self.attempts.remove(id) else {
            return;
        };
        match &attempt.state {
            AttemptState::Collecting(collecting) => {
                let outcome = collecting.outcome_with(&attempt, result);
                self.end(now, attempt, outcome);
            }
            AttemptState::Waiting(_)
            | AttemptState::Staging(_)
            | AttemptState::Staged(_)
            | AttemptState::Queued(_)
            | AttemptState::Running { .. }
            | AttemptState::Ended(_) => self.attempts.insert(attempt),
        }
    }

    // The group manager.

    fn on_group_up(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        self.group.is_up = true;
        self.group.is_registered = false;
        self.group.has_grants = false;
        self.register(cx, now);
    }

    /// Says what this machine is. The group manager does not repeat itself, so this is also how
    /// leaves are asked for.
    pub(crate) fn register(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        let Config {
            name,
            memory,
            power,
            labels,
            bulk,
            ..
        } = &self.config;
        let facts = Facts {
            name: name.clone(),
            slots: if self.watch.is_silent() {
                0
            } else {
                self.lends
            },
            memory: *memory,
            power: *power,
            labels: labels.clone(),
            bulk: bulk.clone(),
            is_store: self.config.slots == 0,
        };
        self.group.asked = now;
        cx.effect(Effect::ToGroup(FromResource::Register {
            epoch: epoch(cx),
            facts,
        }));
    }

    pub(crate) fn on_lend(&mut self, cx: &mut Context<'_, Self>, now: Mono, slots: u32) {
        let stays = self.leaving == Leaving::No;
        let slots = if stays {
            slots.min(self.config.slots)
        } else {
            0
        };
        if self.lends != slots {
            self.lends = slots;
            if self.group.is_up {
                self.register(cx, now);
            }
        }
    }

    fn on_group(&mut self, cx: &mut Context<'_, Self>, now: Mono, message: ToResource) {
        self.group.heard = now;
        match message {
            ToResource::Registered(resource) => {
                self.group.is_registered = true;
                if self.group.resource != Some(resource) {
                    self.group.resource = Some(resource);
                    cx.effect(Effect::Numbered(resource));
                }
            }
            ToResource::Grants(grants) => {
                self.group.has_grants = true;
                let gone = self.attempts.set_grants(&grants);
                self.release(cx, gone);
            }
        }
    }

    // Repeats.

    fn repeat(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        let wants_grants =
            self.attempts.n_held_back() > 0 && now.since(self.group.asked) >= LEAVES_PERIOD;
        let is_old = now.since(self.group.asked) >= REGISTER_PERIOD;
        if self.group.is_up && (!self.group.is_known() || wants_grants || is_old) {
            self.register(cx, now);
        }
        let is_due = |attempt: &&Attempt| now.since(attempt.asked) >= TICK;
        let ended = self
            .attempts
            .ended()
            .filter(is_due)
            .take(OUTCOMES_REPEATED_MAX);
        let ended: Vec<(u32, AttemptId)> =
            ended.map(|attempt| (attempt.owner, attempt.id)).collect();
        for (owner, id) in ended {
            self.tell(now, owner, id);
        }
        self.ask_again(cx, now);
    }

    /// Asks workers and executor again for what they have been silent about for long.
    fn ask_again(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        let slots = u64::from(self.config.slots);
        let has_free = |cores: u32| self.attempts.cores_running() + u64::from(cores) <= slots;
        let mut again = Vec::new();
        for attempt in self.attempts.asked() {
            let silent = now.since(attempt.asked);
            let is_late = match &attempt.state {
                AttemptState::Staging(dispatch) if silent >= WORKER_PERIOD => {
                    cx.effect(self.holders.stage(dispatch));
                    true
                }
                AttemptState::Collecting(collecting) if silent >= WORKER_PERIOD => {
                    cx.effect(collecting.effect(attempt));
                    true
                }
                AttemptState::Queued(_) | AttemptState::Running { .. }
                    if !self.executor.is_ready =>
                {
                    false
                }
                AttemptState::Queued(_) if silent < START_PERIOD => false,
                // It was stopped before the executor had it: the executor answers that.
                AttemptState::Queued(_) if attempt.stopping => {
                    self.out.stops.push(attempt.id);
                    true
                }
                AttemptState::Queued(_) if attempt.retracting => {
                    self.out.retracts.push(attempt.id);
                    true
                }
                AttemptState::Queued(Some(start)) if has_free(attempt.cores) => {
                    self.out.starts.push(Start::clone(start));
                    true
                }
                AttemptState::Queued(None) if has_free(attempt.cores) => {
                    cx.effect(Effect::Execute(ToExecutor::Tail(attempt.id)));
                    true
                }
                AttemptState::Running { .. } if silent >= RUNNING_PERIOD => {
                    // What has started is not taken back: the answer is that it runs, or its end.
                    self.out.retracts.push(attempt.id);
                    true
                }
                AttemptState::Staging(_)
                | AttemptState::Collecting(_)
                | AttemptState::Queued(_)
                | AttemptState::Running { .. }
                | AttemptState::Waiting(_)
                | AttemptState::Staged(_)
                | AttemptState::Ended(_) => false,
            };
            if is_late {
                again.push(attempt.id);
            }
        }
        for id in again {
            self.attempts.set_asked(id, now);
        }
    }
}

impl GroupLink {
    /// Whether everything was told that was asked for.
    fn is_known(&self) -> bool {
        self.is_registered && self.has_grants
    }
}

impl Collecting {
    /// What keeps the outputs.
    pub(crate) fn effect(&self, attempt: &Attempt) -> Effect {
        let directory = attempt.directory.as_deref().unwrap_or_default().to_owned();
        Effect::Collect {
            attempt: attempt.id,
            directory,
            outputs: self.outputs.clone(),
            user: self.user,
        }
    }

    fn outcome_with(
        &self,
        attempt: &Attempt,
        result: Result<Vec<model::Artifact>, Trouble>,
    ) -> Outcome {
        let mut outcome = self.outcome.clone();
        let (wanted, kept) = (self.outputs.len(), result.as_ref().map_or(0, Vec::len));
        let result = result.and_then(|outputs| {
            let message = format!("{kept} of {wanted} outputs were kept");
            let name = model::FaultName::MissingOutput;
            if kept == wanted {
                Ok(outputs)
            } else {
                Err(Trouble { name, message })
            }
        });
        match result {
            Ok(outputs) => outcome.outputs = outputs,
            Err(Trouble { name, message }) => {
                outcome.stdout = None;
                outcome.stderr = None;
                outcome.end = End::Failed(Box::new(wire::attempt::Failure {
                    name,
                    message,
                    directory: attempt.directory.as_deref().unwrap_or_default().to_owned(),
                    stderr_tail: self.stderr_tail.clone(),
                }));
            }
        }
        outcome
    }
}
