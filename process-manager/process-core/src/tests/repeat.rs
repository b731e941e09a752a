//! Processes with a loop.

use super::*;
use model::{Node, OnFault, Repeat, Test};

fn repeat(test: Test, condition: &str, body: u32) -> Node {
    controller(NodeKind::Repeat(Box::new(Repeat {
        test,
        condition: Expression(condition.to_owned()),
        index: Some("at".to_owned()),
        max_iterations: Some(5),
        children: ids(&[body]),
    })))
}

/// `s(a w(s(b c)) d)`, where `b` reads `a` and then what `c` has made in the iteration before, and `d` what
/// `c` has made in the end. `c` writes `left`.
pub(super) fn process(test: Test, condition: &str) -> Draft {
    let mut draft = draft(vec![
        controller(NodeKind::Sequence(ids(&[1, 2, 6]))),
        leaf("a"),
        repeat(test, condition, 3),
        controller(NodeKind::Sequence(ids(&[4, 5]))),
        leaf("b"),
        leaf("c"),
        leaf("d"),
    ]);
    draft.variables = vec![model::Variable {
        of: None,
        name: "left".to_owned(),
        kind: model::Type::Int,
        initial: Value::Int(9),
    }];
    for (node, name) in [(1, "a"), (4, "b"), (5, "c")] {
        edit(&mut draft.nodes[node], |activity| {
            let words = [name, "${left}"].map(|word| Template(word.to_owned()));
            let at = (node > 1).then(|| Template("${at}".to_owned()));
            activity.command = Command::List(words.into_iter().chain(at).collect());
            activity.outputs = vec![Produced {
                name: "file".to_owned(),
                path: "out".to_owned(),
            }];
        });
    }
    edit(&mut draft.nodes[5], |activity| {
        activity.stdout = Some(model::Capture {
            variable: 0,
            parse: model::Parse::Int,
        });
    });
    let output = |activity| Source::Output {
        activity: NodeId(activity),
        output: 0,
    };
    let read = |activity, carried: Option<u32>| Staged {
        path: "in".to_owned(),
        source: output(activity),
        gathers: false,
        carried: carried.map(output),
    };
    for (node, staged) in [
        (4, read(1, Some(5))),
        (5, read(4, None)),
        (6, read(5, None)),
    ] {
        edit(&mut draft.nodes[node], |activity| {
            activity.inputs = vec![staged]
        });
    }
    draft.outputs = vec![model::Output {
        name: "last".to_owned(),
        source: model::OutputSource::Produced(output(5)),
    }];
    draft
}

/// `c` counts down from 2 what is left.
pub(super) fn count_down(dispatch: &Dispatch) -> Option<(End, i32, String)> {
    let left = match dispatch.command.as_slice() {
        [name, _, at] if name == "c" => (2 - at.parse::<i32>().unwrap()).to_string(),
        _ => String::new(),
    };
    Some((End::Completed, 0, left))
}

fn run(draft: Draft) -> Bench {
    let mut bench = Bench::new(count_down);
    bench.submit(draft);
    bench
}

#[test]
fn a_while_runs_its_body_as_long_as_its_condition_is_true() {
    let mut bench = run(process(Test::While, "left > 0"));
    let ran = [
        "a 9", "b 9 0", "c 9 0", "b 2 1", "c 2 1", "b 1 2", "c 1 2", "d",
    ];
    assert_eq!(bench.started, ran);
    assert_eq!(bench.status().summary.phase, Phase::Completed);
    assert_eq!(bench.status().summary.totals.completed, 8);
}

#[test]
fn a_repeat_until_runs_its_body_once_more_until_its_condition_is_true() {
    let bench = run(process(Test::Until, "left <= 1"));
    assert_eq!(
        bench.started,
        ["a 9", "b 9 0", "c 9 0", "b 2 1", "c 2 1", "d"]
    );
    let once = run(process(Test::Until, "true"));
    assert_eq!(once.started, ["a 9", "b 9 0", "c 9 0", "d"]);
}

#[test]
fn the_condition_reads_the_number_of_the_iteration() {
    let ran = |test, condition| {
        let bench = run(process(test, condition));
        bench
            .started
            .iter()
            .filter(|line| line.starts_with('b'))
            .count()
    };
    assert_eq!(ran(Test::While, "at < 3"), 3);
    assert_eq!(ran(Test::Until, "at == 3"), 4);
}

