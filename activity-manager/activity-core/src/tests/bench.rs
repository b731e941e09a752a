//! The bench, and short forms of inputs and effects.

use machine::{Drive, History, Machine};
use model::{
    Artifact, ArtifactKind, AttemptId, Bytes, Epoch, Hash, Mono, Now, ProcessId, Produced, Span,
    Wall,
};
use wire::attempt::{Dispatch, End, FromActivity, Outcome, ToActivity};
use wire::executor::{
    Captured, DaemonHello, Ended, ExecutorHello, Exit, FromExecutor, Lease, PROTOCOL, Started,
    ToExecutor,
};
use wire::resource::{FromResource, ProcessGrant, QuestionId, ToResource};

use crate::{ActivityManager, Config, Effect, Event, Input, Peer, State, Stream};

/// Outcomes are kept for so long for a process manager that is away.
pub(super) const OUTCOMES_KEPT: Span = Span::from_secs(30 * 86_400);

/// A manager with its journal.
pub(super) struct Bench {
    pub(super) drive: Drive<ActivityManager>,
    pub(super) events: Vec<Event>,
    pub(super) now: Now,
    pub(super) config: Config,
}

impl Bench {
    pub(super) fn new(slots: u32, prefetch: u32) -> Bench {
        Bench::of(config(slots, prefetch))
    }

    fn of(config: Config) -> Bench {
        let now = Now {
            mono: Mono(0),
            wall: Wall(0),
        };
        let drive = Drive::start(ActivityManager::new(config.clone()), Vec::new(), now);
        Bench {
            drive,
            events: Vec::new(),
            now,
            config,
        }
    }

    /// A bench with all connections: process 1 may use all slots, process manager 0 has attached,
    /// and the executor has no attempts.
    pub(super) fn ready(slots: u32, prefetch: u32) -> Bench {
        let mut bench = Bench::new(slots, prefetch);
        bench.meet_all(slots);
        bench
    }

    /// The same with leases of ten seconds; nothing was sent for the announced epoch, 2.
    pub(super) fn leased(slots: u32) -> Bench {
        let mut bench = Bench::of(Config {
            lease: Some(Span::from_secs(10)),
            ..config(slots, 0)
        });
        bench.meet_all(slots);
        bench
    }

    /// The same with a watched executor.
    pub(super) fn watched(slots: u32) -> Bench {
        let mut bench = Bench::of(Config {
            lease: Some(Span::from_secs(10)),
            beat: None,
            asks_executor: true,
            ..config(slots, 0)
        });
        bench.meet_all(slots);
        bench
    }

    /// The machine has no slots from its next start on.
    pub(super) fn lose_slots(&mut self) {
        self.config.slots = 0;
    }

    fn meet_all(&mut self, slots: u32) {
        self.all([
            Input::Up(Peer::Group),
            Input::Group(ToResource::Registered(model::ResourceId::local(7))),
            grants(&[(1, slots)]),
            Input::Executor(hello(1)),
            Input::Executor(FromExecutor::HeldEnd),
            from_pm(ToActivity::Attach {
                epoch: Epoch(1),
                ask: 5,
                lease: None,
            }),
        ]);
    }

    /// The effects of one input.
    pub(super) fn feed(&mut self, input: Input) -> Vec<Effect> {
        self.drive.step(self.now, input);
        self.effects()
    }

    pub(super) fn all<const N: usize>(&mut self, inputs: [Input; N]) -> String {
        inputs
            .into_iter()
            .map(|input| show(&self.feed(input)))
            .collect()
    }

    /// The effects of the timers after some time.
    pub(super) fn wait(&mut self, seconds: u64) -> Vec<Effect> {
        self.now.mono = self.now.mono + Span::from_secs(seconds);
        self.drive.wake(self.now);
        self.effects()
    }

    /// Another epoch: only the journal is left.
    pub(super) fn restart(&mut self) -> String {
        let history = self.history();
        self.drive = Drive::start(ActivityManager::new(self.config.clone()), history, self.now);
        show(&self.effects())
    }

    fn history(&self) -> Vec<History<ActivityManager>> {
        let Some((&founding, tail)) = self.events.split_first() else {
            return Vec::new();
        };
        let (stream, snapshot) = (Stream::Manager, None);
        vec![History {
            stream,
            founding,
            snapshot,
            chapters: Vec::new(),
            tail: tail.to_vec(),
        }]
    }

