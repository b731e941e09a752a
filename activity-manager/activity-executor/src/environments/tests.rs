use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Barrier;

use super::*;

/// A directory with a search path of its own, in which programs are scripts.
struct Bench(tempfile::TempDir);

impl Bench {
    fn new() -> Bench {
        let bench = Bench(tempfile::TempDir::new().unwrap());
        fs::create_dir(bench.path("bin")).unwrap();
        fs::write(bench.path("env.yaml"), "dependencies: [a]\n").unwrap();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A program that notes its arguments in `calls`, and then runs these lines. `$P` is the argument
    /// behind `--prefix`.
    fn program(&self, name: &str, lines: &str) {
        let path = self.path("bin").join(name);
        let calls = self.path("calls");
        let text = format!(
            "#!/bin/sh\necho {name} \"$@\" >> '{}'\nwhile [ \"$1\" != --prefix ]; do shift; done\nP=$2\n{lines}\n",
            calls.display()
        );
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn find_or_make(&self) -> Result<Environment, EnvironmentError> {
        let (root, file) = (self.path("root"), self.path("env.yaml"));
        let search_path = self.path("bin").into_os_string();
        find_or_make(MadeKind::Conda, &root, &file, &search_path)
    }

    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.path("calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }
}

#[test]
fn an_environment_is_made_once_and_again_when_its_file_has_changed() {
    let bench = Bench::new();
    bench.program("conda", "mkdir -p \"$P/bin\"");
    let first = bench.find_or_make().unwrap();
    assert!(first.directory.join("bin").is_dir());
    let second = bench.find_or_make().unwrap();
    assert_eq!(first.directory, second.directory);
    let (prefix, file) = (first.directory.display(), bench.path("env.yaml"));
    let file = file.display();
    assert_eq!(
        bench.calls(),
        [format!("conda env create --prefix {prefix} --file {file}")]
    );
    fs::write(bench.path("env.yaml"), "dependencies: [b]\n").unwrap();
    let third = bench.find_or_make().unwrap();
    assert_ne!(first.directory, third.directory);
    assert_eq!(bench.calls().len(), 2);
}

#[test]
fn the_quickest_of_the_programs_that_are_there_is_used() {
    let bench = Bench::new();
    let error = bench.find_or_make().unwrap_err().to_string();
    assert!(
        error.starts_with("this machine has no micromamba, mamba or conda (searched PATH /"),
        "{error}"
    );
    let names = ["conda", "mamba", "micromamba"];
    let commands = ["env create", "env create", "create --yes"];
    for (name, command) in names.into_iter().zip(commands) {
        bench.program(name, "mkdir -p \"$P/bin\"");
        fs::write(bench.path("env.yaml"), name).unwrap();
        bench.find_or_make().unwrap();
        let calls = bench.calls();
        let last = calls.last().unwrap();
        assert!(
            last.starts_with(&format!("{name} {command} --prefix /")),
            "{last}"
        );
    }
}

#[test]
fn a_failure_shows_the_end_of_what_was_said_and_leaves_nothing() {
    let bench = Bench::new();
    let lines = "mkdir -p \"$P/bin\"; seq 10000; echo 'no such package: a' >&2; exit 3";
    bench.program("conda", lines);
    let error = bench.find_or_make().unwrap_err().to_string();
    assert!(
        error.contains("ended with exit status: 3; the end of what it said:\n"),
        "{error}"
    );
    assert!(error.ends_with("10000\nno such package: a"), "{error}");
    assert!(
        error.len() < 8_192 && !error.contains("\n1000\n"),
        "{error}"
    );
    let left: Vec<PathBuf> = fs::read_dir(bench.path("root"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(matches!(left.as_slice(), [lock] if lock.extension() == Some(OsStr::new("lock"))));
    bench.program("conda", "mkdir -p \"$P/bin\"");
    bench.find_or_make().unwrap();
}

#[test]
fn two_that_want_it_at_once_make_it_once() {
    let bench = Bench::new();
    // The file in the environment shows whether one was made above another.
    let lines = "mkdir \"$P\" && mkdir \"$P/bin\" && seq 20000 > \"$P/bin/one\"";
    bench.program("conda", lines);
    let begin = Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                begin.wait();
                let made = bench.find_or_make().unwrap();
                assert!(made.directory.join("bin/one").is_file());
            });
        }
    });
    assert_eq!(bench.calls().len(), 1);
}

