//! Named limits: never more units of one are held by attempts that are out, whatever ends and restarts.

use std::collections::BTreeMap;

use model::{ActivityId, AttemptId, Draft, NodeKind, SubmitKey};
use proptest::prelude::*;
use wire::attempt::End;
use wire::client::{Answer, Phase, Reason, Request};

use super::bench::{Bench, controller, draft, edit, ids, leaf, submission};
use crate::Config;

/// Activities side by side, each with what it takes of `l`; 0 is nothing.
fn side_by_side(units: &[u32], own: Option<u32>) -> Draft {
    let n_activities = units.len() as u32;
    let root = NodeKind::Parallel {
        children: ids(&(1..=n_activities).collect::<Vec<u32>>()),
        links: Vec::new(),
    };
    let mut nodes = vec![controller(root)];
    for (number, &n_units) in units.iter().enumerate() {
        let mut node = leaf(&format!("a{number}"));
        edit(&mut node, |activity| {
            activity.limits = (n_units > 0).then(|| vec![("l".to_owned(), n_units)]);
        });
        nodes.push(node);
    }
    let limits = own.map(|most| vec![("l".to_owned(), most)]);
    Draft {
        limits,
        ..draft(nodes)
    }
}

/// A manager with so many units of `l`, whose commands end when they are told to.
fn by_hand(most: u32) -> Bench {
    let config = Config {
        limits: BTreeMap::from([("l".to_owned(), most)]),
        ..Config::default()
    };
    let mut bench = Bench::of(config, |_| None);
    bench.slots = 8;
    bench.connect();
    bench
}

/// The attempts of a process that are out, as they are recorded.
fn out(bench: &Bench, key: SubmitKey) -> Vec<AttemptId> {
    let state = bench
        .drive
        .states()
        .get(crate::Stream::Process(key.process()));
    let process = state.and_then(|state| state.process());
    let out = process.into_iter().flat_map(|process| process.out());
    out.map(|(_, attempt)| attempt).collect()
}

fn units_out(bench: &Bench, key: SubmitKey, units: &[u32]) -> u32 {
    let out = out(bench, key).into_iter();
    out.map(|attempt| units[attempt.activity.node().index() - 1])
        .sum()
}

fn reasons(bench: &mut Bench, key: SubmitKey, activity: u32) -> Vec<Reason> {
    let why = bench.answer(Request::Why {
        process: key.process(),
        activity: ActivityId(activity),
    });
    let Answer::Why(why) = why else {
        panic!("{why:?}")
    };
    why.reasons
}

#[test]
fn an_activity_waits_for_a_limit_of_its_process_and_says_who_holds_it() {
    let mut bench = by_hand(1);
    let key = SubmitKey(1);
    bench.submit_as(submission(key, side_by_side(&[1, 1, 2, 0], Some(2))));
    let names = |bench: &Bench| -> Vec<u32> {
        let out = out(bench, key).into_iter();
        out.map(|attempt| attempt.activity.0).collect()
    };
    assert_eq!(names(&bench), [1, 2, 4]);
    let limit = Reason::Limit {
        name: "l".to_owned(),
        n_units: 2,
        most: 2,
        holders: vec![ActivityId(1), ActivityId(2)],
        n_others: 0,
    };
    assert_eq!(reasons(&mut bench, key, 3)[0], limit);
    let first = bench.attempt_of("a0");
    bench.end(first, End::Completed, 0, "");
    assert_eq!(names(&bench), [2, 4], "one unit is not enough");
    let second = bench.attempt_of("a1");
    bench.end(second, End::Completed, 0, "");
    assert_eq!(names(&bench), [3, 4]);
}

