//! Races: a second attempt beside the first, of which the first result counts.

use super::*;
use crate::process::packed::Packed;

/// `a` is out on the first machine as attempt 1, and on the second as attempt 2.
fn raced() -> (Bench, Attempts, Others) {
    let (mut bench, mut attempts, others) = sent();
    race(&mut bench, &mut attempts, &others, 1);
    assert_eq!(dispatched(&mut bench), [(SECOND, second())]);
    (bench, attempts, others)
}

fn race(bench: &mut Bench, attempts: &mut Attempts, others: &Others, activity: u32) {
    let mut slice = Turns::default().slice(bench.now, ID);
    let place = (ID, SECOND);
    let activity = ActivityId(activity);
    attempts.race(
        &mut bench.step(),
        others.grid(),
        place,
        activity,
        &mut slice,
    );
}

fn first() -> AttemptId {
    attempt(1, 1)
}

fn second() -> AttemptId {
    attempt(1, 2)
}

fn report(
    (bench, attempts, others): &mut (Bench, Attempts, Others),
    at: ResourceId,
    attempt: AttemptId,
    end: End,
) {
    let outcome = Outcome {
        started: Wall(5),
        wall: Span::from_secs(1),
        ..outcome(attempt, end)
    };
    attempts.on_outcomes(&mut bench.step(), others.grid(), at, vec![outcome]);
    // A restart finds the same.
    let known = bench.process();
    let packed = Packed::new(known, None);
    assert_eq!(packed.process().state, known.state);
    assert_eq!(packed.process().index, known.index);
}

fn failed(name: FaultName) -> End {
    End::Failed(Box::new(Failure {
        name,
        message: "it did not go well".to_owned(),
        directory: String::new(),
        stderr_tail: String::new(),
    }))
}

fn verdicts(bench: &Bench) -> Vec<Verdict> {
    let ended = bench.paper.events.iter().filter_map(|(_, event)| {
        let Event::Ended(ended) = event else {
            return None;
        };
        Some(ended.verdict.clone())
    });
    ended.collect()
}

fn out(bench: &Bench) -> Vec<(ResourceId, AttemptId)> {
    let out = bench.process().out();
    out.filter(|(_, one)| one.activity == ActivityId(1))
        .collect()
}

#[test]
fn the_first_result_counts_and_the_loser_is_out_until_its_machine_has_stopped_it() {
    for (winner, loser, at, place) in [
        (second(), first(), SECOND, FIRST),
        (first(), second(), FIRST, SECOND),
    ] {
        let mut race = raced();
        report(&mut race, at, winner, End::Completed);
        assert_eq!(phase(&race.0, 1), ActivityPhase::Completed);
        let known = race.0.process();
        assert_eq!(known.activity(ActivityId(1)).resource, at);
        assert_eq!(known.holder_of(ActivityId(1)), at);
        assert_eq!(out(&race.0), [(place, loser)]);
        assert!(known.has_lost(loser) && known.has_leftovers());
        assert_eq!(known.totals().completed, 1);
        let stopped: Vec<_> = known.to_be_stopped().collect();
        assert_eq!(stopped, [(place, loser)]);
        // Both have completed: the second one changes nothing.
        report(&mut race, place, loser, End::Completed);
        let (bench, ..) = &race;
        assert_eq!(
            verdicts(bench),
            [Verdict::Completed, Verdict::Dropped(None)]
        );
        assert_eq!(bench.process().activity(ActivityId(1)).resource, at);
        assert_eq!(out(bench), []);
        assert!(bench.process().state.rivals.is_none());
        let shown = bench.process().attempts(ActivityId(1));
        let ends = shown.iter().map(|one| one.end.as_deref().unwrap());
        assert_eq!(ends.collect::<Vec<_>>(), ["too late", "completed"]);
        assert_eq!(shown[1].attempt, winner);
        assert_eq!(bench.process().next_number(ActivityId(1)), 3);
    }
}

