//! The queue before a core: many senders, one receiver, and a bound on inputs and bytes. The
//! receiver sleeps only here, so everything that must wake it goes through this queue.
//!
//! The receiver is a loop with a thread of its own. A sender with nothing else to do may run the
//! receiver's loop on its own thread ([`Inbox::tell_inline`]), which saves a context switch, about
//! the cost of a step. The lock of the queue guards the choice of the running thread, so that
//! exactly one runs the loop and no input is overlooked.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use machine::{Lane, Lanes};
use model::{Mono, Span};
use thiserror::Error;

use crate::clock;
use crate::limits::{INBOX_BYTES_MAX, INBOX_INPUTS_MAX, INBOX_URGENT_MAX};
use crate::store::Committed;

/// Decodes an input from a message's bytes, in the receiver's thread; none if they are no message.
pub(crate) type Opener<I> = Arc<dyn Fn(&[u8]) -> Option<I> + Send + Sync>;

/// Creates an empty queue: the sender, which can be cloned, and the receiver.
pub fn inbox<I>() -> (Inbox<I>, InputReceiver<I>) {
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            items: Lanes::default(),
            bytes: 0,
            committed: None,
            is_closed: false,
            is_running: true,
            is_called: false,
            condition: WaitCondition {
                n_inputs_max: 0,
                until: Until::Something,
            },
            asleep: None,
            n_senders_asleep: 0,
            n_looks: 0,
        }),
        filled: Condvar::new(),
        emptied: Condvar::new(),
        turns: OnceLock::new(),
    });
    (
        Inbox(Arc::clone(&shared)),
        InputReceiver {
            shared,
            taken: Vec::new(),
        },
    )
}

/// The sender of a core's inputs.
pub struct Inbox<I>(Arc<Shared<I>>);

/// The receiver of a core's inputs.
pub struct InputReceiver<I> {
    shared: Arc<Shared<I>>,
    taken: Vec<(Lane, Item<I>)>,
}

/// Why an input was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// The queue is full.
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
    turns: OnceLock<Weak<dyn Turns>>,
}

struct State<I> {
    items: Lanes<Item<I>>,
    bytes: usize,
    committed: Option<Committed>,
    is_closed: bool,
    /// Some thread runs the loop, or is about to.
    is_running: bool,
    /// The loop's own thread has been woken and has not looked yet.
    is_called: bool,
    /// The condition under which the loop goes on, set when it last left.
    condition: WaitCondition,
    /// The deadline of the own thread's sleep, if it sleeps.
    asleep: Option<Until>,
    n_senders_asleep: usize,
    /// The number of times that the loop has looked for inputs.
    n_looks: u64,
}

/// The state of a loop at a moment, to compare with a later moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulse {
    n_looks: u64,
    is_idle: bool,
}

impl Pulse {
    /// Returns true if the loop has nothing to do, or has looked for inputs since an earlier moment. A loop
    /// that is stuck in a step, and one that nobody wakes although inputs wait or a timer is over, does not.
    /// The exception is a loop that waits for its journal, which is idle: a restart mends no disk.
    pub fn goes_on_since(self, earlier: Pulse) -> bool {
        self.is_idle || self.n_looks != earlier.n_looks
    }
}

/// A loop that any thread may run. It leaves the queue by [`InputReceiver::take`] or
/// [`InputReceiver::leave`].
pub(crate) trait Turns: Send + Sync {
    /// Handles the waiting inputs, in a bounded number of turns.
    fn run(&self);
}

enum Item<I> {
    Ready(I),
    Sealed(Vec<u8>, Opener<I>),
}

impl<I> Inbox<I> {
    /// Sends one input if there is room, and wakes the core.
    pub fn try_send(&self, input: I) -> Result<(), Refused> {
        let mut state = self.0.lock();
        state.room(Lane::Peers, 0)?;
        state.items.push(Lane::Peers, Item::Ready(input));
        self.0.wake(state);
        Ok(())
    }

    /// Sends one input even if the queue is full. Only for inputs that must arrive and whose number
    /// is bounded elsewhere, such as the ups and downs of links.
    pub fn tell(&self, input: I) {
        self.tell_all([input]);
    }

