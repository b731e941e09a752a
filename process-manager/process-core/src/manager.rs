//! The contract of a process manager: its parts in the surroundings of a step.

mod counting;
mod measured;

use std::sync::Arc;

use machine::{Context, Lane, Machine};
use model::{Epoch, Mono, Now};

use crate::config::Config;
use crate::io::{Effect, Input};
use crate::limits;
use crate::parts::Parts;
use crate::process::chapters::Chapter;
use crate::record::Event;
use crate::shelf::Shelf;
use crate::step::Shared;
use crate::stream::{Snapshot, State, Stream};
use crate::tally::Counter;

use counting::Counting;

/// A process manager's logic.
///
/// Each input is handled in the step for its subject. The step marks the processes that it has
/// changed, and at its end `progress` runs once for each of them.
#[derive(Debug, Default)]
pub struct ProcessManager {
    pub(crate) shared: Shared,
    pub(crate) parts: Parts,
    pub(crate) counter: Counter,
}

impl ProcessManager {
    /// A manager that knows nothing yet.
    pub fn new(config: Config) -> ProcessManager {
        ProcessManager {
            shared: Shared {
                config,
                ..Shared::default()
            },
            parts: Parts::default(),
            counter: Counter::default(),
        }
    }

    /// Keeps large processes that have ended there.
    #[must_use]
    pub fn with_shelf(mut self, shelf: Arc<dyn Shelf>) -> ProcessManager {
        self.shared.shelf = Some(shelf);
        self
    }

    /// The number of processes that have not given back all their slots.
    pub fn n_live(&self) -> usize {
        self.parts.market.n_demands()
    }

    /// Returns true if machines were asked to delete files and have not answered.
    pub fn is_discarding(&self) -> bool {
        self.parts.files.is_discarding()
    }

    /// Returns true if requested copies are not made yet.
    pub fn is_copying(&self) -> bool {
        self.parts.files.is_copying()
    }
}

impl Machine for ProcessManager {
    type Stream = Stream;
    type State = State;
    type Snapshot = Snapshot;
    type Chapter = Chapter;
    type Event = Event;
    type Input = Input;
    type Effect = Effect;

    fn apply(state: &mut State, event: &Event) {
        state.apply(event);
    }

    fn weight(state: &State) -> usize {
        state.weight()
    }

    fn event_weight(event: &Event) -> usize {
        event.weight()
    }

    fn snapshot(state: &State) -> Snapshot {
        state.snapshot()
    }

    fn take_chapters(state: &mut State) -> Vec<(u32, Chapter)> {
        state.take_chapters()
    }

    fn restore(founded: State, snapshot: Snapshot, chapters: Vec<(u32, Chapter)>) -> State {
        founded.restore(snapshot, chapters)
    }

    fn lane(input: &Input) -> Lane {
        input.lane()
    }

    fn step(&mut self, cx: &mut Context<'_, Self>, now: Now, input: Input) {
        if matches!(input, Input::Measure) {
            let measured = self.measured(cx.states().iter().map(|(_, state)| state));
            cx.effect(Effect::Measured(Box::new(measured)));
            return;
        }
        let counter = &mut self.counter;
        let mut counting = Counting { cx, counter, now };
        let step = &mut self.shared.step(&mut counting, now);
        self.parts.take(step, input);
        self.parts.progress_all(step);
    }

    fn wake(&mut self, cx: &mut Context<'_, Self>, now: Now) {
        let counter = &mut self.counter;
        let mut counting = Counting { cx, counter, now };
        let step = &mut self.shared.step(&mut counting, now);
        // The others are due at once, after the inputs that have come meanwhile.
        for _ in 0..limits::TIMERS_A_STEP {
            let Some(timer) = step.timers.take_due(step.now.mono) else {
                break;
            };
            self.parts.ring(step, timer);
        }
        self.parts.progress_all(step);
    }

    fn resume(&mut self, cx: &mut Context<'_, Self>, now: Now) {
        let before = match cx.state(Stream::Manager) {
            Some(State::Manager { epoch, .. }) => *epoch,
            Some(State::Empty | State::Process(_) | State::Packed(_) | State::Held(_)) | None => {
                Epoch(0)
            }
        };
        let before = before.max(self.shared.config.epochs_above);
        self.shared.epoch = Epoch(before.0 + 1);
        let counter = &mut self.counter;
        let mut counting = Counting { cx, counter, now };
        let step = &mut self.shared.step(&mut counting, now);
        self.parts.resume(step);
        self.parts.progress_all(step);
    }

    fn next_wakeup(&self) -> Option<Mono> {
        self.shared.timers.next()
    }
}
