//! Forgetting, looking at what runs, and the submission told again.

use super::*;
use model::{AttemptId, SubmitKey};
use wire::attempt::{End, FromActivity, Log, LogPart, Outcome, Stream as Written, Tail};
use wire::client::Submit;
use wire::executor::Kept;

use crate::Config;
use crate::Retention;

fn tail(attempt: AttemptId) -> Tail {
    Tail {
        attempt,
        stdout_bytes: 3,
        stdout: b"abc".to_vec(),
        stderr_bytes: 0,
        stderr: Vec::new(),
    }
}

#[test]
fn nothing_is_left_of_a_process_that_is_forgotten() {
    let mut bench = Bench::new(well);
    let (process, stream) = (KEY.process(), Stream::Process(KEY.process()));
    assert_eq!(
        bench.answer(Request::Forget(process)),
        Answer::Unknown(process)
    );
    bench.submit(diamond());
    assert!(bench.events.iter().any(|(of, _)| *of == stream));
    assert_eq!(
        bench.answer(Request::Forget(process)),
        Answer::Forgotten(process)
    );
    assert!(!bench.events.iter().any(|(of, _)| *of == stream));
    assert_eq!(
        bench.answer(Request::Status(process)),
        Answer::Unknown(process)
    );
    assert_eq!(bench.answer(Request::List), Answer::Processes(Vec::new()));
    // A late repeat of its submission does not run it again.
    let again = bench.answer(Request::Submit(Box::new(submission(KEY, diamond()))));
    assert!(matches!(again, Answer::Refused(_)));
    bench.restart();
    assert_eq!(
        bench.answer(Request::Status(process)),
        Answer::Unknown(process)
    );
    assert_eq!(bench.started.len(), 4);
}

#[test]
fn a_process_that_has_not_ended_is_not_forgotten() {
    let mut bench = Bench::new(|_| None);
    bench.submit(diamond());
    let answer = bench.answer(Request::Forget(KEY.process()));
    assert!(matches!(answer, Answer::Refused(reasons) if reasons[0].contains("has not ended")));
    assert_eq!(bench.status().summary.phase, Phase::Running);
}

/// The retention time of each listed process, in seconds, sorted.
fn kept(bench: &mut Bench) -> Vec<Option<u64>> {
    let Answer::Processes(all) = bench.answer(Request::List) else {
        panic!("processes are listed");
    };
    let mut all: Vec<_> = all
        .iter()
        .map(|one| one.keep.map(|keep| keep.0 / 1_000_000))
        .collect();
    all.sort_unstable();
    all
}

fn keeping(most: u64) -> Config {
    Config {
        keep: Some(Retention {
            time: Span::from_secs(most),
            processes_max: 10,
            activities_max: 100,
        }),
        ..Config::default()
    }
}

#[test]
fn what_is_over_its_time_is_forgotten_by_a_manager_that_serves_for_long() {
    let mut bench = Bench::of(keeping(3_600), well);
    for (key, said) in (0..).zip([None, Some(0), Some(600), Some(1_000_000)]) {
        bench.submit_as(Submit {
            keep: said.map(Span::from_secs),
            ..submission(SubmitKey(key), diamond())
        });
    }
    // A process is kept for a minute for its last readers, and for no longer than the manager
    // allows.
    let all = [0, 600, 3_600, 3_600].map(Some);
    for (after, from) in [
        (0, 0),
        (59, 0),
        (61, 1),
        (540, 1),
        (660, 2),
        (3_540, 2),
        (3_660, 4),
    ] {
        bench.pass_to(after);
        assert_eq!(kept(&mut bench), all[from..], "after {after} s");
    }
    assert!(bench.events.iter().all(|(of, _)| *of == Stream::Manager));
}

