use super::*;

#[test]
fn measurements_on_an_idle_machine_are_kept_and_the_next_start_makes_none() {
    let dir = tempfile::TempDir::new().unwrap();
    let mut now = Mono(0);
    let mut meter = PowerMeter::of(dir.path(), now);
    assert_eq!(meter.counted.0.len(), 0);
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
        look(&mut meter, before);
        look(&mut meter, meanwhile);
    }
    // The first one is of the start.
    assert_eq!((meter.counted.0.len(), meter.doubted.0.len()), (0, 3));
    assert!(!dir.path().join(FILE).exists());
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
fn what_differs_as_measurements_do_changes_nothing() {
    // Five of one machine, beside others that measured at the same time.
    let one = Measurements(vec![2.211, 2.164, 2.180, 2.195, 2.217]);
    assert_eq!(one.power(None), Some(2.195));
    assert_eq!(one.power(Some(2.271)), Some(2.271));
    assert_eq!(one.power(Some(1.0)), Some(2.195));
    assert_eq!(Measurements::default().power(Some(1.0)), None);
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
