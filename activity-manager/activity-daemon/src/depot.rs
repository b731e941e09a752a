//! A blob store as others fetch from it and bring to it.

use std::fs::File;
use std::io;

use activity_blobs::{ArriveError, ReadError, Store};
use model::Hash;
use shell::quic::{Arrival, Arriving, Depot};

/// A store that transfers read and fill.
#[derive(Clone, Debug)]
pub struct StoreDepot {
    store: Store,
    keeping: Keeping,
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
}

impl StoreDepot {
    /// A store and how it keeps what comes.
    pub fn new(store: Store, keeping: Keeping) -> StoreDepot {
        StoreDepot { store, keeping }
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
        match self.store.open_blob(hash) {
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
        let depot = self.clone();
        Ok(Some(Box::new(Coming { depot, blob })))
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
        let Coming { depot, blob } = *self;
        match blob.finish() {
            Ok(()) => {
                depot.settle()?;
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
