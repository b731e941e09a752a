use model::{Bytes, Span};

use super::*;

const UNKNOWN: NetworkLink = NetworkLink {
    bandwidth: 1.25e8,
    latency: 1e-4,
};

fn machine(number: u32) -> ResourceId {
    ResourceId::local(number)
}

/// A file of 10 MiB came at so many MiB a second.
fn come(ways: &mut Ways, to: u32, from: u32, mebibytes_a_second: f64) {
    come_at(ways, Mono(1), (to, from), mebibytes_a_second);
}

/// The same at a time.
fn come_at(ways: &mut Ways, at: Mono, (to, from): (u32, u32), mebibytes_a_second: f64) {
    let fetched = Fetched {
        from: machine(from),
        bytes: Bytes(10 << 20),
        took: Span::from_seconds_up(10.0 / mebibytes_a_second),
    };
    ways.note(at, machine(to), &fetched);
}

#[test]
fn links_without_transfers_are_as_configured() {
    let ways = Ways::default();
    let speeds = ways.speeds((0..3).map(machine), UNKNOWN);
    assert_eq!(ways.network(&speeds, UNKNOWN), Network::uniform(UNKNOWN));
    assert_eq!(ways.changed(&speeds), None);
}

#[test]
fn a_machine_is_slow_if_all_its_transfers_are_and_its_peers_are_not() {
    let mut ways = Ways::default();
    let all = || (0..5).map(machine);
    let before = ways.speeds(all(), UNKNOWN);
    for _ in 0..2 {
        come(&mut ways, 0, 1, 100.0);
        come(&mut ways, 1, 2, 100.0);
        come(&mut ways, 2, 3, 5.0);
        come(&mut ways, 3, 0, 5.0);
    }
    assert_eq!(ways.slow(all()).collect::<Vec<_>>(), [machine(3)]);
    let mebibyte = f64::from(1 << 20);
    let (slow, ratio) = ways.changed(&before).unwrap();
    assert_eq!(slow, machine(3));
    assert!((ratio / (5.0 * mebibyte / UNKNOWN.bandwidth) - 1.0).abs() < 1e-3);

    let speeds = ways.speeds(all(), UNKNOWN);
    assert_eq!(ways.changed(&speeds), None);
    let network = ways.network(&speeds, UNKNOWN);
    assert!((network.inside.bandwidth / (100.0 * mebibyte) - 1.0).abs() < 1e-3);
    assert_eq!(network.ways.len(), 1);
    assert!((network.ways[&machine(3)].bandwidth / (5.0 * mebibyte) - 1.0).abs() < 1e-3);
}

#[test]
fn a_machine_that_becomes_slow_is_seen_after_two_transfers_with_each_peer_and_its_peers_stay_fast()
{
    let mut ways = Ways::default();
    let all = || (0..3).map(machine);
    for _ in 0..4 {
        come(&mut ways, 0, 1, 100.0);
        come(&mut ways, 2, 1, 100.0);
        come(&mut ways, 2, 0, 100.0);
    }
    let before = ways.speeds(all(), UNKNOWN);
    come(&mut ways, 2, 0, 5.0);
    come(&mut ways, 2, 0, 5.0);
    come(&mut ways, 1, 2, 5.0);
    assert_eq!(ways.changed(&before), None);
    // Many others with the same peer change nothing of that.
    for _ in 0..20 {
        come(&mut ways, 1, 2, 5.0);
    }
    let changed = ways.changed(&before).map(|(machine, _)| machine);
    assert_eq!(changed, Some(machine(2)));
    assert_eq!(ways.slow(all()).collect::<Vec<_>>(), [machine(2)]);
    let slow = ways.speeds(all(), UNKNOWN);
    come(&mut ways, 2, 0, 90.0);
    let changed = ways.changed(&slow).map(|(machine, _)| machine);
    assert_eq!(changed, Some(machine(2)));
}

#[test]
fn the_only_link_is_seen_to_be_slow_as_well() {
    let mut ways = Ways::default();
    let before = ways.speeds((0..2).map(machine), UNKNOWN);
    come(&mut ways, 0, 1, 10.0);
    assert!(ways.changed(&before).is_some());
    let speeds = ways.speeds((0..2).map(machine), UNKNOWN);
    let network = ways.network(&speeds, UNKNOWN);
    assert!(network.inside.bandwidth < 1.1e7 && network.ways.is_empty());
}

#[test]
fn what_says_nothing_of_a_link_is_not_noted() {
    let mut ways = Ways::default();
    let fetched = Fetched {
        from: machine(1),
        bytes: Bytes(4_096),
        took: Span::from_secs(1),
    };
    ways.note(Mono(1), machine(0), &fetched);
    let at_once = Fetched {
        bytes: Bytes(10 << 20),
        took: Span::ZERO,
        ..fetched
    };
    ways.note(Mono(1), machine(0), &at_once);
    ways.note(
        Mono(1),
        machine(1),
        &Fetched {
            took: Span::from_secs(1),
            ..at_once
        },
    );
    assert_eq!(ways.median, None);
}

#[test]
fn machines_are_remembered_up_to_a_number() {
    let mut ways = Ways::default();
    for number in 0..10_000 {
        come(&mut ways, number, number + 1, 10.0);
        assert!(ways.machines.len() <= MACHINES_MAX + 1);
    }
}

#[test]
fn plans_count_on_the_forecast_and_a_link_that_breaks_down_is_planned_with_at_once() {
    let mut ways = Ways::default();
    let all = || (0..3).map(machine);
    let at = |second: u64| Mono(1) + Span::from_secs(second);
    // Transfers of machine 2 have its link to themselves in one of two seconds.
    for second in 0..100_u64 {
        let alone = second.is_multiple_of(2);
        come_at(&mut ways, at(second), (0, 1), 100.0);
        come_at(
            &mut ways,
            at(second),
            (2, 0),
            if alone { 90.0 } else { 45.0 },
        );
        come_at(
            &mut ways,
            at(second),
            (2, 0),
            if alone { 90.0 } else { 45.0 },
        );
    }
    let before = ways.speeds(all(), UNKNOWN);
    let mebibyte = f64::from(1 << 20);
    let expected = before[&machine(2)] / mebibyte;
    assert!((46.0..90.0).contains(&expected), "{expected}");
    assert_eq!(ways.changed(&before), None);

    come_at(&mut ways, at(100), (2, 0), 4.5);
    come_at(&mut ways, at(100), (2, 0), 4.5);
    let (slow, ratio) = ways.changed(&before).unwrap();
    assert_eq!(slow, machine(2));
    assert!((ratio * expected / 4.5 - 1.0).abs() < 1e-3, "{ratio}");
}
