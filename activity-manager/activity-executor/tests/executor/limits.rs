//! The ends of commands that do not end by themselves: timeouts, stops, limits.

use model::Span;
use wire::executor::{Exit, FromExecutor, Start, ToExecutor};

use crate::bench::{Bench, attempt, pid_in, wait_for_end};

#[test]
fn timeout_ends_the_whole_group() {
    let mut bench = Bench::new(1);
    // The group ignores TERM, so that it takes KILL as well.
    let start = Start {
        timeout: Some(Span::from_millis(300)),
        ..bench.shell(
            1,
            "trap '' TERM; sh -c 'echo $$; sleep 1000; touch late'; sleep 1000",
        )
    };
    let ended = bench.run(start);
    assert_eq!(ended.exit, Exit::TimedOut);
    assert!(
        ended.wall >= Span::from_millis(400),
        "TERM, 100 ms, KILL: {}",
        ended.wall
    );
    wait_for_end(pid_in(&ended.stdout.inline));
    assert!(!bench.path().join("late").exists());
}

#[test]
fn remaining_processes_of_a_command_are_killed() {
    let mut bench = Bench::new(1);
    let start = bench.shell(1, "sleep 1000 & echo $!");
    let ended = bench.run(start);
    assert_eq!(ended.exit, Exit::Exited { code: 0 });
    wait_for_end(pid_in(&ended.stdout.inline));
}

#[test]
fn stop_lets_a_command_clean_up() {
    let mut bench = Bench::new(1);
    let script = "trap 'echo cleaned; exit 3' TERM; echo $$; while :; do sleep 0.02; done";
    let queued = bench.start(2, &["true"]);
    let first = bench.shell(1, script);
    bench.send(ToExecutor::Start(vec![first, queued]));
    bench.written_pid(1);
    // Queued or unknown attempts are taken back; running ones end.
    bench.send(ToExecutor::Stop(vec![attempt(2), attempt(3), attempt(1)]));
    let retracted = loop {
        if let FromExecutor::Retracted(retracted) = bench.next() {
            break retracted;
        }
    };
    assert_eq!(retracted, [attempt(2), attempt(3)]);
    let ended = bench.ended(1);
    assert_eq!(ended[&1].exit, Exit::Stopped);
    assert!(ended[&1].stdout.inline.ends_with(b"cleaned\n"));
}

#[test]
fn memory_is_counted_over_the_descendants() {
    let mut bench = Bench::new(2);
    // tail keeps what may be the last line: all of it.
    let script = "head -c 600000000 /dev/zero | tail -n 1 | wc -c; sleep 1000";
    let greedy = Start {
        memory_bytes_max: Some(60 << 20),
        ..bench.shell(1, script)
    };
    let modest = Start {
        memory_bytes_max: Some(60 << 20),
        ..bench.shell(2, "sleep 0.3")
    };
    bench.send(ToExecutor::Start(vec![greedy, modest]));
    let ended = bench.ended(2);
    assert_eq!(ended[&1].exit, Exit::OutOfMemory);
    assert_eq!(ended[&2].exit, Exit::Exited { code: 0 });
}

#[test]
fn cores_are_never_exceeded_and_order_is_kept() {
    let mut bench = Bench::new(3);
    // Each records how many cores are held while it runs: a file for each core.
    let script = "for i in $(seq $XAVANTES_CORES); do touch held.$$.$i; done; ls held.* | wc -l; \
                  sleep 0.02; rm held.$$.*";
    let starts: Vec<Start> = (0..30)
        .map(|n| Start {
            cores: 1 + n % 3,
            ..bench.shell(n, script)
        })
        .collect();
    bench.send(ToExecutor::Start(starts));
    for ended in bench.ended(30).values() {
        let held: u32 = String::from_utf8_lossy(&ended.stdout.inline)
            .trim()
            .parse()
            .unwrap();
        assert!((1..=3).contains(&held), "{ended:?}");
    }
}

#[test]
fn commands_die_with_a_killed_executor() {
    let mut bench = Bench::new(1);
    let start = bench.start(1, &["sleep", "1000"]);
    bench.send(ToExecutor::Start(vec![start]));
    let pid = bench.started(1);
    bench.kill_executor();
    wait_for_end(pid);
    let (_, held) = bench.restart(1, Span::from_secs(1_000));
    assert_eq!(held, []);
}

#[test]
fn writer_that_is_read_slowly_is_not_cut() {
    let mut bench = Bench::new(1);
    let slow = bench.shell(1, "for i in 1 2 3; do echo $i; sleep 0.05; done");
    let ended = bench.run(slow);
    assert_eq!(ended.stdout.inline, b"1\n2\n3\n");
    assert!(ended.wall >= Span::from_millis(100));
}
