//! Recorded outcomes that stand for another run.

use super::*;
use model::{Caching, Capture, Node, Parse, SubmitKey};
use wire::client::{Recall, Submit};

use crate::budget::{ATTEMPT_STEPS, SLICE_STEPS};
use crate::limits;

const SECOND: SubmitKey = SubmitKey(78);
const THIRD: SubmitKey = SubmitKey(79);

/// s(a b c): a prints a number and leaves a file, b gets the file, c the number.
fn chain() -> Draft {
    let mut draft = draft(vec![
        controller(NodeKind::Sequence(ids(&[1, 2, 3]))),
        leaf("a"),
        leaf("b"),
        leaf("c"),
    ]);
    draft.variables = vec![int("total", Value::Null)];
    edit(&mut draft.nodes[1], |activity| {
        activity.stdout = Some(Capture {
            variable: 0,
            parse: Parse::Int,
        });
        activity.outputs = vec![Produced {
            name: "out".into(),
            path: "o.txt".into(),
        }];
    });
    edit(&mut draft.nodes[2], |activity| {
        activity.inputs = vec![Staged {
            path: "i.txt".into(),
            source: Source::Output {
                activity: NodeId(1),
                output: 0,
            },
            gathers: false,
            carried: None,
        }];
    });
    edit(&mut draft.nodes[3], |activity| {
        activity.command = Command::List(vec![Template("c".into()), Template("${total}".into())]);
    });
    let source = OutputSource::Expression(Expression("total + 1".into()));
    draft.outputs = vec![Output {
        name: "sum".into(),
        source,
    }];
    draft
}

fn on(base: SubmitKey, key: SubmitKey, draft: Draft) -> Submit {
    Submit {
        base: Some(base.process()),
        ..submission(key, draft)
    }
}

fn command(node: &mut Node, word: &str) {
    edit(node, |activity| {
        activity.command = Command::List(vec![Template(word.into())]);
    });
}

fn recall(bench: &mut Bench, key: SubmitKey, activity: u32) -> Option<Recall> {
    let process = key.process();
    let activity = model::ActivityId(activity);
    let answer = bench.answer(Request::Why { process, activity });
    let Answer::Why(why) = answer else {
        panic!("{answer:?}")
    };
    why.recall
}

#[test]
fn a_rerun_of_what_has_completed_ends_at_once_without_a_claim() {
    let mut bench = Bench::new(well);
    bench.submit(chain());
    assert_eq!(bench.started, ["a", "b", "c 7"]);
    let n_grants = bench.grants;
    bench.submit_as(on(KEY, SECOND, chain()));
    assert_eq!((bench.started.len(), bench.grants), (3, n_grants));
    let (first, second) = (bench.status(), bench.status_of(SECOND));
    assert_eq!(second.summary.phase, Phase::Completed);
    assert_eq!(second.outputs, [("sum".to_owned(), Value::Int(8))]);
    assert_eq!(second.variables, first.variables);
    assert_eq!(second.summary.base, Some(KEY.process()));
    let totals = second.summary.totals;
    assert_eq!((totals.completed, totals.reused, totals.all()), (3, 3, 3));
    for (one, other) in first.activities.iter().zip(&second.activities) {
        assert_eq!(one.outputs, other.outputs);
        assert!(other.attempts.is_empty());
        assert_eq!(one.attempts.last(), other.reused.as_ref());
    }
    assert_eq!(second.machines, first.machines);
    // A third one on top of the second names who really ran; the first need not be there.
    assert_eq!(
        bench.answer(Request::Forget(KEY.process())),
        Answer::Forgotten(KEY.process())
    );
    bench.restart();
    bench.submit_as(on(SECOND, THIRD, chain()));
    let third = bench.status_of(THIRD);
    assert_eq!(third.summary.phase, Phase::Completed);
    let reused = third.activities[0].reused.as_ref().unwrap();
    assert_eq!(reused.attempt.process, KEY.process());
    assert_eq!(
        recall(&mut bench, THIRD, 1),
        Some(Recall::Stands(reused.attempt))
    );
    assert_eq!(bench.started.len(), 3);
}

#[test]
fn what_has_changed_runs_and_resources_change_nothing() {
    let mut bench = Bench::new(well);
    bench.submit(chain());
    bench.started.clear();
    let mut changed = chain();
    command(&mut changed.nodes[2], "other");
    edit(&mut changed.nodes[1], |activity| {
        activity.cores = 2;
        activity.memory = Some(model::Bytes(1));
        activity.timeout = Some(Span::from_secs(1));
    });
    bench.submit_as(on(KEY, SECOND, changed));
    assert_eq!(bench.started, ["other"]);
    assert_eq!(bench.status_of(SECOND).summary.phase, Phase::Completed);
    assert_eq!(bench.status_of(SECOND).summary.totals.reused, 2);
    snapshots_hold(&bench, SECOND);
    let changed = vec![wire::client::Change::Command];
    assert_eq!(
        recall(&mut bench, SECOND, 2),
        Some(Recall::Changed(changed))
    );
}

