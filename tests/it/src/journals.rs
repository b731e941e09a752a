//! Golden journals: `tests/journals/RELEASE/events` is a state directory as that release left it when it was killed
//! in the middle of a process; in `snapshots` beside it, a snapshot stands for all events but the first of each
//! stream. Each is opened and finished by the program of today.
//!
//! ```text
//! earlier: again ─▶ assign ─▶ 40 × item ─▶ begin ─▶ 6 × iteration
//!             ─▶ told, picked, left, fails, behind                 ended broken, with `--keep-going`
//! golden:  made ─▶ recalled ─▶ halfway, once ─▶ last                killed when the end of `once` was durable
//!                                                                   at the process manager, and nobody else
//!                                                                   knew; `halfway` had begun
//! ```
//!
//! So the group manager's journal has a grant that is open, the process manager's a process that is half done,
//! and the activity manager's an attempt that must never run twice and was not acknowledged.

mod copy;
mod managers;
mod snapshots;
mod write;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sandbox::{Sandbox, root};

/// Items and iterations of the process that ended broken.
const COPIES: usize = 46;

/// Each golden directory, with its name.
fn releases() -> Vec<(String, PathBuf)> {
    let all = root().join("tests/journals");
    let names = |directory: &Path| -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    };
    let mut found = Vec::new();
    for release in names(&all) {
        for kind in names(&all.join(&release)) {
            let name = format!("{release}/{kind}");
            let place = all.join(&name);
            found.push((name, place));
        }
    }
    found.sort();
    assert!(found.len() >= 2, "golden journals are missing: {found:?}");
    found
}

/// A copy of a golden directory in a sandbox, as `state`; the sandbox keeps it.
fn copied(golden: &Path) -> Sandbox {
    let sandbox = Sandbox::new();
    copy::all(golden, &sandbox.path("state"));
    sandbox
}

/// The entry of the process with this name in the list of processes.
fn process(sandbox: &Sandbox, name: &str) -> Value {
    let list = sandbox.json(&["list", "--json", "--state", "state"]);
    let mut named = list.as_array().unwrap().iter();
    let found = named.find(|one| one["name"] == name);
    found.unwrap_or_else(|| panic!("no {name}: {list}")).clone()
}

fn id(process: &Value) -> &str {
    process["process"].as_str().unwrap()
}

/// The phase of each activity of a process, in the order of its name.
fn phases(sandbox: &Sandbox, process: &Value) -> Vec<(String, String)> {
    let status = sandbox.json(&["status", id(process), "--json", "--state", "state"]);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let activities = status["activity_list"].as_array().unwrap().iter();
    let mut all: Vec<(String, String)> = activities
        .map(|one| (text(&one["activity"]), text(&one["state"])))
        .collect();
    all.sort();
    all
}

/// The same as text.
fn shown(sandbox: &Sandbox, process: &Value) -> String {
    told(&phases(sandbox, process))
}

fn told(phases: &[(String, String)]) -> String {
    let lines: Vec<String> = phases
        .iter()
        .map(|(name, phase)| format!("{name} {phase}"))
        .collect();
    lines.join(", ")
}

#[test]
fn a_process_that_each_release_left_half_done_is_finished() {
    for (release, golden) in releases() {
        let sandbox = copied(&golden);
        let golden = process(&sandbox, "golden");
        assert_eq!(golden["state"], "running", "{release}");
        assert_eq!(
            shown(&sandbox, &golden),
            "halfway sent, last waiting, made completed, once completed, recalled completed",
            "{release}"
        );
        let before = ["told", "made", "halfway", "once"];
        assert_eq!(sandbox.lines("state/log"), before, "{release}");
        sandbox.file("state/gate", "");
        let resume = ["resume", id(&golden), "--quiet", "--slots", "2"];
        let resumed = sandbox.xav(&[&resume[..], &["--state", "state"]].concat());
        let resumed = resumed.expect(0);
        assert!(
            resumed.stdout.contains("sum: 42\n"),
            "{release}: {resumed:?}"
        );
        assert!(
            !resumed.stderr.contains("put aside"),
            "{release}: {resumed:?}"
        );
        // The activities that must never run twice, and those with a recorded outcome, ran once.
        let all = [&before[..], &["halfway", "last"]].concat();
        assert_eq!(sandbox.lines("state/log"), all, "{release}");
        assert_eq!(
            shown(&sandbox, &process(&sandbox, "golden")),
            "halfway completed, last completed, made completed, once completed, recalled completed",
            "{release}"
        );
    }
}

#[test]
fn a_process_that_ended_broken_in_each_release_is_told_as_ever_and_run_again() {
    for (release, golden) in releases() {
        let sandbox = copied(&golden);
        let earlier = process(&sandbox, "earlier");
        assert_eq!(earlier["state"], "faulted", "{release}");
        let (copies, once): (Vec<_>, Vec<_>) = phases(&sandbox, &earlier)
            .into_iter()
            .partition(|(name, _)| name.contains('['));
        assert_eq!(copies.len(), COPIES, "{release}");
        let mut copies = copies.iter();
        assert!(copies.all(|(_, phase)| phase == "completed"), "{release}");
        assert_eq!(
            told(&once),
            "again completed, begin completed, behind skipped, fails faulted, left skipped, picked completed, \
             told completed",
            "{release}"
        );
        sandbox.file("state/gate", "");
        let rerun = ["rerun", id(&earlier), "--quiet", "--slots", "2"];
        let done = sandbox.xav(&[&rerun[..], &["--state", "state"]].concat());
        assert_eq!(done.expect(0).stdout, "number: 4\n", "{release}");
        let n_told = sandbox
            .lines("state/log")
            .iter()
            .filter(|line| *line == "told")
            .count();
        assert_eq!(n_told, 1, "{release}: a recorded outcome ran again");
        assert_eq!(sandbox.lines("state/items").len(), COPIES, "{release}");
    }
}

#[test]
fn a_golden_directory_that_a_later_version_has_written_is_refused_and_stays_as_it_is() {
    for (release, golden) in releases() {
        for (version, text) in [
            ("version", "xavantes state 99\nmade by xavantes 9.1.0\n"),
            (
                "gm/journal/version",
                "journal format 99\nwritten by xavantes 9.1.0\n",
            ),
            (
                "pm/journal/version",
                "journal format 99\nwritten by xavantes 9.1.0\n",
            ),
            (
                "am/journal/version",
                "journal format 99\nwritten by xavantes 9.1.0\n",
            ),
        ] {
            let sandbox = copied(&golden);
            let state = sandbox.path("state");
            fs::write(state.join(version), text).unwrap();
            let before = copy::contents(&state);
            let resumed = sandbox.xav(&["resume", "--quiet", "--state", "state"]);
            let resumed = resumed.expect(1).says("xavantes 9.1.0");
            let after = copy::contents(&state);
            let changed: Vec<&String> = after
                .iter()
                .filter(|&(path, bytes)| before.get(path) != Some(bytes))
                .map(|(path, _)| path)
                .collect();
            assert_eq!(
                changed,
                Vec::<&String>::new(),
                "{release} {version}: {resumed:?}"
            );
        }
    }
}
