use super::{Shown, mean_factor, variances_ratio};

fn shown(times: &[(f64, f64)]) -> Shown {
    let mut shown = Shown::default();
    for &(nominal, real) in times {
        shown.ended(nominal, real);
    }
    shown
}

#[test]
fn a_machine_is_believed_as_far_as_it_has_shown_something() {
    let nothing = Shown::default();
    assert_eq!(nothing.factor(1.0, 3.0), 1.0);
    assert_eq!(nothing.factor(0.5, 3.0), 0.5);
    assert!(!nothing.is_known());
    let half = shown(&[(1.0, 2.0), (1.0, 2.0), (1.0, 2.0)]);
    assert!(half.is_known());
    // (3 + 3) / (6 + 3)
    assert_eq!(half.factor(1.0, 3.0), 6.0 / 9.0);
    assert_eq!(half.factor(1.0, 0.0), 0.5);
}

#[test]
fn overdue_tasks_bound_the_factor_until_the_next_one_ends() {
    let mut machine = shown(&[(1.0, 1.0)]);
    machine.overdue(1.0, 4.0, 1.0);
    assert_eq!(machine.factor(1.0, 1.0), 3.0 / 6.0);
    machine.ended(1.0, 5.0);
    assert_eq!(machine.factor(1.0, 1.0), 3.0 / 7.0);
}

#[test]
fn old_evidence_counts_less_and_the_rest_keeps_its_ratio() {
    let mut machine = shown(&[(10.0, 10.0)]);
    machine.forget_beyond(4.0);
    assert_eq!(machine, shown(&[(4.0, 4.0)]).scaled_like(&machine));
    machine.ended(1.0, 2.0);
    assert_eq!(machine.factor(1.0, 0.0), 5.0 / 6.0);
    let before = machine;
    machine.forget_beyond(100.0);
    assert_eq!(machine, before);
}

impl Shown {
    /// The same with the counts of another.
    fn scaled_like(mut self, other: &Shown) -> Shown {
        self.performances = other.performances;
        self
    }
}

#[test]
fn the_mean_of_machines_counts_each_as_much_as_it_is_known() {
    assert_eq!(mean_factor([].into_iter(), 1.0), 1.0);
    let half = shown(&[(1.0, 2.0)]);
    let unknown = Shown::default();
    // It counts 2 / (2 + 2), beside one of nominal power.
    let mean = mean_factor([half, unknown].iter(), 2.0);
    assert!((mean - (1.0 + 0.5 * 0.5) / 1.5).abs() < 1e-12);
}

#[test]
fn tasks_that_vary_everywhere_ask_for_more_evidence_than_machines_that_differ() {
    let alike = [
        (1.0, 1.0),
        (1.0, 2.0),
        (1.0, 1.0),
        (1.0, 2.0),
        (1.0, 1.0),
        (1.0, 2.0),
    ];
    let noisy = [shown(&alike), shown(&alike)];
    let apart = [shown(&[(1.0, 1.0); 6]), shown(&[(1.0, 2.0); 6])];
    assert_eq!(variances_ratio([].iter()), 1.0);
    assert!(variances_ratio(noisy.iter()) > 1.0);
    assert!(variances_ratio(apart.iter()) < 1.0);
    // Parts of tasks are evidence too, whatever their number.
    let mut faded = apart;
    faded.iter_mut().for_each(|one| one.forget_beyond(0.5));
    let ratio = variances_ratio(faded.iter());
    assert!(ratio.is_finite() && ratio > 0.0, "{ratio}");
}
