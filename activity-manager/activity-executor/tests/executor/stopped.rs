//! An attacker of the same account stops a child between its change to that account and its
//! program: a loop of signals to the next process numbers.

use std::fs::{self, Permissions};
use std::io::Write;
use std::ops::RangeFrom;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use activity_executor::{Account, Accounts};
use model::Span;
use rustix::process::{Pid, Signal, kill_process};
use wire::executor::{Exit, Start, ToExecutor};

use crate::bench::{Bench, attempt, first_user, wait_for_end};

const ROUNDS: u32 = 20;

/// Children of a round that the attacker may miss.
const VICTIMS: u32 = 1_000;

/// Longer than the executor waits for a stopped child.
const TIMEOUT: Span = Span::from_secs(20);

/// Makes this program the attacker.
const ATTACKER: &str = "XAVANTES_TEST_STOPS";

/// Directories in which a child searches its program in vain, one system call each: for
/// milliseconds it has its account and not its program, which it never finds. So a stopped one is
/// stopped there.
const SEARCHED: usize = 4_000;

/// Process numbers after the newest one that the attacker tries.
const NUMBERS: i32 = 16;

#[test]
fn child_that_another_of_its_account_stops_is_killed_and_delays_nobody() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: needs root");
        return;
    }
    // Other processes of the same user would be stopped as well.
    let user = first_user(30);
    let accounts = Accounts {
        others: Account::of_range(&format!("{user}..{user}")).unwrap().pop(),
        ..Accounts::default()
    };
    let mut bench = Bench::with_accounts(ROUNDS + 2, &accounts);
    fs::set_permissions(bench.path(), Permissions::from_mode(0o711)).unwrap();
    let program = bench.path().join("attacker");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let mut numbers = 1..;
    let stopped: Vec<u32> = (0..ROUNDS)
        .map(|_| stopped(&mut bench, &program, &mut numbers))
        .collect();
    for victim in stopped {
        let ended = bench.end_of(&[victim]);
        assert_eq!(ended.exit, Exit::Stuck);
        assert!(ended.wall >= Span::from_secs(2), "{ended:?}");
        assert!(ended.wall < TIMEOUT, "{ended:?}");
        wait_for_end(Pid::from_raw(ended.pid as i32).unwrap());
    }
}

/// A round: an attacker, commands until it has stopped one of them, and one that ends meanwhile.
/// Returns the stopped one.
fn stopped(bench: &mut Bench, program: &Path, numbers: &mut RangeFrom<u32>) -> u32 {
    let mut next = || numbers.next().expect("there are more than rounds");
    let module = module_path!().split_once("::").unwrap().1;
    let name = format!("{module}::attacker");
    let words = [program.to_str().unwrap(), "--exact", &name, "--nocapture"];
    let attacker = next();
    let mut start = in_own_directory(bench, bench.start(attacker, &words));
    start.env.push((ATTACKER.to_owned(), "1".to_owned()));
    bench.send(ToExecutor::Start(vec![start]));
    bench.until_it_writes(attacker, "ready");

    let searched = (0..SEARCHED).map(|number| format!("/nowhere/{number}:"));
    let path = searched.collect::<String>();
    for _ in 0..VICTIMS {
        let victim = next();
        let start = Start {
            env: vec![("PATH".to_owned(), path.clone())],
            timeout: Some(TIMEOUT),
            ..bench.start(victim, &["not-there"])
        };
        let start = in_own_directory(bench, start);
        bench.send(ToExecutor::Start(vec![start]));
        // The attacker ends when it has stopped one.
        let ended = bench.end_of(&[attacker, victim]);
        if ended.attempt == attempt(attacker) {
            let said = String::from_utf8_lossy(&ended.stdout.inline);
            let pid = bench.started(victim).as_raw_nonzero();
            assert!(said.contains(&format!("stopped {pid}\n")), "{pid}: {said}");
            let other = next();
            let start = in_own_directory(bench, bench.start(other, &["true"]));
            bench.send(ToExecutor::Start(vec![start]));
            assert_eq!(bench.end_of(&[other]).exit, Exit::Exited { code: 0 });
            return victim;
        }
    }
    panic!("none of {VICTIMS} children was stopped");
}

fn in_own_directory(bench: &Bench, start: Start) -> Start {
    let number = start.attempt.activity.0.to_string();
    let directory = bench.path().join("process").join(number);
    fs::create_dir_all(&directory).unwrap();
    fs::set_permissions(&directory, Permissions::from_mode(0o700)).unwrap();
    Start {
        directory: directory.to_str().unwrap().to_owned(),
        ..start
    }
}

/// Stops the first process of its account that begins after it, prints its number, and ends. The
/// test above runs it as another account; among the other tests it does nothing.
#[test]
fn attacker() {
    if std::env::var_os(ATTACKER).is_none() {
        return;
    }
    let own: Vec<i32> = fs::read_dir("/proc/self/task")
        .unwrap()
        .map(|thread| {
            thread
                .unwrap()
                .file_name()
                .to_str()
                .unwrap()
                .parse()
                .unwrap()
        })
        .collect();
    let mut out = std::io::stdout();
    writeln!(out, "ready").unwrap();
    loop {
        // The last of its numbers is that of the newest process or thread.
        let load = fs::read_to_string("/proc/loadavg").unwrap();
        let newest: i32 = load.rsplit(' ').next().unwrap().trim().parse().unwrap();
        for number in newest..newest + NUMBERS {
            let other = Pid::from_raw(number).filter(|_| !own.contains(&number));
            if let Some(pid) = other
                && kill_process(pid, Signal::STOP).is_ok()
                && becomes_stopped(number)
            {
                return writeln!(out, "stopped {number}").unwrap();
            }
        }
    }
}

/// Returns true if a process that was sent the signal is stopped; it may have been at its end.
fn becomes_stopped(number: i32) -> bool {
    loop {
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        match stat.rsplit(')').next().and_then(|rest| rest.chars().nth(1)) {
            Some('T') => return true,
            None | Some('Z' | 'X') => return false,
            Some(_) => {}
        }
    }
}
