//! A journal and an outbox on paper, for tests of one part.

use std::collections::BTreeMap;

use model::{GroupId, Mono, Now, ResourceId, Span, Wall};
use wire::attempt::ToActivity;
use wire::group::ToGroup;

use super::{Ledger, Shared, Step};
use crate::config::Config;
use crate::io::{Effect, PlanRequest};
use crate::record::Event;
use crate::stream::{State, Stream};

/// A bench for one part: its recorded events and effects, on a clock that only the test moves.
pub(crate) struct Bench {
    pub(crate) shared: Shared,
    pub(crate) paper: Paper,
    now: Now,
}

/// Durable states, and everything that was recorded and sent.
#[derive(Default)]
pub(crate) struct Paper {
    states: BTreeMap<Stream, State>,
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

impl Ledger for Paper {
    fn state(&self, stream: Stream) -> Option<&State> {
        self.states.get(&stream)
    }

    fn states(&self) -> Box<dyn Iterator<Item = (Stream, &State)> + '_> {
        Box::new(self.states.iter().map(|(&stream, state)| (stream, state)))
    }

    fn record(&mut self, stream: Stream, event: Event) {
        self.states.entry(stream).or_default().apply(&event);
        self.events.push((stream, event));
    }

    fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    fn forget(&mut self, stream: Stream) {
        self.states.remove(&stream);
    }
}
