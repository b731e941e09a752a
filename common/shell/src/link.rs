//! A link between two managers of one program. It carries encoded messages, so that nothing crosses
//! it that could not cross a network, and it goes down if a receiver does not keep up, as a
//! connection would.

mod carrier;

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use machine::Lane;
use minicbor::{Decode, Encode};
use model::Mono;

use crate::clock;
use crate::inbox::{Inbox, Opener, Refused};
use crate::limits::LINK_PAUSE;

pub(crate) use carrier::{Bringer, Carry};

/// Creates the two ends of a link. The first end sends `A` and receives `B`.
pub fn link<A, B>() -> (End<A, B>, End<B, A>) {
    let wire = Arc::new(Wire {
        ends: [OnceLock::new(), OnceLock::new()],
        state: AtomicU8::new(State::Joining as u8),
        broken_at: AtomicU64::new(0),
    });
    let end = |side| End {
        wire: Arc::clone(&wire),
        side,
        messages: PhantomData,
    };
    (
        end(0),
        End {
            wire: Arc::clone(&wire),
            side: 1,
            messages: PhantomData,
        },
    )
}

/// An end of a link to which no manager is attached.
pub struct End<S, R> {
    wire: Arc<Wire>,
    side: usize,
    messages: PhantomData<fn(S) -> R>,
}

/// The inputs that a manager makes of a link's events.
pub struct Received<R, I, K = Key> {
    /// A message came.
    pub message: fn(K, R) -> I,
    /// The link can be used.
    pub up: fn(K) -> I,
    /// The link cannot be used; messages may have been lost.
    pub down: fn(K) -> I,
    /// The lane of an encoded message.
    pub lane: fn(&[u8]) -> Lane,
}

/// The lane of a link whose messages all wait for their turn.
pub fn in_turn(_: &[u8]) -> Lane {
    Lane::Peers
}

/// The number of a link in its manager, where its peers have no ids.
pub type Key = u32;

/// The thread in which the receiver handles sent messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// The receiver's own thread.
    Call,
    /// The sender's thread, if the receiver sleeps and is in this program: for senders that would
    /// only wait for an answer.
    Lend,
}

/// The sender to the other end. Dropping it closes the link.
pub struct Sender<S> {
    wire: Arc<Wire>,
    side: usize,
    messages: PhantomData<fn(S)>,
}

/// Wakes the receiver of a sender.
pub(crate) struct Waker {
    wire: Arc<Wire>,
    side: usize,
}

