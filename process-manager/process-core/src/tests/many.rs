//! Thousands of processes on a few machines: the work for one of them does not grow with how many wait.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    AttemptId, Bytes, Epoch, GrantId, GroupId, NodeKind, ProcessId, ResourceId, SubmitKey,
};
use wire::attempt::{End, FromActivity, Started, ToActivity};
use wire::client::Request;
use wire::group::{FromGroup, Grant, Held, Offer, Offered, Owners, ToGroup, Want};

use super::bench::{controller, draft, ids, leaf, submission};
use super::paper::{Bench, outcome};
use crate::parts::Parts;
use crate::record::{Event, Phase};
use crate::{Caller, ClientId, Config, Effect, Input, Stream};

const GROUP: GroupId = GroupId::LOCAL;
const MACHINES: u32 = 4;

/// A process manager on paper, with a group manager and machines of one slot each that do what they
/// should as soon as they are asked.
pub(super) struct World {
    pub(super) bench: Bench,
    pub(super) parts: Parts,
    held: BTreeMap<ProcessId, Vec<Grant>>,
    /// Slots that another process manager holds, by machine.
    pub(super) of_others: BTreeSet<ResourceId>,
    /// The shares of owners in the group, without their holdings.
    pub(super) owners: Option<Owners>,
    /// The owner whose claims are refused because it holds as much elsewhere as it may.
    pub(super) full: Option<String>,
    /// Attempts that run.
    pub(super) running: Vec<(ResourceId, AttemptId)>,
    /// Processes in the order in which they were planned.
    pub(super) planned: Vec<ProcessId>,
    pub(super) n_claims: usize,
    /// The slots of each machine, which whoever claims some of them gets alone.
    pub(super) slots: u32,
    n_grants: u64,
    /// True if the group manager answers no claims at the moment.
    is_slow: bool,
    unanswered: Vec<(u32, ProcessId, Vec<Want>)>,
}

impl World {
    pub(super) fn new() -> World {
        let mut world = World {
            bench: Bench::new(Config::default()),
            parts: Parts::default(),
            held: BTreeMap::new(),
            of_others: BTreeSet::new(),
            owners: None,
            full: None,
            running: Vec::new(),
            planned: Vec::new(),
            n_claims: 0,
            slots: 1,
            n_grants: 0,
            is_slow: false,
            unanswered: Vec::new(),
        };
        world.give(Input::GroupUp(GROUP));
        for number in 0..MACHINES {
            world.give(Input::ActivityUp(ResourceId::local(number)));
        }
        world
    }

