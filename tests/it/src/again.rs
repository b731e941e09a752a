//! `xav rerun` reads files again from where they came from, and runs what has changed and what depends on
//! that; `--dry-run` says so before.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::sandbox::Sandbox;

/// `read` and `own` side by side, then `last`; each says its name in a log. `read` reads the input, `own`
/// its script, and `last` what both made.
fn definition(sandbox: &Sandbox) -> String {
    let log = sandbox.path("log").display().to_string();
    sandbox.file("data.txt", "1\n2\n");
    sandbox.file("common.sh", "say() { echo \"$1\" >> \"$2\"; }\n");
    sandbox.file(
        "own.sh",
        ". ./common.sh\nsay own \"$1\"\necho own > o.txt\n",
    );
    let text = format!(
        "\
xavantes: 1
name: again
inputs:
  data: {{ type: file, default: data.txt }}
  n: {{ type: int, default: 1 }}
files: [common.sh]
outputs:
  out: last.out
body:
  sequence:
    - parallel:
        - activity: read
          run: {{ shell: '. ./common.sh; say read {log}; cat in.txt > r.txt; echo ${{ inputs.n }} >> r.txt' }}
          inputs: {{ in.txt: inputs.data }}
          outputs: {{ r: r.txt }}
        - activity: own
          run: [sh, own.sh, '{log}']
          uses: [own.sh]
          outputs: {{ o: o.txt }}
    - activity: last
      run: {{ shell: '. ./common.sh; say last {log}; cat o.txt r.txt > out.txt' }}
      inputs: {{ o.txt: own.o, r.txt: read.r }}
      outputs: {{ out: out.txt }}
"
    );
    sandbox.file("again.yaml", text)
}

/// The activities that ran since the last call, sorted.
fn ran(sandbox: &Sandbox) -> Vec<String> {
    let mut lines = sandbox.lines("log");
    let _ = fs::remove_file(sandbox.path("log"));
    lines.sort_unstable();
    lines
}

/// The forecasts of a dry run, by activity.
#[track_caller]
fn forecast(json: &Value) -> Vec<(String, String)> {
    let list = json["activity_list"]
        .as_array()
        .unwrap_or_else(|| panic!("{json}"));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let forecasts = list.iter();
    forecasts
        .map(|one| (text(&one["activity"]), text(&one["forecast"])))
        .collect()
}

/// Compares a dry run of a rerun with the rerun itself: the words of its line, and what ran.
#[track_caller]
fn reruns(sandbox: &Sandbox, options: &[&str], line: &str, expected: &[&str]) {
    let mut dry = vec!["rerun", "--dry-run"];
    dry.extend(options);
    sandbox.xav(&dry).expect(0).shows(&format!("{line}\n"));
    assert_eq!(
        ran(sandbox),
        Vec::<String>::new(),
        "a dry run starts nothing"
    );
    let mut rerun = vec!["rerun"];
    rerun.extend(options);
    sandbox.xav(&rerun).expect(0).says(&format!("{line}\n"));
    assert_eq!(ran(sandbox), expected);
}

#[test]
fn a_rerun_reads_files_again_and_says_what_it_runs() {
    let sandbox = Sandbox::new();
    let file = definition(&sandbox);
    sandbox.xav(&["run", &file]).expect(0);
    assert_eq!(ran(&sandbox), ["last", "own", "read"]);
    let none = "none of 3 runs; 3 stand";
    reruns(&sandbox, &[], none, &[]);
    // A file that was written again with the same content.
    sandbox.file("data.txt", "1\n2\n");
    reruns(&sandbox, &[], none, &[]);
    sandbox.file("data.txt", "1\n2\n3\n");
    let of_data = "2 of 3 run: 1 changed input, 1 depends on it; 1 stands";
    reruns(&sandbox, &[], of_data, &["last", "read"]);
    sandbox.xav(&["results", "--to", "first"]).expect(0);
    let out = fs::read_to_string(sandbox.path("first/out.txt")).unwrap();
    assert_eq!(out, "own\n1\n2\n3\n1\n");
    reruns(&sandbox, &[], none, &[]);
    // A script of one activity, and then one of all.
    let own = fs::read_to_string(sandbox.path("own.sh")).unwrap();
    sandbox.file("own.sh", format!("{own}# a comment\n"));
    reruns(
        &sandbox,
        &[],
        "2 of 3 run: 1 changed input, 1 depends on it; 1 stands",
        &["own"],
    );
    let common = fs::read_to_string(sandbox.path("common.sh")).unwrap();
    sandbox.file("common.sh", format!("{common}# a comment\n"));
    let all = "3 of 3 run: 2 changed inputs, 1 depends on them; 0 stand";
    reruns(&sandbox, &[], all, &["last", "own", "read"]);
    // A parameter, and a command that makes the same in another way.
    let of_n = "2 of 3 run: 1 changed command, 1 depends on it; 1 stands";
    reruns(&sandbox, &["--input", "n=2"], of_n, &["last", "read"]);
    let text = fs::read_to_string(&file).unwrap();
    let other = text.replace("cat in.txt > r.txt", "cat < in.txt > r.txt");
    fs::write(&file, other).unwrap();
    let told = sandbox.xav(&["rerun", "--dry-run"]).expect(0);
    told.says("again.yaml has changed since").shows(none);
    reruns(&sandbox, &["--file", &file], of_n, &["read"]);
    // Outputs that were written somewhere and deleted are written again.
    sandbox.xav(&["results", "--to", "there"]).expect(0);
    fs::remove_dir_all(sandbox.path("there")).unwrap();
    reruns(&sandbox, &[], none, &[]);
    sandbox.xav(&["results", "--to", "there"]).expect(0);
    assert!(sandbox.path("there/out.txt").exists());
}

