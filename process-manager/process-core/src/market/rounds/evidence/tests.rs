use super::*;

const LONG: Option<NodeId> = Some(NodeId(3));
const SHORT: Option<NodeId> = Some(NodeId(5));

fn machine(number: u32) -> ResourceId {
    ResourceId::local(number)
}

/// Activities of a second that took so many on machines, one after another.
fn ended(evidence: &mut Evidence, kind: Option<NodeId>, all: &[(u32, f64)]) {
    for &(number, real) in all {
        evidence.ended((machine(number), kind), (1.0, real), 1.0, 1.0);
    }
}

/// How fast machines have shown to be beside the first one.
fn beside(evidence: &mut Evidence) -> Vec<f64> {
    let mut shown = BTreeMap::new();
    evidence.tell(&mut shown);
    let factors: Vec<f64> = shown.values().map(|one| one.factor(1.0, 0.0)).collect();
    factors.iter().map(|one| one / factors[0]).collect()
}

fn near(all: &[f64], expected: &[f64]) {
    let is_near = |(one, other): (&f64, &f64)| (one / other).ln().abs() < 0.1;
    assert!(
        all.len() == expected.len() && all.iter().zip(expected).all(is_near),
        "{all:?}"
    );
}

#[test]
fn an_estimate_is_wrong_on_which_machines_agree() {
    let mut evidence = Evidence::default();
    ended(
        &mut evidence,
        SHORT,
        &[(0, 1.0), (0, 1.0), (1, 1.0), (2, 1.0)],
    );
    // One alone says nothing of anybody.
    ended(&mut evidence, LONG, &[(1, 3.0)]);
    near(&beside(&mut evidence), &[1.0; 3]);
    ended(&mut evidence, LONG, &[(2, 3.0)]);
    near(&beside(&mut evidence), &[1.0; 3]);
    assert!(
        (evidence.scale(LONG) / evidence.scale(SHORT) / 3.0)
            .ln()
            .abs()
            < 0.01
    );
}

#[test]
fn an_estimate_is_wrong_that_a_machine_shows_from_its_first_activity_on() {
    let mut evidence = Evidence::default();
    ended(&mut evidence, SHORT, &[(0, 1.0), (0, 1.0)]);
    ended(&mut evidence, LONG, &[(1, 3.0), (1, 3.0)]);
    near(&beside(&mut evidence), &[1.0; 2]);
    ended(&mut evidence, LONG, &[(1, 3.0), (1, 3.0)]);
    // It has become slow: what it takes now is not what its first ones took.
    for _ in 0..20 {
        ended(&mut evidence, LONG, &[(1, 9.0)]);
        evidence.forget_beyond(machine(1), 4.0);
    }
    let shown = beside(&mut evidence);
    assert!(shown[1] < 0.5, "{shown:?}");
}

#[test]
fn a_machine_is_slow_that_takes_longer_than_others_for_the_same() {
    let mut evidence = Evidence::default();
    ended(
        &mut evidence,
        LONG,
        &[(0, 3.0), (1, 3.0), (2, 9.0), (2, 9.0)],
    );
    near(&beside(&mut evidence), &[1.0, 1.0, 1.0 / 3.0]);
    // It is known to be slow by what it has done before: the estimate of another kind is not wrong.
    let mut evidence = Evidence::default();
    ended(&mut evidence, None, &[(0, 1.0), (0, 1.0)]);
    ended(&mut evidence, None, &[(1, 4.0); 20]);
    ended(&mut evidence, SHORT, &[(1, 4.0), (1, 4.0)]);
    near(&beside(&mut evidence), &[1.0, 0.25]);
}

#[test]
fn estimates_that_are_all_wrong_alike_stay_as_they_are() {
    let mut evidence = Evidence::default();
    ended(&mut evidence, LONG, &[(0, 3.0), (1, 3.0), (0, 3.0)]);
    let mut shown = BTreeMap::new();
    evidence.tell(&mut shown);
    let factors = shown.values().map(|one| one.factor(1.0, 0.0));
    near(&factors.collect::<Vec<f64>>(), &[1.0 / 3.0; 2]);
    assert!((evidence.scale(LONG) - 1.0).abs() < 1e-9);
}

#[test]
fn kinds_and_machines_are_remembered_up_to_a_number() {
    let mut evidence = Evidence::default();
    for number in 0..10_000 {
        ended(&mut evidence, Some(NodeId(number)), &[(number % 50, 1.0)]);
        evidence.forget_beyond(machine(number % 50), 4.0);
    }
    for number in 0..1_000 {
        ended(&mut evidence, Some(NodeId(0)), &[(number, 1.0)]);
    }
    assert_eq!(evidence.kinds.len(), KINDS_MAX);
    assert!(
        evidence
            .kinds
            .values()
            .all(|kind| kind.times.len() <= MACHINES_MAX)
    );
    let kinds = evidence.machines.values().map(|of| of.kinds.len());
    assert!(kinds.max() < Some(100));
}