    /// Gives an input, and lets everybody do what follows of it.
    pub(super) fn give(&mut self, input: Input) {
        let mut inputs = std::collections::VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let n_events = self.bench.paper.events.len();
            let step = &mut self.bench.step();
            self.parts.take(step, input);
            self.parts.progress_all(step);
            for (stream, event) in &self.bench.paper.events[n_events..] {
                if let (Stream::Process(id), Event::Planned(_)) = (stream, event) {
                    self.planned.push(*id);
                }
            }
            for effect in std::mem::take(&mut self.bench.paper.effects) {
                inputs.extend(self.play(effect));
            }
        }
    }

    fn play(&mut self, effect: Effect) -> Option<Input> {
        match effect {
            Effect::ToGroup(_, ToGroup::Attach { .. }) => Some(self.offer()),
            Effect::ToGroup(
                _,
                ToGroup::Claim {
                    number,
                    process,
                    wants,
                    epoch: _,
                    owner,
                },
            ) => {
                self.n_claims += 1;
                if self.full.is_some() && owner == self.full {
                    let refused = FromGroup::Refused {
                        number,
                        process,
                        is_at_limit: true,
                    };
                    return Some(Input::Group(GROUP, refused));
                }
                if self.is_slow {
                    self.unanswered.push((number, process, wants));
                    return None;
                }
                Some(self.answer(number, process, &wants))
            }
            Effect::ToGroup(_, ToGroup::Release(process)) => {
                self.held.remove(&process);
                Some(Input::Group(GROUP, FromGroup::Released(process)))
            }
            Effect::ToActivity(to, ToActivity::Attach { ask, .. }) => {
                let holding = FromActivity::Holding {
                    // An epoch that is not a later one would mean that the disk is lost.
                    epoch: Epoch(u64::from(ask)),
                    ask,
                    part: 0,
                    n_parts: 1,
                    attempts: Vec::new(),
                    lease: None,
                    has_forgotten: false,
                };
                Some(Input::Activity(to, holding))
            }
            Effect::ToActivity(to, ToActivity::Dispatch { attempts, .. }) => {
                self.running
                    .extend(attempts.into_iter().map(|one| (to, one.attempt)));
                None
            }
            Effect::Plan(request) => Some(Input::Planned(Box::new(request.answer()))),
            Effect::ToGroup(
                _,
                ToGroup::Confirm {
                    epoch,
                    number,
                    processes,
                    ..
                },
            ) => {
                let held = processes.into_iter().filter_map(|process| {
                    Some(Held {
                        process,
                        number: 1,
                        grants: self.held.get(&process)?.clone(),
                    })
                });
                let holdings = FromGroup::Holdings {
                    epoch,
                    number,
                    held: held.collect(),
                    n_revoked: 0,
                };
                Some(Input::Group(GROUP, holdings))
            }
            Effect::ToGroup(
                _,
                ToGroup::Holds(_)
                | ToGroup::Return { .. }
                | ToGroup::Waits { .. }
                | ToGroup::Shown { .. },
            )
            | Effect::ToActivity(..)
            | Effect::Answer { .. }
            | Effect::Registered(..)
            | Effect::Foreign(..)
            | Effect::Keep(_)
            | Effect::Share(..)
            | Effect::Forget(..)
            | Effect::Done(_)
            | Effect::Measured(_) => None,
        }
    }

    /// The group manager's answer to a claim.
    fn answer(&mut self, number: u32, process: ProcessId, wants: &[Want]) -> Input {
        for want in wants {
            if self.n_held(want.resource) == 0 && !self.of_others.contains(&want.resource) {
                self.n_grants += 1;
                let grant = Grant {
                    id: GrantId(self.n_grants),
                    resource: want.resource,
                    slots: want.slots,
                };
                self.held.entry(process).or_default().push(grant);
            }
        }
        let message = match self.held.get(&process) {
            Some(grants) => FromGroup::Granted {
                number,
                process,
                grants: grants.clone(),
                is_at_limit: false,
            },
            None => FromGroup::Refused {
                number,
                process,
                is_at_limit: false,
            },
        };
        Input::Group(GROUP, message)
    }

    fn n_held(&self, resource: ResourceId) -> u32 {
        let grants = self.held.values().flatten();
        let grants = grants.filter(|one| one.resource == resource);
        grants.map(|one| one.slots).sum()
    }

    pub(super) fn offer(&self) -> Input {
        let resources = (0..MACHINES).map(|number| {
            let resource = ResourceId::local(number);
            let yours = self.n_held(resource);
            let is_taken = self.of_others.contains(&resource);
            Offered {
                resource,
                name: format!("m{number}"),
                power: 1.0,
                slots: self.slots,
                free: match yours > 0 || is_taken {
                    true => 0,
                    false => self.slots,
                },
                yours,
                shown: None,
                memory: Bytes(1 << 30),
                labels: labels(number),
                bulk: None,
            }
        });
        let offer = Offer {
            epoch: Epoch(1),
            resources: resources.collect(),
            owners: self.owners.clone(),
            ..Offer::default()
        };
        Input::Group(GROUP, FromGroup::Offer(offer))
    }

    /// Submits a process of some activities in a row.
    fn submit(&mut self, key: u64, n_activities: u32) {
        self.submit_as(Caller::Local, key, n_activities);
    }

    /// The same for somebody.
    pub(super) fn submit_as(&mut self, caller: Caller, key: u64, n_activities: u32) {
        let numbers: Vec<u32> = (1..=n_activities).collect();
        let root = controller(NodeKind::Sequence(ids(&numbers)));
        let leaves = numbers.iter().map(|number| leaf(&format!("a{number}")));
        let draft = draft(std::iter::once(root).chain(leaves).collect());
        self.submit_draft(caller, key, draft);
    }

    pub(super) fn submit_draft(&mut self, caller: Caller, key: u64, draft: model::Draft) {
        let submit = submission(SubmitKey(key), draft);
        let request = Request::Submit(Box::new(submit));
        self.give(Input::request(ClientId(1), caller, 1, request));
        self.bench.now.wall.0 += 1;
    }

    /// All commands are seen to run from here on.
    pub(super) fn start_all(&mut self) {
        let at = self.bench.now.wall;
        for (machine, attempt) in self.running.clone() {
            let started = Started {
                attempt,
                pid: 1,
                at,
            };
            self.give(Input::Activity(
                machine,
                FromActivity::Started(vec![started]),
            ));
        }
    }

    /// The command that has run longest ends well.
    pub(super) fn end_one(&mut self) {
        let (machine, attempt) = self.running.remove(0);
        let ended = outcome(attempt, End::Completed);
        self.give(Input::Activity(
            machine,
            FromActivity::Outcomes(vec![ended]),
        ));
    }

    fn n_completed(&self) -> usize {
        let closed = |(_, event): &&(Stream, Event)| {
            matches!(
                event,
                Event::Closed {
                    phase: Phase::Completed,
                    ..
                }
            )
        };
        self.bench.paper.events.iter().filter(closed).count()
    }
}

