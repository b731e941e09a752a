#![expect(
    unsafe_code,
    reason = "a lease on a file, which holds its execution up, has no safe interface"
)]
//! Children that do not reach their program. A program is delayed as by a slow file system: another
//! process has a lease on it, and the system makes its executing process wait until that is
//! released.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use activity_executor::Account;
use model::Span;
use rustix::process::{Signal, kill_process};
use wire::executor::{Exit, Start, Stdin, ToExecutor};

use crate::bench::{Bench, attempt, wait_for_end};

/// As in fcntl.h; the crate of the C library does not have it.
const F_SETSIG: libc::c_int = 10;

/// A file that nobody else can open while this exists.
struct Leased {
    _file: File,
    path: PathBuf,
}

impl Leased {
    fn new(directory: &Path) -> Leased {
        let path = directory.join("leased");
        fs::write(&path, "#!/bin/sh\necho executed\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        // SAFETY: the calls take numbers. Who breaks the lease is told by a signal that is ignored.
        unsafe {
            assert_eq!(libc::fcntl(file.as_raw_fd(), F_SETSIG, libc::SIGURG), 0);
            assert_eq!(
                libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_WRLCK),
                0
            );
        }
        Leased { _file: file, path }
    }

    fn path(&self) -> &str {
        self.path.to_str().unwrap()
    }
}

/// The delayed child has copies of the executor's descriptors meanwhile, so the system goes on
/// reporting those that the executor has closed.
#[test]
fn end_of_a_command_is_told_once_while_another_is_held_up() {
    for mut bench in Bench::in_both_ways(2) {
        let leased = Leased::new(bench.path());
        let gate = bench.path().join("gate");
        let script = "sleep 1000 & until [ -e gate ]; do sleep 0.01; done; exit 3";
        let ends = bench.shell(1, script);
        bench.send(ToExecutor::Start(vec![ends]));
        bench.started(1);
        let held = bench.start(2, &[leased.path()]);
        bench.send(ToExecutor::Start(vec![held]));
        let pid = bench.started(2);
        fs::write(gate, "").unwrap();
        // Its remaining processes are killed first, and take a while to end.
        assert_eq!(bench.end_of(&[1]).exit, Exit::Exited { code: 3 });
        bench.send(ToExecutor::Stop(vec![attempt(2)]));
        assert_eq!(bench.end_of(&[2]).exit, Exit::Stopped);
        wait_for_end(pid);
    }
}

#[test]
fn program_that_does_not_open_holds_up_no_other_command() {
    let mut bench = Bench::new(2);
    let leased = Leased::new(bench.path());
    let held = bench.start(1, &[leased.path()]);
    let late = Start {
        timeout: Some(Span::from_millis(100)),
        ..bench.shell(2, "exec sleep 1000")
    };
    bench.send(ToExecutor::Start(vec![held, late]));
    assert_eq!(bench.ended(1)[&2].exit, Exit::TimedOut);
    // It can be stopped like a running one.
    let pid = bench.started(1);
    bench.send(ToExecutor::Stop(vec![attempt(1)]));
    let ended = &bench.ended(1)[&1];
    assert_eq!((&ended.exit, ended.stdout.bytes), (&Exit::Stopped, 0));
    wait_for_end(pid);
}

#[test]
fn standard_input_that_does_not_open_holds_up_no_other_command() {
    let mut bench = Bench::new(2);
    let leased = Leased::new(bench.path());
    let held = Start {
        stdin: Stdin::Path(leased.path().to_owned()),
        timeout: Some(Span::from_millis(300)),
        ..bench.start(1, &["cat"])
    };
    let quick = bench.start(2, &["true"]);
    bench.send(ToExecutor::Start(vec![held, quick]));
    assert_eq!(bench.ended(1)[&2].exit, Exit::Exited { code: 0 });
    assert_eq!(bench.ended(1)[&1].exit, Exit::TimedOut);
}

#[test]
fn child_that_is_stopped_before_its_program_is_killed_and_the_attempt_is_stuck() {
    let mut bench = Bench::new(2);
    let leased = Leased::new(bench.path());
    let held = bench.start(1, &[leased.path()]);
    bench.send(ToExecutor::Start(vec![held]));
    let pid = bench.started(1);
    kill_process(pid, Signal::STOP).unwrap();
    // Others go on meanwhile.
    let quick = bench.shell(2, "echo $$");
    assert_eq!(bench.run(quick).exit, Exit::Exited { code: 0 });
    let ended = &bench.ended(1)[&1];
    assert_eq!(ended.exit, Exit::Stuck);
    assert!(ended.wall >= Span::from_secs(2), "{ended:?}");
    wait_for_end(pid);
    // Its cores are free again.
    let both = [bench.start(3, &["true"]), bench.start(4, &["true"])];
    bench.send(ToExecutor::Start(both.into()));
    assert_eq!(bench.ended(2).len(), 2);
}

#[test]
fn signal_that_comes_before_the_program_ends_the_child_alone() {
    let mut bench = Bench::new(2);
    let leased = Leased::new(bench.path());
    let held = bench.start(1, &[leased.path()]);
    bench.send(ToExecutor::Start(vec![held]));
    let pid = bench.started(1);
    // A signal that Rust programs have a handler for, which would run in the executor's memory.
    kill_process(pid, Signal::SEGV).unwrap();
    drop(leased);
    assert_eq!(bench.ended(1)[&1].exit, Exit::Signaled { signal: 11 });
    let quick = bench.start(2, &["true"]);
    assert_eq!(bench.run(quick).exit, Exit::Exited { code: 0 });
}

/// A child on its way to its program has the executor's memory, and is its account's already.
#[test]
fn memory_of_a_child_is_closed_to_others_of_its_account() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: needs root");
        return;
    }
    let account = Account::named("nobody").unwrap();
    let mut bench = Bench::with_accounts(
        2,
        &activity_executor::Accounts {
            others: Some(account.clone()),
            ..activity_executor::Accounts::default()
        },
    );
    fs::set_permissions(bench.path(), fs::Permissions::from_mode(0o711)).unwrap();
    let directory = |name: &str| {
        let path = bench.path().join("process").join(name);
        fs::create_dir_all(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let leased = Leased::new(bench.path());
    chown(&leased.path, Some(account.user), Some(account.group)).unwrap();
    let held = Start {
        directory: directory("1"),
        ..bench.start(1, &[leased.path()])
    };
    let looks = directory("2");
    bench.send(ToExecutor::Start(vec![held]));
    let pid = bench.started(1).as_raw_nonzero();
    let executor = bench.executor.as_raw_pid();
    let script = format!(
        "n=0; until grep -q '^Uid:.{0}' /proc/{pid}/status; do n=$((n + 1)); \
         [ $n -lt 100 ] || {{ echo not of the account; break; }}; sleep 0.1; done; \
         for of in {pid} {executor}; do for file in mem maps environ; do \
         (exec 3< /proc/$of/$file && head -c 1 <&3) 2>/dev/null && echo $of/$file is open; \
         done; done; true",
        account.user
    );
    let looks = Start {
        directory: looks,
        ..bench.shell(2, &script)
    };
    let ended = bench.run(looks);
    assert_eq!(ended.exit, Exit::Exited { code: 0 });
    assert_eq!(String::from_utf8_lossy(&ended.stdout.inline), "");
}
