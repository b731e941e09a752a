//! A process that holds one machine, which stands still.

use super::*;
use crate::tests::liveness::stage::Claims;

/// An activity of a second that may run twice, or not; its machine stands still for a minute after 0.3 s.
fn play(is_repeatable: bool) -> Play {
    let mut draft = wide(1, 1_000);
    edit(&mut draft.nodes[1], |activity| {
        activity.repeatable = is_repeatable;
    });
    let stalls = |machine: u32, at: Span| {
        let stands = Span::from_millis(300)..Span::from_secs(60);
        f64::from(machine == 1 || !stands.contains(&at))
    };
    Play::new(draft, 1_000, stalls)
}

/// The slots that the process holds.
fn n_held(play: &Play) -> u32 {
    play.process().grants().map(|grant| grant.slots).sum()
}

/// Steps until the process holds one slot again: what an attempt uses that is being stopped is looked at each second.
fn gives_back(play: &mut Play) {
    for _ in 0..70 {
        if n_held(play) == 1 {
            return;
        }
        play.step();
    }
    panic!("{} slots are held", n_held(play));
}

#[test]
fn a_slot_is_claimed_elsewhere_for_what_takes_far_too_long_and_may_run_twice() {
    let mut play = play(true);
    play.step();
    assert_eq!(n_held(&play), 1);
    let took = play.until_the_end(1);
    assert_eq!(play.ended[&ActivityId(1)], 1);
    assert!(took < 5.0, "{took}");
    // Claimed machines have names.
    let known = play.process();
    let named = known.state.machines.iter().map(|(_, name)| name.as_str());
    assert_eq!(named.collect::<Vec<&str>>(), ["m0", "m1"]);
    play.step();
    play.step();
    assert_eq!(play.n_stopped, 1);
    let tally = play.tally();
    assert_eq!((tally.n_races, tally.n_won_by_second), (1, 1));
}

#[test]
fn nothing_is_claimed_for_what_may_not_run_twice() {
    let mut play = play(false);
    for _ in 0..400 {
        play.step();
        assert_eq!(n_held(&play), 1);
    }
    play.until_the_end(1);
    assert_eq!(play.tally().n_races, 0);
}

#[test]
fn nothing_is_claimed_where_no_slot_is_free() {
    let mut play = play(true);
    play.step();
    play.stage.free = 0;
    play.stage.offer();
    for _ in 0..400 {
        play.step();
        assert_eq!(n_held(&play), 1);
    }
    // Once there is one, the race begins.
    play.stage.free = 1;
    play.stage.offer();
    let took = play.until_the_end(1);
    assert!((20.0..24.0).contains(&took), "{took}");
    assert_eq!(play.ended[&ActivityId(1)], 1);
}

#[test]
fn the_slot_of_a_race_goes_to_another_process_that_waits_for_one() {
    let mut play = play(true);
    while n_held(&play) < 2 {
        play.step();
    }
    // It runs.
    play.step();
    play.step();
    play.stage.free = 0;
    play.stage.offer();
    play.stage
        .submit(submission(model::SubmitKey(78), wide(1, 1_000)));
    gives_back(&mut play);
    assert_eq!(play.n_stopped, 1);
}

#[test]
fn claims_that_are_refused_become_rare() {
    let mut play = play(true);
    play.step();
    play.stage.claims = Claims::Refused;
    let before = play.stage.n_claims;
    let took = play.until_the_end(1);
    assert!((60.0..62.0).contains(&took), "{took}");
    // After 2 s, and then 1, 2, 4, 8, 16 and 32 s later.
    let n_claims = play.stage.n_claims - before;
    assert!((4..=7).contains(&n_claims), "{n_claims}");
    assert_eq!(play.tally().n_races, 0);
}

#[test]
fn a_group_that_does_not_answer_holds_up_nothing() {
    let mut play = play(true);
    play.step();
    play.stage.claims = Claims::Unanswered;
    let took = play.until_the_end(1);
    assert!((60.0..62.0).contains(&took), "{took}");
    assert_eq!(play.tally().n_races, 0);
}

#[test]
fn the_slot_of_a_race_goes_back_when_the_race_is_over() {
    let mut nodes = vec![controller(NodeKind::Sequence(ids(&[1, 2, 3, 4, 5, 6])))];
    for name in ["a1", "a2", "a3", "a4", "a5", "a6"] {
        let mut node = leaf(name);
        edit(&mut node, |activity| {
            activity.work = Some(Work(1_000_000));
            activity.repeatable = true;
        });
        nodes.push(node);
    }
    let stalls = |machine: u32, at: Span| {
        let stands = Span::from_millis(300)..Span::from_secs(5);
        f64::from(machine == 1 || !stands.contains(&at))
    };
    let mut play = Play::new(draft(nodes), 1_000, stalls);
    while play.ended.is_empty() {
        play.step();
    }
    assert_eq!((n_held(&play), play.tally().n_races), (2, 1));
    play.stage.free = 0;
    play.stage.offer();
    let other = submission(model::SubmitKey(78), wide(1, 1_000));
    play.stage.submit(other);
    gives_back(&mut play);
    play.until_the_end(6);
    assert_eq!(play.tally().n_races, 1);
}
