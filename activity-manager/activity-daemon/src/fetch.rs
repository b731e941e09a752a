//! Fetches what attempts need and this machine lacks, beside the workers, so that no command whose
//! files are here waits for a transfer.

use std::collections::{BTreeSet, VecDeque};
use std::error::Error;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use activity_blobs::{ReadError, Store};
use activity_core::{Input, Trouble, Workplace};
use model::{Artifact, AttemptId, FaultName, Hash, Identity, Role};
use shell::Inbox;
use shell::quic::{Bulk, BulkError, Source};
use wire::attempt::Holder;

use crate::depot::{Keeping, StoreDepot};
use crate::workers::{AtWork, chain, lay};

/// Transfers at a time: they share one network.
const FETCHERS: usize = 4;

/// An attempt that lacks files.
pub(crate) struct Wanting {
    pub(crate) attempt: AttemptId,
    pub(crate) workplace: Workplace,
    pub(crate) inputs: Vec<(String, Artifact)>,
    /// Who may have them, by the place of the input.
    pub(crate) sources: Sources,
}

/// Who may have inputs, by their place among the inputs.
pub(crate) type Sources = Vec<(u32, Vec<Holder>)>;

/// The threads. Dropping it ends transfers and threads.
pub(crate) struct Fetchers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// Takes what lacks files, from any thread.
#[derive(Clone)]
pub(crate) struct ToFetch(Arc<Shared>);

struct Shared {
    blobs: Store,
    bulk: Arc<Bulk>,
    inbox: Inbox<Input>,
    at_work: AtWork,
    state: Mutex<State>,
    changed: Condvar,
}

/// The core knows a bounded number of attempts ([`activity_core::ATTEMPTS_KNOWN_MAX`]), so no more
/// than that wait here.
#[derive(Default)]
struct State {
    waiting: VecDeque<Wanting>,
    /// Blobs that a thread is at: another one that needs one of them waits for it.
    coming: BTreeSet<Hash>,
    is_closing: bool,
}

impl Fetchers {
    pub(crate) fn start(
        blobs: &Store,
        bulk: Arc<Bulk>,
        inbox: &Inbox<Input>,
        at_work: AtWork,
    ) -> io::Result<Fetchers> {
        let shared = Arc::new(Shared {
            blobs: blobs.clone(),
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
        Ok(fetchers)
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
    /// Queues an attempt; it is heard of again as staged or as lacking.
    pub(crate) fn give(&self, wanting: Wanting) {
        self.0.lock().waiting.push_back(wanting);
        self.0.changed.notify_all();
    }
}

/// Whether a file of an input is not here.
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
        let mut state = self.lock();
        loop {
            if state.is_closing {
                return None;
            }
            if let Some(wanting) = state.waiting.pop_front() {
                return Some(wanting);
            }
            state = self.wait(state);
        }
    }

    fn wait<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let woken = self.changed.wait(state);
        woken.unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, wanting: Wanting) {
        // What has come is not evicted before it is laid down.
        let _hold = self.blobs.hold();
        let Wanting {
            attempt,
            workplace,
            inputs,
            sources,
        } = wanting;
        let mut lacking = Vec::new();
        let mut trouble = None;
        for (input, (path, artifact)) in (0..).zip(&inputs) {
            let named = sources.iter().find(|(of, _)| *of == input);
            let named = named.map_or(&[][..], |(_, holders)| holders);
            match self.bring(*artifact, &self.sources(named)) {
                Ok(()) => {}
                Err(Failure::Nobody(error)) => {
                    let error = chain(&error);
                    tracing::warn!(%attempt, path, error, "an input could not be had");
                    lacking.push(input);
                }
                Err(Failure::Here(error)) => {
                    trouble = Some(Trouble {
                        name: FaultName::Staging,
                        message: format!("could not keep `{path}`: {}", chain(&*error)),
                    });
                }
            }
        }
        let answer = match trouble {
            Some(trouble) => Input::Staged {
                attempt,
                result: Err(trouble),
            },
            None if !lacking.is_empty() => Input::Lacking {
                attempt,
                inputs: lacking,
                workplace,
            },
            None => {
                let result = lay(&self.blobs, &workplace.directory, &inputs);
                Input::Staged {
                    attempt,
                    result: result.map(|()| workplace),
                }
            }
        };
        self.at_work.done([attempt]);
        self.inbox.tell(answer);
    }

    /// Has all of a file or a directory here.
    fn bring(&self, artifact: Artifact, sources: &[Source]) -> Result<(), Failure> {
        // Of a directory first comes the listing, and then what it lists.
        for _ in 0..2 {
            let missing = self.blobs.missing(artifact).map_err(Failure::reading)?;
            for hash in missing {
                self.bring_one(hash, sources)?;
            }
        }
        Ok(())
    }

    fn bring_one(&self, hash: Hash, sources: &[Source]) -> Result<(), Failure> {
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
            let depot = StoreDepot::new(self.blobs.clone(), Keeping::AsCopy);
            self.bulk.fetch(sources, hash, &depot)
        };
        self.lock().coming.remove(&hash);
        self.changed.notify_all();
        fetched.map_err(|error| match error {
            BulkError::Disk(error) => Failure::Here(Box::new(error)),
            error @ (BulkError::Connect { .. }
            | BulkError::Cut(_)
            | BulkError::Slow
            | BulkError::Refused(_)
            | BulkError::Answer
            | BulkError::TooLarge { .. }
            | BulkError::Corrupt
            | BulkError::Stopping
            | BulkError::Nobody) => Failure::Nobody(error),
        })
    }

    fn sources(&self, holders: &[Holder]) -> Vec<Source> {
        let me = self.bulk.identity();
        let sources = holders.iter().filter_map(|holder| {
            let peer = Identity::new(me.grid(), me.group(), Role::Am, &holder.name).ok()?;
            (peer != *me).then(|| Source {
                peer,
                address: holder.address.clone(),
            })
        });
        sources.collect()
    }
}

/// Why a file is not here.
enum Failure {
    /// Nobody gives it.
    Nobody(BulkError),
    /// The own disk does not take it.
    Here(Box<dyn Error>),
}

impl Failure {
    fn reading(error: ReadError) -> Failure {
        Failure::Here(Box::new(error))
    }
}
