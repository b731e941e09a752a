use model::{GroupId, ResourceId};

use super::*;

fn machine(number: u32) -> ResourceId {
    ResourceId {
        group: GroupId::default(),
        number,
    }
}

#[test]
fn what_alternates_varies_and_a_step_hardly_does() {
    let mut alternates = Chance::default();
    for n in 0..200 {
        alternates.ended(machine(0), if n % 2 == 0 { 0.5 } else { 2.0 });
    }
    // The logarithms differ by ln 4 each time.
    let expected = 4.0_f64.ln().powi(2) / 2.0;
    assert!((alternates.variance() / expected - 1.0).abs() < 0.02);

    let mut step = Chance::default();
    for n in 0..200 {
        step.ended(machine(0), if n < 100 { 1.0 } else { 0.25 });
    }
    assert!(step.variance() < 0.01, "{}", step.variance());
    assert!(step.error(4.0) < 0.05);
}

#[test]
fn machines_of_different_power_vary_no_more_for_that() {
    let mut chance = Chance::default();
    for n in 0..200 {
        chance.ended(machine(n % 2), if n % 2 == 0 { 0.1 } else { 1.0 });
    }
    assert!(chance.variance() < 0.001, "{}", chance.variance());
}

#[test]
fn what_was_long_ago_is_forgotten() {
    let mut chance = Chance::default();
    for n in 0..1_000 {
        chance.ended(machine(0), if n % 2 == 0 { 0.5 } else { 2.0 });
    }
    for _ in 0..2_000 {
        chance.ended(machine(0), 1.0);
    }
    assert!(chance.variance() < 0.01, "{}", chance.variance());
}
