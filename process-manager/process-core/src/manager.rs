//! The steps of a process manager.
//!
//! Each input is taken by the file that its subject is in: `submit`, `claim`, `planning`,
//! `recall`, `dispatch`, `outcome`, `answer`, `tail`. After it, `settle` does for the process concerned what has
//! become possible. Volatile state is here: links, timers, what was not answered; all of it is
//! rebuilt after a restart.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use expression::Programs;
use machine::{Context, Machine};
use model::{
    ActivityId, AttemptId, Epoch, GroupId, Mono, NetworkLink, Now, Plan, ProcessId, ResourceId,
    Span, Wall,
};

use crate::checks::Checks;
use crate::claim::Claim;
use crate::copies::Copying;
use crate::forget::Retention;
use crate::held::Held;
use crate::io::{ClientId, Effect, Input, Room, Stream};
use crate::links::{GroupLink, MachineLink};
use crate::liveness::Liveness;
use crate::process::{Course, Process};
use crate::recall::{BaseIndex, Recorded};
use crate::record::{Event, Phase};
use crate::sources::Stores;
use crate::tail::Looked;
use crate::turns::Turns;

/// What a process manager bounds, and why.
pub mod limits {
    use model::Span;

    /// Processes that have not ended: each costs memory.
    pub const PROCESSES_MAX: usize = 10_000;
    /// Clients that watch at the same time.
    pub const WATCHERS_MAX: usize = 1_000;
    /// What was not answered is sent again after this: long against a round trip, short against
    /// the patience of a user.
    pub const REPEAT: Span = Span::from_secs(1);
    /// A group manager that has said nothing for so long is asked again: it repeats its offer more
    /// often than that, so either it does not know this manager or the offer came by an earlier
    /// connection.
    pub const SILENCE: Span = Span::from_secs(15);
    /// How old an offer may be by which a process is given up: a group repeats it each five seconds.
    pub const OFFER_FRESH: Span = Span::from_secs(6);
    /// Watchers are told at most this often.
    pub const WATCH: Span = Span::from_millis(100);
    /// Attempts that may be out on a machine for each of its slots...
    pub const WINDOW_PER_SLOT: u32 = 8;
    /// ...and beside them: so many that short activities never wait for a flush, so few that what
    /// has not started can still be moved.
    pub const WINDOW_BASE: u32 = 48;
    /// Attempts lost while they ran before an activity is at an end: it may be what kills them.
    pub const LOSSES_MAX: u16 = 10;
    /// Repeats of a claim after which its plan is given up where other groups offer machines.
    pub const CLAIM_REPEATS_MAX: u32 = 10;
    /// Plans made again because less was granted than claimed.
    pub const REPLANS_MAX: u32 = 3;
    /// Recorded outcomes of all processes that can be found by what decided them, each about a
    /// hundred bytes; the ones recorded first go first.
    pub const RECORDED_MAX: usize = 200_000;
    /// Clients that wait for something that an attempt has written: each answer is some hundred KiB.
    pub const TAILS_MAX: usize = 64;
    /// How long they wait for its machine.
    pub const TAIL: Span = Span::from_secs(5);
    /// Processes forgotten in this life whose late submissions are known.
    pub const FORGOTTEN_MAX: usize = 10_000;
    /// The longest wait before another try.
    pub const BACKOFF_MAX: Span = Span::from_secs(24 * 3_600);
}

/// Questions of one life have numbers of their own up to two to this power; a life of more asks in
/// the numbers of the next one, which answers of a life as long ago as that cannot meet.
const ASKS_BITS: u32 = 16;

