//! The manager: its parts, and what several files do to an attempt.

use std::collections::BTreeMap;

use machine::Context;
use model::{AttemptId, Epoch, Mono, ProcessId, ResourceId, Span};
use wire::attempt::{Outcome, Started};

use crate::attempt::{Attempt, AttemptState};
use crate::closed::{Closed, ClosedSet};
use crate::holders::Holders;
use crate::io::{Config, Stream};
use crate::outbox::Outbox;
use crate::parts::access::Asked;
use crate::parts::copies::Kept;
use crate::parts::executor::ExecutorLink;
use crate::parts::group::GroupLink;
use crate::parts::leaving::Leaving;
use crate::parts::process::ProcessLink;
use crate::parts::tail::TailRequests;
use crate::parts::watch::Watch;
use crate::record::Event;
use crate::table::Attempts;

/// Interval at which this manager looks for missing answers. Outcomes and registrations are
/// repeated at this period: a lost one costs a second, and a slow peer is not flooded.
pub(crate) const TICK: Span = Span::from_secs(1);
/// Interval at which the machine registers again: an answer may have come from an earlier epoch of
/// the group manager, which has forgotten the machine.
pub(crate) const REGISTER_PERIOD: Span = Span::from_secs(10);
/// The logic of one activity manager.
///
/// ```text
/// group manager  <-- Register                 --> Registered, Grants
/// process manager --> Attach, Dispatch...     <-- Holding, Started, Outcomes...
/// executor       <-- Hello, Start, Forget...  --> Hello, Held, Started, Ended...
/// workers        <-- Stage, Collect, Clear    --> Staged, Collected
/// ```
#[derive(Debug)]
pub struct ActivityManager {
    pub(crate) config: Config,
    pub(crate) group: GroupLink,
    /// Slots that the group may grant.
    pub(crate) lends: u32,
    pub(crate) process_managers: BTreeMap<u32, ProcessLink>,
    pub(crate) executor: ExecutorLink,
    pub(crate) attempts: Attempts,
    pub(crate) closed: ClosedSet,
    pub(crate) out: Outbox,
    pub(crate) tails: TailRequests,
    pub(crate) holders: Holders,
    pub(crate) kept: Kept,
    pub(crate) accesses: Asked,
    pub(crate) leaving: Leaving,
    /// The reason why nothing is lent, for people.
    pub(crate) closed_for: Option<String>,
    pub(crate) watch: Watch,
    /// When repeats are due.
    pub(crate) tick: Option<Mono>,
    /// The start of this epoch.
    pub(crate) began: Mono,
}

impl ActivityManager {
    /// A manager without any connection.
    pub fn new(config: Config) -> ActivityManager {
        ActivityManager {
            lends: config.slots,
            config,
            group: GroupLink::default(),
            process_managers: BTreeMap::new(),
            executor: ExecutorLink::default(),
            attempts: Attempts::default(),
            closed: ClosedSet::default(),
            out: Outbox::default(),
            tails: TailRequests::default(),
            holders: Holders::default(),
            kept: Kept::default(),
            accesses: Asked::default(),
            leaving: Leaving::No,
            closed_for: None,
            watch: Watch::default(),
            tick: None,
            began: Mono(0),
        }
    }

    /// The machine's number, once its group manager has assigned it.
    pub fn resource(&self) -> Option<ResourceId> {
        self.group.resource
    }

    /// Number of known attempts that are not acknowledged.
    pub fn n_attempts(&self) -> usize {
        self.attempts.len()
    }

    /// The same, of these processes.
    pub fn n_attempts_of(&self, is_wanted: impl Fn(ProcessId) -> bool) -> usize {
        let attempts = self.attempts.iter();
        attempts.filter(|one| is_wanted(one.id.process)).count()
    }
}

/// The number of the present epoch.
pub(crate) fn epoch(cx: &Context<'_, ActivityManager>) -> Epoch {
    cx.state(Stream::Manager)
        .map_or(Epoch(0), |state| state.epoch)
}

/// Returns true if attempts of this process manager that must never run twice may have been started in
/// a lost epoch, and it has not recorded the consequences.
pub(crate) fn has_forgotten(cx: &Context<'_, ActivityManager>, process_manager: u32) -> bool {
    cx.state(Stream::Manager)
        .is_some_and(|state| state.has_forgotten && !state.resolved.contains(&process_manager))
}

/// Raises the epoch to a number that no earlier epoch or attachment has had.
pub(crate) fn raise_epoch(cx: &mut Context<'_, ActivityManager>) -> Epoch {
    let epoch = Epoch(epoch(cx).0 + 1);
    cx.record(Stream::Manager, Event::Epoch(epoch));
    epoch
}

/// Forgets an attempt that must never run twice, once its outcome is durable elsewhere.
pub(crate) fn settle(cx: &mut Context<'_, ActivityManager>, id: AttemptId) {
    let state = cx.state(Stream::Manager);
    if state.is_some_and(|state| state.starting.contains_key(&id)) {
        cx.record(Stream::Manager, Event::Settled(id));
    }
}

impl ActivityManager {
    /// Ends an attempt and reports its outcome.
    pub(crate) fn end(&mut self, now: Mono, mut attempt: Attempt, outcome: Outcome) {
        attempt.state = AttemptState::Ended(Box::new(outcome));
        attempt.asked = now;
        self.out.answers(attempt.owner).outcomes.push(attempt.id);
        self.attempts.insert(attempt);
    }

    /// Reports the state of an attempt to a process manager.
    pub(crate) fn tell(&mut self, now: Mono, to: u32, id: AttemptId) {
        let Some(attempt) = self.attempts.get(id) else {
            return;
        };
        let answers = self.out.answers(to);
        match &attempt.state {
            AttemptState::Waiting(_)
            | AttemptState::Staging(_)
            | AttemptState::Staged(_)
            | AttemptState::Queued(_) => {
                answers.accepted.push(id);
            }
            AttemptState::Running { pid, started } => {
                answers.started.push(Started {
                    attempt: id,
                    pid: *pid,
                    at: *started,
                });
            }
            AttemptState::Collecting(collecting) => {
                let Outcome { pid, started, .. } = collecting.outcome;
                answers.started.push(Started {
                    attempt: id,
                    pid,
                    at: started,
                });
            }
            AttemptState::Ended(_) => {
                answers.outcomes.push(id);
                self.attempts.set_asked(id, now);
            }
        }
    }

    /// Takes back an attempt that has not started.
    pub(crate) fn take_back(&mut self, to: u32, attempt: Attempt) {
        self.retracted(to, attempt.id);
        self.clear(attempt);
    }

    /// Removes the directory of an attempt that is over.
    pub(crate) fn clear(&mut self, attempt: Attempt) {
        if let Some(directory) = attempt.directory {
            self.out.clears.push((attempt.id, directory.into()));
        }
    }

    /// Records that an attempt will not run here.
    pub(crate) fn retracted(&mut self, to: u32, id: AttemptId) {
        self.closed.insert(id, Closed::Retracted);
        self.out.answers(to).retracted.push(id);
    }
}
