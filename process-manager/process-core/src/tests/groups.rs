//! Two groups with a machine r0 each, played by hand: claims to one do not wait for the other.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Drive, History};
use model::{
    Bytes, Draft, Epoch, GrantId, GroupId, Mono, NodeKind, Now, Plan, ProcessId, ResourceId, Span,
    SubmitKey, Wall,
};
use wire::attempt::ToActivity;
use wire::client::Request;
use wire::group::{FromGroup, Grant, Offer, Offered, ToGroup};

use super::bench::{controller, draft, edit, ids, leaf, submission};
use crate::Caller;
use crate::record::Event;
use crate::{ClientId, Effect, Input, PlanResult, Stream};
use crate::{Config, ProcessManager};

const A: GroupId = GroupId::new(1);
const B: GroupId = GroupId::new(2);

/// The way a group manager answers claims.
#[derive(Clone, Copy, PartialEq)]
enum Mood {
    Grants,
    Refuses,
    Silent,
}

struct World {
    drive: Drive<ProcessManager>,
    now: Now,
    moods: BTreeMap<GroupId, Mood>,
    /// Slots that each machine has, and those that are free of them.
    slots: u32,
    free: BTreeMap<GroupId, u32>,
    /// The last claim and the grants of each process, as its group manager has recorded them.
    held: BTreeMap<(GroupId, ProcessId), (u32, Vec<Grant>)>,
    /// Claims of which nobody was told what came of them.
    unanswered: Vec<(GroupId, ToGroup)>,
    /// Claims and releases since it was looked at last.
    log: Vec<String>,
    events: Vec<(Stream, Event)>,
    n_grants: u64,
}

fn machine_of(group: GroupId) -> ResourceId {
    ResourceId::new(group, 0)
}

impl World {
    fn new() -> World {
        let now = Now {
            mono: Mono(1),
            wall: Wall(1_000_000),
        };
        let mut world = World {
            drive: Drive::start(ProcessManager::new(config()), Vec::new(), now),
            now,
            moods: BTreeMap::from([(A, Mood::Grants), (B, Mood::Grants)]),
            slots: 10,
            free: BTreeMap::from([(A, 10), (B, 10)]),
            held: BTreeMap::new(),
            unanswered: Vec::new(),
            log: Vec::new(),
            events: Vec::new(),
            n_grants: 0,
        };
        world.up(A);
        world.up(B);
        world
    }

    fn up(&mut self, group: GroupId) {
        self.give(Input::GroupUp(group));
        self.give(Input::ActivityUp(machine_of(group)));
    }

    /// The process manager is killed and begins another epoch.
    fn restart(&mut self) {
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
        self.drive = Drive::start(ProcessManager::new(config()), histories, self.now);
        self.carry_out();
    }

    fn give(&mut self, input: Input) {
        self.drive.step(self.now, input);
        self.carry_out();
    }

    fn carry_out(&mut self) {
        let batch = self.drive.close();
        self.events.extend(batch.events);
        for effect in self.drive.flushed(batch.number) {
            self.play(effect);
        }
    }

    fn play(&mut self, effect: Effect) {
        match effect {
            Effect::ToGroup(group, ToGroup::Attach { .. }) => self.offer(group),
            Effect::ToGroup(group, message @ ToGroup::Claim { .. }) => {
                if let ToGroup::Claim { process, wants, .. } = &message {
                    let slots: u32 = wants.iter().map(|want| want.slots).sum();
                    self.log
                        .push(format!("{group} claim {slots} p{}", process.0));
                    let ours = |want: &wire::group::Want| want.resource == machine_of(group);
                    assert!(wants.iter().all(ours), "{wants:?} of {group}");
                }
                if self.moods[&group] == Mood::Silent {
                    self.unanswered.push((group, message));
                } else {
                    self.answer(group, message);
                }
            }
            Effect::ToGroup(group, ToGroup::Release(id)) => {
                self.log.push(format!("{group} release p{}", id.0));
                if self.moods[&group] != Mood::Silent {
                    if let Some((_, grants)) = self.held.remove(&(group, id)) {
                        let back: u32 = grants.iter().map(|grant| grant.slots).sum();
                        *self.free.get_mut(&group).unwrap() += back;
                    }
                    self.give(Input::Group(group, FromGroup::Released(id)));
                }
            }
            Effect::ToGroup(_, ToGroup::Holds { .. }) => {}
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
            Effect::Foreign(group, machine) => self.log.push(format!("{group} names {machine:#}")),
            Effect::ToActivity(_, ToActivity::Attach { .. })
            | Effect::ToActivity(..)
            | Effect::Answer { .. }
            | Effect::Registered(..) => {}
        }
    }

