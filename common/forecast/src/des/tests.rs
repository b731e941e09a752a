use super::*;

fn fed(des: &mut Des, values: &[f64]) {
    for &value in values {
        des.observe(Observation::Value(value));
    }
}

#[test]
fn an_error_after_a_constant_history_is_huge_and_then_medium() {
    let mut des = Des::default();
    let mut seen = Vec::new();
    for value in [5.0, 5.0, 5.0, 5.0, 6.0, 6.0, 6.0] {
        fed(&mut des, &[value]);
        seen.push((des.class(), des.gain(), des.level));
    }
    assert_eq!(
        seen[3..],
        [
            (Class::B, 0.5, 5.0),
            (Class::H1, 0.5, 5.5),
            (Class::M, 0.5, 5.75),
            (Class::B, 0.5, 5.875)
        ]
    );
}

/// The check of V08 at t = 15: the only jump so far was a level switch, so the peak is trusted.
#[test]
fn the_gain_of_a_class_is_what_came_after_its_errors() {
    let mut des = Des::default();
    fed(
        &mut des,
        &[
            100.0, 104.0, 98.0, 101.0, 103.0, 99.0, 102.0, 180.0, 178.0, 183.0, 181.0, 179.0,
            182.0, 180.0, 900.0,
        ],
    );
    assert_eq!(des.class(), Class::H1);
    assert!((des.gain() - 5928.0 / 6084.0).abs() < 1e-12);
}

#[test]
fn killed_attempts_and_gaps_change_nothing() {
    let mut des = Des::default();
    fed(&mut des, &[1.0, 2.0, 3.0]);
    let before = des.clone();
    des.observe(Observation::AtLeast(1000.0));
    des.observe(Observation::Gap);
    des.observe(Observation::Value(f64::NAN));
    assert_eq!(des, before);
}

#[test]
fn evicted_pairs_leave_no_rounding_errors_behind() {
    let mut des = Des::default();
    let mut random = crate::random::Random::new(1);
    for at in 0..20_000 {
        let spike = if at % 997 == 0 { 1e12 } else { 1.0 };
        fed(&mut des, &[random.uniform() * spike]);
    }
    for gain in &des.gains {
        let exact: f64 = gain.pairs.iter().map(|pair| pair.1).sum();
        assert!(
            (gain.weight - exact).abs() <= 1e-9 * exact.max(1e24),
            "{} {exact}",
            gain.weight
        );
    }
}
