//! The links of one kind of peer of a manager.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use minicbor::{Decode, Encode};
use model::Mono;

use crate::inbox::Inbox;
use crate::link::{End, Key, Received, Sender, Wake, Waker};

/// The senders to peers of one kind, by their ids or numbers. The loop sends through it, and other threads attach
/// links to it.
pub struct Peers<S, K = Key>(Arc<Mutex<Ways<S, K>>>);

type Ways<S, K> = BTreeMap<K, Way<S>>;

struct Way<S> {
    sender: Sender<S>,
    /// True if something was sent since the receiver was last woken.
    is_touched: bool,
}

impl<S: Encode<()>, K: Copy + Ord + Send + Sync + 'static> Peers<S, K> {
    /// No peers yet.
    pub fn new() -> Peers<S, K> {
        Peers::default()
    }

    /// Attaches a manager to an end of a link, as peer `key`. An earlier link to that peer is
    /// closed.
    pub fn attach<R, I>(
        &self,
        end: End<S, R>,
        inbox: &Inbox<I>,
        key: K,
        received: Received<R, I, K>,
    ) where
        R: for<'b> Decode<'b, ()> + 'static,
        I: Send + 'static,
    {
        end.attach(inbox, key, received, |sender| {
            let before = self.lock().insert(
                key,
                Way {
                    sender,
                    is_touched: false,
                },
            );
            drop(before);
        });
    }

    /// Closes the link to a peer.
    pub fn cut(&self, key: K) {
        let before = self.lock().remove(&key);
        // Closing the link calls back.
        drop(before);
    }

    /// Sends a message to a peer. Without a link the message is lost, as on a connection that is
    /// down.
    pub fn send(&self, key: K, message: &S) {
        if let Some(way) = self.lock().get_mut(&key) {
            way.sender.send(message);
            way.is_touched = true;
        }
    }

    /// Wakes all peers to which something was sent.
    pub fn wake_receivers(&self) {
        self.wake_as(Wake::Call);
    }

    /// [`Peers::wake_receivers`], except that sleeping receivers of this program run in this
    /// thread. For a sender that would only wait for an answer.
    pub fn run_receivers_inline(&self) {
        self.wake_as(Wake::Lend);
    }

    fn wake_as(&self, how: Wake) {
        let touched: Vec<Waker> = self
            .lock()
            .values_mut()
            .filter_map(|way| std::mem::take(&mut way.is_touched).then(|| way.sender.waker()))
            .collect();
        for waker in touched {
            waker.wake(how);
        }
    }

    /// When [`Peers::reconnect`] is due.
    pub fn next_wakeup(&self) -> Option<Mono> {
        self.lock()
            .values()
            .filter_map(|way| way.sender.next_wakeup())
            .min()
    }

    /// Sets broken links up again.
    pub fn reconnect(&self, now: Mono) {
        for way in self.lock().values() {
            way.sender.reconnect(now);
        }
    }

    /// Closes all links.
    pub fn close(&self) {
        let ways = std::mem::take(&mut *self.lock());
        drop(ways);
    }

    fn lock(&self) -> MutexGuard<'_, Ways<S, K>> {
        // Nothing panics while it holds the lock, and the map would be whole if something did.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S, K> Default for Peers<S, K> {
    fn default() -> Peers<S, K> {
        Peers(Arc::default())
    }
}

impl<S, K> Clone for Peers<S, K> {
    fn clone(&self) -> Peers<S, K> {
        Peers(Arc::clone(&self.0))
    }
}

impl<S, K> fmt::Debug for Peers<S, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peers").finish_non_exhaustive()
    }
}
