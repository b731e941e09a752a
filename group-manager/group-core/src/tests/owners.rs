//! Owners of processes: what they have used, and how much they may hold.

use std::collections::BTreeMap;

use model::{Epoch, ProcessId, Span};
use wire::admin::Holder;
use wire::group::{FromGroup, OwnerUsage, Owners, ToGroup};

use super::bench::{Bench, attach, by, claim, down, owned, register, release, survey_for};
use crate::{Effect, Event, Input, Policy, Survey};

/// Ana has a share of 2, and what was used counts half after ten minutes.
fn fair() -> Policy {
    Policy {
        shares: Some(BTreeMap::from([("ana".to_owned(), 2)])),
        half_life: Span::from_secs(600),
        ..Policy::default()
    }
}

/// A user may hold 3 slots, and Ana 5.
fn limited() -> Policy {
    Policy {
        slots_max: Some(3),
        slots_max_of: BTreeMap::from([("ana".to_owned(), 5)]),
        ..Policy::default()
    }
}

/// A bench with two machines of 4 slots and process managers 0 and 1.
fn ready(policy: Policy) -> Bench {
    let mut bench = Bench::of_policy(policy);
    bench.all([register(1, "a", 4), register(2, "b", 4), attach(1)]);
    bench.feed(by(1, attach(1)));
    bench
}

/// What a process manager is told of owners when it asks.
fn told_to(bench: &mut Bench, manager: u32) -> Option<Owners> {
    for effect in bench.feed(by(manager, attach(1))) {
        if let Effect::ToProcess(to, FromGroup::Offer(offer)) = effect
            && to == manager
        {
            return offer.owners;
        }
    }
    panic!("who attaches is told an offer")
}

/// The same as text.
fn told(bench: &mut Bench) -> Vec<String> {
    let owners = told_to(bench, 0).unwrap().owners.into_iter();
    let line = |one: OwnerUsage| {
        let OwnerUsage {
            name,
            share,
            usage,
            held,
            yours,
            slots_max,
        } = one;
        let most = slots_max.map_or_else(String::new, |most| format!("/{most}"));
        format!(
            "{name} x{share} {:.0} {held}{most} ({yours})",
            usage.seconds()
        )
    };
    owners.map(line).collect()
}

fn charged(bench: &Bench) -> usize {
    let is_charged = |event: &&Event| matches!(event, Event::Charged { .. });
    bench.events.iter().filter(is_charged).count()
}

/// ```text
/// ana, 2 slots   |==============|          1 slot: 60 s at once count for 58, and for half of that
/// ben, 4 slots             |====|          after ten minutes
///                0         30   60
/// ```
#[test]
fn owners_are_charged_for_the_slots_that_they_hold_and_it_decays() {
    let mut bench = ready(fair());
    bench.feed(owned("ana", claim(1, 1, &[(0, 2)])));
    bench.wait(30_000);
    bench.feed(by(1, owned("ben", claim(2, 1, &[(1, 4)]))));
    bench.wait(30_000);
    assert_eq!(told(&mut bench), ["ana x2 116 2 (2)", "ben x1 118 4 (0)"]);
    bench.feed(release(1));
    bench.feed(by(1, release(2)));
    assert_eq!(told(&mut bench), ["ana x2 116 0 (0)", "ben x1 118 0 (0)"]);
    bench.wait(600_000);
    assert_eq!(told(&mut bench), ["ana x2 58 0 (0)", "ben x1 59 0 (0)"]);
    let to_other = told_to(&mut bench, 1).unwrap();
    assert!(to_other.is_fair && to_other.slots_max.is_none());
    bench.check_replay();
}

#[test]
fn slots_are_charged_when_they_change_and_each_minute() {
    let mut bench = ready(fair());
    let before = charged(&bench);
    bench.feed(owned("ana", claim(1, 1, &[(0, 1)])));
    for _ in 0..10 {
        bench.wait(30_000);
    }
    assert_eq!(charged(&bench) - before, 5);
    bench.feed(release(1));
    let before = charged(&bench);
    for _ in 0..10 {
        bench.wait(30_000);
    }
    assert_eq!(charged(&bench), before, "nobody holds anything");
    bench.check_replay();
}

