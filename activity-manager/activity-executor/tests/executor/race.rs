//! Ownership is given while an attacker of the same account changes the files.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use activity_executor::{Account, Accounts};
use wire::executor::{Exit, Start, ToExecutor};

use crate::bench::{Bench, attempt};

/// Attempts of a round, whose directories the attacker targets.
const ATTEMPTS: u32 = 12;

/// Files of root that the attacker wants, with the same names in each attempt.
const FILES: usize = 151;

const ROUNDS: usize = 20;

/// Names the attacked directory.
const ATTACKED: &str = "XAVANTES_TEST_ATTACKED";

#[test]
fn root_files_stay_roots_while_directories_are_given_to_an_attacker() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: needs root");
        return;
    }
    for round in 0..ROUNDS {
        let (lost, n_run) = attacked();
        assert_eq!(lost, 0, "of {FILES} files of root in round {round}");
        assert_eq!(n_run, ATTEMPTS as usize, "attempts ran in round {round}");
    }
}

/// A round: the number of root's files that belong to somebody else after it, and of attempts that
/// ran.
fn attacked() -> (usize, usize) {
    let accounts = Accounts {
        others: Account::named("nobody").ok(),
        ..Accounts::default()
    };
    let mut bench = Bench::with_accounts(4, &accounts);
    let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    set(bench.path(), 0o711);
    let (treasure, process) = (bench.path().join("treasure"), bench.path().join("process"));
    fs::create_dir(&treasure).unwrap();
    fs::create_dir(&process).unwrap();
    let own = process.join("0");
    fs::create_dir(&own).unwrap();
    set(&own, 0o700);
    fs::create_dir(own.with_file_name("wait")).unwrap();
    set(&own.with_file_name("wait"), 0o700);
    let directories: Vec<PathBuf> = (1..=ATTEMPTS)
        .map(|number| {
            let directory = process.join(number.to_string());
            fs::create_dir_all(directory.join("sub")).unwrap();
            set(&directory, 0o700);
            directory
        })
        .collect();
    let sub = directories.iter().map(|directory| directory.join("sub"));
    for directory in sub.chain([treasure.clone()]) {
        for file in 0..FILES {
            fs::write(directory.join(file.to_string()), "").unwrap();
        }
    }
    // This program is the attacker, too, if its account can read it.
    let attacker = bench.path().join("attacker");
    fs::copy(std::env::current_exe().unwrap(), &attacker).unwrap();
    set(&attacker, 0o755);
    let program = [
        attacker.to_str().unwrap(),
        "--exact",
        "race::attacker",
        "--nocapture",
    ];
    let start = |number: u32, directory: &Path, program: &[&str]| Start {
        directory: directory.to_str().unwrap().to_owned(),
        attempt: attempt(number),
        ..bench.start(number, program)
    };
    let mut attack = start(100, &own, &program);
    let attacked = bench.path().to_str().unwrap().to_owned();
    attack.env.push((ATTACKED.to_owned(), attacked));
    let attempts = (1..).zip(&directories);
    let attempts: Vec<Start> = attempts
        .map(|(number, directory)| start(number, directory, &["sleep", "0.01"]))
        .collect();
    let wait = "until test -e ../0/ready; do sleep 0.01; done";
    let wait = start(101, &own.with_file_name("wait"), &["sh", "-c", wait]);
    bench.send(ToExecutor::Start(vec![attack]));
    bench.run(wait);
    bench.send(ToExecutor::Start(attempts));
    let ended = bench.ended(ATTEMPTS as usize);
    let n_run = ended
        .values()
        .filter(|ended| ended.exit == Exit::Exited { code: 0 });
    let files = fs::read_dir(&treasure).unwrap();
    let owners = files.map(|file| file.unwrap().metadata().unwrap().uid());
    (owners.filter(|&owner| owner != 0).count(), n_run.count())
}

/// Replaces, in each directory of an attempt that it can enter, the files to be given by links to
/// those that it wants. The test above runs it as another account; among the other tests it does
/// nothing.
#[test]
fn attacker() {
    let Ok(ground) = std::env::var(ATTACKED) else {
        return;
    };
    fs::write("ready", "").unwrap();
    let process = Path::new(&ground).join("process");
    let treasure = Path::new(&ground).join("treasure");
    loop {
        for number in 1..=ATTEMPTS {
            let sub = process.join(number.to_string()).join("sub");
            if fs::rename(&sub, sub.with_extension("away")).is_ok() {
                let _ = symlink(&treasure, &sub);
            }
        }
    }
}
