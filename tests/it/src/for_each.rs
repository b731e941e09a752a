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
    let why = sandbox.xav(&["why", "count"]).expect(2);
    assert!(
        why.stderr.contains("count runs for 3 items or iterations"),
        "{}",
        why.stderr
    );
    assert!(
        why.stderr.contains("count[0], count[1], count[2]"),
        "{}",
        why.stderr
    );
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