/// What an administrator may choose.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The algorithm that makes plans. Where it searches, processes that give no work and those that
    /// others wait behind get the best of few algorithms without a search.
    pub scheduler: schedule::SchedulerKind,
    /// How long a process waits for a machine that fits before it faults: machines of a group that
    /// has just started register one after another.
    pub patience: Span,
    /// The groups of the grid; empty where those that are heard are all.
    pub groups: BTreeSet<GroupId>,
    /// What files cross between two machines; none where nothing is known of it.
    pub link: Option<NetworkLink>,
    /// What is kept of processes that have ended; none where nothing is forgotten unasked.
    pub keep: Option<Retention>,
    /// How long attempts go on at a machine that is not answered ([`wire::lease`], from
    /// [`wire::lease::SHORTEST`] to [`wire::lease::LONGEST`]); none where they need no lease, since
    /// all is one program. Another life may have another length.
    pub lease: Option<Span>,
    /// The name of the machine that is asked first to keep copies: the one beside this manager, so that
    /// controllers have the files near them. Where it is not there or cannot, others are.
    pub keeper: Option<String>,
}

/// The durable state of a stream.
#[derive(Debug, Default)]
pub enum State {
    /// Nothing was recorded, or what was recorded cannot be read any more.
    #[default]
    Empty,
    /// The manager's own.
    Manager {
        /// The present life.
        epoch: Epoch,
        /// The longest lease that may not have ended yet: see [`Event::Leased`].
        leased: Option<Span>,
    },
    /// One process.
    Process(Box<Process>),
    /// One that is kept and not understood.
    Held(Box<Held>),
}

/// A process manager's logic.
#[derive(Debug, Default)]
pub struct ProcessManager {
    pub(crate) config: Config,
    pub(crate) epoch: Epoch,
    pub(crate) groups: BTreeMap<GroupId, GroupLink>,
    pub(crate) machines: BTreeMap<ResourceId, MachineLink>,
    pub(crate) liveness: BTreeMap<ResourceId, Liveness>,
    /// Who is connected as each machine, where its certificate was seen.
    pub(crate) names: BTreeMap<ResourceId, String>,
    /// The names of machines as they were told last with [`Effect::Registered`].
    pub(crate) registered: BTreeMap<ResourceId, String>,
    /// Machines that their groups want emptied.
    pub(crate) leaving: BTreeSet<ResourceId>,
    pub(crate) live: BTreeMap<ProcessId, Live>,
    pub(crate) watchers: BTreeMap<(ClientId, u64), Watcher>,
    pub(crate) tails: BTreeMap<(ClientId, u64), Looked>,
    pub(crate) recorded: Recorded,
    /// Processes whose slots are given back, and the group managers that have said so.
    pub(crate) releasing: BTreeMap<ProcessId, BTreeSet<GroupId>>,
    /// In the order in which they were forgotten.
    pub(crate) forgotten: VecDeque<ProcessId>,
    pub(crate) n_offers: u64,
    /// Machines that give files to others, and where.
    pub(crate) stores: Stores,
    /// What machines were asked to keep copies of.
    pub(crate) copying: BTreeMap<ProcessId, Copying>,
    /// The processes for which each machine keeps copies, or is asked to, and that hold slots yet.
    pub(crate) keeping: BTreeMap<ResourceId, BTreeSet<ProcessId>>,
    /// What processes can be taken.
    pub(crate) room: Room,
    /// When this life began.
    pub(crate) begun: Mono,
    /// When all leases have ended of which an earlier life has told.
    pub(crate) outlived: Mono,
    /// Compiled expressions of processes.
    pub(crate) programs: Programs,
    /// Which processes have more to do than fits into one step.
    pub(crate) turns: Turns,
    timers: Timers,
    n_asked: u32,
    n_basis: u64,
}

