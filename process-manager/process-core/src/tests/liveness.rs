//! Two machines of one slot under leases, played by hand: what happens when one falls silent.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Drive, History};
use model::{
    Activity, AttemptId, Bytes, Draft, Epoch, GrantId, Mono, NodeKind, Now, ResourceId, Span,
    SubmitKey, Wall,
};
use wire::attempt::{End, FromActivity, Outcome, Started, ToActivity};
use wire::client::{Request, Submit};
use wire::group::{FromGroup, Grant, Offer, Offered, ToGroup};

use super::bench::{GROUP, KEY, artifact, controller, draft, edit, ids, leaf, submission};
use crate::Caller;
use crate::record::{Event, Verdict};
use crate::{ClientId, Effect, Input, PlanResult, Stream};
use crate::{Config, ProcessManager};

/// The epoch of both machines.
const EPOCH: Epoch = Epoch(4);

struct Stage {
    drive: Drive<ProcessManager>,
    now: Now,
    /// Messages sent to machines since the last look.
    log: Vec<String>,
    /// Numbers and names that others are kept from.
    registered: Vec<(u32, String)>,
    verdicts: Vec<Verdict>,
    /// The machines that its group offers.
    machines: Vec<u32>,
    leaving: Vec<ResourceId>,
    /// The free slots of each.
    free: u32,
    /// Machine 0 says nothing by itself.
    is_silent: bool,
    /// Machines say by which length of a lease they count.
    echoes: bool,
    /// True if its journal was lost.
    forgets: bool,
    /// True if machines acknowledge the attempts that they are sent.
    accepts: bool,
    /// The attempts that machine 0 holds.
    holds: Vec<AttemptId>,
    /// All that is durable.
    events: Vec<(Stream, Event)>,
    n_grants: u64,
}

impl Stage {
    /// Both machines are attached and hold nothing.
    fn new(draft: Draft) -> Stage {
        Stage::of(submission(KEY, draft))
    }

    fn of(submit: Submit) -> Stage {
        Stage::offering(vec![0, 1], submit)
    }

    fn offering(machines: Vec<u32>, submit: Submit) -> Stage {
        let now = Now {
            mono: Mono(1),
            wall: Wall(1_000_000),
        };
        let config = Config {
            lease: Some(Span::from_secs(10)),
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
        };
        stage.give(Input::GroupUp(GROUP));
        for machine in 0..2 {
            stage.give(Input::ActivityUp(ResourceId::local(machine)));
        }
        stage.submit(submit);
        stage
    }

    fn submit(&mut self, submit: Submit) {
        self.give(Input::Request(
            ClientId(1),
            Caller::Local,
            1,
            Request::Submit(Box::new(submit)),
        ));
    }

    /// The manager has died, and begins another epoch with leases of this length. Its group and
    /// machine 1 are there; machine 0 comes back unless it is silent, and then holds its attempt.
    fn live_again(&mut self, seconds: u64) {
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
    fn renews(&mut self, millis: u64) {
        for _ in 0..millis.div_ceil(1_000) {
            self.wait(1_000);
            self.renew(0, 9);
        }
    }

    /// The time from here on until something is sent to machine 1.
    fn sent_after(&mut self) -> u64 {
        for tenths in 1..1_000 {
            let log = self.wait(100);
            if log.iter().any(|line| line.starts_with("r1 send")) {
                return tenths * 100;
            }
        }
        panic!("nothing was sent");
    }

    fn give(&mut self, input: Input) {
        self.drive.step(self.now, input);
        self.carry_out();
    }

    fn carry_out(&mut self) {
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

    fn play(&mut self, effect: Effect) {
        match effect {
            Effect::ToGroup(_, ToGroup::Attach { .. }) => self.offer(),
            Effect::ToGroup(_, ToGroup::Holds { .. }) => {
                panic!("with leases machines are known by others")
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
                },
            ) => {
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
                let grants = grants.collect();
                let granted = FromGroup::Granted {
                    number,
                    process,
                    grants,
                };
                self.give(Input::Group(GROUP, granted));
            }
            Effect::ToActivity(machine, message) => self.machine(machine, message),
            Effect::Answer { .. } => {}
            Effect::Foreign(..) => {}
            Effect::Registered(resource, name) => self.registered.push((resource.number, name)),
            Effect::Plan(request) => {
                let result = schedule::plan(&request.request);
                let (process, basis) = (request.process, request.basis);
                let planned = PlanResult {
                    process,
                    basis,
                    result,
                };
                self.give(Input::Planned(Box::new(planned)));
            }
        }
    }

    fn machine(&mut self, machine: ResourceId, message: ToActivity) {
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
            ToActivity::Access { is_allowed, .. } => format!("access {is_allowed}"),
        };
        self.log.push(format!("{machine} {line}"));
    }

