//! One item's file, read by its place, as a user sees it.

use std::fs;

use crate::sandbox::Sandbox;

/// The definition of this name in docs/language.md.
fn documented(name: &str) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/language.md");
    let text = fs::read_to_string(path).unwrap();
    let mut blocks = text
        .split("```")
        .filter_map(|block| block.strip_prefix("yaml\n"));
    let named = format!("\nname: {name}\n");
    let found = blocks.find(|block| block.contains(&named));
    found.expect("docs/language.md has it").to_owned()
}

/// Five texts, of which the first line says which one it is.
fn tree(sandbox: &Sandbox) -> (String, String) {
    for n in 0..5 {
        sandbox.file(&format!("{n}.txt"), format!("{n}\n{}\n", 9 - n));
    }
    let texts = format!("texts={}", sandbox.path("?.txt").display());
    (sandbox.file("tree.yaml", documented("tree")), texts)
}

fn ran(sandbox: &Sandbox) -> Vec<String> {
    let status = sandbox.json(&["status", "--json"]);
    let all = status["activity_list"].as_array().unwrap().iter();
    let ran = all.filter(|one| one["reused"].is_null());
    ran.map(|one| one["activity"].as_str().unwrap().to_owned())
        .collect()
}

/// The file that the process gives.
fn merged(sandbox: &Sandbox) -> String {
    let results = sandbox.xav(&["results"]).expect(0);
    let path = results.stdout.trim().strip_prefix("all: ").unwrap();
    fs::read_to_string(path).unwrap()
}

/// ```text
/// 0 1 --> merge[0] --\
///                     > merge[3], the last one, which reads merge[1] and merge[2]
/// 2 3 --> merge[1]
/// 4, merge[0] --> merge[2]
/// ```
#[test]
fn a_tree_is_merged_two_by_two_and_an_edit_runs_the_way_to_its_root() {
    let sandbox = Sandbox::new();
    let (file, texts) = tree(&sandbox);
    sandbox
        .xav(&["run", &file, "--quiet", "--input", &texts])
        .expect(0);
    assert_eq!(ran(&sandbox).len(), 5 + 4);
    assert_eq!(merged(&sandbox), "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    sandbox.file("2.txt", "2\n77\n");
    let foretold = sandbox.xav(&["rerun", "--dry-run"]).expect(0);
    assert!(
        foretold.stdout.starts_with("3 of 9 run"),
        "{}",
        foretold.stdout
    );
    sandbox.xav(&["rerun", "--quiet"]).expect(0);
    assert_eq!(ran(&sandbox), ["sort[2]", "merge[1]", "merge[3]"]);
    assert_eq!(merged(&sandbox), "0\n1\n2\n3\n4\n5\n6\n77\n8\n9\n");
    sandbox.xav(&["report"]).expect(0);
    sandbox.xav(&["why", "merge[3]"]).expect(0);
}

#[test]
fn an_item_that_is_not_there_is_said_before_the_items_begin() {
    let sandbox = Sandbox::new();
    let (_, texts) = tree(&sandbox);
    let beyond = documented("tree").replace(
        "range(size(inputs.texts) - 1)",
        "range(size(inputs.texts) + 9)",
    );
    let file = sandbox.file("beyond.yaml", beyond);
    let said = "input `right.txt` of `merge[4]`: `[2 * n + 1 - size(inputs.texts)]` is item 4, and item 4 can read those before it alone";
    sandbox
        .xav(&["run", &file, "--input", &texts])
        .expect(1)
        .says(said);
    assert_eq!(
        ran(&sandbox)
            .iter()
            .filter(|one| one.starts_with("sort"))
            .count(),
        5
    );
    // What follows from the definition alone is said without a run.
    let text = "\
xavantes: 1
name: alone
body:
  - for-each: { item: a, in: [1, 2], do: { activity: make, run: [touch, o], outputs: { o: o } } }
  - for-each: { item: b, in: [0, 1, 2], do: { activity: read, run: [cat, i], inputs: { i: 'make[b].o' } } }
";
    let file = sandbox.file("alone.yaml", text);
    let validated = sandbox.xav(&["validate", &file]).expect(2);
    validated.says("item 2: `[b]` is item 2, and there are 2, counted from 0");
}

#[test]
fn a_tree_of_a_hundred_thousand_leaves_is_within_the_steps_that_places_may_take() {
    let sandbox = Sandbox::new();
    let text = "\
xavantes: 1
name: tall
body:
  - for-each: { item: n, in: '${ range(100000) }', do: { activity: leaf, run: [make], outputs: { o: o } } }
  - for-each:
      item: n
      in: ${ range(99999) }
      do:
        activity: merge
        run: [merge]
        inputs:
          left: { if: '${ 2 * n < 100000 }', then: 'leaf[2 * n].o', else: 'merge[2 * n - 100000].o' }
          right: { if: '${ 2 * n + 1 < 100000 }', then: 'leaf[2 * n + 1].o', else: 'merge[2 * n - 99999].o' }
        outputs: { o: o }
";
    let file = sandbox.file("tall.yaml", text);
    let foretold = sandbox.xav(&["run", "--dry-run", &file]).expect(0);
    let counted = "199999 of 199999 run";
    assert!(foretold.stdout.starts_with(counted), "{}", foretold.stdout);
}