    /// Answers a claim like a group manager: a claim with the number of a granted one gets the same
    /// grants, whatever it asks for.
    fn answer(&mut self, group: GroupId, message: ToGroup) {
        let ToGroup::Claim {
            number,
            process,
            wants,
        } = message
        else {
            return;
        };
        let refuses = self.moods[&group] == Mood::Refuses || wants.is_empty();
        let held = self.held.entry((group, process)).or_default();
        let answer = if held.0 < number && refuses {
            FromGroup::Refused { number, process }
        } else {
            if held.0 < number {
                held.0 = number;
                for want in wants {
                    self.n_grants += 1;
                    let (id, resource) = (GrantId(self.n_grants), want.resource);
                    let free = self.free.get_mut(&group).unwrap();
                    let slots = want.slots.min(*free);
                    *free -= slots;
                    held.1.push(Grant {
                        id,
                        resource,
                        slots,
                    });
                }
            }
            let grants = held.1.clone();
            FromGroup::Granted {
                number,
                process,
                grants,
            }
        };
        self.give(Input::Group(group, answer));
    }

    /// A group manager that was silent takes the claims in the order in which they were sent.
    fn wakes(&mut self, group: GroupId) {
        self.moods.insert(group, Mood::Grants);
        let (to_it, others) = std::mem::take(&mut self.unanswered)
            .into_iter()
            .partition(|(to, _)| *to == group);
        self.unanswered = others;
        let to_it: Vec<(GroupId, ToGroup)> = to_it;
        for (_, claim) in to_it {
            self.answer(group, claim);
        }
        self.offer(group);
    }

    fn offer(&mut self, group: GroupId) {
        self.offer_of(group, machine_of(group));
    }

    /// A group offers a machine, which may not be its own.
    fn offer_of(&mut self, group: GroupId, resource: ResourceId) {
        let (free, slots) = (self.free[&group], self.slots);
        let kind = if group == A { "a" } else { "b" };
        let offered = Offered {
            resource,
            name: format!("machine-{kind}"),
            power: 1.0,
            slots,
            free,
            memory: Bytes(1 << 30),
            labels: BTreeMap::from([("kind".to_owned(), kind.to_owned())]),
            bulk: None,
        };
        let offer = Offer {
            epoch: Epoch(1),
            resources: vec![offered],
            leaving: Vec::new(),
        };
        self.give(Input::Group(group, FromGroup::Offer(offer)));
    }

    fn submit(&mut self, key: u64, draft: Draft) {
        let submit = Box::new(submission(SubmitKey(key), draft));
        let request = Request::Submit(submit);
        self.give(Input::Request(ClientId(1), Caller::Local, 1, request));
    }

    fn cancel(&mut self, key: u64) {
        let request = Request::Cancel(ProcessId(key));
        self.give(Input::Request(ClientId(1), Caller::Local, 2, request));
    }

    /// Seconds pass, and group managers that are not silent repeat their offers.
    fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds * 10 {
            self.now.mono = self.now.mono + Span::from_millis(100);
            self.now.wall = self.now.wall + Span::from_millis(100);
            self.drive.wake(self.now);
            self.carry_out();
        }
    }

    /// The processes that have a plan.
    fn planned(&self) -> BTreeSet<u64> {
        let planned = self
            .events
            .iter()
            .filter_map(|(stream, event)| match stream {
                Stream::Process(id) if matches!(event, Event::Planned(_) | Event::Replanned(_)) => {
                    Some(id.0)
                }
                Stream::Process(_) | Stream::Manager => None,
            });
        planned.collect()
    }

    /// The machines that the last plan of a process uses.
    fn used(&self, key: u64) -> BTreeSet<ResourceId> {
        let mut plan = Plan::default();
        for (stream, event) in &self.events {
            if *stream != Stream::Process(ProcessId(key)) {
                continue;
            }
            if let Some(next) = event.plan(&plan) {
                plan = next;
            }
        }
        plan.entries.iter().map(|entry| entry.resource).collect()
    }

    fn is_released(&self, key: u64) -> bool {
        let stream = Stream::Process(ProcessId(key));
        self.events.contains(&(stream, Event::Released))
    }

    fn said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }
}