#[test]
fn a_file_that_is_gone_is_told_and_another_way_is_named() {
    let sandbox = Sandbox::new();
    let file = definition(&sandbox);
    let given = sandbox.file("given.txt", "7\n");
    // The path is relative: it counts from where the process was started.
    sandbox
        .xav(&["run", &file, "-i", "data=given.txt"])
        .expect(0);
    let _ = ran(&sandbox);
    fs::remove_file(&given).unwrap();
    fs::remove_file(sandbox.path("own.sh")).unwrap();
    for option in ["--quiet", "--dry-run"] {
        let refused = sandbox.xav(&["rerun", option]).expect(2);
        let refused = refused
            .says("input `data`: could not look at ")
            .says("own.sh");
        refused.says("--same-files runs it again with all files as they were");
    }
    assert_eq!(
        sandbox.json(&["list", "--json"]).as_array().unwrap().len(),
        1
    );
    let same = sandbox.xav(&["rerun", "--same-files"]).expect(0);
    same.says("none of 3 runs; 3 stand");
    // The next one looks for them again.
    sandbox.xav(&["rerun"]).expect(2).says("could not look at ");
    sandbox.file(
        "own.sh",
        ". ./common.sh\nsay own \"$1\"\necho own > o.txt\n",
    );
    sandbox.file("given.txt", "8\n");
    let line = "2 of 3 run: 1 changed input, 1 depends on it; 1 stands";
    reruns(&sandbox, &[], line, &["last", "read"]);
    // Another file stands in its place from then on.
    sandbox.file("other.txt", "9\n");
    reruns(
        &sandbox,
        &["--input", "data=other.txt"],
        line,
        &["last", "read"],
    );
    sandbox.file("other.txt", "10\n");
    reruns(&sandbox, &[], line, &["last", "read"]);
}

#[test]
fn a_list_of_files_is_looked_for_again_by_its_pattern() {
    let sandbox = Sandbox::new();
    let log = sandbox.path("log").display().to_string();
    fs::create_dir(sandbox.path("data [1]")).unwrap();
    for name in ["a", "b"] {
        sandbox.file(&format!("data [1]/{name}.txt"), name);
    }
    let text = format!(
        "\
xavantes: 1
name: listed
inputs: {{ texts: list of file }}
body:
  for-each:
    item: text
    key: ${{ stem(text) }}
    in: ${{ inputs.texts }}
    do:
      activity: say
      run: {{ shell: 'echo $(cat in.txt) >> {log}' }}
      inputs: {{ in.txt: text }}
"
    );
    let file = sandbox.file("listed.yaml", text);
    // From a directory whose name has letters of patterns.
    let mut run = sandbox.command(&["run", &file, "-i", "texts=*.txt"]);
    let run = run.current_dir(sandbox.path("data [1]")).output().unwrap();
    assert!(run.status.success(), "{run:?}");
    assert_eq!(ran(&sandbox), ["a", "b"]);
    sandbox.file("data [1]/c.txt", "c");
    let line = "1 of 3 runs: 1 new; 2 stand";
    reruns(&sandbox, &[], line, &["c"]);
    fs::remove_file(sandbox.path("data [1]/a.txt")).unwrap();
    sandbox.file("data [1]/b.txt", "B");
    let line = "1 of 2 runs: 1 changed input; 1 stands";
    reruns(&sandbox, &[], line, &["B"]);
}

#[test]
fn a_definition_from_standard_input_is_run_again_with_the_files_beside_it() {
    let sandbox = Sandbox::new();
    let file = definition(&sandbox);
    let mut run = sandbox.command(&["run", "-"]);
    let run = run.stdin(fs::File::open(&file).unwrap()).output().unwrap();
    assert!(run.status.success(), "{run:?}");
    let _ = ran(&sandbox);
    sandbox.file("data.txt", "3\n");
    let line = "2 of 3 run: 1 changed input, 1 depends on it; 1 stands";
    reruns(&sandbox, &[], line, &["last", "read"]);
}