/// What is volatile of a process that has not been released.
#[derive(Debug, Default)]
pub(crate) struct Live {
    /// How it comes to a plan.
    pub(crate) stage: Stage,
    pub(crate) n_replans: u32,
    /// Whether an earlier epoch has taken it up, and may have claimed slots for it anywhere.
    pub(crate) is_inherited: bool,
    /// The group managers that this epoch has asked for slots.
    pub(crate) asked: BTreeSet<GroupId>,
    /// Claims that are not answered, by group.
    pub(crate) claims: BTreeMap<GroupId, Claim>,
    /// Whether it could not be planned for want of a machine that only a group can have which does
    /// not answer.
    pub(crate) wants_absent: bool,
    /// What the process that it mends has recorded.
    pub(crate) base: BaseIndex,
    /// Of the activities for which a recorded outcome may stand, how many were looked at.
    pub(crate) n_looked: usize,
    /// Since when no known machine fits one of its activities.
    pub(crate) misfit_since: Option<Mono>,
    /// How many offers had come when it was last tried in vain to plan it, or the rest of it again.
    pub(crate) tried: Option<u64>,
    /// Attempts that were sent and not heard of, by machine.
    pub(crate) unheard: BTreeMap<ResourceId, BTreeSet<AttemptId>>,
    /// What is known to run: since when, and as which command.
    pub(crate) running: BTreeMap<ActivityId, (Wall, u32)>,
    /// Attempts that were told where files are, by number, and when that was for the first time: see
    /// [`Stores`]. None where nothing could be told then.
    pub(crate) told: BTreeMap<ActivityId, (u32, Option<u64>)>,
    /// When a copy was recorded of what an activity has produced, counted likewise.
    pub(crate) copied: BTreeMap<ActivityId, u64>,
    /// Files of which a machine is asked whether they are as they were made.
    pub(crate) checks: Checks,
    pub(crate) waiting_for: Option<String>,
    /// Counts what a watcher could see.
    pub(crate) revision: u64,
}

/// How a process comes to a plan.
#[derive(Debug, Default)]
pub(crate) enum Stage {
    /// It needs none: it has one, or nothing to plan.
    #[default]
    Settled,
    /// It needs one, and machines.
    Wanting,
    /// One is being made.
    Planning {
        basis: u64,
        /// How many offers had come when it was asked for.
        n_offers: u64,
        /// Whether it may use every slot of every machine that is known.
        is_whole: bool,
    },
    /// Slots for it are claimed.
    Claiming {
        plan: Box<Plan>,
        is_estimate: bool,
        /// Whether any group manager has granted some.
        has_grants: bool,
    },
}

/// A client that watches a process.
#[derive(Debug)]
pub(crate) struct Watcher {
    pub(crate) process: ProcessId,
    pub(crate) seen: u64,
    pub(crate) told: Mono,
}

/// What is done later unless something comes before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    AttachGroup(GroupId),
    AttachMachine(ResourceId),
    Suspect(ResourceId),
    Retract(ResourceId),
    Lost(ResourceId),
    Outlived,
    Forget,
    Plan(ProcessId),
    Claim(ProcessId),
    Unheard(ProcessId, ResourceId),
    Stop(ProcessId),
    Release(ProcessId),
    Backoff(ProcessId, ActivityId),
    Watch(ClientId, u64),
    Recall(ProcessId),
    Turns,
    Copy(ProcessId),
    Tail(ClientId, u64),
}

#[derive(Debug, Default)]
struct Timers {
    at: BTreeMap<Timer, Mono>,
    due: BTreeSet<(Mono, Timer)>,
}

impl ProcessManager {
    /// A manager that knows nothing yet.
    pub fn new(config: Config) -> ProcessManager {
        ProcessManager {
            config,
            ..ProcessManager::default()
        }
    }

    /// Processes that have not given back all that they held.
    pub fn n_live(&self) -> usize {
        self.live.len()
    }

    pub(crate) fn next_ask(&mut self) -> u32 {
        self.n_asked = self.n_asked.wrapping_add(1);
        self.n_asked
    }

    pub(crate) fn next_basis(&mut self) -> u64 {
        self.n_basis += 1;
        self.n_basis
    }

    /// Sets a timer, or sets it anew.
    pub(crate) fn arm(&mut self, timer: Timer, at: Mono) {
        if let Some(before) = self.timers.at.insert(timer, at) {
            self.timers.due.remove(&(before, timer));
        }
        self.timers.due.insert((at, timer));
    }

