//! The attempts that this executor knows, and the answers to requests about them. No system calls:
//! the caller reports which commands run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;

use model::AttemptId;
use wire::executor::{Ended, Held, Phase, Start, Started};

/// Waiting starts, above which more are refused.
pub(crate) const QUEUED_MAX: usize = 100_000;

/// Bytes of waiting starts, above which more are refused.
pub(crate) const QUEUED_BYTES_MAX: usize = 256 << 20;

/// Kept outcomes, above which nothing is started.
pub(crate) const ENDED_MAX: usize = 100_000;

/// Bytes of kept outcomes, above which nothing is started.
pub(crate) const ENDED_BYTES_MAX: usize = 256 << 20;

/// Number of remembered retracted attempts, the latest ones. A start that arrives after as many
/// others were retracted has been in flight for hours.
pub(crate) const RETRACTED_MAX: usize = 100_000;

/// Bytes of an entry without the data that it points to.
const ENTRY_BYTES: usize = 300;

/// The answer about an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// None yet: its start will be reported.
    Nothing,
    Started,
    Ended,
    Retracted,
    Refused,
}

/// The store; see the module.
#[derive(Default)]
pub(crate) struct Store {
    attempts: BTreeMap<AttemptId, Entry>,
    /// In the order of arrival. Attempts that are not queued any more are skipped.
    queue: VecDeque<AttemptId>,
    n_queued: usize,
    queued_bytes: usize,
    n_ended: usize,
    ended_bytes: usize,
    retracted: BTreeSet<AttemptId>,
    retracted_order: VecDeque<AttemptId>,
}

enum Entry {
    Queued(Box<Start>),
    Running {
        slot: usize,
        started: Started,
        note: Vec<u8>,
    },
    Ended(Box<Ended>),
}

impl Store {
    /// Outcomes of an earlier executor.
    pub(crate) fn restore(&mut self, outcomes: Vec<Ended>) {
        for ended in outcomes {
            self.end(ended);
        }
    }

    /// Queues a start, unless it is known.
    pub(crate) fn queue(&mut self, start: Start) -> Answer {
        let attempt = start.attempt;
        match self.attempts.get(&attempt) {
            Some(Entry::Queued(_)) => return Answer::Nothing,
            Some(Entry::Running { .. }) => return Answer::Started,
            Some(Entry::Ended(_)) => return Answer::Ended,
            None => {}
        }
        if self.retracted.contains(&attempt) {
            return Answer::Retracted;
        }
        let bytes = start_bytes(&start);
        if self.n_queued >= QUEUED_MAX || self.queued_bytes + bytes > QUEUED_BYTES_MAX {
            return Answer::Refused;
        }
        self.n_queued += 1;
        self.queued_bytes += bytes;
        self.attempts
            .insert(attempt, Entry::Queued(Box::new(start)));
        self.queue.push_back(attempt);
        Answer::Nothing
    }

    /// The first start of the queue, if `fits` accepts it. It leaves the store: [`Store::run`] or
    /// [`Store::end`] must follow.
    pub(crate) fn take_first(&mut self, fits: impl FnOnce(&Start) -> bool) -> Option<Box<Start>> {
        while let Some(&attempt) = self.queue.front() {
            match self.attempts.get(&attempt) {
                Some(Entry::Queued(start)) => {
                    if !fits(start) {
                        return None;
                    }
                    self.queue.pop_front();
                    return self.unqueue(attempt);
                }
                Some(Entry::Running { .. } | Entry::Ended(_)) | None => {
                    self.queue.pop_front();
                }
            }
        }
        None
    }

    /// An attempt runs.
    pub(crate) fn run(&mut self, started: Started, slot: usize, note: Vec<u8>) {
        self.attempts.insert(
            started.attempt,
            Entry::Running {
                slot,
                started,
                note,
            },
        );
    }

    /// An attempt has ended, or could not be started. The outcome gets the note of the start.
    pub(crate) fn end(&mut self, mut ended: Ended) {
        let attempt = ended.attempt;
        if let Some(Entry::Running { note, .. }) = self.attempts.get_mut(&attempt) {
            ended.note = std::mem::take(note);
        }
        self.n_ended += 1;
        self.ended_bytes += ended_bytes(&ended);
        self.attempts.insert(attempt, Entry::Ended(Box::new(ended)));
    }

    /// Takes an attempt back for ever, if it has not started.
    pub(crate) fn retract(&mut self, attempt: AttemptId) -> Answer {
        match self.attempts.get(&attempt) {
            Some(Entry::Running { .. }) => return Answer::Started,
            Some(Entry::Ended(_)) => return Answer::Ended,
            Some(Entry::Queued(_)) => {
                self.unqueue(attempt);
                if self.queue.len() > 2 * self.n_queued + 1_000 {
                    let attempts = &self.attempts;
                    self.queue
                        .retain(|id| matches!(attempts.get(id), Some(Entry::Queued(_))));
                }
            }
            None => {}
        }
        if self.retracted.insert(attempt) {
            self.retracted_order.push_back(attempt);
            if self.retracted_order.len() > RETRACTED_MAX
                && let Some(oldest) = self.retracted_order.pop_front()
            {
                self.retracted.remove(&oldest);
            }
        }
        Answer::Retracted
    }

