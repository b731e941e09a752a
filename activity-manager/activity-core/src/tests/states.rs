//! The effect of each input in each state of an attempt, and the judgement of ends.

use model::limits::STAGED_MAX;
use model::{FaultName, Span};
use wire::attempt::{CAPTURE_BYTES_MAX, Dispatch, End, ToActivity};
use wire::executor::{Captured, ContainerKind, Exit, FromExecutor, Made, MadeKind, ToExecutor};

use super::bench::{
    Bench, artifact, dispatch, ended, from_pm, hello, id, job, job_with_output, note, pair, show,
    staged, started,
};
use crate::attempt::AttemptState;
use crate::outcome::{Verdict, judge};
use crate::record::Note;
use crate::{Effect, Input, Trouble, Workplace};

const STATES: [&str; 8] = [
    "-",
    "Waiting",
    "Staging",
    "Staged",
    "Queued",
    "Running",
    "Collecting",
    "Ended",
];

/// Attempt a1 in a state, on a machine of one slot.
fn bench_in(state: &str) -> (Bench, Vec<u8>) {
    // Attempt a0 holds the slot if a1 must not be sent to the executor.
    let mut bench = Bench::ready(1, 0);
    let one = || dispatch(vec![job_with_output(id(1))]);
    let mut bytes = Vec::new();
    match state {
        "-" => {}
        "Waiting" => {
            bench.feed(dispatch(vec![job(id(0))]));
            bench.feed(one());
        }
        "Staging" => {
            bench.feed(one());
        }
        "Staged" => {
            bench.feed(Input::ExecutorDown);
            bench.feed(one());
            bench.feed(staged(id(1)));
        }
        _ => {
            bench.feed(one());
            bytes = note(&bench.feed(staged(id(1))));
        }
    }
    if ["Running", "Collecting", "Ended"].contains(&state) {
        bench.feed(Input::Executor(FromExecutor::Started(vec![started(id(1))])));
    }
    if ["Collecting", "Ended"].contains(&state) {
        bench.feed(exited(0, &bytes));
    }
    if state == "Ended" {
        bench.feed(Input::Collected {
            attempt: id(1),
            result: Ok(vec![artifact()]),
        });
    }
    assert_eq!(state_of(&bench), state);
    (bench, bytes)
}

fn state_of(bench: &Bench) -> &'static str {
    let attempt = bench.drive.machine().attempts.get(id(1));
    STATES[match attempt.map(|attempt| &attempt.state) {
        None => 0,
        Some(AttemptState::Waiting(_)) => 1,
        Some(AttemptState::Staging(_)) => 2,
        Some(AttemptState::Staged(_)) => 3,
        Some(AttemptState::Queued(_)) => 4,
        Some(AttemptState::Running { .. }) => 5,
        Some(AttemptState::Collecting(_)) => 6,
        Some(AttemptState::Ended(_)) => 7,
    }]
}

fn exited(code: u8, note: &[u8]) -> Input {
    Input::Executor(FromExecutor::Ended(vec![ended(
        id(1),
        Exit::Exited { code },
        note,
    )]))
}

fn trouble() -> Trouble {
    Trouble {
        name: FaultName::Staging,
        message: "no room".to_owned(),
    }
}

