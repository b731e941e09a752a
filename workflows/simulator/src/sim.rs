//! The grid, and what happens in it.

use std::collections::{BTreeMap, BTreeSet};

use group_core::GroupManager;
use model::{Artifact, AttemptId, DataMode, Identity, Mono, ProcessId, ResourceId, Span};
use process_core::{PlanResult, ProcessManager};
use thiserror::Error;
use wire::client::Submit;
use wire::executor::Exit;

use crate::calendar::Calendar;
use crate::client::Client;
use crate::command::Behaviours;
use crate::connections::Link;
use crate::host::{Crashes, Host};
use crate::machines::Machines;
use crate::network::Wire;
use crate::observe::{Observer, Seen, Sizes};
use crate::random::{Random, Rate};
use crate::setup::{Faults, Setup};
use crate::stores::Stores;
use crate::trace::Trace;

/// Time of watching after everything has come to rest.
const REST: Span = Span::from_secs(5);
/// Period of the checks for rest.
pub(crate) const LOOK: Span = Span::from_millis(500);

/// A process to be submitted.
#[derive(Clone, Debug)]
pub struct Submission {
    /// The submission of the client.
    pub submit: Submit,
    /// To which process manager.
    pub manager: usize,
    /// Who submits it: nobody but the manager's own owner where this is none.
    pub user: Option<Identity>,
    /// When it begins to.
    pub at: Mono,
    /// When it begins to cancel the process.
    pub cancels_at: Option<Mono>,
}

/// A rule was broken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{rule} (at {:.6} s)", at.0 as f64 / 1e6)]
pub struct Broken {
    /// When.
    pub at: Mono,
    /// Which, and how.
    pub rule: String,
}

/// A manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Group(usize),
    Process(usize),
    Activity(usize),
}

/// A simulated event.
#[derive(Debug)]
pub(crate) enum Happening {
    Turn(Node),
    Flushed {
        node: Node,
        epoch: u64,
        number: u64,
    },
    Start(Node),
    Dial(Link),
    Notice {
        link: Link,
        incarnation: u64,
        end: usize,
    },
    Deliver {
        link: Link,
        incarnation: u64,
        to: usize,
        bytes: Vec<u8>,
    },
    Cut(Link),
    /// A daemon is stopped for a while; its executor goes on.
    Freeze(Node),
    Thaw(Node),
    /// Nothing that this end sends arrives for a while.
    Deafen(Link, usize),
    /// A machine is cut off from everybody for a while.
    Unplug(usize),
    /// An end of a connection has heard nothing for long.
    Idle {
        link: Link,
        incarnation: u64,
    },
    /// The calendar of a computer is set.
    Jump(Node),
    Planned {
        manager: usize,
        epoch: u64,
        result: Box<PlanResult>,
    },
    Staged {
        machine: usize,
        epoch: u64,
        attempt: AttemptId,
        is_laid_out: bool,
    },
    Collected {
        machine: usize,
        epoch: u64,
        attempt: AttemptId,
        artifacts: Option<Vec<Artifact>>,
    },
    Connect {
        machine: usize,
        epoch: u64,
    },
    ExecutorDown {
        machine: usize,
        epoch: u64,
        connection: u64,
    },
    ToExecutor {
        machine: usize,
        connection: u64,
        bytes: Vec<u8>,
    },
    FromExecutor {
        machine: usize,
        connection: u64,
        bytes: Vec<u8>,
    },
    CommandEnds {
        machine: usize,
        instance: u64,
        attempt: AttemptId,
        run: u64,
        /// Why it was killed; none where it ends by itself.
        killed: Option<Exit>,
    },
    LeaseEnds {
        machine: usize,
        instance: u64,
    },
    Linger {
        machine: usize,
        instance: u64,
        connection: u64,
    },
    KillExecutor(usize),
    FillDisk(Node),
    /// Many requests of a client come to a process manager at once.
    Crowd(usize),
    LoseFiles(usize),
    /// A machine is cut off for long, and has lost files when it is there again.
    Burn(usize),
    /// A process manager is lost for good.
    LoseManager(usize),
    /// A process manager dies before it has given up a machine.
    KillProcessManager(usize),
    /// A machine has what it was asked to keep.
    Copied {
        machine: usize,
        epoch: u64,
        input: Box<activity_core::Input>,
    },
    Lacking {
        machine: usize,
        epoch: u64,
        attempt: AttemptId,
        inputs: Vec<u32>,
    },
    Ask(usize),
    Request {
        client: usize,
        connection: u64,
        epoch: u64,
        bytes: Vec<u8>,
    },
    Answer {
        client: usize,
        connection: u64,
        bytes: Vec<u8>,
    },
    Heal,
    Look,
}