#[test]
fn half_of_one_is_not_taken_for_whole() {
    let bench = Bench::new();
    bench.program("conda", "mkdir -p \"$P/bin\"");
    let made = bench.find_or_make().unwrap();
    let lock = made.directory.with_extension("lock");
    let directory = made.directory.clone();
    drop(made);
    // As a kill leaves it that came before all was on the disk.
    fs::write(directory.join("half"), "").unwrap();
    fs::write(&lock, "").unwrap();
    bench.find_or_make().unwrap();
    assert!(!directory.join("half").exists());
    // Somebody has removed the directory.
    fs::remove_dir_all(&directory).unwrap();
    bench.find_or_make().unwrap();
    assert!(directory.join("bin").is_dir());
    assert_eq!(bench.calls().len(), 3);
}

#[test]
fn what_a_maker_has_started_keeps_others_out() {
    let bench = Bench::new();
    bench.program("conda", "mkdir -p \"$P/bin\"");
    let made = bench.find_or_make().unwrap();
    let place = Place {
        lock: made.directory.with_extension("lock"),
        directory: made.directory.clone(),
    };
    drop(made);
    // Programs that other tests have started meanwhile inherit the lock, until they end.
    let mut held = None;
    eventually(|| {
        let hold = place.try_hold(FlockOperation::NonBlockingLockExclusive);
        held = hold.unwrap();
        held.is_some()
    });
    let mut child = std::process::Command::new("/bin/cat")
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(held);
    let now = place
        .try_hold(FlockOperation::NonBlockingLockShared)
        .unwrap();
    assert!(now.is_none());
    drop(child.stdin.take());
    child.wait().unwrap();
    eventually(|| {
        let then = place.try_hold(FlockOperation::NonBlockingLockShared);
        then.unwrap().is_some()
    });
}

/// Waits for what is true in the end.
fn eventually(mut is_true: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_true() {
        assert!(Instant::now() < deadline);
        std::thread::yield_now();
    }
}

#[test]
fn only_what_nobody_uses_and_has_used_for_long_is_removed() {
    let bench = Bench::new();
    bench.program("conda", "mkdir -p \"$P/bin\"");
    let root = bench.path("root");
    let used = bench.find_or_make().unwrap();
    let later = SystemTime::now() + Duration::from_secs(60);
    remove_unused_since(&root, later).unwrap();
    assert!(used.directory.is_dir());
    let directory = used.directory.clone();
    drop(used);
    remove_unused_environments(&root).unwrap();
    assert!(directory.is_dir());
    // Those of an account lie in a directory of its own.
    let of_account = bench.path("above");
    fs::create_dir(&of_account).unwrap();
    fs::rename(&root, of_account.join("1000")).unwrap();
    // Another test may start a program meanwhile, which inherits the lock.
    eventually(|| {
        remove_unused_since(&of_account, later).unwrap();
        let left = fs::read_dir(of_account.join("1000")).unwrap();
        left.count() == 0
    });
    remove_unused_environments(&bench.path("absent")).unwrap();
}

/// An environment that nobody uses: its directory with a file, and its lock.
fn lay(directory: &Path, name: &str) {
    fs::create_dir_all(directory.join(name)).unwrap();
    fs::write(directory.join(name).join("file"), "").unwrap();
    fs::write(directory.join(format!("{name}.lock")), WHOLE).unwrap();
}

