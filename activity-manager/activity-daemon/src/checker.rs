//! Checks that stored files are unchanged, beside the loop: those that a process manager asks about
//! and, without requests, large ones that were not read for long (`scrub`).

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use activity_blobs::{ReadError, Store, Verified};
use activity_core::Input;
use model::{ActivityId, Artifact, ArtifactKind, Hash, ProcessId};
use shell::Inbox;
use wire::attempt::{Checked, Copied, Holder};

use crate::fetch::ToFetch;

/// Number of waiting requests. Further ones are repeated by their senders.
const WAITING_MAX: usize = 4_096;

/// Bytes a second that a scrub reads: a tenth of a slow disk's rate.
const SCRUB_BYTES_A_SECOND: u64 = 16 << 20;

/// Time without scrubbing after a start, so that the start is not slowed down.
const SCRUB_FIRST: Duration = Duration::from_secs(600);

/// The pause between two scrubs of all large files: bits decay within months.
const SCRUB_PAUSE: Duration = Duration::from_secs(7 * 86_400);

/// A process manager's request.
#[derive(Debug)]
pub(crate) struct ToCheck {
    /// The process manager that gets the answer.
    pub(crate) to: u32,
    pub(crate) copied: Copied,
    /// Other machines that have the files.
    pub(crate) sources: Vec<Holder>,
}

/// Names the stores of other state directories that may have a file or directory, the likeliest first.
pub type Elsewhere = Arc<dyn Fn(Artifact) -> Vec<PathBuf> + Send + Sync>;

/// The checker's thread. Dropping it ends the thread.
pub(crate) struct Checker {
    queue: Option<SyncSender<ToCheck>>,
    waiting: Waiting,
    is_closing: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Requests that are waiting or being handled: repeats are ignored.
#[derive(Clone, Default)]
struct Waiting(Arc<Mutex<BTreeSet<(u32, ProcessId, ActivityId)>>>);

impl Waiting {
    fn begin(&self, of: (u32, ProcessId, ActivityId)) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(of)
    }

    fn end(&self, of: (u32, ProcessId, ActivityId)) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.remove(&of);
    }
}

impl ToCheck {
    fn of(&self) -> (u32, ProcessId, ActivityId) {
        (self.to, self.copied.process, self.copied.activity)
    }
}

impl Checker {
    /// Starts the thread. Without fetchers, missing files are reported as gone.
    pub(crate) fn start(
        blobs: &Store,
        inbox: &Inbox<Input>,
        fetch: Option<ToFetch>,
        elsewhere: Option<Elsewhere>,
    ) -> io::Result<Checker> {
        let (queue, questions) = sync_channel(WAITING_MAX);
        let waiting = Waiting::default();
        let is_closing = Arc::new(AtomicBool::new(false));
        let work = Work {
            blobs: blobs.clone(),
            inbox: inbox.clone(),
            fetch,
            elsewhere,
            waiting: waiting.clone(),
            is_closing: Arc::clone(&is_closing),
        };
        let thread = std::thread::Builder::new()
            .name("check".to_owned())
            .spawn(move || work.go_on(&questions))?;
        Ok(Checker {
            queue: Some(queue),
            waiting,
            is_closing,
            thread: Some(thread),
        })
    }

    /// Queues a request.
    pub(crate) fn check(&self, question: ToCheck) {
        let of = question.of();
        if let Some(queue) = &self.queue
            && self.waiting.begin(of)
        {
            match queue.try_send(question) {
                Ok(()) => {}
                Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => self.waiting.end(of),
            }
        }
    }
}