/// A grid with its clients, from one seed.
pub struct Sim {
    pub(crate) at: Mono,
    pub(crate) random: Random,
    pub(crate) setup: Setup,
    pub(crate) seed: u64,
    pub(crate) faults: Faults,
    pub(crate) crashes: Crashes,
    pub(crate) calendar: Calendar<Happening>,
    pub(crate) trace: Trace,
    pub(crate) groups: Vec<Host<GroupManager>>,
    pub(crate) processes: Vec<Host<ProcessManager>>,
    pub(crate) machines: Machines,
    pub(crate) wires: Vec<Wire>,
    pub(crate) clients: Vec<Client>,
    pub(crate) by_number: BTreeMap<ResourceId, usize>,
    /// The records of each group manager's repository.
    pub(crate) records: Vec<BTreeMap<Vec<u8>, Vec<u8>>>,
    pub(crate) released: BTreeSet<ProcessId>,
    /// Process managers that are lost for good.
    pub(crate) lost: BTreeSet<usize>,
    pub(crate) stores: Stores,
    /// For each process manager: true if it runs, and if it and all group managers reach each other.
    pub(crate) managers: Vec<(bool, bool)>,
    healed_at: Option<Mono>,
    pub(crate) rests_since: Option<Mono>,
    is_over: bool,
    n_happened: u64,
}

impl Sim {
    /// A grid as the setup says, in which these processes will be submitted. `slots_wanted` is the
    /// most that an activity asks for: three times of four one machine has as many.
    pub fn new(
        seed: u64,
        setup: Setup,
        submissions: Vec<Submission>,
        behaviours: Behaviours,
        slots_wanted: u32,
    ) -> Sim {
        let mut random = Random::new(seed ^ 0x5151_1001);
        let (n_groups, n_processes) = setup.n_managers(seed);
        let machines = Machines::new(&setup, n_groups, (behaviours, slots_wanted), &mut random);
        let n_wires = n_groups * n_processes + (1 + n_processes) * machines.n();
        let mut sim = Sim {
            at: Mono(0),
            faults: setup.faults.clone(),
            crashes: Crashes {
                rate: setup.faults.crash,
                n_left: setup.faults.n_crashes_max,
            },
            setup,
            seed,
            calendar: Calendar::new(),
            trace: Trace::silent(),
            groups: (0..n_groups).map(|_| Host::new()).collect(),
            processes: (0..n_processes).map(|_| Host::new()).collect(),
            machines,
            wires: (0..n_wires).map(|_| Wire::default()).collect(),
            clients: Vec::new(),
            by_number: BTreeMap::new(),
            records: vec![BTreeMap::new(); n_groups],
            released: BTreeSet::new(),
            lost: BTreeSet::new(),
            stores: Stores::default(),
            managers: vec![(false, false); n_processes],
            healed_at: None,
            rests_since: None,
            is_over: false,
            n_happened: 0,
            random,
        };
        sim.set_drifts();
        sim.slow_down(seed);
        sim.lay_out(submissions);
        sim
    }

    /// The same, with a trace of which so many of the last lines can be read.
    pub fn telling(mut self, n_lines_max: usize) -> Sim {
        self.trace = Trace::telling(n_lines_max);
        self
    }

    /// The trace of all events.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The number of events so far.
    pub fn n_happened(&self) -> u64 {
        self.n_happened
    }

    /// The simulated time.
    pub fn at(&self) -> Mono {
        self.at
    }