type Named = (&'static str, fn(&[u8]) -> Vec<Input>);

/// Every kind of input that can concern an attempt.
const INPUTS: [Named; 14] = [
    ("dispatch", |_| vec![dispatch(vec![job_with_output(id(1))])]),
    ("stop", |_| vec![from_pm(ToActivity::Stop(vec![id(1)]))]),
    ("retract", |_| {
        vec![from_pm(ToActivity::Retract(vec![id(1)]))]
    }),
    ("acknowledge", |_| {
        vec![from_pm(ToActivity::Acknowledge(vec![id(1)]))]
    }),
    ("staged", |_| vec![staged(id(1))]),
    ("not staged", |_| {
        vec![Input::Staged {
            attempt: id(1),
            result: Err(trouble()),
        }]
    }),
    ("started", |_| {
        vec![Input::Executor(FromExecutor::Started(vec![started(id(1))]))]
    }),
    ("ended well", |note| vec![exited(0, note)]),
    ("ended badly", |note| vec![exited(3, note)]),
    ("executor retracted", |_| {
        vec![Input::Executor(FromExecutor::Retracted(vec![id(1)]))]
    }),
    ("executor refused", |_| {
        vec![Input::Executor(FromExecutor::Refused(vec![id(1)]))]
    }),
    ("collected", |_| {
        vec![Input::Collected {
            attempt: id(1),
            result: Ok(vec![artifact()]),
        }]
    }),
    ("not collected", |_| {
        vec![Input::Collected {
            attempt: id(1),
            result: Err(trouble()),
        }]
    }),
    ("another executor", |_| {
        let messages = [hello(2), FromExecutor::HeldEnd];
        messages.into_iter().map(Input::Executor).collect()
    }),
];

#[test]
fn every_state_meets_every_input() {
    let mut table = String::new();
    for state in STATES {
        for (name, inputs) in INPUTS {
            let (mut bench, note) = bench_in(state);
            let mut effects = Vec::new();
            for input in inputs(&note) {
                effects.extend(bench.feed(input));
            }
            // The hello to each executor does not concern the attempt.
            effects.retain(|effect| !matches!(effect, Effect::Execute(ToExecutor::Hello(_))));
            let effects = show(&effects).trim_end().replace('\n', "; ");
            let line = format!("{state} + {name} = {}: {effects}", state_of(&bench));
            table.push_str(line.trim_end_matches([' ', ':']));
            table.push('\n');
        }
    }
    let expected = include_str!("states.txt");
    assert!(table == expected, "the table is\n{table}");
}

#[test]
fn a_start_carries_the_whole_command() {
    let mut bench = Bench::ready(2, 0);
    let mut wanted = Dispatch {
        wants_stdout: true,
        cores: 2,
        ..job_with_output(id(1))
    };
    wanted.env = vec![pair("X", "1")];
    wanted.user = Some("ana".to_owned());
    wanted.stdin = wire::attempt::Stdin::Text("hi".to_owned());
    wanted.timeout = Some(Span::from_secs(3));
    wanted.inputs = vec![("in/".to_owned(), artifact())];
    let stage = bench.feed(dispatch(vec![wanted]));
    assert_eq!(show(&stage), "stage a1 in/\n");
    let effects = bench.feed(staged(id(1)));
    let Effect::Execute(ToExecutor::Start(starts)) = &effects[0] else {
        panic!("{effects:?}")
    };
    let start = &starts[0];
    assert_eq!(
        start.env,
        [pair("PATH", "/bin"), pair("HOME", "/ana"), pair("X", "1")]
    );
    assert_eq!(start.user.as_deref(), Some("ana"));
    assert_eq!(start.directory, "/w/a1");
    assert_eq!(start.stdin, wire::executor::Stdin::Bytes(b"hi".to_vec()));
    assert_eq!(
        (start.cores, start.nice, start.timeout),
        (2, Some(5), Some(Span::from_secs(3)))
    );
    assert_eq!(
        (start.stdout_inline_max, start.stderr_inline_max),
        (CAPTURE_BYTES_MAX, 4_096)
    );
    let note = Note::read(&start.note).unwrap();
    assert_eq!(
        (note.cores, note.directory.as_str(), note.outputs.len()),
        (2, "/w/a1", 1)
    );
}

#[test]
fn the_programs_of_an_environment_come_first_in_the_path() {
    for (env, path) in [
        (Vec::new(), "/opt/x/bin:/bin"),
        (vec![pair("PATH", "/own")], "/opt/x/bin:/own"),
    ] {
        let mut bench = Bench::ready(2, 0);
        let wanted = Dispatch {
            env,
            activation: Some(model::Activation::Path("/opt/x/".to_owned())),
            ..job(id(1))
        };
        bench.feed(dispatch(vec![wanted]));
        let effects = bench.feed(staged(id(1)));
        let Effect::Execute(ToExecutor::Start(starts)) = &effects[0] else {
            panic!("{effects:?}")
        };
        assert!(starts[0].env.contains(&pair("PATH", path)), "{starts:?}");
        assert_eq!(starts[0].needs.as_deref(), Some("/opt/x/bin"));
    }
}

#[test]
fn the_executor_is_told_what_an_environment_is_made_of() {
    let venv = model::Activation::Venv("r.txt".to_owned());
    let conda = model::Activation::Conda("e.yaml".to_owned());
    for (activation, kind, file) in [
        (venv, MadeKind::Venv, "r.txt"),
        (conda, MadeKind::Conda, "e.yaml"),
    ] {
        let mut bench = Bench::ready(2, 0);
        let wanted = Dispatch {
            activation: Some(activation),
            ..job(id(1))
        };
        bench.feed(dispatch(vec![wanted]));
        let effects = bench.feed(staged(id(1)));
        let Effect::Execute(ToExecutor::Start(starts)) = &effects[0] else {
            panic!("{effects:?}")
        };
        let made = Made {
            kind,
            file: file.to_owned(),
            root: "/am/work/environments".to_owned(),
        };
        assert_eq!(starts[0].made, Some(made));
        assert!(starts[0].env.contains(&pair("PATH", "/bin")), "{starts:?}");
        assert_eq!(starts[0].needs, None);
    }
}

#[test]
fn the_executor_is_told_of_a_container_and_its_variables() {
    for (image, kind) in [
        ("/opt/image", ContainerKind::Bwrap),
        ("alpine:3.20", ContainerKind::Podman),
    ] {
        let mut bench = Bench::ready(2, 0);
        let container = model::Container {
            image: image.to_owned(),
            has_network: true,
        };
        let wanted = Dispatch {
            activation: Some(model::Activation::Container(container)),
            env: vec![pair("HOME", "/job/home")],
            ..job(id(1))
        };
        bench.feed(dispatch(vec![wanted]));
        let effects = bench.feed(staged(id(1)));
        let Effect::Execute(ToExecutor::Start(starts)) = &effects[0] else {
            panic!("{effects:?}")
        };
        let container = starts[0].container.as_ref().unwrap();
        assert_eq!((container.kind, container.has_network), (kind, true));
        assert_eq!(
            (container.image.as_str(), container.search_path.as_str()),
            (image, "/bin")
        );
        // An executor that knows of no containers runs nothing.
        assert_eq!(container.command, job(id(1)).command);
        assert!(starts[0].program.is_empty());
        // What the definition sets stays; the machine's own directories are none of the container's.
        let value = |name: &str| {
            let mut own = starts[0].env.iter().filter(|(known, _)| known == name);
            let (_, value) = own.next().unwrap();
            assert_eq!(own.next(), None);
            value.as_str()
        };
        assert_eq!((value("HOME"), value("TMPDIR")), ("/job/home", "/tmp"));
        match kind {
            ContainerKind::Bwrap => assert!(value("PATH").ends_with(":/sbin:/bin")),
            // An image says itself where its programs are.
            ContainerKind::Podman => assert!(starts[0].env.iter().all(|(name, _)| name != "PATH")),
        }
        assert_eq!(container.env, [pair("HOME", "/home")]);
    }
}

#[test]
fn attempts_that_cannot_run_here_fail_at_once() {
    let mut bench = Bench::ready(2, 0);
    let big = "x".repeat(crate::DISPATCH_BYTES_MAX);
    let jobs = vec![
        Dispatch {
            command: Vec::new(),
            ..job(id(1))
        },
        Dispatch {
            cores: 3,
            ..job(id(2))
        },
        Dispatch {
            stdin: wire::attempt::Stdin::Text(big),
            ..job(id(3))
        },
    ];
    assert_eq!(
        show(&bench.feed(dispatch(jobs))),
        "pm0: outcomes a1 not-started: the command line is empty, \
         a2 no-resource: needs 3 cores; this machine has 2, \
         a3 too-large: command line, environment and stdin take 8.0 MiB; at most 8.0 MiB may be \
         sent\n"
    );
}

#[test]
fn inputs_do_not_count_as_what_the_executor_is_sent() {
    let with = |number: u32, n_inputs: usize| {
        let artifact = artifact();
        let inputs = (0..n_inputs).map(|place| (format!("parts/{place:06}.txt"), artifact));
        Dispatch {
            inputs: inputs.collect(),
            ..job(id(number))
        }
    };
    let mut bench = Bench::ready(2, 0);
    let shown = show(&bench.feed(dispatch(vec![with(1, STAGED_MAX)])));
    assert!(shown.starts_with("stage a1"), "{shown}");
    assert_eq!(
        show(&bench.feed(dispatch(vec![with(2, STAGED_MAX + 1)]))),
        "pm0: outcomes a2 too-large: has 265537 input files; at most 265536\n"
    );
}

fn verdict(exit: Exit, stdout: Captured) -> String {
    let note = Note {
        directory: "/w".to_owned(),
        wants_stdout: true,
        ..Note::default()
    };
    let ended = wire::executor::Ended {
        stdout,
        ..ended(id(1), exit, b"")
    };
    match judge(ended, Some(&note)) {
        Verdict::Report(outcome) => {
            let end = match &outcome.end {
                End::Failed(failure) => {
                    assert_eq!(failure.directory, "/w");
                    assert_eq!(failure.stderr_tail, "oops");
                    format!("{}: {}", failure.name, failure.message)
                }
                End::Completed | End::Stopped | End::Lost | End::Lacking(_) => {
                    format!("{:?}", outcome.end)
                }
            };
            format!(
                "{end} {:?} {:?}",
                outcome.exit_code,
                outcome.stdout.map(|bytes| bytes.len())
            )
        }
        Verdict::Collect(_) => "collect".to_owned(),
    }
}

#[test]
fn ends_are_told_in_words() {
    let none = Captured::default;
    let check = |exit, expected: &str| assert_eq!(verdict(exit, none()), expected);
    check(Exit::Exited { code: 0 }, "Completed Some(0) Some(0)");
    check(
        Exit::Exited { code: 3 },
        "exit-code: exited with status 3 Some(3) None",
    );
    check(
        Exit::Signaled { signal: 11 },
        "exit-code: killed by signal 11 (SIGSEGV) None None",
    );
    check(
        Exit::Signaled { signal: 40 },
        "exit-code: killed by signal 40 None None",
    );
    check(
        Exit::TimedOut,
        "timeout: ran longer than its timeout; killed after 20µs None None",
    );
    check(
        Exit::OutOfMemory,
        "out-of-memory: used more memory than it may; killed None None",
    );
    check(Exit::Stopped, "Stopped None None");
    check(Exit::Abandoned, "Stopped None None");
    let message = "no such program: fo".to_owned();
    check(
        Exit::NotStarted { errno: 2, message },
        "not-started: no such program: fo None None",
    );
    let cut = Captured {
        bytes: 3 << 20,
        inline: vec![b'x'; 1 << 20],
        ..none()
    };
    assert_eq!(
        verdict(Exit::Exited { code: 0 }, cut),
        "too-large: wrote 3145728 bytes to stdout; at most 1048576 (1.0 MiB) can go into a variable \
         Some(0) None"
    );
}

#[test]
fn the_tail_of_stderr_is_text_and_bounded() {
    let long = "é".repeat(5_000);
    let tail = crate::outcome::tail(&long.as_bytes()[1..]);
    assert!(tail.len() <= 4_096 && tail.chars().all(|letter| letter == 'é'));
    let odd = crate::outcome::tail(&[&long.as_bytes()[..9_999], b"x"].concat());
    assert!(odd.starts_with('é') && odd.ends_with('x'));
    assert_eq!(crate::outcome::tail(b"a\xffb"), "a\u{fffd}b");
}

#[test]
fn a_missing_output_is_a_fault_with_the_directory() {
    let (mut bench, _) = bench_in("Collecting");
    let effects = bench.feed(Input::Collected {
        attempt: id(1),
        result: Ok(Vec::new()),
    });
    assert_eq!(
        show(&effects),
        "pm0: outcomes a1 missing-output: 0 of 1 outputs were kept\n"
    );
    let effects = bench.feed(from_pm(ToActivity::Acknowledge(vec![id(1)])));
    assert_eq!(
        show(&effects),
        "executor: forget a1\n",
        "the directory stays for the user"
    );
}

#[test]
fn a_directory_that_comes_after_the_end_is_cleared() {
    let (mut bench, _) = bench_in("Staging");
    bench.feed(from_pm(ToActivity::Retract(vec![id(1)])));
    let directory = "/w/late".to_owned();
    let late = Input::Staged {
        attempt: id(1),
        result: Ok(Workplace { directory }),
    };
    assert_eq!(show(&bench.feed(late)), "clear a1 /w/late\n");
}

#[test]
fn a_waiting_attempt_is_small() {
    assert!(size_of::<crate::attempt::Attempt>() <= 88);
}

#[test]
fn attempts_stopped_before_their_start_have_an_outcome() {
    let (mut bench, _) = bench_in("Queued");
    bench.feed(from_pm(ToActivity::Stop(vec![id(1)])));
    let effects = bench.feed(Input::Executor(FromExecutor::Retracted(vec![id(1)])));
    assert_eq!(show(&effects), "pm0: outcomes a1 stopped\n");
}
