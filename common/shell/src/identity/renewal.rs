//! When a certificate is to be renewed.

use std::fmt;

use model::{Span, Wall};

/// How long before its end a certificate that was not renewed is warned of.
const WARNED: Span = Span::from_secs(14 * 86_400);

/// What to do about a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// Nothing before this time.
    At(Wall),
    /// Ask for another one.
    Due,
    /// It cannot be renewed with itself any more; somebody has to join again.
    Expired,
}

/// Whether a certificate that is valid between two times is to be renewed: when two thirds of its
/// life are over, so that an authority that is away for some days harms nobody. A clock that stands
/// before the certificate's time is wrong, and renewing would not better it.
pub fn renewal(not_before: Wall, not_after: Wall, now: Wall) -> Renewal {
    let life = Span(not_after.0.saturating_sub(not_before.0));
    let due = Wall(not_after.0.saturating_sub(life.0 / 3));
    if now > not_after {
        Renewal::Expired
    } else if now >= due {
        Renewal::Due
    } else {
        Renewal::At(due)
    }
}

/// That a certificate is about to end, or has ended. Written as what can stand behind its name:
/// `ends in 3 days`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// So long from now.
    Soon(Span),
    /// So long ago.
    Over(Span),
}

/// Whether a certificate that is valid between two times is to be warned of: two weeks before its
/// end, or when half of the time for its renewal is over where its life is shorter.
pub fn ending(not_before: Wall, not_after: Wall, now: Wall) -> Option<Ending> {
    let life = Span(not_after.0.saturating_sub(not_before.0));
    let left = Span(not_after.0.saturating_sub(now.0));
    if now > not_after {
        Some(Ending::Over(now.since(not_after)))
    } else if left <= Span(life.0 / 6).min(WARNED) {
        Some(Ending::Soon(left))
    } else {
        None
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Soon(left) => write!(f, "ends in {}", days(*left)),
            Ending::Over(ago) => write!(f, "ended {} ago", days(*ago)),
        }
    }
}

/// A time in its largest unit, rounded down: `89 days`.
pub fn days(span: Span) -> String {
    let seconds = span.0 / 1_000_000;
    let (n, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        86_400.. => (seconds / 86_400, "day"),
    };
    format!("{n} {unit}{}", if n == 1 { "" } else { "s" })
}
