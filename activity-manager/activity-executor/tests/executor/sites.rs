//! The site's limits for every command.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use activity_executor::{
    Account, Accounts, ContainmentChoice, IoClass, Limits, Spawn, SpawnError, spawn,
};
use model::Span;
use wire::executor::{Ended, Exit, SiteLimit, Start, ToExecutor};

use crate::bench::{Bench, Ways, binary, first_user};

/// More than a shell line with its pipes has, and fewer than the tests want.
const PROCESSES: u32 = 16;

/// Starts some processes more than that, and prints their concurrent number.
const MANY: &str = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 1000 & echo $i; done; wait";

fn bench(cores: u32, limits: Limits) -> Bench {
    let ways = Ways {
        limits,
        ..Ways::default()
    };
    Bench::begin(cores, ways)
}

fn said(ended: &Ended) -> String {
    String::from_utf8(ended.stdout.inline.clone()).unwrap()
}

#[test]
fn no_file_grows_above_its_limit() {
    let bytes_max = 1 << 20;
    let mut bench = bench(
        1,
        Limits {
            file_bytes_max: Some(bytes_max),
            ..Limits::default()
        },
    );
    let limit = Some(SiteLimit::FileBytes(bytes_max));
    // By itself, below a shell, and if the program handles the signal and gets the system's error.
    let dies = bench.start(1, &["dd", "if=/dev/zero", "of=one", "bs=64k", "count=20"]);
    let ended = bench.run(dies);
    assert_eq!(
        (&ended.exit, ended.limit),
        (&Exit::Signaled { signal: 25 }, limit)
    );
    assert_eq!(
        fs::metadata(bench.path().join("one")).unwrap().len(),
        bytes_max
    );
    let below = bench.shell(2, "head -c 1100000 /dev/zero > two; exit $?");
    let ended = bench.run(below);
    assert_eq!(
        (&ended.exit, ended.limit),
        (&Exit::Exited { code: 153 }, limit)
    );
    let told = bench.shell(3, "trap '' XFSZ; head -c 1100000 /dev/zero > three");
    let ended = bench.run(told);
    assert_eq!(
        (&ended.exit, ended.limit),
        (&Exit::Exited { code: 1 }, limit)
    );
    // Streams are no files, and another failure has met no limit.
    let long = bench.shell(
        4,
        "head -c 1100000 /dev/zero; head -c 1000000 /dev/zero > four; exit 3",
    );
    let ended = bench.run(long);
    assert_eq!(
        (&ended.exit, ended.limit),
        (&Exit::Exited { code: 3 }, None)
    );
    assert_eq!(ended.stdout.bytes, 1_100_000);
}

#[test]
fn no_process_opens_more_files_than_its_limit() {
    let mut bench = bench(
        1,
        Limits {
            open_files_max: Some(16),
            ..Limits::default()
        },
    );
    fs::write(bench.path().join("input"), "read\n").unwrap();
    // Standard input is opened by the command's own process, which may have more files open then.
    let start = Start {
        stdin: wire::executor::Stdin::Path("input".to_owned()),
        ..bench.shell(1, "ulimit -Sn; ulimit -Hn; cat")
    };
    assert_eq!(said(&bench.run(start)), "16\n16\nread\n");
    let opens = "/proc/self/status ".repeat(20);
    let start = bench.shell(2, &format!("paste {opens}"));
    let ended = bench.run(start);
    assert_eq!(ended.limit, Some(SiteLimit::OpenFiles(16)), "{ended:?}");
}

#[test]
fn processes_of_a_command_are_limited_by_its_control_group() {
    let ways = |containment| Ways {
        containment,
        limits: Limits {
            processes_max: Some(PROCESSES),
            ..Limits::default()
        },
        ..Ways::default()
    };
    // If nothing can count them, the executor refuses the setting.
    let directory = tempfile::tempdir().unwrap();
    let accounts = Accounts::default();
    let limits = ways(ContainmentChoice::Best).limits;
    let (socket, state) = (
        directory.path().join("socket"),
        directory.path().join("state"),
    );
    let refuses = |containment| {
        let spawned = spawn(&Spawn {
            binary: binary(),
            socket: &socket,
            state: &state,
            linger: Some(Span::ZERO),
            kill_grace: None,
            stream_bytes_max: None,
            pace: None,
            accounts: &accounts,
            work: None,
            limits: &limits,
            containment,
        });
        match spawned {
            Ok(mut child) => {
                child.wait().unwrap();
                false
            }
            Err(SpawnError::Refused { said }) => {
                assert!(said.starts_with("could not limit the processes"), "{said}");
                true
            }
            Err(other) => panic!("{other}"),
        }
    };
    assert!(refuses(ContainmentChoice::ProcessTree));
    if refuses(ContainmentChoice::Best) {
        println!("skipped: no control group that counts processes may be made here");
        return;
    }
    let mut bench = Bench::begin(2, ways(ContainmentChoice::Best));
    // Each has its own.
    let both = [bench.shell(1, MANY), bench.shell(2, MANY)];
    bench.send(ToExecutor::Start(both.into()));
    for ended in bench.ended(2).values() {
        check_many(ended);
    }
    // The next command of its slot is not charged for processes that are gone.
    let few = bench.shell(
        3,
        "for i in 1 2 3 4 5 6 7 8; do sleep 0.01 & done; wait; echo well",
    );
    let ended = bench.run(few);
    assert_eq!((said(&ended).as_str(), ended.limit), ("well\n", None));
}

