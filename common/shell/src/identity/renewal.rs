//! When a certificate is to be renewed.

use std::fmt;

use model::{Span, Wall};

/// Time before its end from which a certificate that was not renewed is warned of.
const WARNED: Span = Span::from_secs(14 * 86_400);

/// The next step of a certificate's renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// Nothing to do before this time.
    At(Wall),
    /// Request a new certificate.
    Due,
    /// The certificate has ended and cannot renew itself: the member must join again.
    Expired,
}

/// The renewal state of a certificate: it is due when two thirds of its validity are over, so that
/// some days without the authority do no harm. A clock before the validity is wrong, and renewing
/// would not help.
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

/// A certificate that is about to end or has ended. Its text follows the certificate's name: `ends
/// in 3 days`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It ends after this time.
    Soon(Span),
    /// It ended this long ago.
    Over(Span),
}

/// The warning about a certificate: it is due two weeks before its end, or when half of the time
/// for its renewal is over if its validity is shorter.
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
