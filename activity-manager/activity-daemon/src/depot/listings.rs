//! Listings of directories that users fetch file by file. A listing may take half a GiB while it is
//! read, so one is read at a time, and the files of recent ones are remembered.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use model::Hash;

/// Listings that are remembered: the directories that some tens of users fetch at a time.
const LISTINGS_MAX: usize = 64;

/// Bytes of the hashes of remembered listings: two of the largest, with a million files each.
const LISTINGS_BYTES_MAX: usize = 64 << 20;

/// The files of recent listings. Clones share one state.
#[derive(Clone, Default)]
pub(super) struct Listings(Arc<Shared>);

#[derive(Default)]
struct Shared {
    recent: Mutex<Recent>,
    /// Users for whom a listing is read or is the next to be.
    users: Mutex<BTreeSet<String>>,
    /// A user has left `users`.
    left: Condvar,
    /// Locked while a listing is read.
    reading: Mutex<()>,
}

impl Listings {
    /// The hashes of a listing's files in order; none if it cannot be read. `read` reads those of a
    /// listing that is not remembered. Blocks the caller while other listings are read.
    pub(super) fn files(
        &self,
        user: &str,
        listing: Hash,
        read: impl FnOnce() -> Option<Vec<Hash>>,
    ) -> Option<Arc<[Hash]>> {
        if let Some(files) = self.recent(listing) {
            return Some(files);
        }
        // The turn ends after the lock is released.
        let _turn = self.0.turn_of(user);
        let _reading = lock(&self.0.reading);
        // Another transfer may have read it meanwhile.
        if let Some(files) = self.recent(listing) {
            return Some(files);
        }
        let mut files = read()?;
        files.sort_unstable();
        files.dedup();
        let files: Arc<[Hash]> = files.into();
        lock(&self.0.recent).add(listing, Arc::clone(&files));
        Some(files)
    }

    fn recent(&self, listing: Hash) -> Option<Arc<[Hash]>> {
        lock(&self.0.recent).get(listing)
    }
}

impl fmt::Debug for Listings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listings").finish_non_exhaustive()
    }
}

impl Shared {
    /// Waits for the turn of a user. One transfer of each user waits for the lock, so that a user
    /// with many listings to be read does not keep others waiting for all of them.
    fn turn_of<'a>(&'a self, user: &'a str) -> Turn<'a> {
        let has_turn = |users: &mut BTreeSet<String>| users.contains(user);
        let waited = self.left.wait_while(lock(&self.users), has_turn);
        let mut users = waited.unwrap_or_else(PoisonError::into_inner);
        users.insert(user.to_owned());
        Turn { shared: self, user }
    }
}

/// The turn of a user, which ends on drop.
struct Turn<'a> {
    shared: &'a Shared,
    user: &'a str,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        lock(&self.shared.users).remove(self.user);
        self.shared.left.notify_all();
    }
}

/// The remembered listings and the hashes of their files, the least recently used one first.
#[derive(Default)]
struct Recent(Vec<(Hash, Arc<[Hash]>)>);

impl Recent {
    fn add(&mut self, listing: Hash, files: Arc<[Hash]>) {
        self.0.push((listing, files));
        while self.0.len() > LISTINGS_MAX || self.bytes() > LISTINGS_BYTES_MAX {
            self.0.remove(0);
        }
    }

    fn get(&mut self, listing: Hash) -> Option<Arc<[Hash]>> {
        let at = self.0.iter().position(|(other, _)| *other == listing)?;
        let found = self.0.remove(at);
        let files = Arc::clone(&found.1);
        self.0.push(found);
        Some(files)
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(|(_, files)| size_of_val(&**files)).sum()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whoever panics while it holds one of these locks leaves nothing half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
