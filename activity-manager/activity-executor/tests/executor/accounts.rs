//! Commands that run as another account than the executor, which requires root. Without it these
//! tests report that and check nothing.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use activity_executor::{Account, Accounts};
use wire::executor::{Exit, Start, Stdin};

use crate::bench::{Bench, first_user};

/// An account that every system has.
const NAME: &str = "nobody";

/// Another one.
const ANOTHER: &str = "daemon";

/// A bench whose commands run as `nobody`, and a directory for one.
fn bench() -> Option<(Bench, Account, PathBuf)> {
    bench_of(Accounts {
        others: Account::named(NAME).ok(),
        ..Accounts::default()
    })
}

fn bench_of(accounts: Accounts) -> Option<(Bench, Account, PathBuf)> {
    bench_of_cores(accounts, 1)
}

fn bench_of_cores(accounts: Accounts, cores: u32) -> Option<(Bench, Account, PathBuf)> {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: needs root");
        return None;
    }
    let account = Account::named(NAME).unwrap();
    let bench = Bench::with_accounts(cores, &accounts);
    fs::set_permissions(bench.path(), Permissions::from_mode(0o711)).unwrap();
    fs::create_dir(bench.path().join("process")).unwrap();
    fs::set_permissions(bench.path().join("process"), Permissions::from_mode(0o700)).unwrap();
    let directory = directory(&bench, 1);
    Some((bench, account, directory))
}

/// A directory as the manager makes it. Each attempt has one of its own: a directory that an
/// account has had is not given again.
fn directory(bench: &Bench, number: u32) -> PathBuf {
    let directory = bench.path().join(format!("process/{number}"));
    fs::create_dir(&directory).unwrap();
    fs::set_permissions(&directory, Permissions::from_mode(0o700)).unwrap();
    directory
}

fn start(bench: &Bench, directory: &std::path::Path, script: &str) -> Start {
    Start {
        directory: directory.to_str().unwrap().to_owned(),
        ..bench.shell(1, script)
    }
}

#[test]
fn command_runs_as_its_account_in_a_directory_of_its_own() {
    let Some((mut bench, account, directory)) = bench() else {
        return;
    };
    fs::write(directory.join("input"), "given").unwrap();
    fs::create_dir(directory.join("below")).unwrap();
    fs::write(directory.join("below/more"), "given").unwrap();
    let script = "id -u; id -g; id -G; cat input $PWD/below/more; echo -n changed > below/more; \
                  echo -n made > output; grep NoNewPrivs /proc/self/status";
    let ended = bench.run(start(&bench, &directory, script));
    assert_eq!(ended.exit, Exit::Exited { code: 0 }, "{ended:?}");
    let (user, group) = (account.user, account.group);
    assert_eq!(
        String::from_utf8(ended.stdout.inline).unwrap(),
        format!("{user}\n{group}\n{group}\ngivengivenNoNewPrivs:\t1\n")
    );
    assert_eq!(fs::read(directory.join("below/more")).unwrap(), b"changed");
    let output = fs::metadata(directory.join("output")).unwrap();
    assert_eq!((output.uid(), output.gid()), (user, group));
}

#[test]
fn command_reads_neither_keys_nor_state_nor_other_attempts() {
    let Some((mut bench, _, directory)) = bench() else {
        return;
    };
    let secret = bench.path().join("identity");
    fs::create_dir(&secret).unwrap();
    fs::set_permissions(&secret, Permissions::from_mode(0o700)).unwrap();
    fs::write(secret.join("certificate.key"), "secret").unwrap();
    let other = bench.path().join("process/2");
    fs::create_dir(&other).unwrap();
    fs::set_permissions(&other, Permissions::from_mode(0o700)).unwrap();
    fs::write(other.join("input"), "secret").unwrap();
    let script = "for file in identity/certificate.key process/2/input; do cat ../../$file; done; \
                  ls ../../state ../.. ; echo x > ../../new; echo x > ../new; kill -0 $PPID; \
                  cat /proc/$PPID/environ; true";
    let ended = bench.run(start(&bench, &directory, script));
    assert_eq!(ended.exit, Exit::Exited { code: 0 });
    assert_eq!(String::from_utf8_lossy(&ended.stdout.inline), "");
    let refused = String::from_utf8(ended.stderr.inline).unwrap();
    let n_refused = refused
        .lines()
        .filter(|line| line.contains("Permission denied") || line.contains("not permitted"));
    assert_eq!(n_refused.count(), 8, "{refused}");

    // Root does not read it on its behalf either.
    let start = Start {
        stdin: Stdin::Path(secret.join("certificate.key").to_str().unwrap().to_owned()),
        ..start(&bench, &self::directory(&bench, 3), "cat")
    };
    fs::set_permissions(
        secret.join("certificate.key"),
        Permissions::from_mode(0o600),
    )
    .unwrap();
    let ended = bench.run(Start {
        attempt: crate::bench::attempt(2),
        ..start
    });
    let Exit::NotStarted { message, .. } = ended.exit else {
        panic!("{ended:?}")
    };
    assert!(message.contains("may not read it"), "{message}");
}

