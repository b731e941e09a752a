//! A command is all processes that it started, with either containment.

use std::fs;
use std::path::{Path, PathBuf};

use model::Span;
use rustix::process::{Signal, kill_process};
use wire::executor::{Exit, HeldBy, Start, ToExecutor};

use crate::bench::{Bench, lives, pid_in, wait_for_end};
use crate::leases::{lease, owned};

/// Rounds of commands that end together.
const ROUNDS: u32 = 50;

/// Leaves its process group, its session and its parent, prints its number, and stays.
const STRAY: &str = "(setsid sh -c 'echo $$; exec sleep 1000' &)";

/// The same without the variable that identifies its executor.
const NAMELESS_STRAY: &str = "(env -i setsid sh -c 'echo $$; exec sleep 1000' &)";

#[test]
fn timeout_ends_what_has_left_the_process_group() {
    for mut bench in Bench::in_both_ways(1) {
        // timeout(1) makes a group of its own for what it runs.
        let start = Start {
            timeout: Some(Span::from_millis(300)),
            ..bench.shell(
                1,
                "trap '' TERM; timeout 300 sh -c 'echo $$; sleep 250'; sleep 1000",
            )
        };
        let ended = bench.run(start);
        assert_eq!(ended.exit, Exit::TimedOut);
        assert!(!lives(pid_in(&ended.stdout.inline)));
    }
}

#[test]
fn processes_outside_the_process_group_may_clean_up_at_a_timeout() {
    for mut bench in Bench::in_both_ways(1) {
        let script = "setsid sh -c 'trap \"echo cleaned; exit 0\" TERM; sleep 1000 & wait' & \
                      trap : TERM; wait; wait";
        let start = Start {
            timeout: Some(Span::from_millis(300)),
            ..bench.shell(1, script)
        };
        let ended = bench.run(start);
        assert_eq!(ended.exit, Exit::TimedOut);
        assert_eq!(ended.stdout.inline, b"cleaned\n");
    }
}

#[test]
fn stray_ends_before_the_outcome_of_its_command_is_told() {
    for mut bench in Bench::in_both_ways(2) {
        // Another running command keeps its own processes.
        let other = bench.shell(9, &format!("{STRAY}; sleep 1000"));
        bench.send(ToExecutor::Start(vec![other]));
        let kept = bench.written_pid(9);
        for (number, stray) in [(1, STRAY), (2, NAMELESS_STRAY)] {
            let start = bench.shell(number, &format!("{stray}; sleep 0.1; exit 3"));
            let ended = bench.run(start);
            assert_eq!(ended.exit, Exit::Exited { code: 3 });
            assert!(!lives(pid_in(&ended.stdout.inline)));
        }
        assert!(lives(kept));
    }
}

#[test]
fn processes_that_fork_and_end_repeatedly_are_killed() {
    for mut bench in Bench::in_both_ways(1) {
        let runner = bench.path().join("runner");
        let text = "echo $$ >> hops; setsid sh ./runner & exit 0";
        fs::write(&runner, text).unwrap();
        let start = Start {
            timeout: Some(Span::from_millis(300)),
            ..bench.shell(1, "setsid sh ./runner; setsid sh ./runner; sleep 1000")
        };
        assert_eq!(bench.run(start).exit, Exit::TimedOut);
        let hops = || fs::read_to_string(bench.path().join("hops")).unwrap();
        let before = hops();
        assert!(before.lines().count() > 5, "{before}");
        // The outcome of another command takes longer than a hop.
        let later = bench.shell(2, "sleep 0.1");
        bench.run(later);
        let hops = fs::read_to_string(bench.path().join("hops")).unwrap();
        assert_eq!(hops, before);
    }
}

#[test]
fn memory_of_a_stray_counts() {
    for mut bench in Bench::in_both_ways(1) {
        let script =
            "(setsid sh -c 'head -c 600000000 /dev/zero | tail -n 1 | wc -c' &); sleep 1000";
        let start = Start {
            memory_bytes_max: Some(64 << 20),
            ..bench.shell(1, script)
        };
        assert_eq!(bench.run(start).exit, Exit::OutOfMemory);
    }
}

