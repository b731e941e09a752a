//! How long attempts may go on without a word from their process manager, and how long that one
//! waits before it gives them up: one arithmetic for both ends.
//!
//! The activity manager asks, the process manager answers. What the first may use is counted from
//! the moment at which it *sent* the question that was answered, what the second waits for from the
//! moment at which it *answered*, which is never earlier. Both clocks count suspend.
//!
//! The process manager chooses the length, and tells it with each attachment; the activity manager
//! says back by which length it counts. One of them that says nothing counts by [`LENGTH`].

use model::{Mono, Span};

/// The length of a lease where nothing else is said.
pub const LENGTH: Span = Span::from_secs(10);
/// The shortest: it leaves a process manager some seconds to start again, and lasts longer than it
/// takes to suspect a machine and to hear of it again.
pub const SHORTEST: Span = Span::from_secs(5);
/// The longest: what a machine had that is gone waits so long.
pub const LONGEST: Span = Span::from_secs(600);
/// A connection over which nothing came for so long makes its peer suspect.
pub const SILENCE: Span = Span::from_secs(3);
/// The most time between TERM and KILL at the end of a lease.
pub const GRACE: Span = Span::from_secs(2);

/// Two clocks may drift apart by a hundredth; the rest is for a kill to take effect.
const DRIFT: u64 = 100;
const MARGIN: Span = Span::from_millis(500);

/// The longest between two questions: they are the sign of life as well, and come more often than
/// every [`SILENCE`].
const PERIOD_MAX: Span = Span::from_secs(2);

/// The length by which an activity manager counts answers, where this was told.
pub fn counted(told: Option<Span>) -> Span {
    told.unwrap_or(LENGTH).clamp(SHORTEST, LONGEST)
}

/// The length by which a process manager waits for a machine, where it has told `own` and the machine
/// has said that it counts by `echoed`: never less than the machine may use.
pub fn waited(own: Span, echoed: Option<Span>) -> Span {
    own.max(counted(echoed))
}

/// How often a lease of this length is renewed: a fifth of it, and at least as often as a machine
/// must be heard.
pub fn period(length: Span) -> Span {
    Span(length.0 / 5).min(PERIOD_MAX)
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

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTHS: [Span; 4] = [SHORTEST, LENGTH, Span::from_secs(61), LONGEST];

    #[test]
    fn the_usual_lease_is_as_it_is_written_down() {
        assert_eq!(period(LENGTH), Span::from_secs(2));
        assert_eq!(grace(LENGTH, None), Span::from_secs(2));
        assert_eq!(patience(LENGTH), Span::from_millis(10_600));
        let (until, dead_by) = end(Mono(7), LENGTH, GRACE);
        let after = |seconds| Mono(7) + Span::from_secs(seconds);
        assert_eq!((until, dead_by), (after(8), after(10)));
    }

    #[test]
    fn leases_of_every_length_are_asked_for_in_time_and_end_before_they_are_given_up() {
        for length in LENGTHS {
            assert!(Span(period(length).0 * 5) <= length);
            assert!(period(length) + Span::from_secs(1) <= SILENCE);
            for configured in [None, Some(Span::ZERO), Some(Span::from_secs(60))] {
                let grace = grace(length, configured);
                let (until, dead_by) = end(Mono(0), length, grace);
                // A question is asked and answered again before the end.
                assert!(Mono(0) + Span(period(length).0 * 3) <= until, "{length}");
                assert!(dead_by < Mono(0) + patience(length));
            }
            assert!(SILENCE + period(length) <= length, "{length}");
        }
    }

    #[test]
    fn nobody_counts_by_less_than_the_other_may_use() {
        let other = |seconds| Some(Span::from_secs(seconds));
        // A machine that does not know of lengths counts by the usual one.
        assert_eq!(waited(SHORTEST, None), LENGTH);
        assert_eq!(waited(SHORTEST, other(5)), SHORTEST);
        assert_eq!(waited(Span::from_secs(60), None), Span::from_secs(60));
        // A process manager that says none waits by the usual one.
        assert_eq!(counted(None), LENGTH);
        // What no configuration allows is no length of a lease.
        assert_eq!(counted(Some(Span::ZERO)), SHORTEST);
        assert_eq!(counted(Some(Span(u64::MAX))), LONGEST);
        assert_eq!(waited(SHORTEST, Some(Span(u64::MAX))), LONGEST);
    }
}
