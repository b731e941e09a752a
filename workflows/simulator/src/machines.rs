//! The machines: activity managers with their executors, their directories and the workers beside
//! them.

use std::collections::{BTreeMap, BTreeSet};

use activity_core::{ActivityManager, Config, Input, Trouble, Workplace};
use model::{
    ActivityId, Artifact, AttemptId, Bytes, FaultName, Mono, NodeKind, ProcessId, Produced,
    ResourceId, Span, Work,
};
use wire::attempt::Holder;
use wire::client::Submit;
use wire::executor::{Exit, FromExecutor, ToExecutor};

use crate::command::{Behaviours, printed, produced};
use crate::executor::{Executor, Wants};
use crate::host::{Host, wall};
use crate::observe::{Observer, Seen};
use crate::random::{Random, Rate};
use crate::setup::{LINGER, STRAGGLING, Setup};
use crate::sim::{Happening, Node, Sim};

/// Delay of a message between a daemon and its executor.
const LOCAL: (Span, Span) = (Span(5), Span(300));
/// Time until a daemon has its executor back.
const CONNECT: (Span, Span) = (Span(100), Span(60_000));
/// Time that a command takes to stop.
const STOP: (Span, Span) = (Span(100), Span(50_000));

/// All machines.
pub(crate) struct Machines {
    list: Vec<Machine>,
    behaviours: Behaviours,
    /// Runs that have failed, by activity.
    n_failed: BTreeMap<(ProcessId, ActivityId), u32>,
    runs: (Span, Span),
    straggling: Rate,
    /// Running times of activities on a core of power 1.0; empty where they are drawn.
    works: BTreeMap<(ProcessId, ActivityId), Work>,
}

/// One machine.
pub(crate) struct Machine {
    pub(crate) host: Host<ActivityManager>,
    pub(crate) config: Config,
    /// As its group manager numbers it, once it knows.
    pub(crate) number: Option<ResourceId>,
    pub(crate) executor: Executor,
    /// Directories of attempts: what was laid into each, and the command line that ran there.
    pub(crate) workplaces: BTreeMap<AttemptId, Place>,
    /// Its group, counted from 0.
    group: usize,
    /// True for each process manager that reaches it, with its group manager.
    pub(crate) is_reached: Vec<bool>,
    /// True if it and the manager of its group reach each other.
    pub(crate) is_joined: bool,
    /// When the last message arrives on each way of the local link, which keeps the order.
    last: [Mono; 2],
}

/// A directory of an attempt.
#[derive(Debug, Default)]
pub(crate) struct Place {
    inputs: Vec<(String, Artifact)>,
    program: Vec<String>,
}

impl Machines {
    pub(crate) fn new(
        setup: &Setup,
        n_groups: usize,
        (behaviours, slots_wanted): (Behaviours, u32),
        random: &mut Random,
    ) -> Machines {
        let n_machines = random
            .between(setup.machines.0.into(), setup.machines.1.into())
            .max(1);
        let list = (0..n_machines).map(|number| {
            let slots = random.between(setup.slots.0.into(), setup.slots.1.into()) as u32;
            let config = Config {
                name: format!("m{number}"),
                slots: slots.max(1),
                memory: Bytes(8 << 30),
                power: random.between(setup.powers.0, setup.powers.1) as f64 / 10.0,
                labels: BTreeMap::new(),
                bulk: setup.has_stores.then(|| format!("m{number}:1")),
                environment: Vec::new(),
                of_users: BTreeMap::new(),
                environments: String::new(),
                nice: None,
                prefetch: activity_core::prefetch_default(slots).min(random.between(0, 40) as u32),
                linger: None,
                kill_grace: None,
                pace_since: None,
                lease: setup.lease,
                beat: None,
                asks_executor: false,
                outcomes_kept: Some(Span::from_secs(30 * 86_400)),
                has_forgotten: false,
            };
            Machine {
                host: Host::new(),
                config,
                number: None,
                executor: Executor::default(),
                workplaces: BTreeMap::new(),
                group: number as usize % n_groups,
                is_reached: vec![false; setup.process_managers.1 as usize],
                is_joined: false,
                last: [Mono(0); 2],
            }
        });
        let mut list: Vec<Machine> = list.collect();
        let fits = |machine: &Machine| machine.config.slots >= slots_wanted;
        if !list.iter().any(fits) && random.happens(Rate::percent(75)) {
            let at = random.index(list.len());
            list[at].config.slots = slots_wanted;
        }
        // Most runs have short commands only, so that faults meet what is underway.
        let longest = match random.below(4) {
            0 => setup.runs.1,
            1 => Span(setup.runs.1.0 / 8),
            _ => Span(setup.runs.1.0 / 64),
        };
        let runs = (setup.runs.0, longest.max(setup.runs.0));
        Machines {
            list,
            behaviours,
            n_failed: BTreeMap::new(),
            runs,
            straggling: setup.straggling,
            works: BTreeMap::new(),
        }
    }