#[test]
fn memory_that_processes_share_counts_once() {
    for mut bench in Bench::in_both_ways(1) {
        // Each of the forks has all pages of the shell that holds the text.
        let script = "text=$(head -c 12000000 /dev/zero | tr '\\0' a); \
                      for i in $(seq 16); do (sleep 0.6; echo well) & done; wait";
        let start = Start {
            memory_bytes_max: Some(128 << 20),
            ..bench.shell(1, script)
        };
        let ended = bench.run(start);
        assert_eq!(ended.exit, Exit::Exited { code: 0 });
        assert_eq!(ended.stdout.inline, b"well\n".repeat(16));
    }
}

#[test]
fn limits_of_memory_are_those_of_each_command_of_a_slot() {
    for mut bench in Bench::in_both_ways(1) {
        let hold = "head -c 40000000 /dev/zero | tail -c 40000000 | wc -c";
        for (number, mebibytes) in [(1, Some(16)), (2, Some(64)), (3, Some(16)), (4, None)] {
            let script = format!("{hold}; {hold}; sleep 0.3");
            let start = Start {
                memory_bytes_max: mebibytes.map(|mebibytes: u64| mebibytes << 20),
                ..bench.shell(number, &format!("{hold} | sleep 0.3; {script}"))
            };
            let exit = bench.run(start).exit;
            match mebibytes {
                // If memory is measured, a short peak may pass.
                Some(16) if bench.held_by() == HeldBy::ProcessTree => {}
                Some(16) => assert_eq!(exit, Exit::OutOfMemory),
                _ => assert_eq!(exit, Exit::Exited { code: 0 }),
            }
        }
    }
}

#[test]
fn commands_that_end_together_beside_strays_keep_their_own_ends() {
    for mut bench in Bench::in_both_ways(64) {
        let mut number = 0;
        for _ in 0..ROUNDS {
            // A stray that was killed waits to be collected while commands that began later end.
            let mut batch = |n: u32, script: &str| {
                let starts = (0..n).map(|place| bench.shell(number + place, script));
                let starts = starts.collect();
                number += n;
                ToExecutor::Start(starts)
            };
            let messages = [
                batch(4, "(setsid sleep 1000 &); exit 7"),
                batch(8, "exit 7"),
                batch(8, "exit 7"),
                batch(8, "exit 7"),
                batch(4, "(setsid sleep 1000 &); exit 7"),
                batch(16, "exit 7"),
                batch(8, "exit 7"),
            ];
            messages.into_iter().for_each(|message| bench.send(message));
            for (number, ended) in bench.ended(56) {
                assert_eq!(ended.exit, Exit::Exited { code: 7 }, "{number}");
            }
        }
    }
}

#[test]
fn strays_end_with_a_killed_executor() {
    for mut bench in Bench::in_both_ways(1) {
        let start = bench.shell(1, &format!("{NAMELESS_STRAY}; sleep 1000"));
        bench.send(ToExecutor::Start(vec![start]));
        let stray = bench.written_pid(1);
        bench.kill_executor();
        bench.guardian.wait().unwrap();
        assert!(!lives(stray));
    }
}

#[test]
fn strays_end_with_an_executor_that_lost_its_guardian() {
    for mut bench in Bench::in_both_ways(1) {
        let start = bench.shell(1, &format!("{NAMELESS_STRAY}; sleep 1000"));
        bench.send(ToExecutor::Start(vec![start]));
        let stray = bench.written_pid(1);
        bench.kill_guardian();
        wait_for_end(stray);
    }
}

