use super::*;

/// V07: the autocovariances of 4 6 5 7 9 8 6 5.
#[test]
fn levinson_solves_the_equations_of_yule_and_walker() {
    let covariances = [2.4375, 0.8359375, -0.296875, -1.0234375];
    let mut three = [0.0; 3];
    levinson(&covariances, &mut three);
    // Put into the equations: sum of a_j c(|i - j|) = c(i).
    for row in 0..3usize {
        let left: f64 = (0..3)
            .map(|column| three[column] * covariances[row.abs_diff(column)])
            .sum();
        assert!((left - covariances[row + 1]).abs() < 1e-12);
    }
}

#[test]
fn a_constant_series_has_no_coefficients() {
    let mut ar = Ar::new(16);
    for _ in 0..1000 {
        ar.observe(Observation::Value(7.0));
    }
    assert_eq!(ar.forecast().unwrap().value, 7.0);
    assert_eq!(ar.forecast().unwrap().rmse, Some(0.0));
}

#[test]
fn an_alternating_series_is_learned() {
    let mut ar = Ar::new(2);
    for at in 0..700 {
        ar.observe(Observation::Value(if at % 2 == 0 { 1.0 } else { 3.0 }));
    }
    assert!((ar.forecast().unwrap().value - 1.0).abs() < 0.02);
}

#[test]
fn products_of_any_length_are_whole() {
    for n in 0..40 {
        let ones = vec![2.0; n];
        assert_eq!(product(&ones, &ones), 4.0 * n as f64);
    }
}
