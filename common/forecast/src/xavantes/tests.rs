use super::*;
use crate::Random;

fn fed(values: impl IntoIterator<Item = f64>) -> Xavantes {
    let mut xavantes = Xavantes::default();
    for value in values {
        xavantes.observe(Observation::Value(value));
    }
    xavantes
}

fn forecast(xavantes: &Xavantes) -> f64 {
    xavantes.forecast().unwrap().value
}

#[test]
fn a_constant_is_known_at_once() {
    assert_eq!(forecast(&fed([7.0])), 7.0);
    assert_eq!(forecast(&fed([7.0; 100])), 7.0);
}

#[test]
fn the_unit_of_a_series_does_not_matter() {
    let mut random = Random::new(9);
    let values: Vec<f64> = (0..500).map(|_| 10.0 + random.normal()).collect();
    let (seconds, milliseconds) = (
        fed(values.clone()),
        fed(values.iter().map(|value| 1024.0 * value)),
    );
    let ratio = forecast(&milliseconds) / forecast(&seconds);
    assert!((ratio - 1024.0).abs() < 1e-6, "{ratio}");
}

#[test]
fn killed_attempts_raise_the_forecast_and_stop_raising_it() {
    let mut random = Random::new(2);
    let mut xavantes = fed((0..50).map(|_| 10.0 + random.uniform()));
    let mut before = forecast(&xavantes);
    for _ in 0..60 {
        xavantes.observe(Observation::AtLeast(100.0));
    }
    assert!(forecast(&xavantes) > 90.0, "{}", forecast(&xavantes));
    assert!(forecast(&xavantes) < 400.0, "{}", forecast(&xavantes));
    // A bound below the forecast says nothing.
    before = forecast(&xavantes).max(before);
    xavantes.observe(Observation::AtLeast(5.0));
    assert_eq!(forecast(&xavantes), before);
}

#[test]
fn a_spike_is_forgotten() {
    let mut random = Random::new(4);
    let mut values: Vec<f64> = (0..400).map(|_| 10.0 + random.normal()).collect();
    values[100] = 1e12;
    let after = forecast(&fed(values.clone()));
    // The running mean is all that remembers it, and its weight is small.
    assert!(after.is_finite() && after < 1e12 / 100.0, "{after}");
    assert!(forecast(&fed(values[..101].iter().copied())) <= 1e12);
}

#[test]
fn stored_weights_that_are_no_use_do_no_harm() {
    let mut xavantes = Xavantes::with_weights(&[1e308; N_INPUTS]);
    for value in [1.0, 2.0, 4.0, 1.0, 3.0] {
        xavantes.observe(Observation::Value(value));
        assert!((1.0..=4.0).contains(&forecast(&xavantes)));
    }
}

#[test]
fn an_old_level_that_was_far_away_is_forgotten() {
    let mut random = Random::new(8);
    let values = (0..3000).map(|at| if at < 2000 { 1000.0 } else { 10.0 } + random.normal());
    let after = forecast(&fed(values));
    assert!((8.0..12.0).contains(&after), "{after}");
}

#[test]
fn a_steady_rise_is_followed() {
    let after = forecast(&fed((0..5000).map(f64::from)));
    assert!(after > 4990.0, "{after}");
}