#[test]
fn what_was_used_outlives_a_restart_and_the_time_between_counts() {
    let mut bench = ready(fair());
    bench.feed(owned("ana", claim(1, 1, &[(0, 2)])));
    bench.wait(45_000);
    // Nobody has recorded those 45 seconds, and 15 pass while the manager is away.
    bench.now.wall = bench.now.wall + Span::from_secs(15);
    bench.restart();
    bench.all([register(1, "a", 4), register(2, "b", 4)]);
    assert_eq!(told(&mut bench), ["ana x2 116 2 (2)"]);
    // A calendar that was set costs an hour at most, which is 6 half-lives.
    bench.now.wall = bench.now.wall + Span::from_secs(400 * 86_400);
    bench.restart();
    bench.all([register(1, "a", 4), register(2, "b", 4)]);
    let hour = 2.0 * 600.0 / std::f64::consts::LN_2 * (1.0 - 1.0 / 64.0) + 116.0 / 64.0;
    assert_eq!(told(&mut bench), [format!("ana x2 {hour:.0} 2 (2)")]);
    bench.check_replay();
}

#[test]
fn processes_without_a_known_owner_are_charged_together_and_have_no_limit() {
    let mut bench = ready(Policy {
        shares: fair().shares,
        ..limited()
    });
    bench.feed(claim(1, 1, &[(0, 4)]));
    let mut strange = owned("", claim(2, 1, &[(1, 4)]));
    assert_eq!(
        bench.all([strange.clone()]),
        "am2: grants p2:4\npm0: granted p2 #1 r1:4\n"
    );
    bench.wait(10_000);
    let of_nobody = |told: Vec<String>| told.into_iter().find(|one| one.starts_with("- "));
    assert_eq!(of_nobody(told(&mut bench)).unwrap(), "- x1 80 8 (8)");
    strange = owned(&"x".repeat(100), claim(3, 1, &[(1, 1)]));
    assert_eq!(bench.all([strange]), "pm0: refused p3 #1\n");
    bench.check_replay();
}

#[test]
fn no_owner_is_granted_more_than_it_may_hold() {
    let mut bench = ready(limited());
    let log = bench.all([
        owned("ben", claim(1, 1, &[(0, 2)])),
        owned("ben", claim(2, 1, &[(0, 1), (1, 1)])),
        owned("ben", claim(3, 1, &[(1, 1)])),
        by(1, owned("ben", claim(4, 1, &[(1, 1)]))),
        owned("ana", claim(5, 1, &[(0, 1), (1, 4)])),
        owned("ana", claim(5, 2, &[(1, 1)])),
    ]);
    assert_eq!(
        log,
        "am1: grants p1:2\npm0: granted p1 #1 r0:2\n\
         am1: grants p1:2 p2:1\npm0: granted p2 #1 r0:1 at limit\n\
         pm0: refused p3 #1 at limit\n\
         pm1: refused p4 #1 at limit\n\
         am1: grants p1:2 p2:1 p5:1\nam2: grants p5:4\npm0: granted p5 #1 r0:1 r1:4 at limit\n\
         pm0: refused p5 #2 at limit\n"
    );
    assert_eq!(told(&mut bench), ["ana x1 0 5/5 (5)", "ben x1 0 3/3 (3)"]);
    assert_eq!(told_to(&mut bench, 0).unwrap().slots_max, Some(3));
    // A refusal for the limit is followed by an offer that tells it.
    let offers = bench.wait(10);
    let is_offer = |effect: &Effect| matches!(effect, Effect::ToProcess(_, FromGroup::Offer(_)));
    assert_eq!(offers.iter().filter(|effect| is_offer(effect)).count(), 2);
    bench.feed(release(1));
    let log = bench.all([owned("ben", claim(3, 2, &[(0, 4)]))]);
    assert_eq!(
        log,
        "am1: grants p2:1 p5:1 p3:2\npm0: granted p3 #2 r0:2 at limit\n"
    );
    bench.check_replay();
}

