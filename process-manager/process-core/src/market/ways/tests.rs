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
    assert!((network.ways[&machine(3)].sends.bandwidth / (5.0 * mebibyte) - 1.0).abs() < 1e-3);
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
fn a_direction_stays_slow_while_the_last_transfers_are_all_of_it() {
    let mut ways = Ways::default();
    let at = |second: u64| Mono(1) + Span::from_secs(second);
    let mebibyte = f64::from(1 << 20);
    for second in 0..12 {
        let sent = if second < 4 { 100.0 } else { 5.0 };
        for (to, from) in [(0, 1), (0, 2), (1, 2), (2, 1)] {
            come_at(&mut ways, at(second), (to, from), 100.0);
        }
        for to in [1, 2, 1, 2] {
            come_at(&mut ways, at(second), (to, 0), sent);
            if second > 5 {
                let speed = ways.speed(machine(0), UNKNOWN.bandwidth);
                assert!(speed.sends < 6.0 * mebibyte, "{second}: {speed:?}");
            }
        }
    }
    let others = [1, 2].map(|one| ways.speed(machine(one), UNKNOWN.bandwidth));
    assert!(
        others.iter().all(|one| one.least() > 90.0 * mebibyte),
        "{others:?}"
    );
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
    let expected = before[&machine(2)].receives / mebibyte;
    assert!((46.0..90.0).contains(&expected), "{expected}");
    assert_eq!(ways.changed(&before), None);

    come_at(&mut ways, at(100), (2, 0), 4.5);
    come_at(&mut ways, at(100), (2, 0), 4.5);
    let (slow, ratio) = ways.changed(&before).unwrap();
    assert_eq!(slow, machine(2));
    assert!((ratio * expected / 4.5 - 1.0).abs() < 1e-3, "{ratio}");
}

/// So many times each of these transfers by itself, at its speed.
fn play(ways: &mut Ways, since: u64, times: u64, transfers: &[(u32, u32, f64)]) {
    for time in since..since + times {
        for (place, &(from, to, speed)) in (0..).zip(transfers) {
            let at = Mono(1) + Span::from_secs(30 * time + 3 * place);
            come_at(ways, at, (to, from), speed);
        }
    }
}

/// The speeds of machines in MiB a second, rounded.
fn rounded(ways: &Ways, machines: u32) -> Vec<(f64, f64)> {
    let mebibyte = f64::from(1 << 20);
    let speeds = ways.speeds((0..machines).map(machine), UNKNOWN);
    let rounded = |speed: f64| (speed / mebibyte).round();
    let speeds = speeds.values();
    speeds
        .map(|one| (rounded(one.sends), rounded(one.receives)))
        .collect()
}

#[test]
fn a_machine_that_receives_fast_and_sends_slowly_has_a_slow_way_out() {
    let mut ways = Ways::default();
    let usual = [(1, 0, 100.0), (0, 1, 100.0), (1, 2, 100.0), (2, 1, 100.0)];
    play(&mut ways, 0, 5, &usual);
    let before = ways.speeds((0..3).map(machine), UNKNOWN);
    let throttled = [(1, 0, 100.0), (0, 1, 5.0), (0, 2, 5.0), (1, 2, 100.0)];
    play(&mut ways, 5, 5, &throttled);
    let all = rounded(&ways, 3);
    assert_eq!(all, [(5.0, 100.0), (100.0, 100.0), (100.0, 100.0)]);
    let (slow, ratio) = ways.changed(&before).unwrap();
    assert_eq!(slow, machine(0));
    assert!((ratio * 20.0 - 1.0).abs() < 0.01, "{ratio}");
    let speeds = ways.speeds((0..3).map(machine), UNKNOWN);
    assert_eq!(ways.changed(&speeds), None);
    let network = ways.network(&speeds, UNKNOWN);
    let way = network.ways[&machine(0)];
    assert!(network.ways.len() == 1 && way.sends.bandwidth < 0.06 * way.receives.bandwidth);
    let slow: Vec<ResourceId> = ways.slow((0..3).map(machine)).collect();
    assert_eq!(slow, [machine(0)]);

    // It is as fast as before.
    play(&mut ways, 10, 2, &usual);
    assert_eq!(rounded(&ways, 3), [(100.0, 100.0); 3]);
}