    /// From here on commands of this process run as long as their work takes.
    pub(crate) fn follow_work(&mut self, submit: &Submit) {
        let process = submit.key.process();
        for (index, node) in submit.draft.nodes.iter().enumerate() {
            if let NodeKind::Activity(activity) = &node.kind
                && let Some(work) = activity.work
            {
                let id = ActivityId(index as u32);
                self.works.insert((process, id), work);
            }
        }
    }

    /// The length of a run that nobody stops.
    fn length(&self, machine: usize, attempt: AttemptId, random: &mut Random) -> Span {
        match self.works.get(&(attempt.process, attempt.activity)) {
            Some(work) => {
                let power = self.list[machine].config.power;
                let length = Span::from_seconds_up(work.reference_seconds() / power);
                match self.straggling != Rate::NEVER && random.happens(self.straggling) {
                    true => Span(length.0.saturating_mul(STRAGGLING)),
                    false => length,
                }
            }
            None => random.span(self.runs),
        }
    }

    pub(crate) fn n(&self) -> usize {
        self.list.len()
    }

    /// The group of a machine: they are dealt out in turn.
    pub(crate) fn group_of(&self, machine: usize) -> usize {
        self.list[machine].group
    }

    pub(crate) fn get(&mut self, machine: usize) -> &mut Machine {
        &mut self.list[machine]
    }

    /// What is at executors, beside attempts of processes that nobody knows any more.
    pub(crate) fn what_goes_on(&self, lost: &BTreeSet<ProcessId>) -> Option<String> {
        let mut machines = self.list.iter();
        let at = machines.position(|machine| machine.executor.has_any_but(lost))?;
        Some(format!("the executor of machine {at} holds attempts"))
    }

    /// The end of a run that nobody stops, and the number that it prints.
    fn outcome(&mut self, attempt: AttemptId, program: &[String]) -> (Exit, Option<i64>) {
        let activity = (attempt.process, attempt.activity);
        if let Some(behaviour) = self.behaviours.get(&activity) {
            let n_failed = self.n_failed.entry(activity).or_default();
            if *n_failed < behaviour.n_failing {
                *n_failed += 1;
                return (behaviour.failure.exit(), None);
            }
        }
        (Exit::Exited { code: 0 }, Some(printed(program)))
    }
}

impl Sim {
    /// A daemon that has started, or has lost its executor, looks for one.
    pub(crate) fn connect_soon(&mut self, machine: usize, epoch: u64) {
        let after = self.random.span(CONNECT);
        self.after(after, Happening::Connect { machine, epoch });
    }

    /// The daemon of a machine has died: its executor goes on for a while.
    pub(crate) fn daemon_gone(&mut self, machine: usize) {
        let executor = &mut self.machines.get(machine).executor;
        executor.is_connected = false;
        let (instance, connection) = (executor.instance, executor.connection);
        self.after(
            LINGER,
            Happening::Linger {
                machine,
                instance,
                connection,
            },
        );
    }

    pub(crate) fn send_executor(&mut self, machine: usize, bytes: Vec<u8>) {
        let connection = self.machines.get(machine).executor.connection;
        if self.machines.get(machine).executor.is_connected {
            let arrival = self.local_arrival(machine, 0);
            self.calendar.enter(
                arrival,
                Happening::ToExecutor {
                    machine,
                    connection,
                    bytes,
                },
            );
        }
    }

    fn send_daemon(&mut self, machine: usize, messages: &[FromExecutor]) {
        let connection = self.machines.get(machine).executor.connection;
        if !self.machines.get(machine).executor.is_connected {
            return;
        }
        for message in messages {
            let bytes = wire::encode(message);
            let arrival = self.local_arrival(machine, 1);
            self.calendar.enter(
                arrival,
                Happening::FromExecutor {
                    machine,
                    connection,
                    bytes,
                },
            );
        }
    }

