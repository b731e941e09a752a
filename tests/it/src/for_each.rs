//! `for-each` in docs/language.md, as a user sees it.

use crate::sandbox::Sandbox;

const DEFINITION: &str = "\
xavantes: 1
name: each
inputs: { texts: { type: list of file } }
variables: { names: list of string }
outputs: { total: sum.total, greetings: 'hello[*].out' }
body:
  sequence:
    - activity: find
      run: { shell: \"printf 'x\\ny\\nz\\n'\" }
      stdout: { into: names, as: lines }
    - for-each:
        item: name
        index: i
        in: ${ names }
        key: ${ \"s-\" + name }
        do:
          activity: hello
          run: { shell: 'echo hello ${name} ${i} | tee out.txt' }
          outputs: { out: out.txt }
    - for-each:
        item: text
        in: ${ inputs.texts }
        at-most: 2
        do:
          - activity: count
            run: { shell: 'wc -l < in.txt > n.txt' }
            inputs: { in.txt: text }
            outputs: { n: n.txt }
          - activity: twice
            run: { shell: 'cat n.txt n.txt > nn.txt' }
            inputs: { n.txt: count.n }
            outputs: { nn: nn.txt }
    - activity: sum
      run: { shell: \"cat parts/?.txt | awk '{s += $1} END {print s}' > total.txt; ls greetings >> total.txt\" }
      inputs: { parts/: 'twice[*].nn', greetings/: 'hello[*].out' }
      outputs: { total: total.txt }
";

/// Three texts of 1, 2 and 3 lines, and the arguments of a run over them.
fn texts(sandbox: &Sandbox) -> (String, String) {
    for (name, text) in [
        ("a.txt", "1\n"),
        ("b.txt", "1\n2\n"),
        ("c.txt", "1\n2\n3\n"),
    ] {
        sandbox.file(name, text);
    }
    let texts = format!("texts={}", sandbox.path("*.txt").display());
    (sandbox.file("each.yaml", DEFINITION), texts)
}

fn written(sandbox: &Sandbox, output: &str) -> String {
    let status = sandbox.json(&["status", "--json"]);
    let directory = status["directory"].as_str().unwrap().to_owned();
    let path = std::path::Path::new(&directory)
        .join("results")
        .join(output);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn a_body_runs_for_each_item_and_what_it_makes_is_gathered() {
    let sandbox = Sandbox::new();
    let (file, texts) = texts(&sandbox);
    sandbox
        .xav(&["run", &file, "--quiet", "--input", &texts])
        .expect(0);
    let sum = "12\ns-x.txt\ns-y.txt\ns-z.txt\n";
    assert_eq!(written(&sandbox, "total.txt"), sum);
    assert_eq!(written(&sandbox, "greetings/s-y.txt"), "hello y 1\n");
    let status = sandbox.json(&["status", "--json"]);
    let activities = status["activity_list"].as_array().unwrap().iter();
    let names: Vec<&str> = activities
        .map(|one| one["activity"].as_str().unwrap())
        .collect();
    let in_order = [
        "find",
        "hello[s-x]",
        "hello[s-y]",
        "hello[s-z]",
        "count[0]",
        "twice[0]",
        "count[1]",
        "twice[1]",
        "count[2]",
        "twice[2]",
        "sum",
    ];
    assert_eq!(names, in_order);
    let logs = sandbox.xav(&["logs", "hello[s-z]"]).expect(0);
    assert_eq!(logs.stdout, "hello z 2\n");
    let all = sandbox.xav(&["logs", "hello"]).expect(0);
    for line in ["hello x 0", "hello y 1", "hello z 2"] {
        assert!(all.stdout.contains(line), "{}", all.stdout);
    }
    sandbox
        .xav(&["why", "count"])
        .expect(0)
        .shows("count: 3 items: 3 completed\n\ncount[0] completed\n");
    sandbox.xav(&["report"]).expect(0);
}

#[test]
fn a_rerun_runs_the_items_that_changed_wherever_they_are_in_the_list() {
    let sandbox = Sandbox::new();
    let (file, texts) = texts(&sandbox);
    sandbox
        .xav(&["run", &file, "--quiet", "--input", &texts])
        .expect(0);
    // One text is gone, one is other, one is new, and it comes first.
    let path = |name: &str| sandbox.path(name).display().to_string();
    std::fs::remove_file(path("a.txt")).unwrap();
    sandbox.file("c.txt", "1\n2\n3\n4\n");
    sandbox.file("0.txt", "1\n2\n3\n4\n5\n");
    sandbox
        .xav(&["rerun", "--quiet", "--input", &texts])
        .expect(0);
    let status = sandbox.json(&["status", "--json"]);
    let activities = status["activity_list"].as_array().unwrap().iter();
    let ran: Vec<&str> = activities
        .filter(|one| one["reused"].is_null())
        .map(|one| one["activity"].as_str().unwrap())
        .collect();
    assert_eq!(ran, ["count[0]", "twice[0]", "count[2]", "twice[2]", "sum"]);
}

#[test]
fn what_is_wrong_with_the_items_is_said_and_nothing_goes_on() {
    let sandbox = Sandbox::new();
    let (file, _) = texts(&sandbox);
    let nothing = format!("texts={}", sandbox.path("*.fastq").display());
    let run = sandbox.xav(&["run", &file, "--input", &nothing]).expect(2);
    assert!(run.stderr.contains("nothing matches"), "{}", run.stderr);
    let text = "\
xavantes: 1
name: many
inputs: { n: int }
body:
  for-each: { item: i, in: '${ range(inputs.n) }', do: { activity: a, run: ['true'] } }
";
    let many = sandbox.file("many.yaml", text);
    let run = sandbox
        .xav(&["run", &many, "--input", "n=10000000"])
        .expect(1);
    assert!(run.stderr.contains("for-each"), "{}", run.stderr);
    sandbox
        .xav(&["run", &many, "--quiet", "--input", "n=0"])
        .expect(0);
    assert_eq!(sandbox.json(&["status", "--json"])["state"], "completed");
}

/// A count of the lines of each sample, by the sample's name; the samples lie beside the definition.
const SAMPLES: &str = "\
xavantes: 1
name: samples
inputs:
  reads: { type: list of file, default: 'data/*.fastq' }
  header: { type: file, default: header.txt }
outputs: { counts: 'count[*].out', header: '${ name(inputs.header) }' }
body:
  for-each:
    item: read
    in: ${ inputs.reads }
    key: ${ stem(read) }
    do:
      activity: count
      run: { shell: 'cat header.txt; wc -l < in | tee ${ stem(read, \".fastq\") }.n' }
      inputs: { in: read, header.txt: inputs.header }
      outputs: { out: '*.n' }
";

#[test]
fn files_beside_the_definition_are_defaults_and_their_names_are_keys() {
    let sandbox = Sandbox::new();
    for directory in ["flow", "flow/data", "other"] {
        std::fs::create_dir(sandbox.path(directory)).unwrap();
    }
    for (name, text) in [
        ("flow/header.txt", "h\n"),
        ("flow/data/s-1.fastq", "1\n"),
        ("flow/data/s-2.fastq", "1\n2\n"),
        ("flow/data/notes.txt", ""),
        ("other/t.9.fastq", "1\n2\n3\n"),
    ] {
        sandbox.file(name, text);
    }
    let file = sandbox.file("flow/samples.yaml", SAMPLES);
    sandbox.xav(&["run", &file, "--quiet"]).expect(0);
    let names = |sandbox: &Sandbox| -> Vec<String> {
        let status = sandbox.json(&["status", "--json"]);
        let all = status["activity_list"].as_array().unwrap().iter();
        all.map(|one| one["activity"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&sandbox), ["count[s-1]", "count[s-2]"]);
    let status = sandbox.json(&["status", "--json"]);
    assert_eq!(status["outputs"]["header"], "header.txt");
    assert_eq!(status["inputs"]["reads"][1]["name"], "s-2.fastq");
    assert_eq!(written(&sandbox, "counts/s-2/s-2.n"), "2\n");
    let logs = sandbox.xav(&["logs", "count[s-2]"]).expect(0);
    assert_eq!(logs.stdout, "h\n2\n");
    // A rerun keeps what the process had: names too.
    sandbox.xav(&["rerun", "--quiet"]).expect(0);
    assert_eq!(names(&sandbox), ["count[s-1]", "count[s-2]"]);
    sandbox
        .xav(&["run", &file, "--quiet", "--input", "reads=other/*"])
        .expect(0);
    assert_eq!(names(&sandbox), ["count[t.9]"]);
    // Two files of one name in different directories are two items with one name.
    sandbox.file("other/s-1.fastq", "");
    let both = ["reads=other/s-1.fastq", "reads=flow/data/s-1.fastq"];
    sandbox
        .xav(&[
            "run", &file, "--quiet", "--input", both[0], "--input", both[1],
        ])
        .expect(1)
        .says("another item is called `s-1` too");
    std::fs::remove_file(sandbox.path("flow/header.txt")).unwrap();
    sandbox
        .xav(&["run", &file])
        .expect(2)
        .says("input `header`: could not open `header.txt` of `default`");
    let wrong = SAMPLES.replace("default: header.txt", "default: ../header.txt");
    let file = sandbox.file("flow/wrong.yaml", wrong);
    sandbox
        .xav(&["validate", &file])
        .expect(2)
        .says("a path that leaves the directory");
}
