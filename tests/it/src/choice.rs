//! The `if` of docs/language.md, as a user sees it.

use std::fs;

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, root};

/// The whole definition of this name in docs/language.md.
fn documented(name: &str) -> String {
    let page = fs::read_to_string(root().join("docs/language.md")).unwrap();
    let blocks = page.split("```yaml\n").skip(1);
    let mut texts = blocks.filter_map(|block| block.split_once("```").map(|(text, _)| text));
    let head = format!("xavantes: 1\nname: {name}\n");
    texts
        .find(|text| text.starts_with(&head))
        .unwrap()
        .to_owned()
}

fn states(sandbox: &Sandbox) -> Vec<(String, String)> {
    let status = sandbox.json(&["status", "--json"]);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let activities = status["activity_list"].as_array().unwrap().iter();
    activities
        .map(|one| (text(&one["activity"]), text(&one["state"])))
        .collect()
}

#[test]
fn the_branch_of_the_first_true_condition_runs_and_the_others_are_shown_as_skipped() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("tool.yaml", documented("tool"));
    for (n, tool, ran) in [
        (5000, "split", "many"),
        (40, "sort", "some"),
        (3, "cat", ""),
    ] {
        let input = format!("n={n}");
        let done = sandbox
            .xav(&["run", &file, "--quiet", "--input", &input])
            .expect(0);
        assert_eq!(done.stdout, format!("tool: {tool}\n"));
        let expected = ["count", "many", "some", "use"].map(|name| {
            let runs = matches!(name, "count" | "use") || name == ran;
            let state = if runs { "completed" } else { "skipped" };
            (name.to_owned(), state.to_owned())
        });
        assert_eq!(states(&sandbox), expected, "{n}");
    }
    let id = sandbox.json(&["status", "--json"])["process"].clone();
    let id = id.as_str().unwrap();
    sandbox
        .xav(&["why", id, "some"])
        .expect(0)
        .shows("size took another branch, sequence/size/assign");
    let why = sandbox.json(&["why", id, "many", "--json"]);
    let taken = json!({ "reason": "branch", "of": "size", "taken": "sequence/size/assign" });
    assert_eq!(why["reasons"], json!([taken]));
    let page = sandbox.xav(&["report", "--out", "-"]).expect(0).stdout;
    assert!(page.contains("not run"));
    sandbox
        .xav(&["show", &file])
        .expect(0)
        .shows("[lines > 10] some: echo sort");
    sandbox
        .xav(&["export", &file, "--format", "dot"])
        .expect(0)
        .shows("label=\"size (if)\"");
}

#[test]
fn a_condition_that_cannot_be_evaluated_is_a_fault_that_shows_it() {
    let sandbox = Sandbox::new();
    let text = documented("tool").replace("lines > 1000", "lines / (lines - 40) > 1000");
    let file = sandbox.file("tool.yaml", &text);
    sandbox
        .xav(&["run", &file])
        .expect(1)
        .says("the condition `lines / (lines - 40) > 1000`: ");
    assert_eq!(
        states(&sandbox)
            .into_iter()
            .map(|(_, state)| state)
            .collect::<Vec<String>>(),
        ["completed", "skipped", "skipped", "skipped"]
    );
    let text = text.replace("elif:", "elsif:");
    let file = sandbox.file("slip.yaml", text);
    sandbox
        .xav(&["validate", &file])
        .expect(2)
        .says("unknown key `elsif`")
        .says("did you mean `elif`?");
}