    /// [`Inbox::tell`] for several inputs with one wake-up. For threads that carry out effects,
    /// whose inputs are bounded by the core's requests: if such a thread waited for the core while
    /// the core waited for it, both would wait for ever.
    pub fn tell_all(&self, inputs: impl IntoIterator<Item = I>) {
        let mut state = self.0.lock();
        if !state.is_closed {
            state.add(Lane::Peers, inputs);
            self.0.wake(state);
        }
    }

    /// [`Inbox::tell`] for what a core must know before it takes anything else up. Clients take turns with all
    /// others, so one that asks before the loop has looked would else be answered between two things told.
    pub fn tell_first(&self, input: I) {
        let mut state = self.0.lock();
        if !state.is_closed {
            state.add(Lane::Urgent, [input]);
            self.0.wake(state);
        }
    }

    /// [`Inbox::tell`] for what must come after the requests of a client.
    pub(crate) fn tell_of_client(&self, input: I) {
        let mut state = self.0.lock();
        if !state.is_closed {
            state.add(Lane::Clients, [input]);
            self.0.wake(state);
        }
    }

    /// [`Inbox::tell_all`], after which the core's loop runs in this thread if the core sleeps. For
    /// readers that would only wait for the result.
    pub fn tell_inline(&self, inputs: impl IntoIterator<Item = I>) {
        let mut state = self.0.lock();
        if !state.is_closed {
            state.add(Lane::Peers, inputs);
            self.0.run(state);
        }
    }

    /// Sends inputs of a client in order and waits while many inputs of clients wait. For readers of
    /// their connections, which thereby stop reading.
    pub fn send_all(&self, inputs: impl IntoIterator<Item = I>) -> Result<(), Refused> {
        let mut state = self.0.lock();
        for input in inputs {
            while let Err(refused) = state.room(Lane::Clients, 0) {
                if refused == Refused::Closed {
                    return Err(refused);
                }
                state.n_senders_asleep += 1;
                if state.calls() {
                    self.0.filled.notify_one();
                }
                state = wait(&self.0.emptied, state);
                state.n_senders_asleep -= 1;
            }
            state.items.push(Lane::Clients, Item::Ready(input));
        }
        self.0.wake(state);
        Ok(())
    }

    /// Returns true if the core still takes inputs.
    pub fn is_open(&self) -> bool {
        !self.0.lock().is_closed
    }

    /// The pulse of the loop now.
    pub fn pulse(&self) -> Pulse {
        let state = self.0.lock();
        Pulse {
            n_looks: state.n_looks,
            is_idle: !state.is_running && !state.has_work(),
        }
    }

    /// Queues a message without waking the core; [`Inbox::wake`] must follow.
    pub(crate) fn offer(
        &self,
        lane: Lane,
        bytes: Vec<u8>,
        open: &Opener<I>,
    ) -> Result<(), Refused> {
        let mut state = self.0.lock();
        state.room(lane, bytes.len())?;
        state.bytes += bytes.len();
        let sealed = Item::Sealed(bytes, Arc::clone(open));
        state.items.push(lane, sealed);
        Ok(())
    }

    /// Returns true if the queue is less than half full of messages of links.
    pub(crate) fn has_drained(&self) -> bool {
        let state = self.0.lock();
        let n_inputs = state.items.len_of(Lane::Peers);
        n_inputs < INBOX_INPUTS_MAX / 2 && state.bytes < INBOX_BYTES_MAX / 2
    }

    /// The number of inputs that wait.
    pub(crate) fn len(&self) -> usize {
        self.0.lock().items.len()
    }

    /// Wakes the core if it sleeps and has inputs.
    pub(crate) fn wake(&self) {
        self.0.wake(self.0.lock());
    }

    /// [`Inbox::wake`], but the loop of a sleeping core runs in this thread.
    pub(crate) fn run(&self) {
        self.0.run(self.0.lock());
    }

    /// Sets the loop that senders may run inline.
    pub(crate) fn run_inline_with(&self, turns: Weak<dyn Turns>) {
        let is_first = self.0.turns.set(turns).is_ok();
        debug_assert!(is_first, "a queue has one loop");
    }

