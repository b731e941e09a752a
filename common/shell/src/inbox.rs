//! The queue before a core: many senders, one receiver, a bound on inputs and bytes. The receiver
//! sleeps here and nowhere else, so everything that may wake it comes this way.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::{Mono, Span};
use thiserror::Error;

use crate::clock;
use crate::limits::{INBOX_BYTES_MAX, INBOX_INPUTS_MAX};
use crate::store::Committed;

/// Makes an input of a message's bytes, in the receiver's thread; none where they are no message.
pub(crate) type Opener<I> = Arc<dyn Fn(&[u8]) -> Option<I> + Send + Sync>;

/// An empty queue: the end to send to, which may be cloned, and the end to take from.
pub fn inbox<I>() -> (Inbox<I>, Intake<I>) {
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            items: VecDeque::new(),
            bytes: 0,
            committed: None,
            is_closed: false,
            receiver_sleeps: false,
            n_senders_asleep: 0,
        }),
        filled: Condvar::new(),
        emptied: Condvar::new(),
    });
    (
        Inbox(Arc::clone(&shared)),
        Intake {
            shared,
            taken: Vec::new(),
        },
    )
}

/// Where inputs of a core are sent.
pub struct Inbox<I>(Arc<Shared<I>>);

/// Where a core's loop takes its inputs from.
pub struct Intake<I> {
    shared: Arc<Shared<I>>,
    taken: Vec<Item<I>>,
}

/// Why an input was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// Too many wait.
    #[error("could not send to a manager: {INBOX_INPUTS_MAX} inputs wait there")]
    Full,
    /// The core has stopped.
    #[error("could not send to a manager: it has stopped")]
    Closed,
}

struct Shared<I> {
    state: Mutex<State<I>>,
    filled: Condvar,
    emptied: Condvar,
}

struct State<I> {
    items: VecDeque<Item<I>>,
    bytes: usize,
    committed: Option<Committed>,
    is_closed: bool,
    receiver_sleeps: bool,
    n_senders_asleep: usize,
}

enum Item<I> {
    Ready(I),
    Sealed(Vec<u8>, Opener<I>),
}

impl<I> Inbox<I> {
    /// Sends one input, where there is room, and wakes the core.
    pub fn try_send(&self, input: I) -> Result<(), Refused> {
        let mut state = self.0.lock();
        state.room(0)?;
        state.items.push_back(Item::Ready(input));
        self.0.wake(state);
        Ok(())
    }

    /// Sends one input whatever waits there. For the few that must arrive and whose number is
    /// bounded by something else, such as the ups and downs of links.
    pub fn tell(&self, input: I) {
        self.tell_all([input]);
    }

    /// As [`Inbox::tell`], for several with one waking. For whoever does what the core has asked
    /// for, whose answers are bounded by the core's own questions: if it waited for the core, and
    /// the core for it, both would wait for ever.
    pub fn tell_all(&self, inputs: impl IntoIterator<Item = I>) {
        let mut state = self.0.lock();
        if !state.is_closed {
            state.items.extend(inputs.into_iter().map(Item::Ready));
            self.0.wake(state);
        }
    }

    /// Sends inputs in their order, and waits where there is no room. For readers, which stop
    /// reading that way.
    pub fn send_all(&self, inputs: impl IntoIterator<Item = I>) -> Result<(), Refused> {
        let mut state = self.0.lock();
        for input in inputs {
            while let Err(refused) = state.room(0) {
                if refused == Refused::Closed {
                    return Err(refused);
                }
                state.n_senders_asleep += 1;
                if state.receiver_sleeps {
                    self.0.filled.notify_one();
                }
                state = wait(&self.0.emptied, state);
                state.n_senders_asleep -= 1;
            }
            state.items.push_back(Item::Ready(input));
        }
        self.0.wake(state);
        Ok(())
    }

    /// Whether a core is still there to take inputs.
    pub fn is_open(&self) -> bool {
        !self.0.lock().is_closed
    }

    /// Queues a message without waking the core: [`Inbox::wake`] follows.
    pub(crate) fn offer(&self, bytes: Vec<u8>, open: &Opener<I>) -> Result<(), Refused> {
        let mut state = self.0.lock();
        state.room(bytes.len())?;
        state.bytes += bytes.len();
        state.items.push_back(Item::Sealed(bytes, Arc::clone(open)));
        Ok(())
    }

    /// Whether there is much room.
    pub(crate) fn has_drained(&self) -> bool {
        let state = self.0.lock();
        state.items.len() < INBOX_INPUTS_MAX / 2 && state.bytes < INBOX_BYTES_MAX / 2
    }

    /// Wakes the core if it sleeps and something is there.
    pub(crate) fn wake(&self) {
        self.0.wake(self.0.lock());
    }

