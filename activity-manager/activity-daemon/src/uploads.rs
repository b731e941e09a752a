//! Files that users have uploaded for processes that they are about to submit. Each user has a
//! quota for them, and files that no process uses after a while are removed. Those of submitted
//! processes are pinned, since a process that waits for slots has nothing else to keep them.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use activity_blobs::Store;
use model::{Artifact, ArtifactKind, Bytes, Hash, ProcessId};
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

/// Number of announcements of submitted processes whose files are pinned: some hundred bytes each,
/// and a question to the process managers at each look.
const CLAIMS_MAX: usize = 100_000;

/// The uploads of users. Clones share one state.
#[derive(Clone, Debug)]
pub(crate) struct Uploads(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    store: Store,
    /// Quota of each user for files that no process uses yet, and the size of all files that are
    /// pinned for submitted processes: nothing tells when such a process has ended.
    each_max: Bytes,
    /// Counts owners of pins down, since processes own pins by their numbers, and a file that is given to
    /// a process is not to count twice for its user.
    next_owner: AtomicU64,
    by_user: Mutex<BTreeMap<String, Own>>,
}

/// The uploads of one user.
#[derive(Debug, Default)]
struct Own {
    /// Bytes that count for the quota.
    taken: u64,
    announced: BTreeMap<Announcement, Announced>,
    /// The announcement that has a file that has come.
    come: BTreeMap<Hash, Announcement>,
}

/// The process and the artifact that files were announced for.
type Announcement = (ProcessId, Hash);

/// The files of one announcement.
#[derive(Debug, Default)]
struct Announced {
    /// The files that count for the quota: none once a process has them.
    files: BTreeMap<Hash, Upload>,
    /// The owner of the pins of all files that have come; none before the first one.
    owner: Option<u64>,
    /// True once a process has them.
    is_claimed: bool,
    /// Number of consecutive negative answers.
    noes: u32,
}

/// A file that is being or was uploaded.
#[derive(Clone, Copy, Debug, Default)]
struct Upload {
    /// Bytes of those that are being uploaded, together: one file may come several times at once.
    coming: u64,
    n_coming: u32,
    /// The file that has come, if it has. The last announcement of a user for a file has it.
    come: Option<Come>,
}

#[derive(Clone, Copy, Debug)]
struct Come {
    bytes: u64,
    /// The moment of the store at which it had come.
    moment: u64,
    /// False if it was here before anybody uploaded it.
    is_new: bool,
}

/// Room for a file that is being uploaded. Dropping it before the file is complete releases it.
#[derive(Debug)]
pub(crate) struct Room {
    uploads: Uploads,
    user: String,
    announcement: Announcement,
    hash: Hash,
    bytes: u64,
    has_come: bool,
    is_new: bool,
}

impl Own {
    fn come(&self, hash: Hash) -> Option<Come> {
        let announced = self.announced.get(self.come.get(&hash)?)?;
        announced.files.get(&hash)?.come
    }

    /// Takes a file that has come from whichever announcement has it.
    fn take_come(&mut self, hash: Hash) -> Option<Come> {
        let announcement = self.come.remove(&hash)?;
        let announced = self.announced.get_mut(&announcement)?;
        let come = announced.files.get_mut(&hash)?.come.take()?;
        self.taken = self.taken.saturating_sub(come.bytes);
        self.forget(announcement, hash);
        Some(come)
    }

    /// Forgets a file that is neither there nor coming, and an announcement without files.
    fn forget(&mut self, announcement: Announcement, hash: Hash) {
        let Some(announced) = self.announced.get_mut(&announcement) else {
            return;
        };
        let is_over = |one: &Upload| one.n_coming == 0 && one.come.is_none();
        if announced.files.get(&hash).is_some_and(is_over) {
            announced.files.remove(&hash);
        }
        if announced.is_over() {
            self.announced.remove(&announcement);
        }
    }

    /// These files count for the quota no more.
    fn give_back(&mut self, come: &[(Hash, Come)]) {
        for (hash, come) in come {
            self.come.remove(hash);
            self.taken = self.taken.saturating_sub(come.bytes);
        }
    }
}

impl Announced {
    fn is_over(&self) -> bool {
        self.files.is_empty() && self.owner.is_none()
    }

