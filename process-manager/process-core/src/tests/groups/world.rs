//! A world of two groups: a process manager on both, whose messages may be lost.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Drive, History};
use model::{
    Bytes, Draft, Epoch, GrantId, GroupId, Mono, NodeKind, Now, Plan, ProcessId, ResourceId, Span,
    SubmitKey, Wall,
};
use wire::attempt::ToActivity;
use wire::client::Request;
use wire::group::{FromGroup, Grant, Held, Offer, Offered, ToGroup};

use crate::Caller;
use crate::record::Event;
use crate::tests::bench::{controller, draft, edit, ids, leaf, submission};
use crate::{ClientId, Effect, Input, Stream};
use crate::{Config, ProcessManager};

pub(super) const A: GroupId = GroupId::new(1);
pub(super) const B: GroupId = GroupId::new(2);

/// The way a group manager answers claims.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Mood {
    Grants,
    Refuses,
    Silent,
}

pub(super) struct World {
    pub(super) drive: Drive<ProcessManager>,
    pub(super) now: Now,
    pub(super) moods: BTreeMap<GroupId, Mood>,
    /// Slots that each machine has, and those that are free of them.
    pub(super) slots: u32,
    pub(super) free: BTreeMap<GroupId, u32>,
    /// The last claim and the grants of each process, as its group manager has recorded them.
    pub(super) held: BTreeMap<(GroupId, ProcessId), (u32, Vec<Grant>)>,
    /// Claims of which nobody was told what came of them.
    pub(super) unanswered: Vec<(GroupId, ToGroup)>,
    /// Claims and releases since it was looked at last.
    pub(super) log: Vec<String>,
    pub(super) events: Vec<(Stream, Event)>,
    pub(super) n_grants: u64,
}

pub(super) fn machine_of(group: GroupId) -> ResourceId {
    ResourceId::new(group, 0)
}

impl World {
    pub(super) fn new() -> World {
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

    pub(super) fn up(&mut self, group: GroupId) {
        self.give(Input::GroupUp(group));
        self.give(Input::ActivityUp(machine_of(group)));
    }

    /// The process manager is killed and begins another epoch.
    pub(super) fn restart(&mut self) {
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
        self.drive = Drive::start(ProcessManager::new(config()), histories, self.now);
        self.carry_out();
    }

    pub(super) fn give(&mut self, input: Input) {
        self.drive.step(self.now, input);
        self.carry_out();
    }

    pub(super) fn carry_out(&mut self) {
        let batch = self.drive.close();
        self.events.extend(batch.events);
        for effect in self.drive.flushed(batch.number) {
            self.play(effect);
        }
    }

    pub(super) fn play(&mut self, effect: Effect) {
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
            Effect::ToGroup(group, ToGroup::Return { process, keep, .. }) => {
                let slots: u32 = keep.iter().map(|want| want.slots).sum();
                self.log
                    .push(format!("{group} keep {slots} p{}", process.0));
            }
            Effect::ToGroup(
                _,
                ToGroup::Holds(_) | ToGroup::Waits { .. } | ToGroup::Shown { .. },
            ) => {}
            Effect::ToGroup(group, message @ ToGroup::Confirm { .. }) => {
                if self.moods[&group] == Mood::Silent {
                    self.unanswered.push((group, message));
                } else {
                    self.answer(group, message);
                }
            }
            Effect::Plan(request) => {
                self.give(Input::Planned(Box::new(request.answer())));
            }
            Effect::Foreign(group, machine) => self.log.push(format!("{group} names {machine:#}")),
            Effect::ToActivity(_, ToActivity::Attach { .. })
            | Effect::ToActivity(..)
            | Effect::Answer { .. }
            | Effect::Registered(..)
            | Effect::Keep(_)
            | Effect::Share(..)
            | Effect::Forget(..)
            | Effect::Done(_)
            | Effect::Measured(_) => {}
        }
    }

    /// Answers a question for holdings.
    fn confirm(&mut self, group: GroupId, message: ToGroup) {
        let ToGroup::Confirm {
            epoch,
            number,
            processes,
            ..
        } = message
        else {
            return;
        };
        let held = processes.into_iter().filter_map(|process| {
            let (number, grants) = self.held.get(&(group, process))?;
            Some(Held {
                process,
                number: *number,
                grants: grants.clone(),
            })
        });
        let holdings = FromGroup::Holdings {
            epoch,
            number,
            held: held.collect(),
            n_revoked: 0,
        };
        self.give(Input::Group(group, holdings));
    }

