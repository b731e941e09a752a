use super::*;

#[test]
fn the_same_seed_gives_the_same_series() {
    for set in [Set::One, Set::Two] {
        let made = set.generate(5, 4, 50);
        assert_eq!(made, set.generate(5, 4, 50));
        assert_ne!(made, set.generate(6, 4, 50));
        assert!(
            made.iter()
                .flatten()
                .all(|value| *value > 0.0 && value.is_finite())
        );
    }
}

#[test]
fn the_mean_of_a_set_is_that_of_the_thesis() {
    let made = Set::One.generate(Set::One.seed(), 40, 200);
    let mean = made.iter().flatten().sum::<f64>() / (40.0 * 200.0);
    assert!((mean - 72_500.0).abs() < 1e-6 * mean);
}

#[test]
fn nothing_is_made_of_nothing() {
    assert!(Set::Two.generate(1, 0, 10).is_empty());
    assert_eq!(Set::Two.generate(1, 1, 0), [Vec::<f64>::new()]);
}