#[test]
fn a_machine_that_sends_fast_and_receives_slowly_has_a_slow_way_in() {
    let mut ways = Ways::default();
    let transfers = [
        (0, 1, 100.0),
        (1, 0, 5.0),
        (2, 0, 5.0),
        (1, 2, 100.0),
        (2, 1, 100.0),
    ];
    play(&mut ways, 0, 5, &transfers);
    let all = rounded(&ways, 3);
    assert_eq!(all, [(100.0, 5.0), (100.0, 100.0), (100.0, 100.0)]);
}

#[test]
fn a_peer_that_is_slow_or_says_so_accuses_nobody_else() {
    // All send to machine 0 slowly, and each of them to it alone.
    let mut ways = Ways::default();
    let inward = [(1, 0, 5.0), (2, 0, 5.0), (3, 0, 5.0)];
    let outward = [(0, 1, 100.0), (0, 2, 100.0), (0, 3, 100.0)];
    play(&mut ways, 0, 5, &[inward, outward].concat());
    let mut all = vec![(100.0, 5.0), (100.0, 100.0), (100.0, 100.0), (100.0, 100.0)];
    assert_eq!(rounded(&ways, 4), all);
    // Machine 0 receives from one of them fast, and says of the others that they send slowly.
    let mut ways = Ways::default();
    let inward = [(1, 0, 5.0), (2, 0, 5.0), (3, 0, 100.0)];
    play(&mut ways, 0, 5, &[inward, outward].concat());
    all[0] = (100.0, 100.0);
    assert_eq!(rounded(&ways, 4), all);
    // One machine sends slowly, and one receives slowly: those that meet only these are as fast as any.
    let mut ways = Ways::default();
    let others = [
        (0, 2, 5.0),
        (2, 0, 100.0),
        (0, 3, 5.0),
        (3, 2, 100.0),
        (2, 3, 100.0),
    ];
    let slow = [(2, 1, 5.0), (3, 1, 5.0), (1, 2, 100.0), (0, 1, 5.0)];
    play(&mut ways, 0, 5, &[&others[..], &slow[..]].concat());
    all[0] = (5.0, 100.0);
    all[1] = (100.0, 5.0);
    assert_eq!(rounded(&ways, 4), all);
}

#[test]
fn of_two_machines_the_slow_direction_is_known() {
    let mut ways = Ways::default();
    play(&mut ways, 0, 3, &[(0, 1, 100.0), (1, 0, 5.0)]);
    let speeds = ways.speeds((0..2).map(machine), UNKNOWN);
    let at_most = |from: u32, to: u32| {
        let (from, to) = (speeds[&machine(from)], speeds[&machine(to)]);
        from.sends.min(to.receives) / f64::from(1 << 20)
    };
    assert!(at_most(1, 0) < 6.0 && at_most(0, 1) > 90.0, "{speeds:?}");
}

#[test]
fn a_machine_that_gives_others_its_files_at_the_same_time_is_not_slow() {
    let mut ways = Ways::default();
    for time in 0..5 {
        let at = Mono(1) + Span::from_secs(30 * time);
        // Three transfers share its link, and end within some milliseconds.
        for to in 1..=3 {
            let at = at + Span::from_millis(u64::from(to));
            come_at(&mut ways, at, (to, 0), 33.0);
        }
        let alone = [(1, 0, 100.0), (2, 0, 100.0), (3, 0, 100.0)];
        let others = [(1, 2, 100.0), (2, 3, 100.0), (3, 1, 100.0)];
        for (place, (from, to, speed)) in (1..).zip(alone.into_iter().chain(others)) {
            come_at(&mut ways, at + Span::from_secs(place), (to, from), speed);
        }
        assert_eq!(rounded(&ways, 4), [(100.0, 100.0); 4], "{time}");
    }
}

#[test]
fn a_machine_whose_peers_are_all_slow_is_as_fast_as_any() {
    // Machines 2 and 3 receive slowly, and machine 0 sends to no others.
    let mut ways = Ways::default();
    let slow = [0, 1, 4].map(|from| [(from, 2, 5.0), (from, 3, 5.0)]);
    let fast = [
        (1, 4, 100.0),
        (4, 1, 100.0),
        (1, 0, 100.0),
        (2, 4, 100.0),
        (3, 4, 100.0),
    ];
    play(&mut ways, 0, 5, &[&slow.concat()[..], &fast[..]].concat());
    let (plain, slow) = ((100.0, 100.0), (100.0, 5.0));
    assert_eq!(rounded(&ways, 5), [plain, plain, slow, slow, plain]);
}
