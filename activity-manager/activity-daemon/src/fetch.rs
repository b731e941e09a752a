//! Fetches missing inputs of attempts, beside the workers, so that no command with local files
//! waits for a transfer.

use std::collections::{BTreeSet, VecDeque};
use std::error::Error;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use activity_blobs::{Placement, ReadError, Store};
use activity_core::{Input, Trouble, Workplace};
use model::{
    ActivityId, Artifact, AttemptId, FaultName, Hash, Identity, ProcessId, ResourceId, Role,
};
use shell::quic::{Bulk, BulkError, Source};
use shell::{Inbox, clock};
use wire::attempt::{Copied, Fetched, Holder, TRANSFER_TOLD_LEAST};

use crate::depot::{Keeping, StoreDepot};
use crate::figures::Counts;
use crate::intermediates::Intermediates;
use crate::workers::{AtWork, Unlaid, chain, lay, name_of, staged};

/// Concurrent transfers: they share one network.
const FETCHERS: usize = 4;
/// Number of waiting copies. Further ones are requested again.
const COPIES_WAITING_MAX: usize = 4_096;
/// Probes that wait: they are asked for again when the next process is planned.
const PROBES_WAITING_MAX: usize = 64;
/// Copies that share a flush.
const COPIES_TOGETHER: usize = 64;

/// An attempt with missing files.
pub(crate) struct Wanting {
    pub(crate) attempt: AttemptId,
    pub(crate) workplace: Workplace,
    pub(crate) inputs: Vec<(String, Artifact)>,
    /// The sources of its inputs, by index.
    pub(crate) sources: Sources,
}

/// Outputs of another machine to be copied here.
#[derive(Debug)]
pub(crate) struct ToCopy {
    /// The process manager that gets the answer.
    pub(crate) to: u32,
    pub(crate) copied: Copied,
    /// The sources.
    pub(crate) sources: Vec<Holder>,
    /// The number of the attempt that made them, where its process discards files.
    pub(crate) number: Option<u32>,
}

/// A machine that has a file, and the way to it.
type Peer = (ResourceId, Source);

/// The work of the thread for which no attempt waits.
enum Aside {
    Copy(Vec<ToCopy>),
    /// A process manager wants to know how fast the way to a machine is.
    Probe(u32, Peer),
}

/// The sources of inputs, by the inputs' index.
pub(crate) type Sources = Vec<(u32, Vec<Holder>)>;

/// The threads. Dropping it ends transfers and threads.
pub(crate) struct Fetchers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl ToCopy {
    fn of(&self) -> (ProcessId, ActivityId) {
        (self.copied.process, self.copied.activity)
    }

    fn failed(&self, error: &str) {
        let (process, activity) = self.of();
        tracing::warn!(%process, %activity, error, "a copy could not be made");
    }
}

/// Queues missing files, from any thread.
#[derive(Clone)]
pub(crate) struct ToFetch(Arc<Shared>);

struct Shared {
    blobs: Store,
    intermediates: Intermediates,
    bulk: Arc<Bulk>,
    inbox: Inbox<Input>,
    at_work: AtWork,
    placement: Placement,
    counts: Counts,
    state: Mutex<State>,
    changed: Condvar,
}

/// The core knows a bounded number of attempts ([`activity_core::ATTEMPTS_KNOWN_MAX`]), so at most
/// that many wait here.
#[derive(Default)]
struct State {
    waiting: VecDeque<Wanting>,
    copies: VecDeque<ToCopy>,
    probes: VecDeque<(u32, Peer)>,
    /// Activities whose copies are waiting or being fetched: repeats are ignored.
    copying: BTreeSet<(ProcessId, ActivityId)>,
    /// Blobs that a thread is fetching: another one that needs the same blob waits.
    coming: BTreeSet<Hash>,
    is_closing: bool,
}

