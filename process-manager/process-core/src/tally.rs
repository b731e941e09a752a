//! Counts for metrics: the tally of recorded events since the start, and the state at a moment.
//!
//! Each recorded event is counted as it is recorded, so no part counts by itself. The tally is volatile,
//! and nothing is decided by it.

mod faults;
mod ready;
mod seen;
#[cfg(test)]
mod tests;

use machine::Histogram;
use model::{Mono, ProcessId, Span, Wall};
use wire::attempt::Started;

use crate::record::{Ended, Event, Phase, Verdict};

pub use faults::FAULTS;
pub use seen::{Measured, PROCESS_PHASES, SeenMarket};

use ready::Ready;

/// Upper bounds of the real duration of a process in thousandths of the planned one.
const RATIO_BOUNDS: &[u64] = &[
    500, 700, 800, 900, 950, 1_000, 1_050, 1_100, 1_250, 1_500, 2_000, 4_000,
];

/// The events since the start.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Processes that were submitted.
    pub n_submitted: u64,
    /// Processes that have completed.
    pub n_completed: u64,
    /// Processes that a fault has ended.
    pub n_faulted: u64,
    /// Processes that were cancelled.
    pub n_cancelled: u64,
    /// First plans in force, and plans that have replaced others.
    pub n_planned: u64,
    /// The same, where they have replaced others.
    pub n_replanned: u64,
    /// Plans that moved activities because a machine was slower than planned.
    pub n_rescheduled: u64,
    /// Activities that such plans have moved.
    pub n_moved: u64,
    /// Microseconds by which processes end sooner by such plans, as both plans were counted.
    pub saved: Span,
    /// Looks at whether the machines of a process are as fast as planned.
    pub n_judged: u64,
    /// Plans that were asked for since they were not.
    pub n_asked_to_move: u64,
    /// Those of them that did not shorten the process by enough.
    pub n_not_worth: u64,
    /// Attempts that were sent beside others at the same activities.
    pub n_races: u64,
    /// Those of them that had the result.
    pub n_won_by_second: u64,
    /// Times that files went on to the machine of a controller, beside the recorded copies.
    pub n_hops: u64,
    /// Hops that took too long, so that their readers went without them.
    pub n_hops_given_up: u64,
    /// Attempts that were sent to machines.
    pub n_sent: u64,
    /// Attempts that were sent to make lost files again.
    pub n_recomputing: u64,
    /// Activities that took a recorded outcome and did not run.
    pub n_reused: u64,
    /// Attempts by the consequence of their end.
    pub verdicts: Verdicts,
    /// Faults of attempts, activities and processes, in the order of [`FAULTS`].
    pub faults: [u64; FAULTS.len()],
    /// Microseconds from the moment at which an activity was ready to that at which its start, or a short
    /// one's end, was heard of.
    pub start_delays: Histogram,
    /// Microseconds that completed attempts ran.
    pub run_times: Histogram,
    /// Durations of completed processes from their plan on, in thousandths of the planned ones.
    pub plan_ratios: Histogram,
}

/// The tally, with what is needed to count.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    pub(crate) tally: Tally,
    ready: Ready,
}

/// Attempts by the consequence of their end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdicts {
    /// The activity is done.
    pub n_completed: u64,
    /// Failed ones that are tried again.
    pub n_retried: u64,
    /// Lost ones that are tried again.
    pub n_lost: u64,
    /// Those taken back before they started.
    pub n_taken_back: u64,
    /// Its inputs were gone.
    pub n_lacking: u64,
    /// Failed ones, and their activities with them.
    pub n_faulted: u64,
    /// Those stopped because the process ends.
    pub n_stopped: u64,
    /// Those beside which another one counts.
    pub n_dropped: u64,
}

/// Something to be counted that no event tells.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Noted<'a> {
    /// A machine has started attempts.
    Started(&'a [Started]),
    /// A second attempt at an activity, beside the first, has the result.
    WonBySecond,
    /// It was looked at whether the machines of a process are as fast as planned.
    Judged,
    /// A plan was asked for since they are not.
    AskedToMove,
    /// That plan does not shorten the process by enough.
    NotWorthMoving,
    /// Files are at the machine of a controller.
    Hop,
    /// They did not come there in time.
    HopGivenUp,
}

impl Default for Tally {
    fn default() -> Tally {
        Tally {
            n_submitted: 0,
            n_completed: 0,
            n_faulted: 0,
            n_cancelled: 0,
            n_planned: 0,
            n_replanned: 0,
            n_rescheduled: 0,
            n_moved: 0,
            saved: Span::ZERO,
            n_judged: 0,
            n_asked_to_move: 0,
            n_not_worth: 0,
            n_races: 0,
            n_won_by_second: 0,
            n_hops: 0,
            n_hops_given_up: 0,
            n_sent: 0,
            n_recomputing: 0,
            n_reused: 0,
            verdicts: Verdicts::default(),
            faults: [0; FAULTS.len()],
            start_delays: Histogram::of_times(),
            run_times: Histogram::of_times(),
            plan_ratios: Histogram::new(RATIO_BOUNDS),
        }
    }
}

