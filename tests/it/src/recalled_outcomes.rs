//! `xav run` recalls what an earlier run of the same definition made: which outcomes stand, which do not, and
//! where their files are.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::Value;

use crate::sandbox::Sandbox;

/// `make` reads the input, `count` what it made, and `tell` has nothing that is taken from it.
const PLAIN: &str = "\
xavantes: 1
name: plain
inputs: { data: { type: file, default: data.txt } }
variables: { n: int }
outputs: { n: '${ n }', sorted: make.sorted }
body:
  sequence:
    - activity: make
      run: { shell: 'sort in.txt > sorted.txt; date +%N > stamp; echo sorted' }
      inputs: { in.txt: inputs.data }
      outputs: { sorted: sorted.txt, stamp: stamp }
    - activity: count
      run: { shell: 'wc -l < sorted.txt' }
      inputs: { sorted.txt: make.sorted }
      stdout: { into: n, as: int }
    - activity: tell
      run: [echo, told]
";

fn plain(sandbox: &Sandbox) -> String {
    sandbox.file("data.txt", "2\n1\n");
    sandbox.file("plain.yaml", PLAIN)
}

/// Runs a definition, and gives its document and the activities that ran.
#[track_caller]
fn run(sandbox: &Sandbox, arguments: &[&str]) -> (Value, Vec<String>) {
    let json = sandbox.json(&[&["run", "--json"], arguments].concat());
    assert_eq!(json["state"], "completed", "{json}");
    let ran = ran(sandbox, &json);
    (json, ran)
}

