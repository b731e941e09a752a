//! A stage for silent machines: one process, two machines, a group, on a clock that the test moves.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Drive, History};
use model::{
    Activity, ActivityId, AttemptId, Bytes, Draft, Epoch, GrantId, Mono, NetworkLink, NodeKind,
    Now, Policy, ProcessId, ResourceId, Span, Tuning, Wall,
};
use wire::attempt::{End, FromActivity, Outcome, Started, ToActivity};
use wire::client::{Answer, Reason, Request, Submit, WhyProcess};
use wire::group::{FromGroup, Grant, Offer, Offered, ToGroup};

use crate::Caller;
use crate::record::{Event, Verdict};
use crate::tests::bench::play::{confirmed, returned};
use crate::tests::bench::{GROUP, KEY, controller, draft, edit, ids, leaf, submission};
use crate::{ClientId, Effect, Input, Stream};
use crate::{Config, ProcessManager, Tally};

/// The epoch of both machines.
pub(super) const EPOCH: Epoch = Epoch(4);

pub(super) struct Stage {
    pub(super) drive: Drive<ProcessManager>,
    pub(super) now: Now,
    /// Messages sent to machines since the last look.
    pub(super) log: Vec<String>,
    /// Numbers and names that others are kept from.
    pub(super) registered: Vec<(u32, String)>,
    pub(super) verdicts: Vec<Verdict>,
    /// The machines that its group offers.
    pub(super) machines: Vec<u32>,
    pub(super) leaving: Vec<ResourceId>,
    /// The free slots of each.
    pub(super) free: u32,
    /// Machine 0 says nothing by itself.
    pub(super) is_silent: bool,
    /// Machines say by which length of a lease they count.
    pub(super) echoes: bool,
    /// True if its journal was lost.
    pub(super) forgets: bool,
    /// True if machines acknowledge the attempts that they are sent.
    pub(super) accepts: bool,
    /// The attempts that machine 0 holds.
    pub(super) holds: Vec<AttemptId>,
    /// All that is durable.
    pub(super) events: Vec<(Stream, Event)>,
    pub(super) n_grants: u64,
    /// Thousandths of their powers that its group offers machines with.
    pub(super) shown: BTreeMap<u32, u32>,
    /// The rule of its group for processes that name none.
    pub(super) rule: Option<Policy>,
    /// The parameters of its group likewise.
    pub(super) tuning: Option<Tuning>,
    /// The last answer to its client.
    pub(super) answer: Option<Answer>,
    /// The messages in which it has told its group what machines have shown.
    pub(super) told: Vec<BTreeMap<u32, u32>>,
    /// The counts that it has told last.
    pub(super) tally: Tally,
    /// The answer of its group to claims, and their number so far.
    pub(super) claims: Claims,
    pub(super) n_claims: u32,
}

/// What becomes of claims.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Claims {
    Granted,
    Refused,
    Unanswered,
}

impl Stage {
    /// Both machines are attached and hold nothing.
    pub(super) fn new(draft: Draft) -> Stage {
        Stage::of(submission(KEY, draft))
    }

    pub(super) fn of(submit: Submit) -> Stage {
        Stage::offering(vec![0, 1], submit)
    }

    pub(super) fn offering(machines: Vec<u32>, submit: Submit) -> Stage {
        Stage::offering_as(machines, (BTreeMap::new(), None), submit)
    }

    /// One whose group offers its machines with what they have shown, and with its rule.
    pub(super) fn offering_as(
        machines: Vec<u32>,
        (shown, rule): (BTreeMap<u32, u32>, Option<Policy>),
        submit: Submit,
    ) -> Stage {
        let now = Now {
            mono: Mono(1),
            wall: Wall(1_000_000),
        };
        let config = Config {
            lease: Some(Span::from_secs(10)),
            link: Some(NetworkLink {
                bandwidth: 1.25e8,
                latency: 1e-4,
            }),
            ..Config::default()
        };
        let mut stage = Stage {
            drive: Drive::start(ProcessManager::new(config), Vec::new(), now),
            now,
            log: Vec::new(),
            registered: Vec::new(),
            verdicts: Vec::new(),
            machines,
            leaving: Vec::new(),
            free: 1,
            is_silent: false,
            echoes: true,
            forgets: false,
            accepts: true,
            holds: Vec::new(),
            events: Vec::new(),
            n_grants: 0,
            shown,
            rule,
            tuning: None,
            answer: None,
            told: Vec::new(),
            tally: Tally::default(),
            claims: Claims::Granted,
            n_claims: 0,
        };
        stage.give(Input::GroupUp(GROUP));
        let last = stage.machines.last().copied().unwrap_or_default();
        for machine in 0..=last.max(1) {
            stage.give(Input::ActivityUp(ResourceId::local(machine)));
        }
        stage.submit(submit);
        stage
    }