#[test]
fn a_dry_run_of_a_run_tells_what_is_shared_and_changes_nothing() {
    let sandbox = Sandbox::new();
    let file = definition(&sandbox);
    let line = "3 of 3 run: 2 without a recorded outcome, 1 depends on them; 0 stand\n";
    sandbox
        .xav(&["run", &file, "--dry-run"])
        .expect(0)
        .shows(line);
    assert_eq!(sandbox.n_runs(), 0);
    assert!(!sandbox.path("data").exists());
    let text = fs::read_to_string(&file).unwrap();
    let cached = text.replace("uses: [own.sh]", "uses: [own.sh]\n          cache: true");
    fs::write(&file, cached).unwrap();
    sandbox.xav(&["run", &file]).expect(0);
    assert_eq!(ran(&sandbox), ["last", "own", "read"]);
    let json = sandbox.json(&["run", &file, "--dry-run", "--json"]);
    let expected = [("read", "runs"), ("own", "stands"), ("last", "depends")];
    let expected = expected.map(|(name, word)| (name.to_owned(), word.to_owned()));
    assert_eq!(forecast(&json), expected);
    assert_eq!(json["activities"]["runs"], 1, "{json}");
    assert_eq!(json["activity_list"][2]["on"][0], "read", "{json}");
    sandbox.xav(&["run", &file]).expect(0);
    assert_eq!(ran(&sandbox), ["last", "read"]);
}

#[test]
fn a_dry_run_of_a_resume_tells_what_is_left() {
    let sandbox = Sandbox::new();
    let log = sandbox.path("log").display().to_string();
    let gate = sandbox.path("gate").display().to_string();
    let text = format!(
        "\
xavantes: 1
name: left
variables: {{ n: int }}
body:
  sequence:
    - activity: one
      run: {{ shell: 'echo one >> {log}; echo 1' }}
      stdout: {{ into: n, as: int }}
    - activity: two
      run: {{ shell: 'echo two >> {log}; while [ ! -e {gate} ]; do sleep 0.01; done; echo ${{ n }} > out' }}
      outputs: {{ out: out }}
    - activity: three
      run: {{ shell: 'echo three >> {log}' }}
      inputs: {{ in: two.out }}
"
    );
    let file = sandbox.file("left.yaml", text);
    let run = sandbox.start(&["run", &file]);
    sandbox.wait_for_lines("log", 2);
    let refused = sandbox.xav(&["resume", "--dry-run"]);
    refused.expect(1).says("is running, in process");
    run.signal(Signal::INT);
    run.end().expect(130);
    let _ = ran(&sandbox);
    let json = sandbox.json(&["resume", "--dry-run", "--json"]);
    let expected = [("one", "stands"), ("two", "runs"), ("three", "depends")];
    let expected = expected.map(|(name, word)| (name.to_owned(), word.to_owned()));
    assert_eq!(forecast(&json), expected);
    assert_eq!(ran(&sandbox), Vec::<String>::new());
    sandbox.file("gate", "");
    sandbox.xav(&["resume"]).expect(0);
    assert_eq!(ran(&sandbox), ["three", "two"]);
}

#[test]
fn a_condition_that_reads_what_runs_is_left_open() {
    let sandbox = Sandbox::new();
    let text = "\
xavantes: 1
name: open
inputs: { n: { type: int, default: 1 } }
variables: { v: int, w: int }
body:
  sequence:
    - activity: count
      run: [echo, '${ inputs.n }']
      stdout: { into: v, as: int }
    - assign: { w: '${ v + 1 }' }
    - activity: free
      run: [echo, free]
    - name: size
      if: ${ w == 3 }
      then: { activity: three, run: [echo, three] }
      else: { activity: other, run: [echo, other] }
    - activity: end
      run: [echo, end]
";
    let file = sandbox.file("open.yaml", text);
    sandbox.xav(&["run", &file]).expect(0);
    let json = sandbox.json(&["rerun", "--dry-run", "--json", "-i", "n=2"]);
    let expected = [
        ("count", "runs"),
        ("free", "stands"),
        ("three", "unknown"),
        ("other", "unknown"),
        ("end", "unknown"),
    ];
    let expected = expected.map(|(name, word)| (name.to_owned(), word.to_owned()));
    assert_eq!(forecast(&json), expected);
    assert_eq!(json["undecided"][0], "sequence/size");
    let text = sandbox.xav(&["rerun", "--dry-run", "-i", "n=2"]).expect(0);
    text.shows("1 of 5 runs: 1 changed command; 3 not known before; 1 stands")
        .shows("sequence/size decides by what is not known before something has run");
}

#[test]
fn a_file_that_a_definition_uses_is_beside_it() {
    let sandbox = Sandbox::new();
    let file = definition(&sandbox);
    fs::remove_file(sandbox.path("own.sh")).unwrap();
    sandbox
        .xav(&["run", &file])
        .expect(2)
        .says("`own.sh` of `uses`");
    // Whoever does not use it does not have it.
    sandbox.file("own.sh", "echo own > o.txt");
    let text = fs::read_to_string(&file).unwrap();
    let text = text.replace("cat in.txt > r.txt", "cat in.txt own.sh > r.txt || exit 4");
    fs::write(&file, text).unwrap();
    sandbox.xav(&["run", &file]).expect(1).says("activity read");
}