    /// Sleeps until there is work that no other thread does, and takes the loop over. For the
    /// loop's own thread, after the loop was left.
    pub(crate) fn enter(&self) {
        let mut state = self.0.lock();
        loop {
            state.is_called = false;
            if !state.is_running && state.has_work() {
                state.is_running = true;
                state.asleep = None;
                return;
            }
            // The thread that runs the loop sets the next deadline.
            let until = match state.condition.until {
                until if !state.is_running => until,
                Until::Awake | Until::At(_) | Until::Something => Until::Something,
            };
            state.asleep = Some(until);
            state = match until {
                Until::Awake => continue,
                Until::Something => wait(&self.0.filled, state),
                Until::At(at) => {
                    let patience = Duration::from_micros(at.since(clock::mono()).0);
                    let slept = self.0.filled.wait_timeout(state, patience);
                    slept.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Leaves a loop that is to end to its own thread.
    pub(crate) fn give_up(&self) {
        self.0.leave(self.0.lock());
    }

    /// Closes the queue: the core ends after the inputs that it has taken.
    pub(crate) fn close(&self) {
        let mut state = self.0.lock();
        state.is_closed = true;
        state.items.clear();
        state.bytes = 0;
        drop(state);
        self.0.filled.notify_all();
        self.0.emptied.notify_all();
    }

    /// Returns a journal to the loop.
    pub(crate) fn give_back(&self, committed: Committed) {
        let mut state = self.0.lock();
        state.committed = Some(committed);
        drop(state);
        // The running loop may wait for it.
        self.0.filled.notify_one();
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

/// The condition under which the loop goes on.
#[derive(Clone, Copy)]
pub(crate) struct WaitCondition {
    /// Maximum number of inputs to take; 0 ignores inputs.
    pub(crate) n_inputs_max: usize,
    /// When to go on without inputs.
    pub(crate) until: Until,
}

/// The time for which the loop sleeps without inputs.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    Awake,
    At(Mono),
    Something,
}

/// The result of looking into the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// There is work.
    Work,
    /// There is no work. The loop is left for the next thread that takes it.
    Nothing,
    /// The queue is closed and has nothing more.
    End,
}

impl<I> InputReceiver<I> {
    /// The next input, for a program without a loop. None if none comes within this time, or the
    /// queue is closed.
    pub fn next_within(&mut self, patience: Span) -> Option<I> {
        let deadline = clock::mono() + patience;
        self.leave(WaitCondition {
            n_inputs_max: 1,
            until: Until::At(deadline),
        });
        Inbox(Arc::clone(&self.shared)).enter();
        let condition = WaitCondition {
            n_inputs_max: 1,
            until: Until::Awake,
        };
        let mut inputs = Lanes::default();
        self.take(condition, &mut inputs, &mut None);
        inputs.pop().map(|(_, input)| input)
    }

    /// Takes inputs, and the journal if it was returned. Leaves the loop if there is nothing to do.
    /// Urgent inputs are taken whatever the condition says of inputs.
    pub(crate) fn take(
        &mut self,
        condition: WaitCondition,
        inputs: &mut Lanes<I>,
        committed: &mut Option<Committed>,
    ) -> Taken {
        let mut state = self.shared.lock();
        state.condition = condition;
        state.n_looks += 1;
        if !state.has_work() {
            self.shared.leave(state);
            return Taken::Nothing;
        }
        *committed = state.committed.take();
        while let Some(item) = state.items.pop_from(Lane::Urgent) {
            self.taken.push((Lane::Urgent, item));
        }
        for _ in 0..condition.n_inputs_max {
            let Some(next) = state.items.pop() else {
                break;
            };
            self.taken.push(next);
        }
        for (_, item) in &self.taken {
            if let Item::Sealed(bytes, _) = item {
                state.bytes = state.bytes.saturating_sub(bytes.len());
            }
        }
        let n_of_clients = state.items.len_of(Lane::Clients);
        if state.n_senders_asleep > 0 && n_of_clients < INBOX_INPUTS_MAX / 2 {
            self.shared.emptied.notify_all();
        }
        let taken = if state.is_closed {
            Taken::End
        } else {
            Taken::Work
        };
        drop(state);
        for (lane, item) in self.taken.drain(..) {
            let input = match item {
                Item::Ready(input) => Some(input),
                Item::Sealed(bytes, open) => open(&bytes),
            };
            if let Some(input) = input {
                inputs.push(lane, input);
            }
        }
        taken
    }

    /// Leaves the loop to its own thread, whether or not there is work.
    pub(crate) fn leave(&self, condition: WaitCondition) {
        let mut state = self.shared.lock();
        state.condition = condition;
        self.shared.leave(state);
    }

    /// Sleeps until the journal is returned, whatever else comes.
    pub(crate) fn wait_for_journal(&self) -> Committed {
        let mut state = self.shared.lock();
        loop {
            if let Some(committed) = state.committed.take() {
                return committed;
            }
            state = wait(&self.shared.filled, state);
        }
    }

    /// Returns true if no input waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.shared.lock().items.is_empty()
    }
}

impl<I> Drop for InputReceiver<I> {
    fn drop(&mut self) {
        Inbox(Arc::clone(&self.shared)).close();
    }
}

impl<I> State<I> {
    /// Returns true if the wait condition of the loop is met.
    fn has_work(&self) -> bool {
        let is_due = match self.condition.until {
            Until::Awake => true,
            Until::At(at) => at <= clock::mono(),
            Until::Something => false,
        };
        let has_inputs = self.condition.n_inputs_max > 0 && !self.items.is_empty();
        has_inputs || self.committed.is_some() || self.is_closed || is_due
    }

    /// Returns true if the loop's own thread must be woken, and marks it as woken.
    fn calls(&mut self) -> bool {
        let calls = !self.is_running && !self.is_called && self.has_work();
        self.is_called |= calls;
        calls
    }

    fn add(&mut self, lane: Lane, inputs: impl IntoIterator<Item = I>) {
        for input in inputs {
            self.items.push(lane, Item::Ready(input));
        }
    }

    fn room(&self, lane: Lane, bytes: usize) -> Result<(), Refused> {
        if self.is_closed {
            return Err(Refused::Closed);
        }
        let n_inputs_max = match lane {
            Lane::Urgent => INBOX_URGENT_MAX,
            Lane::Peers | Lane::Clients => INBOX_INPUTS_MAX,
        };
        // Urgent messages are short, and their number is bounded.
        let is_short = self.bytes + bytes <= INBOX_BYTES_MAX || self.bytes == 0;
        let fits = is_short || lane == Lane::Urgent;
        if self.items.len_of(lane) < n_inputs_max && fits {
            Ok(())
        } else {
            Err(Refused::Full)
        }
    }
}

impl<I> Shared<I> {
    fn lock(&self) -> MutexGuard<'_, State<I>> {
        // Nothing panics while it holds the lock, and the queue would stay consistent if something
        // did.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, mut state: MutexGuard<'_, State<I>>) {
        let calls = state.calls();
        drop(state);
        if calls {
            self.filled.notify_one();
        }
    }

    /// Runs the loop in this thread if no other thread does and a loop was set.
    fn run(&self, mut state: MutexGuard<'_, State<I>>) {
        match self.turns.get().and_then(Weak::upgrade) {
            Some(turns) if !state.is_running && state.has_work() => {
                state.is_running = true;
                drop(state);
                turns.run();
            }
            Some(_) | None => self.wake(state),
        }
    }

    /// Leaves the loop. Wakes its own thread if there is work, or if it would sleep too long.
    fn leave(&self, mut state: MutexGuard<'_, State<I>>) {
        state.is_running = false;
        let sleeps_too_long = match (state.condition.until, state.asleep) {
            (Until::At(at), Some(Until::At(until))) => at < until,
            (Until::At(_), Some(Until::Something)) => true,
            (Until::At(_) | Until::Something | Until::Awake, _) => false,
        };
        let calls = state.calls() || sleeps_too_long;
        drop(state);
        if calls {
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
