//! The threads that place inputs in directories and collect outputs, beside the loop.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::error::Error;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use activity_blobs::{CollectError, CollectLimits, PlaceError, Placement, Store};
use activity_core::{Input, Trouble, Workplace};
use model::{Artifact, AttemptId, FaultName, Produced};
use shell::Inbox;

use crate::eviction::Pins;
use crate::fetch::{Sources, ToFetch, Wanting, lacks};
use crate::intermediates::{Intermediates, ToDiscard};
use crate::origins::{self, Origins};
use crate::quotas::{Quotas, Room};

/// Number of threads: one may read while another waits for the disk.
const WORKERS: usize = 2;

/// Jobs that one thread takes at once, so that their outputs share one flush.
const TAKEN_MAX: usize = 64;

/// Files that wait to be deleted, by the attempts that made them; those of further ones are asked for
/// again. Each has some hundred bytes and its artifacts.
const DISCARDS_MAX: usize = 16_384;

/// A job. The core has a bounded number of attempts ([`activity_core::ATTEMPTS_KNOWN_MAX`]), so
/// there are at most that many jobs.
pub(crate) enum Job {
    /// Place inputs in an existing directory.
    Lay {
        attempt: AttemptId,
        workplace: Workplace,
        inputs: Vec<(String, Artifact)>,
        /// The sources of inputs that may be missing, by index.
        sources: Sources,
    },
    /// Store the outputs in a directory durably.
    Collect {
        attempt: AttemptId,
        directory: String,
        outputs: Vec<Produced>,
        /// The user that the command ran as, if not the executor's own.
        user: Option<u32>,
    },
}

/// The services beside the store, if it is not shared with all other machines.
#[derive(Clone, Default)]
pub(crate) struct Others {
    /// Fetches missing files; without it they stay missing.
    pub(crate) fetch: Option<ToFetch>,
    /// Pins the files of processes; without it nothing is evicted.
    pub(crate) pins: Option<Pins>,
    /// The quotas; without them only the disk limits files.
    pub(crate) quotas: Option<Quotas>,
    /// The users that commands may run as; none if they run as the manager.
    pub(crate) users: BTreeSet<u32>,
    /// The way in which inputs are placed.
    pub(crate) placement: Placement,
    /// Where users have files that the store lacks.
    pub(crate) origins: Option<Origins>,
}

impl Others {
    /// Places inputs in a directory, those that the store lacks by way of their users' own files.
    fn lay(
        &self,
        blobs: &Store,
        directory: &str,
        inputs: &[(String, Artifact)],
    ) -> Result<(), Unlaid> {
        let laid = lay(blobs, directory, inputs, self.placement);
        let (Err(Unlaid::Lacking(lacking)), Some(origins)) = (&laid, &self.origins) else {
            return laid;
        };
        let lacking = lacking
            .iter()
            .filter_map(|input| inputs.get(*input as usize));
        match origins::take_again(blobs, origins, lacking.map(|(_, artifact)| *artifact)) {
            true => lay(blobs, directory, inputs, self.placement),
            false => laid,
        }
    }

    fn keep(&self, attempt: AttemptId, artifacts: &[Artifact]) {
        if let Some(pins) = &self.pins {
            pins.keep(attempt.process, artifacts);
        }
    }
}

/// The pool. Dropping it ends the threads after their current jobs.
pub(crate) struct Workers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    filled: Condvar,
    at_work: AtWork,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// Files to delete, by the attempts that made them.
    discards: BTreeMap<AttemptId, ToDiscard>,
    /// Those that could not be deleted since others were collected at the same time.
    held: BTreeMap<AttemptId, ToDiscard>,
    is_closing: bool,
}

/// Attempts that are waiting or being handled: repeated requests are ignored.
#[derive(Clone, Default)]
pub(crate) struct AtWork(Arc<Mutex<BTreeSet<AttemptId>>>);

impl AtWork {
    /// Adds an attempt. Returns false if it is there already.
    fn begin(&self, attempt: AttemptId) -> bool {
        self.lock().insert(attempt)
    }

    fn has(&self, attempt: AttemptId) -> bool {
        self.lock().contains(&attempt)
    }