fn config() -> Config {
    Config {
        groups: BTreeSet::from([A, B]),
        ..Config::default()
    }
}

/// So many activities side by side.
fn parallel(n: u32) -> Draft {
    let children = ids(&(1..=n).collect::<Vec<u32>>());
    let mut nodes = vec![controller(NodeKind::Parallel {
        children,
        links: Vec::new(),
    })];
    nodes.extend((0..n).map(|number| leaf(&format!("leaf-{number}"))));
    draft(nodes)
}

/// One activity, which only a machine of one group can run.
fn only(kind: &str) -> Draft {
    let mut one = leaf("only");
    edit(&mut one, |activity| {
        activity.labels = vec![("kind".to_owned(), kind.to_owned())];
    });
    draft(vec![one])
}

/// One activity for each group.
fn both() -> Draft {
    let mut nodes = vec![controller(NodeKind::Parallel {
        children: ids(&[1, 2]),
        links: Vec::new(),
    })];
    for kind in ["a", "b"] {
        let mut one = leaf(kind);
        edit(&mut one, |activity| {
            activity.labels = vec![("kind".to_owned(), kind.to_owned())];
        });
        nodes.push(one);
    }
    draft(nodes)
}

#[test]
fn a_message_that_names_a_machine_of_another_group_is_ignored() {
    let mut world = World::new();
    world.moods.insert(A, Mood::Silent);
    world.submit(7, only("a"));
    world.said();
    let grant = Grant {
        id: GrantId(9),
        resource: machine_of(B),
        slots: 1,
    };
    let granted = FromGroup::Granted {
        number: 1,
        process: ProcessId(7),
        grants: vec![grant],
    };
    world.give(Input::Group(A, granted));
    world.offer_of(A, machine_of(B));
    assert_eq!(world.said(), ["g1 names r0@g2", "g1 names r0@g2"]);
    let is_granted = |(_, event): &(Stream, Event)| matches!(event, Event::Granted { .. });
    assert!(!world.events.iter().any(is_granted));
    // The offer that A made before is still there, and its answer is still awaited.
    world.wakes(A);
    assert_eq!(world.used(7), BTreeSet::from([machine_of(A)]));
}

#[test]
fn each_group_is_asked_for_its_own_machines_and_the_plan_waits_for_all_of_them() {
    let mut world = World::new();
    world.moods.insert(B, Mood::Silent);
    world.submit(1, both());
    assert_eq!(world.said(), ["g1 claim 1 p1", "g2 claim 1 p1"]);
    assert!(world.planned().is_empty());
    world.wakes(B);
    assert_eq!(world.planned(), BTreeSet::from([1]));
    assert_eq!(
        world.used(1),
        BTreeSet::from([machine_of(A), machine_of(B)])
    );
}

#[test]
fn a_group_that_does_not_answer_holds_up_nobody_who_can_do_without() {
    let mut world = World::new();
    world.moods.insert(A, Mood::Silent);
    // The first plan needs both machines; the others could run on either.
    world.submit(1, both());
    for key in 2..=5 {
        world.submit(key, parallel(2));
    }
    assert!(world.planned().is_empty());
    world.pass(2);
    assert_eq!(world.planned(), BTreeSet::from([2, 3, 4, 5]));
    for key in 2..=5 {
        assert_eq!(world.used(key), BTreeSet::from([machine_of(B)]));
    }
    world.pass(600);
    assert_eq!(world.planned(), BTreeSet::from([2, 3, 4, 5]));
    world.wakes(A);
    world.pass(10);
    assert_eq!(world.planned(), BTreeSet::from([1, 2, 3, 4, 5]));
}

