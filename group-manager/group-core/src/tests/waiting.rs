//! Process managers that wait while others take each slot as soon as it is free.

use std::collections::BTreeMap;

use model::{Epoch, ProcessId, Span};
use wire::group::{FromGroup, Need, ToGroup};

use super::bench::{Bench, attach, by, claim, down, facts, keep, owned, register, release};
use super::bench::{register_in, show};
use crate::{Effect, Input, Peer, Policy};

fn need(cores: u32) -> Need {
    Need {
        cores,
        ..Need::default()
    }
}

/// A process of process manager 1 waits for this.
fn waits(process: u64, seconds: u64, needs: &[Need]) -> Input {
    let waits = ToGroup::Waits {
        epoch: Epoch(1),
        process: ProcessId(process),
        owner: None,
        waited: Span::from_secs(seconds),
        needs: needs.to_vec(),
    };
    Input::Process(1, waits)
}

fn of_owner(name: &str, mut input: Input) -> Input {
    if let Input::Process(_, ToGroup::Waits { owner, .. }) = &mut input {
        *owner = Some(format!("xav://grid/lab/user/{name}"));
    }
    input
}

/// A bench with a machine of 4 slots, one of 2, and process managers 0 and 1, of which 0 holds all slots
/// for processes of one slot each: 1 to 4 on the first machine, 5 and 6 on the second one.
fn full(policy: Policy) -> Bench {
    let mut bench = Bench::of_policy(policy);
    bench.all([register(1, "a", 4), register(2, "b", 2), attach(1)]);
    bench.feed(by(1, attach(1)));
    for process in 1..=6 {
        let machine = u32::from(process > 4);
        bench.feed(owned("ana", claim(process, 1, &[(machine, 1)])));
    }
    bench.wait(10);
    bench
}

/// The answers to a message.
fn answers(bench: &mut Bench, input: Input) -> String {
    let mut effects = bench.feed(input);
    effects.retain(|effect| matches!(effect, Effect::ToProcess(_, answer) if !is_offer(answer)));
    show(&effects)
}

fn is_offer(message: &FromGroup) -> bool {
    matches!(message, FromGroup::Offer(_))
}

/// The free slots of each machine that each process manager is offered by now.
fn offered(bench: &mut Bench, after: u64) -> Vec<Vec<u32>> {
    let mut offered = vec![Vec::new(); 2];
    for effect in bench.wait(after) {
        if let Effect::ToProcess(to, FromGroup::Offer(offer)) = effect {
            let free = offer.resources.iter().map(|one| one.free);
            offered[to as usize] = free.collect();
        }
    }
    offered
}

#[test]
fn a_slot_that_comes_free_is_kept_for_the_process_manager_that_waits() {
    let mut bench = full(Policy::default());
    bench.feed(waits(50, 1, &[need(1)]));
    bench.feed(release(5));
    assert_eq!(offered(&mut bench, 10), [[0, 0], [0, 1]]);
    assert_eq!(
        answers(&mut bench, claim(7, 1, &[(1, 1)])),
        "pm0: refused p7 #1\n"
    );
    let granted = answers(&mut bench, by(1, claim(50, 1, &[(1, 1)])));
    assert_eq!(granted, "pm1: granted p50 #1 r1:1\n");
    // It waits no more: the next one is for whoever comes first.
    bench.feed(release(6));
    assert_eq!(offered(&mut bench, 10), [[0, 1], [0, 1]]);
    assert_eq!(
        answers(&mut bench, claim(7, 2, &[(1, 1)])),
        "pm0: granted p7 #2 r1:1\n"
    );
    bench.check_replay();
}

/// ```text
///   a  |1|2|3|4|     three of its slots come free one by one, and stay so
///   b  |5|6|         too small: its slots are nobody's
/// ```
#[test]
fn slots_of_one_machine_are_gathered_for_an_activity_of_several_cores() {
    let mut bench = full(Policy::default());
    bench.feed(waits(50, 1, &[need(3), need(1)]));
    for process in [1, 5, 2] {
        bench.feed(release(process));
    }
    assert_eq!(offered(&mut bench, 10), [[0, 1], [2, 1]]);
    let log = answers(&mut bench, claim(7, 1, &[(0, 2), (1, 1)]));
    assert_eq!(log, "pm0: granted p7 #1 r1:1\n");
    bench.feed(release(3));
    let log = answers(&mut bench, by(1, claim(50, 1, &[(0, 3)])));
    assert_eq!(log, "pm1: granted p50 #1 r0:3\n");
    bench.check_replay();
}