    /// Runs until everything is at rest.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<(), Broken> {
        while !self.is_over {
            self.step(observer)?;
        }
        Ok(())
    }

    /// Lets the next thing happen.
    pub fn step(&mut self, observer: &mut dyn Observer) -> Result<(), Broken> {
        let Some((at, happening)) = self.calendar.next() else {
            return Err(self.broken("nothing will ever happen again, and not everything has ended"));
        };
        self.at = at;
        self.n_happened += 1;
        if self.n_happened > self.setup.n_happenings_max {
            let most = self.setup.n_happenings_max;
            return Err(self.broken(format!("rule 6: {most} things happened and it is not over")));
        }
        self.happen(happening, observer)
            .and_then(|()| self.look_who_is_reached(observer))
            .map_err(|rule| self.broken(rule))
    }

    fn broken(&self, rule: impl Into<String>) -> Broken {
        Broken {
            at: self.at,
            rule: rule.into(),
        }
    }

    fn lay_out(&mut self, submissions: Vec<Submission>) {
        let n_machines = self.machines.n();
        for node in self.nodes() {
            let after = Span(self.random.below(20_000));
            self.after(after, Happening::Start(node));
        }
        for submission in submissions {
            let number = self.clients.len();
            let Submission {
                mut submit,
                manager,
                user,
                at,
                cancels_at,
            } = submission;
            // The files of every other process pass the machines of its controllers.
            let is_direct = submit.key.0 % 2 == 0;
            submit.draft.copies = u32::from(self.setup.has_stores && is_direct);
            if self.setup.has_stores && !is_direct {
                submit.draft.data = DataMode::Controllers;
            }
            self.stores.submit(submit.key.process(), &submit.draft);
            if self.setup.follows_work {
                self.machines.follow_work(&submit);
            }
            let client = Client::new(
                (submit, manager, user),
                cancels_at,
                &self.setup,
                &mut self.random,
            );
            self.clients.push(client);
            self.calendar.enter(at, Happening::Ask(number));
        }
        let phase = self.random.span(self.setup.fault_phase);
        let faults = self.faults.clone();
        for _ in 0..self.random.between(faults.cuts.0, faults.cuts.1) {
            let link = match self.random.below(3) {
                0 => self.any_managers(),
                1 => Link::GroupActivity(self.random.index(n_machines)),
                _ => {
                    let machine = self.random.index(n_machines);
                    Link::ProcessActivity(self.any_process_manager(), machine)
                }
            };
            // More of them early, when most processes still go on.
            let latest = self.random.below(phase.0);
            let at = Mono(self.random.below(latest));
            self.calendar.enter(at, Happening::Cut(link));
        }
        for _ in 0..self
            .random
            .between(faults.executor_kills.0, faults.executor_kills.1)
        {
            let at = Mono(self.random.below(phase.0));
            let machine = self.random.index(n_machines);
            self.calendar.enter(at, Happening::KillExecutor(machine));
        }
        for _ in 0..self
            .random
            .between(faults.full_disks.0, faults.full_disks.1)
        {
            let node = match self.random.below(4) {
                0 => Node::Group(self.any_group()),
                1 => Node::Process(self.any_process_manager()),
                _ => Node::Activity(self.random.index(n_machines)),
            };
            let at = Mono(self.random.below(phase.0));
            self.calendar.enter(at, Happening::FillDisk(node));
        }
        self.lay_out_absences(phase);
        let (least, most) = self.faults.losses;
        if most > 0 {
            for _ in 0..self.random.between(least, most) {
                let at = Mono(self.random.below(phase.0));
                let machine = self.random.index(n_machines);
                self.calendar.enter(at, Happening::LoseFiles(machine));
            }
        }
        if !self.random.happens(Rate::percent(25)) {
            self.faults.trouble = Rate::NEVER;
        }
        let (least, most) = self.faults.lost_managers;
        if most > 0 {
            for _ in 0..self.random.between(least, most) {
                let at = Mono(self.random.below(phase.0));
                let manager = self.any_process_manager();
                self.calendar.enter(at, Happening::LoseManager(manager));
            }
        }
        self.calendar.enter(Mono(phase.0), Happening::Heal);
    }

    /// All managers.
    pub(crate) fn nodes(&self) -> Vec<Node> {
        let groups = (0..self.groups.len()).map(Node::Group);
        let processes = (0..self.processes.len()).map(Node::Process);
        let machines = (0..self.machines.n()).map(Node::Activity);
        groups.chain(processes).chain(machines).collect()
    }

    /// Any one of so many, which takes no draw where there is no choice.
    fn any_of(&mut self, n: usize) -> usize {
        match n {
            0 | 1 => 0,
            _ => self.random.index(n),
        }
    }

    pub(crate) fn any_group(&mut self) -> usize {
        self.any_of(self.groups.len())
    }

    pub(crate) fn any_process_manager(&mut self) -> usize {
        self.any_of(self.processes.len())
    }

    /// A connection between a group manager and a process manager.
    pub(crate) fn any_managers(&mut self) -> Link {
        Link::GroupProcess(self.any_group(), self.any_process_manager())
    }

    /// Enters something that happens later.
    pub(crate) fn after(&mut self, span: Span, happening: Happening) {
        self.calendar.enter(self.at + span, happening);
    }

    /// Notes a step for the trace.
    pub(crate) fn note(&mut self, bytes: &[u8], line: impl FnOnce() -> String) {
        self.trace.note(self.at, bytes, line);
    }

    fn happen(&mut self, happening: Happening, observer: &mut dyn Observer) -> Result<(), String> {
        match happening {
            Happening::Turn(node) => self.turn(node, observer),
            Happening::Flushed {
                node,
                epoch,
                number,
            } => self.flushed(node, epoch, number, observer),
            Happening::Start(node) => self.start(node, observer),
            Happening::Dial(link) => {
                self.dial(link);
                Ok(())
            }
            Happening::Notice {
                link,
                incarnation,
                end,
            } => {
                let wire = self.wire(link);
                if wire.incarnation == incarnation && wire.seen[end] && !wire.carries {
                    wire.seen[end] = false;
                    self.tell_end(link, end, false);
                }
                Ok(())
            }
            Happening::Deliver {
                link,
                incarnation,
                to,
                bytes,
            } => self.delivered(link, incarnation, to, bytes, observer),
            Happening::Cut(link) => {
                self.note(&[1], || format!("{link:?} is cut"));
                self.cut(link);
                Ok(())
            }
            Happening::Freeze(node) => {
                self.freeze(node);
                Ok(())
            }
            Happening::Thaw(node) => {
                self.dial_all(node);
                self.turn_soon(node);
                Ok(())
            }
            Happening::Deafen(link, end) => {
                self.deafen(link, end);
                Ok(())
            }
            Happening::Unplug(machine) => {
                self.unplug(machine);
                Ok(())
            }
            Happening::Idle { link, incarnation } => {
                self.idle(link, incarnation);
                Ok(())
            }
            Happening::Jump(node) => {
                self.jump(node);
                Ok(())
            }
            Happening::Planned {
                manager,
                epoch,
                result,
            } => {
                if self.processes[manager].epoch == epoch {
                    self.processes[manager].put(process_core::Input::Planned(result));
                    self.turn_soon(Node::Process(manager));
                }
                Ok(())
            }
            Happening::Ask(client) => self.ask(client, observer),
            Happening::Request {
                client,
                connection,
                epoch,
                bytes,
            } => self.request(client, connection, epoch, &bytes),
            Happening::Answer {
                client,
                connection,
                bytes,
            } => self.answer(client, connection, &bytes, observer),
            Happening::Heal => self.heal(observer),
            Happening::Look => self.look(observer),
            Happening::LoseFiles(machine) => {
                self.lose_files(machine);
                Ok(())
            }
            Happening::Burn(machine) => {
                self.burn(machine);
                Ok(())
            }
            Happening::LoseManager(manager) => self.lose_manager(manager, observer),
            Happening::KillProcessManager(manager) => self.kill_process_manager(manager, observer),
            happening @ (Happening::Staged { .. }
            | Happening::Copied { .. }
            | Happening::Lacking { .. }
            | Happening::Collected { .. }
            | Happening::Connect { .. }
            | Happening::ExecutorDown { .. }
            | Happening::ToExecutor { .. }
            | Happening::FromExecutor { .. }
            | Happening::CommandEnds { .. }
            | Happening::Linger { .. }
            | Happening::LeaseEnds { .. }
            | Happening::KillExecutor(_)) => self.on_machine(happening, observer),
            Happening::FillDisk(node) => {
                self.fill_disk(node);
                Ok(())
            }
            Happening::Crowd(manager) => {
                self.crowd(manager);
                Ok(())
            }
        }
    }

    // The end.

    fn heal(&mut self, observer: &mut dyn Observer) -> Result<(), String> {
        self.note(&[5], || "everything is healed".to_owned());
        let compaction = self.setup.faults.compaction;
        self.faults = Faults {
            compaction,
            ..Faults::none()
        };
        self.crashes.n_left = 0;
        for node in self.nodes() {
            self.set_full_until(node, self.at);
            self.thaw(node);
        }
        for process in &mut self.processes {
            process.set_pace(None);
        }
        self.healed_at = Some(self.at);
        for link in self.links() {
            self.wire(link).mend();
            self.dial_later(link);
        }
        observer.see(self.at, &Seen::Healed)?;
        self.after(self.setup.ends_within, Happening::Look);
        Ok(())
    }

    /// Looks whether everything has ended, and for how long it has.
    fn look(&mut self, observer: &mut dyn Observer) -> Result<(), String> {
        let too_late = self
            .healed_at
            .is_some_and(|at| self.at.since(at) >= self.setup.ends_within);
        if let Some(waiting) = self.what_goes_on() {
            if too_late {
                return Err(format!("rule 6: after all this time {waiting}"));
            }
            if self.rests_since.is_some() {
                self.rests_since = Some(self.at);
                self.after(LOOK, Happening::Look);
            }
            return Ok(());
        }
        let Some(since) = self.rests_since else {
            return Ok(());
        };
        if self.at.since(since) < REST {
            self.after(LOOK, Happening::Look);
            return Ok(());
        }
        self.is_over = true;
        if self.setup.looks_closely {
            self.groups.iter().try_for_each(Host::compare)?;
            self.processes.iter().try_for_each(Host::compare)?;
        }
        observer.see(self.at, &Seen::Sizes(&self.sizes()))?;
        self.look_for_lost(self.healed_at.unwrap_or(self.at), observer)?;
        self.look_for_left(observer)?;
        observer.see(self.at, &Seen::AtRest)
    }

    fn sizes(&mut self) -> Sizes {
        let live = |machine: &ProcessManager| machine.n_live();
        let running = self.processes.iter().filter_map(Host::machine);
        let mut tails = self.groups.iter().filter_map(Host::long_tail);
        let mut of_processes = self.processes.iter().filter_map(Host::long_tail);
        let lost = self.processes_of_lost();
        let mut sizes = Sizes {
            n_live: running.map(live).sum(),
            long_tail: tails.next().or(of_processes.next()),
            ..Sizes::default()
        };
        for machine in 0..self.machines.n() {
            let host = &self.machines.get(machine).host;
            // Outcomes for a lost process manager are held for ever.
            let is_known = |process: ProcessId| !lost.contains(&process);
            let n_attempts = host.machine().map_or(0, |one| one.n_attempts_of(is_known));
            let state = host.state(activity_core::Stream::Manager);
            let starting = state.into_iter().flat_map(|state| state.starting.keys());
            sizes.n_attempts += n_attempts;
            sizes.n_starting += starting.filter(|one| is_known(one.process)).count();
            sizes.long_tail = sizes.long_tail.or(host.long_tail());
        }
        sizes
    }

    fn what_goes_on(&mut self) -> Option<String> {
        if self.healed_at.is_none() {
            return Some("there are faults".to_owned());
        }
        let served = |client: &&Client| !self.lost.contains(&client.manager);
        let mut clients = self.clients.iter().filter(served);
        if let Some(client) = clients.find(|client| !client.is_done()) {
            return Some(format!(
                "nobody has told a client how {} ended",
                client.process()
            ));
        }
        let mut clients = self.clients.iter().filter(served);
        if let Some(client) = clients.find(|client| !self.released.contains(&client.process())) {
            return Some(format!("{} holds its slots", client.process()));
        }
        if let Some(process) = self.held_by_lost() {
            return Some(format!("{process} of a lost process manager holds slots"));
        }
        // Unacknowledged outcomes are held for it until it is back.
        let mut others = (0..self.processes.len()).filter(|one| !self.lost.contains(one));
        if !others.all(|one| self.processes[one].is_up()) {
            return Some("a process manager is away".to_owned());
        }
        let running = || self.processes.iter().filter_map(Host::machine);
        if running().any(ProcessManager::is_discarding) {
            return Some("files that nobody needs are there".to_owned());
        }
        if self.setup.has_stores && running().any(ProcessManager::is_copying) {
            return Some("there are no copies of files that are wanted".to_owned());
        }
        self.machines.what_goes_on(&self.processes_of_lost())
    }

    /// Looks for rest once all clients know the end that have somebody to ask.
    pub(crate) fn rest_if_done(&mut self) {
        let is_done = |client: &Client| client.is_done() || self.lost.contains(&client.manager);
        if self.clients.iter().all(is_done) && self.rests_since.is_none() {
            self.rests_since = Some(self.at);
            self.after(LOOK, Happening::Look);
        }
    }
}
