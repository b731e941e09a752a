//! The remains of an attempt's account: processes, and files and objects outside of its directory.
//! They are removed before the account is lent to another attempt, in a thread that only the
//! account waits for.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

use rustix::event::EventfdFlags;

use crate::ground;
use crate::pool::warn;
use crate::sys::user::{as_user, has_processes, kill_all, remove_ipc};

/// Directories that everybody may write to, from which an account's files are removed. In other
/// such directories they stay.
const PUBLIC: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue"];

/// First interval of looking for the end of killed processes: doubled up to the second.
const LOOK_FIRST: Duration = Duration::from_micros(200);
const LOOK_LAST: Duration = Duration::from_millis(200);

/// Time after which it is checked whether the remaining ones have all ended, and only wait for a
/// parent that does not collect them.
const PATIENCE: Duration = Duration::from_secs(2);

/// An account whose attempt has ended.
pub(crate) struct Left {
    /// Its index among the accounts.
    pub(crate) index: usize,
    pub(crate) user: u32,
    /// Its home, beside the directory of the attempt.
    pub(crate) home: Option<PathBuf>,
}

/// Removes the remains of accounts until the sender is dropped. Each account is then sent to
/// `ready`, and `bell` is rung.
pub(crate) fn clear_all(left: &Receiver<Left>, ready: &SyncSender<usize>, bell: &OwnedFd) {
    while let Ok(Left { index, user, home }) = left.recv() {
        clear(user);
        if let Some(home) = home {
            tell(ground::remove_tree(&home), "remove", &home);
        }
        if ready.send(index).is_err() {
            return;
        }
        // A bell that rings already needs no second ring.
        let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
    }
}

/// The descriptor that [`clear_all`] rings.
pub(crate) fn bell() -> io::Result<OwnedFd> {
    let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
    Ok(rustix::event::eventfd(0, flags)?)
}

fn clear(user: u32) {
    end_processes(user);
    let objects = remove_ipc(user);
    let removed = as_user(user, || {
        for directory in PUBLIC.map(Path::new) {
            tell(empty_of(user, directory), "clear", directory);
        }
    });
    let user = user.to_string();
    tell(removed, "clear up after user", Path::new(&user));
    tell(objects, "remove the IPC objects of user", Path::new(&user));
}

/// Kills an account's processes until none is left. One that is stuck in the kernel keeps its
/// account from being lent again.
fn end_processes(user: u32) {
    let begun = Instant::now();
    let mut pause = LOOK_FIRST;
    while has_processes(user) {
        tell(kill_all(user), "kill user", Path::new(&user.to_string()));
        if begun.elapsed() > PATIENCE && !has_living_processes(user) {
            return;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LOOK_LAST);
    }
}

/// Returns true if a process of a user has not ended, or if that cannot be seen.
fn has_living_processes(user: u32) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else {
        return true;
    };
    processes.flatten().any(|process| {
        let path = process.path();
        let is_theirs = fs::metadata(&path).is_ok_and(|found| found.uid() == user);
        let status = fs::read_to_string(path.join("status")).unwrap_or_default();
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        let is_theirs = is_theirs
            || field("Uid:").is_some_and(|ids| {
                let mut ids = ids.split_whitespace();
                ids.any(|id| id.parse() == Ok(user))
            });
        is_theirs
            && !field("State:").is_some_and(|state| state.trim_start().starts_with(['Z', 'X']))
    })
}

/// Removes the files of a user in a directory. Must be called with the rights of that user alone:
/// whatever others do to the directory meanwhile, nothing else can be removed.
fn empty_of(user: u32, directory: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in entries {
        let entry = entry?;
        let Ok(found) = entry.metadata() else {
            continue; // It has gone.
        };
        if found.uid() != user {
            continue;
        }
        let path = entry.path();
        let removed = if found.is_dir() {
            ground::remove_tree(&path)
        } else {
            fs::remove_file(&path)
        };
        tell(removed, "remove", &path);
    }
    Ok(())
}

/// Closes the directories of attempts of a killed executor, and removes their homes. `work` has a
/// directory for each process.
pub(crate) fn close_work(work: &Path, is_lent: impl Fn(u32) -> bool) {
    let Ok(processes) = fs::read_dir(work) else {
        return; // Nobody has run anything.
    };
    let attempts = processes
        .flatten()
        .filter_map(|process| fs::read_dir(process.path()).ok());
    for attempt in attempts.flatten().flatten() {
        let path = attempt.path();
        if !attempt.metadata().is_ok_and(|found| is_lent(found.uid())) {
            continue;
        }
        let is_home = path.extension().is_some_and(|kind| kind == HOME_EXTENSION);
        let (done, action) = if is_home {
            (ground::remove_tree(&path), "remove")
        } else {
            (ground::take_back(&path), "take back")
        };
        tell(done, action, &path);
    }
}

/// The extension of a command's home directory, beside its own directory.
const HOME_EXTENSION: &str = "home";

/// The directory for files that a command does not want among its outputs.
pub(crate) fn home_of(directory: &str) -> PathBuf {
    PathBuf::from(format!("{directory}.{HOME_EXTENSION}"))
}

/// Reports an error; a missing file is none.
fn tell(result: io::Result<()>, action: &str, what: &Path) {
    if let Err(error) = result
        && error.kind() != io::ErrorKind::NotFound
    {
        warn(&format!("could not {action} {}: {error}", what.display()));
    }
}
