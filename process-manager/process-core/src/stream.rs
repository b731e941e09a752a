//! Streams of a journal and their durable states.

use minicbor::{Decode, Encode};
use model::{Epoch, ProcessId, Span};

use crate::held::Held;
use crate::process::{Process, ProcessState};
use crate::record::Event;

/// The subject of a journal of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Stream {
    /// The manager itself.
    #[n(0)]
    Manager,
    /// One process.
    #[n(1)]
    Process(#[n(0)] ProcessId),
}

/// The durable state of a stream.
#[derive(Debug, Default)]
pub enum State {
    /// Nothing was recorded, or what was recorded cannot be read any more.
    #[default]
    Empty,
    /// The manager's own.
    Manager {
        /// The current epoch.
        epoch: Epoch,
        /// The longest lease that may not have ended yet: see [`Event::Leased`].
        leased: Option<Span>,
    },
    /// One process.
    Process(Box<Process>),
    /// A process that is kept and not understood.
    Held(Box<Held>),
}

/// A state that replaces all events of a stream but the first.
#[derive(Clone, Debug, minicbor::Encode, minicbor::Decode)]
pub enum Snapshot {
    /// Nothing.
    #[n(0)]
    Empty,
    /// The manager's own stream.
    #[n(1)]
    Manager(#[n(0)] Epoch, #[n(1)] Option<Span>),
    /// The state of a process.
    #[n(2)]
    Process(#[n(0)] Box<ProcessState>),
}

impl State {
    /// Changes the state by one event.
    pub(crate) fn apply(&mut self, event: &Event) {
        match (&mut *self, event) {
            (State::Manager { epoch, .. }, Event::Epoch(present)) => *epoch = *present,
            (State::Manager { leased, .. }, Event::Leased(length)) => *leased = Some(*length),
            (_, Event::Epoch(epoch)) => {
                *self = State::Manager {
                    epoch: *epoch,
                    leased: None,
                }
            }
            (State::Empty, Event::Founded(founded)) => {
                *self = match Process::found(founded) {
                    Ok(process) => State::Process(Box::new(process)),
                    Err(reason) => State::Held(Box::new(Held::new(founded, reason))),
                };
            }
            (State::Process(process), event) => process.apply(event),
            (State::Held(held), event) => held.apply(event),
            (State::Empty | State::Manager { .. }, _) => {}
        }
    }

    /// Entries of a snapshot, about.
    pub(crate) fn weight(&self) -> usize {
        match self {
            State::Empty | State::Manager { .. } => 1,
            State::Process(process) => process.weight(),
            // No snapshot of it is made: another version may understand its events.
            State::Held(_) => usize::MAX / 4,
        }
    }

    /// The snapshot, which stands for all events but the first.
    pub(crate) fn snapshot(&self) -> Snapshot {
        match self {
            State::Empty | State::Held(_) => Snapshot::Empty,
            State::Manager { epoch, leased } => Snapshot::Manager(*epoch, *leased),
            State::Process(process) => Snapshot::Process(Box::new(process.state.clone())),
        }
    }

    /// The state after a snapshot, from the state after the first event.
    pub(crate) fn restore(self, snapshot: Snapshot) -> State {
        match (self, snapshot) {
            (_, Snapshot::Manager(epoch, leased)) => State::Manager { epoch, leased },
            (State::Process(process), Snapshot::Process(state)) => {
                State::Process(Box::new(process.restore(*state)))
            }
            (State::Held(held), Snapshot::Process(state)) => {
                State::Held(Box::new(held.restore(*state)))
            }
            (founded, Snapshot::Empty | Snapshot::Process(_)) => founded,
        }
    }
}