#[test]
fn command_of_another_account_is_stopped_and_dies_with_its_executor() {
    let Some((mut bench, _, directory)) = bench() else {
        return;
    };
    let late = Start {
        timeout: Some(model::Span::from_millis(100)),
        ..start(&bench, &directory, "sleep 1000")
    };
    assert_eq!(bench.run(late).exit, Exit::TimedOut);
    let long = Start {
        attempt: crate::bench::attempt(2),
        ..start(
            &bench,
            &self::directory(&bench, 2),
            "echo $$; exec sleep 1000",
        )
    };
    bench.send(wire::executor::ToExecutor::Start(vec![long]));
    let pid = bench.started(2);
    bench.kill_executor();
    crate::bench::wait_for_end(pid);
}

#[test]
fn command_of_a_user_runs_as_the_account_of_that_user() {
    let users = [("ana", NAME), ("bo", ANOTHER)];
    let users = users.map(|(user, name)| (user.to_owned(), Account::named(name).unwrap()));
    let accounts = Accounts {
        of_users: users.clone().into(),
        ..Accounts::default()
    };
    let Some((mut bench, ..)) = bench_of(accounts) else {
        return;
    };
    for (number, (user, account)) in (1..).zip(users) {
        let of_user = Start {
            attempt: crate::bench::attempt(number),
            user: Some(user),
            ..start(&bench, &directory(&bench, number + 1), "id -u")
        };
        let ended = bench.run(of_user);
        let said = String::from_utf8(ended.stdout.inline).unwrap();
        assert_eq!(said, format!("{}\n", account.user));
    }
    for (number, user) in [(3, Some("eve".to_owned())), (4, None)] {
        let of_nobody = Start {
            attempt: crate::bench::attempt(number),
            user,
            ..start(&bench, &directory(&bench, number + 1), "id -u")
        };
        let Exit::NotStarted { message, .. } = bench.run(of_nobody).exit else {
            panic!("it ran")
        };
        assert!(
            message.starts_with("there is no account for user"),
            "{message}"
        );
    }
}

#[test]
fn root_is_nobodys_account() {
    let error = Account::named("root").unwrap_err().to_string();
    assert!(
        error.starts_with("commands do not run as the account \"root\""),
        "{error}"
    );
}

fn slots(first: u32, n_accounts: u32) -> Accounts {
    let last = first + n_accounts - 1;
    Accounts {
        of_slots: Account::of_range(&format!("{first}..{last}")).unwrap(),
        ..Accounts::default()
    }
}

fn bench_of_slots(first: u32, n_accounts: u32) -> Option<Bench> {
    let (bench, ..) = bench_of_cores(slots(first, n_accounts), n_accounts)?;
    Some(bench)
}

