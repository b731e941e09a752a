//! Order from data in docs/language.md, as a user sees it: one `parallel` in any order, without links.

use serde_json::Value;

use crate::sandbox::Sandbox;

/// Readers stand before their producers; `odd` is skipped with its producer, which is in a branch.
const DEFINITION: &str = "\
xavantes: 1
name: graph
variables: { n: int, is_wanted: { type: bool, value: false } }
outputs: { n: '${ n }' }
body:
  parallel:
    - activity: last
      run: { shell: 'cat left right | wc -w' }
      inputs: { left: left.o, right: right.o }
      stdout: { into: n, as: int }
    - { activity: left, run: { shell: 'cat f f > o' }, inputs: { f: first.o }, outputs: { o: o } }
    - { activity: odd, run: [\"false\"], inputs: { o: never.o } }
    - if: ${ is_wanted }
      then: { activity: never, run: { shell: 'echo > o' }, outputs: { o: o } }
    - { activity: right, run: { shell: 'cat f > o' }, inputs: { f: first.o }, outputs: { o: o } }
    - { activity: first, run: { shell: 'echo one two > o' }, outputs: { o: o } }
";

#[test]
fn a_graph_is_one_parallel_and_runs_in_the_order_of_its_files() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("graph.yaml", DEFINITION);
    let done = sandbox.xav(&["run", &file, "--quiet"]).expect(0);
    assert_eq!(done.stdout, "n: 6\n");
    let status = sandbox.json(&["status", "--json"]);
    let activities = status["activity_list"].as_array().unwrap().iter();
    let skipped: Vec<&Value> = activities
        .filter(|one| one["state"] == "skipped")
        .map(|one| &one["activity"])
        .collect();
    assert_eq!(skipped, ["odd", "never"]);
}