    pub(super) fn submit(&mut self, submit: Submit) {
        self.give(Input::Request(
            ClientId(1),
            Caller::Local,
            1,
            Request::Submit(Box::new(submit)),
        ));
    }

    /// The reasons for the phase of an activity.
    pub(super) fn why(&mut self, activity: ActivityId) -> Vec<Reason> {
        let process = KEY.process();
        let request = Request::Why { process, activity };
        self.give(Input::Request(ClientId(1), Caller::Local, 3, request));
        match self.answer.take() {
            Some(Answer::Why(why)) => why.reasons,
            other => panic!("{other:?}"),
        }
    }

    /// The explanation of the process as a whole.
    pub(super) fn why_whole(&mut self) -> WhyProcess {
        let request = Request::WhyProcess(KEY.process());
        self.give(Input::Request(ClientId(1), Caller::Local, 4, request));
        match self.answer.take() {
            Some(Answer::WhyProcess(why)) => *why,
            other => panic!("{other:?}"),
        }
    }

    /// The manager has died, and begins another epoch with leases of this length. Its group and
    /// machine 1 are there; machine 0 comes back unless it is silent, and then holds its attempt.
    pub(super) fn live_again(&mut self, seconds: u64) {
        let config = Config {
            lease: Some(Span::from_secs(seconds)),
            ..Config::default()
        };
        let mut histories: BTreeMap<Stream, History<ProcessManager>> = BTreeMap::new();
        for (stream, event) in self.events.clone() {
            if let Some(history) = histories.get_mut(&stream) {
                history.tail.push(event);
                continue;
            }
            let (founding, snapshot, tail) = (event, None, Vec::new());
            let history = History {
                stream,
                founding,
                snapshot,
                chapters: Vec::new(),
                tail,
            };
            histories.insert(stream, history);
        }
        let histories = histories.into_values().collect();
        self.drive = Drive::start(ProcessManager::new(config), histories, self.now);
        self.carry_out();
        self.give(Input::GroupUp(GROUP));
        self.give(Input::ActivityUp(ResourceId::local(1)));
        if !self.is_silent {
            self.give(Input::ActivityUp(ResourceId::local(0)));
        }
        self.said();
    }

    /// Time passes, and machine 0 asks for more all the while.
    pub(super) fn renews(&mut self, millis: u64) {
        for _ in 0..millis.div_ceil(1_000) {
            self.wait(1_000);
            self.renew(0, 9);
        }
    }

    /// The time from here on until something is sent to machine 1.
    pub(super) fn sent_after(&mut self) -> u64 {
        for tenths in 1..1_000 {
            let log = self.wait(100);
            if log.iter().any(|line| line.starts_with("r1 send")) {
                return tenths * 100;
            }
        }
        panic!("nothing was sent");
    }

    pub(super) fn give(&mut self, input: Input) {
        self.drive.step(self.now, input);
        self.carry_out();
    }

    pub(super) fn carry_out(&mut self) {
        let batch = self.drive.close();
        for (stream, event) in batch.events {
            self.events.push((stream, event.clone()));
            if let (Stream::Process(_), Event::Ended(ended)) = (stream, event) {
                self.verdicts.push(ended.verdict);
            }
        }
        for effect in self.drive.flushed(batch.number) {
            self.play(effect);
        }
    }

