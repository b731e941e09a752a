use super::*;

fn told(measured: &[f64]) -> f64 {
    Measurements(measured.to_vec()).power(None).unwrap()
}

#[test]
fn measurements_on_an_idle_machine_are_kept_and_the_next_start_makes_none() {
    let dir = tempfile::TempDir::new().unwrap();
    let mut now = Mono(0);
    let mut meter = PowerMeter::of(dir.path(), now);
    assert_eq!(meter.power(), REFERENCE);
    while meter.counted.0.len() < MEASUREMENTS_MAX {
        meter.look(now, 0.0);
        now = now + Span::from_secs(1);
        assert!(now < Mono(0) + Span::from_secs(200), "{meter:?}");
    }
    let kept = fs::read_to_string(dir.path().join(FILE)).unwrap();
    assert_eq!(kept.lines().count(), MEASUREMENTS_MAX);
    let mut again = PowerMeter::of(dir.path(), now);
    again.look(now, 0.0);
    assert!(again.pending.is_none());
    assert_eq!(
        again.power(),
        Measurements::parse(&kept).power(None).unwrap()
    );
}

#[test]
fn a_measurement_beside_other_programs_does_not_count_unless_there_are_no_others() {
    let dir = tempfile::TempDir::new().unwrap();
    let mut meter = PowerMeter::of(dir.path(), Mono(0));
    let mut now = Mono(0);
    let mut look = |meter: &mut PowerMeter, busy| {
        now = meter.due.max(now + Span::from_secs(1));
        meter.look(now, busy)
    };
    // Something ran right before it, or meanwhile.
    for (before, meanwhile) in [(0.5, 0.0), (0.0, 0.5)] {
        assert_eq!(look(&mut meter, before), None);
        assert_eq!(look(&mut meter, meanwhile), None);
    }
    assert_eq!((meter.counted.0.len(), meter.doubted.0.len()), (0, 2));
    assert!(!dir.path().join(FILE).exists());
    while meter.doubted.0.len() < DOUBTED_MAX {
        assert_eq!(meter.power(), REFERENCE);
        look(&mut meter, 0.9);
    }
    assert_eq!(Some(meter.power()), meter.doubted.power(None));
    // One that counts is worth more than all of them.
    while meter.counted.0.is_empty() {
        look(&mut meter, 0.0);
    }
    assert!(meter.doubted.0.is_empty());
}

#[test]
fn stored_measurements_are_read_and_implausible_ones_are_not() {
    let read = Measurements::parse("2.5\n");
    assert_eq!(read, Measurements(vec![2.5]));
    let read = Measurements::parse("0.9\n-1\nx\nNaN\n1e9\n1.1\n1\n1\n1\n1\n");
    assert_eq!(read, Measurements(vec![1.1, 1.0, 1.0, 1.0, 1.0]));
    assert_eq!(read.text(), "1.100\n1.000\n1.000\n1.000\n1.000\n");
}

#[test]
fn a_wider_spread_tells_fewer_machines_apart() {
    assert_eq!(told(&[1.19]), 1.25);
    assert_eq!(told(&[1.2, 1.2, 1.2]), 1.25);
    assert_eq!(told(&[1.05, 1.2, 1.35]), 1.0);
    assert_eq!(told(&[1.0, 1.9, 2.2]), STEP.powi(4));
    assert_eq!(told(&[0.8, 1.4, 2.2]), 1.0);
}

#[test]
fn a_machine_between_two_steps_does_not_change_from_one_to_the_other() {
    let between = STEP.sqrt();
    let (less, more) = (between * 0.99, between * 1.01);
    assert_eq!((told(&[less]), told(&[more])), (1.0, STEP));
    let again = |before, measured| Measurements(vec![measured]).power(Some(before)).unwrap();
    assert_eq!((again(1.0, more), again(STEP, less)), (1.0, STEP));
    assert_eq!(again(1.0, 1.24), STEP);
}

#[test]
fn the_walk_is_the_same_on_every_machine() {
    let mut walk = Walk::new();
    walk.go(1_000);
    let (whole, real) = (walk.whole, walk.real);
    let mut again = Walk::new();
    again.go(400);
    again.go(600);
    assert_eq!(again.whole, whole);
    assert_eq!(again.real.to_bits(), real.to_bits());
}