impl Counter {
    /// Counts an event of a process.
    pub(crate) fn note(&mut self, id: ProcessId, event: &Event, now: Mono) {
        match event {
            Event::Founded(founded) => {
                self.tally.n_submitted += 1;
                self.ready.follow(id, &founded.flow, now);
            }
            Event::Planned(_) => self.tally.n_planned += 1,
            Event::Replanned(replanned) => {
                self.tally.n_replanned += 1;
                if let Some(why) = &replanned.why {
                    self.tally.n_rescheduled += 1;
                    self.tally.n_moved += u64::from(why.n_moved);
                    let saved = why.before.saturating_sub(why.after);
                    self.tally.saved = self.tally.saved + saved;
                }
            }
            Event::Sent(attempts, _) => self.tally.n_sent += attempts.len() as u64,
            Event::Recomputing(attempts) => self.tally.n_recomputing += attempts.len() as u64,
            Event::Racing(attempts, _) => self.tally.n_races += attempts.len() as u64,
            Event::Ended(ended) => self.note_ended(id, ended, now),
            Event::Reused(reused) => {
                self.tally.n_reused += 1;
                self.ready.take(id, reused.activity);
                self.ready.follow(id, &reused.flow, now);
            }
            Event::Readied(activities) => {
                for &activity in activities {
                    self.ready.add(id, activity, now);
                }
            }
            Event::Decided(flow) | Event::Assigned { flow, .. } => {
                self.ready.follow(id, flow, now);
            }
            Event::Faulted(fault) => self.tally.faults[faults::place(&fault.name)] += 1,
            Event::Broke { fault, flow } => {
                self.tally.faults[faults::place(&fault.name)] += 1;
                self.ready.follow(id, flow, now);
            }
            Event::Closed { phase, .. } => {
                self.ready.end(id);
                match phase {
                    Phase::Completed => self.tally.n_completed += 1,
                    Phase::Faulted => self.tally.n_faulted += 1,
                    Phase::Cancelled => self.tally.n_cancelled += 1,
                    // No process is closed in them.
                    Phase::Running | Phase::Faulting | Phase::Cancelling => {}
                }
            }
            Event::Epoch(_)
            | Event::Leased(_)
            | Event::Granted { .. }
            | Event::CancelAsked
            // The controller moves on by an event of its own.
            | Event::Expanded(_)
            | Event::Released
            | Event::Copied { .. }
            | Event::MachineLost { .. }
            | Event::FilesLost(..) => {}
        }
    }

    fn note_ended(&mut self, id: ProcessId, ended: &Ended, now: Mono) {
        let outcome = &ended.outcome;
        let activity = outcome.attempt.activity;
        let verdicts = &mut self.tally.verdicts;
        // A short attempt may have ended before anybody heard of its start.
        let known = self.ready.take(id, activity);
        match &ended.verdict {
            Verdict::Completed => {
                verdicts.n_completed += 1;
                self.tally.run_times.note(outcome.wall.0);
            }
            Verdict::Retry { fault, .. } => {
                verdicts.n_retried += 1;
                self.tally.faults[faults::place(&fault.name)] += 1;
            }
            Verdict::Again => verdicts.n_lost += 1,
            Verdict::Moved => verdicts.n_taken_back += 1,
            Verdict::Lacking(_) => verdicts.n_lacking += 1,
            Verdict::Faulted(fault) | Verdict::Broke(fault) => {
                verdicts.n_faulted += 1;
                self.tally.faults[faults::place(&fault.name)] += 1;
            }
            Verdict::Stopped => verdicts.n_stopped += 1,
            Verdict::Dropped(fault) => {
                verdicts.n_dropped += 1;
                if let Some(fault) = fault {
                    self.tally.faults[faults::place(&fault.name)] += 1;
                }
            }
        }
        match ended.verdict {
            // The activity is ready once more.
            Verdict::Again | Verdict::Moved | Verdict::Lacking(_) => {
                self.ready.add(id, activity, now);
            }
            Verdict::Completed
            | Verdict::Retry { .. }
            | Verdict::Faulted(_)
            | Verdict::Broke(_) => {
                if let Some(ready) = known.filter(|_| outcome.started != Wall(0)) {
                    let delay = now.since(ready).0.saturating_sub(outcome.wall.0);
                    self.tally.start_delays.note(delay);
                }
            }
            Verdict::Stopped | Verdict::Dropped(_) => {}
        }
        self.ready.follow(id, &ended.flow, now);
    }

    /// Counts the delay of a start.
    pub(crate) fn started(&mut self, id: ProcessId, started: &Started, now: Mono) {
        if let Some(ready) = self.ready.take(id, started.attempt.activity) {
            self.tally.start_delays.note(now.since(ready).0);
        }
    }
}