    /// Takes the files that have come. Those that are coming stay.
    fn take_come(&mut self) -> Vec<(Hash, Come)> {
        let come = self.files.iter_mut();
        let come = come.filter_map(|(hash, upload)| Some((*hash, upload.come.take()?)));
        let come = come.collect();
        self.files.retain(|_, upload| upload.n_coming > 0);
        come
    }
}

impl Uploads {
    /// Uploads into a store with a quota for each user.
    pub(crate) fn new(store: Store, each_max: Bytes) -> Uploads {
        Uploads(Arc::new(Shared {
            store,
            each_max,
            next_owner: AtomicU64::new(u64::MAX),
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
        let own = by_user.get(user);
        let taken = own.map_or(0, |own| own.taken);
        // One that has come and comes again takes no more room than it has.
        let come = own.and_then(|own| own.come(hash));
        let taken = taken.saturating_sub(come.map_or(0, |come| come.bytes));
        if taken.saturating_add(bytes) > self.0.each_max.0 {
            return Err(Refusal::Unclaimed {
                bytes_max: self.0.each_max.0,
                minutes: MINUTES,
            });
        }
        let own = by_user.entry(user.to_owned()).or_default();
        own.taken = own.taken.saturating_add(bytes);
        let announcement = (of.process, of.artifact);
        let announced = own.announced.entry(announcement).or_default();
        announced.noes = 0;
        let upload = announced.files.entry(hash).or_default();
        upload.coming = upload.coming.saturating_add(bytes);
        upload.n_coming += 1;
        Ok(Room {
            uploads: self.clone(),
            user: user.to_owned(),
            announcement,
            hash,
            bytes,
            has_come: false,
            is_new: true,
        })
    }

    /// Starts a thread that removes unused files. It ends soon after all clones of this.
    pub(crate) fn look_after(&self, gate: Gate) -> io::Result<()> {
        let uploads = Arc::downgrade(&self.0);
        let thread = std::thread::Builder::new().name("uploads".to_owned());
        thread.spawn(move || look_after(&uploads, &gate))?;
        Ok(())
    }

    /// Asks about all announcements. The files of those without a process for long are removed, or
    /// released if a process had them.
    fn look(&self, named: impl Fn(&Access) -> Option<bool>) {
        let all: Vec<(String, Announcement, bool)> = {
            let by_user = self.lock();
            let all = by_user.iter().flat_map(|(user, own)| {
                let announced = own.announced.iter();
                let announced = announced.filter(|(_, one)| one.owner.is_some());
                announced.map(|(of, one)| (user.clone(), *of, one.is_claimed))
            });
            all.collect()
        };
        let mut is_silent = false;
        for (user, announcement, is_claimed) in all {
            // Where nobody answers, each question takes seconds, and these can wait.
            if is_claimed && is_silent {
                continue;
            }
            let (process, artifact) = announcement;
            let answer = named(&Access {
                user: user.clone(),
                process,
                artifact,
            });
            match answer {
                Some(true) => self.claim(&user, announcement),
                Some(false) => self.refuse(&user, announcement),
                None => is_silent = true,
            }
        }
        self.release_earliest();
    }

    /// A process has the artifact of an announcement: its files count for no quota any more, and stay.
    fn claim(&self, user: &str, announcement: Announcement) {
        let mut by_user = self.lock();
        let Some(own) = by_user.get_mut(user) else {
            return;
        };
        let Some(announced) = own.announced.get_mut(&announcement) else {
            return;
        };
        announced.noes = 0;
        announced.is_claimed = true;
        let come = announced.take_come();
        own.give_back(&come);
    }

    /// No process has the artifact of an announcement.
    fn refuse(&self, user: &str, announcement: Announcement) {
        let mut by_user = self.lock();
        let Some(own) = by_user.get_mut(user) else {
            return;
        };
        let Some(announced) = own.announced.get_mut(&announcement) else {
            return;
        };
        announced.noes += 1;
        if announced.noes < NOES {
            return;
        }
        self.unpin(announced);
        let come = announced.take_come();
        if announced.is_over() {
            own.announced.remove(&announcement);
        }
        own.give_back(&come);
        if own.announced.is_empty() {
            by_user.remove(user);
        }
        drop(by_user);
        for (hash, come) in come.into_iter().filter(|(_, come)| come.is_new) {
            self.discard(user, hash, come.moment);
        }
    }

    /// Unpins the files that processes have had for longest, where there are too many.
    fn release_earliest(&self) {
        let mut by_user = self.lock();
        let own = by_user.values_mut();
        let announced = own.flat_map(|own| own.announced.values_mut());
        let mut claimed: Vec<&mut Announced> = announced.filter(|one| one.is_claimed).collect();
        // Owners are counted down, so the latest come first.
        claimed.sort_by_key(|one| one.owner);
        let mut left = self.0.each_max.0;
        let mut is_full = false;
        for (number, announced) in claimed.into_iter().enumerate() {
            let pinned = self.0.store.pinned(announced.owner);
            is_full |= pinned.0 > left || number >= CLAIMS_MAX;
            left = left.saturating_sub(pinned.0);
            if is_full {
                self.unpin(announced);
            }
        }
        by_user.retain(|_, own| {
            own.announced.retain(|_, announced| !announced.is_over());
            !own.announced.is_empty()
        });
    }

    /// Pins a file that has come.
    fn pin(&self, announced: &mut Announced, hash: Hash, bytes: u64) {
        let next = || self.0.next_owner.fetch_sub(1, Ordering::Relaxed);
        let owner = *announced.owner.get_or_insert_with(next);
        let file = Artifact {
            hash,
            bytes: Bytes(bytes),
            kind: ArtifactKind::File,
        };
        if let Err(error) = self.0.store.pin(owner, &[file]) {
            tracing::warn!(%hash, %error, "an uploaded file is not pinned");
        }
    }

    fn unpin(&self, announced: &mut Announced) {
        announced.is_claimed = false;
        if let Some(owner) = announced.owner.take() {
            self.0.store.unpin(owner);
        }
    }

    /// Removes a file that was uploaded in vain, unless another process has used it since.
    fn discard(&self, user: &str, hash: Hash, moment: u64) {
        match self.0.store.discard_unused(hash, moment) {
            Ok(true) => tracing::info!(%hash, user, "removed a file that no process names"),
            Ok(false) => {}
            Err(error) => tracing::warn!(%hash, %error, "a file could not be removed"),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Own>> {
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
fn look_after(uploads: &Weak<Shared>, gate: &Gate) {
    loop {
        std::thread::sleep(LOOK);
        let Some(shared) = uploads.upgrade() else {
            return;
        };
        Uploads(shared).look(|access| gate.ask(access));
    }
}

impl Room {
    /// The file is complete. A hold of the store keeps it until then.
    pub(crate) fn has_come(mut self) {
        self.has_come = true;
    }

    /// The file was here already. A hold of the store keeps it until then.
    pub(crate) fn was_here(mut self) {
        (self.has_come, self.is_new) = (true, false);
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut by_user = self.uploads.lock();
        let Some(own) = by_user.get_mut(&self.user) else {
            return;
        };
        own.taken = own.taken.saturating_sub(self.bytes);
        let earlier = match self.has_come {
            true => own.take_come(self.hash),
            false => None,
        };
        if let Some(announced) = own.announced.get_mut(&self.announcement) {
            if self.has_come {
                announced.noes = 0;
                self.uploads.pin(announced, self.hash, self.bytes);
            }
            if let Some(upload) = announced.files.get_mut(&self.hash) {
                upload.coming = upload.coming.saturating_sub(self.bytes);
                upload.n_coming = upload.n_coming.saturating_sub(1);
                if self.has_come {
                    own.come.insert(self.hash, self.announcement);
                    own.taken = own.taken.saturating_add(self.bytes);
                    upload.come = Some(Come {
                        bytes: self.bytes,
                        moment: self.uploads.0.store.moment(),
                        is_new: self.is_new || earlier.is_some_and(|earlier| earlier.is_new),
                    });
                }
            }
        }
        own.forget(self.announcement, self.hash);
        if own.announced.is_empty() {
            by_user.remove(&self.user);
        }
    }
}

#[cfg(test)]
mod tests;
