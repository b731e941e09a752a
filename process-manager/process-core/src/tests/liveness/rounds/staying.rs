//! Activities that have moved as often as they may stay.

use super::*;

/// The times that each activity was planned on another machine than before.
fn count(play: &mut Play, n: usize) -> BTreeMap<ActivityId, u32> {
    let mut moves: BTreeMap<ActivityId, u32> = BTreeMap::new();
    let mut places: BTreeMap<ActivityId, ResourceId> = BTreeMap::new();
    while play.ended.len() < n {
        for entry in &play.process().state.plan.entries {
            let before = places.insert(entry.activity, entry.resource);
            if before.is_some_and(|before| before != entry.resource) {
                *moves.entry(entry.activity).or_default() += 1;
            }
        }
        play.step();
        assert!(play.passed < Span::from_secs(600), "{:?}", play.ended);
    }
    moves
}

#[test]
fn no_activity_moves_more_than_twice_where_machines_get_slow_in_turn() {
    // Each machine has a quarter of its power for three seconds, one after the other.
    let in_turn = |machine: u32, at: Span| match at.0 / 3_000_000 % 3 == u64::from(machine) {
        true => 0.25,
        false => 1.0,
    };
    let mut play = Play::among(3, wide(120, 300), 300, in_turn);
    let moves = count(&mut play, 120);
    let most = moves.values().max().copied().unwrap_or(0);
    assert_eq!(most, 2, "{moves:?}");
    // The published rules move as often as they say.
    let adaptive = Draft {
        policy: Some(Policy::Adaptive),
        ..wide(120, 300)
    };
    let mut play = Play::among(3, adaptive, 300, in_turn);
    let moves = count(&mut play, 120);
    let most = moves.values().max().copied().unwrap_or(0);
    assert!(most > 2, "{moves:?}");
}

#[test]
fn what_has_moved_twice_leaves_a_machine_that_stands_still() {
    // Slow in turn, and then one of them stands still for ever.
    let stops = |machine: u32, at: Span| match at < Span::from_secs(9) {
        true if at.0 / 3_000_000 % 3 == u64::from(machine) => 0.25,
        true => 1.0,
        false => f64::from(machine != 2),
    };
    let mut play = Play::among(3, wide(120, 300), 300, stops);
    while play.ended.len() < 119 {
        play.step();
        assert!(play.passed < Span::from_secs(60), "{:?}", play.ended);
    }
    let left = play.running.get(&2).map(|(attempt, ..)| attempt.activity);
    assert!(left.is_some_and(|left| !play.ended.contains_key(&left)));
}

#[test]
fn short_activities_are_sent_as_far_as_they_start_within_two_seconds() {
    for (millis, n_sent) in [(300, 14), (900, 6), (20, 60)] {
        let play = Play::new(wide(60, millis), millis, |_, _| 1.0);
        let known = play.process();
        let activities = known.definition().activities().iter();
        let sent = activities.filter(|&&activity| known.activity(activity).number > 0);
        assert_eq!(sent.count(), n_sent, "{millis}");
    }
}
