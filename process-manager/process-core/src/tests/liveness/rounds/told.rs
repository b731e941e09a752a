//! What users are told of activities that moved.

use model::{ActivityId, Span};
use wire::client::{Answer, MovedBy};

use super::{Play, wide};
use crate::process::Process;

/// The moves that `xav why` tells.
fn told(known: &Process, activity: ActivityId) -> (Vec<MovedBy>, u32) {
    let Answer::Why(why) = crate::why(None, known, activity) else {
        panic!("{activity} is explained");
    };
    (why.moves, why.n_moves)
}

#[test]
fn an_activity_that_moved_tells_from_where_to_where_and_why_after_a_restart_too() {
    let slow = |machine: u32, _: Span| if machine == 0 { 0.25 } else { 1.0 };
    let mut play = Play::new(wide(20, 500), 500, slow);
    let before = play.process().state.plan.clone();
    while play.process().n_moves() == 0 {
        play.step();
    }
    let known = play.process();
    let why = known.moves().last().expect("something has moved").clone();
    let mut moves = Vec::new();
    for entry in &known.state.plan.entries {
        let from = before.entry(entry.activity).unwrap().resource;
        let of_it = told(known, entry.activity);
        moves.push((entry.activity, of_it.clone()));
        if from == entry.resource {
            assert_eq!(of_it, (Vec::new(), 0));
            continue;
        }
        let without_routes = crate::record::Rescheduled {
            routes: None,
            ..why.clone()
        };
        let one = MovedBy {
            from,
            to: entry.resource,
            plan: (&without_routes).into(),
        };
        assert_eq!(of_it, (vec![one], 1));
        // Activities that wait take few bytes, although there is something to tell of them.
        let state = known.activity(entry.activity);
        assert!(state.number > 0 || state.open_details().is_none());
    }
    let n_moved = moves.iter().filter(|(_, (_, n))| *n > 0).count();
    assert_eq!(n_moved, why.n_moved as usize);
    assert!(n_moved > 0 && why.expected == Some(1_000) && why.per_mille < 1_000);
    play.stage.live_again(10);
    for (activity, before) in moves {
        assert_eq!(told(play.process(), activity), before);
    }
}

#[test]
fn a_plan_that_does_not_pay_is_told_until_another_one_does() {
    let slow = |machine: u32, _: Span| if machine == 0 { 0.3 } else { 1.0 };
    let mut play = Play::new(wide(4, 1_000), 1_000, slow);
    let declined = |play: &mut Play| play.stage.why_whole().declined;
    let told = loop {
        play.step();
        if let Some(told) = declined(&mut play) {
            break told;
        }
        assert_eq!(play.tally().n_not_worth, 0, "at {}", play.passed);
    };
    assert_eq!((told.resource.number, told.n_moved), (0, 0));
    assert!(told.per_mille < 1_000 && told.expected == Some(1_000));
    assert_eq!(told.before, told.after);
    while let Some(still) = declined(&mut play) {
        assert_eq!(still, told);
        play.step();
    }
    let n_not_worth = play.tally().n_not_worth;
    while play.process().n_moves() == 0 {
        play.step();
        assert_eq!(declined(&mut play), None);
    }
    assert_eq!(play.tally().n_not_worth, n_not_worth);
}

#[test]
fn a_plan_that_does_not_pay_is_told_until_its_machine_is_as_planned() {
    let slow = |machine: u32, at: Span| match machine {
        0 if at < Span::from_secs(4) => 0.6,
        _ => 1.0,
    };
    let mut play = Play::new(wide(12, 1_000), 1_000, slow);
    while play.stage.why_whole().declined.is_none() {
        play.step();
    }
    let n_asked = play.tally().n_asked_to_move;
    while play.stage.why_whole().declined.is_some() {
        play.step();
    }
    assert_eq!(play.tally().n_asked_to_move, n_asked);
    assert!(play.ended.len() < 12);
}