    fn effects(&mut self) -> Vec<Effect> {
        let batch = self.drive.close();
        self.events
            .extend(batch.events.iter().map(|(_, event)| event));
        let mut replayed = State::default();
        for event in &self.events {
            ActivityManager::apply(&mut replayed, event);
        }
        assert_eq!(self.drive.states().get(Stream::Manager), Some(&replayed));
        self.drive.flushed(batch.number)
    }
}

pub(super) fn config(slots: u32, prefetch: u32) -> Config {
    Config {
        name: "here".to_owned(),
        slots,
        memory: Bytes(1 << 30),
        power: 1.0,
        labels: Default::default(),
        bulk: None,
        environment: vec![pair("PATH", "/bin"), pair("HOME", "/home")],
        environments: "/am/work/environments".to_owned(),
        of_users: [("ana".to_owned(), vec![pair("HOME", "/ana")])].into(),
        nice: Some(5),
        prefetch,
        linger: None,
        kill_grace: None,
        pace_since: None,
        lease: None,
        beat: None,
        asks_executor: false,
        outcomes_kept: Some(OUTCOMES_KEPT),
        has_forgotten: false,
    }
}

pub(super) fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// First attempt of an activity of process 1.
pub(super) fn id(activity: u32) -> AttemptId {
    id_of(1, activity)
}

pub(super) fn id_of(process: u64, activity: u32) -> AttemptId {
    AttemptId {
        process: ProcessId(process),
        activity: model::ActivityId(activity),
        number: 1,
    }
}

pub(super) fn job(attempt: AttemptId) -> Dispatch {
    Dispatch::new(attempt, vec!["true".to_owned()])
}

/// The same with an output.
pub(super) fn job_with_output(attempt: AttemptId) -> Dispatch {
    let produced = Produced {
        name: "out".to_owned(),
        path: "out.txt".to_owned(),
    };
    Dispatch {
        outputs: vec![produced],
        ..job(attempt)
    }
}

pub(super) fn from_pm(message: ToActivity) -> Input {
    Input::Process(0, message)
}

/// A dispatch for the epoch of `Bench::ready`.
pub(super) fn dispatch(attempts: Vec<Dispatch>) -> Input {
    from_pm(ToActivity::Dispatch {
        meant_for: Epoch(2),
        attempts,
        holders: Vec::new(),
        holds: None,
    })
}

pub(super) fn grants(slots: &[(u64, u32)]) -> Input {
    grants_after(0, slots)
}

/// Grants of a group manager that has closed its questions up to this number.
pub(super) fn grants_after(closed: u64, slots: &[(u64, u32)]) -> Input {
    let grant = |(index, &(process, slots)): (usize, &(u64, u32))| ProcessGrant {
        id: model::GrantId(index as u64),
        process: ProcessId(process),
        slots,
    };
    Input::Group(ToResource::Grants(
        slots.iter().enumerate().map(grant).collect(),
        question(closed),
    ))
}

fn question(number: u64) -> QuestionId {
    QuestionId {
        epoch: Epoch(1),
        number,
    }
}

/// The group manager asks which of these processes are unused.
pub(super) fn inquire(number: u64, processes: &[u64]) -> Input {
    Input::Group(ToResource::Inquire {
        question: question(number),
        processes: processes.iter().map(|&id| ProcessId(id)).collect(),
    })
}

pub(super) fn hello(instance: u64) -> FromExecutor {
    FromExecutor::Hello(ExecutorHello {
        containment: None,
        protocol: PROTOCOL,
        pid: 10,
        instance,
    })
}

pub(super) fn staged(attempt: AttemptId) -> Input {
    let directory = format!("/w/{}", attempt.activity);
    Input::Staged {
        attempt,
        result: Ok(crate::Workplace { directory }),
    }
}

pub(super) fn artifact() -> Artifact {
    Artifact {
        hash: Hash([7; 32]),
        bytes: Bytes(3),
        kind: ArtifactKind::File,
    }
}

pub(super) fn started(attempt: AttemptId) -> Started {
    Started {
        attempt,
        pid: 100 + attempt.activity.0,
        started: Wall(5),
    }
}

