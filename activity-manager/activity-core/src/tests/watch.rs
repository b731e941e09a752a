//! The executor's answers, and the consequences of its silence.

use model::Epoch;
use wire::attempt::ToActivity;
use wire::executor::FromExecutor;

use super::bench::{Bench, dispatch, from_pm, hello, id, job, show, staged};
use crate::{Effect, Input};

/// The effects about the executor's answers, and the slots that the group is told.
fn about_answers(effects: &[Effect]) -> String {
    let text = show(effects);
    let words = ["ping", "silent", "end the executor", "slots=", "start"];
    let lines = text
        .lines()
        .filter(|line| words.iter().any(|word| line.contains(word)));
    lines.collect::<Vec<_>>().join(", ")
}

fn pong(number: u64) -> Input {
    Input::Executor(FromExecutor::Pong(number))
}

fn renewed(number: u32) -> Input {
    from_pm(ToActivity::Renewed {
        epoch: Epoch(2),
        number,
        keeps: Vec::new(),
    })
}

#[test]
fn executor_that_does_not_answer_is_not_lent_and_is_ended_before_its_leases() {
    let mut bench = Bench::watched(2);
    assert_eq!(about_answers(&bench.wait(1)), "executor: ping 1");
    assert_eq!(about_answers(&bench.feed(pong(1))), "");
    assert_eq!(about_answers(&bench.wait(1)), "executor: ping 2");
    bench.feed(renewed(2));
    assert_eq!(about_answers(&bench.wait(1)), "executor: ping 3");
    // An answer to an earlier request does not count.
    assert_eq!(about_answers(&bench.feed(pong(2))), "");
    assert_eq!(about_answers(&bench.wait(1)), "executor: ping 4");
    let log = about_answers(&bench.wait(1));
    let told = "executor: ping 5, executor is silent: true, group: register here e2 slots=0";
    assert!(log.ends_with(told), "{log}");
    // Nothing is sent to it.
    let log = [dispatch(vec![job(id(0))]), staged(id(0))].map(|input| bench.feed(input));
    assert_eq!(log.map(|effects| about_answers(&effects)), ["", ""]);
    for ping in [6, 7] {
        let log = about_answers(&bench.wait(1));
        assert!(log.starts_with(&format!("executor: ping {ping}")), "{log}");
        assert!(!log.contains("end the executor"), "{log}");
    }
    let log = about_answers(&bench.wait(1));
    assert_eq!(log, "executor: ping 8, end the executor");
    // Another executor lists its attempts, and is not lent before it answers.
    bench.feed(Input::ExecutorDown);
    bench.feed(Input::Executor(hello(2)));
    assert_eq!(
        about_answers(&bench.feed(Input::Executor(FromExecutor::HeldEnd))),
        ""
    );
    let log = about_answers(&bench.wait(1));
    assert!(log.contains("executor: ping 9"), "{log}");
    let log = about_answers(&bench.feed(pong(9)));
    assert_eq!(
        log,
        "executor is silent: false, group: register here e2 slots=2, executor: start a0"
    );
}

#[test]
fn suspension_of_the_whole_machine_is_no_silence() {
    let mut bench = Bench::watched(2);
    assert_eq!(about_answers(&bench.wait(1)), "executor: ping 1");
    let log = about_answers(&bench.wait(5));
    assert!(!log.contains("silent"), "{log}");
    let log = about_answers(&bench.feed(pong(2)));
    assert!(!log.contains("silent"), "{log}");
}
