//! Rounds of a fixed number and of an extent of their own: what is sent at once, and what moves after a slow one.

use std::collections::BTreeSet;

use wire::client::Reason;

use super::*;

fn with_policy(draft: Draft, policy: Policy) -> Draft {
    Draft {
        policy: Some(policy),
        ..draft
    }
}

/// A process whose machines run at these parts of their powers.
fn play(policy: Policy, draft: Draft, millis: u64, speeds: &'static [f64]) -> Play {
    let speed = |machine: u32, _: Span| speeds[machine as usize];
    Play::among(
        speeds.len() as u32,
        with_policy(draft, policy),
        millis,
        speed,
    )
}

/// The activities that were sent to each machine so far, as the process knows.
fn sent(play: &Play) -> Vec<usize> {
    let known = play.process();
    let mut sent = vec![0; play.n_machines as usize];
    for &activity in known.definition().activities() {
        let state = known.activity(activity);
        if state.number > 0 {
            sent[state.resource.number as usize] += 1;
        }
    }
    sent
}

/// The activities that had been sent to the first machine each time that another one had ended there.
fn sent_as_they_end(play: &mut Play, n: usize) -> Vec<usize> {
    let mut seen = vec![sent(play)[0]];
    while play.ended.len() < n {
        play.step();
        let ended = play.ended.values().filter(|&&machine| machine == 0).count();
        seen.resize(seen.len().max(ended + 1), sent(play)[0]);
    }
    seen
}

#[test]
fn a_machine_gets_its_part_of_the_plan_in_so_many_rounds() {
    // Ten on each of two machines. The next round is sent when the last activity but one of a round has ended.
    let mut three = play(Policy::Rounds(3), wide(20, 200), 200, &[1.0, 1.0]);
    let seen = sent_as_they_end(&mut three, 20);
    assert_eq!(seen, [3, 3, 6, 6, 6, 10, 10, 10, 10, 10, 10]);
    assert_eq!(three.process().n_moves(), 0);
    // A round of one activity would leave its machine idle.
    let mut many = play(Policy::Rounds(1_000), wide(20, 200), 200, &[1.0, 1.0]);
    let seen = sent_as_they_end(&mut many, 20);
    assert_eq!(seen, [2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10]);
    let mut one = play(Policy::Rounds(1), wide(20, 200), 200, &[1.0, 1.0]);
    assert_eq!(sent_as_they_end(&mut one, 20), [10; 11]);
}

#[test]
fn rounds_with_an_extent_begin_with_one_activity_and_grow_while_machines_are_as_planned() {
    let mut adaptive = play(Policy::Adaptive, wide(120, 200), 200, &[1.0, 1.0]);
    let seen = sent_as_they_end(&mut adaptive, 120);
    // ET grows by a twentieth of each round: after twenty of them it is twice the mean.
    assert_eq!(seen[..4], [1, 2, 3, 4]);
    assert_eq!(seen[19..25], [20, 22, 22, 24, 24, 26]);
    assert_eq!(adaptive.process().n_moves(), 0);
    let (took, least) = (adaptive.passed.seconds(), 60.0 * 0.2);
    assert!(took < least + 0.2, "{took}");
}

#[test]
fn after_a_slow_round_what_has_not_started_there_goes_elsewhere() {
    let still = play(Policy::Static, wide(80, 500), 500, &[0.25, 1.0, 1.0, 1.0]).until_the_end(80);
    for policy in [Policy::Rounds(2), Policy::Rounds(10), Policy::Adaptive] {
        let mut play = play(policy, wide(80, 500), 500, &[0.25, 1.0, 1.0, 1.0]);
        let before = play.process().state.plan.clone();
        while play.process().n_moves() == 0 {
            play.step();
        }
        let known = play.process();
        let why = known.moves().next().unwrap();
        assert_eq!((why.resource.number, why.cause), (0, Cause::Power));
        // No damping: the power of the round alone.
        assert!((240..260).contains(&why.per_mille), "{policy}: {why:?}");
        let moved = moved(&before, &known.state.plan);
        assert!(!moved.is_empty());
        assert!(moved.iter().all(|(from, _)| from.number == 0), "{moved:?}");
        let took = play.until_the_end(80);
        assert!(took < 0.8 * still, "{policy}: {took} {still}");
        let known = play.process();
        let activities = known.definition().activities().iter();
        let is_whole = |&one: &ActivityId| known.activity(one).n_lost == 0;
        assert!(activities.clone().all(is_whole), "nothing ran twice");
    }
}

#[test]
fn a_plan_is_kept_though_it_saves_nothing() {
    // The last machine has become faster again: plans are made for what has passed.
    let mut play = Play::among(
        2,
        with_policy(wide(40, 500), Policy::Adaptive),
        500,
        |machine, at| match (machine, at.0 / 3_000_000 % 2) {
            (0, 0) => 0.6,
            _ => 1.0,
        },
    );
    play.until_the_end(40);
    let known = play.process();
    assert!(known.n_moves() > 0);
    let tally = play.tally();
    assert_eq!(
        tally.n_rescheduled,
        tally.n_asked_to_move - tally.n_not_worth
    );
}