/// A shell ends when it cannot fork.
fn check_many(ended: &Ended) {
    let n: u32 = said(ended).lines().last().unwrap().parse().unwrap();
    assert!(n < PROCESSES, "{ended:?}");
    assert!(n > PROCESSES / 2, "{ended:?}");
    assert!(
        matches!(ended.exit, Exit::Exited { code: 1.. }),
        "{ended:?}"
    );
    assert_eq!(ended.limit, Some(SiteLimit::Processes(PROCESSES)));
}

#[test]
fn processes_of_a_command_are_limited_by_its_account() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: needs root");
        return;
    }
    let first = first_user(40);
    let ways = Ways {
        containment: ContainmentChoice::ProcessTree,
        accounts: Accounts {
            of_slots: Account::of_range(&format!("{first}..{}", first + 1)).unwrap(),
            ..Accounts::default()
        },
        limits: Limits {
            processes_max: Some(PROCESSES),
            ..Limits::default()
        },
        ..Ways::default()
    };
    let mut bench = Bench::begin(2, ways);
    let open = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    open(bench.path(), 0o711);
    let starts = [1, 2].map(|number: u32| {
        let directory = bench.path().join(format!("process/{number}"));
        fs::create_dir_all(&directory).unwrap();
        open(&directory, 0o700);
        Start {
            directory: directory.to_str().unwrap().to_owned(),
            ..bench.shell(number, MANY)
        }
    });
    bench.send(ToExecutor::Start(starts.into()));
    for ended in bench.ended(2).values() {
        check_many(ended);
    }
}

#[test]
fn priorities_are_those_of_the_site() {
    for (class, shown) in [
        (IoClass::Idle, "idle\n"),
        (IoClass::BestEffort(6), "best-effort: prio 6\n"),
    ] {
        let limits = Limits {
            io: Some(class),
            ..Limits::default()
        };
        let mut bench = bench(1, limits);
        let start = bench.shell(1, "ionice -p $$");
        assert_eq!(said(&bench.run(start)), shown);
    }
}

/// The CPUs that this test may run on.
fn n_cpus() -> u32 {
    std::thread::available_parallelism().unwrap().get() as u32
}

fn binding() -> Limits {
    Limits {
        binds_cores: true,
        ..Limits::default()
    }
}

/// Prints the CPUs of a command, and waits until all of its kind have begun.
const CPUS: &str = "grep Cpus_allowed_list: /proc/self/status | cut -f 2; nproc; touch here.$$; \
                    until test $(ls here.* | wc -l) = $ALL; do sleep 0.01; done";

#[test]
fn commands_have_cpus_of_their_own() {
    let n = n_cpus();
    let mut bench = bench(n, binding());
    let starts: Vec<Start> = (0..n)
        .map(|number| {
            let mut start = bench.shell(number, CPUS);
            start.env.push(("ALL".to_owned(), n.to_string()));
            start
        })
        .collect();
    bench.send(ToExecutor::Start(starts));
    let ended = bench.ended(n as usize);
    let mut cpus: Vec<u32> = ended
        .values()
        .map(|ended| {
            let said = said(ended);
            let (cpus, n) = said.split_once('\n').unwrap();
            assert_eq!(n, "1\n");
            cpus.parse().unwrap()
        })
        .collect();
    cpus.sort_unstable();
    cpus.dedup();
    assert_eq!(cpus.len(), n as usize, "{cpus:?}");
    // A command of several cores gets as many CPUs when they are free again.
    let all = Start {
        cores: n,
        ..bench.start(n, &["nproc"])
    };
    assert_eq!(said(&bench.run(all)), format!("{n}\n"));
}

#[test]
fn many_threads_of_one_core_take_one_cpu() {
    let mut bench = bench(n_cpus(), binding());
    let busy = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do \
                timeout 0.5 sh -c 'while :; do :; done' & done; wait";
    let ended = bench.run(bench.shell(1, busy));
    let cpu = ended.cpu_user.0 + ended.cpu_system.0;
    // Clocks of CPUs are read at their ticks.
    assert!(
        cpu < ended.wall.0 * 11 / 10,
        "{cpu} µs of CPU in {}",
        ended.wall
    );
    assert!(cpu > 0);
}

#[test]
fn nobody_is_bound_where_cores_outnumber_cpus_or_the_site_does_not_want_it() {
    let n = n_cpus();
    for (cores, limits) in [(n + 1, binding()), (n, Limits::default())] {
        let mut bench = bench(cores, limits);
        let start = bench.start(1, &["nproc"]);
        assert_eq!(said(&bench.run(start)), format!("{n}\n"));
    }
}
