//! Files that nobody needs any more are discarded.

use model::{
    ActivityId, AttemptId, Bytes, Caching, Node, OnFault, Output, OutputSource, ResourceId,
    SubmitKey, Test,
};
use wire::attempt::Outcome;
use wire::client::Submit;

use super::recompute::maker;
use super::*;

fn dropping(draft: Draft) -> Draft {
    Draft {
        keep_intermediates: Some(false),
        ..draft
    }
}

fn with_output(draft: Draft, activity: u32) -> Draft {
    let source = OutputSource::Produced(Source::Output {
        activity: NodeId(activity),
        output: 0,
    });
    let name = "last".to_owned();
    Draft {
        outputs: vec![Output { name, source }],
        ..draft
    }
}

fn sequence(steps: Vec<Node>) -> Draft {
    let children: Vec<u32> = (1..=steps.len() as u32).collect();
    let mut nodes = vec![controller(NodeKind::Sequence(ids(&children)))];
    nodes.extend(steps);
    draft(nodes)
}

/// `a b c d`, where `b` reads `a`, `c` reads `a` and `b`, and `d`, whose file is the output, reads `c`.
fn chain() -> Draft {
    let steps = vec![
        maker("a", &[]),
        maker("b", &[1]),
        maker("c", &[1, 2]),
        maker("d", &[3]),
    ];
    with_output(sequence(steps), 4)
}

/// The numbers of the activities whose files went, in that order.
fn gone(bench: &Bench) -> Vec<u32> {
    bench
        .discarded
        .iter()
        .map(|(_, activity)| *activity)
        .collect()
}

#[test]
fn a_file_goes_when_the_outcome_of_its_last_reader_is_recorded() {
    let mut bench = Bench::new(well);
    bench.submit(dropping(chain()));
    assert_eq!(bench.end_line(), "completed");
    // When `c` has ended, before `d` is started; when `d` has.
    assert_eq!(bench.discarded, [(3, 1), (3, 2), (4, 3)]);
    bench.pass(10);
    assert_eq!(bench.discarded.len(), 3);
}

#[test]
fn files_stay_where_nothing_is_said() {
    let mut bench = Bench::new(well);
    bench.submit(chain());
    assert_eq!(bench.end_line(), "completed");
    assert_eq!(bench.discarded, []);
}

#[test]
fn what_others_may_want_stays() {
    let mut draft = dropping(chain());
    edit(&mut draft.nodes[1], |activity| activity.at_most_once = true);
    edit(&mut draft.nodes[2], |activity| {
        activity.cache = Caching::Always
    });
    let mut bench = Bench::new(well);
    bench.submit(draft);
    assert_eq!(bench.end_line(), "completed");
    assert_eq!(gone(&bench), [3]);
}

#[test]
fn what_reads_a_variable_that_may_change_could_not_be_made_again_and_stays() {
    let mut draft = super::repeat::process(Test::While, "left > 0");
    draft.keep_intermediates = Some(false);
    let mut bench = Bench::new(super::repeat::count_down);
    bench.submit(draft);
    assert_eq!(bench.end_line(), "completed left=Int(0)");
    assert_eq!(bench.discarded, []);
}

#[test]
fn what_nobody_reads_goes_at_once() {
    let mut bench = Bench::new(well);
    bench.submit(dropping(sequence(vec![maker("a", &[]), maker("b", &[])])));
    assert_eq!(bench.discarded, [(1, 1), (2, 2)]);
}

#[test]
fn a_request_without_an_answer_is_repeated_also_after_a_restart() {
    let mut bench = Bench::new(|dispatch| match dispatch.command[0].as_str() {
        "d" => None,
        _ => well(dispatch),
    });
    bench.discards_lost = true;
    bench.submit(dropping(chain()));
    assert_eq!(gone(&bench), [1, 2]);
    bench.pass(1);
    assert_eq!(gone(&bench), [1, 2, 1, 2]);
    bench.discarded.clear();
    bench.discards_lost = false;
    bench.restart();
    bench.pass(3);
    assert_eq!(gone(&bench), [1, 2]);
}

#[test]
fn what_a_machine_collects_once_more_is_discarded_once_more() {
    let mut bench = Bench::new(|dispatch| match dispatch.command[0].as_str() {
        "d" => None,
        _ => well(dispatch),
    });
    bench.submit(dropping(chain()));
    assert_eq!(gone(&bench), [1, 2]);
    // In another epoch the machine tells each outcome that its executor holds again.
    let again = |activity| Outcome {
        attempt: AttemptId {
            process: KEY.process(),
            activity: ActivityId(activity),
            number: 1,
        },
        end: End::Completed,
        started: bench.now.wall,
        wall: Span(5),
        cpu: Span(4),
        peak_memory: Bytes(100),
        exit_code: Some(0),
        pid: 9,
        outputs: vec![artifact()],
        stdout: None,
        stderr: None,
        log: None,
    };
    let outcomes = FromActivity::Outcomes(vec![again(1), again(3)]);
    bench.give(Input::Activity(MACHINE, outcomes));
    // `d` reads what `c` has made.
    assert_eq!(gone(&bench), [1, 2, 1]);
}

