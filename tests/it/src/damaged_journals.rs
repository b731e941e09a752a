//! Damaged journals of a run that was killed: those of the group manager and the activity manager are
//! put aside and rebuilt, that of the process manager is refused, with an advice that works.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::Value;

use crate::kills::drawn;
use crate::sandbox::Sandbox;
use crate::wait;

/// Bits of each journal that are flipped, one after the other.
const FLIPS: u64 = 6;

/// Bytes at the end of a tail's file that were never written to, in which a bit harms nobody.
fn used(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1)
}

/// A process of which one activity has completed, and one waits for a file, which is made when the run
/// was killed.
fn killed() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let (log, gate) = (sandbox.path("log"), sandbox.path("gate"));
    let text = format!(
        "\
xavantes: 1
name: gated
variables: {{ sum: int }}
outputs: {{ sum: '${{ sum }}', file: second.file }}
body:
  sequence:
    - activity: first
      run: {{ shell: 'echo first >> {log}; echo 1' }}
    - activity: second
      run: {{ shell: 'echo second >> {log}; while ! [ -e {gate} ]; do sleep 0.01; done; echo two > file' }}
      outputs: {{ file: file }}
    - activity: third
      run: {{ shell: 'echo 3' }}
      stdout: {{ into: sum, as: int }}
",
        log = log.display(),
        gate = gate.display(),
    );
    sandbox.file("gated.yaml", text);
    let mut run = sandbox.start(&["run", "--quiet", "--slots", "2", "gated.yaml"]);
    wait::until("the second activity", || {
        assert!(!run.has_ended(), "it waits for its file");
        sandbox
            .lines("log")
            .contains(&"second".to_owned())
            .then_some(())
    });
    run.signal(Signal::KILL);
    run.end();
    sandbox.file("gate", "");
    let status = sandbox.json(&["status", "--json"]);
    let process = status["process"].as_str().unwrap().to_owned();
    (sandbox, process)
}

fn flip(path: &Path, seed: u64) {
    let mut bytes = fs::read(path).unwrap();
    let n_bits = used(&bytes) as u64 * 8;
    let bit = drawn(seed) % n_bits;
    bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
    fs::write(path, bytes).unwrap();
}

/// The state directory of a process.
fn directory(sandbox: &Sandbox, process: &str) -> PathBuf {
    sandbox.runs().join(process)
}

/// Resumes a process, which must not take for ever.
#[track_caller]
fn resumes(sandbox: &Sandbox, process: &str) -> String {
    let mut resumed = sandbox.start(&["resume", process, "--slots", "2"]);
    wait::until("the end of a resumed run", || {
        resumed.has_ended().then_some(())
    });
    resumed.end().expect(0).stderr
}

/// Has a journal damaged, and the process go on.
fn goes_on(manager: &str, whose: &str) {
    let mut n_aside = 0;
    for seed in 0..FLIPS {
        let (sandbox, process) = killed();
        let journal = directory(&sandbox, &process).join(manager).join("journal");
        flip(&journal.join("tail"), seed);
        let said = resumes(&sandbox, &process);
        // A flipped bit in the remains of an unfinished commit needs no warning.
        if said.contains(&format!(
            "the journal of {whose} is damaged and was put aside as"
        )) {
            n_aside += 1;
            assert!(journal.with_file_name("journal.aside.1").is_dir(), "{said}");
        }
        let status = sandbox.json(&["status", &process, "--json"]);
        assert_eq!(status["state"], "completed", "seed {seed}: {status}");
        assert_eq!(status["outputs"]["sum"], 3, "seed {seed}: {status}");
        let lines = sandbox.lines("log");
        let first = lines.iter().filter(|line| *line == "first").count();
        assert_eq!(first, 1, "seed {seed}: what was recorded ran again");
    }
    assert!(n_aside > 0, "no bit was where it mattered");
}

#[test]
fn a_damaged_journal_of_the_group_manager_is_rebuilt() {
    goes_on("gm", "the group manager");
}

#[test]
fn a_damaged_journal_of_the_activity_manager_is_rebuilt() {
    goes_on("am", "the activity manager");
}

#[test]
fn journals_of_group_and_activity_manager_that_are_gone_are_rebuilt() {
    let (sandbox, process) = killed();
    for manager in ["gm", "am"] {
        fs::remove_dir_all(directory(&sandbox, &process).join(manager).join("journal")).unwrap();
    }
    resumes(&sandbox, &process);
}

