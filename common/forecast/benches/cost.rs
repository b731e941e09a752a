//! `cargo bench -p forecast` measures an observation and the forecast after it, in time of one
//! thread on the processor, on a synthetic series whose windows are full.
#![expect(
    clippy::expect_used,
    reason = "a predictor that has seen values has a forecast"
)]

#[path = "../tests/support/clock.rs"]
mod clock;

use std::hint::black_box;
use std::time::Duration;

use clock::worked;

use criterion::{Criterion, criterion_group, criterion_main};
use forecast::generator::Set;
use forecast::{Forecaster, Method, Observation, Predictor, Quantity};

/// Values before measuring: every window is full, and DES has evicted pairs.
const WARM: usize = 8_000;

fn cost(criterion: &mut Criterion) {
    let series = Set::Two.generate(1, 1, WARM).remove(0);
    for method in Method::ALL {
        let mut predictor = method.predictor();
        for &value in &series {
            predictor.observe(Observation::Value(value));
        }
        let mut values = series.iter().copied().cycle();
        criterion.bench_function(&format!("{method} observe and forecast"), |bencher| {
            bencher.iter_custom(|n| {
                let begun = worked();
                for _ in 0..n {
                    predictor.observe(Observation::Value(values.next().expect("it has no end")));
                    black_box(predictor.forecast());
                }
                worked().saturating_sub(begun)
            });
        });
    }
    let mut forecaster = Forecaster::new(Method::Xavantes, Quantity::Runtime);
    let mut values = series.iter().copied().cycle();
    criterion.bench_function("xavantes with bounds and quantiles", |bencher| {
        bencher.iter_custom(|n| {
            let begun = worked();
            for _ in 0..n {
                forecaster.observe(Observation::Value(values.next().expect("it has no end")));
                black_box((forecaster.forecast(), forecaster.quantiles()));
            }
            worked().saturating_sub(begun)
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(20)
        .without_plots();
    targets = cost
}
criterion_main!(benches);
