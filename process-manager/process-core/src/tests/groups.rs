//! Two groups with a machine r0 each, played by hand: claims to one do not wait for the other.

mod world;

use std::collections::{BTreeMap, BTreeSet};

use model::{GrantId, ProcessId};
use wire::group::{FromGroup, Grant};

use self::world::*;
use crate::record::Event;
use crate::{Input, Stream};

#[test]
fn a_message_that_names_a_machine_of_another_group_is_ignored() {
    let mut world = World::new();
    world.moods.insert(A, Mood::Silent);
    world.submit(7, only("a"));
    world.said();
    let grant = Grant {
        id: GrantId(9),
        resource: machine_of(B),
        slots: 1,
    };
    let granted = FromGroup::Granted {
        number: 1,
        process: ProcessId(7),
        grants: vec![grant],
        is_at_limit: false,
    };
    world.give(Input::Group(A, granted));
    world.offer_of(A, machine_of(B));
    assert_eq!(world.said(), ["g1 names r0@g2", "g1 names r0@g2"]);
    let is_granted = |(_, event): &(Stream, Event)| matches!(event, Event::Granted { .. });
    assert!(!world.events.iter().any(is_granted));
    // The offer that A made before is still there, and its answer is still awaited.
    world.wakes(A);
    assert_eq!(world.used(7), BTreeSet::from([machine_of(A)]));
}

#[test]
fn each_group_is_asked_for_its_own_machines_and_the_plan_waits_for_all_of_them() {
    let mut world = World::new();
    world.moods.insert(B, Mood::Silent);
    world.submit(1, both());
    assert_eq!(world.said(), ["g1 claim 1 p1", "g2 claim 1 p1"]);
    assert!(world.planned().is_empty());
    world.wakes(B);
    assert_eq!(world.planned(), BTreeSet::from([1]));
    assert_eq!(
        world.used(1),
        BTreeSet::from([machine_of(A), machine_of(B)])
    );
}

#[test]
fn a_group_that_does_not_answer_holds_up_nobody_who_can_do_without() {
    let mut world = World::new();
    world.moods.insert(A, Mood::Silent);
    // The first plan needs both machines; the others could run on either.
    world.submit(1, both());
    for key in 2..=5 {
        world.submit(key, parallel(2));
    }
    assert!(world.planned().is_empty());
    world.pass(2);
    assert_eq!(world.planned(), BTreeSet::from([2, 3, 4, 5]));
    for key in 2..=5 {
        assert_eq!(world.used(key), BTreeSet::from([machine_of(B)]));
    }
    world.pass(600);
    assert_eq!(world.planned(), BTreeSet::from([2, 3, 4, 5]));
    world.wakes(A);
    world.pass(10);
    assert_eq!(world.planned(), BTreeSet::from([1, 2, 3, 4, 5]));
}

#[test]
fn a_plan_is_given_up_for_one_without_the_group_that_does_not_answer() {
    for is_cut in [false, true] {
        let mut world = World::new();
        world.moods.insert(A, Mood::Silent);
        world.submit(1, parallel(20));
        world.pass(2);
        assert!(world.planned().is_empty());
        if is_cut {
            world.give(Input::GroupDown(A));
        } else {
            world.pass(10);
        }
        assert_eq!(world.planned(), BTreeSet::from([1]));
        assert_eq!(world.used(1), BTreeSet::from([machine_of(B)]));
        world.said();
        // The claim has become a question, which comes behind the claim here.
        if is_cut {
            world.up(A);
        }
        world.wakes(A);
        world.cancel(1);
        world.pass(5);
        assert!(world.is_released(1));
        assert_eq!(world.free, BTreeMap::from([(A, 10), (B, 10)]));
    }
}

#[test]
fn what_one_group_grants_is_kept_where_another_refuses() {
    let mut world = World::new();
    world.moods.insert(B, Mood::Refuses);
    world.submit(1, parallel(20));
    assert_eq!(world.said(), ["g1 claim 10 p1", "g2 claim 10 p1"]);
    assert_eq!(world.planned(), BTreeSet::from([1]));
    assert_eq!(world.used(1), BTreeSet::from([machine_of(A)]));
}

