//! Every predictor on input of every kind: forecasts are finite and within the bounds of their
//! quantity, and a state that was stored goes on as if nothing had been.

use forecast::{Forecaster, Method, Observation, Predictor, Quantity, RUNTIME_MIN, VALUE_MAX};
use proptest::prelude::*;

fn check(forecaster: &Forecaster, quantity: Quantity) {
    let Some(forecast) = forecaster.forecast() else {
        return;
    };
    let mut told = vec![forecast.value];
    if let Some(quantiles) = forecaster.quantiles() {
        assert!(quantiles.p50 <= quantiles.p90 && quantiles.p90 <= quantiles.p99);
        told.extend([quantiles.p50, quantiles.p90, quantiles.p99]);
    }
    let least = match quantity {
        Quantity::Runtime => RUNTIME_MIN,
        Quantity::Load => 0.0,
        Quantity::Any => -VALUE_MAX,
    };
    for value in told {
        assert!(
            (least..=VALUE_MAX).contains(&value),
            "{value} of {quantity:?}"
        );
    }
    assert!(
        forecast
            .rmse
            .is_none_or(|rmse| rmse.is_finite() && rmse >= 0.0)
    );
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        10 => 0.0..100.0f64,
        3 => (0u32..20).prop_map(f64::from),
        1 => Just(1e12),
        1 => Just(0.0),
        1 => Just(-0.0),
        1 => -50.0..0.0f64,
        1 => Just(VALUE_MAX),
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
        1 => Just(f64::NEG_INFINITY),
        1 => Just(f64::MIN_POSITIVE),
        1 => Just(f64::MAX),
    ]
}

fn observation() -> impl Strategy<Value = Observation> {
    prop_oneof![
        8 => number().prop_map(Observation::Value),
        1 => number().prop_map(Observation::AtLeast),
        1 => Just(Observation::Gap),
    ]
}

fn quantity() -> impl Strategy<Value = Quantity> {
    prop_oneof![
        Just(Quantity::Runtime),
        Just(Quantity::Load),
        Just(Quantity::Any)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn forecasts_are_finite_and_within_their_bounds(
        observations in prop::collection::vec(observation(), 0..200),
        quantity in quantity(),
    ) {
        for method in Method::ALL {
            let mut forecaster = Forecaster::new(method, quantity);
            prop_assert!(forecaster.forecast().is_none());
            for observation in &observations {
                forecaster.observe(*observation);
                check(&forecaster, quantity);
            }
        }
    }

    #[test]
    fn a_stored_state_goes_on_where_it_was(
        observations in prop::collection::vec(observation(), 2..120),
        at in 1usize..100,
    ) {
        for method in Method::ALL {
            let mut straight = Forecaster::new(method, Quantity::Any);
            let (before, after) = observations.split_at(at.min(observations.len() - 1));
            before.iter().for_each(|observation| straight.observe(*observation));
            let stored = serde_json::to_string(&straight).unwrap();
            let mut again: Forecaster = serde_json::from_str(&stored).unwrap();
            for observation in after {
                straight.observe(*observation);
                again.observe(*observation);
                prop_assert_eq!(straight.forecast(), again.forecast(), "{}", method);
                prop_assert_eq!(straight.quantiles(), again.quantiles());
            }
        }
    }
}

#[test]
fn one_value_is_forecast_again_and_its_error_is_not_known() {
    for method in Method::ALL {
        let mut forecaster = Forecaster::new(method, Quantity::Runtime);
        forecaster.observe(Observation::Value(7.0));
        let forecast = forecaster.forecast().unwrap();
        assert_eq!(
            (forecast.value, forecast.rmse, forecast.n),
            (7.0, None, 1),
            "{method}"
        );
        assert!(forecaster.quantiles().is_none());
    }
}

#[test]
fn a_constant_is_forecast_exactly() {
    for method in Method::ALL {
        let mut forecaster = Forecaster::new(method, Quantity::Load);
        for _ in 0..1000 {
            forecaster.observe(Observation::Value(3.0));
        }
        // Gains and their complements sum to one as far as rounding goes.
        assert!(
            (forecaster.forecast().unwrap().value - 3.0).abs() < 1e-12,
            "{method}"
        );
        assert!(
            (forecaster.quantiles().unwrap().p99 - 3.0).abs() < 1e-12,
            "{method}"
        );
    }
}

/// "Killed after so long" teaches `xavantes` alone.
#[test]
fn killed_attempts_count_where_they_are_understood() {
    for method in Method::ALL {
        let mut forecaster = Forecaster::new(method, Quantity::Runtime);
        for _ in 0..20 {
            forecaster.observe(Observation::Value(10.0));
        }
        for _ in 0..20 {
            forecaster.observe(Observation::AtLeast(60.0));
        }
        let (value, p90) = (
            forecaster.forecast().unwrap().value,
            forecaster.quantiles().unwrap().p90,
        );
        if method == Method::Xavantes {
            assert!(value > 40.0 && p90 >= 60.0, "{value} {p90}");
        } else {
            assert_eq!((value, p90), (10.0, 10.0), "{method}");
        }
    }
}

#[test]
fn names_are_read_and_told() {
    for method in Method::ALL {
        assert_eq!(method.name().parse(), Ok(method));
    }
    let wrong = "oracle".parse::<Method>().unwrap_err().to_string();
    assert!(
        wrong.contains("\"oracle\"") && wrong.contains("xavantes"),
        "{wrong}"
    );
}