#[test]
fn a_limit_of_the_manager_is_shared_by_processes_and_missing_ones_are_refused() {
    let mut bench = by_hand(1);
    let (one, other) = (SubmitKey(1), SubmitKey(2));
    bench.submit_as(submission(one, side_by_side(&[1], None)));
    bench.submit_as(submission(other, side_by_side(&[1, 0], None)));
    assert_eq!((out(&bench, one).len(), out(&bench, other).len()), (1, 1));
    let limit = Reason::Limit {
        name: "l".to_owned(),
        n_units: 1,
        most: 1,
        holders: Vec::new(),
        n_others: 1,
    };
    assert_eq!(reasons(&mut bench, other, 1)[0], limit);
    let first = out(&bench, one)[0];
    bench.end(first, End::Completed, 0, "");
    assert_eq!(out(&bench, other).len(), 2, "whoever waits is woken");
    for (units, own, why) in [
        (
            2,
            None,
            "takes 2 of `l`, of which the process manager has 1",
        ),
        (1, Some("m"), "takes of the limit `m`"),
    ] {
        let mut draft = side_by_side(&[units], None);
        if let Some(name) = own {
            edit(&mut draft.nodes[1], |activity| {
                activity.limits = Some(vec![(name.to_owned(), 1)]);
            });
        }
        let submit = submission(SubmitKey(9), draft);
        let answer = bench.answer(Request::Submit(Box::new(submit)));
        let Answer::Refused(reasons) = answer else {
            panic!("{answer:?}")
        };
        assert!(reasons[0].contains(why), "{reasons:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_limit_is_exceeded_and_everything_completes(
        one in prop::collection::vec(0u32..3, 1..7),
        other in prop::collection::vec(0u32..3, 1..7),
        own in prop::option::of(2u32..4),
        most in 2u32..4,
        moves in prop::collection::vec(0usize..9, 0..30),
    ) {
        let mut bench = by_hand(most);
        let keys = [SubmitKey(1), SubmitKey(2)];
        bench.submit_as(submission(keys[0], side_by_side(&one, own)));
        bench.submit_as(submission(keys[1], side_by_side(&other, None)));
        // The remaining ones end in turn after the drawn moves.
        let moves = moves.into_iter().chain(std::iter::repeat_n(0, 20));
        for (number, pick) in moves.enumerate() {
            let units = [units_out(&bench, keys[0], &one), units_out(&bench, keys[1], &other)];
            match own {
                Some(own) => {
                    prop_assert!(units[0] <= own && units[1] <= most, "{units:?} in move {number}");
                }
                None => prop_assert!(units[0] + units[1] <= most, "{units:?} in move {number}"),
            }
            let all: Vec<AttemptId> = keys.iter().flat_map(|&key| out(&bench, key)).collect();
            match all.get(pick) {
                Some(&attempt) => {
                    bench.end(attempt, End::Completed, 0, "");
                }
                None if pick % 2 == 1 => bench.restart(),
                None => {}
            }
        }
        for key in keys {
            prop_assert_eq!(bench.status_of(key).summary.phase, Phase::Completed);
        }
    }
}

#[test]
fn a_process_claims_twice_the_slots_that_its_limits_let_it_use() {
    let mut bench = by_hand(2);
    let (narrow, wide) = (SubmitKey(1), SubmitKey(2));
    bench.submit_as(submission(narrow, side_by_side(&[1; 8], None)));
    assert_eq!(
        (out(&bench, narrow).len(), bench.slots_held(narrow)),
        (2, 4)
    );
    // The other slots are for others.
    bench.submit_as(submission(wide, side_by_side(&[0; 8], None)));
    assert_eq!(bench.slots_held(wide), 4);
    // Its own activities that wait for the limit are no reason to claim more.
    bench.pass(30);
    assert_eq!(bench.slots_held(narrow), 4);
}

#[test]
fn an_activity_that_needs_more_slots_than_a_limit_leaves_gets_them() {
    let mut bench = by_hand(1);
    let key = SubmitKey(1);
    let mut draft = side_by_side(&[1, 1], None);
    edit(&mut draft.nodes[2], |activity| activity.cores = 6);
    bench.submit_as(submission(key, draft));
    assert_eq!(out(&bench, key).len(), 1);
    assert!(bench.slots_held(key) >= 6, "{}", bench.slots_held(key));
}
