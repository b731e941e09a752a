//! The bench, and short ways to write inputs and to read effects.

use machine::{Codec, Drive, History, Machine};
use model::{Bytes, Epoch, GrantId, GroupId, Mono, Now, ProcessId, ResourceId, Span, Wall};
use wire::admin::{Moment, Node};
use wire::group::{FromGroup, Grant, Held, Offer, Offered, ToGroup, Want};
use wire::resource::{Facts, FromResource, QuestionId, ToResource};

use crate::{
    Config, Effect, Event, GroupManager, Input, Peer, Policy, Record, Snapshot, State, Stream,
    Survey,
};

/// The group of the bench.
pub(super) const GROUP: GroupId = GroupId::new(3);

/// A manager with all that it has recorded.
pub(super) struct Bench {
    pub(super) drive: Drive<GroupManager>,
    pub(super) events: Vec<Event>,
    pub(super) records: Vec<Record>,
    pub(super) now: Now,
    config: Config,
}

impl Bench {
    pub(super) fn new() -> Bench {
        Bench::watching(None)
    }

    /// One whose machines are watched where leases have a length.
    pub(super) fn watching(lease: Option<Span>) -> Bench {
        Bench::configured(Config {
            lease,
            ..Config::default()
        })
    }

    /// One of a group with rules for owners.
    pub(super) fn of_policy(policy: Policy) -> Bench {
        Bench::configured(Config {
            policy,
            ..Config::default()
        })
    }

    /// One with these settings, of the group of the bench.
    pub(super) fn configured(config: Config) -> Bench {
        let config = Config {
            group: GROUP,
            ..config
        };
        let now = Now {
            mono: Mono(0),
            wall: Wall(1),
        };
        let manager = GroupManager::new(config.clone());
        let drive = Drive::start(manager, Vec::new(), now);
        let mut bench = Bench {
            drive,
            events: Vec::new(),
            records: Vec::new(),
            now,
            config,
        };
        bench.effects();
        bench
    }

    /// A bench at which a machine `a` of 4 slots and one `b` of 2 have registered, and process
    /// manager 0 has attached.
    pub(super) fn ready() -> Bench {
        let mut bench = Bench::new();
        bench.all([register(1, "a", 4), register(2, "b", 2), attach(1)]);
        bench
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

    /// The effects that are due after some time.
    pub(super) fn wait(&mut self, millis: u64) -> Vec<Effect> {
        self.now.mono = self.now.mono + Span::from_millis(millis);
        self.now.wall = self.now.wall + Span::from_millis(millis);
        self.drive.wake(self.now);
        self.effects()
    }

    /// Another life: what was recorded is all that is left, beside the repository.
    pub(super) fn restart(&mut self) {
        self.restart_configured(Config {
            lease: None,
            ..self.config.clone()
        });
    }

    /// The same, where machines are watched if leases have a length.
    pub(super) fn restart_watching(&mut self, lease: Option<Span>) {
        self.restart_configured(Config {
            lease,
            ..self.config.clone()
        });
    }

    /// The same with these settings.
    pub(super) fn restart_configured(&mut self, config: Config) {
        self.config = Config {
            group: GROUP,
            ..config
        };
        let Some((founding, tail)) = self.events.split_first() else {
            return;
        };
        let (stream, snapshot) = (Stream::Manager, None);
        let history = History {
            stream,
            founding: founding.clone(),
            snapshot,
            chapters: Vec::new(),
            tail: tail.to_vec(),
        };
        let manager = GroupManager::new(self.config.clone());
        self.drive = Drive::start(manager, vec![history], self.now);
        self.effects();
    }

    pub(super) fn state(&self) -> &State {
        self.drive.states().get(Stream::Manager).unwrap()
    }

    fn effects(&mut self) -> Vec<Effect> {
        let batch = self.drive.close();
        for (_, event) in batch.events {
            let mut bytes = Vec::new();
            Codec::encode(&event, &mut bytes);
            assert_eq!(<Event as Codec>::decode(&bytes).unwrap(), event);
            self.events.push(event);
        }
        let effects = self.drive.flushed(batch.number);
        for effect in &effects {
            if let Effect::Keep(record) = effect {
                self.records.push(record.clone());
            }
        }
        effects
    }

    /// The state from the events alone, and from a snapshot in the middle, are the state.
    pub(super) fn check_replay(&self) {
        let mut state = State::default();
        let middle = self.events.len() / 2;
        for (index, event) in self.events.iter().enumerate() {
            if index == middle {
                let mut bytes = Vec::new();
                Codec::encode(&GroupManager::snapshot(&state), &mut bytes);
                let snapshot = <Snapshot as Codec>::decode(&bytes).unwrap();
                let restored = GroupManager::restore(State::default(), snapshot, Vec::new());
                assert_eq!(restored, state);
                state = restored;
            }
            GroupManager::apply(&mut state, event);
        }
        assert_eq!(&state, self.state());
    }
}

pub(super) fn facts(name: &str, slots: u32) -> Facts {
    Facts {
        name: name.to_owned(),
        slots,
        memory: Bytes(1 << 30),
        power: 1.0,
        labels: Default::default(),
        bulk: None,
        is_store: false,
        closed: None,
    }
}

pub(super) fn alive(connection: u32) -> Input {
    Input::Activity(connection, FromResource::Alive)
}

pub(super) fn register(connection: u32, name: &str, slots: u32) -> Input {
    register_in(1, connection, facts(name, slots))
}

pub(super) fn register_in(epoch: u64, connection: u32, facts: Facts) -> Input {
    Input::Activity(
        connection,
        FromResource::Register {
            epoch: Epoch(epoch),
            facts,
        },
    )
}

pub(super) fn attach(epoch: u64) -> Input {
    Input::Process(
        0,
        ToGroup::Attach {
            epoch: Epoch(epoch),
        },
    )
}

pub(super) fn claim(process: u64, number: u32, wants: &[(u32, u32)]) -> Input {
    let want = |&(resource, slots)| Want {
        resource: ResourceId::new(GROUP, resource),
        slots,
    };
    let (process, wants) = (ProcessId(process), wants.iter().map(want).collect());
    Input::Process(
        0,
        ToGroup::Claim {
            number,
            process,
            wants,
            epoch: Epoch(1),
            owner: None,
        },
    )
}

/// A process keeps only these slots.
pub(super) fn keep(process: u64, number: u32, kept: &[(u32, u32)]) -> Input {
    let want = |&(resource, slots)| Want {
        resource: ResourceId::new(GROUP, resource),
        slots,
    };
    let (process, keep) = (ProcessId(process), kept.iter().map(want).collect());
    Input::Process(
        0,
        ToGroup::Return {
            number,
            process,
            keep,
            epoch: Epoch(1),
        },
    )
}

/// A process manager of this epoch lists its processes to this epoch of the group manager.
pub(super) fn confirm(epoch: u64, group: u64, processes: &[u64]) -> Input {
    let processes = processes.iter().map(|&id| ProcessId(id)).collect();
    Input::Process(
        0,
        ToGroup::Confirm {
            epoch: Epoch(epoch),
            group: Epoch(group),
            number: 9,
            processes,
        },
    )
}

/// A process, the number of its last claim, and slots of machines.
type Holds<'a> = (u64, u32, &'a [(u32, u32)]);