#[test]
fn who_reads_what_has_changed_runs_again_and_the_input_is_named() {
    let mut bench = Bench::new(well);
    bench.submit(chain());
    bench.started.clear();
    let mut changed = chain();
    command(&mut changed.nodes[1], "other");
    bench.submit_as(on(KEY, SECOND, changed));
    // It prints the same number, so the third one stands.
    assert_eq!(bench.started, ["other", "b"]);
    let inputs = wire::client::Change::Inputs(vec!["i.txt".into()]);
    assert_eq!(
        recall(&mut bench, SECOND, 2),
        Some(Recall::Changed(vec![inputs]))
    );
}

#[test]
fn an_activity_of_another_name_stands_by_what_decides_it() {
    let mut bench = Bench::new(well);
    bench.submit(chain());
    let mut renamed = chain();
    renamed.nodes[1].name = "first".into();
    bench.submit_as(on(KEY, SECOND, renamed));
    assert_eq!(bench.started.len(), 3);
    assert_eq!(bench.status_of(SECOND).summary.totals.reused, 3);
}

#[test]
fn what_has_not_ended_well_does_not_stand() {
    let mut bench = Bench::new(|dispatch| match dispatch.command[0].as_str() {
        "b" => Some((failed(FaultName::ExitCode), 1, String::new())),
        _ => well(dispatch),
    });
    bench.submit(chain());
    bench.run();
    bench.started.clear();
    bench.script = Box::new(well);
    bench.submit_as(on(KEY, SECOND, chain()));
    assert_eq!(bench.started, ["b", "c 7"]);
    let recalls: Vec<_> = (1..4).map(|id| recall(&mut bench, SECOND, id)).collect();
    assert!(matches!(recalls[0], Some(Recall::Stands(_))));
    let not_completed = |phase| Some(Recall::NotCompleted(phase));
    assert_eq!(recalls[1], not_completed(ActivityPhase::Faulted));
    assert_eq!(recalls[2], not_completed(ActivityPhase::Skipped));
}

#[test]
fn what_was_too_long_to_keep_is_run_again() {
    let long = "7".repeat(70_000);
    let mut bench = Bench::new(move |_| Some((End::Completed, 0, long.clone())));
    let mut draft = chain();
    draft.outputs.clear();
    draft.variables[0].kind = Type::Text;
    command(&mut draft.nodes[3], "c");
    edit(&mut draft.nodes[1], |activity| {
        activity.stdout = Some(Capture {
            variable: 0,
            parse: Parse::Text,
        });
    });
    bench.submit(draft.clone());
    bench.started.clear();
    bench.submit_as(on(KEY, SECOND, draft));
    assert_eq!(bench.started, ["a"]);
    assert_eq!(recall(&mut bench, SECOND, 1), Some(Recall::TooLong));
    assert_eq!(bench.status_of(SECOND).summary.totals.reused, 2);
}

#[test]
fn an_activity_with_cache_takes_the_outcome_of_any_process_also_after_a_restart() {
    let cached = || {
        let mut draft = chain();
        edit(&mut draft.nodes[1], |activity| {
            activity.cache = Caching::Always
        });
        draft
    };
    let mut bench = Bench::new(well);
    bench.submit(chain());
    bench.started.clear();
    bench.submit_as(submission(SECOND, cached()));
    assert_eq!(bench.started, ["b", "c 7"]);
    bench.restart();
    bench.submit_as(submission(THIRD, cached()));
    assert_eq!(bench.started, ["b", "c 7", "b", "c 7"]);
    assert_eq!(recall(&mut bench, THIRD, 2), None);
    for key in [KEY, SECOND, THIRD] {
        bench.answer(Request::Forget(key.process()));
    }
    let other = SubmitKey(80);
    bench.submit_as(submission(other, cached()));
    assert_eq!(bench.started.len(), 7);
    assert_eq!(recall(&mut bench, other, 1), Some(Recall::Nothing));
}

#[test]
fn a_base_must_be_known_and_have_ended() {
    let mut bench = Bench::new(|_| None);
    bench.submit(chain());
    bench.answers.clear();
    bench.submit_as(on(KEY, SECOND, chain()));
    bench.submit_as(on(THIRD, SECOND, chain()));
    let [Answer::Refused(early), Answer::Refused(unknown)] = &bench.answers[..] else {
        panic!("{:?}", bench.answers)
    };
    let reasons = [early.concat(), unknown.concat()];
    assert!(reasons[0].contains("has not ended"), "{reasons:?}");
    assert!(reasons[1].contains("there is no process"), "{reasons:?}");
}

