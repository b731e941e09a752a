use proptest::prelude::*;

use super::*;

fn share(part: f64) -> Share {
    Share::of(part).unwrap()
}

#[test]
fn only_parts_are_shares() {
    for part in [
        1.0,
        0.999_999_9,
        0.0,
        -0.5,
        0.000_9,
        f64::NAN,
        f64::INFINITY,
    ] {
        assert_eq!(Share::of(part), None, "{part}");
    }
    assert_eq!(Share::of(0.001), Some(Share::MIN));
    assert_eq!(
        Share::from_millionths(share(0.5).millionths()),
        Share::of(0.5)
    );
    assert_eq!(Share::from_millionths(999), None);
    assert_eq!(Share::from_millionths(1_000_000), None);
}

#[test]
fn half_a_share_runs_and_stops_for_half_a_period_each() {
    let mut throttle = Throttle::new(share(0.5), Mono(0));
    assert_eq!(throttle.turn(Mono(9_999)), None);
    assert_eq!(throttle.turn(Mono(10_000)), Some(Turn::Stop));
    assert_eq!(throttle.due(), Mono(20_000));
    assert_eq!(throttle.turn(Mono(20_000)), Some(Turn::Continue));
    assert_eq!(throttle.due(), Mono(30_000));
    // Late: it ran longer, so it is stopped longer.
    assert_eq!(throttle.turn(Mono(35_000)), Some(Turn::Stop));
    assert_eq!(throttle.due(), Mono(50_000));
    // It was stopped longer, so it is stopped less the next time.
    assert_eq!(throttle.turn(Mono(58_000)), Some(Turn::Continue));
    assert_eq!(throttle.turn(Mono(68_000)), Some(Turn::Stop));
    assert_eq!(throttle.due(), Mono(70_000));
}

#[test]
fn small_share_still_runs_for_a_millisecond() {
    let mut throttle = Throttle::new(Share::MIN, Mono(0));
    assert_eq!(throttle.turn(Mono(1_000)), Some(Turn::Stop));
    assert_eq!(throttle.due(), Mono(1_000_000));
}

proptest! {
    #[test]
    fn share_holds_however_late_the_loop_is(
        millionths in 1_000u32..1_000_000,
        late in prop::collection::vec(0u64..60_000, 200),
    ) {
        let share = Share::from_millionths(millionths).unwrap();
        let mut throttle = Throttle::new(share, Mono(0));
        let (mut now, mut ran) = (Mono(0), Span::ZERO);
        for late in late {
            let was_stopped = throttle.is_stopped;
            let next = throttle.due() + Span(late);
            if !was_stopped {
                ran = ran + next.since(now);
            }
            now = next;
            throttle.turn(now);
        }
        // At the end one turn and one delay may be unfinished.
        let wanted = now.0 as f64 * f64::from(millionths) / 1e6;
        prop_assert!((ran.0 as f64 - wanted).abs() <= 80_001.0, "{} of {}", ran.0, now.0);
    }
}
