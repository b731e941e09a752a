//! Processes whose definition is not what this version of the program accepts: a replay checks
//! nothing, and what it cannot understand is kept as it is.

use model::FaultName;

use super::*;
use crate::record::{Accepted, Founded};

/// Changes what was recorded of the submission, as if another version had accepted it.
fn recorded_otherwise(bench: &mut Bench, change: impl Fn(&mut Founded, &mut Draft)) {
    let stream = Stream::Process(KEY.process());
    for (of, event) in &mut bench.events {
        if *of == stream
            && let Event::Founded(founded) = event
        {
            let mut draft = founded.draft.draft().clone();
            change(founded, &mut draft);
            founded.draft = Accepted::Read(Box::new(draft));
        }
    }
}

fn with_output() -> Draft {
    let mut draft = diamond();
    draft.variables = vec![int("n", Value::Int(6))];
    draft.outputs = vec![Output {
        name: "answer".into(),
        source: OutputSource::Expression(Expression("n * 7".into())),
    }];
    draft
}

/// A tree of which this version understands nothing.
fn no_tree(_: &mut Founded, draft: &mut Draft) {
    draft.nodes[0].kind = NodeKind::Sequence(ids(&[1, 2, 500]));
}

#[test]
fn a_rule_that_has_become_stricter_changes_nothing_of_what_was_accepted() {
    // No such name, copies or limit of an activity is accepted today.
    let change = |_: &mut Founded, draft: &mut Draft| {
        draft.name = "Not A Name".to_owned();
        draft.copies = 9;
        edit(&mut draft.nodes[5], |activity| activity.retry.attempts = 0);
    };
    let mut ended = Bench::new(well);
    ended.submit(with_output());
    ended.pass(1);
    recorded_otherwise(&mut ended, change);
    ended.restart();
    let status = ended.status();
    assert_eq!(status.summary.phase, Phase::Completed);
    assert_eq!(status.outputs, [("answer".to_owned(), Value::Int(42))]);
    assert_eq!(status.summary.held, None);
    // The key is still taken: nothing runs again.
    ended.submit(with_output());
    assert!(matches!(ended.answers.last(), Some(Answer::Submitted(_))));
    assert_eq!(ended.started, ["a", "b", "c", "d"]);

    // A process that has not ended goes on, and completes.
    let mut running = Bench::new(|_| None);
    running.submit(with_output());
    recorded_otherwise(&mut running, change);
    running.script = Box::new(well);
    running.held.clear();
    running.epoch = Epoch(running.epoch.0 + 1);
    running.restart();
    running.run();
    assert_eq!(running.status().summary.phase, Phase::Completed);
}

#[test]
fn what_is_not_understood_keeps_its_key_its_outputs_and_its_end() {
    let mut bench = Bench::new(well);
    bench.submit(with_output());
    bench.pass(1);
    recorded_otherwise(&mut bench, no_tree);
    bench.restart();
    let n_events = bench.events.len();

    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Completed);
    assert_eq!(status.outputs, [("answer".to_owned(), Value::Int(42))]);
    let held = status.summary.held.clone().unwrap();
    let told = "accepted by another version: n0: its child n500 cannot be a child of it";
    assert_eq!(held, told);
    let Answer::Processes(all) = bench.answer(Request::List) else {
        panic!("no list")
    };
    assert_eq!(all, [status.summary]);

    bench.submit(with_output());
    assert!(matches!(bench.answers.pop(), Some(Answer::Submitted(id)) if id == KEY.process()));
    assert_eq!(bench.started, ["a", "b", "c", "d"]);
    let why = Request::Why {
        process: KEY.process(),
        activity: model::ActivityId(1),
    };
    let Answer::Refused(reasons) = bench.answer(why) else {
        panic!("not refused")
    };
    assert!(reasons[0].contains(told), "{reasons:?}");
    let answer = bench.answer(Request::Cancel(KEY.process()));
    assert!(matches!(answer, Answer::Status(_)), "{answer:?}");
    let Answer::Submission(submit, _) = bench.answer(Request::Submission(KEY.process())) else {
        panic!("no submission")
    };
    assert_eq!(submit.draft.nodes[0].children().len(), 3);
    let mut base = submission(model::SubmitKey(78), with_output());
    base.base = Some(KEY.process());
    let answer = bench.answer(Request::Submit(Box::new(base)));
    assert!(matches!(answer, Answer::Refused(_)), "{answer:?}");
    assert_eq!(bench.events.len(), n_events);

    // It is forgotten as any other.
    let answer = bench.answer(Request::Forget(KEY.process()));
    assert!(matches!(answer, Answer::Forgotten(_)), "{answer:?}");
    let answer = bench.answer(Request::Status(KEY.process()));
    assert!(matches!(answer, Answer::Unknown(_)), "{answer:?}");
}

