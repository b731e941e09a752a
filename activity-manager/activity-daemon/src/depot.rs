//! A blob store as the depot of transfers.

mod listings;

use std::fs::File;
use std::io;

use activity_blobs::{ArriveError, ReadError, Store};
use model::{Hash, Role};
use shell::quic::{Arrival, Arriving, Asked, Depot, Received};
use wire::attempt::Access;
use wire::bulk::Refusal;

use self::listings::Listings;
use crate::access::Gate;
use crate::uploads::{Room, Uploads};

/// A store that transfers read and fill.
#[derive(Clone, Debug)]
pub struct StoreDepot {
    store: Store,
    keeping: Keeping,
    users: Option<Users>,
    listings: Listings,
}

/// The permissions and uploads of users.
#[derive(Clone, Debug)]
pub(crate) struct Users {
    /// The permissions.
    pub(crate) gate: Gate,
    /// Their uploads.
    pub(crate) uploads: Uploads,
}

/// The durability of received blobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeping {
    /// A blob is durable before its receipt is confirmed.
    Durably,
    /// A blob may be lost in a power cut: another machine has it too.
    AsCopy,
}

/// A blob that is being received into the store.
struct Coming {
    depot: StoreDepot,
    blob: activity_blobs::Arriving,
    /// The room that a user's upload takes.
    room: Option<Room>,
}

impl StoreDepot {
    /// A depot over a store.
    pub fn new(store: Store, keeping: Keeping) -> StoreDepot {
        StoreDepot {
            store,
            keeping,
            users: None,
            listings: Listings::default(),
        }
    }

    /// A depot that serves users only files of own processes, and limits their uploads.
    pub(crate) fn with_users(store: Store, keeping: Keeping, users: Users) -> StoreDepot {
        StoreDepot {
            users: Some(users),
            ..StoreDepot::new(store, keeping)
        }
    }

    /// Returns true if a user may have a blob that is here. The cheap questions come first: a listing
    /// is read only for a user who may have it.
    fn may_have(&self, users: &Users, asked: &Asked) -> bool {
        let Some(of) = asked.of.filter(|_| self.store.contains(asked.hash)) else {
            return false;
        };
        let access = Access {
            user: asked.peer.to_string(),
            process: of.process,
            artifact: of.artifact,
        };
        users.gate.allows(&access) && self.belongs(asked.hash, &access)
    }

    /// Returns true if a blob is the artifact of a user, or is listed in it.
    fn belongs(&self, hash: Hash, access: &Access) -> bool {
        let artifact = access.artifact;
        if hash == artifact {
            return true;
        }
        let read = || {
            let listing = self.store.listing(artifact).ok()?;
            Some(listing.files().map(|(_, file)| file.hash).collect())
        };
        let files = self.listings.files(&access.user, artifact, read);
        files.is_some_and(|files| files.binary_search(&hash).is_ok())
    }

    /// A file that a user or another machine has put here may be needed by anybody. Whoever has fetched one
    /// says for whom.
    fn share(&self, hash: Hash) {
        match self.keeping {
            Keeping::Durably => self.store.share_blob(hash),
            Keeping::AsCopy => {}
        }
    }

    fn settle(&self) -> io::Result<()> {
        match self.keeping {
            Keeping::Durably => self.store.flush().map_err(io::Error::other),
            Keeping::AsCopy => Ok(()),
        }
    }
}

impl Depot for StoreDepot {
    fn open(&self, hash: Hash) -> io::Result<Option<(File, u64)>> {
        match self.store.open_sound(hash) {
            Ok((file, bytes)) => Ok(Some((file, bytes.0))),
            Err(ReadError::Missing { .. }) => Ok(None),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    fn receive(&self, hash: Hash) -> io::Result<Option<Box<dyn Arriving>>> {
        if self.store.contains(hash) {
            self.share(hash);
            self.settle()?;
            return Ok(None);
        }
        let blob = self.store.receive(hash).map_err(of_system)?;
        let (depot, room) = (self.clone(), None);
        Ok(Some(Box::new(Coming { depot, blob, room })))
    }

    fn open_for(&self, asked: &Asked) -> io::Result<Option<(File, u64)>> {
        let is_user = asked.peer.role() == Role::User;
        let users = self.users.as_ref().filter(|_| is_user);
        if users.is_some_and(|users| !self.may_have(users, asked)) {
            return Ok(None);
        }
        self.open(asked.hash)
    }

    fn receive_from(&self, asked: &Asked, bytes: u64) -> io::Result<Received> {
        let is_user = asked.peer.role() == Role::User;
        let Some(users) = self.users.as_ref().filter(|_| is_user) else {
            return Ok(match self.receive(asked.hash)? {
                Some(arriving) => Received::Coming(arriving),
                None => Received::Here,
            });
        };
        let Some(of) = asked.of else {
            return Ok(Received::Refused(Refusal::Unannounced));
        };
        let user = asked.peer.to_string();
        // The file is pinned before this ends.
        let hold = self.store.hold();
        if self.store.open_sound(asked.hash).is_ok() {
            self.share(asked.hash);
            self.settle()?;
            // One for which there is no room stays as others that nobody uses do.
            if let Ok(room) = users.uploads.admit(&user, asked.hash, bytes, of) {
                room.was_here();
            }
            return Ok(Received::Here);
        }
        drop(hold);
        let room = match users.uploads.admit(&user, asked.hash, bytes, of) {
            Ok(room) => Some(room),
            Err(refusal) => return Ok(Received::Refused(refusal)),
        };
        let blob = self.store.receive(asked.hash).map_err(of_system)?;
        let depot = self.clone();
        Ok(Received::Coming(Box::new(Coming { depot, blob, room })))
    }
}

impl Arriving for Coming {
    fn bytes(&self) -> u64 {
        self.blob.bytes()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.blob.write(bytes).map_err(of_system)
    }

    fn finish(self: Box<Self>) -> io::Result<Arrival> {
        let Coming { depot, blob, room } = *self;
        let hash = blob.hash();
        // The file is pinned before this ends, if a user has uploaded it.
        let _hold = depot.store.hold();
        match blob.finish() {
            Ok(()) => {
                depot.share(hash);
                depot.settle()?;
                if let Some(room) = room {
                    room.has_come();
                }
                Ok(Arrival::Sound)
            }
            Err(ArriveError::Corrupt { .. }) => Ok(Arrival::Corrupt),
            Err(error @ ArriveError::Write { .. }) => Err(of_system(error)),
        }
    }
}

/// The kind of an error is sent to the other side.
fn of_system(error: ArriveError) -> io::Error {
    match error {
        ArriveError::Write { source, .. } => source,
        error @ ArriveError::Corrupt { .. } => io::Error::other(error),
    }
}

#[cfg(test)]
mod tests;
