//! `xav report`: the page of a running process, of a faulted one, and the place of the file.

mod browser;

use std::collections::{BTreeMap, BTreeSet};
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

/// An activity that fails once, one for each of three items, and one with two cores.
const TRACED: &str = r#"
xavantes: 1
name: traced
body:
  sequence:
    - { activity: flaky, run: { shell: "FLAKY" }, retry: { attempts: 2 } }
    - for-each: { item: n, in: [1, 2, 3], do: { activity: each, run: [echo, "${ n }"] } }
    - { activity: wide, run: [echo, wide], cores: 2 }
"#;

#[test]
fn a_trace_has_a_track_for_each_slot_and_a_slice_for_each_attempt() {
    let sandbox = Sandbox::new();
    let mark = sandbox.path("mark").display().to_string();
    let flaky = format!("[ -e {mark} ] || {{ touch {mark}; false; }}");
    let file = sandbox.file("traced.yaml", TRACED.replace("FLAKY", &flaky));
    sandbox.xav(&["run", &file, "--slots", "2"]).expect(0);
    sandbox
        .xav(&["report", "--trace", "run.json"])
        .expect(0)
        .shows("run.json\n");
    let trace: Value =
        serde_json::from_str(&fs::read_to_string(sandbox.path("run.json")).unwrap()).unwrap();
    let status = sandbox.json(&["status", "--json"]);
    assert_eq!(trace["otherData"]["process"], status["process"]);
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |kind: &'static str| events.iter().filter(move |event| event["ph"] == kind);
    // Each event is one of the two types, and each slice lies on a track that has a name.
    assert_eq!(of("M").count() + of("X").count(), events.len());
    let track = |event: &Value| (event["pid"].as_u64().unwrap(), event["tid"].as_u64());
    let named = |kind: &'static str| of("M").filter(move |event| event["name"] == kind);
    let tracks: BTreeSet<_> = named("thread_name").map(track).collect();
    assert_eq!(tracks.len(), 2);
    assert_eq!(named("process_name").count(), 1);
    let mut slices: BTreeMap<_, Vec<(u64, u64)>> = BTreeMap::new();
    for slice in of("X") {
        assert!(tracks.contains(&track(slice)), "{slice}");
        let (start, length) = (
            slice["ts"].as_u64().unwrap(),
            slice["dur"].as_u64().unwrap(),
        );
        slices
            .entry(track(slice))
            .or_default()
            .push((start, start + length));
    }
    // No two slices of a track overlap, so that none is drawn below another one.
    for track in slices.values_mut() {
        track.sort_unstable();
        assert!(track.is_sorted_by(|one, next| one.1 <= next.0), "{track:?}");
    }
    let mut told: Vec<(String, u64)> = of("X")
        .map(|slice| {
            let number = slice["args"]["attempt"].as_u64().unwrap();
            (slice["name"].as_str().unwrap().to_owned(), number)
        })
        .collect();
    told.sort_unstable();
    let attempts = ["each[0]", "each[1]", "each[2]", "flaky", "flaky", "wide"];
    let numbers = [1, 1, 1, 1, 2, 1];
    let expected: Vec<(String, u64)> = attempts
        .iter()
        .map(|name| (*name).to_owned())
        .zip(numbers)
        .collect();
    assert_eq!(told, expected);
    let wide = of("X").find(|slice| slice["name"] == "wide").unwrap();
    assert_eq!(wide["args"]["slots"], serde_json::json!([0, 1]));
    // The page is written too where that is wanted.
    sandbox
        .xav(&["report", "--trace", "-", "--out", "page.html"])
        .expect(0)
        .shows("\"traceEvents\"");
    assert!(sandbox.path("page.html").exists());
}
