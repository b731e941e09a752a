//! The contract of a manager's pure logic, and its driver.
//!
//! A manager is a [`Machine`]: inputs arrive with the time, events are durable facts, effects are
//! actions outside the core. [`Drive`] has one duty: an effect leaves only when every event recorded
//! up to its batch is durable. It does no I/O, so a daemon's shell and the simulator drive the same
//! code. A driver must `step` inputs, `close` the batch, make its events durable, call
//! `flushed`, and carry out the returned effects.
//!
//! This crate knows no manager, no store and no connection. Read [`Machine`], then [`Drive`].
//! [`Histogram`] is for the metrics of managers.

pub mod golden;
mod histogram;
mod lanes;
#[cfg(test)]
mod tests;
mod timers;

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;

use model::{Mono, Now};

pub use histogram::Histogram;
pub use lanes::{Lane, Lanes};
pub use timers::Timers;

/// Weight of the events that may follow a snapshot before the next one, beside twice the snapshot's
/// own weight, so that snapshots cost a fraction of the events.
const TAIL_EVENTS_MIN: usize = 1_024;

/// The most weight of events after the last snapshot of a stream, where a snapshot of its state
/// would have this weight. When a batch is closed no stream has more.
pub const fn tail_max(weight: usize) -> usize {
    TAIL_EVENTS_MIN + 2 * weight
}

/// A type with a stored form.
pub trait Codec: Sized {
    /// Appends the encoded bytes.
    fn encode(&self, out: &mut Vec<u8>);
    /// Decodes the bytes.
    fn decode(bytes: &[u8]) -> Result<Self, minicbor::decode::Error>;
}

impl<T> Codec for T
where
    T: minicbor::Encode<()> + for<'b> minicbor::Decode<'b, ()>,
{
    fn encode(&self, out: &mut Vec<u8>) {
        minicbor::encode(self, out).expect("a Vec takes every byte");
    }

    fn decode(bytes: &[u8]) -> Result<Self, minicbor::decode::Error> {
        minicbor::decode(bytes)
    }
}

/// The logic of a manager. `self` holds only volatile state, which `resume` rebuilds after a start.
pub trait Machine: Sized {
    /// The key of a journal stream: the manager itself, a process...
    type Stream: Copy + Ord + Debug + Codec;
    /// The durable state of one stream: the fold of its events.
    type State: Default;
    /// Stands for the events of a stream except the first, together with its chapters.
    type Snapshot: Codec;
    /// A part of a snapshot with a number of its own, which is written again only when it has changed, so
    /// that a snapshot costs as much as what has changed. Machines with small states have none.
    type Chapter: Codec;
    /// A durable fact.
    type Event: Codec;
    /// A message with its sender, a connection up or down, a command's end, a finished plan...
    type Input;
    /// An action outside the core: send, run, kill, plan, keep a record, answer.
    type Effect;

    /// Applies one event to the state of a stream. Nothing else changes it.
    fn apply(state: &mut Self::State, event: &Self::Event);
    /// Approximate weight of a snapshot that is taken at this moment, in entries: without the chapters that
    /// have not changed.
    fn weight(state: &Self::State) -> usize;
    /// Approximate weight of an event, in entries: more than one for a large event.
    fn event_weight(event: &Self::Event) -> usize {
        let _ = event;
        1
    }
    /// The snapshot of a stream, which stands for all events except the first.
    fn snapshot(state: &Self::State) -> Self::Snapshot;
    /// The chapters that have changed since they were last asked for, by their numbers.
    fn take_chapters(state: &mut Self::State) -> Vec<(u32, Self::Chapter)> {
        let _ = state;
        Vec::new()
    }
    /// Restores a state from the state after the first event, a snapshot, and all chapters in the order of
    /// their numbers.
    fn restore(
        founded: Self::State,
        snapshot: Self::Snapshot,
        chapters: Vec<(u32, Self::Chapter)>,
    ) -> Self::State;
    /// The lane in which an input waits.
    fn lane(input: &Self::Input) -> Lane {
        let _ = input;
        Lane::Peers
    }
    /// Takes one input.
    fn step(&mut self, cx: &mut Context<'_, Self>, now: Now, input: Self::Input);
    /// Handles due timers.
    fn wake(&mut self, cx: &mut Context<'_, Self>, now: Now);
    /// Called after a replay: repeats work that may not have been done.
    fn resume(&mut self, cx: &mut Context<'_, Self>, now: Now);
    /// When `wake` should be called at the latest.
    fn next_wakeup(&self) -> Option<Mono>;
}

/// The durable states of a manager, by stream.
#[derive(Debug)]
pub struct States<M: Machine> {
    by_stream: BTreeMap<M::Stream, Kept<M::State>>,
}

#[derive(Debug, Default)]
struct Kept<S> {
    state: S,
    n_events: usize,
    /// Weight of the events since the last snapshot.
    n_tail: usize,
}

impl<M: Machine> States<M> {
    /// The state of a stream; none if nothing was ever recorded in it.
    pub fn get(&self, stream: M::Stream) -> Option<&M::State> {
        self.by_stream.get(&stream).map(|kept| &kept.state)
    }

    /// All streams with their states, in order.
    pub fn iter(&self) -> impl Iterator<Item = (M::Stream, &M::State)> {
        self.by_stream
            .iter()
            .map(|(&stream, kept)| (stream, &kept.state))
    }

    fn apply(&mut self, stream: M::Stream, event: &M::Event) {
        let kept = self.by_stream.entry(stream).or_insert_with(|| Kept {
            state: M::State::default(),
            n_events: 0,
            n_tail: 0,
        });
        M::apply(&mut kept.state, event);
        if kept.n_events > 0 {
            kept.n_tail += M::event_weight(event);
        }
        kept.n_events += 1;
    }
}

/// The interface of a step: the durable states to read, events to record, effects to queue.
pub struct Context<'a, M: Machine> {
    states: &'a mut States<M>,
    open: &'a mut Open<M>,
}

struct Open<M: Machine> {
    events: Vec<(M::Stream, M::Event)>,
    forgotten: Vec<M::Stream>,
    effects: Vec<M::Effect>,
    /// True if somebody waits for one of the effects.
    is_awaited: bool,
}

/// The effects of a step, for use while the states are borrowed.
pub struct Effects<'a, M: Machine>(&'a mut Open<M>);

impl<M: Machine> Effects<'_, M> {
    /// Queues an effect.
    pub fn push(&mut self, effect: M::Effect) {
        self.0.is_awaited = true;
        self.0.effects.push(effect);
    }
}