#[test]
fn what_a_faulted_activity_was_given_stays_for_the_next_run() {
    let fails = |dispatch: &Dispatch| match dispatch.command[0].as_str() {
        "c" => Some((failed(FaultName::ExitCode), 1, String::new())),
        _ => well(dispatch),
    };
    let mut bench = Bench::new(fails);
    bench.submit(dropping(chain()));
    bench.pass(2);
    assert_eq!(bench.status().summary.phase, Phase::Faulted);
    assert_eq!(bench.discarded, []);
    // Nor does it go where the process goes on: `d` is skipped for the fault.
    let mut bench = Bench::new(fails);
    bench.submit_as(Submit {
        on_fault: Some(OnFault::Continue),
        ..submission(KEY, dropping(chain()))
    });
    bench.pass(2);
    assert_eq!(bench.status().summary.phase, Phase::Faulted);
    assert_eq!(bench.discarded, []);
}

#[test]
fn a_loop_gives_its_files_on_and_then_they_go() {
    let mut draft = super::repeat::process(Test::While, "left > 0");
    draft.keep_intermediates = Some(false);
    // Their commands are the same whenever they run.
    for node in [1, 4, 5] {
        edit(&mut draft.nodes[node], |activity| {
            if let Command::List(words) = &mut activity.command {
                words[1] = Template("x".to_owned());
            }
        });
    }
    let mut bench = Bench::new(super::repeat::count_down);
    bench.submit(draft);
    assert_eq!(bench.end_line(), "completed left=Int(0)");
    // `a` is read in the first iteration; `b` goes with its reader, and what `c` has made in one iteration
    // when the next one has read it. The last one is an output.
    let (b, c) = ([4, 8, 11], [5, 9]);
    let expected = [
        (3, b[0]),
        (3, 1),
        (4, c[0]),
        (5, b[1]),
        (6, c[1]),
        (7, b[2]),
    ];
    assert_eq!(bench.discarded, expected);
}

#[test]
fn what_another_iteration_may_read_stays_while_the_body_goes_on() {
    // `s(a w(s(c e)))`: `c` reads `a`, and then what it has made in the iteration before.
    let output = |activity| Source::Output {
        activity: NodeId(activity),
        output: 0,
    };
    let mut c = maker("c", &[1]);
    edit(&mut c, |activity| {
        activity.inputs[0].carried = Some(output(4));
    });
    let again = model::Repeat {
        test: Test::While,
        condition: Expression("at < 3".to_owned()),
        index: Some("at".to_owned()),
        max_iterations: Some(5),
        children: ids(&[3]),
    };
    let nodes = vec![
        controller(NodeKind::Sequence(ids(&[1, 2]))),
        maker("a", &[]),
        controller(NodeKind::Repeat(Box::new(again))),
        controller(NodeKind::Sequence(ids(&[4, 5]))),
        c,
        leaf("e"),
    ];
    let mut bench = Bench::new(well);
    bench.submit(dropping(draft(nodes)));
    assert_eq!(bench.end_line(), "completed");
    // Nodes 4, 7 and 10 are the iterations of `c`. Each goes when the next one has read it, and the last one
    // when there is no other.
    assert_eq!(bench.discarded, [(3, 1), (4, 4), (6, 7), (7, 10)]);
}

#[test]
fn what_is_read_in_each_iteration_stays_until_the_loop_has_ended() {
    // `s(v a w(s(c e)))`: `a` reads what `v` has said, once, before the loop.
    let mut v = leaf("v");
    edit(&mut v, |activity| {
        activity.stdout = Some(model::Capture {
            variable: 0,
            parse: model::Parse::Text,
        });
    });
    let mut a = maker("a", &[]);
    edit(&mut a, |activity| {
        activity.command = Command::List(vec![Template("${said}".to_owned())]);
    });
    let again = model::Repeat {
        test: Test::While,
        condition: Expression("at < 3".to_owned()),
        index: Some("at".to_owned()),
        max_iterations: Some(5),
        children: ids(&[4]),
    };
    let mut draft = draft(vec![
        controller(NodeKind::Sequence(ids(&[1, 2, 3]))),
        v,
        a,
        controller(NodeKind::Repeat(Box::new(again))),
        controller(NodeKind::Sequence(ids(&[5, 6]))),
        maker("c", &[2]),
        leaf("e"),
    ]);
    draft.variables = vec![model::Variable {
        of: None,
        name: "said".to_owned(),
        kind: model::Type::Text,
        initial: Value::Null,
    }];
    let mut bench = Bench::new(well);
    bench.submit(dropping(draft));
    let end = bench.end_line();
    assert!(end.starts_with("completed"), "{end}");
    // Nobody reads what `c` makes, nodes 5, 8 and 11. `a` goes with the last iteration, which ends with `e`.
    assert_eq!(bench.discarded, [(3, 5), (5, 8), (7, 11), (8, 2)]);
}

