//! `xav rerun` after a fault runs only changed activities and those that depend on them; with
//! `--keep-going`, `cache: true` and `xav why`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use crate::recorded;
use crate::sandbox::Sandbox;

/// `write`, then `count` and `shout` side by side, then `last`; each says its name in a log.
fn greet(sandbox: &Sandbox, shout: &str, resources: &str) -> String {
    let log = sandbox.path("log").display().to_string();
    let text = format!(
        "\
xavantes: 1
name: greet
inputs:
  who: {{ type: string, default: world }}
variables:
  letters: int
outputs:
  letters: ${{ letters }}
body:
  sequence:
    - activity: write
      run: [sh, -c, 'echo write >> {log}; echo \"hello $1\" > greeting.txt', sh, '${{inputs.who}}']
      outputs: {{ greeting: greeting.txt }}
{resources}
    - parallel:
        - activity: count
          run: {{ shell: 'echo count >> {log}; wc -c < greeting.txt' }}
          inputs: {{ greeting.txt: write.greeting }}
          stdout: {{ into: letters, as: int }}
        - activity: shout
          run: {{ shell: 'echo shout >> {log}; {shout}' }}
          inputs: {{ greeting.txt: write.greeting }}
          outputs: {{ loud: loud.txt }}
    - activity: last
      run: {{ shell: 'echo last >> {log}; cat loud.txt' }}
      inputs: {{ loud.txt: shout.loud }}
"
    );
    sandbox.file("greet.yaml", text)
}

const GOOD: &str = "tr a-z A-Z < greeting.txt > loud.txt";
const BAD: &str = "exit 3";

/// The activities that ran since the last call, sorted.
fn ran(sandbox: &Sandbox) -> Vec<String> {
    let mut lines = sandbox.lines("log");
    let _ = fs::remove_file(sandbox.path("log"));
    lines.sort_unstable();
    lines
}

fn names(known: &[&str]) -> Vec<String> {
    known.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn a_rerun_does_what_failed_and_what_depends_on_it() {
    let sandbox = Sandbox::new();
    let file = greet(&sandbox, BAD, "");
    let failed = sandbox.xav(&["run", &file, "--keep-going"]).expect(1);
    let failed = failed.says("Mend it, and run again what that changes: xav rerun ");
    let base = sandbox.json(&["status", "--json"]);
    let base = base["process"].as_str().unwrap();
    failed.says(&format!("xav rerun {} --file {file}\n", &base[..6]));
    assert_eq!(ran(&sandbox), names(&["count", "shout", "write"]));

    greet(&sandbox, GOOD, "");
    let done = sandbox.xav(&["rerun", base, "--file", &file]).expect(0);
    assert_eq!(done.stdout, "letters: 12\n");
    let done = done.says("2 ran, 2 recorded outcomes stand");
    assert!(!done.stderr.contains("Mend it"), "{}", done.stderr);
    assert_eq!(ran(&sandbox), names(&["last", "shout"]));
    for (activity, words) in [
        (
            "write",
            "write was not run: a recorded outcome stands for it\n",
        ),
        ("shout", "it failed\n"),
        ("last", "last was run, and completed\n"),
    ] {
        sandbox.xav(&["why", activity]).expect(0).shows(words);
    }
    let status = sandbox.json(&["status", "--json"]);
    assert_eq!(status["base"], base);
    assert_eq!(status["activities"]["reused"], 2);
    let write = &status["activity_list"][0];
    assert_eq!(write["attempts"], Value::Array(Vec::new()));
    assert_eq!(write["reused"]["process"], base);
    assert_eq!(write["reused"]["exit_code"], 0);
    // The log of a reused activity can be read.
    sandbox.xav(&["logs", "count"]).expect(0).shows("12\n");

    // A rerun of a rerun, with other resources: nothing runs.
    let file = greet(
        &sandbox,
        GOOD,
        "      memory: 64MiB\n      cores: 1\n      retry: { attempts: 2 }",
    );
    let again = sandbox.xav(&["rerun", "--file", &file]).expect(0);
    let again = again.says("none ran, 4 recorded outcomes stand");
    assert_eq!(again.stdout, "letters: 12\n");
    assert_eq!(ran(&sandbox), names(&[]));

    // Another input: what it changes. The definition and all else stay.
    let other = sandbox.xav(&["rerun", "--input", "who=you"]).expect(0);
    assert_eq!(other.stdout, "letters: 10\n");
    assert_eq!(ran(&sandbox), names(&["count", "last", "shout", "write"]));
    let json = sandbox.json(&["why", "write", "--json"]);
    assert_eq!(json["recall"]["recall"], "changed", "{json}");
    assert_eq!(json["recall"]["changed"][0], "command", "{json}");
    let same = sandbox.json(&["rerun", "--json"]);
    assert_eq!(same["inputs"]["who"], "you", "inputs stay");
    assert_eq!(ran(&sandbox), names(&[]));

    // All of them are in one directory, and each is found by its own name.
    let list = sandbox.json(&["list", "--json"]);
    let list = list.as_array().unwrap();
    assert_eq!(list.len(), 5);
    for process in list {
        let id = process["process"].as_str().unwrap();
        assert_eq!(process["directory"], list[0]["directory"]);
        sandbox.xav(&["status", id]).expect(0).shows(id);
    }
    // Also where the links are lost, as after a power cut.
    for entry in fs::read_dir(sandbox.runs()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            fs::remove_file(path).unwrap();
        }
    }
    for process in list {
        let id = process["process"].as_str().unwrap();
        sandbox
            .xav(&["results", id])
            .shows(if id == base { "" } else { "letters: 1" });
    }
}

