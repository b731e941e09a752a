//! The length of leases: how long attempts may go on without an answer of their process manager,
//! and how long the process manager waits before it gives them up. One calculation for both ends.
//!
//! The activity manager asks, the process manager answers. The activity manager counts from the
//! time at which it *sent* the answered request; the process manager counts from the time at which
//! it *answered*, which is never earlier. Both clocks count suspend.
//!
//! The process manager chooses the length and sends it with each attachment; the activity manager
//! replies with the length that it uses. A side that names none uses [`LENGTH`].

use model::{Mono, Span};

/// The default length of a lease.
pub const LENGTH: Span = Span::from_secs(10);
/// The shortest length: it leaves a process manager some seconds to restart, and is longer than it
/// takes to suspect a machine and to hear it again.
pub const SHORTEST: Span = Span::from_secs(5);
/// The longest length: activities of a lost machine wait for so long.
pub const LONGEST: Span = Span::from_secs(600);
/// Silence after which the peer of a connection is suspect.
pub const SILENCE: Span = Span::from_secs(3);
/// The longest time between TERM and KILL at the end of a lease.
pub const GRACE: Span = Span::from_secs(2);

/// Two clocks may differ by a hundredth; the rest is the time for a kill to take effect.
const DRIFT: u64 = 100;
const MARGIN: Span = Span::from_millis(500);

/// The longest time between two renewals. They show that the sender is alive, so they are more
/// frequent than [`SILENCE`].
const PERIOD_MAX: Span = Span::from_secs(2);

/// The length that an activity manager uses, given the one it was told.
pub fn counted(told: Option<Span>) -> Span {
    told.unwrap_or(LENGTH).clamp(SHORTEST, LONGEST)
}

/// The length for which a process manager waits for a machine, given its own and the one that the
/// machine uses: never less than the machine may use.
pub fn waited(own: Span, echoed: Option<Span>) -> Span {
    own.max(counted(echoed))
}

/// Interval of renewals: a fifth of the length, and at least as often as a machine must be heard.
pub fn period(length: Span) -> Span {
    Span(length.0 / 5).min(PERIOD_MAX)
}

/// The next sign of life of a machine, after one period at the latest: at the moments at which the
/// clock plus `beat` is a multiple of the period, if it has a beat.
pub fn next_alive(now: Mono, length: Span, beat: Option<Span>) -> Mono {
    let period = period(length);
    let past = beat.map_or(0, |beat| (now.0 + beat.0) % period.0);
    now + Span(period.0 - past)
}

/// Time from TERM to KILL at the end of a lease of this length, given the machine's own grace.
pub fn grace(length: Span, configured: Option<Span>) -> Span {
    configured.unwrap_or(GRACE).min(GRACE).min(period(length))
}

/// When the attempts under a lease are stopped, and when they are dead, if the answered request was
/// sent at `sent`.
pub fn end(sent: Mono, length: Span, grace: Span) -> (Mono, Mono) {
    let dead_by = sent + length;
    (sent + (length - grace), dead_by)
}

/// Time after its last answer until a process manager gives up its attempts on a machine.
pub fn patience(length: Span) -> Span {
    length + Span(length.0 / DRIFT) + MARGIN
}

/// Returns true for the encoded messages of an activity manager that a lease depends on: `Renew`, and
/// `Holding`, before which it would not be answered. They overtake others at the process manager, which
/// therefore asks before it decodes.
pub fn is_urgent(bytes: &[u8]) -> bool {
    const HOLDING: u32 = 0;
    const RENEW: u32 = 7;
    let mut decoder = minicbor::Decoder::new(bytes);
    // An enum is an array of the number of its variant and the fields.
    let variant = decoder.array().and_then(|_| decoder.u32());
    variant.is_ok_and(|variant| [HOLDING, RENEW].contains(&variant))
}

#[cfg(test)]
mod tests {
    use model::Epoch;

    use super::*;
    use crate::attempt::FromActivity;

    #[test]
    fn a_beat_moves_signs_of_life_forward_and_never_back() {
        let (length, period) = (LENGTH, PERIOD_MAX.0);
        let now = Mono(1_234_567);
        assert_eq!(next_alive(now, length, None), now + PERIOD_MAX);
        for beat in [0, 1, 765_433, period - 1] {
            let next = next_alive(now, length, Some(Span(beat)));
            assert!(next > now && next <= now + PERIOD_MAX, "{beat}");
            assert_eq!((next.0 + beat) % period, 0, "{beat}");
            assert_eq!(
                next_alive(next, length, Some(Span(beat))),
                next + PERIOD_MAX
            );
        }
    }

    #[test]
    fn messages_that_leases_depend_on_are_told_by_their_bytes() {
        let renew = FromActivity::Renew {
            epoch: Epoch(3),
            number: 70_000,
        };
        let holding = FromActivity::Holding {
            epoch: Epoch(3),
            ask: 1,
            part: 0,
            n_parts: 1,
            attempts: Vec::new(),
            lease: Some(LENGTH),
            has_forgotten: false,
        };
        assert!(is_urgent(&crate::encode(&renew)) && is_urgent(&crate::encode(&holding)));
        let others = [
            FromActivity::Accepted(Vec::new()),
            FromActivity::Outcomes(Vec::new()),
            FromActivity::Started(Vec::new()),
        ];
        for other in others {
            assert!(!is_urgent(&crate::encode(&other)), "{other:?}");
        }
        for odd in [&[][..], &[0x82], &[0x82, 0x20], &[7], b"\xff\xff"] {
            assert!(!is_urgent(odd));
        }
    }

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
                // A request is sent and answered again before the end.
                assert!(Mono(0) + Span(period(length).0 * 3) <= until, "{length}");
                assert!(dead_by < Mono(0) + patience(length));
            }
            assert!(SILENCE + period(length) <= length, "{length}");
        }
    }

    #[test]
    fn nobody_counts_by_less_than_the_other_may_use() {
        let other = |seconds| Some(Span::from_secs(seconds));
        // A machine without support for lengths uses the default one.
        assert_eq!(waited(SHORTEST, None), LENGTH);
        assert_eq!(waited(SHORTEST, other(5)), SHORTEST);
        assert_eq!(waited(Span::from_secs(60), None), Span::from_secs(60));
        // A process manager without one waits by the default one.
        assert_eq!(counted(None), LENGTH);
        // A length that no configuration permits is ignored.
        assert_eq!(counted(Some(Span::ZERO)), SHORTEST);
        assert_eq!(counted(Some(Span(u64::MAX))), LONGEST);
        assert_eq!(waited(SHORTEST, Some(Span(u64::MAX))), LONGEST);
    }
}