    fn local_arrival(&mut self, machine: usize, way: usize) -> Mono {
        let delay = self.random.span(LOCAL);
        let last = &mut self.machines.get(machine).last[way];
        *last = (self.at + delay).max(*last);
        *last
    }

    /// Lays inputs into a directory, or says again that it is done.
    pub(crate) fn stage(
        &mut self,
        machine: usize,
        attempt: AttemptId,
        inputs: Vec<(String, Artifact)>,
        sources: &[(u32, Vec<Holder>)],
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        let takes = self.random.span(self.setup.works_aside);
        let is_laid_out = !self.has_trouble(machine, attempt, observer)?;
        if self.setup.has_stores {
            let lacking = self
                .stores
                .lacking((machine, attempt.process), &inputs, sources);
            if !lacking.is_empty() {
                let epoch = self.machines.get(machine).host.epoch;
                let happening = Happening::Lacking {
                    machine,
                    epoch,
                    attempt,
                    inputs: lacking,
                };
                self.after(takes, happening);
                return Ok(());
            }
        }
        let machine_model = self.machines.get(machine);
        machine_model.workplaces.entry(attempt).or_default().inputs = inputs;
        let epoch = machine_model.host.epoch;
        self.after(
            takes,
            Happening::Staged {
                machine,
                epoch,
                attempt,
                is_laid_out,
            },
        );
        Ok(())
    }

    /// True if a worker of a machine fails this time.
    fn has_trouble(
        &mut self,
        machine: usize,
        attempt: AttemptId,
        observer: &mut dyn Observer,
    ) -> Result<bool, String> {
        let is_full = self.machines.get(machine).host.has_full_disk(self.at);
        let has_trouble = is_full || self.random.happens(self.faults.trouble);
        if has_trouble {
            self.note(&[11], || {
                format!("machine {machine} has trouble with {attempt}")
            });
            observer.see(self.at, &Seen::Troubled(attempt))?;
        }
        Ok(has_trouble)
    }

    /// Takes outputs out of a directory.
    pub(crate) fn collect(
        &mut self,
        machine: usize,
        attempt: AttemptId,
        outputs: &[Produced],
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        let is_lost = !outputs.is_empty() && self.has_trouble(machine, attempt, observer)?;
        let takes = self.random.span(self.setup.works_aside);
        let machine_model = self.machines.get(machine);
        let epoch = machine_model.host.epoch;
        // A directory that is gone was cleared, so its outputs are known to whoever wanted them.
        let place = machine_model.workplaces.get(&attempt);
        let artifacts: Option<Vec<Artifact>> = place.filter(|_| !is_lost).map(|place| {
            let output = |output: &Produced| produced(&place.program, &place.inputs, &output.path);
            outputs.iter().map(output).collect()
        });
        if let Some(artifacts) = &artifacts {
            self.stores.produce(machine, attempt, artifacts);
        }
        self.after(
            takes,
            Happening::Collected {
                machine,
                epoch,
                attempt,
                artifacts,
            },
        );
        Ok(())
    }

