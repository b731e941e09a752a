//! The promises of docs/forecasting.md on synthetic series that no weight was learned from.

use forecast::generator::Set;
use forecast::statistics::deviation;
use forecast::{Forecaster, Method, Observation, Predictor, Quantity};

const SEED: u64 = 2027;
const SERIES: usize = 40;
const VALUES: usize = 2000;

/// Mean over series of the RMSE as a share of the deviation, and the shares at most each quantile.
fn judged(method: Method, series: &[Vec<f64>]) -> (f64, [f64; 3]) {
    let mut errors = 0.0;
    let mut below = [0.0; 3];
    let mut n = 0.0;
    for values in series {
        let mut forecaster = Forecaster::new(method, Quantity::Runtime);
        let mut squares = 0.0;
        for &value in values {
            if let Some(forecast) = forecaster.forecast() {
                squares += (value - forecast.value).powi(2);
            }
            if let Some(quantiles) = forecaster.quantiles() {
                n += 1.0;
                for (below, quantile) in
                    below
                        .iter_mut()
                        .zip([quantiles.p50, quantiles.p90, quantiles.p99])
                {
                    *below += f64::from(u8::from(value <= quantile));
                }
            }
            forecaster.observe(Observation::Value(value));
        }
        let rmse = (squares / (values.len() - 1) as f64).sqrt();
        let told = forecaster.forecast().and_then(|forecast| forecast.rmse);
        assert!(told.is_some_and(|told| (told - rmse).abs() <= 1e-9 * rmse));
        errors += rmse / deviation(values).unwrap_or(1.0);
    }
    (errors / series.len() as f64, below.map(|below| below / n))
}

#[test]
fn xavantes_is_the_best_on_series_that_it_has_not_seen() {
    let mut less = [0.0; 3];
    for set in [Set::One, Set::Two] {
        let series = set.generate(SEED, SERIES, VALUES);
        let (own, [p50, p90, p99]) = judged(Method::Xavantes, &series);
        for (less, method) in less
            .iter_mut()
            .zip([Method::Des, Method::Nws, Method::Ar16])
        {
            let (other, _) = judged(method, &series);
            // On no set worse than the best of them by more than 1 %.
            assert!(own < 1.01 * other, "{set:?} {method}: {own} {other}");
            *less += 0.5 * (1.0 - own / other);
        }
        assert!((0.45..0.55).contains(&p50), "{set:?}: {p50}");
        assert!((0.85..0.95).contains(&p90), "{set:?}: {p90}");
        assert!((0.97..1.0).contains(&p99), "{set:?}: {p99}");
    }
    println!("RMSE less than that of des, nws, ar16: {less:?}");
    assert!(less.iter().all(|less| *less >= 0.03), "{less:?}");
}

/// The band of the thesis's comparison on synthetic series.
#[test]
fn des_is_better_than_the_simple_ones() {
    let series = Set::Two.generate(SEED, SERIES, VALUES);
    let (des, _) = judged(Method::Des, &series);
    for method in [
        Method::Es,
        Method::Last,
        Method::TriggLeach,
        Method::Whybark,
        Method::Pantazopoulos,
    ] {
        let (other, _) = judged(method, &series);
        assert!(des < other, "{method}: {des} {other}");
    }
}