#[test]
fn the_advice_on_a_damaged_journal_of_the_process_manager_works() {
    let (sandbox, process) = killed();
    let place = directory(&sandbox, &process);
    let tail = place.join("pm/journal/tail");
    let mut bytes = fs::read(&tail).unwrap();
    // In the first commit, which others follow.
    bytes[20] ^= 4;
    fs::write(&tail, bytes).unwrap();
    let mut n_removed = 0;
    // Each refusal names a file that may be removed, until there is none.
    let said = loop {
        let done = sandbox.xav(&["resume", &process]);
        let Some(advised) = advised(&done.stderr) else {
            break done.stderr;
        };
        assert_eq!(done.status, Some(1), "{}", done.stderr);
        assert!(
            done.stderr.contains("restore the directory from a copy")
                || done.stderr.contains("restore its directory"),
            "{}",
            done.stderr
        );
        let listed = sandbox.xav(&["list"]);
        assert_eq!(listed.status, Some(1), "{listed:?}");
        fs::remove_file(&advised)
            .unwrap_or_else(|error| panic!("{advised:?}: {error}: {}", done.stderr));
        n_removed += 1;
        assert!(n_removed < 10, "it never ends: {}", done.stderr);
    };
    assert_eq!(n_removed, 2, "{said}");
    // To go on without what the files held is to go on without the process.
    assert!(said.contains("there is no process"), "{said}");
    let listed = sandbox.xav(&["list", "--json"]).expect(0);
    assert_eq!(
        serde_json::from_str::<Value>(&listed.stdout).unwrap(),
        Value::Array(Vec::new())
    );
    // Other processes can have the slots that it held.
    let place = place.to_str().unwrap();
    let mut run = sandbox.start(&[
        "run",
        "--quiet",
        "--slots",
        "2",
        "--state",
        place,
        "gated.yaml",
    ]);
    wait::until("the end of a run", || run.has_ended().then_some(()));
    run.end().expect(0);
}

/// The file that a refusal says may be removed.
fn advised(said: &str) -> Option<PathBuf> {
    let word = |after: &str, said: &str| {
        let (_, rest) = said.rsplit_once(after)?;
        let path = rest.split_whitespace().next()?;
        Some(PathBuf::from(path.trim_end_matches([':', ',', ';'])))
    };
    if said.contains("remove the file `acknowledged` beside it") {
        return word("the journal ", said).map(|store| store.with_file_name("acknowledged"));
    }
    said.contains("remove this file")
        .then(|| word(" in ", said))
        .flatten()
}

#[test]
fn a_lost_or_damaged_version_beside_a_journal_is_written_again() {
    for damage in [
        None,
        Some(&b""[..]),
        Some(b"\0\0\0"),
        Some(b"xavantes stat"),
    ] {
        let (sandbox, process) = killed();
        let version = directory(&sandbox, &process).join("version");
        let whole = fs::read(&version).unwrap();
        match damage {
            Some(bytes) => fs::write(&version, bytes).unwrap(),
            None => fs::remove_file(&version).unwrap(),
        }
        let listed = sandbox.xav(&["list"]).expect(0).shows("gated");
        listed
            .says("as a power cut may leave it")
            .says("it was written again");
        assert_eq!(fs::read(&version).unwrap(), whole);
        assert_eq!(sandbox.xav(&["list"]).expect(0).stderr, "");
        resumes(&sandbox, &process);
    }
}

#[test]
fn a_directory_that_cannot_be_read_is_told_of() {
    let (sandbox, process) = killed();
    let version = directory(&sandbox, &process).join("version");
    fs::write(&version, "xavantes state 7\nmade by xavantes 9.0.0\n").unwrap();
    let said = "was made by xavantes 9.0.0 (layout 7)";
    let listed = sandbox.xav(&["list"]).expect(1).says(said);
    assert!(!listed.stderr.contains("there is no process"), "{listed:?}");
    sandbox.xav(&["status", &process]).expect(1).says(said);
    // One in which nothing was ever begun is nothing to be told of.
    fs::create_dir(sandbox.runs().join("0000000000001")).unwrap();
    fs::remove_dir_all(version.parent().unwrap()).unwrap();
    sandbox
        .xav(&["list"])
        .expect(0)
        .says("there is no process yet");
}