    pub(crate) fn on_machine(
        &mut self,
        happening: Happening,
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        match happening {
            Happening::Staged {
                machine,
                epoch,
                attempt,
                is_laid_out,
            } => {
                let workplace = || Workplace {
                    directory: format!("/m{machine}/{attempt}"),
                };
                let result = is_laid_out.then(workplace).ok_or_else(|| Trouble {
                    name: FaultName::Staging,
                    message: "no space is left".to_owned(),
                });
                self.put(machine, epoch, Input::Staged { attempt, result });
            }
            Happening::Collected {
                machine,
                epoch,
                attempt,
                artifacts,
            } => {
                let result = artifacts.ok_or_else(|| Trouble {
                    name: FaultName::MissingOutput,
                    message: "the outputs could not be kept".to_owned(),
                });
                self.put(machine, epoch, Input::Collected { attempt, result });
            }
            Happening::Copied {
                machine,
                epoch,
                input,
            } => self.put(machine, epoch, *input),
            Happening::Lacking {
                machine,
                epoch,
                attempt,
                inputs,
            } => {
                let workplace = Workplace {
                    directory: format!("/m{machine}/{attempt}"),
                };
                let lacking = Input::Lacking {
                    attempt,
                    inputs,
                    workplace,
                };
                self.put(machine, epoch, lacking);
            }
            Happening::Connect { machine, epoch } => self.connect(machine, epoch),
            Happening::ExecutorDown {
                machine,
                epoch,
                connection,
            } => {
                if self.machines.get(machine).executor.connection == connection {
                    self.put(machine, epoch, Input::ExecutorDown);
                }
            }
            Happening::ToExecutor {
                machine,
                connection,
                bytes,
            } => {
                return self.at_executor(machine, connection, &bytes, observer);
            }
            Happening::FromExecutor {
                machine,
                connection,
                bytes,
            } => {
                let machine_model = self.machines.get(machine);
                let (executor, epoch) = (&machine_model.executor, machine_model.host.epoch);
                if executor.connection == connection && machine_model.host.is_up() {
                    let message = self.arrived(&bytes, Node::Activity(machine))?;
                    self.put(machine, epoch, Input::Executor(message));
                }
            }
            Happening::CommandEnds {
                machine,
                instance,
                attempt,
                run,
                killed,
            } => {
                if self.machines.get(machine).executor.instance == instance {
                    return self.command_ends(machine, attempt, run, killed, observer);
                }
            }
            Happening::Linger {
                machine,
                instance,
                connection,
            } => {
                let now = wall(self.at);
                let executor = &mut self.machines.get(machine).executor;
                let waits = executor.is_alive() && !executor.is_connected;
                if waits && executor.instance == instance && executor.connection == connection {
                    let killed = executor.gives_up(machine, now);
                    self.note(&[6], || {
                        format!("the executor of machine {machine} gives up")
                    });
                    for command in &killed {
                        observer.see(self.at, &Seen::Ended(command))?;
                    }
                }
            }
            Happening::LeaseEnds { machine, instance } => {
                let at = self.at;
                let executor = &mut self.machines.get(machine).executor;
                if executor.instance == instance {
                    let wants = executor.lease_ends(machine, at, wall(at));
                    return self.executor_wants(machine, wants, observer);
                }
            }
            Happening::KillExecutor(machine) => return self.kill_executor(machine, observer),
            Happening::Turn(_)
            | Happening::Flushed { .. }
            | Happening::Start(_)
            | Happening::Dial(_)
            | Happening::Notice { .. }
            | Happening::Deliver { .. }
            | Happening::Cut(_)
            | Happening::Freeze(_)
            | Happening::Thaw(_)
            | Happening::Deafen(..)
            | Happening::Unplug(_)
            | Happening::Idle { .. }
            | Happening::Jump(_)
            | Happening::FillDisk(_)
            | Happening::Crowd(_)
            | Happening::LoseFiles(_)
            | Happening::Burn(_)
            | Happening::LoseManager(_)
            | Happening::KillProcessManager(_)
            | Happening::Planned { .. }
            | Happening::Ask(_)
            | Happening::Request { .. }
            | Happening::Answer { .. }
            | Happening::Heal
            | Happening::Look => {}
        }
        Ok(())
    }

    fn put(&mut self, machine: usize, epoch: u64, input: Input) {
        let host = &mut self.machines.get(machine).host;
        if host.epoch == epoch && host.is_up() {
            host.put(input);
            self.turn_soon(Node::Activity(machine));
        }
    }

    fn connect(&mut self, machine: usize, epoch: u64) {
        let instance = self.random.draw() | 1;
        let machine_model = self.machines.get(machine);
        if machine_model.host.epoch != epoch || !machine_model.host.is_up() {
            return;
        }
        let executor = &mut machine_model.executor;
        if !executor.is_alive() {
            executor.begin(instance);
        }
        executor.connection += 1;
        executor.is_connected = true;
        let messages = executor.greet();
        self.note(&[7], || format!("machine {machine} has its executor"));
        self.send_daemon(machine, &messages);
    }

