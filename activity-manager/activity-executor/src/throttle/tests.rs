use proptest::prelude::*;

use super::*;

fn pace(steps: &[(f64, f64)]) -> Pace {
    Pace::new(PowerSteps::new(steps.iter().copied()).unwrap()).unwrap()
}

/// A command that starts when its pace is set.
fn throttle(pace: Pace) -> Throttle {
    Throttle::new(Tempo::new(pace, Mono(0), Span::ZERO), Mono(0))
}

#[test]
fn only_parts_are_shares() {
    for share in [1.000_001, 0.000_9] {
        let refused = Pace::new(PowerSteps::constant(share).unwrap());
        assert_eq!(refused, Err(PaceError::Share { share }));
    }
    let many = PowerSteps::new((0..1_001).map(|second| (f64::from(second), 0.5))).unwrap();
    let refused = Pace::new(many);
    assert_eq!(refused, Err(PaceError::Steps { n_steps: 1_001 }));
    assert!(pace(&[(0.0, 1.0), (5.0, 1.0)]).is_whole());
    assert!(!pace(&[(0.0, 1.0), (5.0, 0.0)]).is_whole());
}

#[test]
fn a_pace_passes_through_an_argument_unchanged() {
    let steps = [
        (0.0, 1.0),
        (1e-6, 1.0 / 3.0),
        (1e8, 0.0),
        (315_360_000.0, 0.001),
    ];
    let pace = pace(&steps);
    assert_eq!(Pace::parse(&pace.argument()), Some(pace));
    for text in [
        "", "1", "0=2", "0=-1", "1=1", "0=1,0=1", "0=1,", "0=nan", "0=1=1",
    ] {
        assert_eq!(Pace::parse(text), None, "{text}");
    }
}

#[test]
fn half_a_share_runs_and_stops_for_half_a_period_each() {
    let mut throttle = throttle(pace(&[(0.0, 0.5)]));
    assert_eq!(throttle.turn(Mono(9_999)), None);
    assert_eq!(throttle.turn(Mono(10_000)), Some(Turn::Stop));
    assert_eq!(throttle.due(), Some(Mono(20_000)));
    assert_eq!(throttle.turn(Mono(20_000)), Some(Turn::Continue));
    assert_eq!(throttle.due(), Some(Mono(30_000)));
    // Late: it ran longer, so it is stopped longer.
    assert_eq!(throttle.turn(Mono(35_000)), Some(Turn::Stop));
    assert_eq!(throttle.due(), Some(Mono(50_000)));
    // It was stopped longer, so it is stopped less the next time.
    assert_eq!(throttle.turn(Mono(58_000)), Some(Turn::Continue));
    assert_eq!(throttle.turn(Mono(68_000)), Some(Turn::Stop));
    assert_eq!(throttle.due(), Some(Mono(70_000)));
}

#[test]
fn small_share_still_runs_for_a_millisecond() {
    let mut throttle = throttle(pace(&[(0.0, 0.001)]));
    assert_eq!(throttle.turn(Mono(1_000)), Some(Turn::Stop));
    assert_eq!(throttle.due(), Some(Mono(1_000_000)));
}

#[test]
fn a_command_runs_freely_then_at_half_pace_then_stands_still() {
    let steps = pace(&[(0.0, 1.0), (1.0, 0.5), (1.02, 0.0), (2.0, 1.0)]);
    let mut throttle = throttle(steps);
    assert_eq!(throttle.due(), Some(Mono(1_000_000)));
    assert_eq!(throttle.turn(Mono(1_000_000)), None);
    assert_eq!(throttle.turn(Mono(1_010_000)), Some(Turn::Stop));
    // The pause ends where the standstill begins.
    assert_eq!(throttle.turn(Mono(1_020_000)), None);
    assert_eq!(throttle.due(), Some(Mono(2_000_000)));
    assert_eq!(throttle.turn(Mono(1_999_999)), None);
    assert_eq!(throttle.turn(Mono(2_000_000)), Some(Turn::Continue));
    assert_eq!(throttle.due(), None);
}

#[test]
fn a_pace_that_is_set_anew_begins_anew() {
    let steps = pace(&[(0.0, 1.0), (1.0, 0.0)]);
    let mut throttle = throttle(steps.clone());
    assert_eq!(throttle.turn(Mono(1_000_000)), Some(Turn::Stop));
    assert_eq!(throttle.due(), None);
    throttle.set(
        Tempo::new(steps, Mono(5_000_000), Span::ZERO),
        Mono(5_000_000),
    );
    assert_eq!(throttle.turn(Mono(5_001_000)), Some(Turn::Continue));
    assert_eq!(throttle.due(), Some(Mono(6_000_000)));
}

proptest! {
    #[test]
    fn shares_hold_however_late_the_loop_is(
        shares in prop::collection::vec((1u64..500_000, 1_000u32..=1_000_000), 0..5),
        first in 1_000u32..=1_000_000,
        late in prop::collection::vec(0u64..60_000, 200),
    ) {
        let mut steps = vec![(0.0, f64::from(first) / 1e6)];
        for (length, share) in shares {
            let from = steps.last().unwrap().0 + length as f64 / 1e6;
            steps.push((from, f64::from(share) / 1e6));
        }
        let pace = pace(&steps);
        let mut throttle = throttle(pace.clone());
        let (mut now, mut ran) = (Mono(0), Span::ZERO);
        for late in late {
            let was_stopped = throttle.is_stopped;
            let Some(due) = throttle.due() else { break };
            let next = due + Span(late);
            if !was_stopped {
                ran = ran + next.since(now);
            }
            now = next;
            throttle.turn(now);
        }
        // At the end one turn and one delay may be unfinished, and a change cut one turn short.
        let wanted = 1e6 * pace.shares().worked(0.0, now.since(Mono(0)).seconds());
        prop_assert!((ran.0 as f64 - wanted).abs() <= 80_010.0, "{} of {}", ran.0, now.0);
    }
}
