//! The connected peers: one link for each manager and direction, and a bound on all links.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use model::{Epoch, Identity, Role};
use quinn::{Connection, Side};
use tokio::sync::Notify;
use wire::hello::Refusal;

use super::greeting::{Greeted, refuse};
use crate::identity::Serial;
use crate::limits::LINKS_MAX;

/// The links of a program.
#[derive(Default)]
pub(super) struct Registry {
    state: Mutex<State>,
    /// A link has ended.
    left: Notify,
}

#[derive(Default)]
struct State {
    n_entered: u64,
    entries: BTreeMap<u64, Entry>,
}

struct Entry {
    identity: Identity,
    serial: Serial,
    epoch: Epoch,
    side: Side,
    connection: Connection,
    reason: Arc<OnceLock<Refusal>>,
    farewell: Arc<Notify>,
}

/// The registration of a link, which is removed on drop.
pub(super) struct LinkRegistration {
    registry: Arc<Registry>,
    number: u64,
    reason: Arc<OnceLock<Refusal>>,
    farewell: Arc<Notify>,
}

impl LinkRegistration {
    /// The reason for which the program itself has ended the link, if it has.
    pub(super) fn reason(&self) -> Option<Refusal> {
        self.reason.get().copied()
    }

    /// Waits until the program wants the link to end in order.
    pub(super) async fn farewell(&self) {
        self.farewell.notified().await;
    }
}

impl Entry {
    fn end(&self, refusal: Refusal) {
        self.reason.get_or_init(|| refusal);
        refuse(&self.connection, refusal);
    }
}

impl Registry {
    /// Registers a link. Another link of the same manager ends first, so that its owner is told of
    /// that end before this beginning; users may have several links.
    pub(super) async fn enter(
        self: &Arc<Registry>,
        greeted: &Greeted,
    ) -> Result<LinkRegistration, Refusal> {
        let side = greeted.connection.side();
        loop {
            // Registered before the check, so that an end in between is not missed.
            let mut left = std::pin::pin!(self.left.notified());
            left.as_mut().enable();
            {
                let mut state = self.lock();
                let peer = &greeted.certificate.identity;
                let before = state.entries.values().find(|entry| {
                    peer.role().is_manager() && entry.identity == *peer && entry.side == side
                });
                match before {
                    Some(before) if before.epoch > greeted.hello.epoch => {
                        return Err(Refusal::Epoch);
                    }
                    Some(before) => before.end(Refusal::Replaced),
                    None if state.entries.len() >= LINKS_MAX => return Err(Refusal::Full),
                    None => return Ok(self.put(&mut state, greeted)),
                }
            }
            left.await;
        }
    }

    /// Ends the links whose certificate matches.
    pub(super) fn end(&self, refusal: Refusal, is_meant: impl Fn(&Identity, &Serial) -> bool) {
        let state = self.lock();
        let meant = state.entries.values();
        for entry in meant.filter(|entry| is_meant(&entry.identity, &entry.serial)) {
            entry.end(refusal);
        }
    }

    /// Asks links to end once everything sent on them has arrived.
    pub(super) fn say_farewell(&self, is_meant: impl Fn(&Identity) -> bool) {
        let state = self.lock();
        let meant = state.entries.values();
        for entry in meant.filter(|entry| is_meant(&entry.identity)) {
            entry.farewell.notify_one();
        }
    }

    /// Waits until no link is left.
    pub(super) async fn emptied(&self) {
        loop {
            let mut left = std::pin::pin!(self.left.notified());
            left.as_mut().enable();
            if self.n_links() == 0 {
                return;
            }
            left.await;
        }
    }

    pub(super) fn n_links(&self) -> usize {
        self.lock().entries.len()
    }

    /// The number of links by the role of the peer.
    pub(super) fn n_by_role(&self) -> BTreeMap<Role, usize> {
        let mut by_role = BTreeMap::new();
        for entry in self.lock().entries.values() {
            *by_role.entry(entry.identity.role()).or_default() += 1;
        }
        by_role
    }

    fn put(self: &Arc<Registry>, state: &mut State, greeted: &Greeted) -> LinkRegistration {
        let number = state.n_entered;
        state.n_entered += 1;
        let reason = Arc::default();
        let farewell = Arc::default();
        let entry = Entry {
            identity: greeted.certificate.identity.clone(),
            serial: greeted.certificate.serial.clone(),
            epoch: greeted.hello.epoch,
            side: greeted.connection.side(),
            connection: greeted.connection.clone(),
            reason: Arc::clone(&reason),
            farewell: Arc::clone(&farewell),
        };
        state.entries.insert(number, entry);
        LinkRegistration {
            registry: Arc::clone(self),
            number,
            reason,
            farewell,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LinkRegistration {
    fn drop(&mut self) {
        let entry = self.registry.lock().entries.remove(&self.number);
        drop(entry);
        self.registry.left.notify_waiters();
    }
}