#[test]
fn slots_of_a_machine_that_is_gone_count_for_no_limit() {
    let mut bench = ready(limited());
    bench.feed(owned("ben", claim(1, 1, &[(0, 3)])));
    assert_eq!(told(&mut bench), ["ana x1 0 0/5 (0)", "ben x1 0 3/3 (3)"]);
    bench.feed(down(1));
    assert_eq!(told(&mut bench), ["ana x1 0 0/5 (0)", "ben x1 0 0/3 (0)"]);
    let log = bench.all([
        owned("ben", claim(1, 2, &[(1, 4)])),
        register(1, "a", 4),
        owned("ben", claim(2, 1, &[(1, 1)])),
    ]);
    assert!(
        log.starts_with("am2: grants p1:3\npm0: granted p1 #2 r0:3 r1:3 at limit\n"),
        "{log}"
    );
    assert!(log.ends_with("pm0: refused p2 #1 at limit\n"), "{log}");
    bench.check_replay();
}

#[test]
fn a_group_without_rules_tells_and_records_nothing_of_owners() {
    let mut bench = ready(Policy::default());
    bench.feed(owned("ana", claim(1, 1, &[(0, 1)])));
    bench.wait(120_000);
    assert_eq!(told_to(&mut bench, 0), None);
    assert_eq!(charged(&bench), 0);
    bench.check_replay();
}

#[test]
fn who_asks_for_machines_is_told_who_holds_what() {
    let mut bench = ready(limited());
    bench.all([
        owned("ben", claim(1, 1, &[(0, 1)])),
        owned("ben", claim(1, 2, &[(0, 1)])),
        owned("ana", claim(2, 1, &[(0, 1)])),
    ]);
    let Survey { nodes, owners, .. } = survey_for(&mut bench, None);
    let holder = |process: u64, name: &str, slots| Holder {
        process: ProcessId(process),
        owner: Some(format!("xav://grid/lab/user/{name}")),
        slots,
    };
    assert_eq!(nodes[0].holders, [holder(1, "ben", 2), holder(2, "ana", 1)]);
    assert_eq!(nodes[1].holders, []);
    let owners = owners.unwrap().owners.into_iter();
    assert_eq!(owners.map(|one| one.held).collect::<Vec<u32>>(), [1, 2]);
}

#[test]
fn a_user_is_told_of_own_processes_behind_many_of_others_and_owners_hold_all_their_slots() {
    let mut bench = ready(Policy::default());
    bench.feed(register(3, "c", 200));
    for process in 1..=100 {
        bench.feed(owned("ben", claim(process, 1, &[(2, 1)])));
    }
    bench.feed(owned("ana", claim(101, 1, &[(2, 2)])));
    let all = survey_for(&mut bench, None);
    assert_eq!((all.nodes[2].holders.len(), all.n_grants), (64, 101));
    let slots = [("ana".to_owned(), 2), ("ben".to_owned(), 100)];
    assert_eq!(all.slots_by_owner, slots);
    let own = survey_for(&mut bench, Some("xav://grid/lab/user/ana"));
    let own = own.nodes[2].holders.iter().map(|holder| holder.process.0);
    assert_eq!(own.collect::<Vec<u64>>(), [101]);
}

#[test]
fn of_too_many_owners_those_are_told_who_hold_slots_or_wait() {
    let keys = (0..600).map(|number| (format!("u{number:03}"), 2));
    let last = ["y-holds", "z-waits"].map(|name| (name.to_owned(), 2));
    let mut bench = ready(Policy {
        slots_max_of: keys.chain(last).collect(),
        ..Policy::default()
    });
    bench.feed(owned("y-holds", claim(1, 1, &[(0, 1)])));
    let waits = ToGroup::Waits {
        epoch: Epoch(1),
        process: ProcessId(2),
        owner: Some("xav://grid/lab/user/z-waits".to_owned()),
        waited: Span::ZERO,
        needs: Vec::new(),
    };
    bench.feed(Input::Process(0, waits));
    let told = told(&mut bench);
    assert_eq!(told.len(), 512);
    assert_eq!(told[0], "u000 x1 0 0/2 (0)");
    assert_eq!(
        told[510..],
        ["y-holds x1 0 1/2 (1)", "z-waits x1 0 0/2 (0)"]
    );
}
