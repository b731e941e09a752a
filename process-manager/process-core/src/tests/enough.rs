//! `complete-when`: a for-each that completes with some of its items.

use super::for_each::{lines, process, run};
use super::*;
use model::{ActivityId, OnFault};

use crate::record::Verdict;

/// `s(a f(s(b c)) d)` as [`process`] has it, which completes when so many items have.
fn enough(items: &str, at_most: Option<u32>, n_enough: &str) -> Draft {
    let mut draft = process(items, at_most);
    if let NodeKind::ForEach(each) = &mut draft.nodes[2].kind {
        each.complete_when = Some(Expression(n_enough.to_owned()));
    }
    draft
}

/// `c x 0` and `c y 1` go on until they are told to end.
fn held(dispatch: &Dispatch) -> Option<(End, i32, String)> {
    match dispatch.command.join(" ").as_str() {
        "c x 0" | "c y 1" => None,
        _ => lines(dispatch),
    }
}

fn fault(draft: Draft) -> (FaultName, String) {
    let status = run(draft).status();
    assert_eq!(status.summary.phase, Phase::Faulted);
    (
        status.faults[0].name.clone(),
        status.faults[0].message.clone(),
    )
}

#[test]
fn one_after_another_the_first_ones_are_enough() {
    let mut bench = run(enough("found", Some(1), "size(found) - 1"));
    let ran = ["a", "b x 0", "c x 0", "b y 1", "c y 1", "d"];
    assert_eq!(bench.started, ran);
    assert_eq!(bench.status().summary.phase, Phase::Completed);
    assert_eq!(
        bench.phases(KEY),
        [
            "completed",
            "completed",
            "completed",
            "completed",
            "completed",
            "skipped",
            "skipped",
            "completed"
        ]
    );
    snapshots_hold(&bench, KEY);
}

#[test]
fn a_file_that_is_made_again_for_another_item_alone_is_made_no_more() {
    let mut bench = Bench::new(|dispatch| {
        let number = dispatch.attempt.number;
        match (dispatch.command.join(" ").as_str(), number) {
            ("b x 0", 1) => Some((End::Lacking(vec![0]), 0, String::new())),
            ("a", 2) => None,
            _ => lines(dispatch),
        }
    });
    bench.slots = 8;
    let mut draft = enough("found", None, "1");
    edit(&mut draft.nodes[1], |activity| {
        activity.outputs = vec![Produced {
            name: "out".into(),
            path: "out".into(),
        }];
    });
    edit(&mut draft.nodes[4], |activity| {
        activity.inputs = vec![Staged {
            path: "in".into(),
            source: Source::Output {
                activity: NodeId(1),
                output: 0,
            },
            gathers: false,
            carried: None,
        }];
    });
    bench.submit(draft);
    bench.run();
    assert_eq!(bench.status().summary.phase, Phase::Completed);
    assert_eq!(bench.started.iter().filter(|line| *line == "a").count(), 2);
    // Its slot is not given back before the command has been stopped.
    let place = |is_it: fn(&Event) -> bool| {
        let mut events = bench.events.iter();
        events
            .position(|(_, event)| is_it(event))
            .expect("it is recorded")
    };
    let stopped =
        place(|event| matches!(event, Event::Ended(ended) if ended.verdict == Verdict::Stopped));
    assert!(stopped < place(|event| matches!(event, Event::Closed { .. })));
}

#[test]
fn what_runs_of_the_other_items_is_stopped() {
    let mut bench = Bench::new(held);
    bench.slots = 8;
    bench.submit(enough("found", None, "1"));
    bench.run();
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Completed);
    let why = |bench: &mut Bench, activity: ActivityId| {
        let answer = bench.answer(Request::Why {
            process: KEY.process(),
            activity,
        });
        let Answer::Why(why) = answer else {
            panic!("{answer:?}");
        };
        why.reasons
    };
    let stopped: Vec<ActivityId> = status
        .activities
        .iter()
        .filter(|one| one.phase.word() == "stopped")
        .map(|one| one.activity)
        .collect();
    // `c` of the two first items: the last one was enough.
    assert_eq!(stopped.len(), 2);
    for activity in stopped {
        let reasons = why(&mut bench, activity);
        assert_eq!(reasons, [wire::client::Reason::Enough(NodeId(2))]);
    }
    snapshots_hold(&bench, KEY);
}

#[test]
fn a_stop_outlives_a_restart_and_the_process_waits_for_it() {
    let mut bench = Bench::new(|dispatch| match dispatch.command[0].as_str() {
        "c" => None,
        _ => lines(dispatch),
    });
    bench.slots = 8;
    bench.submit(enough("found", None, "1"));
    bench.run();
    let enough = bench.attempt_of_line("c z 2");
    bench.end(enough, End::Completed, 0, "");
    // All has ended but what is to be stopped.
    assert_eq!(bench.status().summary.totals.running, 2);
    bench.restart();
    assert_eq!(bench.status().summary.phase, Phase::Running);
    bench.run();
    assert_eq!(bench.status().summary.phase, Phase::Completed);
    let phases = bench.phases(KEY);
    assert_eq!(phases.iter().filter(|one| **one == "stopped").count(), 2);
}

#[test]
fn only_what_enough_items_produced_is_gathered() {
    let paths = super::for_each::gathered(enough("found", Some(1), "2"));
    assert_eq!(paths, ["parts/0.tar.gz", "parts/1.tar.gz"]);
}

#[test]
fn more_items_than_there_are_and_numbers_that_are_none_are_faults() {
    let few = fault(enough("found", None, "4"));
    assert_eq!(few.0, FaultName::TooFewItems);
    assert!(
        few.1
            .ends_with("`complete-when` waits for 4 items, and the list has 3"),
        "{few:?}"
    );
    assert_eq!(fault(enough("[]", None, "1")).0, FaultName::TooFewItems);
    let wrong = |text: &str| {
        let (name, message) = fault(enough("found", None, text));
        assert_eq!(name, FaultName::Expression);
        message
    };
    let text = wrong("size(found) > 9 ? 2 : \"two\"");
    assert!(text.ends_with("`complete-when`: a string, not a whole number"));
    assert!(wrong("0").ends_with("`complete-when`: less than 1 item, or more than any list has"));
}

/// The process that goes on after the faults of these commands.
fn keep_going(draft: Draft, faulty: &'static [&'static str]) -> Bench {
    let mut bench =
        Bench::new(
            move |dispatch| match faulty.contains(&dispatch.command.join(" ").as_str()) {
                true => Some((failed(FaultName::ExitCode), 1, String::new())),
                false => lines(dispatch),
            },
        );
    bench.submit_as(wire::client::Submit {
        on_fault: Some(OnFault::Continue),
        ..submission(KEY, draft)
    });
    bench
}

#[test]
fn where_a_process_goes_on_items_that_fault_do_not_count() {
    let mut bench = keep_going(enough("found", Some(1), "2"), &["b x 0"]);
    let ran = ["a", "b x 0", "b y 1", "c y 1", "b z 2", "c z 2", "d"];
    assert_eq!(bench.started, ran);
    assert_eq!(bench.status().summary.phase, Phase::Faulted);
    // Too few can complete: the others do not begin, and what gathers them is broken.
    let mut bench = keep_going(enough("found", Some(1), "2"), &["b x 0", "b y 1"]);
    assert_eq!(bench.started, ["a", "b x 0", "b y 1"]);
    assert_eq!(bench.status().summary.phase, Phase::Faulted);
}
