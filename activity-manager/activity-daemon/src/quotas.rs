//! Quotas for files on this machine: of the outputs of one attempt, and of the live processes of
//! one user.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use activity_blobs::{AddError, CollectError, CollectLimits, Store};
use activity_core::Trouble;
use model::{Bytes, FaultName, ProcessId};

/// Number of processes with a remembered user. Beyond it some are forgotten, and their files count
/// for nobody.
const PROCESSES_MAX: usize = 100_000;

/// The quotas.
#[derive(Clone, Copy, Debug)]
pub struct QuotaLimits {
    /// Bytes of the outputs of one attempt; none for the user's quota alone.
    pub attempt: Option<Bytes>,
    /// Bytes of the files of one user's live processes.
    pub user: Bytes,
    /// The length of one output file.
    pub file: Bytes,
}

/// The quotas, and the users of processes. Clones share one state.
#[derive(Clone, Debug)]
pub(crate) struct Quotas {
    blobs: Store,
    limits: QuotaLimits,
    users: ProcessUsers,
}

/// The users of the processes of this epoch. Clones share one state.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessUsers(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    of: BTreeMap<ProcessId, String>,
    /// The processes of each user that need files here.
    live: BTreeMap<String, BTreeSet<ProcessId>>,
}

/// The room for an attempt's outputs, and the quota that limits it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) left: Bytes,
    file: Bytes,
    because: Because,
}

#[derive(Debug, PartialEq, Eq)]
enum Because {
    /// The quota of one attempt.
    Attempt(Bytes),
    /// The user, the used bytes and the user's quota.
    User(String, Bytes, Bytes),
    /// There is no quota.
    Nobody,
}

impl ProcessUsers {
    /// A user's process needs files here.
    pub(crate) fn note(&self, process: ProcessId, user: &str) {
        let mut known = self.lock();
        let own = known.live.get(user);
        if own.is_some_and(|own| own.contains(&process)) {
            return;
        }
        known.of.insert(process, user.to_owned());
        known
            .live
            .entry(user.to_owned())
            .or_default()
            .insert(process);
        if known.of.len() > PROCESSES_MAX
            && let Some((oldest, user)) = known.of.pop_first()
        {
            known.end(oldest, &user);
        }
    }

    /// A process needs no files here any more. Its user is still remembered.
    pub(crate) fn release(&self, process: ProcessId) {
        let mut known = self.lock();
        if let Some(user) = known.of.get(&process).cloned() {
            known.end(process, &user);
        }
    }

    /// The user of a process, if known.
    pub(crate) fn of(&self, process: ProcessId) -> Option<String> {
        self.lock().of.get(&process).cloned()
    }

    /// The processes of a user that need files here.
    fn live(&self, user: &str) -> BTreeSet<ProcessId> {
        self.lock().live.get(user).cloned().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        // Nothing panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn end(&mut self, process: ProcessId, user: &str) {
        if let Some(own) = self.live.get_mut(user) {
            own.remove(&process);
            if own.is_empty() {
                self.live.remove(user);
            }
        }
    }
}

impl Quotas {
    pub(crate) fn new(blobs: Store, limits: QuotaLimits, users: ProcessUsers) -> Quotas {
        Quotas {
            blobs,
            limits,
            users,
        }
    }

    /// The room for the outputs of an attempt of a process.
    pub(crate) fn room(&self, process: ProcessId) -> Room {
        let file = self.limits.file;
        let user = self.users.of(process).map(|user| {
            let taken = self.taken(&user);
            let left = Bytes(self.limits.user.0.saturating_sub(taken.0));
            let because = Because::User(user, taken, self.limits.user);
            Room {
                left,
                file,
                because,
            }
        });
        let attempt = self.limits.attempt.map(|most| Room {
            left: most,
            file,
            because: Because::Attempt(most),
        });
        let least = user.into_iter().chain(attempt).min_by_key(|room| room.left);
        least.unwrap_or(Room {
            left: Bytes(u64::MAX),
            file,
            because: Because::Nobody,
        })
    }

    /// Refuses inputs of a process that exceed its user's quota.
    pub(crate) fn refuse_inputs(&self, process: ProcessId) -> Result<(), Trouble> {
        let Some(user) = self.users.of(process) else {
            return Ok(());
        };
        let taken = self.taken(&user);
        if taken <= self.limits.user {
            return Ok(());
        }
        let because = Because::User(user, taken, self.limits.user);
        Err(Trouble {
            name: FaultName::DiskFull,
            message: format!("the inputs do not fit. {because}"),
        })
    }

    fn taken(&self, user: &str) -> Bytes {
        let own = self.users.live(user);
        self.blobs.pinned(own.into_iter().map(|process| process.0))
    }
}

impl Room {
    /// The limits for the outputs.
    pub(crate) fn limits(&self) -> CollectLimits {
        CollectLimits {
            disk: self.left,
            file: self.file,
        }
    }

    /// The failure of an attempt whose outputs exceed a quota.
    pub(crate) fn trouble(&self, error: &CollectError) -> Option<Trouble> {
        let CollectError::Add { name, source } = error else {
            return None;
        };
        if let AddError::TooLong {
            path,
            bytes,
            bytes_max,
        } = source
        {
            return Some(Trouble {
                name: FaultName::TooLarge,
                message: format!(
                    "output `{name}` is too long: the length of `{}` is {bytes}, with its holes, and that of a \
                     file is at most {bytes_max} on this machine (`file-gibibytes-max` in its am.toml)",
                    path.display()
                ),
            });
        }
        let AddError::NoRoom { path, bytes } = source else {
            return None;
        };
        let because = &self.because;
        Some(Trouble {
            name: match because {
                Because::Attempt(_) => FaultName::TooLarge,
                Because::User(..) | Because::Nobody => FaultName::DiskFull,
            },
            message: format!(
                "output `{name}` does not fit: `{}` takes {bytes}. {because}",
                path.display()
            ),
        })
    }
}

impl std::fmt::Display for Because {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Because::Attempt(most) => write!(
                f,
                "The outputs of one attempt take at most {most} on this machine (`output-gibibytes-max` in its am.toml)"
            ),
            Because::User(user, taken, most) => write!(
                f,
                "The live processes of {user} have {taken} of files on this machine, and may have {most} \
                 (`user-gibibytes-max` in its am.toml)"
            ),
            Because::Nobody => f.write_str("There is no room"),
        }
    }
}

#[cfg(test)]
mod tests;