    fn kill_executor(&mut self, machine: usize, observer: &mut dyn Observer) -> Result<(), String> {
        let machine_model = self.machines.get(machine);
        let executor = &mut machine_model.executor;
        if !executor.is_alive() {
            return Ok(());
        }
        let was_connected = executor.is_connected;
        let connection = executor.connection;
        let killed = executor.killed(machine);
        let epoch = machine_model.host.epoch;
        self.note(&[8], || {
            format!("the executor of machine {machine} is killed")
        });
        for command in &killed {
            observer.see(self.at, &Seen::Ended(command))?;
        }
        if was_connected {
            let at = self.local_arrival(machine, 1);
            self.calendar.enter(
                at,
                Happening::ExecutorDown {
                    machine,
                    epoch,
                    connection,
                },
            );
            // The executor is connected again only after the daemon has noticed.
            let again = at + self.random.span(CONNECT);
            self.calendar
                .enter(again, Happening::Connect { machine, epoch });
        }
        Ok(())
    }

    fn at_executor(
        &mut self,
        machine: usize,
        connection: u64,
        bytes: &[u8],
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        let executor = &self.machines.get(machine).executor;
        if executor.connection != connection || !executor.is_connected {
            return Ok(());
        }
        let message: ToExecutor = wire::decode(bytes).map_err(|error| error.to_string())?;
        self.note(bytes, || {
            format!("machine {machine} -> executor: {message:?}")
        });
        if let ToExecutor::Start(starts) = &message {
            for start in starts {
                let places = &mut self.machines.get(machine).workplaces;
                let Some(place) = places.get_mut(&start.attempt) else {
                    return Err(format!(
                        "{} starts in a directory that is not there",
                        start.attempt
                    ));
                };
                place.program.clone_from(&start.program);
            }
        }
        let (at, now, full) = (self.at, wall(self.at), self.faults.full);
        let Sim {
            random, machines, ..
        } = self;
        let wants = machines
            .get(machine)
            .executor
            .take(machine, message, at, now, || random.happens(full));
        self.executor_wants(machine, wants, observer)
    }

    fn command_ends(
        &mut self,
        machine: usize,
        attempt: AttemptId,
        run: u64,
        killed: Option<Exit>,
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        if !self.machines.get(machine).executor.runs(attempt, run) {
            return Ok(());
        }
        let (exit, printed) = if let Some(exit) = killed {
            (exit, None)
        } else {
            let places = &self.machines.get(machine).workplaces;
            let program = places.get(&attempt).map(|place| place.program.clone());
            self.machines.outcome(attempt, &program.unwrap_or_default())
        };
        let now = wall(self.at);
        let executor = &mut self.machines.get(machine).executor;
        let Some((command, wants)) = executor.ends(machine, attempt, run, now, exit, printed)
        else {
            return Ok(());
        };
        self.note(&run.to_le_bytes(), || {
            format!("machine {machine}: {attempt} ends")
        });
        observer.see(self.at, &Seen::Ended(&command))?;
        self.executor_wants(machine, wants, observer)
    }

    fn executor_wants(
        &mut self,
        machine: usize,
        wants: Wants,
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        let instance = self.machines.get(machine).executor.instance;
        for (run, command) in wants.started {
            let attempt = command.attempt;
            self.note(&run.to_le_bytes(), || {
                format!("machine {machine}: {attempt} starts")
            });
            observer.see(self.at, &Seen::Started(&command))?;
            let takes = self.machines.length(machine, attempt, &mut self.random);
            let ends = Happening::CommandEnds {
                machine,
                instance,
                attempt,
                run,
                killed: None,
            };
            self.after(takes, ends);
        }
        for (run, attempt) in wants.stopped {
            let takes = self.random.span(STOP);
            let ends = Happening::CommandEnds {
                machine,
                instance,
                attempt,
                run,
                killed: Some(Exit::Stopped),
            };
            self.after(takes, ends);
        }
        for (run, attempt, dead_by) in wants.expired {
            // Mostly by TERM; some only by KILL.
            let left = dead_by.since(self.at);
            let takes = match self.random.below(4) {
                0 => left,
                _ => self.random.span(STOP).min(left),
            };
            let ends = Happening::CommandEnds {
                machine,
                instance,
                attempt,
                run,
                killed: Some(Exit::Expired),
            };
            self.after(takes, ends);
        }
        if let Some(at) = wants.ends {
            let ends = Happening::LeaseEnds { machine, instance };
            self.calendar.enter(at.max(self.at), ends);
        }
        self.send_daemon(machine, &wants.messages);
        Ok(())
    }
}
