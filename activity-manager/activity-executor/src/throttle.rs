//! Commands that run as on a slower machine: they are stopped and continued in turn, so that they
//! get only a share of the time.
//!
//! A command that waits for something else than a core is not slowed: one that sleeps or reads a
//! slow disk goes on doing so while it is stopped.

use model::{Mono, Span};

/// Length of one turn of running and stopping, if the share permits: short enough that a command of
/// a second gets about its share, and long enough that signals cost little.
const PERIOD: Span = Span::from_millis(20);

/// The least time that a command runs in a turn; below it switching would dominate.
const RUN_MIN: Span = Span::from_millis(1);

/// The share of the time that commands get, in millionths: from [`Share::MIN`] up to, and without,
/// the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u32);

impl Share {
    /// A thousandth: with less a command would run once in seconds.
    pub const MIN: Share = Share(1_000);

    const WHOLE: u32 = 1_000_000;

    /// A part of the whole, rounded to millionths; none if it is the whole or below [`Share::MIN`].
    pub fn of(part: f64) -> Option<Share> {
        let millionths = (part * f64::from(Share::WHOLE)).round();
        let is_part = (f64::from(Share::MIN.0)..f64::from(Share::WHOLE)).contains(&millionths);
        is_part.then_some(Share(millionths as u32))
    }

    /// The same from millionths.
    pub(crate) fn from_millionths(millionths: u32) -> Option<Share> {
        (Share::MIN.0..Share::WHOLE)
            .contains(&millionths)
            .then_some(Share(millionths))
    }

    pub(crate) fn millionths(self) -> u32 {
        self.0
    }

    /// The running time of a turn.
    fn run(self) -> Span {
        Span((PERIOD.0 * u64::from(self.0) / u64::from(Share::WHOLE)).max(RUN_MIN.0))
    }

    /// The pause that follows from a running time.
    fn pause(self, ran: Span) -> i64 {
        let micros = u128::from(ran.0) * u128::from(Share::WHOLE - self.0) / u128::from(self.0);
        i64::try_from(micros).unwrap_or(i64::MAX)
    }
}

/// The turns of one command. If the loop is late in one turn, the next one compensates, so that the
/// share holds over time.
#[derive(Debug)]
pub(crate) struct Throttle {
    share: Share,
    is_stopped: bool,
    /// When this turn began.
    since: Mono,
    /// Owed microseconds of pause; below 0 if it was stopped for too long.
    owed: i64,
}

/// The next action on the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Stop,
    Continue,
}

impl Throttle {
    /// A command that has just started.
    pub(crate) fn new(share: Share, now: Mono) -> Throttle {
        Throttle {
            share,
            is_stopped: false,
            since: now,
            owed: 0,
        }
    }

    /// When the next turn begins.
    pub(crate) fn due(&self) -> Mono {
        if self.is_stopped {
            self.since + Span(self.owed.max(0).unsigned_abs())
        } else {
            self.since + self.share.run()
        }
    }

    /// Begins the next turn, if it is time.
    pub(crate) fn turn(&mut self, now: Mono) -> Option<Turn> {
        if now < self.due() {
            return None;
        }
        let passed = now.since(self.since);
        self.since = now;
        if self.is_stopped {
            self.owed = self.owed.saturating_sub_unsigned(passed.0);
            self.is_stopped = false;
            return Some(Turn::Continue);
        }
        self.owed = self.owed.saturating_add(self.share.pause(passed));
        self.is_stopped = self.owed > 0;
        self.is_stopped.then_some(Turn::Stop)
    }
}

#[cfg(test)]
mod tests;
