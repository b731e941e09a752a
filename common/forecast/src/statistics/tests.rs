use super::*;
use crate::Random;

/// Exact references: normal f_jumps erfc(1), exponential e^-2.
#[test]
fn independent_values_have_the_statistics_of_their_distribution() {
    let mut random = Random::new(3);
    let normal: Vec<f64> = (0..200_000).map(|_| 10.0 + random.normal()).collect();
    let statistics = Statistics::of(&normal);
    for (name, exact) in [
        ("f_jumps", 0.1573),
        ("sigma_jumps/sigma", 0.6040),
        ("mse_jumps/sigma2", 0.3649),
        ("rmse_jumps/rmse_lv", 0.7566),
        ("c(sigma)", 0.1633),
        ("sigma/rmse_lv", 0.5f64.sqrt()),
    ] {
        let found = statistics.get(name).unwrap();
        assert!((found - exact).abs() < 0.01, "{name}: {found} {exact}");
    }
    let exponential: Vec<f64> = (0..200_000).map(|_| random.exponential()).collect();
    let found = Statistics::of(&exponential).get("f_jumps").unwrap();
    assert!((found - (-2.0f64).exp()).abs() < 0.01);
}

#[test]
fn an_alternating_series_has_half_the_deviation_of_its_steps() {
    let values: Vec<f64> = (0..2000).map(|at| f64::from(at % 2)).collect();
    let ratio = Statistics::of(&values).get("sigma/rmse_lv").unwrap();
    assert!((ratio - 0.5).abs() < 1e-3);
}

#[test]
fn what_is_not_defined_is_left_out() {
    assert_eq!(Statistics::of(&[]).values, [None; 17]);
    let one = Statistics::of(&[4.0]);
    assert_eq!(
        (one.get("mu"), one.get("sigma"), one.get("c")),
        (Some(4.0), None, None)
    );
    let constant = Statistics::of(&[4.0; 40]);
    assert_eq!(constant.get("sigma"), Some(0.0));
    assert_eq!(constant.get("sigma/rmse_lv"), None);
    assert_eq!(hints(&constant), [Hint::Constant]);
    assert!(autocorrelation(&[4.0; 40], 5).is_empty());
    assert!(autocorrelation(&[], 5).is_empty());
    assert_eq!(hurst(&[]), None);
    assert!(jumps(&[1.0]).is_empty());
    assert_eq!(fences(&[]), None);
}

#[test]
fn autocorrelation_and_hurst_parameter_are_those_of_the_vectors() {
    let rho = autocorrelation(&[1.0, 2.0, 3.0, 4.0, 5.0], 4);
    for (found, exact) in rho.iter().zip([1.0, 0.4, -0.1, -0.4, -0.4]) {
        assert!((found - exact).abs() < 1e-12);
    }
    let mut law = vec![1.0];
    law.extend((1..=50).map(|lag| 0.5 * f64::from(lag).powf(-0.54)));
    assert!((hurst(&law).unwrap() - 0.73).abs() < 1e-12);
}

#[test]
fn a_jump_that_returns_is_a_peak_and_one_that_stays_is_a_switch() {
    let mut values = vec![10.0; 60];
    values[20] = 90.0;
    values[21] = 95.0;
    values[40..].fill(100.0);
    let found: Vec<(usize, JumpKind)> = jumps(&values)
        .iter()
        .map(|jump| (jump.at, jump.kind))
        .collect();
    // Two levels of this distance are one deviation each from their mean, so only the level of
    // the first part is in question.
    assert_eq!(found, [(40, JumpKind::LevelSwitch)]);
    values[40..].fill(10.0);
    values[58] = 100.0;
    let found: Vec<(usize, JumpKind)> = jumps(&values)
        .iter()
        .map(|jump| (jump.at, jump.kind))
        .collect();
    assert_eq!(
        found,
        [
            (20, JumpKind::Peak { length: 2 }),
            (58, JumpKind::Peak { length: 1 })
        ]
    );
    values[59] = 100.0;
    assert_eq!(jumps(&values)[1].kind, JumpKind::Open);
}