#[test]
fn a_process_begins_while_a_group_does_not_answer_that_only_replicas_need() {
    let mut world = World::new();
    world.moods.insert(B, Mood::Silent);
    world.submit(1, replicated());
    assert_eq!(world.said(), ["g1 claim 1 p1", "g2 claim 1 p1"]);
    assert_eq!(world.planned(), BTreeSet::from([1]));
    assert_eq!(world.used(1), BTreeSet::from([machine_of(A)]));
    // It is sent once more, and is a question from then on.
    world.pass(3);
    assert_eq!(
        world.said(),
        ["g2 claim 1 p1", "g2 claim 0 p1", "g2 claim 0 p1"]
    );
    world.wakes(B);
    assert_eq!(world.free, BTreeMap::from([(A, 9), (B, 9)]));
    let granted: Vec<_> = world.granted(1);
    assert_eq!(granted, [machine_of(A), machine_of(B)]);
    world.cancel(1);
    world.pass(5);
    assert!(world.is_released(1));
    assert_eq!(world.free, BTreeMap::from([(A, 10), (B, 10)]));
}

#[test]
fn a_claim_for_replicas_that_comes_late_or_never_takes_nothing() {
    for is_cut in [false, true] {
        let mut world = World::new();
        world.moods.insert(B, Mood::Silent);
        world.submit(1, replicated());
        // The claim itself is lost, and so is its repeat.
        if !is_cut {
            world.pass(2);
        }
        world.unanswered.clear();
        if is_cut {
            world.give(Input::GroupDown(B));
            world.up(B);
        } else {
            world.pass(2);
        }
        world.wakes(B);
        world.pass(3);
        assert_eq!(world.free, BTreeMap::from([(A, 9), (B, 10)]));
        assert_eq!(world.granted(1), [machine_of(A)]);
        // Others count on the group again.
        world.submit(2, only("b"));
        assert_eq!(world.planned(), BTreeSet::from([1, 2]));
    }
}

#[test]
fn one_that_needs_a_group_which_is_away_lets_the_others_pass() {
    let mut world = World::new();
    world.give(Input::GroupDown(A));
    world.submit(1, only("a"));
    world.submit(2, only("b"));
    world.submit(3, parallel(2));
    assert_eq!(world.planned(), BTreeSet::from([2, 3]));
    world.up(A);
    assert_eq!(world.planned(), BTreeSet::from([1, 2, 3]));
}

#[test]
fn one_that_waits_for_slots_which_others_hold_is_passed_only_on_machines_that_it_cannot_use() {
    let mut world = World::new();
    world.slots = 10;
    world.free = BTreeMap::from([(A, 0), (B, 1)]);
    world.offer(A);
    world.offer(B);
    world.submit(1, both());
    world.submit(2, only("b"));
    assert!(world.planned().is_empty());
    world.free = BTreeMap::from([(A, 1), (B, 1)]);
    world.offer(A);
    assert_eq!(world.planned(), BTreeSet::from([1]));

    let mut world = World::new();
    world.slots = 10;
    world.free = BTreeMap::from([(A, 0), (B, 1)]);
    world.offer(A);
    world.offer(B);
    world.submit(1, only("a"));
    world.submit(2, only("b"));
    assert_eq!(world.planned(), BTreeSet::from([2]));
}

#[test]
fn slots_are_given_back_to_each_group_before_the_process_counts_as_released() {
    let mut world = World::new();
    world.submit(1, both());
    world.moods.insert(B, Mood::Silent);
    world.cancel(1);
    for group in [A, B] {
        world.give(Input::ActivityDown(machine_of(group)));
    }
    assert_eq!(world.planned(), BTreeSet::from([1]));
    let sent = world
        .events
        .iter()
        .any(|(_, event)| matches!(event, Event::Sent(..)));
    assert!(!sent, "nobody has attached to a machine here");
    assert_eq!(
        world.said(),
        [
            "g1 claim 1 p1",
            "g2 claim 1 p1",
            "g1 release p1",
            "g2 release p1"
        ]
    );
    assert!(!world.is_released(1));
    // A group that has answered is not asked again.
    world.pass(1);
    assert_eq!(world.said(), ["g2 release p1"]);
    world.moods.insert(B, Mood::Grants);
    world.pass(1);
    assert!(world.is_released(1));
    assert_eq!(world.free, BTreeMap::from([(A, 10), (B, 10)]));
}

#[test]
fn after_a_restart_each_group_tells_what_an_earlier_epoch_was_granted() {
    let mut world = World::new();
    world.moods.insert(B, Mood::Silent);
    world.submit(1, both());
    world.restart();
    world.said();
    world.up(A);
    // Group A has told what it has granted; group B has not been heard yet.
    assert!(world.planned().is_empty());
    world.moods.insert(B, Mood::Grants);
    world.up(B);
    assert_eq!(world.said(), ["g2 claim 1 p1"]);
    assert_eq!(world.planned(), BTreeSet::from([1]));
    assert_eq!(world.free, BTreeMap::from([(A, 9), (B, 9)]));
}
