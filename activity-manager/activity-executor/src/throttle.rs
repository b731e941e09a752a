//! Commands that run as on a slower machine: they are stopped and continued in turn, so that they
//! get only a share of the time.
//!
//! A command that waits for something else than a core is not slowed: one that sleeps or reads a
//! slow disk goes on doing so while it is stopped.

use model::{Mono, PowerSteps, Span};
use thiserror::Error;

/// Length of one turn of running and stopping, if the share permits: short enough that a command of
/// a second gets about its share, and long enough that signals cost little.
const PERIOD: Span = Span::from_millis(20);

/// The least time that a command runs in a turn; below it switching would dominate.
const RUN_MIN: Span = Span::from_millis(1);

/// Steps of a [`Pace`]: as many as fit in one argument of a program.
const STEPS_MAX: usize = 1_000;

/// The shares of the time that commands get, each from some time on. The whole and nothing are
/// shares too: with nothing commands stand still.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace(PowerSteps);

/// Why steps are no [`Pace`].
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum PaceError {
    /// A share that is not one.
    #[error("a share is 0, or from {} to 1, and not {share}", Pace::SHARE_MIN)]
    Share {
        /// The value given.
        share: f64,
    },
    /// More steps than an executor takes.
    #[error("{n_steps} steps; an executor takes at most {STEPS_MAX}")]
    Steps {
        /// The number given.
        n_steps: usize,
    },
}

impl Pace {
    /// The least share above 0: with less a command would run once in seconds.
    pub const SHARE_MIN: f64 = 1e-3;

    /// Commands get these parts of the time.
    pub fn new(shares: PowerSteps) -> Result<Pace, PaceError> {
        let n_steps = shares.steps().len();
        if n_steps > STEPS_MAX {
            return Err(PaceError::Steps { n_steps });
        }
        let is_share = |share: f64| share == 0.0 || (Pace::SHARE_MIN..=1.0).contains(&share);
        let other = shares.steps().iter().find(|step| !is_share(step.power));
        match other {
            Some(step) => Err(PaceError::Share { share: step.power }),
            None => Ok(Pace(shares)),
        }
    }

    /// True if commands get all of the time, always.
    pub fn is_whole(&self) -> bool {
        self.0.steps().iter().all(|step| step.power == 1.0)
    }

    /// The shares over time.
    pub fn shares(&self) -> &PowerSteps {
        &self.0
    }

    /// The argument of a program that says it, `0=1,20=0.5`: seconds and shares.
    pub(crate) fn argument(&self) -> String {
        let steps = self.0.steps().iter();
        let steps = steps.map(|step| format!("{}={}", step.from, step.power));
        steps.collect::<Vec<String>>().join(",")
    }

    /// The same of an argument; none of any other text.
    pub(crate) fn parse(text: &str) -> Option<Pace> {
        let steps: Option<Vec<(f64, f64)>> = text
            .split(',')
            .map(|step| {
                let (from, share) = step.split_once('=')?;
                Some((from.parse().ok()?, share.parse().ok()?))
            })
            .collect();
        let shares = PowerSteps::new(steps?).ok()?;
        Pace::new(shares).ok()
    }
}

/// A pace, and how long it has been set.
#[derive(Clone, Debug)]
pub(crate) struct Tempo {
    pace: Pace,
    /// A time by the clock of deadlines, and how long the pace had been set then.
    seen: Mono,
    passed: Span,
}

impl Tempo {
    /// A pace that had been set for so long at a time.
    pub(crate) fn new(pace: Pace, now: Mono, passed: Span) -> Tempo {
        Tempo {
            pace,
            seen: now,
            passed,
        }
    }

    /// Seconds for which the pace has been set.
    fn seconds(&self, now: Mono) -> f64 {
        (self.passed + now.since(self.seen)).seconds()
    }

    fn share(&self, now: Mono) -> f64 {
        self.pace.0.at(self.seconds(now))
    }

    /// Microseconds of running that commands have a right to between two times.
    fn granted(&self, from: Mono, to: Mono) -> f64 {
        1e6 * self.pace.0.worked(self.seconds(from), self.seconds(to))
    }

    /// The time of the next change.
    fn next_change(&self, now: Mono) -> Option<Mono> {
        let next = Span::from_seconds_up(self.pace.0.next_change(self.seconds(now))?);
        Some(self.seen + next.saturating_sub(self.passed))
    }
}

/// The turns of one command. If the loop is late in one turn, the next one compensates, so that the
/// shares hold over time.
#[derive(Debug)]
pub(crate) struct Throttle {
    tempo: Tempo,
    is_stopped: bool,
    /// When this turn began.
    since: Mono,
    /// Microseconds that it ran beyond its share until then; below 0 if it was stopped for too long.
    ahead: f64,
}

/// The next action on the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Stop,
    Continue,
}

impl Throttle {
    /// A command that has just started.
    pub(crate) fn new(tempo: Tempo, now: Mono) -> Throttle {
        Throttle {
            tempo,
            is_stopped: false,
            since: now,
            ahead: 0.0,
        }
    }

    /// Another pace from here on.
    pub(crate) fn set(&mut self, tempo: Tempo, now: Mono) {
        self.count(now);
        self.tempo = tempo;
    }

    /// The moment at which the next turn begins, if there is one.
    pub(crate) fn due(&self) -> Option<Mono> {
        let share = self.tempo.share(self.since);
        let length = match (self.is_stopped, share) {
            // It runs freely, or stands still, until that changes.
            (false, 1.0) | (true, 0.0) => None,
            (false, share) => {
                let run = Span((PERIOD.0 as f64 * share) as u64);
                Some(run.max(RUN_MIN))
            }
            (true, share) => Some(Span((self.ahead.max(0.0) / share).ceil() as u64)),
        };
        let turn = length.map(|length| self.since + length);
        let change = self.tempo.next_change(self.since);
        turn.into_iter().chain(change).min()
    }

    /// Begins the next turn, if it is time.
    pub(crate) fn turn(&mut self, now: Mono) -> Option<Turn> {
        if self.due().is_none_or(|due| now < due) {
            return None;
        }
        self.count(now);
        // Less than a microsecond is an error of counting.
        let stops = self.ahead >= 1.0 || self.tempo.share(now) == 0.0;
        if stops == self.is_stopped {
            return None;
        }
        self.is_stopped = stops;
        Some(match stops {
            true => Turn::Stop,
            false => Turn::Continue,
        })
    }

    /// Counts what has passed of this turn.
    fn count(&mut self, now: Mono) {
        if !self.is_stopped {
            self.ahead += now.since(self.since).0 as f64;
        }
        self.ahead -= self.tempo.granted(self.since, now);
        self.since = now;
    }
}

#[cfg(test)]
mod tests;
