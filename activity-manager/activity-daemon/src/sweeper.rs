//! Removes the directories of attempts, beside the loop and in batches, because nobody waits for
//! it.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use activity_executor::remove_tree;
use model::{Mono, Span};
use shell::Failpoint;

/// Directories that are removed with one wake-up of the thread.
const BATCH: usize = 64;

/// Time for which a directory waits for others.
const WAIT: Span = Span::from_millis(50);

/// Number of waiting batches. Beyond it the loop removes directories itself, and thereby takes no
/// more work than the disk does.
const BATCHES_MAX: usize = 1_024;

/// Removes directories in a thread of its own. Dropping it removes the waiting ones.
pub(crate) struct Sweeper {
    gathered: Vec<String>,
    since: Option<Mono>,
    queue: Option<SyncSender<Vec<String>>>,
    thread: Option<JoinHandle<()>>,
    root: PathBuf,
}

impl Sweeper {
    /// Starts the thread. It removes nothing outside of `root`.
    pub(crate) fn start(root: PathBuf) -> io::Result<Sweeper> {
        let (queue, batches) = sync_channel(BATCHES_MAX);
        let theirs = root.clone();
        let thread = std::thread::Builder::new()
            .name("sweeper".to_owned())
            .spawn(move || sweep_all(&batches, &theirs))?;
        Ok(Sweeper {
            gathered: Vec::new(),
            since: None,
            queue: Some(queue),
            thread: Some(thread),
            root,
        })
    }

    /// Queues a directory for removal.
    pub(crate) fn remove(&mut self, now: Mono, directory: String) {
        self.gathered.push(directory);
        self.since.get_or_insert(now);
        if self.gathered.len() >= BATCH {
            self.pass_on();
        }
    }

    /// When [`Sweeper::pass_on`] is due.
    pub(crate) fn next_wakeup(&self) -> Option<Mono> {
        self.since.map(|since| since + WAIT)
    }

    /// Passes the gathered directories to the thread.
    pub(crate) fn pass_on(&mut self) {
        self.since = None;
        let batch = std::mem::take(&mut self.gathered);
        if batch.is_empty() {
            return;
        }
        let queue = self.queue.as_ref().expect("only drop takes it");
        match queue.try_send(batch) {
            Ok(()) => {}
            Err(TrySendError::Full(batch) | TrySendError::Disconnected(batch)) => {
                sweep(&batch, &self.root);
            }
        }
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        self.pass_on();
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn sweep_all(batches: &Receiver<Vec<String>>, root: &Path) {
    let mut failpoint = Failpoint::of("sweeper");
    while let Ok(batch) = batches.recv() {
        failpoint.reached();
        sweep(&batch, root);
    }
}

fn sweep(batch: &[String], root: &Path) {
    for directory in batch {
        let directory = Path::new(directory);
        // A path with `..` in it was not created here.
        let is_ours = directory.strip_prefix(root).is_ok_and(|rest| {
            let mut parts = rest.components();
            rest.components().count() == 2
                && parts.all(|part| matches!(part, std::path::Component::Normal(_)))
        });
        if !is_ours {
            tracing::error!(directory = %directory.display(), "not removed: it is not a work directory");
            continue;
        }
        // Most are empty: a silent command without files.
        let removed = match fs::remove_dir(directory) {
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => remove_tree(directory),
            other => other,
        };
        match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                tracing::warn!(directory = %directory.display(), %error, "could not remove a work directory");
            }
            Ok(()) | Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