/// Each machine has a label of its own.
fn labels(number: u32) -> BTreeMap<String, String> {
    BTreeMap::from([("number".to_owned(), number.to_string())])
}

/// The states read and the events recorded while fifty processes run and so many wait.
fn cost(n_waiting: u64, n_activities: u32) -> (usize, usize) {
    let mut world = World::new();
    for key in 1..=n_waiting + 60 {
        world.submit(key, n_activities);
    }
    let n_reads = world.bench.paper.n_reads.get();
    let n_events = world.bench.paper.events.len();
    while world.n_completed() < 50 {
        world.end_one();
    }
    (
        world.bench.paper.n_reads.get() - n_reads,
        world.bench.paper.events.len() - n_events,
    )
}

#[test]
fn the_cost_of_a_process_does_not_grow_with_how_many_wait() {
    for n_activities in [1, 3] {
        let (few, many) = (cost(100, n_activities), cost(2_000, n_activities));
        assert_eq!(few, many, "rows of {n_activities}");
    }
}

#[test]
fn a_machine_that_comes_back_concerns_only_the_processes_that_name_it() {
    let cost = |n_waiting: u64| {
        let mut world = World::new();
        for key in 1..=n_waiting {
            world.submit(key, 1);
        }
        let n_reads = world.bench.paper.n_reads.get();
        world.give(Input::ActivityDown(ResourceId::local(0)));
        world.give(Input::ActivityUp(ResourceId::local(0)));
        world.bench.paper.n_reads.get() - n_reads
    };
    assert_eq!(cost(100), cost(2_000));
}

#[test]
fn slots_given_back_are_claimed_at_once_in_the_order_of_submission() {
    let mut world = World::new();
    for key in 1..=20 {
        world.submit(key, 1);
    }
    // No timer rings, and no offer comes but the first.
    while !world.running.is_empty() {
        world.end_one();
    }
    assert_eq!(world.n_completed(), 20);
    let order: Vec<ProcessId> = (1..=20).map(|key| SubmitKey(key).process()).collect();
    assert_eq!(world.planned, order);
    assert_eq!(world.n_claims, 20, "none was refused");
}

#[test]
fn claims_of_several_processes_are_open_at_a_time_and_none_wants_the_slot_of_another() {
    let mut world = World::new();
    world.is_slow = true;
    for key in 1..=20 {
        world.submit(key, 1);
    }
    assert_eq!(world.n_claims, MACHINES as usize);
    let wanted: BTreeSet<ResourceId> = world
        .unanswered
        .iter()
        .flat_map(|(_, _, wants)| wants.iter().map(|want| want.resource))
        .collect();
    assert_eq!(wanted.len(), MACHINES as usize);
    // An offer from before these claims changes nothing.
    let offer = world.offer();
    world.give(offer);
    assert_eq!(world.n_claims, MACHINES as usize);
    world.is_slow = false;
    for (number, process, wants) in std::mem::take(&mut world.unanswered) {
        let answer = world.answer(number, process, &wants);
        world.give(answer);
    }
    assert_eq!(world.planned.len(), MACHINES as usize);
}

#[test]
fn a_refusal_keeps_the_offer_and_what_was_refused_is_not_claimed_again() {
    let mut world = World::new();
    // Another process manager has been faster on three of four machines.
    world.of_others = (1..MACHINES).map(ResourceId::local).collect();
    for key in 1..=6 {
        world.submit(key, 1);
    }
    // One is granted, and each of the others is refused once: nobody asks in vain again.
    assert_eq!(world.planned.len(), 1);
    assert_eq!(world.n_claims, MACHINES as usize);
    while world.n_completed() < 6 {
        world.end_one();
    }
    assert_eq!(world.n_claims, MACHINES as usize + 5);
    // The next offer says what is free.
    world.of_others.clear();
    world.submit(7, 1);
    world.submit(8, 1);
    assert_eq!(world.planned.len(), 7);
    let offer = world.offer();
    world.give(offer);
    assert_eq!(world.planned.len(), 8);
}