#[test]
fn a_later_run_does_not_make_again_what_nobody_needs() {
    // The third one failed, and its command is another one in the second run.
    let mut bench = Bench::new(|dispatch| match dispatch.command[0].as_str() {
        "c" => Some((failed(FaultName::ExitCode), 1, String::new())),
        _ => well(dispatch),
    });
    let long = |third: &str| {
        let steps = vec![
            maker("a", &[]),
            maker("b", &[1]),
            maker(third, &[2]),
            maker("d", &[3]),
        ];
        dropping(with_output(sequence(steps), 4))
    };
    bench.submit(long("c"));
    bench.pass(1);
    assert_eq!(gone(&bench), [1]);
    // The file of `a` is gone, which nobody looks at.
    bench.damaged = bench.discarded_files.clone();
    bench.started.clear();
    let key = SubmitKey(78);
    bench.submit_as(Submit {
        base: Some(KEY.process()),
        ..submission(key, long("cc"))
    });
    bench.pass(2);
    assert_eq!(bench.started, ["cc", "d"]);
    assert_eq!(bench.status_of(key).summary.phase, Phase::Completed);
}

#[test]
fn what_is_needed_after_all_is_made_again_with_all_before_and_goes_again() {
    let mut bench = Bench::new(|dispatch| {
        let (name, number) = (dispatch.command[0].as_str(), dispatch.attempt.number);
        match (name, number) {
            ("c", _) => Some((failed(FaultName::ExitCode), 1, String::new())),
            // What `b` made has gone with its machine, and that of `a` was discarded.
            ("cc", 1) | ("b", 1) if dispatch.attempt.process != KEY.process() => {
                Some((End::Lacking(vec![0]), 0, String::new()))
            }
            _ => well(dispatch),
        }
    });
    let long = |third: &str| {
        let steps = vec![
            maker("a", &[]),
            maker("b", &[1]),
            maker(third, &[2]),
            maker("d", &[3]),
        ];
        dropping(with_output(sequence(steps), 4))
    };
    bench.submit(long("c"));
    bench.pass(1);
    bench.started.clear();
    bench.discarded.clear();
    let key = SubmitKey(78);
    bench.submit_as(Submit {
        base: Some(KEY.process()),
        ..submission(key, long("cc"))
    });
    bench.pass(2);
    assert_eq!(bench.started, ["cc", "b", "a", "b", "cc", "d"]);
    assert_eq!(bench.status_of(key).summary.phase, Phase::Completed);
    let twice = gone(&bench);
    assert!(twice.ends_with(&[1, 2, 3]), "{twice:?}");
}

#[test]
fn what_a_stopped_run_has_not_made_again_is_not_copied() {
    let mut bench = Bench::new(|dispatch| {
        let is_later = dispatch.attempt.process != KEY.process();
        match dispatch.command[0].as_str() {
            "c" => Some((failed(FaultName::ExitCode), 1, String::new())),
            "cc" => Some((End::Lacking(vec![0]), 0, String::new())),
            "b" if is_later => None,
            _ => well(dispatch),
        }
    });
    bench.others = vec![super::copies::store(ResourceId::local(7))];
    bench.restart();
    let long = |third: &str| {
        let steps = vec![
            maker("a", &[]),
            maker("b", &[1]),
            maker(third, &[2]),
            maker("d", &[3]),
        ];
        let copies = 1;
        Draft {
            copies,
            ..dropping(with_output(sequence(steps), 4))
        }
    };
    bench.submit(long("c"));
    bench.pass(1);
    let key = SubmitKey(78);
    bench.submit_as(Submit {
        base: Some(KEY.process()),
        ..submission(key, long("cc"))
    });
    bench.pass(2);
    let again = *bench.held.keys().next().expect("b is made again");
    bench.ask(Request::Cancel(key.process()));
    bench.end(again, End::Stopped, 0, "");
    assert_eq!(bench.status_of(key).summary.phase, Phase::Cancelled);
    bench.copies.clear();
    bench.pass(10);
    let mut asked = bench.copies.iter();
    assert!(asked.all(|(_, copied)| copied.process == KEY.process()));
}

#[test]
fn a_copy_of_a_machine_whose_answer_was_lost_goes_too() {
    let mut bench = Bench::new(|dispatch| match dispatch.command[0].as_str() {
        "b" => None,
        _ => well(dispatch),
    });
    bench.others = [7, 9]
        .map(|number| super::copies::store(ResourceId::local(number)))
        .into();
    bench.restart();
    let pair = sequence(vec![maker("a", &[]), maker("b", &[1])]);
    let copies = 1;
    bench.submit(Draft {
        copies,
        ..dropping(pair)
    });
    // One of the two does not answer, and the other one is asked.
    let keepers = |bench: &Bench| {
        let to = bench.copies.iter().map(|(to, _)| *to);
        to.collect::<std::collections::BTreeSet<_>>().len()
    };
    assert_eq!(keepers(&bench), 1);
    while keepers(&bench) < 2 {
        bench.pass(1);
    }
    bench.keeps = true;
    bench.pass(1);
    let reader = *bench.held.keys().next().expect("b goes on");
    bench.end(reader, End::Completed, 0, "");
    // The machine that made it, and both that may have a copy.
    let of_the_first = gone(&bench).into_iter().filter(|&activity| activity == 1);
    assert_eq!(of_the_first.count(), 3);
}
