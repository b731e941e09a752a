//! Streams of a journal and their durable states.

use std::fmt;

use minicbor::{Decode, Encode};
use model::{Epoch, ProcessId, Span};

use crate::held::Held;
use crate::process::chapters::Chapter;
use crate::process::packed::Packed;
use crate::process::{Process, ProcessState};
use crate::record::Event;
use crate::shelf::Shelf;

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
#[derive(Default)]
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
    /// A process that has ended, in less memory.
    Packed(Box<Packed>),
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
    /// The state of a process, without what is in chapters.
    #[n(2)]
    Process(#[n(0)] Box<ProcessState>),
}

impl fmt::Debug for State {
    /// A packed process is printed as one that is not.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::Empty => f.write_str("Empty"),
            State::Manager { epoch, leased } => f
                .debug_struct("Manager")
                .field("epoch", epoch)
                .field("leased", leased)
                .finish(),
            State::Process(process) => f.debug_tuple("Process").field(process).finish(),
            State::Packed(packed) => f.debug_tuple("Process").field(packed).finish(),
            State::Held(held) => f.debug_tuple("Held").field(held).finish(),
        }
    }
}

impl State {
    /// A process that is understood.
    pub fn process(&self) -> Option<&Process> {
        match self {
            State::Process(process) => Some(process),
            State::Packed(packed) => Some(packed.process()),
            State::Held(_) | State::Empty | State::Manager { .. } => None,
        }
    }

    /// The owner of a process, understood or held.
    pub(crate) fn owner(&self) -> Option<&str> {
        match self {
            State::Process(process) => process.owner.as_deref(),
            State::Packed(packed) => packed.summary().owner.as_deref(),
            State::Held(held) => held.owner(),
            State::Empty | State::Manager { .. } => None,
        }
    }

    /// Keeps a process that has ended in less memory, or again after it was read.
    pub(crate) fn pack(&mut self, shelf: Option<&dyn Shelf>) {
        match self {
            State::Process(process) => *self = State::Packed(Box::new(Packed::new(process, shelf))),
            State::Packed(packed) => packed.close(),
            State::Held(_) | State::Empty | State::Manager { .. } => {}
        }
    }

    /// A process that is to be changed is unpacked.
    fn unpack(&mut self) {
        *self = match std::mem::take(self) {
            State::Packed(packed) => State::Process(packed.unpack()),
            other @ (State::Process(_) | State::Held(_) | State::Empty | State::Manager { .. }) => {
                other
            }
        };
    }

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
            (State::Packed(_), event) => {
                self.unpack();
                self.apply(event);
            }
            (State::Held(held), event) => held.apply(event),
            (State::Empty | State::Manager { .. }, _) => {}
        }
    }

    /// Entries of a snapshot, about.
    pub(crate) fn weight(&self) -> usize {
        match self {
            State::Empty | State::Manager { .. } => 1,
            State::Process(process) => process.weight(),
            State::Packed(packed) => packed.weight(),
            // No snapshot of it is made: another version may understand its events.
            State::Held(_) => usize::MAX / 4,
        }
    }

    /// The snapshot, which stands for all events but the first.
    pub(crate) fn snapshot(&self) -> Snapshot {
        match self {
            State::Empty | State::Held(_) => Snapshot::Empty,
            State::Manager { epoch, leased } => Snapshot::Manager(*epoch, *leased),
            State::Process(process) => Snapshot::Process(Box::new(process.state.head())),
            State::Packed(packed) => Snapshot::Process(Box::new(packed.head())),
        }
    }

    /// The chapters that have changed since they were last taken.
    pub(crate) fn take_chapters(&mut self) -> Vec<(u32, Chapter)> {
        match self {
            State::Process(process) => process.changed.take(&process.state),
            State::Packed(packed) => packed.take_chapters(),
            State::Held(_) | State::Empty | State::Manager { .. } => Vec::new(),
        }
    }

    /// The state after a snapshot with its chapters, from the state after the first event.
    pub(crate) fn restore(self, snapshot: Snapshot, chapters: Vec<(u32, Chapter)>) -> State {
        match (self, snapshot) {
            (_, Snapshot::Manager(epoch, leased)) => State::Manager { epoch, leased },
            (State::Process(process), Snapshot::Process(state)) => {
                State::Process(Box::new(process.restore(*state, chapters)))
            }
            (State::Held(held), Snapshot::Process(state)) => {
                State::Held(Box::new(held.restore(*state)))
            }
            (founded, Snapshot::Empty | Snapshot::Process(_)) => founded,
        }
    }
}
