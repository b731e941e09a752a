//! Files that users have uploaded for processes that they are about to submit. Each user has a
//! quota for them, and files that no process uses after a while are removed.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use activity_blobs::Store;
use model::{Bytes, Hash};
use wire::attempt::Access;
use wire::bulk::{Belongs, Refusal};

use crate::access::Gate;

/// Interval at which the process managers are asked about uploads.
const LOOK: Duration = Duration::from_secs(600);

/// Number of consecutive negative answers before removal: a restarted process manager knows its
/// processes within minutes.
const NOES: u32 = 3;

/// Minutes after which unused files are removed.
const MINUTES: u32 = LOOK.as_secs() as u32 / 60 * NOES;

/// The uploads of users. Clones share one state.
#[derive(Clone, Debug)]
pub(crate) struct Uploads(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Quota of each user for files that no process uses yet.
    each_max: Bytes,
    by_user: Mutex<BTreeMap<String, BTreeMap<Hash, Upload>>>,
}

/// A file that is being or was uploaded.
#[derive(Clone, Copy, Debug)]
struct Upload {
    /// Bytes of those that are being uploaded, together: one file may come several times at once.
    coming: u64,
    n_coming: u32,
    /// Bytes of the file that has come, if it has.
    come: Option<u64>,
    of: Belongs,
    /// Number of consecutive negative answers.
    noes: u32,
}

/// Room for a file that is being uploaded. Dropping it before the file is complete releases it.
#[derive(Debug)]
pub(crate) struct Room {
    uploads: Uploads,
    user: String,
    hash: Hash,
    bytes: u64,
    has_come: bool,
}

impl Upload {
    fn bytes(&self) -> u64 {
        self.coming.saturating_add(self.come.unwrap_or_default())
    }
}

impl Uploads {
    /// Uploads with a quota for each user.
    pub(crate) fn new(each_max: Bytes) -> Uploads {
        Uploads(Arc::new(Shared {
            each_max,
            by_user: Mutex::default(),
        }))
    }

    /// Room for a file of a user, if the quota permits it.
    pub(crate) fn admit(
        &self,
        user: &str,
        hash: Hash,
        bytes: u64,
        of: Belongs,
    ) -> Result<Room, Refusal> {
        let mut by_user = self.lock();
        let given = by_user.get(user);
        let taken = given.into_iter().flatten();
        let taken = taken.fold(0_u64, |sum, (_, one)| sum.saturating_add(one.bytes()));
        // One that has come and comes again takes no more room than it has.
        let own = given.and_then(|given| given.get(&hash)?.come);
        let taken = taken - own.unwrap_or_default();
        if taken.saturating_add(bytes) > self.0.each_max.0 {
            return Err(Refusal::Unclaimed {
                bytes_max: self.0.each_max.0,
                minutes: MINUTES,
            });
        }
        let given = by_user.entry(user.to_owned()).or_default();
        let upload = given.entry(hash).or_insert(Upload {
            coming: 0,
            n_coming: 0,
            come: None,
            of,
            noes: 0,
        });
        upload.coming = upload.coming.saturating_add(bytes);
        upload.n_coming += 1;
        (upload.of, upload.noes) = (of, 0);
        Ok(Room {
            uploads: self.clone(),
            user: user.to_owned(),
            hash,
            bytes,
            has_come: false,
        })
    }

    /// Starts a thread that removes unused files. It ends soon after all clones of this.
    pub(crate) fn look_after(&self, store: Store, gate: Gate) -> io::Result<()> {
        let uploads = Arc::downgrade(&self.0);
        let thread = std::thread::Builder::new().name("uploads".to_owned());
        thread.spawn(move || look_after(&uploads, &store, &gate))?;
        Ok(())
    }

    /// Asks about all uploads, and removes those without a process for long.
    fn look(&self, store: &Store, named: impl Fn(&Access) -> Option<bool>) {
        let all: Vec<(String, Hash, Belongs)> = {
            let by_user = self.lock();
            let all = by_user.iter().flat_map(|(user, given)| {
                let come = given.iter().filter(|(_, upload)| upload.come.is_some());
                come.map(|(hash, upload)| (user.clone(), *hash, upload.of))
            });
            all.collect()
        };
        for (user, hash, of) in all {
            let answer = named(&Access {
                user: user.clone(),
                process: of.process,
                artifact: of.artifact,
            });
            let mut by_user = self.lock();
            let Some(given) = by_user.get_mut(&user) else {
                continue;
            };
            let is_over = match (answer, given.get_mut(&hash)) {
                (None, _) | (_, None) => false,
                (Some(true), Some(_)) => true,
                (Some(false), Some(upload)) => {
                    upload.noes += 1;
                    upload.noes >= NOES
                }
            };
            if is_over {
                match given.get_mut(&hash) {
                    // It comes again meanwhile.
                    Some(upload) if upload.n_coming > 0 => upload.come = None,
                    Some(_) | None => {
                        given.remove(&hash);
                    }
                }
                if given.is_empty() {
                    by_user.remove(&user);
                }
            }
            drop(by_user);
            if is_over && answer == Some(false) {
                match store.discard(hash) {
                    Ok(_) => tracing::info!(%hash, user, "removed a file that no process names"),
                    Err(error) => tracing::warn!(%hash, %error, "a file could not be removed"),
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, BTreeMap<Hash, Upload>>> {
        // Nothing panics while it holds the lock.
        self.0
            .by_user
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "nothing tells that no process names a file; it is looked for from time to time"
)]
fn look_after(uploads: &Weak<Shared>, store: &Store, gate: &Gate) {
    loop {
        std::thread::sleep(LOOK);
        let Some(shared) = uploads.upgrade() else {
            return;
        };
        Uploads(shared).look(store, |access| gate.ask(access));
    }
}

impl Room {
    /// The file is complete.
    pub(crate) fn has_come(mut self) {
        self.has_come = true;
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut by_user = self.uploads.lock();
        let Some(given) = by_user.get_mut(&self.user) else {
            return;
        };
        if let Some(upload) = given.get_mut(&self.hash) {
            upload.coming = upload.coming.saturating_sub(self.bytes);
            upload.n_coming = upload.n_coming.saturating_sub(1);
            if self.has_come {
                upload.come = Some(self.bytes);
            }
            if upload.n_coming == 0 && upload.come.is_none() {
                given.remove(&self.hash);
            }
        }
        if given.is_empty() {
            by_user.remove(&self.user);
        }
    }
}

#[cfg(test)]
mod tests;