    /// Sets a timer unless it is set.
    pub(crate) fn arm_once(&mut self, timer: Timer, at: Mono) {
        if !self.timers.at.contains_key(&timer) {
            self.arm(timer, at);
        }
    }

    pub(crate) fn disarm(&mut self, timer: Timer) {
        if let Some(at) = self.timers.at.remove(&timer) {
            self.timers.due.remove(&(at, timer));
        }
    }

    /// Something of a process has changed that a watcher could see.
    pub(crate) fn touch(&mut self, id: ProcessId) {
        if let Some(live) = self.live.get_mut(&id) {
            live.revision += 1;
        }
    }

    fn ring(&mut self, cx: &mut Context<'_, Self>, now: Now, timer: Timer) {
        match timer {
            Timer::AttachGroup(group) => self.attach_group(cx, now, group),
            Timer::AttachMachine(resource) => self.attach_machine(cx, now, resource),
            Timer::Suspect(resource) => self.look_at(cx, now, resource),
            Timer::Retract(resource) => self.take_back(cx, now, resource),
            Timer::Lost(resource) => self.give_up(cx, now, resource),
            Timer::Outlived => self.lease_alone(cx),
            Timer::Forget => self.forget_over(cx, now),
            Timer::Plan(process) => self.plan_anew(cx, process),
            Timer::Claim(process) => self.repeat_claims(cx, now, process),
            Timer::Unheard(process, resource) => self.repeat_unheard(cx, now, process, resource),
            Timer::Stop(process) => self.stop_what_is_out(cx, now, process),
            Timer::Release(process) => self.release(cx, now, process),
            Timer::Backoff(process, activity) => {
                if self.waits(cx, process, activity) {
                    cx.record(Stream::Process(process), Event::Readied(vec![activity]));
                    self.settle(cx, now, process);
                }
            }
            Timer::Watch(client, number) => self.tell_watcher(cx, now, client, number),
            Timer::Recall(process) => self.settle(cx, now, process),
            Timer::Turns => self.take_turns(cx, now),
            Timer::Copy(process) => self.repeat_copies(cx, now, process),
            Timer::Tail(client, number) => self.give_up_tail(cx, client, number),
        }
    }

    fn waits(&self, cx: &Context<'_, Self>, id: ProcessId, activity: ActivityId) -> bool {
        process(cx, id).is_some_and(|known| known.course.backoff.contains_key(&activity))
    }

    fn machine_down(&mut self, resource: ResourceId) {
        self.machines.insert(resource, MachineLink::default());
        self.disarm(Timer::AttachMachine(resource));
        let processes: Vec<ProcessId> = self.live.keys().copied().collect();
        for id in processes {
            if let Some(live) = self.live.get_mut(&id)
                && live.unheard.remove(&resource).is_some()
            {
                self.disarm(Timer::Unheard(id, resource));
            }
        }
    }
}

/// The process of a context, where there is one.
pub(crate) fn process<'a>(
    cx: &'a Context<'_, ProcessManager>,
    id: ProcessId,
) -> Option<&'a Process> {
    match cx.state(Stream::Process(id))? {
        State::Process(process) => Some(process),
        State::Held(_) | State::Empty | State::Manager { .. } => None,
    }
}

impl Machine for ProcessManager {
    type Stream = Stream;
    type State = State;
    type Snapshot = Snapshot;
    type Event = Event;
    type Input = Input;
    type Effect = Effect;