#[test]
fn a_run_that_is_mended_goes_on_after_a_restart_without_its_base() {
    let mut bench = Bench::new(well);
    bench.submit(chain());
    bench.script = Box::new(|_| None);
    let mut changed = chain();
    command(&mut changed.nodes[2], "other");
    bench.submit_as(on(KEY, SECOND, changed));
    assert_eq!(bench.phases(SECOND), ["completed", "sent", "waiting"]);
    bench.answer(Request::Forget(KEY.process()));
    bench.restart();
    assert_eq!(recall(&mut bench, SECOND, 2), Some(Recall::Absent));
    bench.script = Box::new(well);
    let attempt = *bench.held.keys().next().unwrap();
    bench.end(attempt, End::Completed, 0, "");
    // Nothing is left to take the third outcome from.
    assert_eq!(bench.started, ["a", "b", "c 7", "other", "c 7"]);
    assert_eq!(bench.status_of(SECOND).summary.phase, Phase::Completed);
}

#[test]
fn more_outcomes_than_one_step_looks_at_stand_in_several() {
    let n = (SLICE_STEPS / ATTEMPT_STEPS) as u32 + 10;
    let wide = || {
        let children: Vec<u32> = (1..=n).collect();
        let mut nodes = vec![controller(NodeKind::Parallel {
            children: ids(&children),
            links: Vec::new(),
        })];
        nodes.extend(children.iter().map(|number| leaf(&format!("a{number}"))));
        draft(nodes)
    };
    let mut bench = Bench::new(|_| None);
    bench.submit(wide());
    while let Some(&attempt) = bench.held.keys().next() {
        bench.end(attempt, End::Completed, 0, "");
    }
    assert_eq!(bench.started.len() as u32, n);
    bench.submit_as(on(KEY, SECOND, wide()));
    assert_eq!(bench.status_of(SECOND).summary.phase, Phase::Running);
    let at = bench.drive.next_wakeup().unwrap();
    bench.now.mono = bench.now.mono.max(at);
    bench.drive.wake(bench.now);
    bench.carry_out();
    assert_eq!(bench.status_of(SECOND).summary.totals.reused, n);
    assert_eq!(bench.started.len() as u32, n);
}

#[test]
fn among_many_that_wait_for_their_checks_the_one_whose_files_are_lost_runs_soon() {
    let n = limits::HELD_BACK_FREE as u32 + 10;
    let wide = |first: &str| {
        let children: Vec<u32> = (3..n + 3).collect();
        let mut nodes = vec![
            controller(NodeKind::Sequence(ids(&[1, 2]))),
            leaf(first),
            controller(NodeKind::Parallel {
                children: ids(&children),
                links: Vec::new(),
            }),
        ];
        let made = |number: &u32| {
            let mut node = leaf(&format!("a{number}"));
            edit(&mut node, |activity| {
                activity.outputs = vec![Produced {
                    name: "out".into(),
                    path: "o.txt".into(),
                }];
            });
            node
        };
        nodes.extend(children.iter().map(made));
        draft(nodes)
    };
    let mut bench = Bench::new(|_| None);
    bench.submit(wide("first"));
    while let Some(&attempt) = bench.held.keys().next() {
        let dispatch = &bench.held[&attempt];
        if dispatch.command == ["a7"] {
            let lost = model::Hash(*made_by(dispatch).finalize().as_bytes());
            bench.damaged.insert(lost);
        }
        bench.end(attempt, End::Completed, 0, "");
    }
    let n_before = bench.started.len();
    // The plan is there before the outcomes are looked for.
    bench.submit_as(on(KEY, SECOND, wide("other")));
    let attempt = bench.attempt_of("other");
    bench.end(attempt, End::Completed, 0, "");
    assert_eq!(bench.started[n_before..], ["other"]);
    let soon = bench.now.mono + Span(u64::from(n) * limits::HELD_BACK_EACH.0);
    bench.wake(soon);
    assert_eq!(bench.started[n_before..], ["other", "a7"]);
    let attempt = bench.attempt_of("a7");
    bench.end(attempt, End::Completed, 0, "");
    let status = bench.status_of(SECOND);
    assert_eq!(status.summary.phase, Phase::Completed);
    assert_eq!(status.summary.totals.reused, n - 1);
}

#[test]
fn what_has_ended_needs_no_machine_any_more() {
    let wide = || {
        let mut draft = chain();
        edit(&mut draft.nodes[1], |activity| activity.cores = 2);
        draft
    };
    let mut bench = Bench::new(well);
    bench.submit(wide());
    bench.slots = 1;
    bench.restart();
    let mut changed = wide();
    command(&mut changed.nodes[2], "other");
    bench.submit_as(on(KEY, SECOND, changed));
    let status = bench.status_of(SECOND);
    assert_eq!(status.summary.phase, Phase::Completed);
    // An activity with a cache hit is not in the plan.
    assert!(status.activities[0].planned.is_none());
    assert!(status.activities[1].planned.is_some());
    assert_eq!(bench.started.last().map(String::as_str), Some("other"));
}