    /// Removes attempts, which may be requested again.
    pub(crate) fn done(&self, attempts: impl IntoIterator<Item = AttemptId>) {
        let mut at_work = self.lock();
        for attempt in attempts {
            at_work.remove(&attempt);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<AttemptId>> {
        // Nothing panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Workers {
    /// Starts the threads.
    pub(crate) fn start(
        intermediates: &Intermediates,
        inbox: &Inbox<Input>,
        at_work: AtWork,
        others: &Others,
    ) -> io::Result<Workers> {
        let shared = Shared {
            at_work,
            ..Shared::default()
        };
        let mut workers = Workers {
            shared: Arc::new(shared),
            threads: Vec::new(),
        };
        for number in 1..=WORKERS {
            let shared = Arc::clone(&workers.shared);
            let intermediates = intermediates.clone();
            let (inbox, others) = (inbox.clone(), others.clone());
            let thread = std::thread::Builder::new()
                .name(format!("files-{number}"))
                .spawn(move || work(&shared, &intermediates, &inbox, &others))?;
            workers.threads.push(thread);
        }
        Ok(workers)
    }

    /// Returns true if a job for this attempt is waiting or being handled.
    pub(crate) fn is_at(&self, attempt: AttemptId) -> bool {
        self.shared.at_work.has(attempt)
    }

    /// Queues files to delete, before anything else.
    pub(crate) fn discard(&self, wanted: impl Iterator<Item = ToDiscard>) {
        let mut state = self.shared.lock();
        for one in wanted {
            let made_by = one.discard.made_by;
            state.held.remove(&made_by);
            if state.discards.len() + state.held.len() < DISCARDS_MAX {
                state.discards.insert(made_by, one);
            }
        }
        drop(state);
        self.shared.filled.notify_one();
    }

    /// Queues jobs, and wakes as many threads as they can occupy.
    pub(crate) fn give(&self, jobs: &mut Vec<Job>) {
        let mut state = self.shared.lock();
        let mut n_jobs: usize = 0;
        for job in jobs.drain(..) {
            if self.shared.at_work.begin(job.attempt()) {
                state.jobs.push_back(job);
                n_jobs += 1;
            }
        }
        drop(state);
        for _ in 0..n_jobs.min(WORKERS) {
            self.shared.filled.notify_one();
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_closing = true;
        state.jobs.clear();
        drop(state);
        self.shared.filled.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Job {
    fn attempt(&self) -> AttemptId {
        match self {
            Job::Lay { attempt, .. } | Job::Collect { attempt, .. } => *attempt,
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Outputs were collected, so files that were held for that may be deleted.
    fn try_held_again(&self) {
        let mut state = self.lock();
        let held = std::mem::take(&mut state.held);
        if !held.is_empty() {
            state.discards.extend(held);
            self.filled.notify_one();
        }
    }

    /// Takes the files to delete, and a fair part of the waiting jobs; none at the end.
    fn take(&self) -> Option<(Vec<ToDiscard>, Vec<Job>)> {
        let mut state = self.lock();
        loop {
            if state.is_closing {
                return None;
            }
            if !state.jobs.is_empty() || !state.discards.is_empty() {
                let discards = std::mem::take(&mut state.discards);
                let n_jobs = state.jobs.len().div_ceil(WORKERS).min(TAKEN_MAX);
                let jobs = state.jobs.drain(..n_jobs).collect();
                return Some((discards.into_values().collect(), jobs));
            }
            state = self
                .filled
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn work(shared: &Shared, intermediates: &Intermediates, inbox: &Inbox<Input>, others: &Others) {
    let blobs = intermediates.store();
    while let Some((discards, jobs)) = shared.take() {
        discard(shared, intermediates, inbox, discards);
        let mut laid = Vec::new();
        let mut collected = Vec::new();
        for job in jobs {
            match job {
                Job::Lay {
                    attempt,
                    workplace,
                    inputs,
                    sources,
                } => {
                    let files: Vec<Artifact> =
                        inputs.iter().map(|(_, artifact)| *artifact).collect();
                    others.keep(attempt, &files);
                    intermediates.given(attempt.process, &files);
                    let quotas = others.quotas.as_ref();
                    let fits =
                        quotas.map_or(Ok(()), |quotas| quotas.refuse_inputs(attempt.process));
                    if let Err(trouble) = fits {
                        laid.push(staged(attempt, workplace, Err(Unlaid::Trouble(trouble))));
                        continue;
                    }
                    match &others.fetch {
                        Some(fetch) if lacks(blobs, &inputs) => fetch.give(Wanting {
                            attempt,
                            workplace,
                            inputs,
                            sources,
                        }),
                        fetch => match (others.lay(blobs, &workplace.directory, &inputs), fetch) {
                            // A file that is damaged here may be sound elsewhere.
                            (Err(Unlaid::Lacking(_)), Some(fetch)) => fetch.give(Wanting {
                                attempt,
                                workplace,
                                inputs,
                                sources,
                            }),
                            (result, _) => laid.push(staged(attempt, workplace, result)),
                        },
                    }
                }
                Job::Collect {
                    attempt,
                    directory,
                    outputs,
                    user,
                } => {
                    let owners = user.map_or_else(|| others.users.clone(), |user| [user].into());
                    // The collected files are pinned between these two steps.
                    let _hold = blobs.hold();
                    let room = others.quotas.as_ref().filter(|_| !outputs.is_empty());
                    let room = room.map(|quotas| quotas.room(attempt.process));
                    let limits = room.as_ref().map_or(CollectLimits::NONE, Room::limits);
                    let (users, directory) = (&owners, Path::new(&directory));
                    let result = blobs.collect_within(users, limits, directory, &outputs);
                    if let Ok(artifacts) = &result {
                        others.keep(attempt, artifacts);
                        intermediates.made(attempt, artifacts);
                    }
                    let result = result.map_err(|error| {
                        let no_room = room.and_then(|room| room.trouble(&error));
                        no_room.unwrap_or_else(|| uncollected(&error))
                    });
                    collected.push((attempt, result));
                }
            }
        }
        if !laid.is_empty() {
            shared
                .at_work
                .done(laid.iter().map(|(attempt, _)| *attempt));
            inbox.tell_all(laid.into_iter().map(|(_, input)| input));
        }
        if !collected.is_empty() {
            let flushed = blobs.flush().map_err(|error| Trouble {
                name: name_of(&error, FaultName::MissingOutput),
                message: format!("the outputs could not be kept: {}", chain(&error)),
            });
            shared
                .at_work
                .done(collected.iter().map(|(attempt, _)| *attempt));
            inbox.tell_all(collected.into_iter().map(|(attempt, result)| {
                let result = match &flushed {
                    Ok(()) => result,
                    Err(trouble) => result.and(Err(trouble.clone())),
                };
                Input::Collected { attempt, result }
            }));
            shared.try_held_again();
        }
    }
}

/// Deletes files. Those that are held are tried again after the next outputs were collected.
fn discard(
    shared: &Shared,
    intermediates: &Intermediates,
    inbox: &Inbox<Input>,
    discards: Vec<ToDiscard>,
) {
    let (done, held): (Vec<ToDiscard>, Vec<ToDiscard>) = discards
        .into_iter()
        .partition(|one| intermediates.discard(one));
    let held = held.into_iter().map(|one| (one.discard.made_by, one));
    shared.lock().held.extend(held);
    inbox.tell_all(done.into_iter().map(|one| Input::Discarded {
        to: one.to,
        made_by: one.discard.made_by,
    }));
}

/// Why inputs could not be placed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unlaid {
    /// The blobs of these inputs, by index, are damaged or gone. The directory is empty again.
    Lacking(Vec<u32>),
    /// Another error, which other copies would not change. The directory is empty again, as far as that can be.
    Trouble(Trouble),
}

/// Places inputs in a directory, each as it was when it became a blob.
pub(crate) fn lay(
    blobs: &Store,
    directory: &str,
    inputs: &[(String, Artifact)],
    placement: Placement,
) -> Result<(), Unlaid> {
    let mut lacking = Vec::new();
    for (input, (path, artifact)) in (0..).zip(inputs) {
        let inside = path.trim_end_matches('/');
        let placed = blobs.place(*artifact, Path::new(directory), inside, placement);
        match placed {
            Ok(()) => {}
            Err(PlaceError::Missing { hash, .. }) => {
                tracing::warn!(%hash, path, "an input is damaged or gone");
                lacking.push(input);
            }
            Err(error) => {
                // Inputs that were laid may be what fills the disk, and nobody looks for them any more.
                if let Err(error) = empty(Path::new(directory)) {
                    tracing::warn!(%error, directory, "inputs that are of no use could not be removed");
                }
                return Err(Unlaid::Trouble(unstaged(&error)));
            }
        }
    }
    if lacking.is_empty() {
        return Ok(());
    }
    match empty(Path::new(directory)) {
        Ok(()) => Err(Unlaid::Lacking(lacking)),
        Err(error) => Err(Unlaid::Trouble(unstaged(&error))),
    }
}

/// The core's input for an attempt whose inputs were placed or could not be.
pub(crate) fn staged(
    attempt: AttemptId,
    workplace: Workplace,
    laid: Result<(), Unlaid>,
) -> (AttemptId, Input) {
    let result = match laid {
        Ok(()) => Ok(workplace),
        Err(Unlaid::Trouble(trouble)) => Err(trouble),
        Err(Unlaid::Lacking(inputs)) => {
            let lacking = Input::Lacking {
                attempt,
                inputs,
                workplace,
            };
            return (attempt, lacking);
        }
    };
    (attempt, Input::Staged { attempt, result })
}

/// Removes the content of a directory.
fn empty(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn unstaged(error: &(dyn Error + 'static)) -> Trouble {
    Trouble {
        name: name_of(error, FaultName::Staging),
        message: chain(error),
    }
}

fn uncollected(error: &CollectError) -> Trouble {
    Trouble {
        name: name_of(error, FaultName::MissingOutput),
        message: chain(error),
    }
}

/// The fault of an error: a full disk, or else the given one.
pub(crate) fn name_of(error: &(dyn Error + 'static), otherwise: FaultName) -> FaultName {
    let full = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded];
    let mut at = Some(error);
    while let Some(error) = at {
        if let Some(io) = error.downcast_ref::<io::Error>()
            && full.contains(&io.kind())
        {
            return FaultName::DiskFull;
        }
        at = error.source();
    }
    otherwise
}

/// An error with its causes, as one sentence.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests;
