//! What would run, foreseen, and what runs then.

use super::*;
use model::{Capture, NodeId, Parse, SubmitKey};
use wire::client::{Change, Forecast, Foresight, Recall, Submit};

const SECOND: SubmitKey = SubmitKey(78);

fn reads(activity: u32) -> Vec<Staged> {
    vec![Staged {
        path: "i.txt".into(),
        source: Source::Output {
            activity: NodeId(activity),
            output: 0,
        },
        gathers: false,
        carried: None,
    }]
}

/// s(a b c d): a prints a number and leaves a file, b gets the file, c the number, d neither.
fn chain() -> Draft {
    let mut draft = draft(vec![
        controller(NodeKind::Sequence(ids(&[1, 2, 3, 4]))),
        leaf("a"),
        leaf("b"),
        leaf("c"),
        leaf("d"),
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
    edit(&mut draft.nodes[2], |activity| activity.inputs = reads(1));
    edit(&mut draft.nodes[3], |activity| {
        activity.command = Command::List(vec![Template("c".into()), Template("${total}".into())]);
    });
    draft
}

fn changed(draft: &mut Draft, node: usize) {
    edit(&mut draft.nodes[node], |activity| {
        activity.command = Command::List(vec![Template("other".into())]);
    });
}

fn on_base(draft: Draft) -> Submit {
    Submit {
        base: Some(KEY.process()),
        ..submission(SECOND, draft)
    }
}

#[track_caller]
fn foreseen(bench: &mut Bench, submit: Submit) -> Foresight {
    let answer = bench.answer(Request::Foresee(Box::new(submit)));
    let Answer::Foreseen(foresight) = answer else {
        panic!("{answer:?}")
    };
    *foresight
}

fn forecasts(foresight: Foresight) -> Vec<Forecast> {
    let forecasts = foresight.activities.into_iter();
    forecasts.map(|(_, forecast)| forecast).collect()
}

fn depends(on: u32) -> Forecast {
    Forecast::Depends(vec![model::ActivityId(on)])
}

fn is_standing(forecast: &Forecast) -> bool {
    matches!(forecast, Forecast::Stands(_))
}

#[test]
fn what_is_foreseen_of_a_rerun_changes_nothing_and_comes_true() {
    let mut bench = Bench::new(well);
    bench.submit(chain());
    let n_events = bench.events.len();
    let same = forecasts(foreseen(&mut bench, on_base(chain())));
    assert!(same.iter().all(is_standing), "{same:?}");
    let mut draft = chain();
    changed(&mut draft, 1);
    let found = forecasts(foreseen(&mut bench, on_base(draft.clone())));
    let command = Forecast::Runs(Recall::Changed(vec![Change::Command]));
    assert_eq!(found[..3], [command, depends(1), depends(1)]);
    assert!(is_standing(&found[3]), "{found:?}");
    assert_eq!(bench.events.len(), n_events);
    assert_eq!(
        bench.answer(Request::Status(SECOND.process())),
        Answer::Unknown(SECOND.process())
    );
    bench.started.clear();
    bench.submit_as(on_base(draft));
    // The bench makes other files of another command, and the same number.
    assert_eq!(bench.started, ["other", "b"]);
}

#[test]
fn without_a_base_everything_runs_and_an_unknown_base_is_refused() {
    let mut bench = Bench::new(well);
    let found = forecasts(foreseen(&mut bench, submission(SECOND, chain())));
    let nothing = Forecast::Runs(Recall::Nothing);
    assert_eq!(found, [nothing.clone(), depends(1), depends(1), nothing]);
    let answer = bench.answer(Request::Foresee(Box::new(on_base(chain()))));
    assert!(matches!(answer, Answer::Refused(_)), "{answer:?}");
    let mut wrong = chain();
    wrong.name = "No".to_owned();
    let answer = bench.answer(Request::Foresee(Box::new(submission(SECOND, wrong))));
    assert!(matches!(answer, Answer::Refused(_)), "{answer:?}");
}

#[test]
fn what_failed_runs_and_what_did_not_come_to_its_turn() {
    let mut bench = Bench::new(|dispatch| {
        Some(match dispatch.command[0].as_str() {
            "b" => (failed(FaultName::ExitCode), 1, String::new()),
            _ => (End::Completed, 0, "7\n".to_owned()),
        })
    });
    bench.submit(chain());
    let found = forecasts(foreseen(&mut bench, on_base(chain())));
    let not = |phase| Forecast::Runs(Recall::NotCompleted(phase));
    assert!(is_standing(&found[0]), "{found:?}");
    let expected = [
        not(ActivityPhase::Faulted),
        not(ActivityPhase::Skipped),
        not(ActivityPhase::Skipped),
    ];
    assert_eq!(found[1..], expected);
}

#[test]
fn a_condition_on_what_is_not_known_is_left_undecided() {
    // s(a, if total == 7 then b else c, d)
    let mut draft = draft(vec![
        controller(NodeKind::Sequence(ids(&[1, 2, 5]))),
        leaf("a"),
        controller(NodeKind::If {
            conditions: vec![Expression("total == 7".into())],
            children: ids(&[3, 4]),
        }),
        leaf("b"),
        leaf("c"),
        leaf("d"),
    ]);
    draft.variables = vec![int("total", Value::Null)];
    edit(&mut draft.nodes[1], |activity| {
        activity.stdout = Some(Capture {
            variable: 0,
            parse: Parse::Int,
        });
    });
    let mut bench = Bench::new(well);
    bench.submit(draft.clone());
    let same = forecasts(foreseen(&mut bench, on_base(draft.clone())));
    assert_eq!(same[2], Forecast::Skipped);
    assert!(is_standing(&same[1]) && is_standing(&same[3]), "{same:?}");
    changed(&mut draft, 1);
    let found = foreseen(&mut bench, on_base(draft));
    assert_eq!(found.undecided, [NodeId(2)]);
    assert_eq!(
        forecasts(found)[1..],
        [Forecast::Unknown, Forecast::Unknown, Forecast::Unknown]
    );
}

#[test]
fn a_file_that_one_activity_uses_is_an_input_of_that_one_alone() {
    let mut draft = chain();
    draft.files = vec!["all.sh".to_owned(), "own.sh".to_owned()];
    draft.n_common_files = Some(1);
    edit(&mut draft.nodes[4], |activity| {
        activity.uses = Some(vec![1])
    });
    let file = |content: u8| model::Artifact {
        hash: model::Hash([content; 32]),
        bytes: model::Bytes(1),
        kind: model::ArtifactKind::File,
    };
    let with = |submit: Submit, common: u8, own: u8| Submit {
        files: vec![file(common), file(own)],
        ..submit
    };
    let mut bench = Bench::new(well);
    bench.submit_as(with(submission(KEY, draft.clone()), 1, 2));
    let runs = |bench: &mut Bench, common, own| {
        let submit = with(on_base(draft.clone()), common, own);
        let found = forecasts(foreseen(bench, submit));
        found
            .iter()
            .map(|one| !is_standing(one))
            .collect::<Vec<bool>>()
    };
    assert_eq!(runs(&mut bench, 1, 2), [false, false, false, false]);
    assert_eq!(runs(&mut bench, 1, 3), [false, false, false, true]);
    assert_eq!(runs(&mut bench, 3, 2), [true, true, true, true]);
}