impl Drop for Checker {
    fn drop(&mut self) {
        self.is_closing.store(true, Ordering::Relaxed);
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Work {
    blobs: Store,
    inbox: Inbox<Input>,
    fetch: Option<ToFetch>,
    elsewhere: Option<Elsewhere>,
    waiting: Waiting,
    is_closing: Arc<AtomicBool>,
}

impl Work {
    fn go_on(&self, questions: &Receiver<ToCheck>) {
        let mut wait = SCRUB_FIRST;
        let mut last: Option<Hash> = None;
        loop {
            match questions.recv_timeout(wait) {
                Ok(question) => self.answer(question),
                Err(RecvTimeoutError::Timeout) => (last, wait) = self.scrub(last, questions),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn answer(&self, question: ToCheck) {
        if self.is_closing.load(Ordering::Relaxed) {
            return;
        }
        let of = question.of();
        let ToCheck {
            to,
            copied,
            sources,
        } = question;
        // Fetched files are not evicted before the answer is sent.
        let _hold = self.blobs.hold();
        let mut artifacts = copied.artifacts.iter();
        let sound: Result<bool, ReadError> = artifacts.try_fold(true, |is_sound, artifact| {
            Ok(is_sound && self.is_sound(*artifact, &sources)?)
        });
        // Another process may have made them.
        self.blobs.share(&copied.artifacts);
        self.waiting.end(of);
        match sound {
            Ok(is_sound) => {
                if !is_sound {
                    let (process, activity) = (copied.process, copied.activity);
                    tracing::warn!(%process, %activity, "what it made is damaged or gone");
                }
                let checked = Checked { copied, is_sound };
                self.inbox.tell(Input::Checked { to, checked });
            }
            // The sender repeats the request.
            Err(error) => tracing::warn!(%error, "could not look whether a file is sound"),
        }
    }

    /// Returns true if an artifact is here unchanged, or was taken from another store or machine.
    fn is_sound(&self, artifact: Artifact, sources: &[Holder]) -> Result<bool, ReadError> {
        if self.is_here(artifact)? {
            return Ok(true);
        }
        let stores = self.elsewhere.as_ref().map(|elsewhere| elsewhere(artifact));
        for store in stores.unwrap_or_default() {
            match self.blobs.take_from(&store, artifact) {
                Ok(true) if self.is_here(artifact)? => return Ok(true),
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, store = %store.display(), "a file is not taken from another store");
                }
            }
        }
        let Some(fetch) = &self.fetch else {
            return Ok(false);
        };
        Ok(fetch.bring(artifact, sources) && self.is_here(artifact)?)
    }

    fn is_here(&self, artifact: Artifact) -> Result<bool, ReadError> {
        let mut hashes = vec![artifact.hash];
        if artifact.kind == ArtifactKind::Directory {
            match self.blobs.listing(artifact.hash) {
                Ok(listing) => hashes.extend(listing.files().map(|(_, file)| file.hash)),
                Err(ReadError::Missing { .. }) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        for hash in hashes {
            match self.blobs.open_sound(hash) {
                Ok(_) => {}
                Err(ReadError::Missing { .. }) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Scrubs one large file slowly, and answers requests meanwhile. Returns its hash, and the
    /// pause before the next one.
    fn scrub(&self, last: Option<Hash>, questions: &Receiver<ToCheck>) -> (Option<Hash>, Duration) {
        let Some((hash, bytes)) = self.blobs.next_to_scrub(last) else {
            return (None, SCRUB_PAUSE);
        };
        let scrubbed = self.blobs.scrub(hash, &mut |piece| {
            let wait = Duration::from_micros(piece.0 * 1_000_000 / SCRUB_BYTES_A_SECOND);
            match questions.recv_timeout(wait) {
                Ok(question) => self.answer(question),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return false,
            }
            !self.is_closing.load(Ordering::Relaxed)
        });
        match scrubbed {
            Ok(Some(Verified::Sound | Verified::Missing) | None) => {}
            Ok(Some(Verified::Damaged)) => {
                tracing::error!(%hash, %bytes, "a file in the store was damaged, and is set aside");
            }
            Err(error) => tracing::warn!(%hash, %error, "could not look whether a file is sound"),
        }
        (Some(hash), Duration::ZERO)
    }
}

#[cfg(test)]
mod tests;