    pub(super) fn play(&mut self, effect: Effect) {
        match effect {
            Effect::ToGroup(_, ToGroup::Attach { .. }) => self.offer(),
            Effect::ToGroup(group, message @ ToGroup::Confirm { .. }) => {
                let answer = confirmed(&self.drive, group, message);
                self.give(Input::Group(group, answer));
            }
            Effect::ToGroup(_, ToGroup::Holds(_)) => {
                panic!("with leases machines are known by others")
            }
            Effect::ToGroup(_, ToGroup::Waits { .. }) => {}
            Effect::ToGroup(_, ToGroup::Shown { machines, .. }) => {
                let told = machines.iter();
                self.told.push(
                    told.map(|one| (one.resource.number, one.per_mille))
                        .collect(),
                );
            }
            Effect::ToGroup(
                group,
                ToGroup::Return {
                    number, process, ..
                },
            ) => {
                let answer = returned(&self.drive, group, (process, number));
                self.give(Input::Group(group, answer));
            }
            Effect::ToGroup(_, ToGroup::Release(process)) => {
                self.give(Input::Group(GROUP, FromGroup::Released(process)));
            }
            Effect::ToGroup(
                _,
                ToGroup::Claim {
                    number,
                    process,
                    wants,
                    epoch: _,
                    owner: _,
                },
            ) => {
                self.n_claims += 1;
                match self.claims {
                    Claims::Granted => {}
                    Claims::Refused => {
                        let refused = FromGroup::Refused {
                            number,
                            process,
                            is_at_limit: false,
                        };
                        return self.give(Input::Group(GROUP, refused));
                    }
                    Claims::Unanswered => return,
                }
                let grants = wants.iter().map(|want| {
                    self.n_grants += 1;
                    let (id, resource) = (GrantId(self.n_grants), want.resource);
                    let slots = want.slots;
                    Grant {
                        id,
                        resource,
                        slots,
                    }
                });
                let grants: Vec<Grant> = grants.collect();
                // All that is held is told with it.
                let held = self.held(process);
                let grants = held.into_iter().chain(grants).collect();
                let granted = FromGroup::Granted {
                    number,
                    process,
                    grants,
                    is_at_limit: false,
                };
                self.give(Input::Group(GROUP, granted));
            }
            Effect::ToActivity(machine, message) => self.machine(machine, message),
            Effect::Answer { answer, .. } => self.answer = Some(answer),
            Effect::Foreign(..)
            | Effect::Keep(_)
            | Effect::Share(..)
            | Effect::Forget(..)
            | Effect::Done(_) => {}
            Effect::Measured(measured) => self.tally = measured.tally,
            Effect::Registered(resource, name) => self.registered.push((resource.number, name)),
            Effect::Plan(request) => {
                self.give(Input::Planned(Box::new(request.answer())));
            }
        }
    }

    /// The grants of a process, as they are recorded.
    fn held(&self, process: ProcessId) -> Vec<Grant> {
        let state = self.drive.states().get(Stream::Process(process));
        let known = state.and_then(|state| state.process());
        let held = known.and_then(|known| known.state.holdings.get(&GROUP));
        let held = held.map_or(&[][..], |held| &held.grants);
        held.iter().map(Into::into).collect()
    }

    pub(super) fn machine(&mut self, machine: ResourceId, message: ToActivity) {
        let names = |ids: Vec<AttemptId>| {
            let names = ids
                .iter()
                .map(|id| format!(" {}#{}", id.activity, id.number));
            names.collect::<String>()
        };
        let line = match message {
            ToActivity::Attach { .. } if machine.number == 0 && self.is_silent => return,
            ToActivity::Attach { ask, lease, .. } => {
                let holding = FromActivity::Holding {
                    epoch: EPOCH,
                    ask,
                    part: 0,
                    n_parts: 1,
                    attempts: self.holds.clone(),
                    lease: lease.filter(|_| self.echoes),
                    has_forgotten: self.forgets,
                };
                return self.hear(machine.number, holding);
            }
            ToActivity::Dispatch { attempts, .. } => {
                let ids: Vec<AttemptId> = attempts.iter().map(|one| one.attempt).collect();
                if self.accepts {
                    let accepted = FromActivity::Accepted(ids.clone());
                    self.hear(machine.number, accepted);
                }
                format!("send{}", names(ids))
            }
            ToActivity::Retract(ids) => format!("retract{}", names(ids)),
            ToActivity::Stop(ids) => format!("stop{}", names(ids)),
            ToActivity::Acknowledge(ids) => format!("acknowledge{}", names(ids)),
            ToActivity::Renewed { epoch, number, .. } => format!("renewed {epoch} {number}"),
            ToActivity::Tail(_) | ToActivity::ReadLog(_) => "tail".to_owned(),
            ToActivity::Copy { .. } => "copy".to_owned(),
            ToActivity::Check { .. } => "check".to_owned(),
            ToActivity::Probe(_) => "probe".to_owned(),
            ToActivity::Discard(_) => "discard".to_owned(),
            ToActivity::Access { is_allowed, .. } => format!("access {is_allowed}"),
        };
        self.log.push(format!("{machine} {line}"));
    }