impl Waker {
    /// Makes the receiver look at its queue.
    pub(crate) fn wake(&self, how: Wake) {
        if let Some(end) = self.wire.ends[1 - self.side].get() {
            end.wake(how);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Joining,
    Up,
    Broken,
    Closed,
}

struct Wire {
    ends: [OnceLock<Box<dyn Attached>>; 2],
    state: AtomicU8,
    broken_at: AtomicU64,
}

/// A manager at one end.
trait Attached: Send + Sync {
    fn offer(&self, bytes: Vec<u8>) -> Result<(), Refused>;
    fn wake(&self, how: Wake);
    fn up(&self);
    fn down(&self);
    fn has_drained(&self) -> bool;
}

struct Manager<R, I, K> {
    inbox: Inbox<I>,
    key: K,
    received: Received<R, I, K>,
    open: Opener<I>,
    lane: fn(&[u8]) -> Lane,
}

impl<S, R> End<S, R>
where
    S: Encode<()>,
    R: for<'b> Decode<'b, ()> + 'static,
{
    /// Attaches a manager to this end. `keep` receives the sender to the other end before anything
    /// arrives here. The link is up once both ends have managers.
    pub fn attach<I: Send + 'static, K: Copy + Send + Sync + 'static>(
        self,
        inbox: &Inbox<I>,
        key: K,
        received: Received<R, I, K>,
        keep: impl FnOnce(Sender<S>),
    ) {
        let message = received.message;
        let open: Opener<I> = Arc::new(move |bytes| match wire::decode::<R>(bytes) {
            Ok(decoded) => Some(message(key, decoded)),
            Err(error) => {
                tracing::error!(%error, "a message inside the program could not be read");
                None
            }
        });
        let End { wire, side, .. } = self;
        keep(Sender {
            wire: Arc::clone(&wire),
            side,
            messages: PhantomData,
        });
        let manager = Manager {
            inbox: inbox.clone(),
            key,
            lane: received.lane,
            received,
            open,
        };
        let is_first = wire.ends[side].set(Box::new(manager)).is_ok();
        debug_assert!(is_first, "an end is given away when it is attached");
        if wire.ends[1 - side].get().is_some() && wire.change(State::Joining, State::Up) {
            wire.tell(|end| end.up());
        }
    }
}

impl<S: Encode<()>> Sender<S> {
    /// Sends a message if the link is up. `Sender::waker` wakes the receiver, once for all
    /// messages of a batch.
    pub fn send(&self, message: &S) {
        if self.wire.state() != State::Up {
            return;
        }
        let Some(end) = self.wire.ends[1 - self.side].get() else {
            return;
        };
        match end.offer(wire::encode(message)) {
            Ok(()) => {}
            Err(Refused::Full) => {
                self.wire
                    .broken_at
                    .store(clock::mono().0, Ordering::Release);
                if self.wire.change(State::Up, State::Broken) {
                    tracing::warn!("a link is down: its receiver does not keep up");
                    self.wire.tell(|end| end.down());
                }
            }
            Err(Refused::Closed) => self.wire.close(self.side),
        }
    }

    /// The waker of the receiver.
    pub(crate) fn waker(&self) -> Waker {
        Waker {
            wire: Arc::clone(&self.wire),
            side: self.side,
        }
    }

    /// When [`Sender::reconnect`] is due, if the link is down.
    pub fn next_wakeup(&self) -> Option<Mono> {
        let broken_at = Mono(self.wire.broken_at.load(Ordering::Acquire));
        (self.wire.state() == State::Broken).then(|| broken_at + LINK_PAUSE)
    }

    /// Sets a broken link up again once its receivers have drained their queues.
    pub fn reconnect(&self, now: Mono) {
        if self.next_wakeup().is_none_or(|due| now < due) {
            return;
        }
        let ends = self.wire.ends.iter().filter_map(OnceLock::get);
        if !ends.into_iter().all(|end| end.has_drained()) {
            self.wire.broken_at.store(now.0, Ordering::Release);
        } else if self.wire.change(State::Broken, State::Up) {
            self.wire.tell(|end| end.up());
        }
    }
}

impl<S> Drop for Sender<S> {
    fn drop(&mut self) {
        self.wire.close(self.side);
    }
}

impl Wire {
    fn state(&self) -> State {
        match self.state.load(Ordering::Acquire) {
            0 => State::Joining,
            1 => State::Up,
            2 => State::Broken,
            3.. => State::Closed,
        }
    }

    /// Returns true if this call made the change.
    fn change(&self, from: State, to: State) -> bool {
        let (from, to) = (from as u8, to as u8);
        self.state
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    fn tell(&self, what: impl Fn(&dyn Attached)) {
        for end in self.ends.iter().filter_map(OnceLock::get) {
            what(&**end);
        }
    }

    /// Closes the link for both ends and notifies the other side.
    fn close(&self, side: usize) {
        let before = self.state.swap(State::Closed as u8, Ordering::AcqRel);
        if before == State::Up as u8
            && let Some(other) = self.ends[1 - side].get()
        {
            other.down();
        }
    }
}

impl<R, I: Send, K: Copy + Send + Sync> Attached for Manager<R, I, K> {
    fn offer(&self, bytes: Vec<u8>) -> Result<(), Refused> {
        self.inbox.offer((self.lane)(&bytes), bytes, &self.open)
    }

    fn wake(&self, how: Wake) {
        match how {
            Wake::Call => self.inbox.wake(),
            Wake::Lend => self.inbox.run(),
        }
    }

    fn up(&self) {
        self.inbox.tell((self.received.up)(self.key));
    }

    fn down(&self) {
        self.inbox.tell((self.received.down)(self.key));
    }

    fn has_drained(&self) -> bool {
        self.inbox.has_drained()
    }
}

#[cfg(test)]
mod tests;