    fn hear(&mut self, machine: u32, message: FromActivity) {
        self.give(Input::Activity(ResourceId::local(machine), message));
    }

    fn renew(&mut self, machine: u32, number: u32) {
        let renew = FromActivity::Renew {
            epoch: EPOCH,
            number,
        };
        self.hear(machine, renew);
    }

    fn runs(&mut self, machine: u32, activity: u32) {
        let attempt = self.attempt(activity);
        let (pid, at) = (9, self.now.wall);
        let started = Started { attempt, pid, at };
        self.hear(machine, FromActivity::Started(vec![started]));
    }

    /// An attempt at an activity, sent to a machine, has not got a file that the other one has.
    fn lacks(&mut self, machine: u32, activity: u32, number: u32) {
        let outcome = Outcome {
            attempt: AttemptId {
                number,
                ..self.attempt(activity)
            },
            end: End::Lacking(vec![0]),
            started: Wall(0),
            wall: Span::ZERO,
            cpu: Span::ZERO,
            peak_memory: Bytes::ZERO,
            exit_code: None,
            pid: 0,
            outputs: Vec::new(),
            stdout: None,
            stderr: None,
            log: None,
        };
        self.hear(machine, FromActivity::Outcomes(vec![outcome]));
    }

    fn attempt(&self, activity: u32) -> AttemptId {
        AttemptId {
            process: KEY.process(),
            activity: model::ActivityId(activity),
            number: 1,
        }
    }

    fn offer(&mut self) {
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
        };
        let offer = Offer {
            epoch: Epoch(1),
            resources: self.machines.iter().copied().map(offered).collect(),
            leaving: self.leaving.clone(),
        };
        self.give(Input::Group(GROUP, FromGroup::Offer(offer)));
    }

    /// Time passes, and machine 1 asks for more all the while. Returns the messages sent until
    /// then, repeats once.
    fn wait(&mut self, millis: u64) -> Vec<String> {
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

    fn said(&mut self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let mut log = std::mem::take(&mut self.log);
        log.retain(|line| line != "r1 renewed e4 0" && seen.insert(line.clone()));
        log
    }
}

