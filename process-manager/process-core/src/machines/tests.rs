//! Machines by themselves: silence, names, leases, what is taken back.

use model::{ActivityId, AttemptId, Epoch, ProcessId, ResourceId, Span};
use wire::attempt::ToActivity;
use wire::lease;

use super::{Machines, Told};
use crate::Config;
use crate::tests::paper::Bench;

const MACHINE: ResourceId = ResourceId::local(4);

fn bench() -> Bench {
    Bench::new(Config {
        lease: Some(lease::LENGTH),
        ..Config::default()
    })
}

fn attempt(activity: u32) -> AttemptId {
    AttemptId {
        process: ProcessId(7),
        activity: ActivityId(activity),
        number: 1,
    }
}

/// The number of the question that a machine was asked last.
fn asked(bench: &mut Bench) -> Option<u32> {
    let sent = bench.take_to_machines().into_iter().rev();
    let mut asks = sent.filter_map(|(_, message)| {
        let ToActivity::Attach { ask, .. } = message else {
            return None;
        };
        Some(ask)
    });
    asks.next()
}

fn told(ask: u32, part: u32, attempts: &[u32]) -> Told {
    Told {
        epoch: Epoch(3),
        ask,
        part,
        n_parts: 2,
        attempts: attempts.iter().map(|&one| attempt(one)).collect(),
    }
}

/// A machine that is connected and has told that it holds `a1` and `a2`.
fn attached(bench: &mut Bench) -> Machines {
    let mut machines = Machines::default();
    machines.up(&mut bench.step(), MACHINE);
    machines.attach(&mut bench.step(), MACHINE, true);
    let ask = asked(bench).unwrap();
    let step = &mut bench.step();
    assert_eq!(machines.told(step, MACHINE, told(ask, 0, &[1])), None);
    assert_eq!(machines.told(step, MACHINE, told(ask + 1, 1, &[3])), None);
    let held = machines.told(step, MACHINE, told(ask, 1, &[2])).unwrap();
    assert_eq!(held, [attempt(1), attempt(2)].into());
    machines
}

/// Machines that are connected and hold no attempts.
pub(crate) fn reachable(bench: &mut Bench, resources: &[ResourceId]) -> Machines {
    let mut machines = Machines::default();
    for &resource in resources {
        machines.up(&mut bench.step(), resource);
        machines.attach(&mut bench.step(), resource, true);
        let told = Told {
            epoch: Epoch(3),
            ask: asked(bench).unwrap(),
            part: 0,
            n_parts: 1,
            attempts: Vec::new(),
        };
        machines.told(&mut bench.step(), resource, told);
    }
    machines
}

#[test]
fn a_machine_is_reachable_once_it_has_told_all_parts_of_what_it_holds() {
    let mut bench = bench();
    let mut machines = attached(&mut bench);
    assert_eq!(machines.epoch(MACHINE), Some(Epoch(3)));
    assert!(machines.is_reachable(MACHINE));
    machines.down(&mut bench.step(), MACHINE);
    assert!(!machines.is_reachable(MACHINE));
}

#[test]
fn one_whose_name_is_not_believed_is_asked_nothing() {
    let mut bench = bench();
    let mut machines = Machines::default();
    machines.up(&mut bench.step(), MACHINE);
    machines.attach(&mut bench.step(), MACHINE, false);
    assert_eq!(asked(&mut bench), None);
    assert!(bench.shared.timers.next().is_some(), "it is asked later");
}

#[test]
fn a_silent_machine_is_suspect_once_and_trusted_when_it_is_heard_again() {
    let mut bench = bench();
    let mut machines = attached(&mut bench);
    assert!(!machines.look_at(&mut bench.step(), MACHINE));
    bench.pass(lease::SILENCE);
    assert!(machines.look_at(&mut bench.step(), MACHINE));
    assert!(!machines.is_trusted(MACHINE));
    assert!(!machines.look_at(&mut bench.step(), MACHINE));
    machines.hear(&mut bench.step(), MACHINE);
    assert!(machines.trust(MACHINE));
    assert!(machines.is_trusted(MACHINE));
    assert!(!machines.trust(MACHINE), "nothing has changed");
}

#[test]
fn a_suspect_machine_is_not_trusted_before_it_has_told_what_it_holds() {
    let mut bench = bench();
    let mut machines = attached(&mut bench);
    bench.pass(lease::SILENCE);
    assert!(machines.look_at(&mut bench.step(), MACHINE));
    machines.detach(MACHINE);
    assert!(!machines.trust(MACHINE));
}

#[test]
fn a_renewal_of_a_later_epoch_asks_what_the_machine_holds_and_grants_nothing() {
    let mut bench = bench();
    let mut machines = attached(&mut bench);
    let renewed = |bench: &mut Bench| !bench.take_to_machines().is_empty();
    assert!(!machines.on_renew(&mut bench.step(), MACHINE, (Epoch(3), 1), Vec::new()));
    assert!(renewed(&mut bench));
    assert!(!machines.on_renew(&mut bench.step(), MACHINE, (Epoch(2), 2), Vec::new()));
    assert!(!renewed(&mut bench));
    assert!(machines.on_renew(&mut bench.step(), MACHINE, (Epoch(4), 3), Vec::new()));
    assert!(!renewed(&mut bench));
}

#[test]
fn attempts_are_asked_back_from_a_machine_that_takes_nothing_until_it_answers() {
    let mut bench = bench();
    let mut machines = attached(&mut bench);
    let unstarted = || [attempt(1), attempt(2)].into_iter();
    machines.take_back(&mut bench.step(), MACHINE, unstarted());
    assert!(bench.take_to_machines().is_empty(), "it is trusted");
    assert_eq!(
        machines.set_leaving([MACHINE].into()),
        (vec![MACHINE], vec![])
    );
    machines.take_back(&mut bench.step(), MACHINE, unstarted());
    let retract = ToActivity::Retract(vec![attempt(1), attempt(2)]);
    assert_eq!(bench.take_to_machines(), [(MACHINE, retract)]);
    // It is trusted again, and what it was asked for before is asked for still.
    assert_eq!(machines.set_leaving([].into()), (vec![], vec![MACHINE]));
    machines.take_back(&mut bench.step(), MACHINE, [attempt(2)].into_iter());
    let retract = ToActivity::Retract(vec![attempt(2)]);
    assert_eq!(bench.take_to_machines(), [(MACHINE, retract)]);
}

#[test]
fn an_epoch_waits_for_the_longest_lease_of_those_before_it() {
    let mut bench = bench();
    let mut machines = Machines::default();
    let longer = Span(lease::LENGTH.0 * 3);
    machines.begin(&mut bench.step(), Some(longer));
    machines.expect_earlier(&mut bench.step(), MACHINE);
    bench.pass(lease::patience(lease::LENGTH));
    let now = bench.step().now.mono;
    let mut due = Vec::new();
    while let Some(timer) = bench.shared.timers.take_due(now) {
        due.push(timer);
    }
    assert!(
        !due.contains(&crate::timer::Timer::Lost(MACHINE)),
        "{due:?}"
    );
    bench.pass(lease::patience(longer));
    let now = bench.step().now.mono;
    let mut rung = std::iter::from_fn(|| bench.shared.timers.take_due(now));
    assert!(rung.any(|timer| timer == crate::timer::Timer::Lost(MACHINE)));
}