#[test]
fn what_ran_and_is_not_understood_is_stopped_and_gives_its_slots_back() {
    let mut bench = Bench::new(|_| None);
    bench.submit(with_output());
    assert_eq!(bench.started, ["a"]);
    recorded_otherwise(&mut bench, |founded, _| founded.semantics = u32::MAX);
    bench.restart();
    let summary = bench.status().summary;
    assert_eq!(summary.phase, Phase::Faulted);
    let held = summary.held.unwrap();
    assert!(
        held.contains("its semantics are number 4294967295"),
        "{held}"
    );
    bench.pass(5);
    assert!(bench.held.is_empty(), "what is out was not stopped");
    let stream = Stream::Process(KEY.process());
    let last = bench.events.iter().rev().find(|(of, _)| *of == stream);
    assert!(matches!(last, Some((_, Event::Released))), "{last:?}");
    let Answer::Refused(reasons) = bench.answer(Request::Cancel(KEY.process())) else {
        panic!("not refused")
    };
    assert!(reasons[0].contains(&held), "{reasons:?}");
    assert_eq!(bench.started, ["a"]);

    // Others have the slots.
    bench.script = Box::new(well);
    let other = model::SubmitKey(78);
    bench.submit_as(submission(other, diamond()));
    assert_eq!(bench.status_of(other).summary.phase, Phase::Completed);
    let answer = bench.answer(Request::Forget(KEY.process()));
    assert!(matches!(answer, Answer::Forgotten(_)), "{answer:?}");
}

#[test]
fn no_recorded_definition_makes_a_replay_panic() {
    type Change = fn(&mut Founded, &mut Draft);
    let changes: [Change; 7] = [
        no_tree,
        |_, draft| draft.nodes.clear(),
        |_, draft| draft.nodes[2].kind = NodeKind::Sequence(Vec::new()),
        |_, draft| {
            let link = |from, to| Link {
                from: NodeId(from),
                to: NodeId(to),
                when: None,
            };
            draft.nodes[2].kind = NodeKind::Parallel {
                children: ids(&[3, 4]),
                links: vec![link(3, 4), link(4, 3)],
            };
        },
        |_, draft| {
            draft.nodes[2].kind = NodeKind::Parallel {
                children: ids(&[3, 4]),
                links: vec![Link {
                    from: NodeId(3),
                    to: NodeId(77),
                    when: None,
                }],
            };
        },
        |_, draft| {
            draft.outputs[0].source = OutputSource::Produced(Source::Input(9));
        },
        |founded, _| founded.semantics = 2,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut bench = Bench::new(well);
        bench.submit(with_output());
        bench.pass(1);
        recorded_otherwise(&mut bench, change);
        bench.restart();
        let held = bench.status().summary.held;
        assert!(held.is_some(), "change {number} is understood");
    }
    // A reader beside its producer is understood, and lacks the file when its turn comes.
    let mut bench = Bench::new(|_| None);
    bench.submit(with_output());
    recorded_otherwise(&mut bench, |_, draft| {
        edit(&mut draft.nodes[5], |activity| {
            activity.outputs = vec![Produced {
                name: "o".into(),
                path: "o".into(),
            }];
        });
        edit(&mut draft.nodes[3], |activity| {
            activity.inputs = vec![Staged {
                path: "x".into(),
                source: Source::Output {
                    activity: NodeId(5),
                    output: 0,
                },
                gathers: false,
                carried: None,
            }];
        });
    });
    bench.script = Box::new(well);
    bench.held.clear();
    bench.epoch = Epoch(bench.epoch.0 + 1);
    bench.restart();
    bench.run();
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Faulted);
    assert_eq!(status.faults[0].name, FaultName::MissingOutput);
}
