//! A journal and an outbox on paper, for tests of one part.

use std::cell::Cell;
use std::collections::BTreeMap;

use expression::Programs;
use model::{
    ActivityId, Artifact, AttemptId, Bytes, Draft, Entry, Generation, GrantId, GroupId, Mono, Now,
    OnFault, Plan, ProcessId, ResourceId, Span, SubmitKey, Wall,
};
use wire::attempt::{End, Outcome, ToActivity};
use wire::group::ToGroup;

use crate::config::Config;
use crate::enact::busy::Running;
use crate::enact::evaluate::Evaluator;
use crate::enact::judge::judge;
use crate::enact::reuse::memo_of;
use crate::io::{Effect, PlanRequest};
use crate::process::Process;
use crate::record::{Accepted, Event, Founded, Grant, Holding, Planned, SEMANTICS};
use crate::shelf::Shelf;
use crate::step::{Ledger, Shared, Step};
use crate::stream::{State, Stream};
use crate::tree;

/// The process that tests of one part are about.
pub(crate) const ID: ProcessId = ProcessId(7);

/// A bench for one part: its recorded events and effects, on a clock that only the test moves.
pub(crate) struct Bench {
    pub(crate) shared: Shared,
    pub(crate) paper: Paper,
    /// The process that the methods are about.
    pub(crate) id: ProcessId,
    pub(crate) now: Now,
}

/// Durable states, and everything that was recorded and sent.
#[derive(Default)]
pub(crate) struct Paper {
    states: BTreeMap<Stream, State>,
    /// States that were read.
    pub(crate) n_reads: Cell<usize>,
    pub(crate) events: Vec<(Stream, Event)>,
    pub(crate) effects: Vec<Effect>,
}

impl Bench {
    pub(crate) fn new(config: Config) -> Bench {
        Bench {
            shared: Shared {
                config,
                ..Shared::default()
            },
            paper: Paper::default(),
            id: ID,
            now: Now {
                mono: Mono(1),
                wall: Wall(1_000_000),
            },
        }
    }