#[test]
fn a_plan_is_given_up_for_one_without_the_group_that_does_not_answer() {
    for is_cut in [false, true] {
        let mut world = World::new();
        world.moods.insert(A, Mood::Silent);
        world.submit(1, parallel(20));
        world.pass(2);
        assert!(world.planned().is_empty());
        if is_cut {
            world.give(Input::GroupDown(A));
        } else {
            world.pass(10);
        }
        assert_eq!(world.planned(), BTreeSet::from([1]));
        assert_eq!(world.used(1), BTreeSet::from([machine_of(B)]));
        world.said();
        // The claim has become a question, which comes behind the claim here.
        if is_cut {
            world.up(A);
        }
        world.wakes(A);
        world.cancel(1);
        world.pass(5);
        assert!(world.is_released(1));
        assert_eq!(world.free, BTreeMap::from([(A, 10), (B, 10)]));
    }
}

#[test]
fn what_one_group_grants_is_kept_where_another_refuses() {
    let mut world = World::new();
    world.moods.insert(B, Mood::Refuses);
    world.submit(1, parallel(20));
    assert_eq!(world.said(), ["g1 claim 10 p1", "g2 claim 10 p1"]);
    assert_eq!(world.planned(), BTreeSet::from([1]));
    assert_eq!(world.used(1), BTreeSet::from([machine_of(A)]));
}

#[test]
fn one_that_needs_a_group_which_is_away_lets_the_others_pass() {
    let mut world = World::new();
    world.give(Input::GroupDown(A));
    world.submit(1, only("a"));
    world.submit(2, only("b"));
    world.submit(3, parallel(2));
    assert_eq!(world.planned(), BTreeSet::from([2, 3]));
    world.up(A);
    assert_eq!(world.planned(), BTreeSet::from([1, 2, 3]));
}

#[test]
fn one_that_waits_for_slots_which_others_hold_is_not_passed_while_all_answer() {
    let mut world = World::new();
    world.slots = 10;
    world.free = BTreeMap::from([(A, 0), (B, 1)]);
    world.offer(A);
    world.offer(B);
    world.submit(1, only("a"));
    world.submit(2, only("b"));
    assert!(world.planned().is_empty());
    world.free = BTreeMap::from([(A, 1), (B, 1)]);
    world.offer(A);
    assert_eq!(world.planned(), BTreeSet::from([1, 2]));
}

#[test]
fn slots_are_given_back_to_each_group_before_the_process_counts_as_released() {
    let mut world = World::new();
    world.submit(1, both());
    world.moods.insert(B, Mood::Silent);
    world.cancel(1);
    for group in [A, B] {
        world.give(Input::ActivityDown(machine_of(group)));
    }
    assert_eq!(world.planned(), BTreeSet::from([1]));
    let sent = world
        .events
        .iter()
        .any(|(_, event)| matches!(event, Event::Sent(..)));
    assert!(!sent, "nobody has attached to a machine here");
    assert_eq!(
        world.said(),
        [
            "g1 claim 1 p1",
            "g2 claim 1 p1",
            "g1 release p1",
            "g2 release p1"
        ]
    );
    assert!(!world.is_released(1));
    // A group that has answered is not asked again.
    world.pass(1);
    assert_eq!(world.said(), ["g2 release p1"]);
    world.moods.insert(B, Mood::Grants);
    world.pass(1);
    assert!(world.is_released(1));
    assert_eq!(world.free, BTreeMap::from([(A, 10), (B, 10)]));
}

#[test]
fn after_a_restart_each_group_tells_what_an_earlier_epoch_was_granted() {
    let mut world = World::new();
    world.moods.insert(B, Mood::Silent);
    world.submit(1, both());
    world.restart();
    world.said();
    world.up(A);
    // Group A tells again what it has granted; group B has not been heard yet.
    assert_eq!(world.said()[0], "g1 claim 0 p1");
    assert!(world.planned().is_empty());
    world.moods.insert(B, Mood::Grants);
    world.up(B);
    assert_eq!(world.planned(), BTreeSet::from([1]));
    assert_eq!(world.free, BTreeMap::from([(A, 9), (B, 9)]));
}