pub(super) fn ended(attempt: AttemptId, exit: Exit, note: &[u8]) -> Ended {
    Ended {
        attempt,
        exit,
        started: Wall(5),
        wall: Span(20),
        cpu_user: Span(2),
        cpu_system: Span(1),
        peak_memory_bytes: 4_096,
        stdout: Captured::default(),
        stderr: Captured {
            bytes: 4,
            inline: b"oops".to_vec(),
            kept: Default::default(),
        },
        note: note.to_vec(),
        pid: 900,
        user: None,
        limit: None,
    }
}

/// The note of the last start of an attempt.
pub(super) fn note(effects: &[Effect]) -> Vec<u8> {
    effects
        .iter()
        .find_map(|effect| {
            let Effect::Execute(ToExecutor::Start(starts)) = effect else {
                return None;
            };
            Some(starts[0].note.clone())
        })
        .expect("a start among the effects")
}

/// Effects as text, a line each.
pub(super) fn show(effects: &[Effect]) -> String {
    effects
        .iter()
        .map(|effect| format!("{}\n", line(effect)))
        .collect()
}

fn line(effect: &Effect) -> String {
    match effect {
        Effect::ToGroup(FromResource::Register { epoch, facts }) => {
            format!(
                "group: register {} {epoch} slots={}",
                facts.name, facts.slots
            )
        }
        Effect::ToGroup(FromResource::Alive) => "group: alive".to_owned(),
        Effect::ToGroup(FromResource::Unused {
            question,
            processes,
            ..
        }) => {
            let processes: String = processes.iter().map(|one| format!(" {}", one.0)).collect();
            format!("group: #{} unused{processes}", question.number)
        }
        Effect::ToProcess(number, message) => format!("pm{number}: {}", answer(message)),
        Effect::Execute(message) => format!("executor: {}", order(message)),
        Effect::Stage {
            attempt,
            inputs,
            sources,
            user: _,
            discards: _,
        } => {
            let mut words = vec![format!("stage {}", attempt.activity)];
            words.extend(inputs.iter().map(|(path, _)| path.clone()));
            for (input, holders) in sources {
                let names: Vec<String> = holders
                    .iter()
                    .map(|holder| format!("{}@{}", holder.name, holder.address))
                    .collect();
                words.push(format!("{input}<-{}", names.join(",")));
            }
            words.join(" ")
        }
        Effect::Collect {
            attempt,
            directory,
            outputs,
            user: _,
        } => {
            let paths: Vec<&str> = outputs.iter().map(|output| output.path.as_str()).collect();
            format!(
                "collect {} {directory}: {}",
                attempt.activity,
                paths.join(" ")
            )
        }
        Effect::Clear { attempt, directory } => format!("clear {} {directory}", attempt.activity),
        Effect::Tail {
            to,
            attempt,
            written,
        } => {
            let (stdout, stderr) = (written.stdout.bytes, written.stderr.bytes);
            format!("tail pm{to} {} {stdout} {stderr}", attempt.activity)
        }
        Effect::ReadLog(to, wanted) => {
            format!("read log of {} for {to}", wanted.attempt.activity)
        }
        Effect::Copy {
            to,
            copied,
            sources,
            stays,
            number: _,
        } => {
            let from: Vec<&str> = sources.iter().map(|one| one.name.as_str()).collect();
            let pinned = if *stays { " pinned" } else { "" };
            let (activity, process) = (copied.activity, copied.process.0);
            format!("copy {activity} of {process} for {to} from {from:?}{pinned}")
        }
        Effect::Probe { to, machines } => {
            let from: Vec<&str> = machines.iter().map(|one| one.name.as_str()).collect();
            format!("probe {from:?} for {to}")
        }
        Effect::Discard { to, discards } => {
            let made_by = discards.iter().map(|one| one.made_by);
            let made_by: Vec<String> = made_by.map(|one| one.activity.to_string()).collect();
            format!("discard {} for {to}", made_by.join(" "))
        }
        Effect::Check {
            to,
            copied,
            sources,
        } => {
            let from: Vec<&str> = sources.iter().map(|one| one.name.as_str()).collect();
            let (activity, process) = (copied.activity, copied.process.0);
            format!("check {activity} of {process} for {to} from {from:?}")
        }
        Effect::Access { number, is_allowed } => format!("access {number} {is_allowed}"),
        Effect::Unneeded(process) => format!("unneeded {}", process.0),
        Effect::Unserved(ids) => {
            let ids = ids.iter().map(|id| format!(" {}", id.0));
            format!("unserved{}", ids.collect::<String>())
        }
        Effect::Left => "left".to_owned(),
        Effect::ExecutorSilent(is_silent) => format!("executor is silent: {is_silent}"),
        Effect::EndExecutor => "end the executor".to_owned(),
        Effect::Numbered(resource) => format!("numbered {resource}"),
    }
}

