//! Processes with an `if`.

use super::*;
use model::{ActivityId, Node, OnFault};
use wire::client::{Reason, Submit};

fn choice(conditions: &[&str], children: &[u32]) -> Node {
    let condition = |text: &&str| Expression((*text).to_owned());
    controller(NodeKind::If {
        conditions: conditions.iter().map(condition).collect(),
        children: ids(children),
    })
}

/// `s(a i(b s(c d) e) f)`, where `a` writes 7 to `v` and `e` is there for the `else`.
fn process(conditions: &[&str]) -> Draft {
    let mut draft = draft(vec![
        controller(NodeKind::Sequence(ids(&[1, 2, 8]))),
        leaf("a"),
        choice(conditions, &[3, 4, 7]),
        leaf("b"),
        controller(NodeKind::Sequence(ids(&[5, 6]))),
        leaf("c"),
        leaf("d"),
        leaf("e"),
        leaf("f"),
    ]);
    draft.variables = vec![int("v", Value::Int(0)), int("zero", Value::Int(0))];
    edit(&mut draft.nodes[1], |activity| {
        activity.stdout = Some(model::Capture {
            variable: 0,
            parse: model::Parse::Int,
        });
    });
    draft
}

fn started(conditions: &[&str]) -> Vec<String> {
    let mut bench = Bench::new(well);
    bench.submit(process(conditions));
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Completed);
    let totals = status.summary.totals;
    assert_eq!((totals.completed + totals.skipped) as usize, 6);
    assert_eq!(totals.completed as usize, bench.started.len());
    bench.started.clone()
}

fn reasons(bench: &mut Bench, activity: u32) -> Vec<Reason> {
    let (process, activity) = (KEY.process(), ActivityId(activity));
    let Answer::Why(why) = bench.answer(Request::Why { process, activity }) else {
        panic!("it is known");
    };
    why.reasons
}

#[test]
fn the_first_branch_whose_condition_is_true_runs() {
    assert_eq!(started(&["v == 7", "v > 0"]), ["a", "b", "f"]);
    assert_eq!(started(&["v == 0", "v > 0"]), ["a", "c", "d", "f"]);
    assert_eq!(started(&["v == 0", "v < 0"]), ["a", "e", "f"]);
    assert_eq!(started(&["v == 0", "v < 0", "v > 9"]), ["a", "f"]);
    assert_eq!(started(&["v == 0", "v < 0", "true"]), ["a", "e", "f"]);
    // Conditions behind the one that is true are not looked at.
    assert_eq!(started(&["v == 7", "1 / zero > 0"]), ["a", "b", "f"]);
}

#[test]
fn a_branch_that_is_not_taken_says_so() {
    let mut bench = Bench::new(|dispatch| match dispatch.command[0].as_str() {
        "d" => None,
        _ => well(dispatch),
    });
    bench.submit(process(&["v == 0", "v > 0"]));
    assert_eq!(
        bench.phases(KEY),
        [
            "completed",
            "skipped",
            "completed",
            "sent",
            "skipped",
            "waiting"
        ]
    );
    let (of, taken) = (NodeId(2), Some(NodeId(4)));
    for not_taken in [3, 7] {
        assert_eq!(
            reasons(&mut bench, not_taken),
            [Reason::Branch { of, taken }]
        );
    }
    let (activity, phase) = (ActivityId(6), ActivityPhase::Sent);
    assert_eq!(reasons(&mut bench, 8), [Reason::After { activity, phase }]);

    let mut bench = Bench::new(well);
    bench.submit(process(&["v == 0", "v < 0", "v > 9"]));
    let taken = None;
    for not_taken in [3, 5, 6, 7] {
        assert_eq!(
            reasons(&mut bench, not_taken),
            [Reason::Branch { of, taken }]
        );
    }
}

#[test]
fn a_choice_is_kept_over_a_restart_and_a_snapshot() {
    let mut bench = Bench::new(|dispatch| match dispatch.command[0].as_str() {
        "c" => None,
        _ => well(dispatch),
    });
    bench.submit(process(&["v == 0", "v > 0"]));
    bench.restart();
    assert_eq!(
        bench.phases(KEY),
        [
            "completed",
            "skipped",
            "sent",
            "waiting",
            "skipped",
            "waiting"
        ]
    );
    snapshots_hold(&bench, KEY);
}

#[test]
fn a_condition_that_faults_ends_the_process_and_names_itself() {
    let mut bench = Bench::new(well);
    bench.submit(process(&["v == 0", "1 / zero > 0"]));
    assert_eq!(bench.started, ["a"]);
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Faulted);
    let message = &status.faults[0].message;
    let begin = "sequence/if: the condition `1 / zero > 0`: ";
    assert!(message.starts_with(begin), "{message}");
}

#[test]
fn a_process_that_goes_on_does_so_without_an_if_whose_condition_faults() {
    // p(i(b s(c d)) e f | c>f)
    let mut draft = draft(vec![
        controller(NodeKind::Parallel {
            children: ids(&[1, 6, 7]),
            links: vec![Link {
                from: NodeId(4),
                to: NodeId(7),
                when: None,
            }],
        }),
        choice(&["1 / zero > 0"], &[2, 3]),
        leaf("b"),
        controller(NodeKind::Sequence(ids(&[4, 5]))),
        leaf("c"),
        leaf("d"),
        leaf("e"),
        leaf("f"),
    ]);
    draft.variables = vec![int("zero", Value::Int(0))];
    let mut bench = Bench::new(well);
    bench.submit_as(Submit {
        on_fault: Some(OnFault::Continue),
        ..submission(KEY, draft)
    });
    bench.run();
    let phases = ["skipped", "skipped", "skipped", "completed", "skipped"];
    assert_eq!(bench.phases(KEY), phases);
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Faulted);
    assert_eq!(status.faults.len(), 1);
    snapshots_hold(&bench, KEY);
    for broken in [2, 4, 5, 7] {
        let reasons = reasons(&mut bench, broken);
        assert_eq!(reasons, [Reason::Broken(NodeId(1))], "{broken}");
    }
}

#[test]
fn a_process_that_goes_on_does_so_without_an_if_whose_branch_faults() {
    let mut bench = Bench::new(|dispatch| match dispatch.command[0].as_str() {
        "c" => Some((failed(FaultName::ExitCode), 1, String::new())),
        _ => well(dispatch),
    });
    bench.submit_as(Submit {
        on_fault: Some(OnFault::Continue),
        ..submission(KEY, process(&["v == 0", "v > 0"]))
    });
    bench.run();
    let phases = bench.phases(KEY);
    let expected = [
        "completed",
        "skipped",
        "faulted",
        "skipped",
        "skipped",
        "skipped",
    ];
    assert_eq!(phases, expected);
    let (of, taken) = (NodeId(2), Some(NodeId(4)));
    assert_eq!(reasons(&mut bench, 7), [Reason::Branch { of, taken }]);
    for broken in [6, 8] {
        assert_eq!(reasons(&mut bench, broken), [Reason::Broken(NodeId(5))]);
    }
}