impl Fetchers {
    pub(crate) fn start(
        intermediates: &Intermediates,
        bulk: Arc<Bulk>,
        inbox: &Inbox<Input>,
        at_work: AtWork,
        (placement, counts): (Placement, Counts),
    ) -> io::Result<Fetchers> {
        let shared = Arc::new(Shared {
            blobs: intermediates.store().clone(),
            intermediates: intermediates.clone(),
            placement,
            counts,
            bulk,
            inbox: inbox.clone(),
            at_work,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let mut fetchers = Fetchers {
            shared: Arc::clone(&shared),
            threads: Vec::new(),
        };
        for number in 1..=FETCHERS {
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new()
                .name(format!("fetch-{number}"))
                .spawn(move || {
                    while let Some(wanting) = shared.take() {
                        shared.serve(wanting);
                    }
                })?;
            fetchers.threads.push(thread);
        }
        // One thread for all copies and probes, so that no attempt waits for them.
        let shared = Arc::clone(&fetchers.shared);
        let copier = std::thread::Builder::new().name("copy".to_owned());
        let thread = copier.spawn(move || {
            while let Some(aside) = shared.take_aside() {
                match aside {
                    Aside::Copy(wanted) => shared.copy(wanted),
                    Aside::Probe(to, peer) => shared.probe(to, &peer),
                }
            }
        })?;
        fetchers.threads.push(thread);
        Ok(fetchers)
    }

    /// Queues a copy; an answer follows only when everything is here.
    pub(crate) fn copy(&self, wanted: ToCopy) {
        let mut state = self.shared.lock();
        if state.copies.len() < COPIES_WAITING_MAX && state.copying.insert(wanted.of()) {
            state.copies.push_back(wanted);
            self.shared.changed.notify_all();
        }
    }

    /// Queues probes of machines; an answer follows for each that gives its bytes.
    pub(crate) fn probe(&self, to: u32, machines: &[Holder]) {
        let peers = self.shared.sources(machines);
        let mut state = self.shared.lock();
        let room = PROBES_WAITING_MAX.saturating_sub(state.probes.len());
        let wanted = peers.into_iter().take(room).map(|peer| (to, peer));
        state.probes.extend(wanted);
        self.shared.changed.notify_all();
    }

    pub(crate) fn way(&self) -> ToFetch {
        ToFetch(Arc::clone(&self.shared))
    }
}

impl Drop for Fetchers {
    fn drop(&mut self) {
        self.shared.lock().is_closing = true;
        self.shared.changed.notify_all();
        self.shared.bulk.close();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl ToFetch {
    /// Queues an attempt; the answer is that it is staged or lacks inputs.
    pub(crate) fn give(&self, wanting: Wanting) {
        self.0.lock().waiting.push_back(wanting);
        self.0.changed.notify_all();
    }

    /// Fetches all of a file or a directory. Returns true if it is here.
    pub(crate) fn bring(&self, artifact: Artifact, holders: &[Holder]) -> bool {
        let sources = self.0.sources(holders);
        match self.0.bring(artifact, &sources, &|_| ()) {
            Ok(()) => true,
            Err(failure) => {
                tracing::warn!(hash = %artifact.hash, error = failure.text(), "could not be fetched");
                false
            }
        }
    }
}

/// Returns true if a file of an input is missing here.
pub(crate) fn lacks(blobs: &Store, inputs: &[(String, Artifact)]) -> bool {
    inputs.iter().any(|(_, artifact)| {
        blobs
            .missing(*artifact)
            .map_or(true, |gone| !gone.is_empty())
    })
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<Wanting> {
        self.take_from(|state| state.waiting.pop_front())
    }

    fn take_aside(&self) -> Option<Aside> {
        self.take_from(|state| {
            if let Some((to, peer)) = state.probes.pop_front() {
                return Some(Aside::Probe(to, peer));
            }
            let n_taken = state.copies.len().min(COPIES_TOGETHER);
            let taken: Vec<ToCopy> = state.copies.drain(..n_taken).collect();
            (!taken.is_empty()).then_some(Aside::Copy(taken))
        })
    }

    /// Tells a process manager how long some bytes from a machine take.
    fn probe(&self, to: u32, (from, source): &Peer) {
        let bytes = TRANSFER_TOLD_LEAST;
        match self.bulk.probe(source, bytes.0) {
            Ok(took) => self.inbox.tell(Input::Probed {
                to,
                fetched: Fetched {
                    from: *from,
                    bytes,
                    took,
                },
            }),
            // The first file that crosses tells more.
            Err(error) => tracing::debug!(%from, error = chain(&error), "a link was not measured"),
        }
    }

    /// Waits for the next job; none at the end.
    fn take_from<T>(&self, next: impl Fn(&mut State) -> Option<T>) -> Option<T> {
        let mut state = self.lock();
        loop {
            if state.is_closing {
                return None;
            }
            if let Some(found) = next(&mut state) {
                return Some(found);
            }
            state = self.wait(state);
        }
    }

    /// Fetches the outputs of activities and makes them durable by one flush.
    fn copy(&self, wanted: Vec<ToCopy>) {
        // Fetched files are not evicted before they are durable and reported.
        let _hold = self.blobs.hold();
        let all: Vec<_> = wanted.iter().map(ToCopy::of).collect();
        let mut here = Vec::new();
        for one in wanted {
            let sources = self.sources(&one.sources);
            let mut artifacts = one.copied.artifacts.iter();
            // Failed copies are requested again, perhaps from another machine.
            match artifacts.try_for_each(|artifact| self.bring(*artifact, &sources, &|_| ())) {
                Ok(()) => {
                    let Copied {
                        process,
                        activity,
                        artifacts,
                    } = &one.copied;
                    let made_by = (*activity, one.number);
                    self.intermediates.copied(*process, made_by, artifacts);
                    here.push(one);
                }
                Err(failure) => one.failed(&failure.text()),
            }
        }
        match self.blobs.flush() {
            Ok(()) => self.inbox.tell_all(here.into_iter().map(|one| {
                let ToCopy { to, copied, .. } = one;
                Input::Copied { to, copied }
            })),
            Err(error) => here.iter().for_each(|one| one.failed(&chain(&error))),
        }
        let mut state = self.lock();
        for of in all {
            state.copying.remove(&of);
        }
    }

    fn wait<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let woken = self.changed.wait(state);
        woken.unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, wanting: Wanting) {
        // Fetched files are not evicted before they are placed.
        let _hold = self.blobs.hold();
        let Wanting {
            attempt,
            workplace,
            inputs,
            sources,
        } = wanting;
        let files: Vec<Artifact> = inputs.iter().map(|(_, artifact)| *artifact).collect();
        let bring = || {
            let brought = self.bring_all(attempt, &inputs, &sources);
            self.intermediates.given(attempt.process, &files);
            brought
        };
        let lay = || lay(&self.blobs, &workplace.directory, &inputs, self.placement);
        let laid = bring().and_then(|()| match lay() {
            // A file that was found damaged when it was placed is missing now, and fetched.
            Err(Unlaid::Lacking(_)) => bring().and_then(|()| lay()),
            other => other,
        });
        let (attempt, answer) = staged(attempt, workplace, laid);
        self.at_work.done([attempt]);
        self.inbox.tell(answer);
    }

    /// Fetches all inputs of an attempt.
    fn bring_all(
        &self,
        attempt: AttemptId,
        inputs: &[(String, Artifact)],
        sources: &Sources,
    ) -> Result<(), Unlaid> {
        let mut lacking = Vec::new();
        let tell = |fetched| self.inbox.tell(Input::Fetched(attempt, fetched));
        for (input, (path, artifact)) in (0..).zip(inputs) {
            let named = sources.iter().find(|(of, _)| *of == input);
            let named = named.map_or(&[][..], |(_, holders)| holders);
            match self.bring(*artifact, &self.sources(named), &tell) {
                Ok(()) => {}
                Err(Failure::Nobody(error)) => {
                    let error = chain(&error);
                    tracing::warn!(%attempt, path, error, "an input could not be had");
                    lacking.push(input);
                }
                Err(Failure::Here(error)) => {
                    return Err(Unlaid::Trouble(Trouble {
                        name: name_of(&*error, FaultName::Staging),
                        message: format!("could not keep `{path}`: {}", chain(&*error)),
                    }));
                }
            }
        }
        match lacking.is_empty() {
            true => Ok(()),
            false => Err(Unlaid::Lacking(lacking)),
        }
    }

    /// Fetches all of a file or a directory, and tells the transfers that say something about a link.
    fn bring(
        &self,
        artifact: Artifact,
        sources: &[Peer],
        tell: &dyn Fn(Fetched),
    ) -> Result<(), Failure> {
        // A directory's listing is fetched first, and then its files.
        for _ in 0..2 {
            let missing = self.blobs.missing(artifact).map_err(Failure::reading)?;
            for hash in missing {
                self.bring_one(hash, sources, tell)?;
            }
        }
        Ok(())
    }

    fn bring_one(
        &self,
        hash: Hash,
        sources: &[Peer],
        tell: &dyn Fn(Fetched),
    ) -> Result<(), Failure> {
        let mut state = self.lock();
        while !state.coming.insert(hash) {
            if state.is_closing {
                return Err(Failure::Nobody(BulkError::Stopping));
            }
            state = self.wait(state);
        }
        drop(state);
        let fetched = if self.blobs.contains(hash) {
            Ok(())
        } else {
            self.transfer(hash, sources, tell)
        };
        self.lock().coming.remove(&hash);
        self.changed.notify_all();
        fetched.map_err(|error| {
            if let BulkError::Disk(error) = error {
                Failure::Here(Box::new(error))
            } else {
                Failure::Nobody(error)
            }
        })
    }

    fn transfer(
        &self,
        hash: Hash,
        peers: &[Peer],
        tell: &dyn Fn(Fetched),
    ) -> Result<(), BulkError> {
        let depot = StoreDepot::new(self.blobs.clone(), Keeping::AsCopy);
        let sources: Vec<Source> = peers.iter().map(|(_, source)| source.clone()).collect();
        let since = clock::mono();
        let given_by = self.bulk.fetch(&sources, hash, &depot);
        let took = clock::mono().since(since);
        self.counts.fetched(given_by.is_ok(), took);
        let given_by = given_by?.and_then(|place| peers.get(place));
        if let Some(&(from, _)) = given_by
            && let Ok((_, bytes)) = self.blobs.open_blob(hash)
            && bytes >= TRANSFER_TOLD_LEAST
        {
            tell(Fetched { from, bytes, took });
        }
        Ok(())
    }

    fn sources(&self, holders: &[Holder]) -> Vec<Peer> {
        let me = self.bulk.identity();
        let sources = holders.iter().filter_map(|holder| {
            let peer = Identity::new(me.grid(), me.group(), Role::Am, &holder.name).ok()?;
            let address = holder.address.clone();
            (peer != *me).then_some((holder.resource, Source { peer, address }))
        });
        sources.collect()
    }
}

/// Why a file could not be fetched.
enum Failure {
    /// No source has given it.
    Nobody(BulkError),
    /// The local disk failed.
    Here(Box<dyn Error>),
}

impl Failure {
    fn text(&self) -> String {
        match self {
            Failure::Nobody(error) => chain(error),
            Failure::Here(error) => chain(&**error),
        }
    }

    fn reading(error: ReadError) -> Failure {
        Failure::Here(Box::new(error))
    }
}