#[test]
fn what_ended_first_is_forgotten_first_where_more_is_kept_than_should_be() {
    let ended = |processes_max, activities_max| {
        let keep = Retention {
            processes_max,
            activities_max,
            time: Span::from_secs(100_000),
        };
        let config = Config {
            keep: Some(keep),
            ..Config::default()
        };
        let mut bench = Bench::of(config, well);
        for key in 0..5 {
            bench.submit_as(submission(SubmitKey(key), diamond()));
            bench.pass(1);
        }
        bench.pass(3_500);
        assert_eq!(kept(&mut bench).len(), 5, "what they made may be fetched");
        bench.pass(200);
        let is_known = |key: &u64| {
            let answer = bench.answer(Request::Status(SubmitKey(*key).process()));
            matches!(answer, Answer::Status(_))
        };
        (0..5).filter(is_known).collect::<Vec<u64>>()
    };
    // Four activities each, in a controller.
    let n_nodes = u32::try_from(diamond().nodes.len()).unwrap();
    assert_eq!(ended(5, 5 * n_nodes), [0, 1, 2, 3, 4]);
    assert_eq!(ended(3, 5 * n_nodes), [2, 3, 4]);
    assert_eq!(ended(5, 5 * n_nodes - 1), [1, 2, 3, 4]);
    assert_eq!(ended(5, n_nodes), [4]);
    assert_eq!(ended(1, 1), [4]);
}

#[test]
fn what_runs_is_kept_and_so_is_all_where_forgetting_is_for_others() {
    let mut bench = Bench::of(keeping(3_600), |_| None);
    bench.submit(diamond());
    bench.pass_to(100_000);
    assert_eq!(kept(&mut bench), [Some(3_600)]);
    let mut bench = Bench::new(well);
    bench.submit(diamond());
    bench.pass_to(100_000);
    assert_eq!(kept(&mut bench), [None]);
}

#[test]
fn what_was_submitted_is_told_with_defaults() {
    let mut bench = Bench::new(|_| None);
    let mut draft = diamond();
    draft.inputs.push(model::Input {
        name: "n".into(),
        kind: Type::Int,
        default: Some(Value::Int(4)),
        minimum: None,
        maximum: None,
    });
    let mut submit = submission(KEY, draft);
    submit.keep = Some(Span::from_secs(7));
    bench.submit_as(submit.clone());
    submit.inputs = vec![("n".into(), Value::Int(4))];
    submit.on_fault = Some(OnFault::Finish);
    let told = bench.answer(Request::Submission(KEY.process()));
    assert_eq!(told, Answer::Submission(Box::new(submit), Vec::new()));
    assert_eq!(bench.status().summary.keep, Some(Span::from_secs(7)));
}

#[test]
fn a_tail_is_answered_by_the_machine_or_refused_in_time() {
    let mut bench = Bench::new(|_| None);
    bench.submit(diamond());
    bench.answers.clear();
    let attempt = *bench.held.keys().next().unwrap();
    bench.ask(Request::Tail(attempt));
    assert!(bench.answers.is_empty());
    let found = FromActivity::Tail(attempt, Some(Box::new(tail(attempt))));
    bench.give(Input::Activity(MACHINE, found.clone()));
    assert_eq!(bench.answers, [Answer::Tail(Box::new(tail(attempt)))]);
    // Nobody asked a second time.
    bench.give(Input::Activity(MACHINE, found));
    assert_eq!(bench.answers.len(), 1);
    let refused = |bench: &mut Bench| matches!(bench.answers.pop(), Some(Answer::Refused(_)));
    bench.ask(Request::Tail(attempt));
    bench.give(Input::Activity(MACHINE, FromActivity::Tail(attempt, None)));
    assert!(refused(&mut bench));
    bench.ask(Request::Tail(attempt));
    bench.now.mono = bench.now.mono + limits::TAIL;
    bench.drive.wake(bench.now);
    bench.carry_out();
    assert!(refused(&mut bench));
    let second = AttemptId {
        number: 2,
        ..attempt
    };
    bench.ask(Request::Tail(second));
    assert!(refused(&mut bench));
    let process = SubmitKey(5).process();
    bench.ask(Request::Tail(AttemptId { process, ..attempt }));
    assert_eq!(bench.answers.pop(), Some(Answer::Unknown(process)));
    // A client that has gone gets no answer, and takes no room.
    bench.answers.clear();
    for _ in 0..3 {
        for number in 0..limits::TAILS_MAX as u64 {
            bench.give(Input::Request(
                ClientId(9),
                Caller::Local,
                number,
                Request::Tail(attempt),
            ));
        }
        bench.give(Input::ClientGone(ClientId(9)));
    }
    assert!(bench.answers.is_empty());
}

