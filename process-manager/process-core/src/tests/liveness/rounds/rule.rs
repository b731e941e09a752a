//! The rule of a group, for processes that name none.

use super::*;
use crate::tests::bench::GROUP;

/// A process of short activities, of which many are sent at once, on two machines at these parts of their powers, in a group with a rule.
fn play(rule: Option<Policy>, own: Option<Policy>, speeds: &'static [f64]) -> Play {
    let draft = Draft {
        policy: own,
        ..wide(20, 200)
    };
    let speed = |machine: u32, _: Span| speeds[machine as usize];
    Play::offered((BTreeMap::new(), rule), 2, draft, 200, speed)
}

/// The activities that were sent so far.
fn n_sent(play: &Play) -> usize {
    let known = play.process();
    let activities = known.definition().activities().iter();
    let sent = activities.filter(|&&activity| known.activity(activity).number > 0);
    sent.count()
}

#[test]
fn a_process_that_names_no_rule_has_that_of_its_group() {
    let mut rounds = play(Some(Policy::Rounds(4)), None, &[1.0, 1.0]);
    assert_eq!(n_sent(&rounds), 4);
    rounds.until_the_end(20);
    let mut still = play(Some(Policy::Static), None, &[0.2, 1.0]);
    assert_eq!(n_sent(&still), 20);
    still.until_the_end(20);
    assert_eq!(still.process().n_moves(), 0);
    // Without any, what has not started moves.
    let mut usual = play(None, None, &[0.2, 1.0]);
    usual.until_the_end(20);
    assert!(usual.process().n_moves() > 0);
}

#[test]
fn the_rule_that_a_process_names_counts() {
    let mut own = play(Some(Policy::Rounds(4)), Some(Policy::Xavantes), &[1.0, 1.0]);
    assert_eq!(n_sent(&own), 20);
    own.until_the_end(20);
    let rounds = play(Some(Policy::Static), Some(Policy::Rounds(4)), &[1.0, 1.0]);
    assert_eq!(n_sent(&rounds), 4);
}

#[test]
fn a_rule_out_of_bounds_is_none() {
    for n in [0, 1_001] {
        let odd = play(Some(Policy::Rounds(n)), None, &[1.0, 1.0]);
        assert_eq!(n_sent(&odd), 20);
    }
}

#[test]
fn a_group_that_is_away_keeps_its_rule() {
    let mut play = play(Some(Policy::Rounds(4)), None, &[1.0, 1.0]);
    play.stage.give(Input::GroupDown(GROUP));
    play.step();
    assert_eq!(n_sent(&play), 4);
    play.until_the_end(20);
}

#[test]
fn a_process_goes_on_by_the_rule_that_its_group_has_changed_to() {
    for (first, then) in [
        (Some(Policy::Rounds(4)), None),
        (None, Some(Policy::Rounds(4))),
        (Some(Policy::Adaptive), Some(Policy::Static)),
        (Some(Policy::Rounds(4)), Some(Policy::Adaptive)),
    ] {
        let mut play = play(first, None, &[0.5, 1.0]);
        while play.ended.len() < 5 {
            play.step();
        }
        play.stage.rule = then;
        play.stage.offer();
        let took = play.until_the_end(20);
        assert!(took < 4.2, "{first:?} {then:?}: {took}");
    }
    // What was held back goes with the next thing that happens.
    let mut play = play(Some(Policy::Rounds(10)), None, &[1.0, 1.0]);
    play.stage.rule = Some(Policy::Static);
    play.stage.offer();
    while play.ended.is_empty() {
        play.step();
    }
    assert_eq!(n_sent(&play), 20);
}