/// The activities of a process that were not recalled.
fn ran(sandbox: &Sandbox, process: &Value) -> Vec<String> {
    let id = process["process"].as_str().unwrap();
    let status = sandbox.json(&["status", id, "--json", "--embedded"]);
    let all = status["activity_list"].as_array().unwrap().iter();
    let ran = all.filter(|one| one["reused"].is_null());
    ran.map(|one| one["activity"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn an_unchanged_run_recalls_what_makes_something_and_an_edit_runs_what_depends_on_it() {
    let sandbox = Sandbox::new();
    let file = plain(&sandbox);
    assert_eq!(run(&sandbox, &[&file]).1, ["make", "count", "tell"]);
    let second = sandbox.xav(&["run", &file]).expect(0);
    second
        .says("1 ran, 2 recorded outcomes stand")
        .shows("n: 2\n");
    // An activity that ran says it again, and one that was recalled what it said then.
    sandbox.xav(&["logs", "make"]).expect(0).shows("sorted");
    sandbox
        .xav(&["why", "make"])
        .expect(0)
        .shows("make was not run");
    sandbox.file("data.txt", "2\n1\n3\n");
    let (json, ran_now) = run(&sandbox, &[&file]);
    assert_eq!(ran_now, ["make", "count", "tell"]);
    assert_eq!(json["outputs"]["n"], 3);
    // The outcome for the former input is known too.
    sandbox.file("data.txt", "2\n1\n");
    let (json, ran_now) = run(&sandbox, &[&file]);
    assert_eq!(
        (ran_now, &json["outputs"]["n"]),
        (vec!["tell".to_owned()], &Value::from(2))
    );
    // The input in another order makes another file of the same content.
    sandbox.file("data.txt", "1\n2\n");
    assert_eq!(run(&sandbox, &[&file]).1, ["make", "tell"]);
    // A definition of another name has nothing to do with it.
    let other = sandbox.file("other.yaml", PLAIN.replace("name: plain", "name: other"));
    assert_eq!(run(&sandbox, &[&other]).1.len(), 3);
}

#[test]
fn what_must_run_runs() {
    let sandbox = Sandbox::new();
    let text = "\
xavantes: 1
name: must
variables: { out: string }
body:
  sequence:
    - { activity: bare, run: [echo, bare] }
    - { activity: never, run: [echo, never], stdout: { into: out }, cache: false }
    - { activity: once, run: [echo, once], stdout: { into: out }, at-most-once: true }
    - { activity: outside, run: { shell: 'cat OUTSIDE > o; wc -l < o' }, stdout: { into: out } }
    - { activity: always, run: { shell: 'cat OUTSIDE > o' }, outputs: { o: o }, cache: true }
    - { activity: kept, run: [echo, kept], stdout: { into: out }, retry: { attempts: 2 }, repeatable: true }
";
    let outside = sandbox.file("outside.txt", "a\n");
    let file = sandbox.file("must.yaml", text.replace("OUTSIDE", &outside));
    assert_eq!(run(&sandbox, &[&file]).1.len(), 6);
    let must = ["bare", "never", "once", "outside"];
    assert_eq!(run(&sandbox, &[&file]).1, must);
    let all_never = fs::read_to_string(&file).unwrap();
    let all_never = all_never.replace("name: must", "name: must\ncache: false");
    let file = sandbox.file("never.yaml", all_never);
    assert_eq!(
        run(&sandbox, &[&file]).1,
        ["bare", "never", "once", "outside", "kept"]
    );
    // The activity that failed runs again, and the outcome of the other one stands.
    let text = "\
xavantes: 1
name: fails
body:
  sequence:
    - { activity: good, run: [touch, o], outputs: { o: o } }
    - { activity: bad, run: { shell: 'touch o; exit 3' }, outputs: { o: o } }
";
    let file = sandbox.file("fails.yaml", text);
    sandbox.xav(&["run", &file]).expect(1);
    let again = sandbox.xav(&["run", &file]).expect(1);
    again.says("1 ran, 1 recorded outcome stands");
}

#[test]
fn an_outcome_stands_for_one_of_several_with_the_same_command() {
    let sandbox = Sandbox::new();
    let draws = |n: u32| {
        let text = format!(
            "xavantes: 1\nname: draws\noutputs: {{ drawn: '${{ draw[*].name }}' }}\nbody:\n  for-each:\n    \
             item: i\n    in: ${{ range({n}) }}\n    variables: {{ name: string }}\n    \
             do: {{ activity: draw, run: [mktemp, -u, draw.XXXXXXXXXX], stdout: {{ into: name }} }}\n"
        );
        let file = sandbox.file("draws.yaml", text);
        let (json, ran) = run(&sandbox, &[&file]);
        let drawn = json["outputs"]["drawn"].as_array().unwrap().clone();
        (drawn, ran.len())
    };
    let (first, n_ran) = draws(4);
    assert_eq!((first.len(), n_ran), (4, 4));
    // Each has its own again, and a fifth one runs.
    assert_eq!(draws(4), (first.clone(), 0));
    let (more, n_ran) = draws(5);
    assert_eq!((&more[..4], n_ran), (&first[..], 1));
    assert!(!first.contains(&more[4]), "{more:?}");
    // So it is where a process is mended.
    let again = sandbox.json(&["rerun", "--json"]);
    assert_eq!(again["outputs"]["drawn"].as_array().unwrap(), &more);
}

#[test]
fn without_the_cache_all_run_and_later_runs_recall_what_they_made() {
    let sandbox = Sandbox::new();
    let file = plain(&sandbox);
    let (first, _) = run(&sandbox, &[&file]);
    let (fresh, ran_now) = run(&sandbox, &[&file, "--no-cache"]);
    assert_eq!(ran_now.len(), 3);
    let (last, ran_now) = run(&sandbox, &[&file]);
    assert_eq!(ran_now, ["tell"]);
    let of = |process: &Value| {
        let id = process["process"].as_str().unwrap();
        let status = sandbox.json(&["status", id, "--json"]);
        status["activity_list"][0]["outputs"]["stamp"].clone()
    };
    assert_ne!(of(&first), of(&fresh));
    assert_eq!(of(&fresh), of(&last), "the newest one stands");
    // In a directory that was named, only what `cache: true` shares there is recalled.
    let state = ["--state", "s"];
    for _ in 0..2 {
        let named = sandbox.json(&[&["run", &file, "--json"][..], &state].concat());
        assert_eq!(named["activities"]["reused"], 0, "{named}");
    }
}

#[test]
fn a_dry_run_says_what_a_run_recalls() {
    let sandbox = Sandbox::new();
    let file = plain(&sandbox);
    let line = |words: &str| {
        let dry = sandbox.xav(&["run", &file, "--dry-run"]).expect(0);
        dry.shows(words);
    };
    line("3 of 3 run: ");
    run(&sandbox, &[&file]);
    line("1 of 3 runs: ");
    let dry = sandbox.xav(&["run", &file, "--dry-run", "--no-cache"]);
    dry.expect(0).shows("3 of 3 run: ");
    sandbox.file("data.txt", "7\n");
    line("3 of 3 run: ");
    assert_eq!(
        run(&sandbox, &[&file]).1.len(),
        3,
        "`count` depends on what runs"
    );
    sandbox.xav(&["forget", "--older-than", "0s"]).expect(0);
    line("3 of 3 run: ");
    assert_eq!(run(&sandbox, &[&file]).1.len(), 3);
}

#[test]
fn a_replaced_program_and_another_setting_run_again() {
    let sandbox = Sandbox::new();
    let text = "\
xavantes: 1
name: tools
body:
  - { activity: own, run: { shell: 'own-tool > o' }, outputs: { o: o } }
  - { activity: plain, run: { shell: 'echo plain > o' }, outputs: { o: o } }
";
    let file = sandbox.file("tools.yaml", text);
    let install = |text: &str| {
        fs::create_dir_all(sandbox.path("bin")).unwrap();
        let path = sandbox.file("bin/own-tool", text);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(path, mode).unwrap();
    };
    let places = format!("{}:/usr/bin:/bin", sandbox.path("bin").display());
    let ran_with = |variables: &[(&str, &str)]| {
        let mut command = sandbox.command(&["run", &file, "--json"]);
        command.env("PATH", &places).env_remove("LC_ALL");
        let done = command.envs(variables.iter().copied()).output().unwrap();
        ran(&sandbox, &serde_json::from_slice(&done.stdout).unwrap())
    };
    install("#!/bin/sh\necho one\n");
    assert_eq!(ran_with(&[]), ["own", "plain"]);
    assert_eq!(ran_with(&[("TMPDIR", "/var/tmp")]), [""; 0]);
    install("#!/bin/sh\necho other\n");
    assert_eq!(ran_with(&[]), ["own"]);
    assert_eq!(ran_with(&[]), [""; 0]);
    assert_eq!(ran_with(&[("LC_ALL", "C")]), ["own", "plain"]);
    let more = format!("{places}:/sbin");
    assert_eq!(ran_with(&[("PATH", &more)]), ["own", "plain"]);
    assert_eq!(ran_with(&[]), [""; 0]);
}

#[test]
fn a_store_that_cannot_be_read_or_written_hinders_no_run() {
    let sandbox = Sandbox::new();
    let file = plain(&sandbox);
    fs::create_dir_all(sandbox.path("data/xavantes/outcomes")).unwrap();
    let done = sandbox.xav(&["run", &file]).expect(0);
    done.says("could not read the outcomes of earlier runs")
        .shows("n: 2\n");
    assert_eq!(run(&sandbox, &[&file]).1.len(), 3);
    fs::remove_dir(sandbox.path("data/xavantes/outcomes")).unwrap();
    assert_eq!(run(&sandbox, &[&file]).1.len(), 3);
    assert_eq!(run(&sandbox, &[&file]).1, ["tell"]);
}

/// The blobs of all runs that have this content.
fn blobs(sandbox: &Sandbox, content: &[u8]) -> Vec<PathBuf> {
    let all = all_blobs(sandbox).into_iter();
    all.filter(|path| fs::read(path).is_ok_and(|bytes| bytes == content))
        .collect()
}

fn all_blobs(sandbox: &Sandbox) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left: Vec<PathBuf> = fs::read_dir(sandbox.runs())
        .unwrap()
        .map(|run| run.unwrap().path().join("am/blobs/blobs"))
        .collect();
    while let Some(path) = left.pop() {
        match fs::read_dir(&path) {
            Ok(entries) => left.extend(entries.map(|one| one.unwrap().path())),
            Err(_) => found.push(path),
        }
    }
    found
}

/// Overwrites a blob, which its store keeps from being written to.
fn damage(path: &Path) {
    fs::remove_file(path).unwrap();
    fs::write(path, "0\n0\n").unwrap();
    let sealed = std::os::unix::fs::PermissionsExt::from_mode(0o444);
    fs::set_permissions(path, sealed).unwrap();
}

#[test]
fn an_outcome_whose_files_are_gone_or_damaged_does_not_stand() {
    let sandbox = Sandbox::new();
    let file = plain(&sandbox);
    let (first, _) = run(&sandbox, &[&file]);
    let (second, ran_now) = run(&sandbox, &[&file]);
    assert_eq!(ran_now, ["tell"]);
    // Results of a run that recalled them stay when the run is forgotten that made them.
    let id = first["process"].as_str().unwrap();
    sandbox.xav(&["forget", id]).expect(0);
    let id = second["process"].as_str().unwrap();
    sandbox.xav(&["results", id, "--to", "there"]).expect(0);
    let results = fs::read_to_string(sandbox.path("there/sorted.txt")).unwrap();
    assert_eq!(results, "1\n2\n");
    sandbox.xav(&["logs", id, "tell"]).expect(0).shows("told");
    // Only what it wrote to its streams is gone.
    let logs = sandbox.xav(&["logs", id]).expect(0).shows("told");
    logs.says("what make wrote is gone: ");
    let why = sandbox.xav(&["why", id, "make"]).expect(0);
    why.shows("make was not run");
    sandbox.xav(&["status", id]).expect(0).shows("stands");
    assert_eq!(run(&sandbox, &[&file]).1, ["tell"]);
    // `count` stands, since it has made no file and reads what is made again.
    for path in blobs(&sandbox, b"1\n2\n") {
        damage(&path);
    }
    let (json, ran_now) = run(&sandbox, &[&file]);
    assert_eq!(
        (ran_now, &json["outputs"]["n"]),
        (vec!["make".to_owned(), "tell".to_owned()], &Value::from(2))
    );
    for path in blobs(&sandbox, b"1\n2\n") {
        fs::remove_file(path).unwrap();
    }
    assert_eq!(run(&sandbox, &[&file]).1, ["make", "tell"]);
}

/// `first` makes a directory; `second` waits for a file outside.
fn gated(sandbox: &Sandbox) -> String {
    let (log, gate) = (sandbox.path("log"), sandbox.path("gate"));
    let text = format!(
        "\
xavantes: 1
name: gated
outputs: {{ parts: first.parts }}
body:
  sequence:
    - activity: first
      run: {{ shell: 'mkdir -p parts/deep; echo a > parts/a; echo b > parts/deep/b' }}
      outputs: {{ parts: parts/ }}
    - activity: second
      run: {{ shell: 'echo here >> {}; while [ ! -e {} ]; do sleep 0.01; done' }}
      inputs: {{ parts/: first.parts }}
",
        log.display(),
        gate.display()
    );
    sandbox.file("gated.yaml", text)
}

/// Waits until the outcome of `first` is kept for others, and its files are durable.
fn wait_until_kept(sandbox: &Sandbox) {
    let is_sealed = |path: &PathBuf| {
        let metadata = fs::metadata(path).unwrap();
        metadata.permissions().readonly()
    };
    crate::wait::until("an outcome is kept", || {
        let kept = fs::metadata(sandbox.path("data/xavantes/outcomes"));
        let is_kept = kept.is_ok_and(|kept| kept.len() > 0);
        let files = all_blobs(sandbox);
        (is_kept && files.len() >= 3 && files.iter().all(is_sealed)).then_some(())
    });
}

#[test]
fn several_runs_at_once_recall_what_each_other_made() {
    let sandbox = Sandbox::new();
    let file = gated(&sandbox);
    let first = sandbox.start(&["run", &file, "--json"]);
    sandbox.wait_for_lines("log", 1);
    wait_until_kept(&sandbox);
    let others = [0, 1].map(|_| sandbox.start(&["run", &file, "--json"]));
    sandbox.wait_for_lines("log", 3);
    sandbox.file("gate", "");
    first.end().expect(0);
    for other in others {
        let other = other.end().expect(0);
        let json: Value = serde_json::from_str(&other.stdout).unwrap();
        assert_eq!(ran(&sandbox, &json), ["second"]);
        let parts = json["outputs"]["parts"]["path"].as_str();
        let parts = Path::new(parts.unwrap_or_else(|| panic!("{json}")));
        assert_eq!(fs::read_to_string(parts.join("deep/b")).unwrap(), "b\n");
    }
}

#[test]
fn a_run_after_one_that_was_killed_recalls_what_that_one_had_done() {
    let sandbox = Sandbox::new();
    let file = gated(&sandbox);
    let killed = sandbox.start(&["run", &file]);
    sandbox.wait_for_lines("log", 1);
    wait_until_kept(&sandbox);
    killed.signal(Signal::KILL);
    let _ = killed.end();
    sandbox.file("gate", "");
    assert_eq!(run(&sandbox, &[&file]).1, ["second"]);
}

#[test]
fn sixty_activities_are_recalled_and_a_damaged_store_recalls_none() {
    let sandbox = Sandbox::new();
    let text = "\
xavantes: 1
name: sixty
body:
  sequence:
    - for-each:
        item: n
        in: ${ range(59) }
        do:
          activity: make
          run: { shell: 'echo ${ n } > out' }
          outputs: { out: out }
    - activity: all
      run: { shell: 'cat parts/* > all' }
      inputs: { parts/: 'make[*].out' }
      outputs: { all: all }
";
    let file = sandbox.file("sixty.yaml", text);
    assert_eq!(run(&sandbox, &[&file]).1.len(), 60);
    let again = sandbox.xav(&["run", &file]).expect(0);
    again.says("none ran, 60 recorded outcomes stand");
    fs::write(sandbox.path("data/xavantes/outcomes"), vec![0xf5; 5_000]).unwrap();
    assert_eq!(run(&sandbox, &[&file]).1.len(), 60);
    assert_eq!(run(&sandbox, &[&file]).1.len(), 0);
}
