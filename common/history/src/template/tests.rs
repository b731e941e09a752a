use proptest::prelude::*;

use super::*;

fn seen(run: u32, seconds: f64, is_killed: bool) -> Observed {
    Observed {
        run,
        at: Wall(u64::from(run)),
        work: Work((seconds * 1e6) as u64),
        is_killed,
        cpu: Span::from_seconds_up(seconds / 2.0),
        wall: Span::from_seconds_up(seconds),
        peak_memory: Bytes(1 << 20),
    }
}

fn template(works: &[(f64, bool)]) -> Template {
    let mut template = Template::default();
    for (run, &(seconds, is_killed)) in (0..).zip(works) {
        template.observe(&seen(run, seconds, is_killed));
    }
    template
}

#[test]
fn a_forecast_is_the_level_with_the_spread_that_was_seen() {
    let steady = template(&[(2.0, false); 10]);
    let forecast = steady.forecast().unwrap();
    assert_eq!(forecast.work, Work::from_secs(2));
    assert_eq!(forecast.p90, Work::from_secs(2));
    assert_eq!((steady.n_completed(), steady.n_killed()), (10, 0));
    assert!((steady.cpu() - 0.5).abs() < 0.01);
    let spread = template(&[(1.0, false), (3.0, false), (1.0, false), (3.0, false)]);
    let forecast = spread.forecast().unwrap();
    assert!(forecast.p50 < forecast.p90);
    assert!(forecast.p90 <= Work::from_secs(4));
}

#[test]
fn killed_attempts_make_the_forecast_longer_and_short_ones_change_nothing() {
    let steady = template(&[(2.0, false), (2.0, false)]);
    let short = template(&[(2.0, false), (2.0, false), (1.0, true)]);
    assert_eq!(
        short.forecast().unwrap().work,
        steady.forecast().unwrap().work
    );
    let long = template(&[(2.0, false), (2.0, false), (8.0, true)]);
    assert!(long.forecast().unwrap().work > Work::from_secs(2));
    assert_eq!(long.n_killed(), 1);
    let only = template(&[(5.0, true)]);
    assert_eq!(only.forecast().unwrap().work, Work::from_secs(5));
}

#[test]
fn joined_records_tell_the_attempts_of_both() {
    let few = template(&[(2.0, false); 4]);
    let many = template(&[(6.0, false); 12]);
    let both = few.joined(&many);
    assert_eq!(both.n_completed(), 16);
    assert_eq!(both.forecast().unwrap().work, Work::from_secs(5));
    let longer = |one: &Template| one.sampled().iter().filter(|work| **work > 4.0).count();
    assert_eq!((both.sampled().len(), longer(&both)), (16, 12));
    assert_eq!(
        many.joined(&few).forecast().unwrap().work,
        Work::from_secs(5)
    );
    let with_nothing = few.joined(&Template::default());
    assert_eq!(with_nothing.forecast(), few.forecast());
}

#[test]
fn another_unit_changes_works_alone() {
    let before = template(&[(2.0, false), (4.0, false)]);
    let after = before.scaled(2.0);
    assert_eq!(after.forecast().unwrap().work, Work::from_secs(6));
    assert_eq!(after.memory_p95(), before.memory_p95());
    assert_eq!(before.scaled(f64::NAN), before);
}

#[test]
fn damaged_records_are_none() {
    let bytes = template(&[(2.0, false)]).encode();
    assert!(Template::decode(&bytes).is_some());
    for len in 0..bytes.len() {
        assert!(Template::decode(&bytes[..len]).is_none());
    }
}

fn observed() -> impl Strategy<Value = Observed> {
    let work = prop_oneof![0..u64::MAX, 0..10_000_000u64];
    (
        0..4u32,
        work,
        any::<bool>(),
        any::<u64>(),
        any::<u64>(),
        any::<u64>(),
    )
        .prop_map(|(run, work, is_killed, cpu, wall, memory)| Observed {
            run,
            at: Wall(1),
            work: Work(work),
            is_killed,
            cpu: Span(cpu),
            wall: Span(wall),
            peak_memory: Bytes(memory),
        })
}

proptest! {
    #[test]
    fn forecasts_are_positive_and_ordered(all in proptest::collection::vec(observed(), 0..80)) {
        let mut template = Template::default();
        for one in &all {
            template.observe(one);
            if let Some(forecast) = template.forecast() {
                prop_assert!(forecast.work > Work::ZERO);
                prop_assert!(forecast.p50 > Work::ZERO);
                prop_assert!(forecast.p50 <= forecast.p90);
                prop_assert!(forecast.p90 <= Work(3_200_000_000_000_000 + 1_000_000_000));
            }
            prop_assert!(template.cpu().is_finite());
        }
        prop_assert_eq!(Template::decode(&template.encode()), Some(template.clone()));
        prop_assert!(template.encode().len() <= 300);
        prop_assert!(template.sampled().len() <= crate::SAMPLE);
    }

    #[test]
    fn a_steady_work_is_forecast_whatever_the_runs(n in 1..60usize, millis in 1..10_000_000u64) {
        let mut template = Template::default();
        for run in 0..n {
            template.observe(&seen(run as u32 / 3, millis as f64 / 1e3, false));
        }
        let forecast = template.forecast().unwrap().work.reference_seconds();
        prop_assert!((forecast * 1e3 / millis as f64 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn joined_records_are_sound_and_lie_between_both(
        one in proptest::collection::vec(observed(), 0..40),
        other in proptest::collection::vec(observed(), 0..40),
    ) {
        let [one, other] = [one, other].map(|all| {
            let mut template = Template::default();
            all.iter().for_each(|seen| template.observe(seen));
            template
        });
        let both = one.joined(&other);
        prop_assert_eq!(Template::decode(&both.encode()), Some(both.clone()));
        let work = |one: &Template| one.forecast().map(|forecast| forecast.work.0 as f64);
        let of_each: Vec<f64> = [work(&one), work(&other)].into_iter().flatten().collect();
        if let Some(work) = work(&both) {
            let least = of_each.iter().copied().fold(f64::INFINITY, f64::min);
            let most = of_each.iter().copied().fold(0.0, f64::max);
            prop_assert!((least * 0.999..=most * 1.001 + 1.0).contains(&work));
        } else {
            prop_assert!(of_each.is_empty());
        }
    }

    #[test]
    fn any_bytes_decode_to_a_sound_record_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Some(template) = Template::decode(&bytes)
            && let Some(forecast) = template.forecast()
        {
            prop_assert!(forecast.work > Work::ZERO && forecast.p50 <= forecast.p90);
        }
    }
}
