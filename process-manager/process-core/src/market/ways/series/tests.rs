use super::*;

/// The moment so many seconds after the first transfer.
fn at(seconds: u64) -> Mono {
    Mono(1) + Span::from_secs(seconds)
}

/// Numbers between 0 and 1 that look drawn, by multiplication with the constant of Knuth's MMIX generator.
fn drawn() -> impl Iterator<Item = f64> {
    let mut state: u64 = 21;
    std::iter::repeat_with(move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    })
}

/// The factor by which a speed differs from another one, whichever is faster.
fn off(one: f64, other: f64) -> f64 {
    (one / other).ln().abs()
}

#[test]
fn forecast_is_nearer_to_the_next_round_than_the_newest_one() {
    let mut series = Series::new(80.0, at(0));
    let (mut by_forecast, mut by_last, mut before) = (0.0, 0.0, 80.0);
    let levels = drawn().map(|drawn| 50.0 + 50.0 * drawn);
    for (level, second) in levels.zip(1..=300) {
        by_forecast += off(series.speed(), level);
        by_last += off(before, level);
        series.note(level, at(second));
        before = level;
    }
    assert!(by_forecast < 0.85 * by_last, "{by_forecast} and {by_last}");
}

#[test]
fn of_a_round_the_fastest_counts() {
    let mut series = Series::new(60.0, at(0));
    for second in 0..50 {
        series.note(100.0, at(second));
        for _ in 0..99 {
            series.note(50.0, at(second));
        }
    }
    assert_eq!(series.speed(), 100.0);
}

#[test]
fn link_that_breaks_down_is_not_averaged_with_what_it_was() {
    let mut series = Series::new(100.0, at(0));
    for second in 1..200 {
        series.note(100.0, at(second));
    }
    assert_eq!(series.speed(), 100.0);
    for second in 200..260 {
        series.note(5.0, at(second));
        assert_eq!(series.speed(), 5.0, "{second}");
    }
    series.note(100.0, at(260));
    assert_eq!(series.speed(), 100.0);
}

#[test]
fn link_that_breaks_down_counts_as_that_however_much_its_speed_has_varied() {
    let mut series = Series::new(20.0, at(0));
    for second in 1..60 {
        let shared = second % 3 + 1;
        series.note(100.0 / shared as f64, at(second));
    }
    series.note(3.0, at(60));
    assert_eq!(series.speed(), 3.0);
    series.note(100.0, at(61));
    assert_eq!(series.speed(), 100.0);
}

#[test]
fn state_is_bounded() {
    let mut series = Series::new(80.0, at(0));
    for (drawn, second) in drawn().zip(1..5_000) {
        series.note(50.0 + 50.0 * drawn, at(second));
    }
    assert!(series.forecaster.state_bytes() <= 30_000);
}