#[test]
fn rounds_that_wait_for_each_other_go_on() {
    for policy in [
        Policy::Rounds(1),
        Policy::Rounds(3),
        Policy::Rounds(50),
        Policy::Adaptive,
    ] {
        for speeds in [&[1.0, 1.0, 1.0], &[0.2, 1.0, 0.7]] {
            let mut play = play(policy, gathers(30), 1_000, speeds);
            play.until_the_end(32);
        }
    }
}

#[test]
fn rounds_go_on_where_no_plan_can_be_made_for_a_slow_one() {
    let mut play = play(Policy::Rounds(4), wide(40, 500), 500, &[0.25, 1.0]);
    play.step();
    // The other machine is not offered any more, and the process still holds its slot.
    play.stage.machines = vec![0];
    play.stage.offer();
    play.until_the_end(40);
    assert_eq!(play.process().n_moves(), 0);
}

#[test]
fn nothing_is_held_back_where_nothing_can_be_judged() {
    let unknown = || {
        let mut unknown = wide(40, 200);
        for node in &mut unknown.nodes[1..] {
            edit(node, |activity| activity.work = None);
        }
        unknown
    };
    let first = sent(&play(Policy::Static, unknown(), 200, &[1.0, 1.0]));
    assert_eq!(
        sent(&play(Policy::Adaptive, unknown(), 200, &[1.0, 1.0])),
        first
    );
    assert_eq!(
        sent(&play(Policy::Rounds(8), unknown(), 200, &[1.0, 1.0])),
        first
    );
    // There is nowhere to go from a single machine.
    let alone = sent(&play(Policy::Static, wide(40, 200), 200, &[1.0]));
    assert_eq!(
        sent(&play(Policy::Rounds(8), wide(40, 200), 200, &[1.0])),
        alone
    );
}

#[test]
fn a_restart_goes_on_with_the_round_that_the_plan_is_in() {
    for (policy, n_sent) in [(Policy::Rounds(4), 15), (Policy::Adaptive, 12)] {
        let mut play = play(policy, wide(40, 200), 200, &[1.0, 1.0]);
        while play.ended.len() < 22 {
            play.step();
        }
        play.stage.holds = play.running.values().map(|one| one.0).collect();
        let queued = play.queues.values().flatten().copied();
        play.stage.holds.extend(queued);
        play.stage.live_again(10);
        play.step();
        assert!(
            sent(&play)[0].abs_diff(n_sent) <= 1,
            "{policy}: {:?}",
            sent(&play)
        );
    }
}

#[test]
fn what_may_run_twice_is_not_raced_by_the_published_rules() {
    let stalls = |machine: u32, at: Span| f64::from(machine == 1 || at > Span::from_secs(14));
    let mut repeatable = with_policy(wide(6, 1_000), Policy::Adaptive);
    for node in &mut repeatable.nodes[1..] {
        edit(node, |activity| activity.repeatable = true);
    }
    let mut play = Play::new(repeatable, 1_000, stalls);
    play.until_the_end(6);
    assert_eq!(play.tally().n_races, 0);
}

#[test]
fn the_round_that_an_activity_waits_for_is_told() {
    // Three of the ten on each of two machines are in its first round.
    for (policy, n_rounds, n_given) in
        [(Policy::Rounds(3), Some(3), 3), (Policy::Adaptive, None, 1)]
    {
        let mut play = play(policy, wide(20, 200), 200, &[1.0, 1.0]);
        let told = |play: &mut Play| {
            let planned = play.process().state.plan.entries.clone();
            let there = planned.iter().filter(|entry| entry.resource.number == 0);
            let mut there: Vec<(Span, ActivityId)> =
                there.map(|entry| (entry.start, entry.activity)).collect();
            there.sort_unstable();
            let mut reasons = Vec::new();
            for (_, activity) in there {
                reasons.push((activity, play.stage.why(activity)));
            }
            reasons
        };
        let reasons = told(&mut play);
        let (given, held): (Vec<_>, Vec<_>) = reasons
            .into_iter()
            .partition(|(_, reasons)| !matches!(reasons.first(), Some(Reason::Round(_))));
        assert_eq!((given.len(), held.len()), (n_given, 10 - n_given));
        let given: BTreeSet<ActivityId> = given.into_iter().map(|(one, _)| one).collect();
        for (before, (_, reasons)) in held.iter().enumerate() {
            let [Reason::Round(later)] = &reasons[..] else {
                panic!("{reasons:?}");
            };
            let at = (later.resource.number, later.round, later.n_rounds);
            assert_eq!(at, (0, 1, n_rounds));
            let left: BTreeSet<ActivityId> = later.left.iter().copied().collect();
            assert_eq!(left, given);
            let counts = (later.n_left as usize, later.n_before as usize);
            assert_eq!(counts, (n_given, before));
            assert!(!later.awaits_plan);
        }
        play.until_the_end(20);
        let is_held =
            |reasons: &[Reason]| reasons.iter().any(|one| matches!(one, Reason::Round(_)));
        assert!(told(&mut play).iter().all(|(_, reasons)| !is_held(reasons)));
    }
}