impl<M: Machine> Context<'_, M> {
    /// The durable states.
    pub fn states(&self) -> &States<M> {
        self.states
    }

    /// The state of one stream.
    pub fn state(&self, stream: M::Stream) -> Option<&M::State> {
        self.states.get(stream)
    }

    /// Records an event: the state changes at once, and no effect of this batch or a later one
    /// leaves before the event is durable.
    pub fn record(&mut self, stream: M::Stream, event: M::Event) {
        self.states.apply(stream, &event);
        self.open.events.push((stream, event));
    }

    /// Queues an effect.
    pub fn effect(&mut self, effect: M::Effect) {
        self.open.is_awaited = true;
        self.open.effects.push(effect);
    }

    /// Queues an effect that nobody waits for within the next milliseconds, so that one flush may serve
    /// several batches of such effects.
    pub fn effect_later(&mut self, effect: M::Effect) {
        self.open.effects.push(effect);
    }

    /// Keeps the state of a stream that is seldom read in less memory. It stays the same to whoever reads it.
    pub fn pack(&mut self, stream: M::Stream, pack: impl FnOnce(&mut M::State)) {
        if let Some(kept) = self.states.by_stream.get_mut(&stream) {
            pack(&mut kept.state);
        }
    }

    /// Removes a stream with all its events. Nothing may be recorded in it afterwards.
    pub fn forget(&mut self, stream: M::Stream) {
        self.states.by_stream.remove(&stream);
        self.open.forgotten.push(stream);
    }

    /// The states, and the effects to queue meanwhile.
    pub fn split(&mut self) -> (&States<M>, Effects<'_, M>) {
        (self.states, Effects(self.open))
    }
}

/// The events that must be made durable together.
#[derive(Debug)]
pub struct Batch<M: Machine> {
    /// Batches are numbered from 1 in each run of the program.
    pub number: u64,
    /// The events in recorded order.
    pub events: Vec<(M::Stream, M::Event)>,
    /// Snapshots of these streams, which stand for all events except the first, including those of
    /// this batch.
    pub snapshots: Vec<(M::Stream, M::Snapshot)>,
    /// The chapters of these snapshots that have changed since the snapshot before. A store keeps the last
    /// one of each number.
    pub chapters: Vec<(M::Stream, u32, M::Chapter)>,
    /// Streams to be removed, after the events.
    pub forgotten: Vec<M::Stream>,
    /// True if somebody waits for an effect of this batch. The flush of another one may wait for some
    /// milliseconds, to serve the batches after it too.
    pub is_awaited: bool,
}

impl<M: Machine> Batch<M> {
    /// Returns true if there is nothing to write. Its effects still wait for earlier batches.
    pub fn is_empty(&self) -> bool {
        // Without a snapshot there are no chapters.
        self.events.is_empty() && self.snapshots.is_empty() && self.forgotten.is_empty()
    }
}

