//! Cuts of `xav run`: the process is known and completes with the same outputs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use super::disk::Node;
use super::record::{Call, Event, has_strace};
use super::{Recording, check_all, cuts};
use crate::kills::hashes;
use crate::sandbox::Sandbox;
use crate::wait;

/// Bytes of a text that is too long for the tail of a journal, so that it goes to its store.
const LONG_BYTES: usize = 600 << 10;

/// Files of a state directory that the next start needs.
const NEEDED: [&str; 7] = [
    "version",
    "gm/journal/version",
    "gm/journal/tail",
    "pm/journal/version",
    "pm/journal/tail",
    "am/journal/version",
    "am/journal/tail",
];

/// Activities without files, and a variable that one of them writes.
const PLAIN: &str = "\
xavantes: 1
name: subject
variables: { sum: int }
outputs: { sum: '${ sum }' }
body:
  sequence:
    - activity: first
      run: { shell: 'echo 1' }
    - parallel:
        - { activity: left, run: { shell: 'echo 2' } }
        - { activity: right, run: { shell: 'echo 3' } }
    - activity: last
      run: { shell: 'echo 6' }
      stdout: { into: sum, as: int }
";

/// A file beside the definition, one that is given, files between activities, and one at the end.
const FILES: &str = "\
xavantes: 1
name: subject
files: [beside.txt]
inputs: { given: file, n: { type: int, default: 1 } }
outputs: { all: last.all }
body:
  sequence:
    - activity: first
      run: { shell: 'cat beside.txt > both; head -n ${ inputs.n } given.txt >> both' }
      inputs: { given.txt: inputs.given }
      outputs: { both: both }
    - parallel:
        - activity: left
          run: { shell: 'sort both > out' }
          inputs: { both: first.both }
          outputs: { out: out }
        - activity: right
          run: { shell: 'mkdir d; sort -r both > d/out' }
          inputs: { both: first.both }
          outputs: { out: d/ }
    - activity: last
      run: { shell: 'cat left right/out > all' }
      inputs: { left: left.out, right/: right.out }
      outputs: { all: all }
";

/// A file that is given, and so little else that each file is flushed alone: a flush of everything would make durable
/// what nobody has flushed.
const COPY: &str = "\
xavantes: 1
name: subject
inputs: { given: file, n: { type: int, default: 1 } }
outputs: { all: first.all }
body:
  activity: first
  run: { shell: 'head -n ${ inputs.n } given.txt > all' }
  inputs: { given.txt: inputs.given }
  outputs: { all: all }
";

/// Runs a definition once, recorded, and again from each rebuilt state of the disk.
#[track_caller]
fn survives(text: &str, arguments: &[&str], n_cuts: u64) {
    if !has_strace() {
        return;
    }
    let prepare = |sandbox: &Sandbox| {
        sandbox.file("beside.txt", "beside\n".repeat(3_000));
        // So large that its copy is let go in the end.
        sandbox.file("given.txt", "given\n".repeat(20_000));
        sandbox.file("subject.yaml", text);
    };
    let sandbox = Sandbox::new();
    prepare(&sandbox);
    let run = [&["run", "--slots", "2", "subject.yaml"], arguments].concat();
    let recording = Recording::of(&sandbox, &sandbox.command(&run));
    assert_eq!(recording.done.status, Some(0), "{:?}", recording.done);
    recording.is_whole(&sandbox, "data");
    let status = sandbox.json(&["status", "--json"]);
    let wanted = Wanted {
        process: status["process"].as_str().unwrap().to_owned(),
        hashes: hashes(&status),
        outputs: status["outputs"].clone(),
        has_files: [FILES, COPY].contains(&text),
    };
    // From here on the user knows of it.
    let told = recording.said(&format!("{} started", wanted.process));
    let flushed = recording.disk.flushed(told);
    for name in NEEDED {
        let path = PathBuf::from("data/xavantes/runs")
            .join(&wanted.process)
            .join(name);
        let is_there =
            matches!(flushed.0.get(&path), Some(Node::File { bytes, .. }) if !bytes.is_empty());
        assert!(
            is_there,
            "{name} is not durable when the process is told of"
        );
    }
    if wanted.has_files {
        wanted.can_copy_again_what_is_let_go(&recording, &status);
    }
    check_all("xav run", n_cuts, |seed, sandbox| {
        let (time, tree) = recording.cut(seed);
        prepare(sandbox);
        tree.write_over(&sandbox.path(""));
        wanted.is_found(sandbox, told < time)
    });
}