#[test]
fn a_part_of_a_log_is_read_on_the_machine_of_the_attempt() {
    let mut bench = Bench::new(|_| None);
    bench.submit(diamond());
    let attempt = *bench.held.keys().next().unwrap();
    let (process, activity) = (attempt.process, attempt.activity);
    let log = |offset| Request::Log {
        process,
        activity,
        attempt,
        stream: Written::Stderr,
        offset,
    };
    let refused = |answer: Answer| matches!(answer, Answer::Refused(_));
    // It runs, so nothing is kept.
    assert!(refused(bench.answer(log(0))));
    let ended = Outcome {
        attempt,
        end: End::Completed,
        started: bench.now.wall,
        wall: Span(5),
        cpu: Span(4),
        peak_memory: model::Bytes(100),
        exit_code: Some(0),
        pid: 9,
        outputs: Vec::new(),
        stdout: None,
        stderr: None,
        log: Some(Log {
            stdout_bytes: 0,
            stdout: Kept::Nowhere,
            stderr_bytes: 10,
            stderr: Kept::File { bytes: 10 },
        }),
    };
    let message = FromActivity::Outcomes(vec![ended]);
    bench.give(Input::Activity(MACHINE, message));
    bench.answers.clear();
    bench.ask(log(0));
    bench.ask(log(7));
    assert!(bench.answers.is_empty());
    let part = |offset, trouble: Option<&str>| LogPart {
        attempt,
        stream: Written::Stderr,
        offset,
        bytes: b"x".to_vec(),
        trouble: trouble.map(str::to_owned),
    };
    let come = |bench: &mut Bench, part: &LogPart| {
        let message = FromActivity::LogPart(Box::new(part.clone()));
        bench.give(Input::Activity(MACHINE, message));
    };
    come(&mut bench, &part(7, None));
    // One number is used for all questions here: the second took the place of the first.
    assert_eq!(bench.answers, [Answer::LogPart(Box::new(part(7, None)))]);
    bench.ask(log(9));
    come(&mut bench, &part(9, Some("gone")));
    assert!(refused(bench.answers.pop().unwrap()));
    let other = Request::Log {
        process,
        activity: model::ActivityId(99),
        attempt,
        stream: Written::Stdout,
        offset: 0,
    };
    assert!(refused(bench.answer(other)));
}

#[test]
fn the_machines_that_are_offered_are_told() {
    let mut bench = Bench::new(well);
    bench.submit(diamond());
    let Answer::Machines(machines) = bench.answer(Request::Machines) else {
        panic!("machines are told")
    };
    assert_eq!(machines.len(), 1);
    assert_eq!(machines[0].resource, MACHINE);
}

#[test]
fn who_watches_a_process_again_takes_one_place() {
    let mut bench = Bench::new(|_| None);
    bench.submit(diamond());
    let watch = Request::Watch(KEY.process());
    for number in 0..2_000 {
        bench.give(Input::Request(
            ClientId(3),
            Caller::Local,
            number,
            watch.clone(),
        ));
        let answer = bench.answers.pop();
        assert!(
            matches!(answer, Some(Answer::Progress(_))),
            "watch {number}: {answer:?}"
        );
    }
    let answer = bench.answer(watch);
    assert!(matches!(answer, Answer::Progress(_)));
}

#[test]
fn a_restored_manager_begins_an_epoch_that_nobody_has_seen() {
    let mut bench = Bench::new(well);
    let last = |bench: &Bench| {
        let mut events = bench.events.iter().rev();
        events.find_map(|(_, event)| {
            let Event::Epoch(epoch) = event else {
                return None;
            };
            Some(*epoch)
        })
    };
    assert_eq!(last(&bench), Some(model::Epoch(1)));
    bench.config.epochs_above = model::Epoch(1_000_000);
    bench.restart();
    assert_eq!(last(&bench), Some(model::Epoch(1_000_001)));
    // The number is recorded: later epochs go on from there.
    bench.config.epochs_above = model::Epoch(0);
    bench.restart();
    assert_eq!(last(&bench), Some(model::Epoch(1_000_002)));
}