/// The holdings of processes, as announced at the beginning of a connection.
pub(super) fn holds(held: &[Holds<'_>]) -> Input {
    let grant = |&(resource, slots): &(u32, u32)| Grant {
        id: GrantId(77),
        resource: ResourceId::new(GROUP, resource),
        slots,
    };
    let held = held.iter().map(|&(process, number, grants)| Held {
        process: ProcessId(process),
        number,
        grants: grants.iter().map(grant).collect(),
    });
    Input::Process(0, ToGroup::Holds(held.collect()))
}

/// The same input about the machines of another group.
pub(super) fn of(group: GroupId, input: Input) -> Input {
    let there = |machine: &mut ResourceId| machine.group = group;
    let Input::Process(from, mut message) = input else {
        return input;
    };
    match &mut message {
        ToGroup::Claim { wants, .. } | ToGroup::Return { keep: wants, .. } => {
            wants.iter_mut().for_each(|want| there(&mut want.resource));
        }
        ToGroup::Holds(held) => {
            let grants = held.iter_mut().flat_map(|held| &mut held.grants);
            grants.for_each(|grant| there(&mut grant.resource));
        }
        ToGroup::Attach { .. }
        | ToGroup::Release(_)
        | ToGroup::Confirm { .. }
        | ToGroup::Waits { .. }
        | ToGroup::Shown { .. } => {}
    }
    Input::Process(from, message)
}

/// The same claim or return in another epoch of the process manager.
pub(super) fn in_epoch(present: u64, mut input: Input) -> Input {
    if let Input::Process(_, ToGroup::Claim { epoch, .. } | ToGroup::Return { epoch, .. }) =
        &mut input
    {
        *epoch = Epoch(present);
    }
    input
}

/// The same claim for a process of this user.
pub(super) fn owned(name: &str, mut input: Input) -> Input {
    if let Input::Process(_, ToGroup::Claim { owner, .. }) = &mut input {
        *owner = Some(format!("xav://grid/lab/user/{name}"));
    }
    input
}

/// The same message of another process manager.
pub(super) fn by(manager: u32, mut input: Input) -> Input {
    if let Input::Process(from, _) = &mut input {
        *from = manager;
    }
    input
}

/// A machine of this epoch calls processes unused.
pub(super) fn unused(
    connection: u32,
    epoch: u64,
    (asked_in, number): (u64, u64),
    processes: &[u64],
) -> Input {
    let processes = processes.iter().map(|&id| ProcessId(id)).collect();
    Input::Activity(
        connection,
        FromResource::Unused {
            epoch: Epoch(epoch),
            question: QuestionId {
                epoch: Epoch(asked_in),
                number,
            },
            processes,
        },
    )
}

/// All machines, as administrators are told.
pub(super) fn survey(bench: &mut Bench) -> Vec<Node> {
    survey_for(bench, None).nodes
}

/// The same with the holders of their slots, as this user is told.
pub(super) fn survey_for(bench: &mut Bench, user: Option<&str>) -> Survey {
    let question = Input::Survey(1, user.map(str::to_owned));
    let mut told = bench.feed(question).into_iter().filter_map(|effect| {
        let Effect::Surveyed(_, survey) = effect else {
            return None;
        };
        Some(survey)
    });
    told.next().unwrap()
}

pub(super) fn release(process: u64) -> Input {
    Input::Process(0, ToGroup::Release(ProcessId(process)))
}

pub(super) fn down(connection: u32) -> Input {
    Input::Down(Peer::Activity(connection))
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
        Effect::ToActivity(to, ToResource::Registered(id)) => format!("am{to}: registered {id}"),
        Effect::ToActivity(
            to,
            ToResource::Inquire {
                question,
                processes,
            },
        ) => {
            let processes = processes.iter().map(|one| format!(" p{}", one.0));
            let processes: String = processes.collect();
            format!(
                "am{to}: inquire {}#{}{processes}",
                question.epoch, question.number
            )
        }
        Effect::ToActivity(to, ToResource::Grants(grants, _)) => {
            let grants: String = grants
                .iter()
                .map(|grant| format!(" p{}:{}", grant.process.0, grant.slots))
                .collect();
            format!("am{to}: grants{grants}")
        }
        Effect::ToProcess(to, message) => format!("pm{to}: {}", answer(message)),
        Effect::Keep(record) => format!("keep {}", String::from_utf8_lossy(&record.key)),
        Effect::Drop(key) => format!("drop {}", String::from_utf8_lossy(key)),
        Effect::Forgotten { name, .. } => format!("{name} is forgotten"),
        Effect::Surveyed(question, survey) => {
            let nodes = survey.nodes.iter().map(|node| {
                let Node {
                    name, slots, held, ..
                } = node;
                let drained = if node.is_drained { " drained" } else { "" };
                let suspect = node.suspect.as_deref().unwrap_or("well");
                format!(" {name}:{held}/{slots} {suspect}{drained};")
            });
            format!("#{question}:{}", nodes.collect::<String>())
        }
        Effect::GivenUp(question, given_up) => format!("#{question}: {given_up:?}"),
        Effect::History(question, moments) => {
            let shown = |one: &Moment| format!(" {}*{:?}", one.power, one.shown);
            let moments = moments
                .as_ref()
                .map(|all| all.iter().map(shown).collect::<String>());
            format!(
                "#{question}:{}",
                moments.unwrap_or_else(|| " no machine".to_owned())
            )
        }
        Effect::Drained(question, is_known) => format!("#{question}: {is_known}"),
        Effect::Foreign(from, machine) => format!("pm{from} names {machine:#}"),
    }
}