    pub(super) fn hear(&mut self, machine: u32, message: FromActivity) {
        self.give(Input::Activity(ResourceId::local(machine), message));
    }

    pub(super) fn renew(&mut self, machine: u32, number: u32) {
        let renew = FromActivity::Renew {
            epoch: EPOCH,
            number,
        };
        self.hear(machine, renew);
    }

    pub(super) fn runs(&mut self, machine: u32, activity: u32) {
        let attempt = self.attempt(activity);
        let (pid, at) = (9, self.now.wall);
        let started = Started { attempt, pid, at };
        self.hear(machine, FromActivity::Started(vec![started]));
    }

    /// An attempt at an activity, sent to a machine, has not got a file that the other one has.
    pub(super) fn lacks(&mut self, machine: u32, activity: u32, number: u32) {
        let attempt = AttemptId {
            number,
            ..self.attempt(activity)
        };
        let outcome = Outcome::without_run(attempt, End::Lacking(vec![0]));
        self.hear(machine, FromActivity::Outcomes(vec![outcome]));
    }

    pub(super) fn attempt(&self, activity: u32) -> AttemptId {
        AttemptId {
            process: KEY.process(),
            activity: ActivityId(activity),
            number: 1,
        }
    }

    pub(super) fn offer(&mut self) {
        let free = self.free;
        let offered = |number| Offered {
            resource: ResourceId::local(number),
            name: format!("m{number}"),
            power: 1.0,
            slots: 1,
            free,
            memory: Bytes(1 << 30),
            labels: BTreeMap::new(),
            bulk: Some(format!("m{number}:1")),
            yours: 0,
            shown: self.shown.get(&number).copied(),
        };
        let offer = Offer {
            epoch: Epoch(1),
            resources: self.machines.iter().copied().map(offered).collect(),
            leaving: self.leaving.clone(),
            unavailable: Vec::new(),
            is_shared: false,
            n_revoked: 0,
            owners: None,
            takes_shown: true,
            policy: self.rule,
            tuning: self.tuning,
        };
        self.give(Input::Group(GROUP, FromGroup::Offer(offer)));
    }

    /// Time passes, and machine 1 asks for more all the while. Returns the messages sent until
    /// then, repeats once.
    pub(super) fn wait(&mut self, millis: u64) -> Vec<String> {
        let until = self.now.mono + Span::from_millis(millis);
        while self.now.mono < until {
            self.now.mono = self.now.mono + Span::from_millis(50);
            self.now.wall = self.now.wall + Span::from_millis(50);
            self.drive.wake(self.now);
            self.carry_out();
            self.renew(1, 0);
        }
        self.said()
    }

    /// The manager stands still for so long, and hears nobody.
    pub(super) fn stand_still(&mut self, millis: u64) {
        self.now.mono = self.now.mono + Span::from_millis(millis);
        self.now.wall = self.now.wall + Span::from_millis(millis);
        self.drive.wake(self.now);
        self.carry_out();
    }

    pub(super) fn said(&mut self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let mut log = std::mem::take(&mut self.log);
        log.retain(|line| line != "r1 renewed e4 0" && seen.insert(line.clone()));
        log
    }
}

/// p(a b), each of a second, so that each machine gets one.
pub(super) fn two(change: impl Fn(&mut Activity)) -> Draft {
    let mut nodes = vec![
        controller(NodeKind::Parallel {
            children: ids(&[1, 2]),
            links: Vec::new(),
        }),
        leaf("a"),
        leaf("b"),
    ];
    for node in &mut nodes[1..] {
        edit(node, |activity| {
            activity.work = Some(model::Work::from_secs(1));
            change(activity);
        });
    }
    draft(nodes)
}