fn answer(message: &FromActivity) -> String {
    match message {
        FromActivity::Holding {
            epoch,
            ask,
            part,
            n_parts,
            attempts,
            lease,
            has_forgotten,
        } => {
            let ids = names(attempts.iter());
            // The default length is not shown.
            let lease = lease.filter(|lease| *lease != wire::lease::LENGTH);
            let lease = lease.map_or(String::new(), |lease| format!(" lease={lease}"));
            let lack = if *has_forgotten { " forgotten" } else { "" };
            format!(
                "holding {epoch} ask={ask} {}/{n_parts}{ids}{lease}{lack}",
                part + 1
            )
        }
        FromActivity::Accepted(ids) => format!("accepted{}", names(ids.iter())),
        FromActivity::Started(started) => {
            format!("started{}", names(started.iter().map(|one| &one.attempt)))
        }
        FromActivity::Outcomes(outcomes) => {
            let outcomes: Vec<String> = outcomes.iter().map(outcome).collect();
            format!("outcomes {}", outcomes.join(", "))
        }
        FromActivity::Retracted(ids) => format!("retracted{}", names(ids.iter())),
        FromActivity::Refused { attempts, why } => {
            format!("refused{} {why:?}", names(attempts.iter()))
        }
        FromActivity::Fetched(fetched) => {
            let from = fetched
                .iter()
                .map(|one| format!(" {} from {}", one.bytes, one.from));
            format!("fetched{}", from.collect::<String>())
        }
        FromActivity::LogPart(part) => format!("log of {}", part.attempt.activity),
        FromActivity::Copied(copied) => {
            let of: Vec<String> = copied.iter().map(|one| one.activity.to_string()).collect();
            format!("copied {}", of.join(" "))
        }
        FromActivity::Discarded(made_by) => {
            let of: Vec<String> = made_by.iter().map(|one| one.activity.to_string()).collect();
            format!("discarded {}", of.join(" "))
        }
        FromActivity::Checked(checked) => {
            let of = checked.iter().map(|one| {
                let is_sound = if one.is_sound { "sound" } else { "lost" };
                format!(" {} {is_sound}", one.copied.activity)
            });
            format!("checked{}", of.collect::<String>())
        }
        FromActivity::Access { number, access } => {
            format!("access {number} of {} to {}", access.user, access.process.0)
        }
        FromActivity::Tail(attempt, _) => format!("tail {}", attempt.activity),
        FromActivity::Renew { epoch, number } => format!("renew {epoch} {number}"),
    }
}

fn outcome(outcome: &Outcome) -> String {
    let id = outcome.attempt.activity;
    let end = match &outcome.end {
        End::Completed => format!("completed with {}", outcome.outputs.len()),
        End::Failed(failure) => format!("{}: {}", failure.name, failure.message),
        End::Stopped => "stopped".to_owned(),
        End::Lost => "lost".to_owned(),
        End::Lacking(inputs) => format!("lacking {inputs:?}"),
    };
    format!("{id} {end}")
}

fn order(message: &ToExecutor) -> String {
    match message {
        ToExecutor::Hello(DaemonHello { cores, .. }) => format!("hello cores={cores}"),
        ToExecutor::Start(starts) => {
            format!("start{}", names(starts.iter().map(|start| &start.attempt)))
        }
        ToExecutor::Retract(ids) => format!("retract{}", names(ids.iter())),
        ToExecutor::Stop(ids) => format!("stop{}", names(ids.iter())),
        ToExecutor::Forget(ids) => format!("forget{}", names(ids.iter())),
        ToExecutor::Tail(id) => format!("tail {}", id.activity),
        ToExecutor::Shutdown => "shutdown".to_owned(),
        ToExecutor::Ping(number) => format!("ping {number}"),
        ToExecutor::Lease(Lease {
            owner,
            until,
            dead_by,
        }) => format!("lease pm{owner} {} {}", seconds(until), seconds(dead_by)),
    }
}

fn seconds(at: &Mono) -> f64 {
    at.0 as f64 / 1e6
}

fn names<'a>(ids: impl Iterator<Item = &'a AttemptId>) -> String {
    ids.map(|id| format!(" {}", id.activity)).collect()
}
