//! The surroundings of a part in one step: durable states to read, events to record, effects to queue,
//! timers to set, processes to mark for the progress pass.

use std::collections::BTreeSet;
use std::sync::Arc;

use expression::Programs;
use history::Store;
use machine::Timers;
use model::{Epoch, Now, ProcessId};

use crate::config::Config;
use crate::held::Held;
use crate::io::Effect;
use crate::limits;
use crate::process::Process;
use crate::record::Event;
use crate::shelf::Shelf;
use crate::stream::{State, Stream};
use crate::tally::Noted;
use crate::timer::Timer;

/// The journal and the outbox, as parts see them.
pub(crate) trait Ledger {
    /// The state of one stream.
    fn state(&self, stream: Stream) -> Option<&State>;
    /// All streams with their states, in order.
    fn states(&self) -> Box<dyn Iterator<Item = (Stream, &State)> + '_>;
    /// Records an event; the state changes at once.
    fn record(&mut self, stream: Stream, event: Event);
    /// Queues an effect, which leaves when everything recorded so far is durable.
    fn effect(&mut self, effect: Effect);
    /// Queues an effect that nobody waits for within the next milliseconds: it may leave with later ones.
    fn effect_later(&mut self, effect: Effect);
    /// Keeps a process that has ended in less memory.
    fn pack(&mut self, stream: Stream, shelf: Option<&dyn Shelf>);
    /// Removes a stream with all its events.
    fn forget(&mut self, stream: Stream);
    /// Counts for metrics what no event tells.
    fn note(&mut self, noted: Noted<'_>) {
        let _ = noted;
    }
}

impl dyn Ledger + '_ {
    /// A process that is understood.
    pub(crate) fn process(&self, id: ProcessId) -> Option<&Process> {
        self.state(Stream::Process(id))?.process()
    }

    /// A process that is kept and not understood.
    pub(crate) fn held(&self, id: ProcessId) -> Option<&Held> {
        match self.state(Stream::Process(id))? {
            State::Held(held) => Some(held),
            State::Process(_) | State::Packed(_) | State::Empty | State::Manager { .. } => None,
        }
    }

    /// The owner of a known process, understood or held.
    pub(crate) fn owner(&self, id: ProcessId) -> Option<Option<&str>> {
        let state = self.state(Stream::Process(id))?;
        Some(state.owner())
    }

    /// All processes that are understood, in the order of their ids.
    pub(crate) fn processes(&self) -> impl Iterator<Item = &Process> {
        self.states().filter_map(|(_, state)| state.process())
    }

    /// The same, but for processes without copies of files, as far as that is known without reading
    /// them.
    pub(crate) fn processes_with_copies(&self) -> impl Iterator<Item = &Process> {
        let with_copies = self
            .states()
            .filter(|(_, state)| !matches!(state, State::Packed(packed) if !packed.has_copies()));
        with_copies.filter_map(|(_, state)| state.process())
    }
}

/// State that all parts share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) epoch: Epoch,
    pub(crate) timers: Timers<Timer>,
    pub(crate) marks: Marks,
    /// Compiled expressions of processes.
    pub(crate) programs: Programs,
    /// The works of earlier attempts.
    pub(crate) history: Store,
    /// The place of large processes that have ended; none where they stay in memory.
    pub(crate) shelf: Option<Arc<dyn Shelf>>,
}

/// Work for the progress pass at the end of a step.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// Processes that this step has changed.
    pub(crate) processes: BTreeSet<ProcessId>,
    /// True if a process may be ready to be planned.
    pub(crate) wants_plans: bool,
}

/// One step of a part.
pub(crate) struct Step<'a> {
    pub(crate) cx: &'a mut dyn Ledger,
    pub(crate) now: Now,
    pub(crate) epoch: Epoch,
    pub(crate) config: &'a Config,
    pub(crate) timers: &'a mut Timers<Timer>,
    pub(crate) marks: &'a mut Marks,
    pub(crate) programs: &'a mut Programs,
    pub(crate) history: &'a mut Store,
    pub(crate) shelf: Option<&'a dyn Shelf>,
}

impl Shared {
    /// A step at this moment.
    pub(crate) fn step<'a>(&'a mut self, cx: &'a mut dyn Ledger, now: Now) -> Step<'a> {
        let Shared {
            config,
            epoch,
            timers,
            marks,
            programs,
            history,
            shelf,
        } = self;
        Step {
            cx,
            now,
            epoch: *epoch,
            config,
            timers,
            marks,
            programs,
            history,
            shelf: shelf.as_deref(),
        }
    }
}

impl Step<'_> {
    /// The units of a named limit as a process means it: of its own, or of this manager's; none if there is no such
    /// limit any more.
    pub(crate) fn units_of_limit(&self, known: &Process, name: &str) -> Option<u32> {
        let own = known.definition().draft().named_limit(name);
        own.or_else(|| self.config.limits.get(name).copied())
    }

    /// A process may have ended, or was read after its end: soon it takes less memory.
    pub(crate) fn pack_soon(&mut self) {
        let soon = self.now.mono + limits::PACK;
        self.timers.set_once(Timer::Pack, soon);
    }
}

impl Marks {
    /// A process may have something to do.
    pub(crate) fn mark(&mut self, id: ProcessId) {
        self.processes.insert(id);
    }

    /// A process may be planned.
    pub(crate) fn want_plans(&mut self) {
        self.wants_plans = true;
    }
}
