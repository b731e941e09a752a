//! Retention of logs and of the directories of failed attempts. They are removed when they are
//! older than the retention time, or earlier if logs take more than their quota. Those of a process
//! that is still served stay. Environments that were made of files are removed when nobody has used
//! them for a month.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use activity_core::Input;
use activity_executor::{remove_tree, remove_unused_environments, segment_number};
use model::{ProcessId, Span, Wall};
use shell::{Inbox, clock};

use crate::quotas::ProcessUsers;

/// Interval of the clean-up. Nothing waits for it, and it reads two directories.
const PERIOD: Duration = Duration::from_secs(3_600);
/// Time of the first clean-up, so that the start is not slowed down.
const FIRST: Duration = Duration::from_secs(60);
/// Number of processes in one request, the oldest first.
const ASKED_MAX: usize = 10_000;

/// The retention limits.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// Time since the last change.
    pub keep: Span,
    /// Bytes of all logs.
    pub log_bytes_max: u64,
}

/// Answers with the requested processes that are not served any more.
pub(crate) type Answers = SyncSender<Vec<ProcessId>>;

/// Starts a thread that periodically asks the manager for processes that are not served any more,
/// and removes their logs and directories. It ends when the sender of answers is dropped.
pub(crate) fn start(retention: RetentionThread, inbox: &Inbox<Input>) -> io::Result<Answers> {
    let (answers, answered) = sync_channel(1);
    let inbox = inbox.clone();
    std::thread::Builder::new()
        .name("retention".to_owned())
        .spawn(move || look_after(&retention, &inbox, &answered))?;
    Ok(answers)
}

fn look_after(
    retention: &RetentionThread,
    inbox: &Inbox<Input>,
    answered: &Receiver<Vec<ProcessId>>,
) {
    let mut wait = FIRST;
    loop {
        let done = match answered.recv_timeout(wait) {
            Ok(processes) => retention.clear(&processes, clock::wall()),
            Err(RecvTimeoutError::Timeout) => {
                wait = PERIOD;
                if let Err(error) = remove_unused_environments(&retention.environments) {
                    tracing::warn!(%error, "environments that nobody uses cannot be removed");
                }
                let asked = retention.processes();
                asked.map(|asked| inbox.tell(Input::Served(asked)))
            }
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if let Err(error) = done {
            tracing::warn!(%error, "what processes have left cannot be removed");
        }
    }
}

/// The directories to clean up.
pub(crate) struct RetentionThread {
    /// It has a directory for each process, with one for each failed attempt.
    pub(crate) work: PathBuf,
    /// The executor's log directory.
    pub(crate) logs: PathBuf,
    /// The directory of environments that were made of files.
    pub(crate) environments: PathBuf,
    pub(crate) retention: Retention,
    /// The users of processes.
    pub(crate) users: ProcessUsers,
}

/// A file or directory that may be removed.
struct Leaving {
    changed: Wall,
    path: PathBuf,
    bytes: u64,
}

impl RetentionThread {
    /// Processes with logs or directories, the longest unchanged first.
    fn processes(&self) -> io::Result<Vec<ProcessId>> {
        let mut changed: BTreeMap<ProcessId, Wall> = BTreeMap::new();
        let work = read(&self.work)?.into_iter();
        let streams = read(&self.logs)?.into_iter();
        for one in work.chain(streams) {
            if let Some(process) = process_of(&one.path) {
                let latest = changed.entry(process).or_insert(one.changed);
                *latest = one.changed.max(*latest);
            }
        }
        let mut all: Vec<_> = changed.into_iter().map(|(id, at)| (at, id)).collect();
        all.sort_unstable();
        Ok(all.into_iter().map(|(_, id)| id).take(ASKED_MAX).collect())
    }

    /// Removes expired or excess files of these processes, and of the shared logs by the same
    /// limits. One that cannot be removed keeps no other from being removed.
    fn clear(&self, over: &[ProcessId], now: Wall) -> io::Result<()> {
        let over: BTreeSet<ProcessId> = over.iter().copied().collect();
        let is_over = |one: &Leaving| process_of(&one.path).is_some_and(|id| over.contains(&id));
        let is_old = |one: &Leaving| now.since(one.changed) >= self.retention.keep;
        for directory in read(&self.work)? {
            if is_over(&directory) && is_old(&directory) {
                is_gone(remove_tree(&directory.path), &directory.path);
            }
        }
        let mut logs = read(&self.logs)?;
        logs.sort_by_key(|one| one.changed);
        // The executor may be writing to it, and counts on from it.
        let last = logs.iter().filter_map(|one| segment_of(&one.path)).max();
        let mut rest = Vec::new();
        for log in logs {
            let may_go = match segment_of(&log.path) {
                Some(segment) => Some(segment) != last,
                None => is_over(&log),
            };
            let is_due = may_go && is_old(&log);
            if !is_due || !is_gone(fs::remove_file(&log.path), &log.path) {
                // A log that could not be removed still takes room.
                rest.push((log, may_go && !is_due));
            }
        }
        self.clear_room(rest);
        Ok(())
    }

    /// Removes removable logs until they fit the quota, the oldest ones of the user with most bytes
    /// first, so that one user does not shorten the retention of others.
    fn clear_room(&self, logs: Vec<(Leaving, bool)>) {
        let mut bytes: u64 = logs.iter().map(|(one, _)| one.bytes).sum();
        if bytes <= self.retention.log_bytes_max {
            return;
        }
        // Files without a known user, and shared ones, count as one more user.
        let mut by_user: BTreeMap<Option<String>, (u64, VecDeque<Leaving>)> = BTreeMap::new();
        for (log, may_go) in logs {
            let user = process_of(&log.path).and_then(|process| self.users.of(process));
            let (taken, going) = by_user.entry(user).or_default();
            *taken += log.bytes;
            if may_go {
                going.push_back(log);
            }
        }
        while bytes > self.retention.log_bytes_max {
            let most = by_user
                .values_mut()
                .filter(|(_, going)| !going.is_empty())
                .max_by_key(|(taken, _)| *taken);
            let Some((taken, going)) = most else { break };
            let Some(log) = going.pop_front() else { break };
            if is_gone(fs::remove_file(&log.path), &log.path) {
                *taken -= log.bytes;
                bytes -= log.bytes;
            }
        }
    }
}

/// The entries of a directory; none if it does not exist yet.
fn read(directory: &Path) -> io::Result<Vec<Leaving>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut all = Vec::new();
    for entry in entries {
        let entry = entry?;
        // Files that disappear meanwhile are ignored.
        if let Ok(metadata) = entry.metadata() {
            all.push(Leaving {
                changed: changed(&metadata),
                path: entry.path(),
                bytes: metadata.len(),
            });
        }
    }
    Ok(all)
}

/// The time of the last change, not before 1970.
fn changed(metadata: &Metadata) -> Wall {
    let seconds = u64::try_from(metadata.mtime()).unwrap_or(0);
    Wall(seconds.saturating_mul(1_000_000))
}

/// Returns true if a removed file or directory is gone; logs why it is not.
fn is_gone(removed: io::Result<()>, path: &Path) -> bool {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(path = %path.display(), %error, "what a process has left cannot be removed");
            false
        }
        Ok(()) | Err(_) => true,
    }
}

/// The process of a file: names begin with its number, followed by a dash if they go on.
fn process_of(path: &Path) -> Option<ProcessId> {
    let name = path.file_name()?.to_str()?;
    name.split('-').next()?.parse().ok()
}

fn segment_of(path: &Path) -> Option<u32> {
    segment_number(path.file_name()?.to_str()?)
}

#[cfg(test)]
mod tests;