#[test]
fn without_keep_going_a_fault_ends_the_process_and_why_says_so() {
    let sandbox = Sandbox::new();
    let file = greet(&sandbox, BAD, "");
    sandbox.xav(&["run", &file]).expect(1);
    sandbox
        .xav(&["why", "last"])
        .expect(0)
        .shows("last was not run, and will not\n");
    let shout = sandbox.xav(&["why", "shout"]).expect(0);
    shout
        .shows("shout failed\n")
        .shows("fault: activity shout: exited with status 3");
}

/// A task and all tasks after it.
fn descendants(tasks: &BTreeMap<String, Vec<String>>, of: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::from([of.to_owned()]);
    loop {
        let more = tasks.iter().filter(|(id, parents)| {
            !found.contains(*id) && parents.iter().any(|parent| found.contains(parent))
        });
        let more: Vec<String> = more.map(|(id, _)| id.clone()).collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

/// The task ids in the commands' log since the last call.
fn burned(sandbox: &Sandbox) -> Vec<String> {
    let mut names: Vec<String> = ran(sandbox)
        .iter()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            line["name"].as_str().unwrap().to_owned()
        })
        .collect();
    names.sort_unstable();
    names
}

/// Makes one activity in the middle of a recorded workflow fail, corrects it, and reruns the rest.
fn mended(recording: &Path, scales: &[&str]) {
    let sandbox = Sandbox::new();
    let record = format!("--record={}", sandbox.path("log").display());
    let mut export = vec!["export", recording.to_str().unwrap(), &record];
    export.extend(scales);
    let good = sandbox.xav(&export).expect(0).stdout;
    let tasks = recorded::tasks(recording);
    let after = |id: &str| descendants(&tasks, id);
    let middle = tasks.len() / 2;
    // About half come after it, and it comes after some.
    let wanted = tasks
        .iter()
        .filter(|(_, parents)| !parents.is_empty())
        .map(|(id, _)| id)
        .min_by_key(|id| after(id).len().abs_diff(middle))
        .unwrap();
    let whole = format!("- \"--name={wanted}\"");
    assert_eq!(good.matches(&whole).count(), 1, "{wanted}");
    let bad = good.replace(&whole, &format!("{whole}\n        - --no-such-option"));
    let file = sandbox.file("bad.yaml", &bad);
    let failed = sandbox
        .xav(&["run", &file, "--keep-going", "--quiet"])
        .expect(1);
    failed.says(&format!("activity {wanted}: exited with status 2"));
    let all: BTreeSet<String> = tasks.keys().cloned().collect();
    let expected = after(wanted);
    let others: Vec<String> = all.difference(&expected).cloned().collect();
    assert_eq!(burned(&sandbox), others);

    let file = sandbox.file("mended.yaml", &good);
    let json = sandbox.json(&["rerun", "--file", &file, "--json"]);
    assert_eq!(json["state"], "completed", "{json}");
    assert_eq!(burned(&sandbox), expected.into_iter().collect::<Vec<_>>());
    assert_eq!(json["activities"]["reused"], others.len());

    let mut other = String::new();
    for line in good.lines() {
        other.push_str(line);
        other.push('\n');
        if let Some(work) = line.find("work: ") {
            let indent = &line[..work];
            other.push_str(&format!("{indent}memory: 33MiB\n{indent}timeout: 1h\n"));
        }
    }
    let file = sandbox.file("other.yaml", &other);
    let json = sandbox.json(&["rerun", "--file", &file, "--json"]);
    assert_eq!(json["state"], "completed", "{json}");
    assert_eq!(json["activities"]["reused"], all.len());
    assert_eq!(burned(&sandbox), names(&[]));
}