    fn apply(state: &mut State, event: &Event) {
        match (&mut *state, event) {
            (State::Manager { epoch, .. }, Event::Epoch(present)) => *epoch = *present,
            (State::Manager { leased, .. }, Event::Leased(length)) => *leased = Some(*length),
            (_, Event::Epoch(epoch)) => {
                *state = State::Manager {
                    epoch: *epoch,
                    leased: None,
                }
            }
            (State::Empty, Event::Founded(founded)) => {
                *state = match Process::found(founded) {
                    Ok(process) => State::Process(Box::new(process)),
                    Err(reason) => State::Held(Box::new(Held::new(founded, reason))),
                };
            }
            (State::Process(process), event) => process.apply(event),
            (State::Held(held), event) => held.apply(event),
            (State::Empty | State::Manager { .. }, _) => {}
        }
    }

    fn weight(state: &State) -> usize {
        match state {
            State::Empty | State::Manager { .. } => 1,
            State::Process(process) => process.weight(),
            // No snapshot of it is made: another version may understand its events.
            State::Held(_) => usize::MAX / 4,
        }
    }

    fn event_weight(event: &Event) -> usize {
        event.weight()
    }

    fn snapshot(state: &State) -> Snapshot {
        match state {
            State::Empty | State::Held(_) => Snapshot::Empty,
            State::Manager { epoch, leased } => Snapshot::Manager(*epoch, *leased),
            State::Process(process) => Snapshot::Process(Box::new(process.course.clone())),
        }
    }

    fn restore(founded: State, snapshot: Snapshot) -> State {
        match (founded, snapshot) {
            (_, Snapshot::Manager(epoch, leased)) => State::Manager { epoch, leased },
            (State::Process(process), Snapshot::Process(course)) => {
                State::Process(Box::new(process.restore(*course)))
            }
            (State::Held(held), Snapshot::Process(course)) => {
                State::Held(Box::new(held.restore(*course)))
            }
            (founded, Snapshot::Empty | Snapshot::Process(_)) => founded,
        }
    }

    fn step(&mut self, cx: &mut Context<'_, Self>, now: Now, input: Input) {
        match input {
            Input::Group(group, message) => self.on_group(cx, now, group, message),
            Input::GroupUp(group) => {
                self.groups.insert(
                    group,
                    GroupLink {
                        is_up: true,
                        ..GroupLink::default()
                    },
                );
                self.tell_holdings(cx, group, None);
                self.attach_group(cx, now, group);
                self.claim_again(cx, now, group);
            }
            Input::GroupDown(group) => self.group_down(cx, group),
            Input::Activity(resource, message) => self.on_activity(cx, now, resource, message),
            Input::ActivityUp(resource) => {
                self.machine_down(resource);
                self.hear(now, resource);
                self.machines.insert(
                    resource,
                    MachineLink {
                        is_up: true,
                        ..MachineLink::default()
                    },
                );
                self.attach_machine(cx, now, resource);
            }
            Input::ActivityNamed(resource, name) => {
                self.names.insert(resource, name);
            }
            Input::ActivityDown(resource) => self.machine_down(resource),
            Input::Request(client, caller, number, request) => {
                self.on_request(cx, now, (client, number), &caller, request);
            }
            Input::Submission(client, number, submission) => {
                let answer = self.submit(cx, now, *submission);
                cx.effect(Effect::Answer {
                    client,
                    number,
                    answer,
                });
            }
            Input::ClientGone(client) => {
                let gone: Vec<(ClientId, u64)> = self
                    .watchers
                    .range((client, 0)..=(client, u64::MAX))
                    .map(|(&watcher, _)| watcher)
                    .collect();
                for (client, number) in gone {
                    self.watchers.remove(&(client, number));
                    self.disarm(Timer::Watch(client, number));
                }
                self.forget_tails(client);
            }
            Input::Planned(result) => self.on_planned(cx, now, *result),
            Input::Room(room) => self.room = room,
        }
    }

    fn wake(&mut self, cx: &mut Context<'_, Self>, now: Now) {
        while let Some(&(at, timer)) = self.timers.due.first()
            && at <= now.mono
        {
            self.disarm(timer);
            self.ring(cx, now, timer);
        }
    }