    /// Drops an outcome; any other state is left alone.
    pub(crate) fn forget(&mut self, attempt: AttemptId) {
        if let Some(Entry::Ended(ended)) = self.attempts.get(&attempt) {
            self.n_ended -= 1;
            self.ended_bytes -= ended_bytes(ended);
            self.attempts.remove(&attempt);
        }
    }

    /// Queued attempts of this owner.
    pub(crate) fn queued_of(&self, owner: u32) -> Vec<AttemptId> {
        let queued = self.attempts.iter().filter(|(_, entry)| match entry {
            Entry::Queued(start) => start.owner == Some(owner),
            Entry::Running { .. } | Entry::Ended(_) => false,
        });
        queued.map(|(&attempt, _)| attempt).collect()
    }

    /// Drops all queued attempts.
    pub(crate) fn clear_queue(&mut self) {
        for attempt in std::mem::take(&mut self.queue) {
            if let Some(Entry::Queued(_)) = self.attempts.get(&attempt) {
                self.unqueue(attempt);
            }
        }
    }

    /// The slot of a running attempt.
    pub(crate) fn slot(&self, attempt: AttemptId) -> Option<usize> {
        match self.attempts.get(&attempt) {
            Some(Entry::Running { slot, .. }) => Some(*slot),
            Some(Entry::Queued(_) | Entry::Ended(_)) | None => None,
        }
    }

    pub(crate) fn started(&self, attempt: AttemptId) -> Option<Started> {
        match self.attempts.get(&attempt) {
            Some(Entry::Running { started, .. }) => Some(*started),
            Some(Entry::Queued(_) | Entry::Ended(_)) | None => None,
        }
    }

    pub(crate) fn ended(&self, attempt: AttemptId) -> Option<&Ended> {
        match self.attempts.get(&attempt) {
            Some(Entry::Ended(ended)) => Some(ended),
            Some(Entry::Queued(_) | Entry::Running { .. }) | None => None,
        }
    }

    /// All kept outcomes.
    pub(crate) fn outcomes(&self) -> Vec<&Ended> {
        let outcomes = self.attempts.values().filter_map(|entry| match entry {
            Entry::Ended(ended) => Some(&**ended),
            Entry::Queued(_) | Entry::Running { .. } => None,
        });
        outcomes.collect()
    }

    /// The first attempt after `after` and its state; the very first one for none.
    pub(crate) fn held_after(&self, after: Option<AttemptId>) -> Option<Held> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let (&attempt, entry) = self.attempts.range((from, Bound::Unbounded)).next()?;
        let (note, phase) = match entry {
            Entry::Queued(start) => (start.note.clone(), Phase::Queued),
            Entry::Running { started, note, .. } => (note.clone(), Phase::Running(*started)),
            Entry::Ended(ended) => (ended.note.clone(), Phase::Ended((**ended).clone())),
        };
        Some(Held {
            attempt,
            note,
            phase,
        })
    }

    /// Returns true if an attempt waits for cores.
    pub(crate) fn has_queued(&self) -> bool {
        self.n_queued > 0
    }

    /// Returns true if outcomes of more commands can be kept.
    pub(crate) fn has_room(&self) -> bool {
        self.n_ended < ENDED_MAX && self.ended_bytes < ENDED_BYTES_MAX
    }

    fn unqueue(&mut self, attempt: AttemptId) -> Option<Box<Start>> {
        let Some(Entry::Queued(start)) = self.attempts.remove(&attempt) else {
            return None;
        };
        self.n_queued -= 1;
        self.queued_bytes -= start_bytes(&start);
        Some(start)
    }
}

fn start_bytes(start: &Start) -> usize {
    let contained = start.container.iter();
    let contained =
        contained.flat_map(|container| container.command.iter().chain(&container.read_only));
    let strings = start
        .program
        .iter()
        .chain(contained)
        .map(|argument| argument.len() + 24)
        .sum::<usize>()
        + start
            .env
            .iter()
            .map(|(name, value)| name.len() + value.len() + 48)
            .sum::<usize>();
    let stdin = match &start.stdin {
        wire::executor::Stdin::Empty => 0,
        wire::executor::Stdin::Bytes(bytes) => bytes.len(),
        wire::executor::Stdin::Path(path) => path.len(),
    };
    ENTRY_BYTES + strings + stdin + start.directory.len() + start.note.len()
}

/// Approximate bytes of an outcome in memory, and encoded.
pub(crate) fn ended_bytes(ended: &Ended) -> usize {
    let message = match &ended.exit {
        wire::executor::Exit::NotStarted { message, .. } => message.len(),
        wire::executor::Exit::Exited { .. }
        | wire::executor::Exit::Signaled { .. }
        | wire::executor::Exit::TimedOut
        | wire::executor::Exit::OutOfMemory
        | wire::executor::Exit::Stopped
        | wire::executor::Exit::Abandoned
        | wire::executor::Exit::Expired
        | wire::executor::Exit::Stuck => 0,
    };
    ENTRY_BYTES + message + ended.stdout.inline.len() + ended.stderr.inline.len() + ended.note.len()
}

#[cfg(test)]
mod tests;
