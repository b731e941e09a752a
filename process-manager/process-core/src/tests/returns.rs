//! Slots that processes give back before their ends.

use model::SubmitKey;

use super::*;

const OTHER: SubmitKey = SubmitKey(78);

/// Two activities side by side, and then two in a row.
fn narrowing() -> Draft {
    let side_by_side = NodeKind::Parallel {
        children: ids(&[2, 3]),
        links: Vec::new(),
    };
    draft(vec![
        controller(NodeKind::Sequence(ids(&[1, 4, 5]))),
        controller(side_by_side),
        leaf("a"),
        leaf("b"),
        leaf("c"),
        leaf("d"),
    ])
}

/// A process of the two stages, of which the first has ended, on a machine of two slots.
fn narrowed() -> Bench {
    let mut bench = Bench::new(|_| None);
    bench.submit(narrowing());
    end(&mut bench, "a");
    end(&mut bench, "b");
    assert_eq!(bench.started, ["a", "b", "c"]);
    bench
}

/// A command ends well.
fn end(bench: &mut Bench, name: &str) {
    bench.end(bench.attempt_of(name), End::Completed, 0, "");
}

/// Submits a process of one activity.
fn submit_other(bench: &mut Bench) {
    let one = draft(vec![controller(NodeKind::Sequence(ids(&[1]))), leaf("x")]);
    bench.submit_as(submission(OTHER, one));
}

#[test]
fn slots_that_the_rest_of_a_plan_does_not_need_are_for_a_process_that_waits() {
    let mut bench = narrowed();
    submit_other(&mut bench);
    assert!(bench.returned.is_empty());
    bench.pass(1);
    assert_eq!(bench.returned, [1]);
    assert_eq!(bench.started, ["a", "b", "c", "x"]);
    end(&mut bench, "c");
    end(&mut bench, "d");
    assert_eq!(bench.end_line(), "completed");
    assert_eq!(bench.returned, [1], "its end gives the rest back");
}

#[test]
fn a_process_that_finishes_after_a_fault_keeps_what_runs_and_no_more() {
    let mut bench = Bench::new(|_| None);
    bench.submit(narrowing());
    let attempt = bench.attempt_of("a");
    bench.end(attempt, failed(FaultName::ExitCode), 1, "");
    submit_other(&mut bench);
    bench.pass(1);
    assert_eq!(bench.returned, [1]);
    assert_eq!(bench.started, ["a", "b", "x"]);
    end(&mut bench, "b");
    assert_eq!(bench.status().summary.phase, Phase::Faulted);
}

#[test]
fn nothing_is_given_back_where_nobody_waits() {
    let mut bench = narrowed();
    bench.pass(60);
    assert!(bench.returned.is_empty());
    end(&mut bench, "c");
    end(&mut bench, "d");
    assert_eq!(bench.end_line(), "completed");
}

#[test]
fn slots_that_attempts_use_or_entries_need_are_kept() {
    let mut bench = Bench::new(|_| None);
    bench.submit(narrowing());
    submit_other(&mut bench);
    end(&mut bench, "a");
    bench.pass(60);
    // One command runs, and others follow on the other slot.
    assert!(bench.returned.is_empty());
    assert_eq!(bench.started, ["a", "b"]);
    end(&mut bench, "b");
    bench.pass(60);
    assert_eq!(bench.returned, [1]);
    assert_eq!(bench.started, ["a", "b", "c", "x"]);
}

#[test]
fn a_return_is_repeated_until_it_is_answered_and_recorded_before() {
    let mut bench = narrowed();
    submit_other(&mut bench);
    bench.returns_lost = true;
    bench.pass(3);
    assert!(bench.returned.len() > 2 && bench.returned.iter().all(|&kept| kept == 1));
    bench.returns_lost = false;
    bench.returned.clear();
    bench.pass(60);
    assert_eq!(bench.returned, [1], "and it is answered");
    bench.restart();
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Running);
    assert_eq!(bench.told_held[0].number, 2);
    assert_eq!(bench.told_held[0].grants[0].slots, 1);
}

#[test]
fn activities_that_are_sent_after_a_return_say_which_slots_are_held() {
    let mut bench = narrowed();
    submit_other(&mut bench);
    bench.pass(1);
    assert_eq!(bench.said_held.first(), Some(&None));
    end(&mut bench, "c");
    let (number, slots) = (2, 1);
    let process = KEY.process();
    let holds = Holds {
        process,
        number,
        slots,
    };
    assert_eq!(bench.said_held.last(), Some(&Some(holds)));
}