    fn resume(&mut self, cx: &mut Context<'_, Self>, now: Now) {
        self.begun = now.mono;
        let (before, leased) = match cx.state(Stream::Manager) {
            Some(State::Manager { epoch, leased }) => (*epoch, *leased),
            Some(State::Empty | State::Process(_) | State::Held(_)) | None => {
                (Epoch(0), Some(Span::ZERO))
            }
        };
        self.epoch = Epoch(before.0 + 1);
        // No question of this life has the number of one of the lives before: a late answer to that
        // one says nothing about the present.
        self.n_asked = (self.epoch.0 as u32).wrapping_shl(ASKS_BITS);
        cx.record(Stream::Manager, Event::Epoch(self.epoch));
        self.lease_from(cx, now, leased);
        self.recorded = Recorded::of(cx.states());
        let open: Vec<ProcessId> = cx
            .states()
            .iter()
            .filter_map(|(_, state)| match state {
                State::Process(process) if !process.course.is_released => Some(process.id()),
                State::Process(_) | State::Held(_) | State::Empty | State::Manager { .. } => None,
            })
            .collect();
        for id in open {
            let machines = process(cx, id).map(|known| known.course.machines.clone());
            for (resource, name) in machines.unwrap_or_default() {
                self.register(cx, resource, &name);
            }
            self.begin(cx, now, id, false);
        }
        self.release_held(cx, now);
        self.resume_copies(cx, now);
        self.expect_all(cx, now);
        self.expect_holders(cx, now);
        self.watch_time(now);
    }

    fn next_wakeup(&self) -> Option<Mono> {
        self.timers.due.first().map(|&(at, _)| at)
    }
}

impl ProcessManager {
    /// Takes up a process that was founded in this life or an earlier one.
    pub(crate) fn begin(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        id: ProcessId,
        is_new: bool,
    ) {
        let Some(process) = process(cx, id) else {
            return;
        };
        let wants_plan =
            process.course.plan.generation.0 == 0 && !process.definition.activities().is_empty();
        let stage = match wants_plan {
            false => Stage::Settled,
            true => Stage::Wanting,
        };
        let longest = |activity: ActivityId| {
            let declared = process.definition.activity(activity);
            let n_before = process.activity(activity).n_failed.saturating_sub(1);
            declared.map_or(Span::ZERO, |one| backoff(one.retry.backoff, n_before))
        };
        let waiting: Vec<(ActivityId, Wall, Span)> = process
            .course
            .backoff
            .iter()
            .map(|(&activity, &at)| (activity, at, longest(activity)))
            .collect();
        let base = match process.base {
            Some(base) if process.phase() == Phase::Running => BaseIndex::of(cx.states(), base),
            Some(_) | None => BaseIndex::default(),
        };
        self.live.insert(
            id,
            Live {
                stage,
                is_inherited: !is_new,
                base,
                revision: 1,
                ..Live::default()
            },
        );
        for (activity, at, longest) in waiting {
            // The calendar may have been set back meanwhile.
            let wait = at.since(now.wall).min(longest);
            self.arm(Timer::Backoff(id, activity), now.mono + wait);
        }
        if !is_new {
            self.check_outputs(cx, id);
        }
        self.settle(cx, now, id);
    }
}

/// What stands for the events of a stream but the first.
#[derive(Clone, Debug, minicbor::Encode, minicbor::Decode)]
pub enum Snapshot {
    /// Nothing.
    #[n(0)]
    Empty,
    /// The manager's own stream.
    #[n(1)]
    Manager(#[n(0)] Epoch, #[n(1)] Option<Span>),
    /// What has become of a process.
    #[n(2)]
    Process(#[n(0)] Box<Course>),
}

/// How long before the n-th further try.
pub(crate) fn backoff(first: Span, n_failed: u16) -> Span {
    let factor = 1u64 << u32::from(n_failed).min(40);
    Span(first.0.saturating_mul(factor)).min(limits::BACKOFF_MAX)
}