#[test]
fn an_attempt_that_nobody_has_heard_of_is_sent_again_until_another_one_has_won() {
    let mut race = raced();
    let repeat = |(bench, attempts, others): &mut (Bench, Attempts, Others)| {
        attempts.repeat_unacknowledged(&mut bench.step(), others.grid(), ID, FIRST);
        dispatched(bench)
    };
    assert_eq!(repeat(&mut race), [(FIRST, first())]);
    report(&mut race, SECOND, second(), End::Completed);
    assert!(race.0.process().has_lost(first()));
    dispatched(&mut race.0);
    assert_eq!(repeat(&mut race), []);
}

#[test]
fn the_other_attempt_goes_on_where_one_is_lost_or_fails_by_its_place() {
    let ends = [
        End::Lost,
        End::Stopped,
        End::Lacking(vec![0]),
        failed(FaultName::Timeout),
        failed(FaultName::Staging),
        // A retry covers it.
        failed(FaultName::ExitCode),
    ];
    for end in ends {
        for (one, at, other, place) in [
            (first(), FIRST, second(), SECOND),
            (second(), SECOND, first(), FIRST),
        ] {
            let mut race = raced();
            report(&mut race, at, one, end.clone());
            assert_eq!(phase(&race.0, 1), ActivityPhase::Sent, "{end:?}");
            assert_eq!(out(&race.0), [(place, other)]);
            assert!(!race.0.process().is_racing(other));
            let state = race.0.process().activity(ActivityId(1));
            assert_eq!((state.number, state.resource), (other.number, place));
            report(&mut race, place, other, End::Completed);
            assert_eq!(phase(&race.0, 1), ActivityPhase::Completed);
        }
    }
}

#[test]
fn an_exit_status_that_no_retry_covers_is_a_result() {
    let mut a = pair();
    edit(&mut a.nodes[1], |activity| activity.retry.attempts = 1);
    let (mut bench, mut attempts, others) = bench(a);
    bench.plan(&[(1, FIRST), (2, SECOND)]);
    send(&mut bench, &mut attempts, &others);
    race(&mut bench, &mut attempts, &others, 1);
    let mut raced = (bench, attempts, others);
    report(&mut raced, SECOND, second(), failed(FaultName::ExitCode));
    assert_eq!(phase(&raced.0, 1), ActivityPhase::Faulted);
    assert!(raced.0.process().has_lost(first()));
    report(&mut raced, FIRST, first(), End::Completed);
    assert_eq!(phase(&raced.0, 1), ActivityPhase::Faulted);
    assert_eq!(out(&raced.0), []);
}

#[test]
fn numbers_of_attempts_are_never_given_twice() {
    let mut race = raced();
    report(&mut race, SECOND, second(), End::Lost);
    report(&mut race, FIRST, first(), End::Lost);
    let (mut bench, mut attempts, others) = race;
    dispatched(&mut bench);
    send(&mut bench, &mut attempts, &others);
    assert_eq!(dispatched(&mut bench), [(FIRST, attempt(1, 3))]);
}

#[test]
fn an_activity_that_may_not_run_twice_has_no_rival() {
    let (mut bench, mut attempts, others) = sent();
    race(&mut bench, &mut attempts, &others, 2);
    assert_eq!(dispatched(&mut bench), []);
    assert_eq!(bench.process().n_rivals(), 0);
}

#[test]
fn a_suspect_machine_loses_the_first_attempt_but_keeps_a_loser_until_its_lease_ends() {
    let (mut bench, mut attempts, others) = raced();
    assert_eq!(attempts.repeatable_at(&bench.step(), FIRST), [first()]);
    let mut race = {
        attempts.lose(&mut bench.step(), FIRST, &[first()], Gone::Doubled);
        (bench, attempts, others)
    };
    assert_eq!(out(&race.0), [(SECOND, second())]);
    report(&mut race, SECOND, second(), End::Completed);
    let (mut bench, mut attempts, others) = raced();
    let outcome = outcome(second(), End::Completed);
    attempts.on_outcomes(&mut bench.step(), others.grid(), SECOND, vec![outcome]);
    assert_eq!(attempts.repeatable_at(&bench.step(), FIRST), []);
    attempts.lose(&mut bench.step(), FIRST, &[first()], Gone::GivenUp);
    assert_eq!(out(&bench), []);
    assert_eq!(phase(&bench, 1), ActivityPhase::Completed);
}
