//! What files may take on this machine: those that one attempt has made, and those that the live
//! processes of one user have made or been given here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use activity_blobs::{AddError, CollectError, Store};
use activity_core::Trouble;
use model::{Bytes, FaultName, ProcessId};

/// Processes whose user is remembered. Where there are more, some are forgotten: what they have counts
/// for nobody.
const PROCESSES_MAX: usize = 100_000;

/// The bounds.
#[derive(Clone, Copy, Debug)]
pub struct QuotaLimits {
    /// Of what one attempt makes; none for no bound but the user's.
    pub attempt: Option<Bytes>,
    /// Of what one user's live processes have here.
    pub user: Bytes,
}

/// Bounds, and whose the processes are. A clone is the same.
#[derive(Clone, Debug)]
pub(crate) struct Quotas {
    blobs: Store,
    limits: QuotaLimits,
    users: ProcessUsers,
}

/// Whose the processes are that were served in this life. A clone is the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessUsers(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    of: BTreeMap<ProcessId, String>,
    /// The processes of each user that need files here.
    live: BTreeMap<String, BTreeSet<ProcessId>>,
}

/// How much more an attempt may leave here, and who bounds it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) left: Bytes,
    because: Because,
}

#[derive(Debug, PartialEq, Eq)]
enum Because {
    /// The most that one attempt may leave.
    Attempt(Bytes),
    /// A user has so much, and may have so much.
    User(String, Bytes, Bytes),
    /// Nobody bounds it.
    Nobody,
}

impl ProcessUsers {
    /// A user's process needs something here.
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

    /// A process needs nothing here any more. Whose it was is still known.
    pub(crate) fn release(&self, process: ProcessId) {
        let mut known = self.lock();
        if let Some(user) = known.of.get(&process).cloned() {
            known.end(process, &user);
        }
    }

    /// Whose it is, where that is known.
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

    /// How much more an attempt of a process may leave here.
    pub(crate) fn room(&self, process: ProcessId) -> Room {
        let user = self.users.of(process).map(|user| {
            let taken = self.taken(&user);
            let left = Bytes(self.limits.user.0.saturating_sub(taken.0));
            let because = Because::User(user, taken, self.limits.user);
            Room { left, because }
        });
        let attempt = self.limits.attempt.map(|most| Room {
            left: most,
            because: Because::Attempt(most),
        });
        let least = user.into_iter().chain(attempt).min_by_key(|room| room.left);
        least.unwrap_or(Room {
            left: Bytes(u64::MAX),
            because: Because::Nobody,
        })
    }

    /// Whether the inputs that a process has been promised are more than its user may have here.
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
    /// What an attempt is told whose outputs are more than that.
    pub(crate) fn trouble(&self, error: &CollectError) -> Option<Trouble> {
        let CollectError::Add { name, source } = error else {
            return None;
        };
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