fn slots(grants: &[Grant]) -> String {
    let show = |grant: &Grant| format!(" {}:{}", grant.resource, grant.slots);
    grants.iter().map(show).collect()
}

fn answer(message: &FromGroup) -> String {
    assert_eq!(message.foreign(GROUP), None);
    match message {
        FromGroup::Offer(Offer {
            epoch,
            resources,
            leaving,
            unavailable: _,
            is_shared: _,
            n_revoked: _,
            owners: _,
            takes_shown: _,
            policy: _,
            tuning: _,
        }) => {
            let resource = |one: &Offered| {
                let shown = one.shown.map(|shown| format!("*{shown}"));
                let shown = shown.unwrap_or_default();
                format!(
                    " {}={}:{}/{}{shown}",
                    one.resource, one.name, one.free, one.slots
                )
            };
            let resources: String = resources.iter().map(resource).collect();
            let leaving: String = leaving.iter().map(|one| format!(" -{one}")).collect();
            format!("offer {epoch}{resources}{leaving}")
        }
        FromGroup::Granted {
            number,
            process,
            grants,
            is_at_limit,
        } => {
            let limit = if *is_at_limit { " at limit" } else { "" };
            format!("granted p{} #{number}{}{limit}", process.0, slots(grants))
        }
        FromGroup::Holdings {
            epoch,
            number,
            held,
            n_revoked: _,
        } => {
            assert_eq!(*number, 9);
            let held = held.iter().map(|one| {
                let (process, number) = (one.process.0, one.number);
                format!(" p{process} #{number}{}", slots(&one.grants))
            });
            format!("{epoch} holds{}", held.collect::<String>())
        }
        FromGroup::Refused {
            number,
            process,
            is_at_limit,
        } => {
            let limit = if *is_at_limit { " at limit" } else { "" };
            format!("refused p{} #{number}{limit}", process.0)
        }
        FromGroup::Released(process) => format!("released p{}", process.0),
    }
}
