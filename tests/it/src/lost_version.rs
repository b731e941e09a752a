//! The file `version` of a state directory, which a power cut may leave empty, torn or not there, and
//! directories that cannot be read.

use std::fs;

use rustix::process::Signal;

use crate::blocked_process;
use crate::sandbox::Sandbox;

/// An interrupted run in the user's own place; its directory, below that of the sandbox.
fn interrupted(sandbox: &Sandbox) -> String {
    let run = blocked_process::arguments(sandbox, "run");
    let run: Vec<&str> = run.iter().map(String::as_str).collect();
    let started = sandbox.start(&run);
    sandbox.wait_for_lines("log", 2);
    started.signal(Signal::INT);
    started.end().expect(130);
    let list = sandbox.json(&["list", "--json"]);
    list[0]["directory"].as_str().unwrap().to_owned()
}

#[test]
fn a_lost_version_file_beside_a_good_journal_is_written_again() {
    for damaged in [None, Some(""), Some("xavantes st"), Some("\0\0\0\0")] {
        let sandbox = Sandbox::new();
        let directory = interrupted(&sandbox);
        let version = format!("{directory}/version");
        let before = fs::read_to_string(&version).unwrap();
        match damaged {
            None => fs::remove_file(&version).unwrap(),
            Some(text) => fs::write(&version, text).unwrap(),
        }
        let list = sandbox.xav(&["list"]).expect(0);
        let list = list.shows("gated").shows("interrupted");
        assert!(
            list.stderr.contains("it was written again"),
            "{damaged:?}: {list:?}"
        );
        assert_eq!(fs::read_to_string(&version).unwrap(), before);
        blocked_process::open(&sandbox);
        let resumed = sandbox.xav(&["resume"]).expect(0);
        assert_eq!(resumed.stdout, "word: done\n");
        assert!(!resumed.stderr.contains("written again"), "{resumed:?}");
    }
}

#[test]
fn a_lost_version_file_beside_a_damaged_journal_is_no_empty_list() {
    let sandbox = Sandbox::new();
    let directory = interrupted(&sandbox);
    fs::write(format!("{directory}/version"), "").unwrap();
    // In its middle: what is behind it was acknowledged.
    let tail = format!("{directory}/pm/journal/tail");
    let mut bytes = fs::read(&tail).unwrap();
    for byte in &mut bytes[200..220] {
        *byte ^= 0xff;
    }
    fs::write(&tail, bytes).unwrap();
    for command in ["list", "status", "resume"] {
        let done = sandbox.xav(&[command]);
        assert_ne!(done.status, Some(0), "{command}: {done:?}");
        assert!(done.stderr.contains(&directory), "{command}: {done:?}");
        assert!(
            !done.stderr.contains("there is no process"),
            "{command}: {done:?}"
        );
    }
}

#[test]
fn a_directory_that_cannot_be_read_is_told_and_hides_no_other() {
    let sandbox = Sandbox::new();
    let good = interrupted(&sandbox);
    let bad = sandbox.runs().join("0000000000001");
    // Not even root reads a directory as a file.
    fs::create_dir_all(bad.join("version")).unwrap();
    fs::create_dir_all(bad.join("pm/journal")).unwrap();
    fs::write(bad.join("pm/journal/version"), "").unwrap();
    let list = sandbox.xav(&["list"]).expect(1);
    let list = list.shows("gated");
    assert!(list.stderr.contains(bad.to_str().unwrap()), "{list:?}");
    assert!(!list.stderr.contains(&good), "{list:?}");
    let status = sandbox.xav(&["status"]).expect(0).shows("gated");
    assert!(status.stderr.contains(bad.to_str().unwrap()), "{status:?}");
}