/// p(a b), each of a second, so that each machine gets one.
fn two(change: impl Fn(&mut Activity)) -> Draft {
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

#[test]
fn what_may_run_waits_for_the_end_of_the_lease_and_then_goes_elsewhere() {
    let mut stage = Stage::new(two(|_| {}));
    assert_eq!(stage.said(), ["r0 send a1#1", "r1 send a2#1"]);
    stage.runs(0, 1);
    stage.wait(2_000);
    stage.renew(0, 7);
    assert_eq!(stage.said(), ["r0 renewed e4 7"]);
    stage.is_silent = true;
    // Ten seconds, a hundredth and half a second after that answer.
    assert!(stage.wait(10_550).is_empty());
    assert_eq!(stage.wait(100), ["r1 send a1#2"]);
    assert_eq!(stage.verdicts, [Verdict::Again]);
}

#[test]
fn who_waits_for_a_machine_does_not_keep_its_holder_from_being_planned_again() {
    let mut stage = Stage::new(two(|_| {}));
    stage.free = 0;
    stage.offer();
    // The clock was set back, so that it counts as the one that came first.
    stage.now.wall = Wall(1_000);
    stage.submit(submission(SubmitKey(78), two(|_| {})));
    assert_eq!(stage.said(), ["r0 send a1#1", "r1 send a2#1"]);
    stage.runs(0, 1);
    stage.is_silent = true;
    assert_eq!(stage.wait(10_650), ["r1 send a1#2"]);
}

#[test]
fn what_has_not_started_is_asked_back_from_a_silent_machine_until_it_answers() {
    let mut stage = Stage::new(two(|_| {}));
    stage.said();
    assert!(stage.wait(2_900).is_empty());
    assert_eq!(stage.wait(200), ["r0 retract a1#1"]);
    // It may have started: nothing goes elsewhere before it says that it has not.
    assert_eq!(stage.wait(2_000), ["r0 retract a1#1"]);
    let attempt = stage.attempt(1);
    stage.hear(0, FromActivity::Retracted(vec![attempt]));
    let log = stage.said();
    assert_eq!(log.len(), 1);
    assert!(log[0].ends_with("send a1#2"), "{log:?}");
}

#[test]
fn a_machine_that_is_heard_again_is_still_asked_whether_it_gave_back() {
    let mut stage = Stage::new(two(|_| {}));
    stage.wait(3_100);
    stage.said();
    stage.hear(0, FromActivity::Accepted(Vec::new()));
    assert_eq!(stage.wait(1_000), ["r0 retract a1#1"]);
    stage.runs(0, 1);
    assert!(stage.wait(2_000).is_empty());
}

#[test]
fn a_repeatable_attempt_is_doubled_as_soon_as_its_machine_is_suspect() {
    let mut stage = Stage::new(two(|activity| activity.repeatable = true));
    stage.runs(0, 1);
    stage.said();
    let log = stage.wait(3_100);
    assert!(log.contains(&"r1 send a1#2".to_owned()), "{log:?}");
    // The attempt that it may hold is stopped until the machine reports its end.
    assert!(stage.wait(1_000).contains(&"r0 stop a1#1".to_owned()));
    let attempt = stage.attempt(1);
    stage.hear(0, FromActivity::Retracted(vec![attempt]));
    assert!(stage.wait(2_000).is_empty());
}

#[test]
fn what_must_not_run_twice_is_tried_again_only_where_it_has_not_started() {
    let once = || Stage::new(two(|activity| activity.at_most_once = true));
    let mut stage = once();
    stage.wait(3_100);
    let attempt = stage.attempt(1);
    stage.hear(0, FromActivity::Retracted(vec![attempt]));
    assert_eq!(stage.verdicts, [Verdict::Moved]);
    let mut stage = once();
    stage.wait(10_700);
    let [Verdict::Faulted(fault)] = stage.verdicts.as_slice() else {
        panic!("{:?}", stage.verdicts)
    };
    assert_eq!(fault.name, model::FaultName::OutcomeUnknown);
}

#[test]
fn what_must_not_run_twice_may_have_run_where_the_machine_has_lost_its_journal() {
    for forgets in [false, true] {
        let mut stage = Stage::new(two(|activity| activity.at_most_once = true));
        stage.forgets = forgets;
        stage.give(Input::ActivityUp(ResourceId::local(0)));
        let is_unknown = |verdict: &Verdict| matches!(verdict, Verdict::Faulted(fault) if fault.name == model::FaultName::OutcomeUnknown);
        assert_eq!(
            stage.verdicts.iter().any(is_unknown),
            forgets,
            "{:?}",
            stage.verdicts
        );
    }
}

#[test]
fn a_machine_that_is_to_be_emptied_gives_back_what_has_not_started() {
    let mut stage = Stage::new(two(|_| {}));
    stage.said();
    stage.leaving = vec![ResourceId::local(1)];
    stage.offer();
    assert_eq!(stage.said(), ["r1 retract a2#1"]);
    stage.runs(1, 2);
    assert!(stage.wait(1_500).iter().all(|line| !line.contains("a2")));
}

#[test]
fn a_question_of_another_epoch_is_not_answered() {
    let mut stage = Stage::new(two(|_| {}));
    stage.said();
    let renew = FromActivity::Renew {
        epoch: Epoch(3),
        number: 1,
    };
    stage.hear(0, renew);
    assert!(stage.said().is_empty());
}

#[test]
fn who_connects_with_the_number_of_another_machine_is_not_listened_to() {
    let mut stage = Stage::new(two(|_| {}));
    stage.said();
    let named = |name: &str| Input::ActivityNamed(ResourceId::local(0), name.to_owned());
    stage.give(named("m7"));
    stage.give(Input::ActivityUp(ResourceId::local(0)));
    stage.renew(0, 1);
    assert!(stage.said().is_empty());
    stage.give(named("m0"));
    stage.give(Input::ActivityUp(ResourceId::local(0)));
    stage.renew(0, 1);
    assert!(stage.said().contains(&"r0 renewed e4 1".to_owned()));
}

/// Others are kept from the number of a machine as soon as its name is known, and that is told once.
#[test]
fn the_name_of_a_machine_is_told_by_its_group_or_by_what_was_recorded() {
    let mut stage = Stage::new(two(|_| {}));
    let both = [(0, "m0".to_owned()), (1, "m1".to_owned())];
    assert_eq!(stage.registered, both);
    stage.runs(1, 2);
    assert_eq!(stage.registered, both);
    // The next epoch knows it before it has heard of the group.
    stage.registered.clear();
    stage.machines = Vec::new();
    stage.live_again(10);
    assert_eq!(stage.registered, both);
}

/// An attempt that was not sent does not wait for a machine that never connects in this epoch.
#[test]
fn what_is_planned_on_a_machine_that_never_comes_back_is_planned_again() {
    let mut stage = Stage::new(two(|_| {}));
    stage.runs(1, 2);
    // It is given back just when the connection ends, so that it has not gone there again.
    let attempt = stage.attempt(1);
    stage.give(Input::ActivityDown(ResourceId::local(0)));
    stage.hear(0, FromActivity::Retracted(vec![attempt]));
    assert_eq!(stage.verdicts, [Verdict::Moved]);
    // The group has started again as well, and does not know that machine.
    stage.machines = vec![1];
    stage.is_silent = true;
    stage.live_again(10);
    assert_eq!(stage.sent_after(), 3_000);
}

/// Both machines, each with one of two activities that are given a file, which is on machine 0.
fn given_a_file() -> Stage {
    Stage::of(with_a_file(two(|_| {})))
}

fn with_a_file(draft: Draft) -> Submit {
    let draft = Draft {
        files: vec!["x.sh".into()],
        ..draft
    };
    Submit {
        files: vec![artifact()],
        store: Some(ResourceId::local(0)),
        ..submission(KEY, draft)
    }
}

#[test]
fn nothing_is_sent_before_it_is_known_where_its_files_are() {
    // The group has started again as well, and does not know machine 0 yet.
    let one = || with_a_file(draft(vec![leaf("a")]));
    let mut stage = Stage::offering(vec![1], one());
    assert_eq!(stage.wait(5_000), [""; 0]);
    stage.machines = vec![0, 1];
    stage.offer();
    assert_eq!(stage.wait(2_000), ["r1 send a0#1"]);
    // A machine that has not connected for so long is not waited for.
    let mut stage = Stage::offering(vec![1], one());
    assert_eq!(stage.wait(10_000), [""; 0]);
    assert_eq!(stage.wait(2_000), ["r1 send a0#1"]);
}

#[test]
fn what_a_silent_machine_has_is_not_gone_before_the_machine_is_lost() {
    let mut stage = given_a_file();
    stage.is_silent = true;
    stage.wait(5_000);
    stage.lacks(1, 2, 1);
    assert_eq!(stage.verdicts, [Verdict::Lacking(Vec::new())]);
    assert!(stage.said().contains(&"r1 send a2#2".to_owned()));
    stage.wait(6_000);
    stage.verdicts.clear();
    stage.lacks(1, 2, 2);
    let [Verdict::Faulted(fault)] = stage.verdicts.as_slice() else {
        panic!("{:?}", stage.verdicts)
    };
    assert_eq!(fault.name, model::FaultName::Staging);
}

#[test]
fn a_machine_that_was_away_while_it_was_asked_for_a_file_is_asked_again() {
    let mut stage = given_a_file();
    stage.give(Input::ActivityDown(ResourceId::local(0)));
    stage.give(Input::ActivityUp(ResourceId::local(0)));
    stage.verdicts.clear();
    stage.lacks(1, 2, 1);
    assert_eq!(stage.verdicts, [Verdict::Lacking(Vec::new())]);
    assert!(stage.said().contains(&"r1 send a2#2".to_owned()));
    stage.verdicts.clear();
    stage.lacks(1, 2, 2);
    assert!(matches!(stage.verdicts[..], [Verdict::Faulted(_)]));
}

#[test]
fn what_is_lacked_may_be_the_answer_to_the_first_of_several_messages() {
    let mut stage = Stage::offering(Vec::new(), with_a_file(two(|_| {})));
    stage.accepts = false;
    stage.machines = vec![0, 1];
    stage.offer();
    assert!(stage.said().contains(&"r1 send a2#1".to_owned()));
    // Machine 0 was away when it was asked, and is there when the message is repeated.
    stage.give(Input::ActivityDown(ResourceId::local(0)));
    stage.give(Input::ActivityUp(ResourceId::local(0)));
    assert!(stage.wait(1_500).contains(&"r1 send a2#1".to_owned()));
    stage.lacks(1, 2, 1);
    assert!(stage.verdicts.contains(&Verdict::Lacking(Vec::new())));
    assert!(stage.said().contains(&"r1 send a2#2".to_owned()));
}

/// a1 runs on machine 0.
fn running() -> Stage {
    let mut stage = Stage::new(two(|_| {}));
    stage.runs(0, 1);
    stage.holds = vec![stage.attempt(1)];
    stage
}

/// Nothing more is heard of it.
fn silent() -> Stage {
    Stage {
        is_silent: true,
        ..running()
    }
}

#[test]
fn an_epoch_with_shorter_leases_waits_for_those_that_were_longer() {
    let mut stage = silent();
    stage.live_again(60);
    // Nobody was told of longer ones than those of ten seconds yet: these, a hundredth, half a second.
    assert_eq!(stage.sent_after(), 10_600);

    let mut stage = silent();
    stage.live_again(60);
    stage.live_again(5);
    assert_eq!(stage.sent_after(), 61_100);
}

#[test]
fn leases_of_the_epoch_before_the_last_one_are_waited_for_too() {
    let mut stage = silent();
    stage.live_again(60);
    stage.wait(1_000);
    stage.live_again(5);
    stage.wait(1_000);
    stage.live_again(5);
    assert_eq!(stage.sent_after(), 61_100);
}

#[test]
fn leases_that_have_ended_for_certain_are_not_waited_for_again() {
    let mut stage = running();
    stage.live_again(5);
    // Ten seconds, a hundredth and half a second of the epoch before.
    stage.renews(10_700);
    stage.is_silent = true;
    stage.live_again(5);
    // Five, a hundredth, half a second.
    assert_eq!(stage.sent_after(), 5_600);
}

#[test]
fn a_machine_that_does_not_know_of_lengths_is_waited_for_by_the_usual_one() {
    for (echoes, waits) in [(true, 5_600), (false, 10_600)] {
        let mut stage = running();
        stage.live_again(5);
        stage.renews(10_700);
        stage.echoes = echoes;
        // It attaches anew.
        stage.give(Input::ActivityDown(ResourceId::local(0)));
        stage.give(Input::ActivityUp(ResourceId::local(0)));
        stage.is_silent = true;
        assert_eq!(stage.sent_after(), waits, "{echoes}");
    }
}
