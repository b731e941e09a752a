//! Accounts that are lent to attempts, each to one at a time. When an attempt has ended, its
//! directory is closed to the account and its remains are removed ([`crate::remains`]); only then
//! is the account lent again.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use model::AttemptId;

use crate::account::Lendable;
use crate::ground;
use crate::remains::{Left, bell, clear_all, close_work, home_of};
use crate::sys::user::{has_processes, kill_all};

/// The pool; see the module.
pub(crate) struct Pool {
    accounts: Vec<Lendable>,
    free: VecDeque<usize>,
    lent: BTreeMap<AttemptId, Lent>,
    left: SyncSender<Left>,
    ready: Receiver<usize>,
    bell: Arc<OwnedFd>,
}

struct Lent {
    index: usize,
    directory: PathBuf,
    home: PathBuf,
}

impl Pool {
    /// Accounts that attempts get one by one. The remains of an earlier executor are unknown, so
    /// they are removed first; `work` is the directory of attempts.
    pub(crate) fn new(accounts: Vec<Lendable>, work: Option<PathBuf>) -> io::Result<Pool> {
        let n_accounts = accounts.len();
        // Each account is in one of them at most once, so nobody waits for room.
        let (left, leaving) = sync_channel(n_accounts);
        let (is_ready, ready) = sync_channel(n_accounts);
        let bell = Arc::new(bell()?);
        for (index, account) in accounts.iter().enumerate() {
            let user = account.numbers.user;
            let home = None;
            let _ = left.try_send(Left { index, user, home });
        }
        let theirs = Arc::clone(&bell);
        let users: Vec<u32> = accounts.iter().map(|one| one.numbers.user).collect();
        std::thread::Builder::new()
            .name("remains".to_owned())
            .spawn(move || {
                if let Some(work) = work {
                    close_work(&work, |user| users.contains(&user));
                }
                clear_all(&leaving, &is_ready, &theirs);
            })?;
        Ok(Pool {
            accounts,
            free: VecDeque::with_capacity(n_accounts),
            lent: BTreeMap::new(),
            left,
            ready,
            bell,
        })
    }

    /// Becomes readable when an account is free again.
    pub(crate) fn bell(&self) -> &OwnedFd {
        &self.bell
    }

    /// Takes back the accounts that are free again.
    pub(crate) fn take_ready(&mut self) {
        let mut count = [0; 8];
        // Emptied, or it stays readable.
        let _ = rustix::io::read(&self.bell, &mut count);
        self.free.extend(self.ready.try_iter());
    }

    /// Returns true if there is an account for another attempt.
    pub(crate) fn has_free(&self) -> bool {
        !self.free.is_empty()
    }

    /// Lends an account to an attempt. Must be called only if one is free ([`Pool::has_free`]).
    pub(crate) fn lend(&mut self, attempt: AttemptId, directory: &str) -> &Lendable {
        let index = self.free.pop_front().expect("an account is free");
        let lent = Lent {
            index,
            directory: PathBuf::from(directory),
            home: home_of(directory),
        };
        self.lent.insert(attempt, lent);
        &self.accounts[index]
    }

    /// Kills all processes of the account of an attempt whose command has ended.
    pub(crate) fn kill(&self, attempt: AttemptId) {
        let Some(lent) = self.lent.get(&attempt) else {
            return;
        };
        let user = self.accounts[lent.index].numbers.user;
        if has_processes(user)
            && let Err(error) = kill_all(user)
        {
            warn(&format!("could not kill what runs as user {user}: {error}"));
        }
    }

    /// Takes an account back from an attempt that has ended, or has not started. The directory is
    /// closed to it when this returns.
    pub(crate) fn end(&mut self, attempt: AttemptId) {
        let Some(Lent {
            index,
            directory,
            home,
        }) = self.lent.remove(&attempt)
        else {
            return;
        };
        take_back(&directory);
        let user = self.accounts[index].numbers.user;
        let home = Some(home);
        let _ = self.left.try_send(Left { index, user, home });
    }
}

fn take_back(directory: &Path) {
    if let Err(error) = ground::take_back(directory)
        && error.kind() != io::ErrorKind::NotFound
    {
        warn(&format!("could not close {}: {error}", directory.display()));
    }
}

/// Writes an error to the executor's error file.
pub(crate) fn warn(text: &str) {
    // Nobody may listen, and there is nowhere else to write it.
    let _ = io::stderr().write_all(format!("warning: {text}\n").as_bytes());
}