#[test]
fn what_a_process_holds_counts_and_only_machines_that_fit_are_kept() {
    let mut bench = full(Policy::default());
    let labels = BTreeMap::from([("gpu".to_owned(), "yes".to_owned())]);
    let mut with_gpu = facts("c", 2);
    with_gpu.labels = labels.clone();
    bench.feed(register_in(1, 3, with_gpu));
    bench.feed(by(1, claim(50, 1, &[(2, 1)])));
    bench.feed(claim(7, 1, &[(2, 1)]));
    let gpu = Need {
        cores: 2,
        labels,
        ..Need::default()
    };
    bench.feed(waits(50, 1, &[gpu]));
    bench.feed(release(1));
    bench.feed(keep(7, 2, &[(2, 0)]));
    assert_eq!(offered(&mut bench, 10), [[1, 0, 0], [1, 0, 1]]);
    bench.check_replay();
}

#[test]
fn slots_of_more_machines_are_gathered_for_who_waits_for_long() {
    let mut bench = full(Policy::default());
    bench.feed(waits(50, 1, &[need(2)]));
    bench.feed(release(1));
    bench.feed(release(5));
    assert_eq!(offered(&mut bench, 10), [[0, 1], [1, 1]]);
    bench.feed(waits(50, 40, &[need(2)]));
    bench.feed(claim(7, 1, &[(0, 1), (1, 1)]));
    assert_eq!(bench.state().holding(ProcessId(7)), None);
    bench.check_replay();
}

#[test]
fn who_does_not_claim_in_time_is_passed_over_for_a_while() {
    let mut bench = full(Policy::default());
    bench.feed(waits(50, 1, &[need(1)]));
    bench.feed(release(5));
    assert_eq!(offered(&mut bench, 10), [[0, 0], [0, 1]]);
    bench.feed(waits(50, 2, &[need(1)]));
    assert_eq!(offered(&mut bench, 1_000), [[0, 1], [0, 1]]);
    bench.feed(waits(50, 4, &[need(1)]));
    assert_eq!(offered(&mut bench, 2_000), [[0, 0], [0, 1]]);
    // It has as much time again, and so long as it has needed before.
    bench.feed(waits(50, 5, &[need(1)]));
    bench.wait(1_500);
    bench.feed(claim(7, 1, &[(1, 1)]));
    assert_eq!(bench.state().holding(ProcessId(7)), None);
    bench.check_replay();
}

#[test]
fn nothing_is_kept_for_who_says_nothing_more_or_is_away() {
    let mut bench = full(Policy::default());
    bench.feed(waits(50, 1, &[need(3)]));
    bench.feed(release(1));
    assert_eq!(offered(&mut bench, 10), [[0, 0], [1, 0]]);
    assert_eq!(offered(&mut bench, 3_000), [[1, 0], [1, 0]]);
    bench.feed(waits(50, 1, &[need(3)]));
    assert_eq!(offered(&mut bench, 10), [[0, 0], [1, 0]]);
    bench.feed(Input::Down(Peer::Process(1)));
    assert_eq!(
        answers(&mut bench, claim(7, 1, &[(0, 1)])),
        "pm0: granted p7 #1 r0:1\n"
    );
    bench.feed(waits(50, 1, &[need(1)]));
    bench.feed(release(2));
    assert_eq!(
        answers(&mut bench, claim(8, 1, &[(0, 1)])),
        "pm0: granted p8 #1 r0:1\n"
    );
    bench.feed(down(1));
    bench.check_replay();
}

#[test]
fn who_has_waited_for_longest_comes_first() {
    let mut bench = full(Policy::default());
    bench.feed(waits(50, 5, &[need(1)]));
    bench.feed(by(0, waits(7, 9, &[need(1)])));
    bench.feed(release(5));
    assert_eq!(offered(&mut bench, 10), [[0, 1], [0, 0]]);
    bench.feed(release(1));
    assert_eq!(offered(&mut bench, 10), [[1, 1], [0, 1]]);
    bench.check_replay();
}