    /// Lets the core end after what it has taken.
    pub(crate) fn close(&self) {
        let mut state = self.0.lock();
        state.is_closed = true;
        state.items.clear();
        state.bytes = 0;
        drop(state);
        self.0.filled.notify_all();
        self.0.emptied.notify_all();
    }

    /// Gives a journal back to the loop.
    pub(crate) fn give_back(&self, committed: Committed) {
        let mut state = self.0.lock();
        state.committed = Some(committed);
        self.0.wake(state);
    }
}

impl<I> Clone for Inbox<I> {
    fn clone(&self) -> Inbox<I> {
        Inbox(Arc::clone(&self.0))
    }
}

impl<I> fmt::Debug for Inbox<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.lock();
        f.debug_struct("Inbox")
            .field("n_inputs", &state.items.len())
            .finish_non_exhaustive()
    }
}

/// What the loop is ready for.
pub(crate) struct Wish {
    /// Inputs at most.
    pub(crate) n_inputs_max: usize,
    /// Until when to sleep where nothing comes.
    pub(crate) until: Until,
}

/// How long to sleep.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    Awake,
    At(Mono),
    Something,
}

impl<I> Intake<I> {
    /// The next input, for whoever has no loop: none where nothing comes within this time, or
    /// nothing will come any more.
    pub fn next_within(&mut self, patience: Span) -> Option<I> {
        let wish = Wish {
            n_inputs_max: 1,
            until: Until::At(clock::mono() + patience),
        };
        let mut inputs = Vec::with_capacity(1);
        self.take(&wish, &mut inputs, &mut None);
        inputs.pop()
    }

    /// Takes inputs, and the journal if it has come back; sleeps where there is neither. `false`
    /// once the queue is closed and there is nothing more to take.
    pub(crate) fn take(
        &mut self,
        wish: &Wish,
        inputs: &mut Vec<I>,
        committed: &mut Option<Committed>,
    ) -> bool {
        let mut state = self.shared.lock();
        let is_open = loop {
            *committed = state.committed.take();
            let n_inputs = wish.n_inputs_max.min(state.items.len());
            self.taken.extend(state.items.drain(..n_inputs));
            if committed.is_some() || n_inputs > 0 || state.is_closed {
                break !state.is_closed;
            }
            state.receiver_sleeps = true;
            state = match wish.until {
                Until::Awake => {
                    state.receiver_sleeps = false;
                    break true;
                }
                Until::Something => wait(&self.shared.filled, state),
                Until::At(at) => {
                    let micros = at.since(clock::mono()).0;
                    if micros == 0 {
                        state.receiver_sleeps = false;
                        break true;
                    }
                    let slept = self
                        .shared
                        .filled
                        .wait_timeout(state, Duration::from_micros(micros));
                    slept.unwrap_or_else(PoisonError::into_inner).0
                }
            };
            state.receiver_sleeps = false;
        };
        for item in &self.taken {
            if let Item::Sealed(bytes, _) = item {
                state.bytes = state.bytes.saturating_sub(bytes.len());
            }
        }
        if state.n_senders_asleep > 0 && state.items.len() < INBOX_INPUTS_MAX / 2 {
            self.shared.emptied.notify_all();
        }
        drop(state);
        for item in self.taken.drain(..) {
            match item {
                Item::Ready(input) => inputs.push(input),
                Item::Sealed(bytes, open) => inputs.extend(open(&bytes)),
            }
        }
        is_open
    }

    /// Sleeps until the journal has come back, whatever else comes.
    pub(crate) fn wait_for_journal(&self) -> Committed {
        let mut state = self.shared.lock();
        loop {
            if let Some(committed) = state.committed.take() {
                state.receiver_sleeps = false;
                return committed;
            }
            state.receiver_sleeps = true;
            state = wait(&self.shared.filled, state);
        }
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.shared.lock().items.is_empty()
    }
}

impl<I> Drop for Intake<I> {
    fn drop(&mut self) {
        Inbox(Arc::clone(&self.shared)).close();
    }
}

impl<I> State<I> {
    fn room(&self, bytes: usize) -> Result<(), Refused> {
        if self.is_closed {
            return Err(Refused::Closed);
        }
        let fits = self.bytes + bytes <= INBOX_BYTES_MAX || self.bytes == 0;
        if self.items.len() < INBOX_INPUTS_MAX && fits {
            Ok(())
        } else {
            Err(Refused::Full)
        }
    }
}

impl<I> Shared<I> {
    fn lock(&self) -> MutexGuard<'_, State<I>> {
        // Nothing panics while it holds the lock, and the queue would be whole if something did.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, mut state: MutexGuard<'_, State<I>>) {
        let sleeps = std::mem::take(&mut state.receiver_sleeps);
        drop(state);
        if sleeps {
            self.filled.notify_one();
        }
    }
}

fn wait<'a, I>(condition: &Condvar, state: MutexGuard<'a, State<I>>) -> MutexGuard<'a, State<I>> {
    condition
        .wait(state)
        .unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
