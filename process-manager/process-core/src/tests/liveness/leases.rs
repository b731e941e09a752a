//! Leases of earlier epochs, and of machines that count by other lengths.

use model::ResourceId;

use super::stage::*;
use crate::Input;

/// a1 runs on machine 0.
fn running() -> Stage {
    let mut stage = Stage::new(two(|_| {}));
    stage.runs(0, 1);
    stage.holds = vec![stage.attempt(1)];
    stage
}

/// Nothing more is heard of it.
fn silent() -> Stage {
    Stage {
        is_silent: true,
        ..running()
    }
}

#[test]
fn an_epoch_with_shorter_leases_waits_for_those_that_were_longer() {
    let mut stage = silent();
    stage.live_again(60);
    // Nobody was told of longer ones than those of ten seconds yet: these, a hundredth, half a second.
    assert_eq!(stage.sent_after(), 10_600);

    let mut stage = silent();
    stage.live_again(60);
    stage.live_again(5);
    assert_eq!(stage.sent_after(), 61_100);
}

#[test]
fn leases_of_the_epoch_before_the_last_one_are_waited_for_too() {
    let mut stage = silent();
    stage.live_again(60);
    stage.wait(1_000);
    stage.live_again(5);
    stage.wait(1_000);
    stage.live_again(5);
    assert_eq!(stage.sent_after(), 61_100);
}

#[test]
fn leases_that_have_ended_for_certain_are_not_waited_for_again() {
    let mut stage = running();
    stage.live_again(5);
    // Ten seconds, a hundredth and half a second of the epoch before.
    stage.renews(10_700);
    stage.is_silent = true;
    stage.live_again(5);
    // Five, a hundredth, half a second.
    assert_eq!(stage.sent_after(), 5_600);
}

#[test]
fn a_machine_that_does_not_know_of_lengths_is_waited_for_by_the_usual_one() {
    for (echoes, waits) in [(true, 5_600), (false, 10_600)] {
        let mut stage = running();
        stage.live_again(5);
        stage.renews(10_700);
        stage.echoes = echoes;
        // It attaches anew.
        stage.give(Input::ActivityDown(ResourceId::local(0)));
        stage.give(Input::ActivityUp(ResourceId::local(0)));
        stage.is_silent = true;
        assert_eq!(stage.sent_after(), waits, "{echoes}");
    }
}

#[test]
fn a_manager_that_stood_still_gives_machines_a_moment_to_come_back() {
    let is_sent = |stage: &mut Stage| stage.said().iter().any(|line| line.starts_with("r1 send"));
    let mut stage = silent();
    stage.said();
    stage.stand_still(60_000);
    assert!(!is_sent(&mut stage));
    assert_eq!(stage.sent_after(), 2_000);
    // Only once.
    let mut stage = silent();
    stage.said();
    stage.stand_still(60_000);
    assert!(!is_sent(&mut stage));
    stage.stand_still(60_000);
    assert!(is_sent(&mut stage));
    // Whoever has come back holds what it held.
    let mut stage = running();
    stage.stand_still(60_000);
    stage.give(Input::ActivityDown(ResourceId::local(0)));
    stage.give(Input::ActivityUp(ResourceId::local(0)));
    stage.renews(30_000);
    assert_eq!(stage.verdicts, []);
}