#[test]
fn a_process_that_holds_a_part_of_its_slots_comes_before_those_that_hold_none() {
    let mut bench = full(Policy::default());
    bench.feed(release(1));
    bench.feed(by(1, claim(50, 1, &[(0, 2)])));
    bench.feed(waits(50, 1, &[need(2)]));
    bench.feed(by(0, waits(7, 9, &[need(4)])));
    bench.feed(release(2));
    assert_eq!(offered(&mut bench, 10), [[0, 0], [1, 0]]);
    let log = answers(&mut bench, by(1, claim(50, 2, &[(0, 1)])));
    assert_eq!(log, "pm1: granted p50 #2 r0:1 r0:1\n");
    bench.check_replay();
}

#[test]
fn a_wait_that_crosses_its_grant_comes_before_nobody() {
    let mut bench = full(Policy::default());
    bench.feed(release(5));
    bench.feed(by(1, claim(50, 1, &[(1, 1)])));
    bench.feed(waits(50, 20, &[need(1)]));
    bench.feed(by(0, waits(7, 9, &[need(1)])));
    bench.feed(release(6));
    assert_eq!(offered(&mut bench, 10), [[0, 1], [0, 0]]);
    assert_eq!(
        answers(&mut bench, by(1, claim(51, 1, &[(1, 1)]))),
        "pm1: refused p51 #1\n"
    );
    bench.check_replay();
}

#[test]
fn what_is_kept_is_for_the_owner_who_has_used_least_for_its_share() {
    let mut bench = full(Policy {
        shares: Some(BTreeMap::from([("ben".to_owned(), 1)])),
        ..Policy::default()
    });
    bench.wait(10_000);
    // Ana holds and has used all there is.
    bench.feed(of_owner("ben", waits(50, 1, &[need(1)])));
    bench.feed(owned("ana", release(5)));
    assert_eq!(offered(&mut bench, 10), [[0, 0], [0, 1]]);
    let log = answers(&mut bench, owned("ana", claim(7, 1, &[(1, 1)])));
    assert_eq!(log, "pm0: refused p7 #1\n");
    // Eve has used nothing, as little as Ben: who waits comes first. Ben has then used more.
    let log = answers(&mut bench, owned("eve", claim(8, 1, &[(1, 1)])));
    assert_eq!(log, "pm0: refused p8 #1\n");
    bench.feed(by(1, owned("ben", claim(50, 1, &[(1, 1)]))));
    bench.feed(of_owner("ben", waits(51, 1, &[need(1)])));
    bench.feed(release(6));
    let log = answers(&mut bench, owned("eve", claim(9, 1, &[(1, 1)])));
    assert_eq!(log, "pm0: granted p9 #1 r1:1\n");
    bench.check_replay();
}

#[test]
fn nothing_is_kept_for_a_process_that_no_machine_fits() {
    let mut bench = full(Policy::default());
    let nowhere = Need {
        labels: [("gpu".to_owned(), "yes".to_owned())].into(),
        ..need(1)
    };
    bench.feed(waits(50, 1, &[need(1), nowhere]));
    bench.feed(release(5));
    assert_eq!(offered(&mut bench, 10), [[0, 1], [0, 1]]);
}

/// ```text
///   a  |.|2|3|4|     Ben may hold 3 slots: 3 of a, but not 4, and not 3 beside 2 of c
///   b  |5|6|
///   c  |.|.|         with a gpu
/// ```
#[test]
fn nothing_is_kept_for_a_process_whose_owner_may_not_hold_what_it_needs() {
    let policy = Policy {
        slots_max_of: BTreeMap::from([("ben".to_owned(), 3)]),
        ..Policy::default()
    };
    let mut bench = full(policy);
    let labels = BTreeMap::from([("gpu".to_owned(), "yes".to_owned())]);
    let mut with_gpu = facts("c", 2);
    with_gpu.labels = labels.clone();
    bench.feed(register_in(1, 3, with_gpu));
    let gpu = Need { labels, ..need(2) };
    bench.feed(release(1));
    bench.feed(of_owner("ben", waits(50, 1, &[need(4)])));
    assert_eq!(offered(&mut bench, 10), [[1, 0, 2], [1, 0, 2]]);
    bench.feed(of_owner("ben", waits(50, 1, &[need(3)])));
    assert_eq!(offered(&mut bench, 10), [[0, 0, 2], [1, 0, 2]]);
    bench.feed(of_owner("ben", waits(50, 1, &[need(3), need(1)])));
    assert_eq!(offered(&mut bench, 10), [[0, 0, 2], [1, 0, 2]]);
    bench.feed(of_owner("ben", waits(50, 1, &[gpu, need(3)])));
    assert_eq!(offered(&mut bench, 10), [[1, 0, 2], [1, 0, 2]]);
    bench.check_replay();
}