#[test]
fn attempts_that_run_together_have_accounts_of_their_own() {
    let first = first_user(0);
    let Some(mut bench) = bench_of_slots(first, 2) else {
        return;
    };
    // Each prints its identity, waits for the other, and tries to read and to forge the other's
    // files.
    let script = "id -u > who; chmod 644 who; : > ../../here/$(id -u); \
                  until test $(ls ../../here | wc -l) = 2; do sleep 0.01; done; \
                  for pid in $(ls /proc | grep '^[0-9]'); do cat /proc/$pid/cwd/who; done; \
                  cat ../2/who ../3/who; echo forged > ../2/who; echo forged > ../3/who; \
                  test -w $TMPDIR && test $HOME = $TMPDIR && echo own";
    let directories = [2, 3].map(|number| directory(&bench, number));
    let here = bench.path().join("here");
    fs::create_dir(&here).unwrap();
    fs::set_permissions(&here, Permissions::from_mode(0o777)).unwrap();
    let starts = (2..).zip(&directories).map(|(number, directory)| Start {
        attempt: crate::bench::attempt(number),
        ..start(&bench, directory, script)
    });
    let starts: Vec<Start> = starts.collect();
    bench.send(wire::executor::ToExecutor::Start(starts));
    let ended = bench.ended(2);
    let mut users = Vec::new();
    for (number, directory) in (2..).zip(&directories) {
        let said = String::from_utf8(ended[&number].stdout.inline.clone()).unwrap();
        assert!(said.ends_with("own\n"), "{said}");
        let who = fs::read_to_string(directory.join("who")).unwrap();
        // By itself it could read and write them.
        assert_eq!(who, "forged\n");
        let is_user = |line: &&str| line.parse::<u32>().is_ok();
        let mut seen: Vec<&str> = said.lines().filter(is_user).collect();
        seen.dedup();
        assert_eq!(seen.len(), 1, "{said}");
        users.push(seen[0].to_owned());
        // It is closed, and the command's home is gone.
        let found = fs::metadata(directory).unwrap();
        assert_eq!((found.uid(), found.mode() & 0o777), (0, 0o700));
    }
    users.sort();
    assert_eq!(users, [first.to_string(), (first + 1).to_string()]);
}

#[test]
fn nothing_of_an_attempt_is_left_when_its_account_is_lent_again() {
    let user = first_user(10);
    let Some(mut bench) = bench_of_slots(user, 1) else {
        return;
    };
    // Leaves a process in a session of its own, files in public directories, and shared memory.
    let leave = "setsid sleep 1000 >/dev/null 2>&1 & \
                 echo secret > /tmp/xavantes-$$; mkdir -p /dev/shm/xavantes-$$/below; \
                 echo secret > $TMPDIR/file; (ipcmk -M 4096 >/dev/null 2>&1 || true); \
                 sleep 0.05; echo $$ $HOME";
    let first = Start {
        attempt: crate::bench::attempt(1),
        ..start(&bench, &directory(&bench, 2), leave)
    };
    let said = String::from_utf8(bench.run(first).stdout.inline).unwrap();
    let (pid, home) = said.trim().split_once(' ').unwrap();
    let look = format!(
        "id -u; ls -d /tmp/xavantes-{pid} /dev/shm/xavantes-{pid} {home} ../2/. 2>/dev/null; \
         grep -h '^Uid:.{user}' /proc/[0-9]*/status | sort | uniq -c | wc -l; \
         awk '$8 == {user}' /proc/sysvipc/shm | wc -l"
    );
    let second = Start {
        attempt: crate::bench::attempt(2),
        ..start(&bench, &directory(&bench, 3), &look)
    };
    let ended = bench.run(second);
    let said = String::from_utf8(ended.stdout.inline).unwrap();
    // Its own processes are the only ones of its account; nothing else is there.
    assert_eq!(
        said,
        format!("{user}\n1\n0\n"),
        "{}",
        String::from_utf8_lossy(&ended.stderr.inline)
    );
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let others = processes.filter(|process| {
        let status = fs::read_to_string(process.path().join("cmdline")).unwrap_or_default();
        let is_theirs = process.metadata().is_ok_and(|found| found.uid() == user);
        is_theirs && status.contains("sleep")
    });
    assert_eq!(others.count(), 0);
}

#[test]
fn remains_of_a_killed_executor_are_closed_and_killed() {
    let user = first_user(20);
    let Some(bench) = bench_of_slots(user, 1) else {
        return;
    };
    let work = bench.path().join("work/5");
    fs::create_dir_all(work.join("1")).unwrap();
    fs::create_dir(work.join("1.home")).unwrap();
    for directory in [work.join("1"), work.join("1.home")] {
        std::os::unix::fs::chown(&directory, Some(user), Some(user)).unwrap();
        fs::set_permissions(&directory, Permissions::from_mode(0o777)).unwrap();
    }
    let mut bench = bench;
    bench.kill_executor();
    bench.guardian.wait().unwrap();
    bench.start_again(&slots(user, 1));
    let ended = bench.run(start(&bench, &directory(&bench, 2), "id -u"));
    assert_eq!(ended.stdout.inline, format!("{user}\n").as_bytes());
    let found = fs::metadata(work.join("1")).unwrap();
    assert_eq!((found.uid(), found.mode() & 0o777), (0, 0o700));
    assert!(!work.join("1.home").exists());
}