#[test]
fn a_recorded_workflow_is_mended_in_the_middle() {
    mended(
        &recorded::sample(),
        &["--cpu-total=200ms", "--data-scale=0.001"],
    );
}

#[test]
fn a_recorded_workflow_of_58_activities_is_mended_in_the_middle() {
    if let Some(file) = recorded::data("montage-chameleon-2mass-005d-001.json") {
        mended(&file, &["--cpu-total=2s", "--data-scale=0.001"]);
    }
}

const CACHED: &str = "\
xavantes: 1
name: cached
inputs: { log: string, gate: string }
variables: { word: string }
outputs: { word: '${ word }' }
body:
  sequence:
    - activity: slow
      run: { shell: 'echo slow >> ${inputs.log}; echo made' }
      stdout: { into: word, as: text }
      cache: true
    - activity: gate
      run: { shell: 'echo gate >> ${inputs.log}; while [ ! -e ${inputs.gate} ]; do sleep 0.01; done' }
";

#[test]
fn an_outcome_is_recalled_across_processes() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("cached.yaml", CACHED);
    let log = format!("log={}", sandbox.path("log").display());
    let gate = format!("gate={}", sandbox.path("gate").display());
    let arguments = ["run", &file, "-i", &log, "-i", &gate];
    sandbox.file("gate", "");
    sandbox.xav(&arguments).expect(0).shows("word: made\n");
    assert_eq!(ran(&sandbox), names(&["gate", "slow"]));
    let second = sandbox.xav(&arguments).expect(0).shows("word: made\n");
    second.says("1 ran, 1 recorded outcome stands");
    assert_eq!(ran(&sandbox), names(&["gate"]));
    sandbox
        .xav(&["why", "slow"])
        .expect(0)
        .shows("slow was not run");

    // Two at once, of which both recall, and so does one of another definition.
    fs::remove_file(sandbox.path("gate")).unwrap();
    let first = sandbox.start(&arguments);
    sandbox.wait_for_lines("log", 1);
    let other = sandbox.file("other.yaml", CACHED.replace("name: cached", "name: other"));
    let of_other = ["run", &other, "-i", &log, "-i", &gate];
    let second = sandbox.start(&of_other);
    sandbox.wait_for_lines("log", 2);
    sandbox.file("gate", "");
    for run in [first, second] {
        let recalled = run.end().expect(0);
        recalled.says("1 ran, 1 recorded outcome stands");
    }
    assert_eq!(ran(&sandbox), names(&["gate", "gate"]));
    let list = sandbox.json(&["list", "--json"]);
    assert_eq!(list.as_array().map(Vec::len), Some(4));
    for process in list.as_array().unwrap() {
        let id = process["process"].as_str().unwrap();
        let name = process["name"].as_str().unwrap();
        sandbox.xav(&["status", id]).expect(0).shows(name);
    }

    // One that was interrupted keeps nobody from recalling, and is not gone on with.
    fs::remove_file(sandbox.path("gate")).unwrap();
    let first = sandbox.start(&arguments);
    sandbox.wait_for_lines("log", 1);
    first.signal(Signal::INT);
    first.end().expect(130);
    let _ = ran(&sandbox);
    sandbox.file("gate", "");
    let alone = sandbox.xav(&arguments).expect(0);
    alone.says("1 ran, 1 recorded outcome stands");
    assert_eq!(ran(&sandbox), names(&["gate"]));
}

#[test]
fn a_run_names_the_process_that_goes_on_beside_it() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("cached.yaml", CACHED);
    let log = format!("log={}", sandbox.path("log").display());
    let gate = format!("gate={}", sandbox.path("gate").display());
    let arguments = ["run", &file, "-i", &log, "-i", &gate, "--state", "s"];
    let run = sandbox.start(&arguments);
    sandbox.wait_for_lines("log", 2);
    run.signal(Signal::INT);
    run.end().expect(130);
    let list = sandbox.json(&["list", "--state", "s", "--json"]);
    let id = list[0]["process"].as_str().unwrap();
    sandbox
        .xav(&["rerun", id, "--state", "s"])
        .expect(2)
        .says("has not ended\n")
        .says("xav resume ");
    sandbox.file("gate", "");
    let words = format!("cached {id} had not ended in this state directory: it goes on beside");
    sandbox.xav(&arguments).expect(0).says(&words);
}
