//! How long attempts may go on without a word from their process manager, and how long that one
//! waits before it gives them up: one arithmetic for both ends.
//!
//! The activity manager asks, the process manager answers. What the first may use is counted from
//! the moment at which it *sent* the question that was answered, what the second waits for from the
//! moment at which it *answered*, which is never earlier. Both clocks count suspend.

use model::{Mono, Span};

/// The length of a lease where nothing else is said.
pub const LENGTH: Span = Span::from_secs(10);
/// A connection over which nothing came for so long makes its peer suspect.
pub const SILENCE: Span = Span::from_secs(3);
/// The most time between TERM and KILL at the end of a lease.
pub const GRACE: Span = Span::from_secs(2);

/// Two clocks may drift apart by a hundredth; the rest is for a kill to take effect.
const DRIFT: u64 = 100;
const MARGIN: Span = Span::from_millis(500);

/// How often a lease of this length is renewed.
pub fn period(length: Span) -> Span {
    Span(length.0 / 5)
}

/// From TERM to KILL at the end of a lease of this length, by the machine's own grace.
pub fn grace(length: Span, configured: Option<Span>) -> Span {
    configured.unwrap_or(GRACE).min(GRACE).min(period(length))
}

/// When the attempts under a lease are to be stopped, and when they are dead, where the question
/// that was answered had been sent at `sent`.
pub fn end(sent: Mono, length: Span, grace: Span) -> (Mono, Mono) {
    let dead_by = sent + length;
    (sent + (length - grace), dead_by)
}

/// How long after its last answer a process manager gives up what it has on a machine.
pub fn patience(length: Span) -> Span {
    length + Span(length.0 / DRIFT) + MARGIN
}
