//! The beat of a member: the moments at which it reports, so that a group manager hears of several
//! members at once. Each wake costs it as much as the message that it is woken for; members spread over
//! several moments, so that no burst is long.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use model::{Now, Span, Wall};

/// The time between two beats of a member.
pub const PERIOD: Span = Span::from_secs(4);

/// The moments of a period among which members are spread.
const PLACES: u64 = 16;

/// A report that is due sooner is left out: one has just been sent.
const NEAREST: Span = Span::from_secs(1);

/// A member's beat: its moments are those at which the time of day plus this is a multiple of
/// [`PERIOD`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat(Span);

impl Beat {
    /// The beat of the member with this name.
    pub fn of(name: &str) -> Beat {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        Beat(Span(hasher.finish() % PLACES * (PERIOD.0 / PLACES)))
    }

    /// The time until the next report.
    pub fn next(self, now: Wall) -> Duration {
        let left = PERIOD.0 - (now.0 + self.0.0) % PERIOD.0;
        let left = if left < NEAREST.0 {
            left + PERIOD.0
        } else {
            left
        };
        Duration::from_micros(left)
    }

    /// The same beat by the monotonic clock: what is to be added to that clock. A time of day that is set
    /// later moves it away from those of others, which costs them nothing but a wake.
    pub fn offset(self, now: Now) -> Span {
        // Modulo the period, without going below zero.
        let ahead = now.wall.0 % PERIOD.0 + PERIOD.0 - now.mono.0 % PERIOD.0;
        Span((ahead + self.0.0) % PERIOD.0)
    }
}

#[cfg(test)]
mod tests {
    use model::Mono;

    use super::*;

    #[test]
    fn members_report_at_their_places_and_one_of_a_name_at_one() {
        let places: std::collections::BTreeSet<u64> = (0..200)
            .map(|number| Beat::of(&format!("am{number}")).0.0)
            .collect();
        assert_eq!(places.len() as u64, PLACES);
        for start in [0, 999_999, 3_999_999, 1_700_000_001_234_567] {
            let beat = Beat::of("am1");
            let next = Wall(start + beat.next(Wall(start)).as_micros() as u64);
            assert_eq!((next.0 + beat.0.0) % PERIOD.0, 0, "{start}");
            assert!(next.0 - start >= NEAREST.0 && next.0 - start < PERIOD.0 + NEAREST.0);
            // The wake comes at the moment or after it, never much before.
            let after = beat.next(Wall(next.0 + 300));
            assert_eq!(after, Duration::from_micros(PERIOD.0 - 300));
        }
    }

    #[test]
    fn both_clocks_have_the_same_beat() {
        let beat = Beat::of("am2");
        let (wall, mono) = (Wall(1_700_000_001_234_567), Mono(7_654_321));
        let offset = beat.offset(Now { mono, wall });
        let until = PERIOD.0 - (mono.0 + offset.0) % PERIOD.0;
        assert_eq!((wall.0 + until + beat.0.0) % PERIOD.0, 0);
    }
}
