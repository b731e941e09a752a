//! Activities of which several attempts are started at once.

use wire::client::{Answer, RaceCause, Raced, Reason};

use super::*;
use crate::tests::bench::submission;

/// Activities side by side that want so many attempts at once.
fn replicated(n: u32, replicas: u32) -> Draft {
    let mut draft = wide(n, 1_000);
    for node in &mut draft.nodes[1..] {
        edit(node, |activity| {
            activity.repeatable = true;
            activity.replicas = Some(replicas);
        });
    }
    draft
}

fn play(draft: Draft, speeds: &'static [f64]) -> Play {
    let speed = |machine: u32, _: Span| speeds[machine as usize];
    Play::among(speeds.len() as u32, draft, 1_000, speed)
}

/// The machines of the attempts that are out.
fn out(play: &Play) -> Vec<u32> {
    let out = play.process().out().map(|(place, _)| place.number);
    let mut out: Vec<u32> = out.collect();
    out.sort_unstable();
    out
}

fn race(play: &Play) -> Option<(RaceCause, Vec<Raced>)> {
    let Answer::Why(why) = crate::why(None, play.process(), ActivityId(1)) else {
        panic!("it is an activity");
    };
    why.reasons.into_iter().find_map(|reason| {
        let Reason::Race { cause, attempts } = reason else {
            return None;
        };
        Some((cause, attempts))
    })
}

#[test]
fn as_many_attempts_as_are_wanted_start_at_once_and_the_first_result_counts() {
    let mut play = play(replicated(1, 3), &[0.1, 0.2, 1.0, 1.0]);
    play.step();
    let there = out(&play);
    assert_eq!(there.len(), 3);
    assert!(there.windows(2).all(|two| two[0] != two[1]), "{there:?}");
    let (cause, attempts) = race(&play).expect("they run");
    assert_eq!(cause, RaceCause::Replicas(3));
    assert!(attempts.iter().all(|one| one.end.is_none() && !one.counts));
    let took = play.until_the_end(1);
    assert!(took <= 1.0, "{took}");
    for _ in 0..3 {
        play.step();
    }
    assert_eq!(out(&play).len(), 0);
    assert_eq!(play.n_stopped, 2);
    let (_, attempts) = race(&play).expect("they ran");
    let counted: Vec<&Raced> = attempts.iter().filter(|one| one.counts).collect();
    assert_eq!((attempts.len(), counted.len()), (3, 1));
    assert_eq!(counted[0].resource.number, play.ended[&ActivityId(1)]);
    let tally = play.tally();
    assert_eq!(tally.n_races, 2);
    assert_eq!(
        (tally.verdicts.n_completed, tally.verdicts.n_dropped),
        (1, 2)
    );
}

#[test]
fn there_are_no_more_attempts_than_machines() {
    let mut two = play(replicated(1, 4), &[1.0, 1.0]);
    two.step();
    assert_eq!(out(&two), [0, 1]);
    two.until_the_end(1);
    let mut one = play(replicated(1, 2), &[1.0]);
    one.step();
    assert_eq!(out(&one), [0]);
    one.until_the_end(1);
    assert_eq!(race(&one), None);
}

#[test]
fn replicas_take_no_slot_that_others_of_the_process_wait_for() {
    let mut play = play(replicated(7, 2), &[1.0, 1.0]);
    while play.ended.len() < 6 {
        play.step();
        let known = play.process();
        let is_new = |&&one: &&ActivityId| known.activity(one).number == 0;
        let activities = known.definition().activities();
        let n_new = activities.iter().filter(is_new).count();
        assert!(n_new == 0 || known.n_rivals() == 0, "{n_new}");
    }
    play.step();
    // The last one runs on both.
    assert_eq!(out(&play), [0, 1]);
    play.until_the_end(7);
}

#[test]
fn the_slot_of_a_replica_goes_to_another_process_that_waits_for_one() {
    let mut play = play(replicated(1, 2), &[0.01, 0.01]);
    play.step();
    assert_eq!(out(&play), [0, 1]);
    let other = model::SubmitKey(78);
    play.stage.free = 0;
    play.stage.offer();
    play.stage.submit(submission(other, wide(1, 1_000)));
    for _ in 0..400 {
        play.step();
    }
    assert_eq!(out(&play).len(), 1);
    assert_eq!(play.n_stopped, 1);
    let slots: u32 = play.process().grants().map(|grant| grant.slots).sum();
    assert_eq!(slots, 1);
}

#[test]
fn a_replica_that_fails_by_its_place_leaves_the_others_and_is_not_made_for_ever() {
    let mut play = play(replicated(1, 2), &[0.01, 0.01]);
    play.step();
    let key = |play: &Play| {
        let rivals = play.process().rivals(ActivityId(1));
        rivals
            .map(|(number, rival)| (number, rival.resource.number))
            .last()
    };
    let mut last = 0;
    while let Some((number, place)) = key(&play) {
        last = number;
        let attempt = AttemptId {
            process: KEY.process(),
            activity: ActivityId(1),
            number,
        };
        let outcome = Outcome {
            end: End::Lost,
            ..completed(attempt, Wall(0), Span::ZERO)
        };
        play.stage
            .hear(place, FromActivity::Outcomes(vec![outcome]));
        assert!(number < 20, "attempts without an end");
    }
    assert_eq!(last, 5);
    assert_eq!(out(&play).len(), 1);
}
