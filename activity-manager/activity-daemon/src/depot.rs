//! A blob store as others fetch from it and bring to it.

use std::fs::File;
use std::io;

use activity_blobs::{ArriveError, ReadError, Store};
use model::{Hash, Role};
use shell::quic::{Arrival, Arriving, Asked, Depot, Received};
use wire::attempt::Access;
use wire::bulk::Refusal;

use crate::access::Gate;
use crate::uploads::{Room, Uploads};

/// A store that transfers read and fill.
#[derive(Clone, Debug)]
pub struct StoreDepot {
    store: Store,
    keeping: Keeping,
    users: Option<Users>,
}

/// What users may do with a store.
#[derive(Clone, Debug)]
pub(crate) struct Users {
    /// Who may have what.
    pub(crate) gate: Gate,
    /// What they have given.
    pub(crate) uploads: Uploads,
}

/// How what comes is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeping {
    /// It is durable before anybody is told that it has come.
    Durably,
    /// It may be lost with the machine's power: somebody else has it too.
    AsCopy,
}

/// A blob on its way into the store.
struct Coming {
    depot: StoreDepot,
    blob: activity_blobs::Arriving,
    /// Of what a user gives.
    room: Option<Room>,
}

impl StoreDepot {
    /// A store and how it keeps what comes.
    pub fn new(store: Store, keeping: Keeping) -> StoreDepot {
        StoreDepot {
            store,
            keeping,
            users: None,
        }
    }

    /// A store in which users are given what belongs to own processes, and may leave so much.
    pub(crate) fn with_users(store: Store, keeping: Keeping, users: Users) -> StoreDepot {
        StoreDepot {
            users: Some(users),
            ..StoreDepot::new(store, keeping)
        }
    }

    /// Whether a blob is what it is said to belong to, or is listed there.
    fn belongs(&self, hash: Hash, artifact: Hash) -> bool {
        if hash == artifact {
            return true;
        }
        let listing = self.store.listing(artifact);
        listing.is_ok_and(|listing| listing.files().any(|(_, file)| file.hash == hash))
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
            self.settle()?;
            return Ok(None);
        }
        let blob = self.store.receive(hash).map_err(of_system)?;
        let (depot, room) = (self.clone(), None);
        Ok(Some(Box::new(Coming { depot, blob, room })))
    }

    fn open_for(&self, asked: &Asked) -> io::Result<Option<(File, u64)>> {
        let is_user = asked.peer.role() == Role::User;
        if let Some(users) = self.users.as_ref().filter(|_| is_user) {
            let is_own = asked.of.is_some_and(|of| {
                let access = Access {
                    user: asked.peer.to_string(),
                    process: of.process,
                    artifact: of.artifact,
                };
                self.belongs(asked.hash, of.artifact) && users.gate.allows(&access)
            });
            if !is_own {
                return Ok(None);
            }
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
        if self.store.open_sound(asked.hash).is_ok() {
            self.settle()?;
            return Ok(Received::Here);
        }
        let user = asked.peer.to_string();
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
        match blob.finish() {
            Ok(()) => {
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

/// The kind of a failure is told to the other side.
fn of_system(error: ArriveError) -> io::Error {
    match error {
        ArriveError::Write { source, .. } => source,
        error @ ArriveError::Corrupt { .. } => io::Error::other(error),
    }
}