    /// Answers a claim like a group manager: a claim with the number of a granted one gets the same
    /// grants, whatever it asks for.
    pub(super) fn answer(&mut self, group: GroupId, message: ToGroup) {
        let ToGroup::Claim {
            number,
            process,
            wants,
            epoch: _,
            owner: _,
        } = message
        else {
            return self.confirm(group, message);
        };
        let refuses = self.moods[&group] == Mood::Refuses || wants.is_empty();
        let held = self.held.entry((group, process)).or_default();
        let answer = if held.0 < number && refuses {
            FromGroup::Refused {
                number,
                process,
                is_at_limit: false,
            }
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
                is_at_limit: false,
            }
        };
        self.give(Input::Group(group, answer));
    }

    /// A group manager that was silent takes the claims in the order in which they were sent.
    pub(super) fn wakes(&mut self, group: GroupId) {
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

    pub(super) fn offer(&mut self, group: GroupId) {
        self.offer_of(group, machine_of(group));
    }

    /// A group offers a machine, which may not be its own.
    pub(super) fn offer_of(&mut self, group: GroupId, resource: ResourceId) {
        let (free, slots) = (self.free[&group], self.slots);
        let held = self.held.iter().filter(|((of, _), _)| *of == group);
        let yours = held.flat_map(|(_, (_, grants))| grants.iter().map(|grant| grant.slots));
        let yours = yours.sum();
        let kind = if group == A { "a" } else { "b" };
        let offered = Offered {
            resource,
            name: format!("machine-{kind}"),
            power: 1.0,
            slots,
            free,
            yours,
            shown: None,
            memory: Bytes(1 << 30),
            labels: BTreeMap::from([("kind".to_owned(), kind.to_owned())]),
            bulk: None,
        };
        let offer = Offer {
            epoch: Epoch(1),
            resources: vec![offered],
            leaving: Vec::new(),
            unavailable: Vec::new(),
            is_shared: false,
            n_revoked: 0,
            owners: None,
            takes_shown: false,
            policy: None,
            tuning: None,
        };
        self.give(Input::Group(group, FromGroup::Offer(offer)));
    }

    pub(super) fn submit(&mut self, key: u64, draft: Draft) {
        let submit = Box::new(submission(SubmitKey(key), draft));
        let request = Request::Submit(submit);
        self.give(Input::Request(ClientId(1), Caller::Local, 1, request));
    }

    pub(super) fn cancel(&mut self, key: u64) {
        let request = Request::Cancel(ProcessId(key));
        self.give(Input::Request(ClientId(1), Caller::Local, 2, request));
    }

    /// Seconds pass, and group managers that are not silent repeat their offers.
    pub(super) fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds * 10 {
            self.now.mono = self.now.mono + Span::from_millis(100);
            self.now.wall = self.now.wall + Span::from_millis(100);
            self.drive.wake(self.now);
            self.carry_out();
        }
    }

    /// The processes that have a plan.
    pub(super) fn planned(&self) -> BTreeSet<u64> {
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
    pub(super) fn used(&self, key: u64) -> BTreeSet<ResourceId> {
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

    /// The machines of which slots are recorded as held by a process.
    pub(super) fn granted(&self, key: u64) -> Vec<ResourceId> {
        let mut granted: BTreeMap<GroupId, Vec<ResourceId>> = BTreeMap::new();
        for (stream, event) in &self.events {
            if let Event::Granted { group, holding } = event
                && *stream == Stream::Process(ProcessId(key))
            {
                let places = holding.grants.iter().map(|grant| grant.resource);
                granted.insert(*group, places.collect());
            }
        }
        granted.into_values().flatten().collect()
    }

    pub(super) fn is_released(&self, key: u64) -> bool {
        let stream = Stream::Process(ProcessId(key));
        self.events.contains(&(stream, Event::Released))
    }

    pub(super) fn said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }
}

pub(super) fn config() -> Config {
    Config {
        groups: BTreeSet::from([A, B]),
        ..Config::default()
    }
}

/// So many activities side by side.
pub(super) fn parallel(n: u32) -> Draft {
    let children = ids(&(1..=n).collect::<Vec<u32>>());
    let mut nodes = vec![controller(NodeKind::Parallel {
        children,
        links: Vec::new(),
    })];
    nodes.extend((0..n).map(|number| leaf(&format!("leaf-{number}"))));
    draft(nodes)
}

/// One activity, which only a machine of one group can run.
pub(super) fn only(kind: &str) -> Draft {
    let mut one = leaf("only");
    edit(&mut one, |activity| {
        activity.labels = vec![("kind".to_owned(), kind.to_owned())];
    });
    draft(vec![one])
}

/// One activity, of which two attempts are started at once.
pub(super) fn replicated() -> Draft {
    let mut one = leaf("twice");
    edit(&mut one, |activity| {
        activity.repeatable = true;
        activity.replicas = Some(2);
    });
    draft(vec![one])
}

/// One activity for each group.
pub(super) fn both() -> Draft {
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
