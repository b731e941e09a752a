//! The parameters of the published rules: those of a process, and those of its group.

use model::{Part, Tuning};

use super::*;

fn threshold(thousandths: u32) -> Option<Tuning> {
    Some(Tuning {
        threshold: Some(Part(thousandths)),
        reward: None,
    })
}

fn reward(thousandths: u32) -> Option<Tuning> {
    Some(Tuning {
        threshold: None,
        reward: Some(Part(thousandths)),
    })
}

/// A process of 40 activities with its own parameters, in a group with others, whose first machine takes a quarter longer
/// than planned.
fn late(policy: Policy, own: Option<Tuning>, of_group: Option<Tuning>) -> Play {
    let draft = Draft {
        policy: Some(policy),
        tuning: own,
        ..wide(40, 500)
    };
    let speeds = |machine: u32, _: Span| if machine == 0 { 0.8 } else { 1.0 };
    let mut play = Play::new(draft, 500, speeds);
    play.stage.tuning = of_group;
    play.stage.offer();
    play.until_the_end(40);
    play
}

#[test]
fn a_round_may_be_late_by_the_threshold_of_its_process_or_else_of_its_group() {
    for policy in [Policy::Rounds(4), Policy::Adaptive] {
        let moves = |own, of_group| late(policy, own, of_group).process().n_moves();
        assert!(moves(None, None) > 0);
        assert!(moves(threshold(200), None) > 0);
        assert_eq!(moves(threshold(300), None), 0);
        assert_eq!(moves(None, threshold(300)), 0);
        assert!(moves(threshold(200), threshold(300)) > 0);
        // One out of bounds is none.
        assert!(moves(None, threshold(100_001)) > 0);
    }
    // What a process does not name is that of its group.
    let both = late(Policy::Adaptive, reward(100), threshold(300));
    assert_eq!(both.process().n_moves(), 0);
}

#[test]
fn a_threshold_is_of_no_use_to_a_rule_without_rounds() {
    let moves = |policy| late(policy, None, threshold(0)).process().n_moves();
    assert_eq!(moves(Policy::Static), 0);
    let usual = late(Policy::Xavantes, None, None).process().n_moves();
    assert_eq!(moves(Policy::Xavantes), usual);
}

#[test]
fn rounds_grow_by_the_reward() {
    let sent = |own: Option<Tuning>, of_group: Option<Tuning>| {
        let draft = Draft {
            policy: Some(Policy::Adaptive),
            tuning: own,
            ..wide(120, 200)
        };
        let mut play = Play::new(draft, 200, |_, _| 1.0);
        play.stage.tuning = of_group;
        play.stage.offer();
        while play.ended.len() < 40 {
            play.step();
        }
        let known = play.process();
        let activities = known.definition().activities().iter();
        let sent = activities.filter(|&&activity| known.activity(activity).number > 0);
        sent.count()
    };
    // Without a reward, each machine has one more activity than those that have ended there.
    assert_eq!(sent(reward(0), None), 42);
    let usual = sent(None, None);
    assert!(usual > 42, "{usual}");
    assert!(sent(reward(500), None) > usual);
    assert_eq!(sent(None, reward(500)), sent(reward(500), None));
    assert_eq!(sent(reward(0), reward(500)), 42);
}