#[test]
fn next_executor_ends_what_nobody_was_left_to_end() {
    for mut bench in Bench::in_both_ways(1) {
        let start = bench.shell(1, &format!("{STRAY}; sleep 1000"));
        bench.send(ToExecutor::Start(vec![start]));
        let stray = bench.written_pid(1);
        // Both at once: a frozen process gets no messages.
        kill_process(bench.executor, Signal::STOP).unwrap();
        bench.kill_guardian();
        bench.kill_executor();
        wait_for_end(bench.executor);
        assert!(lives(stray));
        let (_, held) = bench.restart(1, Span::from_secs(1_000));
        assert_eq!(held, []);
        assert!(!lives(stray));
    }
}

#[test]
fn frozen_executor_is_ended_when_it_lets_a_lease_run_out() {
    for mut bench in Bench::in_both_ways(1) {
        bench.send(lease(Span::from_millis(300)));
        let start = owned(bench.shell(1, &format!("{STRAY}; sleep 1000")));
        bench.send(ToExecutor::Start(vec![start]));
        let stray = bench.written_pid(1);
        kill_process(bench.executor, Signal::STOP).unwrap();
        bench.guardian.wait().unwrap();
        assert!(!lives(stray));
    }
}

#[test]
fn groups_go_with_their_executor() {
    let mut bench = Bench::new(1);
    let start = bench.start(1, &["cat", "/proc/self/cgroup"]);
    let said = String::from_utf8(bench.run(start).stdout.inline).unwrap();
    if bench.held_by() == HeldBy::ProcessTree {
        println!("skipped: no control group may be made here");
        return;
    }
    let group = said.lines().find_map(|line| line.strip_prefix("0::"));
    let group = group.unwrap().to_owned();
    assert!(group.contains("/slot-0"), "{group}");
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let mount = mounts.lines().find(|line| line.contains(" cgroup2 "));
    let mount = mount.unwrap().split(' ').nth(1).unwrap().to_owned();
    let path = format!("{mount}{group}");
    assert!(fs::exists(&path).unwrap(), "{path}");
    bench.send(ToExecutor::Shutdown);
    bench.guardian.wait().unwrap();
    assert!(!fs::exists(&path).unwrap(), "{path}");
    assert!(!bench.state().join("containment").exists());
}

/// The directories of the slot's groups that a command says it is in.
fn groups_of_slot(said: &[u8]) -> Vec<PathBuf> {
    let said = String::from_utf8(said.to_vec()).unwrap();
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let mounts = mounts.lines().filter(|line| line.contains(" cgroup"));
    let mounts: Vec<&str> = mounts.filter_map(|line| line.split(' ').nth(1)).collect();
    let groups = said.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    let groups = groups.filter(|group| group.contains("/slot-0"));
    let paths = groups.flat_map(|group| mounts.iter().map(move |mount| format!("{mount}{group}")));
    paths
        .map(PathBuf::from)
        .filter(|path| path.exists())
        .collect()
}

fn remove_with_all_below(group: &Path) {
    let entries = fs::read_dir(group).unwrap().map(Result::unwrap);
    for entry in entries.filter(|entry| entry.file_type().unwrap().is_dir()) {
        remove_with_all_below(&entry.path());
    }
    fs::remove_dir(group).unwrap();
}

#[test]
fn groups_that_somebody_else_has_removed_are_made_again() {
    let mut bench = Bench::new(1);
    let mut before = Vec::new();
    for number in 1..=3 {
        let start = Start {
            memory_bytes_max: Some(64 << 20),
            ..bench.start(number, &["cat", "/proc/self/cgroup"])
        };
        let ended = bench.run(start);
        assert_eq!(ended.exit, Exit::Exited { code: 0 });
        let groups = groups_of_slot(&ended.stdout.inline);
        if groups.is_empty() {
            println!("skipped: no control group may be made here");
            return;
        }
        if number > 1 {
            assert_eq!(groups.len(), before.len());
        }
        // First the slot's, as systemd does at a restart of the manager, then their parents too.
        for group in &groups {
            if !group.exists() {
                // Its hierarchy is mounted twice.
                continue;
            }
            match number {
                2 => remove_with_all_below(group.parent().unwrap()),
                _ => fs::remove_dir(group).unwrap(),
            }
        }
        before = groups;
    }
}
