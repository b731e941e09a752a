//! Runs of the executor: linger, shutdown, kills, and the outcomes that the next one finds.

use std::fs;

use activity_executor::{Accounts, ContainmentChoice, Limits, SpawnError, Stream, spawn};
use model::Span;
use rustix::process::{Pid, Signal, kill_process};
use wire::executor::{Exit, Held, Phase, Start, ToExecutor};

use crate::bench::{Bench, Ways, attempt, binary, connect, hello, wait_for_end};

const LONG: Span = Span::from_secs(1_000);

fn phases(held: &[Held]) -> Vec<(u32, &'static str)> {
    let phase = |held: &Held| match &held.phase {
        Phase::Queued => "queued",
        Phase::Running(_) => "running",
        Phase::Ended(ended) if ended.exit == Exit::Abandoned => "abandoned",
        Phase::Ended(_) => "ended",
    };
    held.iter()
        .map(|held| (held.attempt.activity.0, phase(held)))
        .collect()
}

fn three_phases(bench: &mut Bench) -> Pid {
    let starts = vec![
        bench.shell(1, "echo kept"),
        bench.start(2, &["sleep", "1000"]),
        bench.start(3, &["true"]),
    ];
    bench.send(ToExecutor::Start(starts));
    bench.ended(1);
    bench.started(2)
}

#[test]
fn next_connection_is_told_what_is_held() {
    let mut bench = Bench::new(1);
    let instance = {
        let (hello, _) = bench.reconnect(1);
        hello.instance
    };
    let pid = three_phases(&mut bench);
    bench.sender.close().unwrap();
    let (hello, held) = bench.reconnect(1);
    let executor = hello.pid;
    assert_ne!(executor, bench.guardian.id());
    assert_eq!(hello.instance, instance);
    assert_eq!(phases(&held), [(1, "ended"), (2, "running"), (3, "queued")]);
    assert!(
        held.iter()
            .all(|held| held.note == [held.attempt.activity.0 as u8, 42])
    );
    let Phase::Ended(ended) = &held[0].phase else {
        panic!()
    };
    assert_eq!(
        (&ended.stdout.inline[..], &ended.note[..]),
        (&b"kept\n"[..], &[1, 42][..])
    );

    // The executor goes on: forgotten outcomes are not sent again.
    bench.send(ToExecutor::Forget(vec![attempt(1)]));
    bench.send(ToExecutor::Stop(vec![attempt(2)]));
    assert_eq!(bench.ended(2).keys().copied().collect::<Vec<_>>(), [2, 3]);
    wait_for_end(pid);
    let (_, held) = bench.reconnect(1);
    assert_eq!(phases(&held), [(2, "ended"), (3, "ended")]);
}

#[test]
fn newer_connection_replaces_the_older() {
    let mut bench = Bench::new(1);
    let (mut sender, receiver) = connect(bench.path());
    bench.receiver = receiver;
    sender.send(&hello(1)).unwrap();
    bench.held();
    // The old connection is closed.
    let mut failed = false;
    for _ in 0..10_000 {
        failed |= bench.sender.send(&hello(1)).is_err();
    }
    assert!(failed);
    bench.sender = sender;
    let start = bench.shell(1, "echo here");
    assert_eq!(bench.run(start).stdout.inline, b"here\n");
}

#[test]
fn commands_end_when_the_daemon_stays_away_and_outcomes_are_found_again() {
    let mut bench = Bench::with_linger(1, Span::from_millis(100));
    let pid = three_phases(&mut bench);
    bench.sender.close().unwrap();
    assert!(bench.guardian.wait().unwrap().success());
    wait_for_end(pid);
    assert!(!bench.path().join("socket").exists());

    // Queued attempts belong to nobody: they can be sent again.
    let (_, held) = bench.restart(1, Span::from_millis(100));
    assert_eq!(phases(&held), [(1, "ended"), (2, "abandoned")]);
    let Phase::Ended(ended) = &held[0].phase else {
        panic!()
    };
    assert_eq!(bench.log(1, Stream::Stdout, &ended.stdout), b"kept\n");

    // They survive once more, and go when all are forgotten.
    bench.send(ToExecutor::Forget(vec![attempt(1)]));
    bench.sender.close().unwrap();
    let (_, held) = bench.restart(1, LONG);
    assert_eq!(phases(&held), [(2, "abandoned")]);
    assert!(bench.state().join("outcomes").exists());
    bench.send(ToExecutor::Forget(vec![attempt(2)]));
    // The answer to this comes after the forgetting.
    let start = bench.start(3, &["true"]);
    bench.run(start);
    assert!(!bench.state().join("outcomes").exists());
}

#[test]
fn termination_and_shutdown_keep_outcomes_too() {
    let mut bench = Bench::new(1);
    three_phases(&mut bench);
    kill_process(bench.executor, Signal::TERM).unwrap();
    let (_, held) = bench.restart(1, LONG);
    assert_eq!(phases(&held), [(1, "ended"), (2, "abandoned")]);
    bench.send(ToExecutor::Forget(vec![attempt(1), attempt(2)]));

    let stubborn = bench.shell(4, "trap '' TERM; echo $$; while :; do sleep 0.1; done");
    bench.send(ToExecutor::Start(vec![stubborn]));
    let pid = bench.written_pid(4);
    bench.send(ToExecutor::Shutdown);
    assert!(bench.guardian.wait().unwrap().success());
    wait_for_end(pid);
    let (_, held) = bench.restart(1, LONG);
    assert_eq!(phases(&held), [(4, "abandoned")]);
}

#[test]
fn executor_that_nobody_connects_to_ends() {
    let directory = tempfile::tempdir().unwrap();
    let ways = Ways {
        linger: Span::from_millis(50),
        ..Ways::default()
    };
    let mut executor = ways.start(directory.path());
    assert!(executor.wait().unwrap().success());
    assert!(!directory.path().join("state/outcomes").exists());
}

#[test]
fn state_directory_belongs_to_one_executor() {
    let bench = Bench::new(1);
    let socket = bench.path().join("other");
    let other = activity_executor::Spawn {
        binary: binary(),
        socket: &socket,
        state: &bench.state(),
        linger: None,
        kill_grace: None,
        pace: None,
        stream_bytes_max: None,
        accounts: &Accounts::default(),
        work: None,
        containment: ContainmentChoice::Best,
        limits: &Limits::default(),
    };
    let error = spawn(&other).unwrap_err();
    assert!(matches!(error, SpawnError::Refused { .. }));
    assert!(
        error.to_string().ends_with("another executor uses it"),
        "{error}"
    );

    let long = bench.path().join("x".repeat(120));
    let error = spawn(&activity_executor::Spawn {
        socket: &long,
        state: &bench.path().join("other-state"),
        ..other.clone()
    });
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("could not listen on")
    );
    let error = spawn(&activity_executor::Spawn {
        binary: "/nowhere".as_ref(),
        ..other
    });
    assert!(matches!(error, Err(SpawnError::Start { .. })));
}

#[test]
fn socket_of_a_killed_executor_is_replaced() {
    let mut bench = Bench::new(1);
    bench.kill_executor();
    bench.guardian.wait().unwrap();
    assert!(bench.path().join("socket").exists());
    bench.restart(1, LONG);
    let mode = fs::metadata(bench.path().join("socket")).unwrap();
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&mode.permissions()) & 0o777,
        0o600
    );
    let start: Start = bench.shell(1, "echo again");
    assert_eq!(bench.run(start).stdout.inline, b"again\n");
}