/// The expected state of a process after a cut.
struct Wanted {
    process: String,
    hashes: BTreeMap<String, Value>,
    outputs: Value,
    /// True if it has an input whose copy is let go.
    has_files: bool,
}

impl Wanted {
    /// Asserts that what says where an input came from is durable when its copy goes, in each state that a disk may
    /// have then.
    fn can_copy_again_what_is_let_go(&self, recording: &Recording, status: &Value) {
        let directory = PathBuf::from("data/xavantes/runs").join(&self.process);
        let hash = status["inputs"]["given"]["hash"].as_str().unwrap();
        let copy = directory.join("am/blobs/blobs").join(&hash[..2]).join(hash);
        // It loses its name in the store first.
        let is_let_go = |event: &&Event| matches!(&event.call, Call::Rename { from, .. } if from.ends_with(&copy));
        let let_go = recording.events.iter().find(is_let_go);
        let let_go = let_go.expect("its copy is large, and is let go");
        let sources = directory.join("sources").join(&self.process);
        let there = recording.disk.whole().0.remove(&sources);
        assert!(there.is_some(), "nothing says where inputs came from");
        let flushed = recording.disk.flushed(let_go.begun).0.remove(&sources);
        assert_eq!(
            flushed, there,
            "a copy goes before it is durable where it came from"
        );
    }

    fn is_found(&self, sandbox: &Sandbox, is_acknowledged: bool) -> Result<(), String> {
        let process = &*self.process;
        let list = sandbox.xav(&["list", "--json"]);
        if list.status != Some(0) {
            return Err(format!("xav list: {list:?}"));
        }
        let listed: Value =
            serde_json::from_str(&list.stdout).map_err(|error| error.to_string())?;
        let known = listed.as_array().unwrap();
        let Some(entry) = known.iter().find(|one| one["process"] == process) else {
            return match is_acknowledged {
                true => Err(format!("lost: {list:?}")),
                false => Ok(()),
            };
        };
        if entry["state"] != "completed" {
            let mut resumed = sandbox.start(&["resume", process, "--quiet", "--slots", "2"]);
            wait::until("the end of a resumed run", || {
                resumed.has_ended().then_some(())
            });
            let resumed = resumed.end();
            if resumed.status != Some(0) {
                return Err(format!("xav resume: {resumed:?}"));
            }
        }
        let status = sandbox.json(&["status", process, "--json"]);
        if status["state"] != "completed"
            || hashes(&status) != self.hashes
            || status["outputs"] != self.outputs
        {
            return Err(format!("another end: {status}"));
        }
        if !self.has_files {
            return Ok(());
        }
        // Inputs are in the store, or are copied again from where they were.
        let again = ["rerun", process, "--same-files", "-i", "n=2", "--quiet"];
        let again = sandbox.xav(&again);
        match again.status {
            Some(0) => Ok(()),
            _ => Err(format!("xav rerun: {again:?}")),
        }
    }
}

#[test]
fn a_run_without_files_survives_power_cuts() {
    survives(PLAIN, &[], cuts());
}

#[test]
fn a_run_with_files_survives_power_cuts() {
    survives(FILES, &["--input", "given=given.txt"], cuts());
}

#[test]
fn a_run_whose_input_is_let_go_survives_power_cuts() {
    survives(COPY, &["--input", "given=given.txt"], cuts() / 4);
}

#[test]
fn a_run_that_is_too_long_for_the_tail_survives_power_cuts() {
    let long = "x".repeat(LONG_BYTES);
    let inputs = format!("inputs: {{ long: {{ type: string, default: {long} }} }}\n");
    survives(
        &PLAIN.replace("variables:", &(inputs + "variables:")),
        &[],
        cuts() / 4,
    );
}