/// The machines' view: what each command found in its directory, by the activity that made it.
fn read_by(draft: Draft) -> Vec<String> {
    let seen = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let theirs = std::rc::Rc::clone(&seen);
    let made = std::rc::Rc::new(std::cell::RefCell::new(std::collections::BTreeMap::new()));
    let mut bench = Bench::new(move |dispatch| {
        let line = dispatch.command.join(" ");
        let hash = *made_by(dispatch).finalize().as_bytes();
        made.borrow_mut().insert(hash, line.clone());
        for (_, artifact) in &dispatch.inputs {
            let by = made.borrow().get(&artifact.hash.0).cloned();
            let by = by.unwrap_or_default();
            theirs.borrow_mut().push(format!("{line} <- {by}"));
        }
        count_down(dispatch)
    });
    bench.submit(draft);
    assert_eq!(bench.status().summary.phase, Phase::Completed);
    seen.take()
}

#[test]
fn files_go_from_one_iteration_to_the_next_and_out_of_the_last() {
    assert_eq!(
        read_by(process(Test::While, "left > 1")),
        [
            "b 9 0 <- a 9",
            "c 9 0 <- b 9 0",
            "b 2 1 <- c 9 0",
            "c 2 1 <- b 2 1",
            "d <- c 2 1",
        ]
    );
}

#[test]
fn a_while_that_is_false_at_once_skips_its_body() {
    let mut draft = process(Test::While, "left > 9");
    // Nothing came of the body, so nobody may ask for it.
    edit(&mut draft.nodes[6], |activity| activity.inputs.clear());
    draft.outputs.clear();
    let mut bench = run(draft);
    assert_eq!(bench.started, ["a 9", "d"]);
    let phases = ["completed", "skipped", "skipped", "completed"];
    assert_eq!(bench.phases(KEY), phases);
}

#[test]
fn one_iteration_more_than_there_may_be_is_a_fault() {
    for test in [Test::While, Test::Until] {
        let condition = if test == Test::While { "true" } else { "false" };
        let mut bench = run(process(test, condition));
        let status = bench.status();
        assert_eq!(status.summary.phase, Phase::Faulted);
        let fault = &status.faults[0];
        assert_eq!(fault.name, FaultName::TooManyIterations);
        assert!(
            fault
                .message
                .ends_with("the loop has not ended after 5 iterations"),
            "{}",
            fault.message
        );
        assert_eq!(bench.started.len(), 11);
    }
    // As many as there may be are none too many.
    let mut bench = run(process(Test::While, "at < 5"));
    assert_eq!(bench.status().summary.phase, Phase::Completed);
}

#[test]
fn a_condition_that_faults_says_which_it_is() {
    let mut bench = run(process(Test::While, "1 / (left - 9) > 0"));
    let message = bench.status().faults[0].message.clone();
    assert!(
        message.contains("the condition `1 / (left - 9) > 0`"),
        "{message}"
    );
}

#[test]
fn iterations_are_kept_over_a_restart_and_a_snapshot() {
    let mut bench = Bench::new(|dispatch| match dispatch.command.join(" ").as_str() {
        "c 2 1" => None,
        _ => count_down(dispatch),
    });
    bench.submit(process(Test::While, "left > 0"));
    let before = bench.phases(KEY);
    bench.restart();
    assert_eq!(bench.phases(KEY), before);
    let attempt = bench.attempt_of_line("c 2 1");
    bench.end(attempt, End::Completed, 0, "1");
    assert_eq!(bench.status().summary.phase, Phase::Completed);
    let after = ["b 1 2", "c 1 2", "d"];
    assert!(
        bench.started.ends_with(&after.map(str::to_owned)),
        "{:?}",
        bench.started
    );
}

#[test]
fn an_iteration_runs_where_the_one_before_has_run_without_another_plan() {
    let mut bench = run(process(Test::While, "left > 0"));
    assert_eq!(bench.status().generation, model::Generation(1));
}

#[test]
fn where_a_process_goes_on_a_fault_ends_its_loop() {
    let mut bench = Bench::new(|dispatch| match dispatch.command.join(" ").as_str() {
        "b 2 1" => Some((failed(FaultName::ExitCode), 1, String::new())),
        _ => count_down(dispatch),
    });
    let submit = wire::client::Submit {
        on_fault: Some(OnFault::Continue),
        ..submission(KEY, process(Test::While, "left > 0"))
    };
    bench.submit_as(submit);
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Faulted);
    assert_eq!(status.faults.len(), 1);
    assert_eq!(bench.started, ["a 9", "b 9 0", "c 9 0", "b 2 1"]);
}
