//! `complete-when`, the variables that each item or iteration has of its own, and the lists of their
//! values, as docs/language.md promises them.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// The status after a run of a definition that completes.
fn run(sandbox: &Sandbox, text: &str, arguments: &[&str]) -> Value {
    let file = sandbox.file("definition.yaml", text);
    let mut all = vec!["run", &file, "--quiet"];
    all.extend(arguments);
    sandbox.xav(&all).expect(0);
    sandbox.json(&["status", "--json"])
}

/// The states of the items of an activity, in their order.
fn states<'a>(status: &'a Value, of: &str) -> Vec<&'a str> {
    let list = status["activity_list"].as_array().unwrap().iter();
    let own = list.filter(|one| {
        let name = one["activity"].as_str().unwrap();
        name.strip_prefix(of)
            .is_some_and(|rest| rest.starts_with('['))
    });
    own.map(|one| one["state"].as_str().unwrap()).collect()
}

#[test]
fn one_after_another_the_first_items_are_enough() {
    let sandbox = Sandbox::new();
    let definition = "\
xavantes: 1
name: enough
inputs: { wanted: { type: int, default: 3 } }
outputs: { scores: '${ try[*].score }', files: 'try[*].out' }
body:
  for-each:
    item: n
    in: ${ range(10) }
    parallel: false
    complete-when: ${ inputs.wanted }
    variables: { score: int }
    do:
      activity: try
      run: { shell: 'echo $((${ n } * ${ n })) | tee out.txt' }
      outputs: { out: out.txt }
      stdout: { into: score, as: int }
";
    let status = run(&sandbox, definition, &["--input", "wanted=4"]);
    let mut expected = vec!["completed"; 4];
    expected.extend(["skipped"; 6]);
    assert_eq!(states(&status, "try"), expected);
    assert_eq!(status["outputs"]["scores"], json!([0, 1, 4, 9]));
    let directory = status["directory"].as_str().unwrap();
    let results = std::path::Path::new(directory).join("results/files");
    let mut files: Vec<String> = std::fs::read_dir(results)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["0.txt", "1.txt", "2.txt", "3.txt"]);
    sandbox
        .xav(&["why", "try[4]"])
        .expect(0)
        .shows("completed with enough of its other items");
    // More than the list has.
    let file = sandbox.path("definition.yaml");
    let file = file.to_str().unwrap();
    sandbox
        .xav(&["run", file, "--quiet", "--input", "wanted=11"])
        .expect(1)
        .says("`complete-when` waits for 11 items, and the list has 10");
    let status = sandbox.json(&["status", "--json"]);
    assert_eq!(status["faults"][0]["fault"], "too-few-items");
}

#[test]
fn what_runs_of_the_others_is_stopped_when_enough_items_have_completed() {
    let sandbox = Sandbox::new();
    let definition = "\
xavantes: 1
name: race
outputs: { first: '${ race[*].place }' }
body:
  sequence:
    - for-each:
        item: n
        in: ${ range(4) }
        complete-when: 2
        variables: { place: int }
        do:
          activity: race
          run: { shell: '[ ${ n } -lt 2 ] || sleep 3600; echo ${ n }' }
          stdout: { into: place, as: int }
    - activity: after
      run: ['true']
";
    let status = run(&sandbox, definition, &["--slots", "4"]);
    assert_eq!(status["outputs"]["first"], json!([0, 1]));
    let states = states(&status, "race");
    assert_eq!(states[..2], ["completed", "completed"]);
    for state in &states[2..] {
        assert!(["stopped", "skipped"].contains(state), "{states:?}");
    }
    let after = &status["activity_list"][4];
    assert_eq!(
        (&after["activity"], &after["state"]),
        (&json!("after"), &json!("completed"))
    );
}

#[test]
fn items_and_iterations_have_variables_of_their_own_with_their_first_value_each() {
    let sandbox = Sandbox::new();
    let definition = "\
xavantes: 1
name: own
variables: { sums: json, best: json, rounds: { type: int, value: 0 } }
outputs: { sums: '${ sums }', best: '${ best }', of_rounds: '${ count[*].seen }' }
body:
  sequence:
    - for-each:
        item: row
        in: [[1, 2], [3], []]
        variables: { total: { type: int, value: 100 } }
        do:
          - for-each:
              item: n
              in: ${ row }
              variables: { double: int }
              do:
                activity: twice
                run: { shell: 'echo $((2 * ${ n }))' }
                stdout: { into: double, as: int }
          - assign: { total: '${ total + size(twice[*].double) }' }
          - activity: show
            run: [echo, '${ total }']
    - assign: { sums: '${ show[*].total }' }
    - while: ${ i < 3 }
      index: i
      variables: { seen: { type: int, value: 7 } }
      do:
        - assign: { seen: '${ seen + i }' }
        - activity: count
          run: [echo, '${ seen }']
    - assign: { best: '${ count[*].seen.filter(n, n > 7) }' }
";
    let status = run(&sandbox, definition, &[]);
    assert_eq!(status["outputs"]["sums"], json!([102, 101, 100]));
    assert_eq!(status["outputs"]["of_rounds"], json!([7, 8, 9]));
    assert_eq!(status["outputs"]["best"], json!([8, 9]));
    for (activity, said) in [
        ("show[0]", "102\n"),
        ("show[2]", "100\n"),
        ("count[2]", "9\n"),
    ] {
        let logs = sandbox.xav(&["logs", activity]).expect(0);
        assert_eq!(logs.stdout, said, "{activity}");
    }
}
