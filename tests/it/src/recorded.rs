//! Recorded workflows, run as real commands.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::sandbox::{Sandbox, root};

/// What the commands wrote down of themselves, by name.
fn records(text: &str) -> BTreeMap<String, Vec<Value>> {
    let mut records: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in text.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let name = record["name"].as_str().unwrap().to_owned();
        records.entry(name).or_default().push(record);
    }
    records
}

#[test]
fn a_recorded_workflow_runs_each_task_once_after_its_parents() {
    let sandbox = Sandbox::new();
    let file = root().join("workflows/samples/recorded/recorded.json");
    let log = sandbox.path("burns.log");
    // As its README runs it: `run workflows/samples/recorded/recorded.json --cpu-total 2s
    // --data-scale 0.01`, with a record of it.
    let json = sandbox.json(&[
        "run",
        file.to_str().unwrap(),
        "--cpu-total",
        "2s",
        "--data-scale",
        "0.01",
        "--record",
        log.to_str().unwrap(),
        "--json",
    ]);
    assert_eq!(json["state"], "completed");
    let records = records(&fs::read_to_string(&log).unwrap());
    let recorded: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let tasks = recorded["workflow"]["specification"]["tasks"]
        .as_array()
        .unwrap();
    assert_eq!(records.len(), tasks.len());
    for task in tasks {
        let id = task["id"].as_str().unwrap();
        let [record] = records[id].as_slice() else {
            panic!("{id} ran {} times", records[id].len())
        };
        for parent in task["parents"].as_array().unwrap() {
            let parent = &records[parent.as_str().unwrap()][0];
            assert!(parent["end"].as_u64() <= record["start"].as_u64(), "{id}");
        }
    }
    let cpu = json["cpu_seconds"].as_f64().unwrap();
    assert!((1.8..=2.6).contains(&cpu), "{cpu} CPU seconds of 2");
}

#[test]
fn a_recorded_workflow_is_exported_in_every_form() {
    let sandbox = Sandbox::new();
    let file = root().join("workflows/samples/recorded/recorded.json");
    let file = file.to_str().unwrap();
    let yaml = sandbox.xav(&["export", file]).expect(0).stdout;
    let path = sandbox.path("recorded.yaml");
    fs::write(&path, &yaml).unwrap();
    sandbox.xav(&["validate", path.to_str().unwrap()]).expect(0);
    let again = sandbox
        .xav(&["export", path.to_str().unwrap()])
        .expect(0)
        .stdout;
    assert_eq!(again, yaml);
    let dot = sandbox
        .xav(&["export", file, "--format", "dot"])
        .expect(0)
        .stdout;
    assert!(dot.starts_with("digraph"), "{dot}");
    let wfformat = sandbox
        .xav(&["export", file, "--format", "wfformat"])
        .expect(0)
        .stdout;
    let wfformat: Value = serde_json::from_str(&wfformat).unwrap();
    assert_eq!(
        wfformat["workflow"]["specification"]["tasks"]
            .as_array()
            .unwrap()
            .len(),
        16
    );
}

#[test]
fn what_cannot_be_a_recording_is_refused_in_a_sentence() {
    let sandbox = Sandbox::new();
    let definition = sandbox.path("one.yaml");
    fs::write(&definition, "xavantes: 1\nname: one\nbody:\n  empty:\n").unwrap();
    sandbox
        .xav(&["run", definition.to_str().unwrap(), "--cpu-total", "2s"])
        .expect(2)
        .says("is not a recorded workflow");
    let cut = sandbox.path("cut.json");
    let whole = fs::read(root().join("workflows/samples/recorded/recorded.json")).unwrap();
    fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    sandbox.xav(&["run", cut.to_str().unwrap()]).expect(2);
}