/// The names in a directory, in order.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn only_environments_of_an_accounts_own_directory_are_removed() {
    let bench = Bench::new();
    let (root, other) = (bench.path("root"), bench.path("other"));
    let account = root.join("1000");
    lay(&other, "y");
    for name in ["a", "b", "w"] {
        lay(&account, name);
    }
    // Directories below, which the number of an account stands for in the root alone.
    lay(&account.join("9"), "x");
    symlink(&other, account.join("8")).unwrap();
    // Links in place of a directory, of a lock, and of an account's directory.
    symlink(&other, account.join("v")).unwrap();
    fs::write(account.join("v.lock"), WHOLE).unwrap();
    fs::remove_file(account.join("w.lock")).unwrap();
    symlink(other.join("y.lock"), account.join("w.lock")).unwrap();
    symlink(&other, root.join("2000")).unwrap();
    fs::write(root.join("3000"), "").unwrap();
    // Locks of the directory itself and of the one above.
    for lock in [".lock", "..lock", "...lock"] {
        fs::write(account.join(lock), WHOLE).unwrap();
    }
    let later = SystemTime::now() + Duration::from_secs(60);
    remove_unused_since(&root, later).unwrap();
    let kept = [
        "...lock", "..lock", ".lock", "8", "9", "v", "v.lock", "w", "w.lock",
    ];
    assert_eq!(names(&account), kept);
    assert_eq!(fs::read(account.join("v.lock")).unwrap(), WHOLE);
    assert_eq!(names(&root), ["1000", "2000", "3000"]);
    for (directory, name) in [(account.join("9"), "x"), (other, "y")] {
        let lock = format!("{name}.lock");
        assert_eq!(names(&directory), [name, lock.as_str()]);
        assert_eq!(names(&directory.join(name)), ["file"]);
    }
}

#[test]
fn a_directory_that_is_swapped_for_a_link_meanwhile_leads_nowhere_else() {
    let bench = Bench::new();
    let (account, other) = (bench.path("1000"), bench.path("other"));
    lay(&account, "x");
    lay(&other, "x");
    let opened = OwnedFd::from(File::open(&account).unwrap());
    fs::rename(&account, bench.path("away")).unwrap();
    symlink(&other, &account).unwrap();
    let later = SystemTime::now() + Duration::from_secs(60);
    remove_unused_in(&opened, later).unwrap();
    assert!(names(&bench.path("away")).is_empty());
    assert_eq!(names(&other), ["x", "x.lock"]);
    assert_eq!(names(&other.join("x")), ["file"]);
}

#[test]
fn an_interpreter_is_told_by_its_file_or_asked_where_a_script_chooses_it() {
    let bench = Bench::new();
    let deadline = Instant::now() + MAKING_MAX;
    let path = bench.path("bin/python3");
    fs::write(&path, "\x7fELF").unwrap();
    let named = |path: &Path| name(MadeKind::Venv, b"a", path, deadline).unwrap();
    let first = named(&path);
    assert_eq!(first, named(&path));
    fs::write(&path, "\x7fELF, another version").unwrap();
    assert_ne!(first, named(&path));
    fs::write(&path, "#!/bin/sh\necho 3.11\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let old = named(&path);
    fs::write(&path, "#!/bin/sh\n# a remark\necho 3.11\n").unwrap();
    assert_eq!(old, named(&path));
    fs::write(&path, "#!/bin/sh\necho 3.12\n").unwrap();
    assert_ne!(old, named(&path));
}

#[test]
fn a_file_that_is_absent_or_too_large_is_told() {
    let bench = Bench::new();
    bench.program("conda", "mkdir -p \"$P/bin\"");
    fs::remove_file(bench.path("env.yaml")).unwrap();
    let error = bench.find_or_make().unwrap_err().to_string();
    assert_eq!(error, "could not read the file");
    fs::write(
        bench.path("env.yaml"),
        vec![b'#'; FILE_BYTES_MAX as usize + 1],
    )
    .unwrap();
    let error = bench.find_or_make().unwrap_err().to_string();
    assert_eq!(error, "the file has more than 1048576 bytes");
    assert!(!bench.path("root").exists());
}
