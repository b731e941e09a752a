//! Commands that get only a share of the time.

use activity_executor::Pace;
use model::{PowerSteps, Span};
use rustix::process::{Signal, kill_process};
use wire::executor::{Exit, FromExecutor, Start, ToExecutor};

use crate::bench::{Bench, attempt, pid_in, wait_for_end};

/// A shell that counts: it needs a core all the time.
const BUSY: &str = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done";

fn share(part: f64) -> Pace {
    Pace::new(PowerSteps::constant(part).unwrap()).unwrap()
}

#[test]
fn busy_command_has_its_share_of_the_time() {
    let mut bench = Bench::slowed(1, share(0.25));
    let ended = bench.run(bench.shell(1, BUSY));
    assert_eq!(ended.exit, Exit::Exited { code: 0 });
    let cpu = ended.cpu_user + ended.cpu_system;
    // A first turn is free, and other programs may have taken some time as well: never less.
    assert!(cpu > Span::from_millis(30), "too short to tell: {cpu}");
    let free = Span::from_millis(20);
    assert!(
        ended.wall.0 >= 3 * (cpu - free).0,
        "{cpu} of CPU within {}",
        ended.wall
    );
}

#[test]
fn descendants_are_slowed_with_their_command() {
    let mut bench = Bench::slowed(1, share(0.25));
    let ended = bench.run(bench.shell(1, &format!("(sh -c '{BUSY}'); true")));
    let cpu = ended.cpu_user + ended.cpu_system;
    assert!(cpu > Span::from_millis(30), "too short to tell: {cpu}");
    assert!(ended.wall.0 >= 3 * (cpu - Span::from_millis(20)).0);
}

#[test]
fn deadline_ends_a_slowed_command() {
    let mut bench = Bench::slowed(1, share(Pace::SHARE_MIN));
    let start = Start {
        timeout: Some(Span::from_millis(200)),
        ..bench.shell(1, "while :; do :; done")
    };
    // It is stopped for a second at a time.
    let ended = bench.run(start);
    assert_eq!(ended.exit, Exit::TimedOut);
    assert!(ended.wall < Span::from_millis(900), "{}", ended.wall);
}

#[test]
fn slowed_command_that_is_ended_may_clean_up() {
    // It is stopped for a quarter of a second at a time, and killed a tenth of a second after TERM.
    let mut bench = Bench::slowed(1, share(0.004));
    let script = "trap 'echo cleaned; exit 3' TERM; echo $$; while :; do :; done";
    let start = bench.shell(1, script);
    bench.send(ToExecutor::Start(vec![start]));
    bench.written_pid(1);
    bench.send(ToExecutor::Stop(vec![attempt(1)]));
    let ended = bench.ended(1);
    assert_eq!(ended[&1].exit, Exit::Stopped);
    assert!(ended[&1].stdout.inline.ends_with(b"cleaned\n"));
}

#[test]
fn stopped_group_is_killed_with_its_command() {
    let mut bench = Bench::slowed(1, share(0.004));
    let script = "sh -c 'trap \"\" TERM; echo $$; while :; do :; done'";
    let start = bench.shell(1, script);
    bench.send(ToExecutor::Start(vec![start]));
    let pid = bench.written_pid(1);
    bench.send(ToExecutor::Stop(vec![attempt(1)]));
    assert_eq!(bench.ended(1)[&1].exit, Exit::Stopped);
    wait_for_end(pid);
}

#[test]
fn slowed_command_that_sleeps_is_hardly_slower() {
    let mut bench = Bench::slowed(1, share(0.5));
    let ended = bench.run(bench.start(1, &["sleep", "0.3"]));
    assert_eq!(ended.exit, Exit::Exited { code: 0 });
    assert!(ended.wall >= Span::from_millis(290), "{}", ended.wall);
}

#[test]
fn slowed_commands_die_with_a_killed_executor() {
    let mut bench = Bench::slowed(1, share(0.004));
    let start = bench.shell(1, "echo $$; while :; do :; done");
    bench.send(ToExecutor::Start(vec![start]));
    let pid = bench.written_pid(1);
    bench.kill_executor();
    wait_for_end(pid);
}

#[test]
fn command_that_was_continued_by_others_is_still_slowed() {
    let mut bench = Bench::slowed(1, share(0.25));
    let start = bench.shell(1, &format!("echo $$; {BUSY}"));
    bench.send(ToExecutor::Start(vec![start]));
    let pid = bench.written_pid(1);
    // A process that has ended needs no signal.
    let _ = kill_process(pid, Signal::CONT);
    let ended = loop {
        if let FromExecutor::Ended(ended) = bench.next() {
            break ended;
        }
    };
    assert_eq!(ended[0].exit, Exit::Exited { code: 0 });
    assert_eq!(pid_in(&ended[0].stdout.inline), pid);
}