    pub(crate) fn step(&mut self) -> Step<'_> {
        self.shared.step(&mut self.paper, self.now)
    }

    pub(crate) fn pass(&mut self, time: Span) {
        self.now.mono = self.now.mono + time;
        self.now.wall = self.now.wall + time;
    }

    /// Records the beginning of the process.
    pub(crate) fn found(&mut self, draft: Draft) {
        self.found_from(None, draft);
    }

    /// The same, where it resumes another one.
    pub(crate) fn found_from(&mut self, base: Option<ProcessId>, draft: Draft) {
        let definition = draft.check().unwrap();
        let founded = Founded {
            key: SubmitKey(self.id.0),
            flow: tree::begin(&definition),
            draft: Accepted::Checked(definition),
            inputs: Vec::new(),
            files: Vec::new(),
            origin: "test.yaml".to_owned(),
            at: Wall(1),
            base,
            on_fault: OnFault::Stop,
            keep: None,
            store: None,
            owner: None,
            semantics: SEMANTICS,
            environment: None,
        };
        self.record(Event::Founded(Box::new(founded)));
    }

    /// Records a plan of the process, and four slots of each machine in it.
    pub(crate) fn plan(&mut self, places: &[(u32, ResourceId)]) {
        let entries = places.iter().map(|&(activity, resource)| Entry {
            activity: ActivityId(activity),
            resource,
            slot: 0,
            start: Span(u64::from(activity)),
            finish: Span(u64::from(activity) + 1),
        });
        let planned = Planned {
            plan: Plan {
                generation: Generation(1),
                entries: entries.collect(),
                bound: Span(5),
            },
            machines: Vec::new(),
            is_estimate: false,
            at: Some(self.now.wall),
            expected: None,
            slots: None,
        };
        let mut machines: Vec<ResourceId> = places.iter().map(|&(_, resource)| resource).collect();
        machines.sort_unstable();
        machines.dedup();
        let grants = machines.into_iter().map(|resource| Grant {
            id: GrantId(u64::from(resource.number)),
            resource,
            slots: 4,
        });
        let holding = Holding {
            number: 1,
            grants: grants.collect(),
        };
        let group = GroupId::LOCAL;
        self.record(Event::Granted { group, holding });
        self.record(Event::Planned(Box::new(planned)));
    }

    /// Records that an activity was sent to a machine and has completed there.
    pub(crate) fn complete(&mut self, activity: u32, at: ResourceId, outputs: Vec<Artifact>) {
        let activity = ActivityId(activity);
        let number = self.process().next_number(activity);
        let mut programs = Programs::default();
        let key = memo_of(self.process(), activity, &mut Evaluator::new(&mut programs));
        let keys = key.into_iter().collect();
        self.record(Event::Sent(vec![(activity, number, at)], keys));
        let process = self.id;
        let attempt = AttemptId {
            process,
            activity,
            number,
        };
        let mut outcome = outcome(attempt, End::Completed);
        outcome.outputs = outputs;
        let ended = judge(self.process(), self.now, outcome, None);
        self.record(Event::Ended(Box::new(ended)));
    }

    /// Records an event of the process.
    pub(crate) fn record(&mut self, event: Event) {
        self.paper.record(Stream::Process(self.id), event);
    }

    pub(crate) fn process(&self) -> &Process {
        let ledger: &dyn Ledger = &self.paper;
        ledger.process(self.id).unwrap()
    }

    /// The messages to machines since effects were taken last.
    pub(crate) fn take_to_machines(&mut self) -> Vec<(ResourceId, ToActivity)> {
        let effects = std::mem::take(&mut self.paper.effects).into_iter();
        let sent = effects.filter_map(|effect| {
            let Effect::ToActivity(resource, message) = effect else {
                return None;
            };
            Some((resource, message))
        });
        sent.collect()
    }

    /// The messages to group managers since effects were taken last.
    pub(crate) fn take_to_groups(&mut self) -> Vec<(GroupId, ToGroup)> {
        let effects = std::mem::take(&mut self.paper.effects).into_iter();
        let sent = effects.filter_map(|effect| {
            let Effect::ToGroup(group, message) = effect else {
                return None;
            };
            Some((group, message))
        });
        sent.collect()
    }

    /// The plan that was asked for since effects were taken last.
    pub(crate) fn plan_request(&mut self) -> Option<Box<PlanRequest>> {
        let mut effects = std::mem::take(&mut self.paper.effects).into_iter();
        effects.find_map(|effect| {
            let Effect::Plan(request) = effect else {
                return None;
            };
            Some(request)
        })
    }
}

/// An attempt of the process.
pub(crate) fn attempt(activity: u32, number: u32) -> AttemptId {
    AttemptId {
        process: ID,
        activity: ActivityId(activity),
        number,
    }
}

/// The report of a machine on an attempt.
pub(crate) fn outcome(attempt: AttemptId, end: End) -> Outcome {
    Outcome {
        started: Wall(2),
        wall: Span(1),
        cpu: Span(1),
        peak_memory: Bytes(1),
        exit_code: Some(0),
        pid: 9,
        ..Outcome::without_run(attempt, end)
    }
}

impl Ledger for Paper {
    fn state(&self, stream: Stream) -> Option<&State> {
        self.n_reads.update(|n| n + 1);
        self.states.get(&stream)
    }

    fn states(&self) -> Box<dyn Iterator<Item = (Stream, &State)> + '_> {
        self.n_reads.update(|n| n + self.states.len());
        Box::new(self.states.iter().map(|(&stream, state)| (stream, state)))
    }

    fn record(&mut self, stream: Stream, event: Event) {
        self.states.entry(stream).or_default().apply(&event);
        self.events.push((stream, event));
    }

    fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    fn effect_later(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    fn pack(&mut self, stream: Stream, shelf: Option<&dyn Shelf>) {
        if let Some(state) = self.states.get_mut(&stream) {
            state.pack(shelf);
        }
    }

    fn forget(&mut self, stream: Stream) {
        self.states.remove(&stream);
    }
}

/// Nothing is known to run.
pub(crate) struct Idle;

impl Running for Idle {
    fn started(&self, _: AttemptId) -> Option<Wall> {
        None
    }

    fn processes_at(&self, _: ResourceId) -> Vec<ProcessId> {
        Vec::new()
    }
}
