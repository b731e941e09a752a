//! A process that lets what runs finish after a fault, which is what it does where nothing else is said.

use super::*;
use model::{AttemptId, Retry, SubmitKey};
use wire::client::Submit;

const RERUN: SubmitKey = SubmitKey(78);

/// Its commands end by hand.
fn by_hand() -> Bench {
    let mut bench = Bench::new(|_| None);
    bench.slots = 3;
    bench
}

/// Three activities side by side, and one after the first.
fn wide() -> Draft {
    draft(vec![
        controller(NodeKind::Parallel {
            children: ids(&[1, 4, 5]),
            links: Vec::new(),
        }),
        controller(NodeKind::Sequence(ids(&[2, 3]))),
        leaf("a"),
        leaf("after"),
        leaf("b"),
        leaf("c"),
    ])
}

fn begin(bench: &mut Bench, attempt: AttemptId) {
    let started = Started {
        attempt,
        pid: 7,
        at: bench.now.wall,
    };
    bench.give(Input::Activity(
        MACHINE,
        FromActivity::Started(vec![started]),
    ));
}

/// Submits it, and the first three activities start.
fn running(bench: &mut Bench, draft: Draft) -> [AttemptId; 3] {
    bench.submit(draft);
    let all = ["a", "b", "c"].map(|name| bench.attempt_of(name));
    for attempt in all {
        begin(bench, attempt);
    }
    all
}

fn fault(bench: &mut Bench, attempt: AttemptId) {
    bench.end(attempt, failed(FaultName::ExitCode), 1, "");
}

fn finish(bench: &mut Bench, attempt: AttemptId) {
    bench.end(attempt, End::Completed, 0, "7\n");
}

#[test]
fn what_runs_ends_by_itself_and_nothing_more_starts() {
    let mut bench = by_hand();
    let [a, b, c] = running(&mut bench, wide());
    fault(&mut bench, a);
    bench.pass(30);
    assert_eq!(bench.asked_back, []);
    assert_eq!(bench.status().summary.phase, Phase::Faulting);
    let phases = bench.phases(KEY);
    assert_eq!(phases, ["faulted", "skipped", "running", "running"]);
    finish(&mut bench, b);
    finish(&mut bench, c);
    let phases = bench.phases(KEY);
    assert_eq!(phases, ["faulted", "skipped", "completed", "completed"]);
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Faulted);
    assert_eq!(status.on_fault, OnFault::Finish);
    assert_eq!(bench.started, ["a", "b", "c"]);

    // What finished stands for a rerun.
    bench.script = Box::new(well);
    bench.submit_as(Submit {
        base: Some(KEY.process()),
        ..submission(RERUN, wide())
    });
    bench.pass(10);
    assert_eq!(bench.started[3..], ["a", "after"]);
}

#[test]
fn what_was_sent_and_has_not_started_is_taken_back() {
    let mut bench = by_hand();
    bench.submit(wide());
    let [a, b, c] = ["a", "b", "c"].map(|name| bench.attempt_of(name));
    begin(&mut bench, a);
    begin(&mut bench, b);
    fault(&mut bench, a);
    bench.pass(1);
    assert!(bench.asked_back.contains(&c), "{:?}", bench.asked_back);
    assert!(!bench.asked_back.contains(&b), "{:?}", bench.asked_back);
    bench.held.remove(&c);
    bench.give(Input::Activity(MACHINE, FromActivity::Retracted(vec![c])));
    finish(&mut bench, b);
    let phases = bench.phases(KEY);
    assert_eq!(phases, ["faulted", "skipped", "completed", "stopped"]);
    assert_eq!(bench.status().summary.phase, Phase::Faulted);
}

#[test]
fn a_later_fault_is_told_too_and_is_not_tried_again() {
    let mut wide = wide();
    for node in [4, 5] {
        edit(&mut wide.nodes[node], |activity| {
            activity.retry = Retry {
                attempts: 5,
                ..Retry::default()
            };
        });
    }
    let mut bench = by_hand();
    let [a, b, c] = running(&mut bench, wide);
    fault(&mut bench, a);
    fault(&mut bench, b);
    finish(&mut bench, c);
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Faulted);
    let faults = status.faults.iter().map(|fault| fault.activity);
    assert_eq!(
        faults.collect::<Vec<_>>(),
        [Some(a.activity), Some(b.activity)]
    );
    assert_eq!(bench.started, ["a", "b", "c"]);
}

#[test]
fn it_goes_on_after_a_restart_and_is_stopped_when_it_is_cancelled() {
    let mut bench = by_hand();
    let [a, b, _] = running(&mut bench, wide());
    fault(&mut bench, a);
    bench.restart();
    bench.pass(5);
    assert_eq!(bench.status().summary.phase, Phase::Faulting);
    finish(&mut bench, b);
    let answer = bench.answer(Request::Cancel(KEY.process()));
    assert!(matches!(answer, Answer::Cancelling(_)), "{answer:?}");
    bench.pass(2);
    let phases = bench.phases(KEY);
    assert_eq!(phases, ["faulted", "skipped", "completed", "stopped"]);
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Cancelled);
    assert_eq!(status.faults.len(), 1);
}

#[test]
fn the_submission_goes_before_the_definition() {
    let mut stopping = wide();
    stopping.on_fault = Some(OnFault::Stop);
    let mut bench = by_hand();
    let [a, ..] = running(&mut bench, stopping.clone());
    assert_eq!(bench.status().on_fault, OnFault::Stop);
    fault(&mut bench, a);
    bench.pass(2);
    let phases = bench.phases(KEY);
    assert_eq!(phases, ["faulted", "skipped", "stopped", "stopped"]);

    bench.submit_as(Submit {
        on_fault: Some(OnFault::Continue),
        ..submission(RERUN, stopping)
    });
    assert_eq!(bench.status_of(RERUN).on_fault, OnFault::Continue);
}
