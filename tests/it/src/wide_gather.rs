//! Whoever gathers more files than an activity may declare inputs.

use crate::sandbox::Sandbox;

/// Items, and directories that each of them is gathered in: 80,000 files.
const ITEMS: usize = 1_000;
const DIRECTORIES: usize = 80;

const DEFINITION: &str = "\
xavantes: 1
name: wide
variables: { sums: list of string }
outputs: { sums: '${ sums }' }
body:
  sequence:
    - for-each:
        item: i
        in: ${ range(ITEMS) }
        do:
          activity: one
          run: { shell: 'echo ${ i } > one.txt' }
          outputs: { one: one.txt }
    - activity: all
      run: { shell: \"for d in d??; do cat $d/*.txt | awk '{s += $1} END {print s}'; done\" }
      inputs: { DIRECTORIES }
      stdout: { into: sums, as: lines }
";

#[test]
fn an_activity_gathers_more_files_than_it_may_declare() {
    let sandbox = Sandbox::new();
    let directories = (0..DIRECTORIES).map(|number| format!("d{number:02}/: 'one[*].one'"));
    let directories: Vec<String> = directories.collect();
    let definition = DEFINITION
        .replace("ITEMS", &ITEMS.to_string())
        .replace("DIRECTORIES", &directories.join(", "));
    let file = sandbox.file("wide.yaml", definition);
    let json = sandbox.json(&["run", &file, "--json"]);
    assert_eq!(json["state"], "completed", "{json}");
    let sum = (ITEMS * (ITEMS - 1) / 2).to_string();
    let sums = json["outputs"]["sums"].as_array().unwrap();
    assert_eq!(sums.len(), DIRECTORIES);
    assert!(sums.iter().all(|one| *one == sum), "{sums:?}");
}