/// The stored content of one stream.
#[derive(Debug)]
pub struct History<M: Machine> {
    /// The stream.
    pub stream: M::Stream,
    /// Its first event.
    pub founding: M::Event,
    /// The snapshot of the events after it, up to the tail.
    pub snapshot: Option<M::Snapshot>,
    /// The chapters of the snapshot, in the order of their numbers.
    pub chapters: Vec<(u32, M::Chapter)>,
    /// The events since.
    pub tail: Vec<M::Event>,
}

/// The driver of one manager.
pub struct Drive<M: Machine> {
    machine: M,
    states: States<M>,
    open: Open<M>,
    n_closed: u64,
    waiting: VecDeque<(u64, Vec<M::Effect>)>,
}

impl<M: Machine> Drive<M> {
    /// Replays the journal and lets the machine resume. Its events and effects are in the first
    /// batch: `close` it before anything else.
    pub fn start(machine: M, histories: Vec<History<M>>, now: Now) -> Drive<M> {
        let mut drive = Drive::replay(machine, histories);
        let Drive {
            machine,
            states,
            open,
            ..
        } = &mut drive;
        machine.resume(&mut Context { states, open }, now);
        drive
    }

    /// Replays without resuming: for reading the state of a stopped manager.
    pub fn replay(machine: M, histories: Vec<History<M>>) -> Drive<M> {
        let mut states = States {
            by_stream: BTreeMap::new(),
        };
        for history in histories {
            states.apply(history.stream, &history.founding);
            if let Some(snapshot) = history.snapshot
                && let Some(kept) = states.by_stream.get_mut(&history.stream)
            {
                let founded = std::mem::take(&mut kept.state);
                kept.state = M::restore(founded, snapshot, history.chapters);
            }
            for event in &history.tail {
                states.apply(history.stream, event);
            }
        }
        let open = Open {
            events: Vec::new(),
            forgotten: Vec::new(),
            effects: Vec::new(),
            is_awaited: false,
        };
        Drive {
            machine,
            states,
            open,
            n_closed: 0,
            waiting: VecDeque::new(),
        }
    }

    /// Gives the machine one input.
    pub fn step(&mut self, now: Now, input: M::Input) {
        let Drive {
            machine,
            states,
            open,
            ..
        } = self;
        machine.step(&mut Context { states, open }, now, input);
    }

    /// Lets the machine handle due timers.
    pub fn wake(&mut self, now: Now) {
        let Drive {
            machine,
            states,
            open,
            ..
        } = self;
        machine.wake(&mut Context { states, open }, now);
    }

    /// Closes the batch of the steps since the last one. Its events must be made durable after
    /// those of earlier batches; then [`Drive::flushed`] returns its effects.
    pub fn close(&mut self) -> Batch<M> {
        self.n_closed += 1;
        let number = self.n_closed;
        let events = std::mem::take(&mut self.open.events);
        let forgotten = std::mem::take(&mut self.open.forgotten);
        let is_awaited = std::mem::take(&mut self.open.is_awaited);
        self.waiting
            .push_back((number, std::mem::take(&mut self.open.effects)));
        let (mut snapshots, mut chapters) = (Vec::new(), Vec::new());
        let mut streams: Vec<M::Stream> = events.iter().map(|&(stream, _)| stream).collect();
        streams.sort_unstable();
        streams.dedup();
        for stream in streams {
            let Some(kept) = self.states.by_stream.get_mut(&stream) else {
                continue;
            };
            if kept.n_tail > tail_max(M::weight(&kept.state)) {
                kept.n_tail = 0;
                snapshots.push((stream, M::snapshot(&kept.state)));
                let changed = M::take_chapters(&mut kept.state).into_iter();
                chapters.extend(changed.map(|(number, chapter)| (stream, number, chapter)));
            }
        }
        Batch {
            number,
            events,
            snapshots,
            chapters,
            forgotten,
            is_awaited,
        }
    }

    /// The effects that may be carried out, in order, when all batches up to `number` are durable.
    pub fn flushed(&mut self, number: u64) -> Vec<M::Effect> {
        let mut effects = Vec::new();
        while let Some((first, _)) = self.waiting.front()
            && *first <= number
            && let Some((_, mut ready)) = self.waiting.pop_front()
        {
            if effects.is_empty() {
                effects = ready;
            } else {
                effects.append(&mut ready);
            }
        }
        effects
    }

    /// When [`Drive::wake`] should be called at the latest.
    pub fn next_wakeup(&self) -> Option<Mono> {
        self.machine.next_wakeup()
    }

    /// Returns true if a step since the last `close` recorded an event or queued an effect.
    pub fn is_open(&self) -> bool {
        let Open {
            events,
            forgotten,
            effects,
            is_awaited: _,
        } = &self.open;
        !(events.is_empty() && forgotten.is_empty() && effects.is_empty())
    }

    /// The durable states.
    pub fn states(&self) -> &States<M> {
        &self.states
    }

    /// The machine itself, for reading.
    pub fn machine(&self) -> &M {
        &self.machine
    }
}
