//! `xav report`: the page of a running process, of a faulted one, and the place of the file.

use std::fs;

use serde_json::Value;

use crate::sandbox::{Sandbox, root};
use crate::wait;

/// The data of the page's script.
pub(crate) fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(data).unwrap()
}

#[test]
fn a_fault_has_a_page_that_tells_of_it_and_loads_nothing() {
    let sandbox = Sandbox::new();
    let faulty = root().join("workflows/samples/faulty/faulty.yaml");
    sandbox.xav(&["run", faulty.to_str().unwrap()]).expect(1);
    let id = sandbox.json(&["list", "--json"])[0]["process"].clone();
    let id = &id.as_str().unwrap()[..6];
    let done = sandbox.xav(&["report"]).expect(0);
    assert_eq!(done.stderr, "");
    let path = sandbox.path(&format!("faulty-{id}.html"));
    assert_eq!(
        fs::canonicalize(done.stdout.trim_end()).unwrap(),
        fs::canonicalize(&path).unwrap()
    );
    let page = fs::read_to_string(&path).unwrap();
    for words in [
        "What went wrong",
        "numbers.txt:3: not a number: three",
        "exit-code",
        "default-src 'none'",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("http://") && !page.contains("https://"));
    let data = data(&page);
    assert_eq!(
        data["activities"]["name"],
        serde_json::json!(["write", "check", "add"])
    );
    assert_eq!(data["bars"]["hasFailed"], serde_json::json!([1, 2, 3]));
    // The same again is only written over it; a place that is not there is an error.
    sandbox
        .xav(&["report", id, "--out", path.to_str().unwrap()])
        .expect(0);
    sandbox
        .xav(&["report", id, "--out", "none/page.html"])
        .expect(1)
        .says("could not write none/page.html: No such file");
    sandbox
        .xav(&["report", "zzzz"])
        .expect(2)
        .says("there is no process zzzz");
}

#[test]
fn a_process_that_runs_has_a_page() {
    let sandbox = Sandbox::new();
    let gate = sandbox.path("gate");
    let file = sandbox.file(
        "gated.yaml",
        format!(
            "xavantes: 1\nname: gated\nbody:\n  activity: wait\n  run: {{ shell: \"while [ ! -e {} ]; do sleep 0.01; done\" }}\n",
            gate.display()
        ),
    );
    let run = sandbox.start(&["run", &file]);
    let page = wait::until("the activity is known to run", || {
        let done = sandbox.xav(&["report", "--out", "-"]);
        let is_told = done.status == Some(0) && data(&done.stdout)["bars"]["isRunning"][0] == 0;
        is_told.then_some(done.stdout)
    });
    assert!(page.contains("<span class=\"badge live\">running</span>"));
    sandbox.file("gate", "");
    run.end().expect(0);
    let done = sandbox.xav(&["report", "--out", "-"]).expect(0);
    assert!(
        done.stdout
            .contains("<span class=\"badge good\">completed</span>")
    );
    assert_eq!(
        data(&done.stdout)["bars"]["isRunning"],
        serde_json::json!([])
    );
}
