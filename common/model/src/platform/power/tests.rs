use super::*;

fn steps(list: &[(f64, f64)]) -> PowerSteps {
    PowerSteps::new(list.iter().copied()).unwrap()
}

#[test]
fn work_goes_on_at_the_power_of_each_step() {
    // 10 s at 1, 10 s of standstill, then 0.5.
    let power = steps(&[(0.0, 1.0), (10.0, 0.0), (20.0, 0.5)]);
    assert_eq!(power.end(0.0, 10.0), 10.0);
    assert_eq!(power.end(4.0, 7.0), 22.0);
    assert_eq!(power.end(12.0, 1.0), 22.0);
    assert_eq!(power.end(30.0, 0.0), 30.0);
    assert_eq!(power.worked(4.0, 22.0), 7.0);
    assert_eq!(power.worked(12.0, 18.0), 0.0);
    assert_eq!(
        (power.at(9.9), power.at(10.0), power.at(1e9)),
        (1.0, 0.0, 0.5)
    );
    assert_eq!(
        (power.at_start(), power.stands_still_from(), power.most()),
        (1.0, None, 1.0)
    );
    let ends = steps(&[(0.0, 1.0), (10.0, 0.0)]);
    assert_eq!(ends.stands_still_from(), Some(10.0));
    assert_eq!(power.next_change(10.0), Some(20.0));
    assert_eq!(power.next_change(20.0), None);
    assert!(power.changes() && !steps(&[(0.0, 2.0)]).changes());
    assert_eq!(
        power.scaled(2.0),
        Ok(steps(&[(0.0, 2.0), (10.0, 0.0), (20.0, 1.0)]))
    );
}

#[test]
fn nothing_ends_on_a_machine_that_stands_still_for_ever() {
    let power = steps(&[(0.0, 1.0), (10.0, 0.0)]);
    assert_eq!(power.end(0.0, 10.5), f64::INFINITY);
    assert_eq!(power.worked(0.0, 1e9), 10.0);
}

#[test]
fn lists_that_are_no_steps_are_refused() {
    let wrong = |list: &[(f64, f64)]| PowerSteps::new(list.iter().copied()).unwrap_err();
    assert_eq!(wrong(&[]), PowerStepsError::Empty);
    let time = |step, from| PowerStepsError::Time { step, from };
    assert_eq!(wrong(&[(1.0, 1.0)]), time(0, 1.0));
    assert_eq!(wrong(&[(0.0, 1.0), (2.0, 1.0), (2.0, 3.0)]), time(2, 2.0));
    assert_eq!(
        wrong(&[(0.0, 1.0), (f64::INFINITY, 1.0)]),
        time(1, f64::INFINITY)
    );
    let power = |step, power| PowerStepsError::Power { step, power };
    assert_eq!(wrong(&[(0.0, -0.5)]), power(0, -0.5));
    assert_eq!(
        wrong(&[(0.0, 1.0), (2.0, f64::INFINITY)]),
        power(1, f64::INFINITY)
    );
}
